#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# interpose.sh CASE - link a program in one of many ways: it works, or it is told why it cannot
#
#     linked        the shared library, in front of MPI
#     preload       linked after MPI, cured by LD_PRELOAD
#     static        the static library
#     intermediate  only a shared library in between is linked with ours: refused
#     as-needed     the linker drops our library, because only the one in between uses it: refused
#     wrong-order   MPI in front of the library: refused, and the error names it
#     tool-front    a tool that defines MPI_Send_init in front of the library: refused, and named
#     tool-behind   the tool behind the library: works, and the tool sees the calls as well
#     first         mpixq_first.o in the program, and MPI in front of the library
#     first-between the same where all calls are made in a shared library in between
#     first-both    the object in that library too
#     first-tool    with a tool in front of the library, preloaded or linked: it sees the calls
#     first-static  with the static library, which needs no object
set -u
case_wanted=${1:?which case}
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}" "${CC:?}"
: "${MPIEXEC:=none}" "${MPIEXEC_FLAGS:=}"
if [ "$MPIEXEC" = none ]; then
    echo "skip: no launcher was found by configure"
    exit 77
fi
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
lib=$top_builddir/.libs
source=$top_srcdir/tests/interpose_probe.c
ranks=2
export MPIXQ_TEST_RANKS=$ranks LD_LIBRARY_PATH=$lib:$dir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# build OUTPUT ARGUMENT...: by the MPI compiler, which puts MPI's own libraries last
build()
{
    # shellcheck disable=SC2086
    $CC ${CFLAGS-} -DHAVE_CONFIG_H -I "$top_builddir" -I "$top_srcdir/include" -o "$dir/$1" \
        "${@:2}" || exit 1
}

# MPI's libraries as the compiler links them, to put them in front.
mpi_libraries()
{
    # shellcheck disable=SC2086
    { $CC -show 2>/dev/null || $CC --showme; } | tr ' ' '\n' | grep -E '^-(l|L)' | tr '\n' ' '
}

need()
{
    if [ ! -f "$1" ]; then
        echo "skip: $1 is not in this build"
        exit 77
    fi
}

# run works|refused [CALLS]: the verdict of the ranks, with PRELOAD in front of the program; TAKER
# is what the error is to name, and SERVER, if it is set, the file that defines what is called
PRELOAD=
export TAKER=
run()
{
    local preload=()
    [ -z "$PRELOAD" ] || preload=(env "LD_PRELOAD=$PRELOAD")
    # shellcheck disable=SC2086
    timeout 100 $MPIEXEC $MPIEXEC_FLAGS -n "$ranks" "${preload[@]}" "$dir/probe" "$@" </dev/null
}

build_tool()
{
    build libprobetool.so -shared -fPIC "$top_srcdir/tests/interpose_tool.c"
}

build_between()
{
    build libbetween.so -shared -fPIC -DPROBE_LIBRARY "$source" "$@" -L "$lib" -lmpix_queue
}

# mpi_first OUTPUT ARGUMENT...: build with MPI in front of all libraries
mpi_first()
{
    # shellcheck disable=SC2046
    build "$1" -Wl,--no-as-needed $(mpi_libraries) "${@:2}"
}

[ "$case_wanted" = static ] || need "$lib/libmpix_queue.so"
first=$top_builddir/mpixq_first.o
[[ $case_wanted != first* ]] || need "$first"
case $case_wanted in
linked)
    export SERVER=libmpix_queue
    build probe "$source" -L "$lib" -lmpix_queue
    run works || exit 1
    unset SERVER
    # Such a program has addresses of its own for functions of others.
    build probe -fno-pie -no-pie "$source" -L "$lib" -lmpix_queue
    run works
    ;;
preload)
    mpi_first probe "$source" -L "$lib" -lmpix_queue
    run refused || exit 1
    PRELOAD=$lib/libmpix_queue.so
    SERVER=libmpix_queue run works
    ;;
static)
    need "$lib/libmpix_queue.a"
    build probe "$source" "$lib/libmpix_queue.a" -lpthread -ldl
    run works
    ;;
intermediate)
    build_between
    build probe -DPROBE_MAIN "$source" -L "$dir" -lbetween
    run refused || exit 1
    PRELOAD=$lib/libmpix_queue.so
    run works
    ;;
as-needed)
    build_between
    build probe -DPROBE_MAIN "$source" -Wl,--as-needed -L "$dir" -lbetween -L "$lib" -lmpix_queue
    run refused
    ;;
wrong-order)
    mpi_first probe "$source" -L "$lib" -lmpix_queue
    TAKER=libmpi
    run refused
    ;;
tool-front)
    build_tool
    build probe "$source" -L "$lib" -lmpix_queue
    run works || exit 1
    PRELOAD=$dir/libprobetool.so TAKER=libprobetool.so
    run refused 3
    ;;
tool-behind)
    build_tool
    build probe "$source" -L "$lib" -lmpix_queue -Wl,--no-as-needed -L "$dir" -lprobetool
    run works 3 || exit 1
    build probe "$source" -L "$lib" -lmpix_queue
    PRELOAD=$lib/libmpix_queue.so:$dir/libprobetool.so
    run works 3
    ;;
first)
    mpi_first probe "$source" "$first" -L "$lib" -lmpix_queue
    run works || exit 1
    build probe "$source" -Wl,--as-needed "$first" -L "$lib" -lmpix_queue
    run works || exit 1
    mpi_first probe -fno-pie -no-pie "$source" "$first" -L "$lib" -lmpix_queue
    run works
    ;;
first-between)
    build_between
    mpi_first probe -DPROBE_MAIN "$source" "$first" -L "$dir" -lbetween -L "$lib" -lmpix_queue
    run works
    ;;
first-both)
    build_between "$first"
    mpi_first probe -DPROBE_MAIN "$source" "$first" -L "$dir" -lbetween -L "$lib" -lmpix_queue
    run works || exit 1
    build_tool
    build probe -DPROBE_MAIN "$source" "$first" -L "$dir" -lbetween -L "$lib" -lmpix_queue \
        -Wl,--no-as-needed -lprobetool
    run works 3
    ;;
first-tool)
    build_tool
    mpi_first probe "$source" "$first" -L "$lib" -lmpix_queue
    PRELOAD=$dir/libprobetool.so
    run works 3 || exit 1
    PRELOAD=
    build probe "$source" "$first" -L "$dir" -Wl,--no-as-needed -lprobetool -L "$lib" -lmpix_queue
    run works 3
    ;;
first-static)
    need "$lib/libmpix_queue.a"
    build probe "$source" "$first" "$lib/libmpix_queue.a" -lpthread -ldl
    run works
    ;;
*)
    echo "no such case: $case_wanted"
    exit 99
    ;;
esac
