#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# frames.sh - kernels keep what they compute in registers: those of the library have a stack frame
# of a few words at most, and those of programs with the header for kernels none that holds a copy
# of their parameters. A launch that needs more local memory than was set aside, which for CUDA is
# 1 KiB a thread, waits until the GPU is idle, and so for a wait that is pending. Needs a ptxas of
# CUDA
set -u
ptxas=$(sed -n 's/^PTXAS = *//p' "$top_builddir/Makefile")
[ -n "$ptxas" ] || ptxas=$(PATH=$PATH:/usr/local/cuda/bin type -P ptxas)
if [ -z "$ptxas" ]; then
    echo "skipped: no ptxas"
    exit 77
fi
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0

# frames PTX: for each kernel, its name, and the bytes of its stack frame
frames()
{
    "$ptxas" -v -arch=sm_90 "$1" -o "$folder/cubin" 2>&1 |
        awk '/Compiling entry function/ { split($0, part, "\047"); name = part[2] }
             /bytes stack frame/ { print name, $1 }'
}

# look PTX MOST: no kernel of it has a larger frame
look()
{
    local name bytes n=0
    if ! grep -q '^\.visible \.entry' "$top_builddir/$1" 2>/dev/null; then
        echo "skipped: no compiler has made kernels for CUDA ($1)"
        exit 77
    fi
    while read -r name bytes; do
        n=$((n + 1))
        [ "$bytes" -le "$2" ] || {
            echo "failed: $1: $name has a stack frame of $bytes bytes, of $2 at most"
            failed=1
        }
    done < <(frames "$top_builddir/$1")
    [ "$n" -ge 5 ] || {
        echo "failed: $1: $n kernels found"
        failed=1
    }
}

look src/stream/kernels90.ptx 32
look benchmarks/kernels90.ptx 128
exit $failed
