# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_SANITIZERS: --enable-sanitizers=LIST with address and undefined, or thread alone. Adds the
# flags to SANITIZER_FLAGS (compiling and linking), substitutes SANITIZERS and MPIXQ_BUILD_KIND
# (plain, asan, tsan or ubsan) for the tests, and sets the Automake conditional SANITIZED.

AC_DEFUN([MPIXQ_SANITIZERS], [
    AC_ARG_ENABLE([sanitizers],
        [AS_HELP_STRING([--enable-sanitizers=LIST],
            [build with sanitizers: address,undefined or thread @<:@none@:>@])])
    SANITIZERS=${enable_sanitizers:-no}
    MPIXQ_BUILD_KIND=plain
    AS_CASE([$SANITIZERS],
        [no], [],
        [address|address,undefined|undefined,address], [MPIXQ_BUILD_KIND=asan],
        [undefined], [MPIXQ_BUILD_KIND=ubsan],
        [thread], [MPIXQ_BUILD_KIND=tsan],
        [AC_MSG_ERROR([--enable-sanitizers takes address,undefined (or one of them) or thread])])
    AS_IF([test "$SANITIZERS" != no], [
        SANITIZER_FLAGS="-fsanitize=$SANITIZERS -fno-omit-frame-pointer"
        # Undefined behaviour only prints a line unless told to end the program.
        AS_CASE([$SANITIZERS], [*undefined*],
            [SANITIZER_FLAGS="$SANITIZER_FLAGS -fno-sanitize-recover=undefined"])
        AC_MSG_CHECKING([whether $CC has -fsanitize=$SANITIZERS])
        mpixq_save_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS $SANITIZER_FLAGS"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AC_MSG_RESULT([yes])], [
            AC_MSG_RESULT([no])
            AC_MSG_ERROR([$CC cannot build with -fsanitize=$SANITIZERS])
        ])
        CFLAGS=$mpixq_save_CFLAGS
    ])
    AC_SUBST([SANITIZERS])
    AC_SUBST([SANITIZER_FLAGS])
    AC_SUBST([MPIXQ_BUILD_KIND])
    AM_CONDITIONAL([SANITIZED], [test "$SANITIZERS" != no])
])
