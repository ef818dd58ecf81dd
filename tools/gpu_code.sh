#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# gpu_code.sh - the kernels of a folder (src/stream, benchmarks) as bytes in a C file
#
#     gpu_code.sh cuda|hip SRCDIR OUTPUT    compile for one vendor; fails if that cannot be done
#     gpu_code.sh embed SRCDIR FOLDER       write FOLDER/code.c, kernels.ptx and kernels.co
#     gpu_code.sh source SRCDIR OUTPUT      the kernels for HIP as one text, which includes nothing
#
# GPU_CLANG is a clang, or hipcc; neither needs a toolkit, since the kernels include nothing. What
# it cannot compile comes from the tarball, where "make dist" has put it, or stays out of the
# library, which then uses stream memory operations.
set -u
src=$2/src/stream
prefix=mpixq
header=gpu.h
if [ "$1" = embed ] && [ "$3" = benchmarks ]; then
    src=$2/$3
    prefix=bench
    header=bench_device.h
fi

# PTX of the lowest version that has what the kernels need: drivers compile it for newer GPUs.
compile_cuda()
{
    [ -n "${GPU_CLANG-}" ] && "$GPU_CLANG" -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 \
        -nocudainc -nocudalib -Wno-unknown-cuda-version -Xclang -target-feature -Xclang +ptx60 \
        -O2 -S -o "$1" "$src/kernels_cuda.c" 2>/dev/null && [ -s "$1" ]
}

# Code objects for what the compiler knows of this list: there is nothing common to all.
compile_hip()
{
    archs=
    [ -n "${GPU_CLANG-}" ] || return 1
    for arch in gfx906 gfx908 gfx90a gfx942; do
        "$GPU_CLANG" -x hip --cuda-device-only --offload-arch=$arch -nogpulib -nogpuinc -O2 -S \
            -o /dev/null "$src/kernels_hip.c" 2>/dev/null && archs="$archs --offload-arch=$arch"
    done
    # shellcheck disable=SC2086
    [ -n "$archs" ] && "$GPU_CLANG" -x hip --cuda-device-only $archs -nogpulib -nogpuinc -O2 \
        -o "$1" "$src/kernels_hip.c" 2>/dev/null && [ -s "$1" ]
}

# Of the library's only: what the compiler at build time does not know, one at run time may.
source_hip()
{
    awk -v folder="$src" '
        function put(file,   line, parts) {
            while ((getline line <file) > 0) {
                if (line ~ /^#include "/) {
                    split(line, parts, "\"")
                    put(folder "/" parts[2])
                } else {
                    print line
                }
            }
            close(file)
        }
        BEGIN { put(folder "/kernels_hip.c") }' >"$1" && [ -s "$1" ]
}

# bytes NAME FILE: as a C array, with a 0 at the end, which texts need.
bytes()
{
    echo "const unsigned char $1[] __attribute__((aligned(4096))) = {"
    od -An -v -t u1 "$2" | sed 's/\([0-9][0-9]*\)/\1,/g'
    echo "0};"
    echo "const size_t $1_bytes = $(($(wc -c <"$2")));"
}

case $1 in
cuda) compile_cuda "$3" ;;
hip) compile_hip "$3" ;;
source) source_hip "$3" ;;
embed)
    compile_cuda "$3/kernels.ptx" || cp "$src/shipped.ptx" "$3/kernels.ptx" 2>/dev/null ||
        : >"$3/kernels.ptx"
    compile_hip "$3/kernels.co" || cp "$src/shipped.co" "$3/kernels.co" 2>/dev/null ||
        : >"$3/kernels.co"
    {
        echo "/* Made by tools/gpu_code.sh. */"
        echo "#include \"$header\""
        bytes ${prefix}_code_cuda "$3/kernels.ptx"
        bytes ${prefix}_code_hip "$3/kernels.co"
        if [ $prefix = mpixq ]; then
            source_hip "$3/kernels.hip" && bytes mpixq_source_hip "$3/kernels.hip" || exit 1
        fi
    } >"$3/code.c.new" && mv "$3/code.c.new" "$3/code.c"
    ;;
esac
