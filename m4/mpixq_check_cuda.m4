# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_CHECK_CUDA: nvcc and the headers of the CUDA toolkit. The driver is found at run time, so no
# library is looked for.

AC_DEFUN([MPIXQ_CHECK_CUDA], [
    MPIXQ_CHECK_OPTIONAL([cuda], [CUDA toolkit, for GPU streams], [
        MPIXQ_FIND_TOOLKIT([nvcc], [/usr/local/cuda], [cuda.h])
    ])
])

# MPIXQ_FIND_TOOLKIT(COMPILER, USUAL-FOLDER, HEADER)
#
# Inside a PROBE: finds a GPU toolkit's folder (by --with, by its compiler in PATH, or where it
# usually is) and checks that compiler and header are there.
AC_DEFUN([MPIXQ_FIND_TOOLKIT], [
    AS_IF([test -z "$mpixq_dir"], [
        mpixq_path=`command -v $1 2>/dev/null`
        AS_IF([test -n "$mpixq_path"], [
            mpixq_path=`readlink -f "$mpixq_path"`
            mpixq_dir=`dirname "$mpixq_path"`
            mpixq_dir=`dirname "$mpixq_dir"`
        ], [test -d "$2"], [mpixq_dir=$2])
    ])
    AS_IF([test -z "$mpixq_dir"], [mpixq_missing="$1 in PATH, nor $2"],
        [test ! -x "$mpixq_dir/bin/$1"], [mpixq_missing="$mpixq_dir/bin/$1"],
        [test ! -f "$mpixq_dir/include/$3" && test ! -f /usr/include/$3],
        [mpixq_missing="$mpixq_dir/include/$3"])
])
