#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# ranges.sh - what a thread does in the library reaches profilers as ranges, of which none is left
# open: by NVTX, by rocTX, by both; and without a profiler nothing is loaded for them
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
lib=$top_builddir/.libs
if [ ! -f "$lib/libmpix_queue.so" ]; then
    echo "skip: no shared library in this build"
    exit 77
fi
# of_make NAME: a variable of the build.
of_make()
{
    sed -n "s/^$1 = *//p" "$top_builddir/Makefile"
}
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
unset NVTX_INJECTION64_PATH
failed=0

# build OUTPUT ARGUMENT...
build()
{
    # shellcheck disable=SC2046,SC2086
    $CC ${CFLAGS-} $(of_make NVTX_CPPFLAGS) -I "$top_srcdir/include" -o "$dir/$1" "${@:2}" || exit 1
}

# taker OUTPUT SOURCE ARGUMENT...
taker()
{
    build "$1" -shared -fPIC "$top_srcdir/tests/$2" "$top_srcdir/tests/range_taker.c" -pthread \
        "${@:3}"
}

# check NAME ARGUMENT...: in the environment that is exported just then.
check()
{
    echo "$1"
    timeout 60 "$dir/probe" "${@:2}" </dev/null || { echo "failed: $1"; failed=1; }
}

build probe "$top_srcdir/tests/ranges_probe.c" -L "$lib" -lmpix_queue -ldl
taker libroctx64.so roctx_taker.c -Wl,-soname,libroctx64.so.4
check 'nobody takes them'
check 'rocTX, loaded by the program' roctx "$dir/libroctx64.so"
(
    export LD_PRELOAD=$dir/libroctx64.so
    check 'rocTX, preloaded' roctx "$dir/libroctx64.so"
    exit $failed
) || failed=1
if [ "$(of_make HAVE_NVTX)" != yes ]; then
    [ $failed -ne 0 ] || echo "skip: the rest, as the build has no headers of NVTX"
    exit $((failed ? 1 : 77))
fi
taker libnvtxtaker.so nvtx_taker.c
export NVTX_INJECTION64_PATH=$dir/libnvtxtaker.so
check NVTX nvtx "$dir/libnvtxtaker.so"
check 'NVTX and rocTX' nvtx "$dir/libnvtxtaker.so" roctx "$dir/libroctx64.so"
export NVTX_INJECTION64_PATH=$dir/missing.so
check 'a profiler that is not there'
exit $failed
