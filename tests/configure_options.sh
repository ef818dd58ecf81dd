#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# configure_options.sh - what is asked for and missing is an error that names it; what is switched
# off is left out, and the summary says so
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99
failed=0
fail()
{
    echo "failed: $*"
    failed=1
}

# configure OPTION...: the cache makes the later runs quick.
configure()
{
    "$top_srcdir/configure" "CC=$CC" --cache-file=cache "$@" >log 2>&1 </dev/null
}

# expect TEXT: it must be in the log.
expect()
{
    grep -qF -- "$1" log && return
    fail "there is no '$1' in:"
    tail -n 40 log
}

configure --without-libfabric --with-cuda=no --without-hip --without-cmocka || { cat log; exit 1; }
expect "switched off by --without-libfabric"
expect "switched off by --without-cuda"
expect "switched off by --without-hip"
expect "the unit tests are skipped"
for option in --with-libfabric --with-cuda --with-hip --with-cmocka; do
    configure "$option=/nonexistent" && fail "$option=/nonexistent is accepted"
    expect "error: $option=/nonexistent was given, but folder /nonexistent is missing"
done
configure --with-cuda=maybe && fail "--with-cuda=maybe is accepted"
expect "not 'maybe'"
configure --enable-sanitizers=address,thread && fail "address,thread is accepted"
expect "--enable-sanitizers takes"
exit $failed
