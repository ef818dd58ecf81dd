#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# examples.sh [gpu] - the examples, which "make check" has built, give the right numbers; gpu: those
# for both kinds of GPUs, and the one for HIP, are compiled with HIP, and run on the double of its
# runtime; the former compile with CUDA, and so do those with kernels of their own, by nvcc. What
# is not there for these is told, by exit code 77. On GPUs they are run by tests/gpu/run.
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
failed=0 lacks=

# launch RANKS PROGRAM: what it prints, in the order of ranks. MPI may add lines of its own.
launch()
{
    # shellcheck disable=SC2086
    timeout 100 $MPIEXEC $MPIEXEC_FLAGS -n "$1" "$2" </dev/null >"$dir/printed"
    local rc=$?

    find "$dir" -name 'printed*' -exec cat {} + | sort
    rm -f "$dir"/printed*
    return $rc
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
    nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) ||
        { lacks="nvcc, so no kernel was compiled"; return; }
    if [ "$mpicxx" = "${CC%% *}" ] || ! command -v "$mpicxx" >/dev/null; then
        lacks="compiler of this MPI for C++, so no kernel was compiled"
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
    if ! "$nvcc" -Werror all-warnings -ccbin "$mpicxx" -I"$top_srcdir/include" \
        "$top_srcdir/examples/halo_kernel.cu" -L"$top_builddir/.libs" -lmpix_queue \
        -o "$dir/halo_kernel"; then
        echo "failed: halo_kernel.cu"
        failed=1
    fi
    # While nodes have come with CUDA 12.4.
    if ! "$nvcc" --version | grep -qE 'release (12\.[0-3]|11|10)' &&
        ! "$nvcc" -Werror all-warnings -ccbin "$mpicxx" -I"$top_srcdir/include" \
            "$top_srcdir/examples/loop_gpu.cu" -L"$top_builddir/.libs" -lmpix_queue \
            -o "$dir/loop_gpu"; then
        echo "failed: loop_gpu.cu"
        failed=1
    fi
    unset -f nvcc pkg-config
    needed=$(readelf -d "$dir/prog" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p')
    if ! grep -m 1 -e mpi <<<"$needed" | grep -q '^libmpix_queue'; then
        echo "failed: exchange_gpu needs MPI before the library: $needed"
        failed=1
    fi
}

# find_hip: the folder of its headers into hip; none: the rest is skipped.
find_hip()
{
    hip=$(folder hip/hip_runtime_api.h ${HIP_PATH:+"$HIP_PATH/include"} \
        ${ROCM_PATH:+"$ROCM_PATH/include"} /opt/rocm/include /usr/include) ||
        { lacks=hip_runtime_api.h; return 1; }
}

# The kernel with HIP, for GPUs and the host: as hipcc does it, which is a clang, but without what
# AMD's libraries have for GPUs. Whether there is such a clang is seen by a source without headers.
kernel_of_hip()
{
    local mpicxx=${CC%% *} hip clang=${GPU_CLANG:-clang}
    local hipcc=("$clang" -x hip --offload-arch=gfx90a -nogpulib -nogpuinc -fsyntax-only)
    mpicxx=${mpicxx/mpicc/mpicxx}
    find_hip || return
    echo '__attribute__((global)) void nothing(void) {}' >"$dir/empty.cu"
    if ! "${hipcc[@]}" "$dir/empty.cu" 2>/dev/null || [ "$mpicxx" = "${CC%% *}" ] ||
        ! command -v "$mpicxx" >/dev/null; then
        lacks="compiler of HIP, or of this MPI for C++, so no kernel was compiled with HIP"
        return
    fi
    MPICH_CXX=$clang OMPI_CXX=$clang "$mpicxx" "${hipcc[@]:1}" -Wall -Wextra -Werror \
        -Wno-unused-command-line-argument -Wno-ignored-optimization-argument \
        -isystem "$hip" -I"$top_srcdir/include" "$top_srcdir/examples/halo_kernel.cu" ||
        { echo "failed: halo_kernel.cu with HIP"; failed=1; }
}

