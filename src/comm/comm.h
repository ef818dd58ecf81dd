/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Communicator identity: which communicator a request was made on, told in a way that both ends
 * of a pair agree on without talking. A record hangs on each communicator as an attribute:
 *
 *   MPI_COMM_WORLD, MPI_COMM_SELF   set by mpixq_comm_open
 *   dup, idup, dup_with_info        derived in the attribute's copy callback, which runs inside
 *   the call constructors over the parent    child(parent, n): n counts the parent's collective
 *   constructors create_group                    not collective over the parent, so not counted
 *   there:
 *                                   child(hash(parent, world ranks, tag), k), k counts equal calls
 *   intercomm_create                both sides' local identities, exchanged over the new
 *   communicator everything else                 none
 *
 * A record outlives its communicator while a request refers to it.
 */
#ifndef MPIXQ_COMM_H
#define MPIXQ_COMM_H

#include <mpi.h>
#include <stdbool.h>

#include "util/ident.h"

struct mpixq_comm;

/* What matching needs to know of a communicator. For an intercommunicator size is that of the
 * remote group and own_size that of the local one; otherwise both are the size. */
struct mpixq_comm_view {
    struct mpixq_ident ident;
    int rank, size, own_size;
};

/* Make the attribute and give the predefined communicators their records. In MPI_Init. */
int mpixq_comm_open(void);
void mpixq_comm_close(void);

/* The record of a communicator with a reference for the caller; NULL if there is no memory. */
struct mpixq_comm *mpixq_comm_get(MPI_Comm comm);
struct mpixq_comm *mpixq_comm_hold(struct mpixq_comm *record);
void mpixq_comm_put(struct mpixq_comm *record);
void mpixq_comm_view(const struct mpixq_comm *record, struct mpixq_comm_view *view_p);
/* One more persistent collective is made on it, by all processes in the same order: its number. */
uint64_t mpixq_comm_count_collective(struct mpixq_comm *record);
/* Rank in MPI_COMM_WORLD of a peer's rank, or MPI_UNDEFINED. Also after the communicator was
 * freed. */
int mpixq_comm_world_rank(struct mpixq_comm *record, int peer);
/* The communicator, or MPI_COMM_NULL once it was freed. */
MPI_Comm mpixq_comm_handle(const struct mpixq_comm *record);

/* Around MPI_Comm_free and MPI_Comm_disconnect: from then on the communicator's handler is not
 * called any more. MPICH deletes attributes, which would tell as well, only when the last
 * request on the communicator is gone. */
struct mpixq_comm *mpixq_comm_free_begin(MPI_Comm comm);
void mpixq_comm_free_end(struct mpixq_comm *record, bool freed);

/* Around a constructor: before it, take the identity that the child will have (none if the
 * parent has none); after it, hang a record on the child, whatever MPI made. */
struct mpixq_ident mpixq_comm_child(MPI_Comm parent);
struct mpixq_ident mpixq_comm_group_child(MPI_Comm parent, MPI_Group group, int tag);
/* Around MPI_Comm_create_group itself: Open MPI 4.1 copies attributes there as in a dup, but not on
 * all processes of the parent, whose numbering of its dups must not notice. */
void mpixq_comm_group_begin(void);
void mpixq_comm_group_end(void);
void mpixq_comm_name_child(MPI_Comm child, struct mpixq_ident ident);
/* After MPI_Intercomm_create: collective over the new communicator, if all its processes are in
 * MPI_COMM_WORLD. local is mpixq_comm_child of the local communicator. */
void mpixq_comm_name_intercomm(MPI_Comm child, struct mpixq_ident local);

#endif
