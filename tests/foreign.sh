#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# foreign.sh - a program of the other MPI that gets this library, linked in front of its MPI or
# behind it, or preloaded, is told so and not killed
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}"
lib=$top_builddir/.libs
case ${MPIXQ_TEST_MPI:-} in
mpich) other=openmpi says="built for MPICH and its like" ;;
openmpi) other=mpich says="built for Open MPI" ;;
*) echo "skip: it is not known which MPI has another binary interface"; exit 77 ;;
esac
if [ ! -f "$lib/libmpix_queue.so" ]; then
    echo "skip: no shared library in this build"
    exit 77
elif ! command -v "mpicc.$other" >/dev/null || ! command -v "mpiexec.$other" >/dev/null; then
    echo "skip: there is no $other beside ${MPIXQ_TEST_MPI}"
    exit 77
fi
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
failed=0

# build NAME ARGUMENT...
build()
{
    "mpicc.$other" -I "$top_srcdir/include" -o "$dir/$1" "$top_srcdir/tests/foreign_probe.c" \
        "${@:2}" || exit 1
}

# check NAME TEXT ARGUMENT...: it comes to its end, and this was said, once.
check()
{
    timeout 60 "mpiexec.$other" -n 1 "${@:3}" </dev/null >"$dir/log" 2>&1 &&
        [ "$(grep -c "$2" "$dir/log")" -eq 1 ] || { echo "failed: $1"; cat "$dir/log"; failed=1; }
}

build front -L "$lib" -lmpix_queue
check "in front of MPI" "$says" "$dir/front" init
libraries=$({ "mpicc.$other" -show 2>/dev/null || "mpicc.$other" --showme; } | tr ' ' '\n' |
    grep -E '^-(l|L)' | tr '\n' ' ')
# shellcheck disable=SC2086
build behind -Wl,--no-as-needed $libraries -L "$lib" -lmpix_queue
check "behind MPI" "$says" "$dir/behind" match
check "preloaded" "$says" env "LD_PRELOAD=$lib/libmpix_queue.so" "$dir/behind" init
# shellcheck disable=SC2086
build first -Wl,--no-as-needed $libraries "$top_builddir/mpixq_first.o" -L "$lib" -lmpix_queue
check "behind MPI, with mpixq_first.o" "$says" "$dir/first" init
exit $failed
