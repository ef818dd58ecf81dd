# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_CHECK_CMOCKA: cmocka, for the unit tests only; without it they are skipped. Substitutes
# CMOCKA_LIBS and HAVE_CMOCKA (yes or no), and sets the Automake conditional HAVE_CMOCKA.

AC_DEFUN([MPIXQ_CHECK_CMOCKA], [
    MPIXQ_CHECK_OPTIONAL([cmocka], [cmocka, for the unit tests], [
        AS_IF([test -n "$mpixq_dir"], [
            CMOCKA_CPPFLAGS="-I$mpixq_dir/include"
            CMOCKA_LIBS="-L$mpixq_dir/lib"
        ])
        CMOCKA_LIBS="$CMOCKA_LIBS -lcmocka"
        CPPFLAGS="$CMOCKA_CPPFLAGS $CPPFLAGS"
        LIBS="$CMOCKA_LIBS $LIBS"
        # cmocka.h wants these headers in front of it.
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[
            #include <stdarg.h>
            #include <stddef.h>
            #include <stdint.h>
            #include <setjmp.h>
            #include <cmocka.h>
        ]], [[assert_true(1);]])], [], [mpixq_missing="cmocka.h or its library"])
    ])
    HAVE_CMOCKA=$mpixq_cmocka_found
    AC_SUBST([CMOCKA_CPPFLAGS])
    AC_SUBST([CMOCKA_LIBS])
    AC_SUBST([HAVE_CMOCKA])
    AM_CONDITIONAL([HAVE_CMOCKA], [test "$HAVE_CMOCKA" = yes])
])