# on_gpu PROGRAM LINE RANKS...: it compiles with CUDA if it can, and with HIP on its double each of
# so many ranks prints the line; with the buffers as they are, and by MPI, which takes no memory of
# GPUs.
on_gpu()
{
    local name=$1 wanted=$2 cuda double=$top_builddir/tests/hip_double/.libs/libamdhip64.so.5
    local source=$top_srcdir/examples/$1.c
    local options=(-Wall -Wextra -Werror "-I$top_srcdir/include")
    shift 2
    cuda=$(folder cuda_runtime_api.h /usr/local/cuda/include /usr/include) &&
        grep -q '<cuda' "$source" &&
        { $CC "${options[@]}" -isystem "$cuda" -fsyntax-only "$source" || failed=1; }
    find_hip || return
    # shellcheck disable=SC2086
    $CC ${SANITIZER_FLAGS-} "${options[@]}" -DUSE_HIP -D__HIP_PLATFORM_AMD__ -isystem "$hip" \
        "$source" -o "$dir/$name" "$top_builddir/.libs/libmpix_queue.so" \
        "$double" -Wl,-rpath,"$top_builddir/.libs:${double%/*}" || exit 1
    for ranks; do
        for channels in ${channels_of:-ipc,cxi,fallback cxi,fallback}; do
            MPIXQ_CHANNELS=$channels expect "$ranks" "$dir/$name" "rank 0: $wanted" \
                "rank $((ranks - 1)): $wanted"
        done
    done
}

# The command that it is given, with what the library says of itself among what it prints.
told()
{
    printf '#!/bin/sh\nexec env MPIXQ_INFO=1 %s >"%s/printed.$$" 2>&1\n' "$*" "$dir" >"$dir/told"
    chmod +x "$dir/told"
}

if [ "${1-}" = gpu ]; then
    kernel
    kernel_of_hip
    on_gpu ring_gpu '0 of 1048576 numbers are wrong' 1 3
    on_gpu two_queues_gpu '0 of 131072 numbers are wrong' 1 2 3
    channels_of=ipc on_gpu graph_gpu '0 of 4096 numbers are wrong' 2 3 4
    on_gpu exchange_gpu_hip '0 of 1048576 numbers are wrong' 2 3
    [ $failed = 1 ] || [ -z "$lacks" ] || { echo "skip: there is no $lacks"; exit 77; }
    exit $failed
fi

expect 2 exchange 'rank 0: 1536' 'rank 1: 1536'
expect 3 exchange 'rank 0: 1536' 'rank 1: 1536' 'rank 2: 3' # MPI_PROC_NULL
for ranks in 1 2 4; do
    expect "$ranks" halo 'heat before 1000.000000, after 100 steps 1000.000000'
    # That of the first cell is 1000 times the central of the 401 binomial coefficients, by 4^200.
    heat='heat after 200 steps 1000.000000, in the first cell 39.869302'
    for program in overlap plain plain_matched; do
        expect "$ranks" $program "$heat"
    done
    expect "$ranks" mixed "rank $((ranks - 1)): 12"
    expect "$ranks" threads "rank $((ranks - 1)): 0 of 4 threads are wrong"
done
for ranks in 1 2 3 4; do
    [ -x "$top_builddir/examples/cg" ] || break # where MPI has no persistent collectives
    expect "$ranks" cg 'rank 0: 0 of 32 numbers are wrong' \
        "rank $((ranks - 1)): 0 of 32 numbers are wrong"
    expect "$ranks" gradients "rank 0: 0 of $((ranks * 800)) weights are wrong" \
        "rank $((ranks - 1)): 0 of $((ranks * 800)) weights are wrong"
done
for ranks in 1 2 3 4 6; do
    expect "$ranks" life 'rank 0: 0 of 256 cells are wrong' \
        "rank $((ranks - 1)): 0 of 256 cells are wrong"
done
why='kind 9: MPIX_Queue_wait: queue failed at receive from 1 tag 0 on MPI_COMM_WORLD, 4 bytes'
expect 2 errors 'rank 0: start without a match: kind 4: .* is not matched: call MPIX_Match first' \
    'rank 1: start without a match: kind 4: .* is not matched: call MPIX_Match first' \
    'rank 1: start after it: kind 0: .*' 'rank 0: 7' 'rank 1: 7' \
    'rank 0: match of a send of two and a receive of one: kind 0: .*\(truncated\|is smaller\).*' \
    'rank 1: match of a send of two and a receive of one: kind 0: .*\(truncated\|is smaller\).*' \
    "rank 0: wait for a peer that has freed its end: $why: the peer has freed its end .*" \
    'rank 0: free of the queue: kind 0: .*'
expect 1 errors

# Unchanged, with the library in front of it; and with its two lines.
if [ -f "$top_builddir/.libs/libmpix_queue.so" ]; then
    told "LD_PRELOAD=$top_builddir/.libs/libmpix_queue.so $top_builddir/examples/plain"
    expect 2 "$dir/told" "$heat" 'mpix_queue: rank 1: 0 pairs'
    told "$top_builddir/examples/plain_matched"
    expect 2 "$dir/told" "$heat" 'mpix_queue: rank 1: 4 pairs: 4 fallback.*'
fi

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
