# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_CHECK_OPTIONAL(NAME, WHAT, PROBE)
#
# Gives --with-NAME=yes|no|auto|DIR for a dependency that the library can do without. PROBE is shell
# code that looks under $mpixq_dir (empty: where the compiler looks by itself), and sets
# mpixq_missing to what it did not find, or leaves it empty. Asked for and missing is an error.
# Sets mpixq_NAME_found (yes or no) and mpixq_NAME_why (for the summary).
#
# AC_ARG_WITH's actions are left empty on purpose: they would run for --without-NAME as well.

AC_DEFUN([MPIXQ_CHECK_OPTIONAL], [
    AC_ARG_WITH([$1],
        [AS_HELP_STRING([--with-$1=yes|no|auto|DIR], [$2 @<:@auto@:>@])])
    mpixq_want=${with_$1:-auto}
    mpixq_dir=
    mpixq_missing=
    AS_CASE([$mpixq_want],
        [yes|no|auto], [],
        [/*], [mpixq_dir=$mpixq_want],
        [AC_MSG_ERROR([--with-$1 takes yes, no, auto or a folder by its full path,
not '$mpixq_want'])])
    AS_IF([test "$mpixq_want" = no], [
        mpixq_$1_found=no
        mpixq_$1_why="switched off by --without-$1"
    ], [
        mpixq_save_CPPFLAGS=$CPPFLAGS
        mpixq_save_LDFLAGS=$LDFLAGS
        mpixq_save_LIBS=$LIBS
        AC_MSG_CHECKING([for $1])
        AS_IF([test -n "$mpixq_dir" && test ! -d "$mpixq_dir"],
            [mpixq_missing="folder $mpixq_dir"], [$3])
        CPPFLAGS=$mpixq_save_CPPFLAGS
        LDFLAGS=$mpixq_save_LDFLAGS
        LIBS=$mpixq_save_LIBS
        AS_IF([test -z "$mpixq_missing"], [
            mpixq_$1_found=yes
            mpixq_$1_why="found${mpixq_dir:+ in $mpixq_dir}"
            AC_MSG_RESULT([yes])
        ], [
            mpixq_$1_found=no
            mpixq_$1_why="not found: no $mpixq_missing"
            AC_MSG_RESULT([no ($mpixq_missing is missing)])
            AS_IF([test "$mpixq_want" != auto],
                [AC_MSG_ERROR([--with-$1=$mpixq_want was given, but $mpixq_missing is missing])])
        ])
    ])
])
