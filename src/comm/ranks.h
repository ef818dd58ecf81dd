/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Ranks of groups in MPI_COMM_WORLD. MPI may look through all ranks of the job for one question, so
 * many are asked for at a time, and those of peers are remembered.
 */
#ifndef MPIXQ_RANKS_H
#define MPIXQ_RANKS_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { MPIXQ_RANKS_BITS = 6, MPIXQ_RANKS_KNOWN = 1 << MPIXQ_RANKS_BITS };

/* Peers of a communicator that were asked for before; zero-filled at first. Any thread may use it.
 * An entry holds peer + 1 in its upper half; 0 is empty. */
struct mpixq_ranks {
    _Atomic uint64_t known[MPIXQ_RANKS_KNOWN];
    atomic_uint replaced; /* entries so far */
};

/* Ranks are those in world, the group of MPI_COMM_WORLD. */

/* The rank of a peer, or MPI_UNDEFINED. */
int mpixq_ranks_of_peer(struct mpixq_ranks *ranks, MPI_Group world, MPI_Group peers, int peer);
/* Show the ranks of a group, in its order, some at a time. False: visit has said so, or MPI has
 * failed. */
bool mpixq_ranks_each(MPI_Group world, MPI_Group group,
                      bool (*visit)(const int *ranks, int n, void *arg), void *arg);
/* Are all processes of a group in MPI_COMM_WORLD? */
bool mpixq_ranks_are_all(MPI_Group world, MPI_Group group);
/* That of the first process of a group. False: MPI has failed. */
bool mpixq_ranks_first(MPI_Group world, MPI_Group group, int *rank_p);

#endif
