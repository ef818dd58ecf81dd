/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The Fortran names of the communicator constructors, and of what frees communicators. */
#include "comm/error.h"
#include "fortran.h"
#include "next.h"
#include "util/alloc.h"

void mpixq_pull_fortran_comm(void)
{
}

static void finish(int rc, MPI_Comm made, MPI_Fint *child, MPI_Fint *ierror)
{
    if (rc == MPI_SUCCESS) {
        *child = PMPI_Comm_c2f(made);
    }
    mpixq_fortran_return(ierror, rc);
}

/* An array of LOGICAL as C's 0 and 1. NULL: no memory, and the error handler was invoked with
 * *rc_p. Room for one more than n, which may be 0. */
static int *logicals(int n, const MPI_Fint *fortran, int *rc_p)
{
    int *c = mpixq_alloc(((size_t)(n > 0 ? n : 0) + 1) * sizeof *c);

    if (c == NULL) {
        *rc_p = mpixq_error_raise(MPI_COMM_NULL, mpixq_error_code(MPIXQ_E_NO_MEMORY));
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        c[i] = fortran[i] != 0;
    }
    return c;
}

static void comm_create(const MPI_Fint *comm, const MPI_Fint *group, MPI_Fint *child,
                        MPI_Fint *ierror)
{
    MPI_Comm made;
    int rc = MPI_Comm_create(PMPI_Comm_f2c(*comm), PMPI_Group_f2c(*group), &made);

    finish(rc, made, child, ierror);
}
MPIXQ_FORTRAN(comm_create, mpi_comm_create);

static void comm_create_group(const MPI_Fint *comm, const MPI_Fint *group, const MPI_Fint *tag,
                              MPI_Fint *child, MPI_Fint *ierror)
{
    MPI_Comm made;
    int rc = MPI_Comm_create_group(PMPI_Comm_f2c(*comm), PMPI_Group_f2c(*group), *tag, &made);

    finish(rc, made, child, ierror);
}
MPIXQ_FORTRAN(comm_create_group, mpi_comm_create_group);

static void comm_split(const MPI_Fint *comm, const MPI_Fint *color, const MPI_Fint *key,
                       MPI_Fint *child, MPI_Fint *ierror)
{
    MPI_Comm made;
    int rc = MPI_Comm_split(PMPI_Comm_f2c(*comm), *color, *key, &made);

    finish(rc, made, child, ierror);
}
MPIXQ_FORTRAN(comm_split, mpi_comm_split);

static void comm_split_type(const MPI_Fint *comm, const MPI_Fint *type, const MPI_Fint *key,
                            const MPI_Fint *info, MPI_Fint *child, MPI_Fint *ierror)
{
    MPI_Comm made;
    int rc = MPI_Comm_split_type(PMPI_Comm_f2c(*comm), *type, *key, PMPI_Info_f2c(*info), &made);

    finish(rc, made, child, ierror);
}
MPIXQ_FORTRAN(comm_split_type, mpi_comm_split_type);

static void cart_create(const MPI_Fint *comm, const MPI_Fint *ndims, const MPI_Fint *dims,
                        const MPI_Fint *periods, const MPI_Fint *reorder, MPI_Fint *child,
                        MPI_Fint *ierror)
{
    MPI_Comm made = MPI_COMM_NULL;
    int rc, *c = logicals(*ndims, periods, &rc);

    if (c != NULL) {
        rc = MPI_Cart_create(PMPI_Comm_f2c(*comm), *ndims, dims, c, *reorder != 0, &made);
        mpixq_free(c);
    }
    finish(rc, made, child, ierror);
}
MPIXQ_FORTRAN(cart_create, mpi_cart_create);

static void cart_sub(const MPI_Fint *comm, const MPI_Fint *remain, MPI_Fint *child,
                     MPI_Fint *ierror)
{
    MPI_Comm parent = PMPI_Comm_f2c(*comm), made = MPI_COMM_NULL;
    int ndims = 0, *c, rc = PMPI_Cartdim_get(parent, &ndims);

    if (rc == MPI_SUCCESS && (c = logicals(ndims, remain, &rc)) != NULL) {
        rc = MPI_Cart_sub(parent, c, &made);
        mpixq_free(c);
    }
    finish(rc, made, child, ierror);
}
MPIXQ_FORTRAN(cart_sub, mpi_cart_sub);

