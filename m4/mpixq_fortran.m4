# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_CHECK_FORTRAN
#
# Two things that do not depend on each other. Whether calls from Fortran can be seen, which is a
# matter of the C interface of MPI: sets mpixq_fortran_seen for the summary, defines
# HAVE_MPI_FORTRAN to 0 or 1, and sets the Automake conditional of that name. And --with-fortran: a
# Fortran compiler of MPI with the module mpi_f08, for the module mpix_queue and the tests; sets FC,
# FCFLAGS, HAVE_FORTRAN (yes or no) and the Automake conditional of that name. No library for
# Fortran is built, so that nothing of Automake's or Libtool's Fortran is needed.

AC_DEFUN([MPIXQ_CHECK_FORTRAN], [
    AC_REQUIRE([MPIXQ_CHECK_MPI])
    AC_CACHE_CHECK([whether MPI converts handles and statuses of Fortran],
        [mpixq_cv_mpi_fortran], [AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
            typedef char integer_is_int[sizeof(MPI_Fint) == sizeof(int) ? 1 : -1];]], [[
            MPI_Status s; MPI_Fint f[sizeof s / sizeof(MPI_Fint)];
            return PMPI_Status_f2c(f, &s) + PMPI_Status_c2f(&s, f)
                + PMPI_Request_c2f(PMPI_Request_f2c(f[0]))
                + PMPI_Info_c2f(PMPI_Info_f2c(f[0]));]])],
            [mpixq_cv_mpi_fortran=yes], [mpixq_cv_mpi_fortran=no])])
    AS_IF([test "$mpixq_cv_mpi_fortran" = yes], [mpixq_fortran_seen="yes"],
        [mpixq_fortran_seen="no: this MPI converts no handles, or its INTEGER is not int"])
    AS_IF([test "$mpixq_cv_mpi_fortran" = yes], [mpixq_value=1], [mpixq_value=0])
    AC_DEFINE_UNQUOTED([HAVE_MPI_FORTRAN], [$mpixq_value],
        [1 if MPI's functions have names for Fortran in the library too, else 0])
    AM_CONDITIONAL([HAVE_MPI_FORTRAN], [test "$mpixq_cv_mpi_fortran" = yes])

    AC_ARG_VAR([FC], [Fortran compiler of MPI])
    AC_ARG_VAR([FCFLAGS], [flags for the Fortran compiler])
    : ${FCFLAGS="-g -O2"}
    MPIXQ_CHECK_OPTIONAL([fortran], [Fortran compiler of MPI, for the module mpix_queue],
        [_MPIXQ_PROBE_FORTRAN])
    HAVE_FORTRAN=$mpixq_fortran_found
    AS_IF([test "$HAVE_FORTRAN" = yes], [mpixq_fortran_why="$FC"])
    AC_SUBST([HAVE_FORTRAN])
    AM_CONDITIONAL([HAVE_FORTRAN], [test "$HAVE_FORTRAN" = yes])
])

# The compiler must belong to that of C, whose suffix it has (mpicc.mpich, mpifort.mpich).
AC_DEFUN([_MPIXQ_PROBE_FORTRAN], [
    mpixq_fc_suffix=`set dummy $CC; AS_ECHO(["$[]2"]) | sed -e 's/.*mpicc//' -e t -e 's/.*//'`
    AS_IF([test -n "$mpixq_dir"], [mpixq_fcs="$mpixq_dir/bin/mpifort $mpixq_dir/bin/mpif90"],
        [mpixq_fcs="mpifort$mpixq_fc_suffix mpif90$mpixq_fc_suffix"])
    for mpixq_fc in $mpixq_fcs; do
        AS_IF([test -z "$FC" && command -v "$mpixq_fc" >/dev/null 2>&1], [FC=$mpixq_fc])
    done
    AS_IF([test "$mpixq_cv_mpi_fortran" = no], [mpixq_missing="MPI that converts Fortran handles"],
        [test -z "$FC"], [mpixq_missing="Fortran compiler ($mpixq_fcs)"], [
        rm -rf conftest.dir
        mkdir conftest.dir
        AS_ECHO(["program conftest
            use mpi_f08
            call MPI_Init()
        end program"]) >conftest.dir/conftest.f90
        AS_IF([(cd conftest.dir && $FC $FCFLAGS -o conftest conftest.f90) >&AS_MESSAGE_LOG_FD 2>&1],
            [], [mpixq_missing="module mpi_f08 that $FC can use"])
        rm -rf conftest.dir
    ])
])
