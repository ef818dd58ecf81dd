#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# nvshmem.sh - the kernels of the modes nvshmem-device, nvshmem-dev-one and nvshmem-fused, in a file
# for the option --nvshmem of the benchmarks
#
#     benchmarks/nvshmem.sh FOLDER OUTPUT
#
# FOLDER has NVSHMEM's include and lib, in which libnvshmem_device.a is. It should be the NVSHMEM
# that the benchmarks find when they run. NVCC names the compiler (nvcc), SM the kind of GPU (that
# of the first one here, or 90).
nvshmem=${1:?a folder} output=${2:?a file}
here=${0%/*}
nvcc=${NVCC:-nvcc}
sm=${SM:-$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    head -n 1 | tr -cd 0-9)}
sm=${sm:-90}
if [ ! -f "$nvshmem/include/nvshmem.h" ] || [ ! -f "$nvshmem/lib/libnvshmem_device.a" ]; then
    echo "$0: $nvshmem has no include/nvshmem.h, or no lib/libnvshmem_device.a" >&2
    exit 1
fi
trap 'rm -f "$output.cubin"' EXIT
"$nvcc" -rdc=true -arch="sm_$sm" -std=c++17 -O3 -cubin -I"$nvshmem/include" -I"$here" \
    -o "$output.cubin" "$here/kernels_nvshmem.cu" &&
    "$nvcc" -dlink -arch="sm_$sm" -cubin -o "$output" "$output.cubin" \
        -L"$nvshmem/lib" -lnvshmem_device
