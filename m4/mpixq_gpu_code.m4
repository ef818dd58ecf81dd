# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_GPU_CODE: what compiles the kernels for GPUs. Any clang with the targets does, without the
# vendors' toolkits; lld links those for HIP. Those of CUDA's tools that make machine code of PTX
# are used where they are. Sets GPU_CLANG, PTXAS and FATBINARY (empty: none), and mpixq_cuda_code,
# mpixq_hip_code and mpixq_cubins for the summary.

AC_DEFUN([MPIXQ_GPU_CODE], [
    AC_ARG_VAR([GPU_CLANG], [a clang that compiles the kernels for GPUs])
    AC_PATH_PROGS([GPU_CLANG], [clang clang-20 clang-19 clang-18 clang-17 clang-16 clang-14], [],
        [$PATH:/opt/rocm/llvm/bin:/opt/rocm/bin])
    MPIXQ_GPU_CODE_OF([cuda], [ptx], [PTX],
        [stream memory operations, which take longer, and no channel ipc])
    MPIXQ_GPU_CODE_OF([hip], [co], [code objects],
        [those that hiprtc makes when a program runs, if it is there])
    MPIXQ_CUBINS
])

# MPIXQ_GPU_CODE_OF(VENDOR, ENDING, WHAT, ELSE)
AC_DEFUN([MPIXQ_GPU_CODE_OF], [
    AC_MSG_CHECKING([for kernels as $3])
    AS_IF([GPU_CLANG="$GPU_CLANG" $SHELL "$srcdir/tools/gpu_code.sh" $1 "$srcdir" conftest.$2],
        [mpixq_$1_code="kernels by $GPU_CLANG"],
        [test -s "$srcdir/src/stream/shipped.$2"],
        [mpixq_$1_code="kernels from the tarball"],
        [mpixq_$1_code="no kernels (no clang for them): $4"])
    rm -f conftest.$2
    AC_MSG_RESULT([$mpixq_$1_code])
])

# MPIXQ_CUBINS: after MPIXQ_CHECK_CUDA, with what --with-cuda says. Two tools do, without the rest
# of the toolkit.
AC_DEFUN([MPIXQ_CUBINS], [
    AC_ARG_VAR([PTXAS], [a ptxas, for kernels as machine code of CUDA])
    AC_ARG_VAR([FATBINARY], [the fatbinary of the same toolkit])
    AS_CASE([${with_cuda:-auto}],
        [no], [PTXAS=; FATBINARY=],
        [/*], [mpixq_path=$with_cuda/bin],
        [mpixq_path=$PATH:/usr/local/cuda/bin])
    AS_IF([test "x$with_cuda" != xno], [
        AC_PATH_PROG([PTXAS], [ptxas], [], [$mpixq_path])
        AC_PATH_PROG([FATBINARY], [fatbinary], [], [$mpixq_path])
    ])
    AC_MSG_CHECKING([for kernels as machine code of CUDA])
    AS_IF([test "x$with_cuda" = xno], [mpixq_cubins="switched off by --without-cuda"],
        [test -z "$PTXAS" || test -z "$FATBINARY"],
        [mpixq_cubins="none (no ptxas and fatbinary): drivers compile the PTX"],
        [mpixq_cubins=`GPU_CLANG="$GPU_CLANG" PTXAS="$PTXAS" FATBINARY="$FATBINARY" \
            $SHELL "$srcdir/tools/gpu_code.sh" cubins "$srcdir" conftest.fatbin`],
        [mpixq_cubins="$mpixq_cubins by $PTXAS"],
        [mpixq_cubins="none ($PTXAS makes none of the PTX): drivers compile it"])
    rm -f conftest.fatbin
    AC_MSG_RESULT([$mpixq_cubins])
])
