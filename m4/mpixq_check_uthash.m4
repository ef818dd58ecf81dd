# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_CHECK_UTHASH: two headers of uthash, without which nothing can be built. Those of the
# system, or else those that "make dist" has put into the tarball. Substitutes UTHASH_CPPFLAGS, and
# sets mpixq_uthash_why for the summary.

AC_DEFUN([MPIXQ_CHECK_UTHASH], [
    mpixq_uthash_why=found
    UTHASH_CPPFLAGS=
    AC_CHECK_HEADER([uthash.h], [], [mpixq_uthash_why=])
    AC_CHECK_HEADER([utlist.h], [], [mpixq_uthash_why=])
    AS_IF([test -n "$mpixq_uthash_why"], [],
        [test -f "$srcdir/third_party/uthash/uthash.h"], [
            UTHASH_CPPFLAGS='-isystem $(top_srcdir)/third_party/uthash'
            mpixq_uthash_why="not found: the copy in the tarball is used"
        ], [AC_MSG_ERROR([uthash.h or utlist.h is missing: install uthash (Debian: uthash-dev,
others: uthash-devel), give its folder in CPPFLAGS, or build from a tarball, which has a copy])])
    AC_SUBST([UTHASH_CPPFLAGS])
])
