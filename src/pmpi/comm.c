/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The communicator constructors: give each new communicator the identity that all its processes
 * derive alike. Those of dup come by the attribute's copy callback. And what frees
 * communicators. */
#include <stddef.h>

#include "comm/comm.h"
#include "lib/lib.h"
#include "next.h"
#include "pull.h"

void mpixq_pull_comm(void)
{
}

/* The number of the call is taken at its entry, on every process, also if the call fails. */
static struct mpixq_ident child_of(MPI_Comm parent)
{
    struct mpixq_ident none = {0};

    return mpixq_lib_is_up() ? mpixq_comm_child(parent) : none;
}

static int name_child(int rc, const MPI_Comm *child, struct mpixq_ident ident)
{
    if (rc == MPI_SUCCESS && mpixq_lib_is_up()) {
        mpixq_comm_name_child(*child, ident);
    }
    return rc;
}

MPIXQ_INTERPOSE int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *child)
{
    struct mpixq_ident ident = child_of(comm);

    return name_child(mpixq_next.Comm_create(comm, group, child), child, ident);
}
MPIXQ_OWN(Comm_create);

MPIXQ_INTERPOSE int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *child)
{
    struct mpixq_ident ident = child_of(comm);

    return name_child(mpixq_next.Comm_split(comm, color, key, child), child, ident);
}
MPIXQ_OWN(Comm_split);

MPIXQ_INTERPOSE int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info,
                                        MPI_Comm *child)
{
    struct mpixq_ident ident = child_of(comm);

    return name_child(mpixq_next.Comm_split_type(comm, type, key, info, child), child, ident);
}
MPIXQ_OWN(Comm_split_type);

MPIXQ_INTERPOSE int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[],
                                    int reorder, MPI_Comm *child)
{
    struct mpixq_ident ident = child_of(comm);

    return name_child(mpixq_next.Cart_create(comm, ndims, dims, periods, reorder, child), child,
                      ident);
}
MPIXQ_OWN(Cart_create);

MPIXQ_INTERPOSE int MPI_Cart_sub(MPI_Comm comm, const int remain[], MPI_Comm *child)
{
    struct mpixq_ident ident = child_of(comm);

    return name_child(mpixq_next.Cart_sub(comm, remain, child), child, ident);
}
MPIXQ_OWN(Cart_sub);

MPIXQ_INTERPOSE int MPI_Graph_create(MPI_Comm comm, int n, const int index[], const int edges[],
                                     int reorder, MPI_Comm *child)
{
    struct mpixq_ident ident = child_of(comm);

    return name_child(mpixq_next.Graph_create(comm, n, index, edges, reorder, child), child, ident);
}
MPIXQ_OWN(Graph_create);

MPIXQ_INTERPOSE int MPI_Dist_graph_create(MPI_Comm comm, int n, const int nodes[],
                                          const int degrees[], const int targets[],
                                          const int weights[], MPI_Info info, int reorder,
                                          MPI_Comm *child)
{
    struct mpixq_ident ident = child_of(comm);

    return name_child(mpixq_next.Dist_graph_create(comm, n, nodes, degrees, targets, weights, info,
                                                   reorder, child),
                      child, ident);
}
MPIXQ_OWN(Dist_graph_create);

MPIXQ_INTERPOSE int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int n_in, const int sources[],
                                                   const int in_weights[], int n_out,
                                                   const int dests[], const int out_weights[],
                                                   MPI_Info info, int reorder, MPI_Comm *child)
{
    struct mpixq_ident ident = child_of(comm);

    return name_child(mpixq_next.Dist_graph_create_adjacent(comm, n_in, sources, in_weights, n_out,
                                                            dests, out_weights, info, reorder,
                                                            child),
                      child, ident);
}
MPIXQ_OWN(Dist_graph_create_adjacent);

MPIXQ_INTERPOSE int MPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm *child)
{
    struct mpixq_ident ident = child_of(comm);

    return name_child(mpixq_next.Intercomm_merge(comm, high, child), child, ident);
}
MPIXQ_OWN(Intercomm_merge);

MPIXQ_INTERPOSE int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *child)
{
    struct mpixq_ident ident = {0};
    int rc;

    if (mpixq_lib_is_up()) {
        ident = mpixq_comm_group_child(comm, group, tag);
    }
    mpixq_comm_group_begin();
    rc = mpixq_next.Comm_create_group(comm, group, tag, child);
    mpixq_comm_group_end();
    return name_child(rc, child, ident);
}
MPIXQ_OWN(Comm_create_group);

MPIXQ_INTERPOSE int MPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peer_comm,
                                         int remote_leader, int tag, MPI_Comm *child)
{
    struct mpixq_ident ident = child_of(local);
    int rc = mpixq_next.Intercomm_create(local, leader, peer_comm, remote_leader, tag, child);

    if (rc == MPI_SUCCESS && mpixq_lib_is_up()) {
        mpixq_comm_name_intercomm(*child, ident);
    }
    return rc;
}
MPIXQ_OWN(Intercomm_create);

static struct mpixq_comm *free_begin(const MPI_Comm *comm)
{
    return mpixq_lib_is_up() && comm != NULL ? mpixq_comm_free_begin(*comm) : NULL;
}

MPIXQ_INTERPOSE int MPI_Comm_free(MPI_Comm *comm)
{
    struct mpixq_comm *record = free_begin(comm);
    int rc = mpixq_next.Comm_free(comm);

    mpixq_comm_free_end(record, rc == MPI_SUCCESS);
    return rc;
}
MPIXQ_OWN(Comm_free);

MPIXQ_INTERPOSE int MPI_Comm_disconnect(MPI_Comm *comm)
{
    struct mpixq_comm *record = free_begin(comm);
    int rc = mpixq_next.Comm_disconnect(comm);

    mpixq_comm_free_end(record, rc == MPI_SUCCESS);
    return rc;
}
MPIXQ_OWN(Comm_disconnect);
