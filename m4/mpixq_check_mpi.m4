# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the mpix-queue authors
#
# MPIXQ_CHECK_MPI
#
# Checks that $CC compiles and links MPI programs, and finds which MPI it is and its launcher. Sets
# and substitutes MPIXQ_MPI_NAME (mpich, openmpi or other); sets mpixq_mpi_version,
# mpixq_mpi_standard, mpixq_mpi_large_count, mpixq_cv_mpi_collective and mpixq_cv_mpi_tool for the
# summary; defines HAVE_MPI_LARGE_COUNT, HAVE_MPI_COLLECTIVE and HAVE_MPI_COLLECTIVE_EXT to 0 or 1
# (and Automake conditionals of these names), and the Automake conditionals HAVE_MPI_TOOL and
# HAVE_MPI_TOOL_EVENTS.

AC_DEFUN([MPIXQ_CHECK_MPI], [
    AC_CHECK_HEADER([mpi.h], [],
        [AC_MSG_ERROR([$CC finds no mpi.h: give an MPI compiler, for example CC=mpicc])])
    AC_CACHE_CHECK([whether $CC links MPI programs], [mpixq_cv_mpi_links],
        [AC_LINK_IFELSE(
            [AC_LANG_PROGRAM([[#include <mpi.h>]], [[return MPI_Finalize();]])],
            [mpixq_cv_mpi_links=yes], [mpixq_cv_mpi_links=no])])
    AS_IF([test "$mpixq_cv_mpi_links" = no],
        [AC_MSG_ERROR([$CC links no MPI program: give an MPI compiler, for example CC=mpicc])])
    _MPIXQ_MPI_VENDOR
    _MPIXQ_MPI_FEATURES
    _MPIXQ_MPI_LAUNCHER
])

# Which library it is: for the summary and for tests that fit one MPI only, never for the sources.
AC_DEFUN([_MPIXQ_MPI_VENDOR], [
    AC_MSG_CHECKING([which MPI it is])
    AC_COMPUTE_INT([mpixq_std_major], [MPI_VERSION], [[#include <mpi.h>]])
    AC_COMPUTE_INT([mpixq_std_minor], [MPI_SUBVERSION], [[#include <mpi.h>]])
    mpixq_mpi_standard="$mpixq_std_major.$mpixq_std_minor"
    AC_COMPUTE_INT([mpixq_ompi], [OMPI_MAJOR_VERSION * 10000 + OMPI_MINOR_VERSION * 100
        + OMPI_RELEASE_VERSION], [[#include <mpi.h>]], [mpixq_ompi=0])
    AC_COMPUTE_INT([mpixq_mpich], [MPICH_NUMVERSION], [[#include <mpi.h>]], [mpixq_mpich=0])
    AS_IF([test "$mpixq_ompi" -gt 0], [
        MPIXQ_MPI_NAME=openmpi
        mpixq_x=$((mpixq_ompi / 10000)) mpixq_y=$((mpixq_ompi / 100 % 100))
        mpixq_mpi_version="Open MPI $mpixq_x.$mpixq_y.$((mpixq_ompi % 100))"
    ], [test "$mpixq_mpich" -gt 0], [
        MPIXQ_MPI_NAME=mpich
        mpixq_x=$((mpixq_mpich / 10000000)) mpixq_y=$((mpixq_mpich / 100000 % 100))
        mpixq_mpi_version="MPICH $mpixq_x.$mpixq_y.$((mpixq_mpich / 1000 % 100))"
    ], [
        MPIXQ_MPI_NAME=other
        mpixq_mpi_version="an MPI that is neither MPICH nor Open MPI"
    ])
    AC_MSG_RESULT([$mpixq_mpi_version, MPI $mpixq_mpi_standard])
    AC_SUBST([MPIXQ_MPI_NAME])
])

AC_DEFUN([_MPIXQ_MPI_FEATURES], [
    AC_CACHE_CHECK([for MPI_Send_init_c], [mpixq_cv_mpi_large_count],
        [AC_LINK_IFELSE(
            [AC_LANG_PROGRAM([[#include <mpi.h>]],
                [[MPI_Request r; MPI_Count n = 1;
                  return MPI_Send_init_c(0, n, MPI_BYTE, 0, 0, MPI_COMM_SELF, &r);]])],
            [mpixq_cv_mpi_large_count=yes], [mpixq_cv_mpi_large_count=no])])
    mpixq_mpi_large_count=$mpixq_cv_mpi_large_count
    AS_IF([test "$mpixq_mpi_large_count" = yes], [mpixq_value=1], [mpixq_value=0])
    AC_DEFINE_UNQUOTED([HAVE_MPI_LARGE_COUNT], [$mpixq_value],
        [1 if MPI has the functions with large counts (MPI_Send_init_c and its like), else 0])
    AM_CONDITIONAL([HAVE_MPI_LARGE_COUNT], [test "$mpixq_mpi_large_count" = yes])

    _MPIXQ_MPI_COLLECTIVE

    AC_CACHE_CHECK([for performance variables of MPI_T], [mpixq_cv_mpi_tool],
        [AC_LINK_IFELSE(
            [AC_LANG_PROGRAM([[#include <mpi.h>]],
                [[int n; return MPI_T_pvar_get_index("", MPI_T_PVAR_CLASS_COUNTER, &n)
                  + MPI_T_category_get_index("", &n);]])],
            [mpixq_cv_mpi_tool=yes], [mpixq_cv_mpi_tool=no])])
    AM_CONDITIONAL([HAVE_MPI_TOOL], [test "$mpixq_cv_mpi_tool" = yes])
    AC_CACHE_CHECK([for MPI_T_category_get_num_events], [mpixq_cv_mpi_tool_events],
        [AC_LINK_IFELSE(
            [AC_LANG_PROGRAM([[#include <mpi.h>]],
                [[int n; return MPI_T_category_get_num_events(0, &n);]])],
            [mpixq_cv_mpi_tool_events=yes], [mpixq_cv_mpi_tool_events=no])])
    AM_CONDITIONAL([HAVE_MPI_TOOL_EVENTS],
        [test "$mpixq_cv_mpi_tool" = yes && test "$mpixq_cv_mpi_tool_events" = yes])
])

# Persistent collectives: those of MPI-4, or else Open MPI's of before, an extension that a build of
# it may lack. Open MPI 5 has both.
AC_DEFUN([_MPIXQ_MPI_COLLECTIVE], [
    AC_CACHE_CHECK([for persistent collectives], [mpixq_cv_mpi_collective],
        [mpixq_cv_mpi_collective=no
        _MPIXQ_PROBE_COLLECTIVE([mpix], [MPIX_], [#include <mpi-ext.h>])
        _MPIXQ_PROBE_COLLECTIVE([mpi], [MPI_], [])])
    AS_CASE([$mpixq_cv_mpi_collective], [mpi], [mpixq_value=1 mpixq_ext_value=0],
        [mpix], [mpixq_value=0 mpixq_ext_value=1], [mpixq_value=0 mpixq_ext_value=0])
    AC_DEFINE_UNQUOTED([HAVE_MPI_COLLECTIVE], [$mpixq_value],
        [1 if MPI has MPI_Allreduce_init and its like, else 0])
    AC_DEFINE_UNQUOTED([HAVE_MPI_COLLECTIVE_EXT], [$mpixq_ext_value],
        [1 if it has not, but MPIX_Allreduce_init and its like in mpi-ext.h, else 0])
    AM_CONDITIONAL([HAVE_MPI_COLLECTIVE], [test "$mpixq_cv_mpi_collective" = mpi])
    AM_CONDITIONAL([HAVE_MPI_COLLECTIVE_EXT], [test "$mpixq_cv_mpi_collective" = mpix])
])

# _MPIXQ_PROBE_COLLECTIVE(VALUE, PREFIX, INCLUDE): take the value if these names can be linked.
AC_DEFUN([_MPIXQ_PROBE_COLLECTIVE], [
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>
        ]$3], [[MPI_Request r; int n = 0, x;
        return P]$2[Barrier_init(MPI_COMM_SELF, MPI_INFO_NULL, &r)
            + P]$2[Bcast_init(&x, 1, MPI_INT, 0, MPI_COMM_SELF, MPI_INFO_NULL, &r)
            + P]$2[Allreduce_init(&x, &n, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, MPI_INFO_NULL, &r)
            + P]$2[Allgather_init(&x, 1, MPI_INT, &n, 1, MPI_INT, MPI_COMM_SELF, MPI_INFO_NULL,
                &r)
            + P]$2[Neighbor_alltoall_init(&x, 1, MPI_INT, &n, 1, MPI_INT, MPI_COMM_SELF,
                MPI_INFO_NULL, &r)
            + P]$2[Neighbor_alltoallv_init(&x, &n, &n, MPI_INT, &n, &n, &n, MPI_INT,
                MPI_COMM_SELF, MPI_INFO_NULL, &r);]])],
        [mpixq_cv_mpi_collective=$1])
])

# The launcher must belong to the compiler: with that of another MPI a test becomes N programs of
# one rank each. So the suffix of $CC (mpicc.mpich, mpicc.openmpi) is tried first.
AC_DEFUN([_MPIXQ_MPI_LAUNCHER], [
    AC_ARG_VAR([MPIEXEC], [launcher of MPI programs, used by the tests and benchmarks])
    AC_ARG_VAR([MPIEXEC_FLAGS], [flags for the launcher, put in front of -n])
    mpixq_cc_word=`set dummy $CC; AS_ECHO(["$[]2"])`
    AS_CASE([$mpixq_cc_word],
        [*mpicc?*], [mpixq_launcher=mpiexec`AS_ECHO(["$mpixq_cc_word"]) | sed 's/.*mpicc//'`],
        [mpixq_launcher=mpiexec])
    AC_CHECK_PROGS([MPIEXEC], [$mpixq_launcher mpiexec mpirun srun], [none])
])
