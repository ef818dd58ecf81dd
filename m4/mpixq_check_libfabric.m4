# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_CHECK_LIBFABRIC: header and library of libfabric. Substitutes LIBFABRIC_CPPFLAGS,
# LIBFABRIC_LIBS (for tests: the library loads it when it is needed) and HAVE_LIBFABRIC (yes or no),
# and sets the Automake conditional HAVE_LIBFABRIC. The header of provider cxi's extensions is used
# where it is there (src/cxi/cxi_ext.h).

AC_DEFUN([MPIXQ_CHECK_LIBFABRIC], [
    MPIXQ_CHECK_OPTIONAL([libfabric], [libfabric, for triggered communication], [
        AS_IF([test -n "$mpixq_dir"], [
            LIBFABRIC_CPPFLAGS="-I$mpixq_dir/include"
            LIBFABRIC_LIBS="-L$mpixq_dir/lib"
            AS_IF([test -d "$mpixq_dir/lib64"],
                [LIBFABRIC_LIBS="-L$mpixq_dir/lib64 $LIBFABRIC_LIBS"])
            # A folder that was named must hold it: the compiler's own folders do not count.
            AS_IF([test ! -f "$mpixq_dir/include/rdma/fabric.h"],
                [mpixq_missing="$mpixq_dir/include/rdma/fabric.h"])
        ])
        LIBFABRIC_LIBS="$LIBFABRIC_LIBS -lfabric"
        CPPFLAGS="$LIBFABRIC_CPPFLAGS $CPPFLAGS"
        LIBS="$LIBFABRIC_LIBS $LIBS"
        AS_IF([test -z "$mpixq_missing"], [
            AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <rdma/fi_trigger.h>]])], [
                AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <rdma/fabric.h>]],
                    [[return (int)fi_version();]])], [], [mpixq_missing="library libfabric"])
            ], [mpixq_missing="header rdma/fi_trigger.h"])
        ])
    ])
    AS_IF([test "$mpixq_libfabric_found" = yes], [
        AC_DEFINE([HAVE_LIBFABRIC], [1], [Define to 1 to build the channel over libfabric.])
        mpixq_save_CPPFLAGS=$CPPFLAGS
        CPPFLAGS="$LIBFABRIC_CPPFLAGS $CPPFLAGS"
        AC_MSG_CHECKING([for rdma/fi_cxi_ext.h])
        AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <rdma/fi_cxi_ext.h>]])], [
            LIBFABRIC_CPPFLAGS="$LIBFABRIC_CPPFLAGS -DHAVE_RDMA_FI_CXI_EXT_H=1"
            mpixq_libfabric_why="$mpixq_libfabric_why, with rdma/fi_cxi_ext.h"
            AC_MSG_RESULT([yes])
        ], [
            mpixq_libfabric_why="$mpixq_libfabric_why, without rdma/fi_cxi_ext.h: our own is used"
            AC_MSG_RESULT([no])
        ])
        CPPFLAGS=$mpixq_save_CPPFLAGS
    ])
    HAVE_LIBFABRIC=$mpixq_libfabric_found
    AC_SUBST([HAVE_LIBFABRIC])
    AC_SUBST([LIBFABRIC_CPPFLAGS])
    AC_SUBST([LIBFABRIC_LIBS])
    AM_CONDITIONAL([HAVE_LIBFABRIC], [test "$mpixq_libfabric_found" = yes])
])
