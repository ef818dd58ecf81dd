# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_LINKER: what the linker can do for the shared library. Sets the Automake conditional
# HAVE_VERSION_SCRIPT, and DEFS_LDFLAGS to the flag that makes an undefined symbol an error of the
# link and not of the user's program (not with sanitizers, whose runtime is in the program).

AC_DEFUN([MPIXQ_LINKER], [
    AC_REQUIRE([MPIXQ_SANITIZERS])
    AC_MSG_CHECKING([whether the linker takes a version script])
    AS_ECHO(["V_1 { global: mpixq_*; local: *; };"]) >conftest.map
    mpixq_save_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS -shared -fPIC -Wl,--version-script,conftest.map"
    AC_LINK_IFELSE([AC_LANG_SOURCE([[int mpixq_probe(void); int mpixq_probe(void) { return 0; }]])],
        [mpixq_version_script=yes], [mpixq_version_script=no])
    AC_MSG_RESULT([$mpixq_version_script])
    LDFLAGS="$mpixq_save_LDFLAGS -Wl,-z,defs"
    AC_MSG_CHECKING([whether the linker takes -z defs])
    mpixq_z_defs=no
    AS_IF([test "$SANITIZERS" = no],
        [AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [mpixq_z_defs=yes; DEFS_LDFLAGS=-Wl,-z,defs])])
    AC_MSG_RESULT([$mpixq_z_defs])
    LDFLAGS=$mpixq_save_LDFLAGS
    rm -f conftest.map
    AC_SUBST([DEFS_LDFLAGS])
    AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test "$mpixq_version_script" = yes])
])
