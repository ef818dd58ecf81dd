#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# prefix.sh - "./run build --prefix DIR" installs there for the MPI that it is told, once more after
# the folder was emptied; by the lines that it prints a program is built there and runs, a project
# of CMake finds the library, and the programs and the man pages are found. A folder that cannot be
# one is refused before anything is built
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}"
: "${MPIEXEC:=none}" "${MPIEXEC_FLAGS:=}"
if ! [ "$top_builddir" -ef "$top_srcdir/build/$MPIXQ_TEST_MPI" ]; then
    echo "skip: this tree was not made by ./run"
    exit 77
elif [ "$MPIEXEC" = none ] || ! command -v pkg-config >/dev/null; then
    echo "skip: there is no launcher, or no pkg-config"
    exit 77
fi
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
fail()
{
    echo "failed: $*"
    failed=1
}
# The jobs of the make that runs the tests are not ours.
unset MAKEFLAGS MFLAGS MAKELEVEL
run=$(cd "$top_srcdir" && pwd)/run
cd "$dir" || exit 99

for folder in "a b" 'a$b' 'a:b' -x /proc/none; do
    ! "$run" build --mpi "$MPIXQ_TEST_MPI" --prefix "$folder" >log 2>&1 &&
        grep -q "^run: .*$folder" log || fail "--prefix '$folder': $(tail -n 3 log)"
done

# By a name from here, which is where it is then.
build()
{
    "$run" build --mpi "$MPIXQ_TEST_MPI" --prefix to/inst >log 2>&1 || { cat log; exit 1; }
}
build
[ -f to/inst/lib/libmpix_queue.so ] || fail "the library is not in to/inst/lib"
cp "$top_srcdir/examples/exchange.c" program.c

# In a shell of its own: with what is printed, and no more than a user has.
cat >try <<'E2'
set -eu
unset MANPATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH LD_LIBRARY_PATH
. ./lines
[ "$(command -v mpixq_info)" = "$PWD/to/inst/bin/mpixq_info" ]
mpixq_info >info
if command -v man >/dev/null; then
    [ "$(man -w mpix_queue)" = "$PWD/to/inst/share/man/man7/mpix_queue.7" ]
fi
$MPIEXEC $MPIEXEC_FLAGS -n 2 ./a.out </dev/null >printed
[ "$(grep -o 'rank [01]: 1536' printed | sort -u | wc -l)" = 2 ]
if command -v cmake >/dev/null; then
    printf '%s\n' 'cmake_minimum_required(VERSION 3.13)' 'project(found C)' \
        'find_package(mpix_queue REQUIRED)' 'message("in ${mpix_queue_DIR}")' >CMakeLists.txt
    cmake -S . -B made >cmake.log 2>&1
    grep -x "in $PWD/to/inst/lib/cmake/mpix_queue" cmake.log
fi
E2
sed -n 's/^  \(export .*\|mpicc.*\)/\1/p' log >lines
[ "$(wc -l <lines)" = 5 ] || fail "printed $(wc -l <lines) lines to use, not 5"
MPIEXEC_FLAGS=$MPIEXEC_FLAGS timeout 100 bash -x try >tried 2>&1 || { fail "the lines"; cat tried; }

rm -rf to/inst/lib
build
[ -f to/inst/lib/libmpix_queue.so ] || fail "what was removed is not installed again"
exit $failed
