# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_CHECK_LIBFABRIC: header and library of libfabric.

AC_DEFUN([MPIXQ_CHECK_LIBFABRIC], [
    MPIXQ_CHECK_OPTIONAL([libfabric], [libfabric, for triggered communication], [
        AS_IF([test -n "$mpixq_dir"], [
            CPPFLAGS="-I$mpixq_dir/include $CPPFLAGS"
            AS_IF([test -d "$mpixq_dir/lib64"], [LDFLAGS="-L$mpixq_dir/lib64 $LDFLAGS"])
            LDFLAGS="-L$mpixq_dir/lib $LDFLAGS"
            # A folder that was named must hold it: the compiler's own folders do not count.
            AS_IF([test ! -f "$mpixq_dir/include/rdma/fabric.h"],
                [mpixq_missing="$mpixq_dir/include/rdma/fabric.h"])
        ])
        AS_IF([test -z "$mpixq_missing"], [
            LIBS="-lfabric $LIBS"
            AC_PREPROC_IFELSE([AC_LANG_SOURCE([[#include <rdma/fi_trigger.h>]])], [
                AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <rdma/fabric.h>]],
                    [[return (int)fi_version();]])], [], [mpixq_missing="library libfabric"])
            ], [mpixq_missing="header rdma/fi_trigger.h"])
        ])
    ])
])
