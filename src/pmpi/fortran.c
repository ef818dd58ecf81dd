/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Fortran: constants and arrays of handles. Entered by every thread of the program. */
#include "fortran.h"

#include "comm/error.h"
#include "next.h"
#include "util/alloc.h"

/* MPI's constants that are told by their address, MPI_BOTTOM and its like. In Fortran they are
 * variables, in common blocks or modules, to which compiled programs refer: so the names below are
 * the binary interface of MPICH, Open MPI and all that descend from them. The references are weak,
 * as only some of these variables are in a process, and none in one without Fortran. */
#define CONSTANT(variable, symbol) extern const MPI_Fint variable[] __asm__(symbol)
#define MODULE_CONSTANT(name)                                                                      \
    WEAK CONSTANT(name##_gnu, "__mpi_f08_link_constants_MOD_" #name);                              \
    WEAK CONSTANT(name##_intel, "mpi_f08_link_constants_mp_" #name "_");                           \
    WEAK CONSTANT(name##_flang, "_QMmpi_f08_link_constantsE" #name);                               \
    WEAK CONSTANT(name##_cray, #name "$mpi_f08_link_constants_")
#define MODULE_CONSTANTS(name) name##_gnu, name##_intel, name##_flang, name##_cray
#define WEAK __attribute__((weak))

/* mpif.h and module mpi of MPICH: MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE in one block. */
WEAK CONSTANT(mpich_1, "mpipriv1_");
/* MPI_STATUSES_IGNORE and more. */
WEAK CONSTANT(mpich_2, "mpipriv2_");
WEAK CONSTANT(mpich_unweighted, "mpifcmb5_");
WEAK CONSTANT(mpich_weights_empty, "mpifcmb9_");
/* mpi_f08 of MPICH. Its other buffers come to us as C's, through MPI_Send_init and its like. */
WEAK CONSTANT(mpich_f08_bottom, "MPIR_F08_MPI_BOTTOM");
WEAK CONSTANT(mpich_f08_in_place, "MPIR_F08_MPI_IN_PLACE");
WEAK CONSTANT(mpich_f08_status_ignore, "MPIR_F08_MPI_STATUS_IGNORE_OBJ");
WEAK CONSTANT(mpich_f08_statuses_ignore, "MPIR_F08_MPI_STATUSES_IGNORE_OBJ");
MODULE_CONSTANT(mpi_unweighted);
MODULE_CONSTANT(mpi_weights_empty);
/* Open MPI. */
WEAK CONSTANT(ompi_bottom, "mpi_fortran_bottom_");
WEAK CONSTANT(ompi_in_place, "mpi_fortran_in_place_");
WEAK CONSTANT(ompi_status_ignore, "mpi_fortran_status_ignore_");
WEAK CONSTANT(ompi_statuses_ignore, "mpi_fortran_statuses_ignore_");
WEAK CONSTANT(ompi_unweighted, "mpi_fortran_unweighted_");
WEAK CONSTANT(ompi_weights_empty, "mpi_fortran_weights_empty_");

/* MPICH's mpi_init_ and others call it to set MPI_F_STATUS_IGNORE and more. */
extern void mpirinitf(void) __asm__("mpirinitf_") WEAK;

void mpixq_fortran_constants(void)
{
    if (mpirinitf != NULL) {
        mpirinitf();
    }
}

#define ONE_OF(address, ...)                                                                       \
    is_one_of(address, (const MPI_Fint *const[]){__VA_ARGS__},                                     \
              sizeof((const MPI_Fint *const[]){__VA_ARGS__}) / sizeof(MPI_Fint *))

static bool is_one_of(const void *address, const MPI_Fint *const constants[], size_t n)
{
    for (size_t i = 0; i < n && address != NULL; i++) {
        if (address == constants[i]) {
            return true;
        }
    }
    return false;
}

const void *mpixq_fortran_buffer(const void *buf)
{
    return ONE_OF(buf, mpich_1, mpich_f08_bottom, ompi_bottom) ? MPI_BOTTOM : buf;
}

const void *mpixq_fortran_in_place(const void *buf)
{
    return ONE_OF(buf, mpich_1 == NULL ? NULL : mpich_1 + 1, mpich_f08_in_place, ompi_in_place)
               ? MPI_IN_PLACE
               : mpixq_fortran_buffer(buf);
}

const int *mpixq_fortran_weights(const MPI_Fint *weights)
{
    if (ONE_OF(weights, mpich_unweighted, ompi_unweighted, MODULE_CONSTANTS(mpi_unweighted))) {
        return MPI_UNWEIGHTED;
    }
    if (ONE_OF(weights, mpich_weights_empty, ompi_weights_empty,
               MODULE_CONSTANTS(mpi_weights_empty))) {
        return MPI_WEIGHTS_EMPTY;
    }
    return weights;
}

bool mpixq_fortran_ignores(const MPI_Fint *statuses)
{
    return ONE_OF(statuses, mpich_1 == NULL ? NULL : mpich_1 + 2, mpich_2, mpich_f08_status_ignore,
                  mpich_f08_statuses_ignore, ompi_status_ignore, ompi_statuses_ignore);
}

int mpixq_fortran_requests_begin(struct mpixq_fortran_requests *r, int count, MPI_Fint *fortran)
{
    r->fortran = fortran;
    r->n = count > 0 ? count : 0;
    r->c = r->few;
    if ((size_t)r->n * 2 > sizeof r->few / sizeof r->few[0]) {
        r->c = mpixq_alloc((size_t)r->n * 2 * sizeof *r->c);
    }
    if (r->c == NULL) {
        return mpixq_error_raise(MPI_COMM_NULL, mpixq_error_code(MPIXQ_E_NO_MEMORY));
    }
    r->before = r->c + r->n;
    for (int i = 0; i < r->n; i++) {
        r->before[i] = r->c[i] = PMPI_Request_f2c(fortran[i]);
    }
    return MPI_SUCCESS;
}

void mpixq_fortran_requests_end(struct mpixq_fortran_requests *r)
{
    for (int i = 0; i < r->n; i++) {
        if (r->c[i] != r->before[i]) {
            r->fortran[i] = PMPI_Request_c2f(r->c[i]);
        }
    }
    if (r->c != r->few) {
        mpixq_free(r->c);
    }
}
