#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# symbols.sh - the shared library exports what the header promises and nothing else, each function
# under two names, and calls MPI by PMPI_ names only
set -u
lib=$top_builddir/.libs/libmpix_queue.so
failed=0
fail()
{
    echo "failed: $*"
    failed=1
}

if [ ! -f "$lib" ]; then
    echo "skip: no shared library in this build"
    exit 77
fi
exported=$(nm -D --defined-only "$lib" | awk '$2 != "A" { sub(/@.*/, "", $3); print $2, $3 }')
declared=$(sed -n 's/^MPIXQ_PUBLIC .* \**\(MPIXQ_[A-Za-z_]*\)(.*/\1/p' \
    "$top_srcdir/include/mpix_queue.h")
[ "$(wc -w <<<"$declared")" -gt 20 ] || fail "found too few functions in the header: $declared"

for name in $declared; do
    grep -qx "W $name" <<<"$exported" || fail "$name is not exported as a weak symbol"
    grep -qx "T P$name" <<<"$exported" || fail "P$name is not exported"
    grep -q "P$name(" "$top_srcdir/include/mpix_queue.h" || fail "P$name is not in the header"
done
while read -r type name; do
    case $name in
    MPIXQ_*) grep -qx "$name" <<<"$declared" || fail "$name is exported, not in the header" ;;
    PMPIXQ_*) grep -qx "${name#P}" <<<"$declared" || fail "$name is exported, not in the header" ;;
    MPI_*) [ "$type" = T ] || fail "$name is of type $type" ;;
    # The runtime of a sanitizer marks what it instruments.
    __asan_* | __ubsan_* | __tsan_* | __odr_asan*) ;;
    *) fail "$name is exported" ;;
    esac
done <<<"$exported"

# A call of MPI_x from inside would come back to ourselves or to a tool.
inside=$(nm -D --undefined-only "$lib" | awk '{ print $2 }' | grep '^MPI_')
[ -z "$inside" ] || fail "the library calls these and not their PMPI_ twins:" $inside
exit $failed
