/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the Fortran names of the interposed functions share. Each converts its arguments and calls
 * the C function of the same name, so that whatever a call is used for, is done in one place. With
 * mpif.h, with the module mpi and with mpi_f08 a function has the same form: every argument by its
 * address, a handle or LOGICAL as an int, an absent ierror as NULL.
 */
#ifndef MPIXQ_FORTRAN_H
#define MPIXQ_FORTRAN_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* The name that Fortran compilers give mpi_x (a second underscore: g77 and its heirs, on request),
 * and that of the function in mpi_f08. Some compilers of old have mpi_x or MPI_X. Those names are
 * left out: they would take the place of functions that C libraries call mpi_init, for one.
 * Beside them the name that always means ours, as by MPIXQ_OWN. */
#define MPIXQ_FORTRAN(function, name)                                                              \
    MPIXQ_FORTRAN_ALIAS(function, mpixq_own_##name);                                               \
    MPIXQ_FORTRAN_ALIAS(function, name##_);                                                        \
    MPIXQ_FORTRAN_ALIAS(function, name##__);                                                       \
    MPIXQ_FORTRAN_ALIAS(function, name##_f08_)
#define MPIXQ_FORTRAN_ALIAS(function, name)                                                        \
    extern __typeof(function) name __attribute__((alias(#function), visibility("default")))

static inline void mpixq_fortran_return(MPI_Fint *ierror, int rc)
{
    if (ierror != NULL) {
        *ierror = rc;
    }
}

/* Any value but 0 is true somewhere, and every compiler takes 1 for true. */
static inline MPI_Fint mpixq_fortran_logical(int flag)
{
    return flag != 0;
}

/* The addresses that stand for constants: those of C, or the argument as it is. */
const void *mpixq_fortran_buffer(const void *buf);
/* One that may be MPI_IN_PLACE as well. */
const void *mpixq_fortran_in_place(const void *buf);
const int *mpixq_fortran_weights(const MPI_Fint *weights);
bool mpixq_fortran_ignores(const MPI_Fint *statuses);
/* See to it that C finds MPI's constants of Fortran, MPI_F_STATUS_IGNORE for one. */
void mpixq_fortran_constants(void);

/* One per file of Fortran names that no other file needs. */
void mpixq_pull_fortran_comm(void);
void mpixq_pull_fortran_complete(void);
void mpixq_pull_fortran_collective(void);

/* An array of requests as handles of C. */
struct mpixq_fortran_requests {
    MPI_Fint *fortran;
    MPI_Request *c;
    MPI_Request *before;
    MPI_Request few[64];
    int n; /* 0 where count is negative, which is for MPI to say */
};

/* MPI_SUCCESS, or the code of an error whose handler has been invoked. */
int mpixq_fortran_requests_begin(struct mpixq_fortran_requests *r, int count, MPI_Fint *fortran);
/* The handles as the call left them; frees the array. */
void mpixq_fortran_requests_end(struct mpixq_fortran_requests *r);

#endif
