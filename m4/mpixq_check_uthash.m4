# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_CHECK_UTHASH: the header uthash.h, without which nothing can be built.

AC_DEFUN([MPIXQ_CHECK_UTHASH], [
    AC_CHECK_HEADER([uthash.h], [], [AC_MSG_ERROR([uthash.h is missing: install uthash
(Debian: uthash-dev), or give its folder in CPPFLAGS])])
])
