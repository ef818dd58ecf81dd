# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_GPU_CODE: what compiles the kernels for GPUs. Any clang with the targets does, without the
# vendors' toolkits. Sets GPU_CLANG (empty: none), and mpixq_cuda_code and mpixq_hip_code for the
# summary.

AC_DEFUN([MPIXQ_GPU_CODE], [
    AC_ARG_VAR([GPU_CLANG], [a clang that compiles the kernels for GPUs])
    AC_PATH_PROGS([GPU_CLANG], [clang clang-20 clang-19 clang-18 clang-17 clang-16 clang-14], [],
        [$PATH:/opt/rocm/llvm/bin:/opt/rocm/bin])
    MPIXQ_GPU_CODE_OF([cuda], [ptx], [PTX])
    MPIXQ_GPU_CODE_OF([hip], [co], [code objects])
])

# MPIXQ_GPU_CODE_OF(VENDOR, ENDING, WHAT)
AC_DEFUN([MPIXQ_GPU_CODE_OF], [
    AC_MSG_CHECKING([for kernels as $3])
    AS_IF([GPU_CLANG="$GPU_CLANG" $SHELL "$srcdir/tools/gpu_code.sh" $1 "$srcdir" conftest.$2],
        [mpixq_$1_code="kernels by $GPU_CLANG"],
        [test -s "$srcdir/src/stream/shipped.$2"],
        [mpixq_$1_code="kernels from the tarball"],
        [mpixq_$1_code="no kernels (no clang for them): stream memory operations"])
    rm -f conftest.$2
    AC_MSG_RESULT([$mpixq_$1_code])
])
