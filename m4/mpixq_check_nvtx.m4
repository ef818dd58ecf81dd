# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_CHECK_NVTX: the headers of NVTX 3, which need no library. Substitutes NVTX_CPPFLAGS and
# HAVE_NVTX (yes or no), and sets the Automake conditional HAVE_NVTX.

AC_DEFUN([MPIXQ_CHECK_NVTX], [
    MPIXQ_CHECK_OPTIONAL([nvtx], [headers of NVTX 3, for ranges in Nsight Systems],
        [_MPIXQ_PROBE_NVTX])
    HAVE_NVTX=$mpixq_nvtx_found
    AC_SUBST([HAVE_NVTX])
    AC_SUBST([NVTX_CPPFLAGS])
    AM_CONDITIONAL([HAVE_NVTX], [test "$mpixq_nvtx_found" = yes])
])

# In the folder that was named, else where the compiler looks, or in a CUDA toolkit.
AC_DEFUN([_MPIXQ_PROBE_NVTX], [
    mpixq_header=nvtx3/nvToolsExt.h
    NVTX_CPPFLAGS=
    AS_IF([test -z "$mpixq_dir"], [
        AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <nvtx3/nvToolsExt.h>]])], [], [
            mpixq_dir=/usr/local/cuda
            mpixq_path=`command -v nvcc 2>/dev/null`
            AS_IF([test -n "$mpixq_path"], [
                mpixq_path=`readlink -f "$mpixq_path"`
                mpixq_dir=`dirname "$mpixq_path"`
                mpixq_dir=`dirname "$mpixq_dir"`
            ])
        ])
    ])
    AS_IF([test -n "$mpixq_dir"], [NVTX_CPPFLAGS="-isystem $mpixq_dir/include"])
    AS_IF([test -n "$mpixq_dir" && test ! -f "$mpixq_dir/include/$mpixq_header"],
        [mpixq_missing="$mpixq_dir/include/$mpixq_header"], [
        CPPFLAGS="$NVTX_CPPFLAGS $CPPFLAGS"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <nvtx3/nvToolsExt.h>]],
                [[return nvtxDomainCreateA("") != 0;]])],
            [], [mpixq_missing="$mpixq_header that compiles"])
    ])
])