static void graph_create(const MPI_Fint *comm, const MPI_Fint *n, const MPI_Fint *index,
                         const MPI_Fint *edges, const MPI_Fint *reorder, MPI_Fint *child,
                         MPI_Fint *ierror)
{
    MPI_Comm made;
    int rc = MPI_Graph_create(PMPI_Comm_f2c(*comm), *n, index, edges, *reorder != 0, &made);

    finish(rc, made, child, ierror);
}
MPIXQ_FORTRAN(graph_create, mpi_graph_create);

static void dist_graph_create(const MPI_Fint *comm, const MPI_Fint *n, const MPI_Fint *nodes,
                              const MPI_Fint *degrees, const MPI_Fint *targets,
                              const MPI_Fint *weights, const MPI_Fint *info,
                              const MPI_Fint *reorder, MPI_Fint *child, MPI_Fint *ierror)
{
    MPI_Comm made;
    int rc = MPI_Dist_graph_create(PMPI_Comm_f2c(*comm), *n, nodes, degrees, targets,
                                   mpixq_fortran_weights(weights), PMPI_Info_f2c(*info),
                                   *reorder != 0, &made);

    finish(rc, made, child, ierror);
}
MPIXQ_FORTRAN(dist_graph_create, mpi_dist_graph_create);

static void dist_graph_create_adjacent(const MPI_Fint *comm, const MPI_Fint *n_in,
                                       const MPI_Fint *sources, const MPI_Fint *in_weights,
                                       const MPI_Fint *n_out, const MPI_Fint *dests,
                                       const MPI_Fint *out_weights, const MPI_Fint *info,
                                       const MPI_Fint *reorder, MPI_Fint *child, MPI_Fint *ierror)
{
    MPI_Comm made;
    int rc = MPI_Dist_graph_create_adjacent(
        PMPI_Comm_f2c(*comm), *n_in, sources, mpixq_fortran_weights(in_weights), *n_out, dests,
        mpixq_fortran_weights(out_weights), PMPI_Info_f2c(*info), *reorder != 0, &made);

    finish(rc, made, child, ierror);
}
MPIXQ_FORTRAN(dist_graph_create_adjacent, mpi_dist_graph_create_adjacent);

static void intercomm_create(const MPI_Fint *local, const MPI_Fint *leader,
                             const MPI_Fint *peer_comm, const MPI_Fint *remote_leader,
                             const MPI_Fint *tag, MPI_Fint *child, MPI_Fint *ierror)
{
    MPI_Comm made;
    int rc = MPI_Intercomm_create(PMPI_Comm_f2c(*local), *leader, PMPI_Comm_f2c(*peer_comm),
                                  *remote_leader, *tag, &made);

    finish(rc, made, child, ierror);
}
MPIXQ_FORTRAN(intercomm_create, mpi_intercomm_create);

static void intercomm_merge(const MPI_Fint *comm, const MPI_Fint *high, MPI_Fint *child,
                            MPI_Fint *ierror)
{
    MPI_Comm made;
    int rc = MPI_Intercomm_merge(PMPI_Comm_f2c(*comm), *high != 0, &made);

    finish(rc, made, child, ierror);
}
MPIXQ_FORTRAN(intercomm_merge, mpi_intercomm_merge);

static void comm_free(MPI_Fint *comm, MPI_Fint *ierror)
{
    MPI_Comm c = PMPI_Comm_f2c(*comm);
    int rc = MPI_Comm_free(&c);

    finish(rc, c, comm, ierror);
}
MPIXQ_FORTRAN(comm_free, mpi_comm_free);

static void comm_disconnect(MPI_Fint *comm, MPI_Fint *ierror)
{
    MPI_Comm c = PMPI_Comm_f2c(*comm);
    int rc = MPI_Comm_disconnect(&c);

    finish(rc, c, comm, ierror);
}
MPIXQ_FORTRAN(comm_disconnect, mpi_comm_disconnect);
