#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# fortran.sh INTERFACE PROGRAM [CASE] - build tests/fortran/PROGRAM.F90 for an interface of MPI
# (mpif, mpi or f08), link it in some way, and run it on 2 ranks
#
#     linked         the shared library, in front of MPI (this is the default)
#     static         the static library
#     preload        linked after MPI, cured by LD_PRELOAD
#     wrong-order    probe only: linked after MPI: refused
#     fortran-first  probe only: in front of MPI, but after its Fortran libraries: refused
#     first          mpixq_first.o in the program, and MPI in front of the library
#     tool-behind    probe and collectives: a tool for C behind the library sees the calls, which
#                    come as C's
set -u
interface=${1:?which interface} program=${2:?which program} case_wanted=${3:-linked}
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
: "${MPIEXEC:=none}" "${MPIEXEC_FLAGS:=}" "${MPIXQ_TEST_FORTRAN:=no}"
if [ "$MPIXQ_TEST_FORTRAN" != yes ]; then
    echo "skip: configure found no Fortran compiler, or was told to use none"
    exit 77
elif [ "$MPIEXEC" = none ]; then
    echo "skip: no launcher was found by configure"
    exit 77
fi
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
lib=$top_builddir/.libs
source=$top_srcdir/tests/fortran
ranks=2
export MPIXQ_TEST_RANKS=$ranks LD_LIBRARY_PATH=$lib:$dir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
case $interface in
mpif) number=1 ;;
mpi) number=2 ;;
f08) number=3 ;;
*) echo "there is no interface $interface"; exit 99 ;;
esac

# Words on purpose, here and below: compilers and flags may carry options.
# shellcheck disable=SC2206
fortran=($FC $FCFLAGS ${SANITIZER_FLAGS-} -DINTERFACE=$number -I"$source" -I"$top_builddir/fortran")
# Persistent collectives have names of their own where they are an extension of MPI.
collectives=$(sed -n 's/^#define HAVE_MPI_COLLECTIVE\(_EXT\)* 1$/yes\1/p' "$top_builddir/config.h")
if [ "$program$collectives" = collectives ]; then
    echo "skip: this MPI has no persistent collectives"
    exit 77
fi
[ "$collectives" != yes_EXT ] || fortran+=(-DCOLLECTIVES_OF_EXTENSION)
# What gfortran needs to take a procedure with buffers of several types, and the names of files.
for flag in -fallow-argument-mismatch -ffree-line-length-none -w; do
    echo 'end' >"$dir/flag.f90"
    if (cd "$dir" && $FC "$flag" -c flag.f90) >/dev/null 2>&1; then
        fortran+=("$flag")
    fi
done

# link OUTPUT ARGUMENT...: by the Fortran compiler of MPI, which puts MPI's own libraries last
link()
{
    "${fortran[@]}" -o "$dir/$1" "$dir/$program.o" "$dir/ftest.o" "$dir/mixed.o" "${@:2}" -ldl ||
        exit 1
}

# mpi_libraries PATTERN: those of MPI's libraries, as the compiler links them, that fit.
mpi_libraries()
{
    # shellcheck disable=SC2086
    { $FC -show 2>/dev/null || $FC --showme; } | tr ' ' '\n' | grep -E -e '^-L' -e "^-l$1" |
        tr '\n' ' '
}

need()
{
    if [ ! -f "$1" ]; then
        echo "skip: $1 is not in this build"
        exit 77
    fi
}

# run ARGUMENT...: the verdict of the ranks, with PRELOAD in front of the program
PRELOAD=
run()
{
    local preload=()
    [ -z "$PRELOAD" ] || preload=(env "LD_PRELOAD=$PRELOAD")
    # shellcheck disable=SC2086
    timeout 90 $MPIEXEC $MPIEXEC_FLAGS -n "$ranks" "${preload[@]}" "$dir/$program" "$@" </dev/null
}

for file in ftest "$program"; do
    # From its folder, since the name stands in every check.
    (cd "$source" && "${fortran[@]}" -J"$dir" -c "$file.F90" -o "$dir/$file.o") || exit 1
done
# shellcheck disable=SC2086
$CC ${CFLAGS-} ${SANITIZER_FLAGS-} -c "$source/mixed.c" -o "$dir/mixed.o" || exit 1
[ "$case_wanted" = static ] || need "$lib/libmpix_queue.so"
case $case_wanted in
linked)
    link "$program" -L "$lib" -lmpix_queue
    run works
    ;;
static)
    need "$lib/libmpix_queue.a"
    link "$program" "$lib/libmpix_queue.a" -lpthread
    run works
    ;;
preload)
    # shellcheck disable=SC2046
    link "$program" -Wl,--no-as-needed $(mpi_libraries .) -L "$lib" -lmpix_queue
    PRELOAD=$lib/libmpix_queue.so
    run works
    ;;
wrong-order)
    # shellcheck disable=SC2046
    link "$program" -Wl,--no-as-needed $(mpi_libraries .) -L "$lib" -lmpix_queue
    run refused
    ;;
fortran-first)
    # shellcheck disable=SC2046
    link "$program" -Wl,--no-as-needed $(mpi_libraries '.*(fort|mpifh|usempi)') -L "$lib" \
        -lmpix_queue
    run refused
    ;;
first)
    need "$top_builddir/mpixq_first.o"
    # shellcheck disable=SC2046
    link "$program" -Wl,--no-as-needed $(mpi_libraries .) "$top_builddir/mpixq_first.o" -L "$lib" \
        -lmpix_queue
    run works
    ;;
tool-behind)
    # shellcheck disable=SC2086
    $CC ${CFLAGS-} -shared -fPIC -DHAVE_CONFIG_H -I "$top_builddir" -o "$dir/libprobetool.so" \
        "$top_srcdir/tests/interpose_tool.c" || exit 1
    link "$program" -L "$lib" -lmpix_queue -Wl,--no-as-needed -L "$dir" -lprobetool
    case $program in
    collectives) run works 127 ;;
    *) run works 3 ;;
    esac
    ;;
*)
    echo "no such case: $case_wanted"
    exit 99
    ;;
esac
