#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# pvars.sh - a tool finds the performance variables of the library beside those of MPI, whichever
# way the program gets the library; and indices stay when what is behind it gets more variables
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
lib=$top_builddir/.libs
first=$top_builddir/mpixq_first.o
if [ ! -f "$lib/libmpix_queue.so" ]; then
    echo "skip: no shared library in this build"
    exit 77
elif ! nm -D --defined-only "$lib/libmpix_queue.so" | grep -q ' MPI_T_pvar_read\(@.*\)*$'; then
    echo "skip: this MPI has no performance variables"
    exit 77
fi
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export LD_LIBRARY_PATH=$lib:$dir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
failed=0

# build OUTPUT ARGUMENT...: by the MPI compiler, which puts MPI's own libraries last
build()
{
    # shellcheck disable=SC2086
    $CC ${CFLAGS-} -o "$dir/$1" "${@:2}" || exit 1
}

# check NAME [PRELOAD [ARGUMENT]]
check()
{
    echo "$1"
    LD_PRELOAD=${2-} timeout 60 "$dir/probe" "${@:3}" </dev/null || { echo "failed: $1"; failed=1; }
}

probe=$top_srcdir/tests/pvars_probe.c
libraries=$({ $CC -show 2>/dev/null || $CC --showme; } | tr ' ' '\n' | grep -E '^-(l|L)')
build libstandin.so -shared -fPIC "$top_srcdir/tests/pvars_tool.c"
build probe "$probe" -Wl,--no-as-needed -L "$lib" -lmpix_queue
check linked
check 'linked, another one behind it by LD_PRELOAD' \
    "$lib/libmpix_queue.so:$dir/libstandin.so" grow
build probe "$probe" -Wl,--no-as-needed -L "$lib" -lmpix_queue -L "$dir" -lstandin
check 'linked, in front of another one' '' grow
build probe "$probe"
check preloaded "$lib/libmpix_queue.so"
check 'preloaded, in front of another one' "$lib/libmpix_queue.so:$dir/libstandin.so" grow
if [ -f "$first" ]; then
    # shellcheck disable=SC2086
    build probe "$probe" -Wl,--no-as-needed $libraries "$first" -L "$lib" -lmpix_queue
    check 'behind MPI, by mpixq_first.o'
    build probe "$probe" "$first" -Wl,--no-as-needed -L "$dir" -lstandin -L "$lib" -lmpix_queue
    check 'behind another one, by mpixq_first.o' '' grow
fi
if [ -f "$lib/libmpix_queue.a" ]; then
    # What refers to nothing else of the library gets it by its functions of MPI alone.
    build probe "$probe" "$lib/libmpix_queue.a" -lpthread -ldl
    check static
fi
exit $failed
