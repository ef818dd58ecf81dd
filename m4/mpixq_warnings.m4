# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_WARNINGS: collects in WARN_CFLAGS the warnings that $CC knows, each probed by itself, and
# gives --enable-werror; after MPIXQ_SANITIZERS. Those that are no matter of taste, but calls by a
# wrong type, are always errors. MPIXQ_TRY_CFLAG(FLAG, IF-KNOWN, IF-NOT) is the probe.

AC_DEFUN([MPIXQ_WARNINGS], [
    AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [make warnings errors @<:@no@:>@])])
    m4_foreach_w([flag], [-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
        -Wold-style-definition -Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wformat=2
        -Wunused-result -Werror=implicit-function-declaration
        -Werror=incompatible-pointer-types -Werror=int-conversion],
        [MPIXQ_TRY_CFLAG(flag, [WARN_CFLAGS="$WARN_CFLAGS flag"])])
    # With sanitizers gcc follows the address that stands for MPI_STATUSES_IGNORE, 1 in MPICH's
    # header, into calls, and warns that there is no room at it.
    AS_IF([test "$SANITIZERS" != no],
        [MPIXQ_TRY_CFLAG([-Wno-stringop-overflow],
            [WARN_CFLAGS="$WARN_CFLAGS -Wno-stringop-overflow"])])
    AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
    AC_SUBST([WARN_CFLAGS])
])

# -Werror in the probe, since some compilers only warn of flags they do not know.
AC_DEFUN([MPIXQ_TRY_CFLAG], [
    AS_VAR_PUSHDEF([cached], [mpixq_cv_cflag_$1])
    AC_CACHE_CHECK([whether $CC knows $1], [cached], [
        mpixq_save_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS -Werror $1"
        AC_COMPILE_IFELSE([AC_LANG_SOURCE([[int mpixq_probe;]])],
            [AS_VAR_SET([cached], [yes])], [AS_VAR_SET([cached], [no])])
        CFLAGS=$mpixq_save_CFLAGS
    ])
    AS_VAR_IF([cached], [yes], [$2], [$3])
    AS_VAR_POPDEF([cached])
])
