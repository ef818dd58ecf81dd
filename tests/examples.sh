#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# examples.sh [gpu] - the examples, which "make check" has built, give the right numbers; gpu: the
# one for both kinds of GPUs is compiled with HIP, and runs on the double of its runtime; it
# compiles with CUDA, and so does the one with a kernel of its own, by nvcc
set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}"
if [ "$MPIEXEC" = none ]; then
    echo "skip: no launcher was found by configure"
    exit 77
fi
# shellcheck source=../tools/mpi_env.sh
. "$top_srcdir/tools/mpi_env.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# launch RANKS PROGRAM: what it prints, in the order of ranks. MPI may add lines of its own.
launch()
{
    # shellcheck disable=SC2086
    timeout 100 $MPIEXEC $MPIEXEC_FLAGS -n "$1" "$2" </dev/null | sort
    return "${PIPESTATUS[0]}"
}

# expect RANKS PROGRAM LINE...: the program ends well and prints these lines among others.
expect()
{
    local ranks=$1 program=$2 printed
    [[ $program = /* ]] || program=$top_builddir/examples/$program
    shift 2
    if ! printed=$(launch "$ranks" "$program"); then
        echo "failed: $program on $ranks ranks ended with an error"
        failed=1
    fi
    for line in "$@"; do
        if ! grep -qx "$line" <<<"$printed"; then
            echo "failed: $program on $ranks ranks did not print '$line' but: $printed"
            failed=1
        fi
    done
}

# folder HEADER FOLDER...: the first folder that has it; none: the rest is skipped.
folder()
{
    local header=$1 folder
    shift
    for folder; do
        [ -f "$folder/$header" ] && echo "$folder" && return
    done
    return 1
}

# By the README's command. The program is not run here, where there may be no GPU, but in what it
# needs the library has to come before MPI. $CC is an MPI compiler, with or without options.
kernel()
{
    local nvcc mpicxx=${CC%% *} needed line
    mpicxx=${mpicxx/mpicc/mpicxx}
    nvcc=$(command -v nvcc || folder nvcc /usr/local/cuda/bin) || return
    [ "${nvcc##*/}" = nvcc ] || nvcc+=/nvcc
    if [ "$mpicxx" = "${CC%% *}" ] || ! command -v "$mpicxx" >/dev/null; then
        return
    fi
    line=$(sed -n 's/^| CUDA | `\(.*\)` |$/\1/p' "$top_srcdir/README.md")
    cp "$top_srcdir/examples/exchange_gpu.cu" "$dir/prog.cu"
    nvcc()
    {
        "$nvcc" -Werror all-warnings "${@/#mpicxx/$mpicxx}"
    }
    pkg-config()
    {
        case $1 in
        --cflags) echo "-I$top_srcdir/include" ;;
        --variable=libdir) echo "$top_builddir/.libs" ;;
        esac
    }
    if ! (cd "$dir" && eval "${line:?is in the table of the README}"); then
        echo "failed: $line"
        failed=1
        return
    fi
    unset -f nvcc pkg-config
    needed=$(readelf -d "$dir/prog" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p')
    if ! grep -m 1 -e mpi <<<"$needed" | grep -q '^libmpix_queue'; then
        echo "failed: exchange_gpu needs MPI before the library: $needed"
        failed=1
    fi
}

ring()
{
    local headers double=$top_builddir/tests/hip_double/.libs/libamdhip64.so.5
    local options=(-Wall -Wextra -Werror "-I$top_srcdir/include")
    headers=$(folder cuda_runtime_api.h /usr/local/cuda/include /usr/include) &&
        { $CC "${options[@]}" -isystem "$headers" -fsyntax-only "$top_srcdir/examples/ring_gpu.c" ||
            failed=1; }
    headers=$(folder hip/hip_runtime_api.h ${HIP_PATH:+"$HIP_PATH/include"} \
        ${ROCM_PATH:+"$ROCM_PATH/include"} /opt/rocm/include /usr/include) || {
        [ $failed = 1 ] || echo "skip: there is no hip_runtime_api.h"
        exit $((failed == 1 ? 1 : 77))
    }
    # shellcheck disable=SC2086
    $CC ${SANITIZER_FLAGS-} "${options[@]}" -DUSE_HIP -D__HIP_PLATFORM_AMD__ -isystem "$headers" \
        "$top_srcdir/examples/ring_gpu.c" -o "$dir/ring" "$top_builddir/.libs/libmpix_queue.so" \
        "$double" -Wl,-rpath,"$top_builddir/.libs:${double%/*}" || exit 1
    for ranks in 1 3; do
        expect "$ranks" "$dir/ring" 'rank 0: 0 of 1048576 numbers are wrong' \
            "rank $((ranks - 1)): 0 of 1048576 numbers are wrong"
        # By MPI, which takes no memory of GPUs, too.
        MPIXQ_CHANNELS=cxi,fallback expect "$ranks" "$dir/ring" \
            "rank $((ranks - 1)): 0 of 1048576 numbers are wrong"
    done
    exit $failed
}

if [ "${1-}" = gpu ]; then
    kernel
    ring
fi

expect 2 exchange 'rank 0: 1536' 'rank 1: 1536'
expect 3 exchange 'rank 0: 1536' 'rank 1: 1536' 'rank 2: 3' # MPI_PROC_NULL
for ranks in 1 2 4; do
    expect "$ranks" halo 'heat before 1000.000000, after 100 steps 1000.000000'
    # That of the first cell is 1000 times the central of the 401 binomial coefficients, by 4^200.
    expect "$ranks" overlap 'heat after 200 steps 1000.000000, in the first cell 39.869302'
done

# The one in Fortran is built here, since make does without Fortran.
if [ "${MPIXQ_TEST_FORTRAN:-no}" = yes ] && [ -f "$top_builddir/.libs/libmpix_queue.so" ]; then
    # shellcheck disable=SC2086
    $FC $FCFLAGS ${SANITIZER_FLAGS-} -I"$top_builddir/fortran" -J"$dir" -o "$dir/fortran" \
        "$top_srcdir/examples/exchange_fortran.f90" -L"$top_builddir/.libs" -lmpix_queue || failed=1
    export LD_LIBRARY_PATH=$top_builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    expect 2 "$dir/fortran" 'rank 0: 1536' 'rank 1: 1536'
    expect 1 "$dir/fortran" 'rank 0: 1'
fi
exit $failed
