/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "node.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include "alloc.h"
#include "process.h"

/* What each rank tells the others. */
struct told {
    uint32_t pid;  /* 0: the system does not tell enough */
    uint32_t home; /* where the number holds: some bits of it, as all are on one machine */
    int32_t world; /* rank in MPI_COMM_WORLD */
    int32_t gpus;  /* 1: it sees devices of GPUs */
};

static struct {
    int ranks, rank;
    struct told *all; /* by rank */
    struct mpixq_ident ident;
    bool have_nics; /* all ranks, and GPUs */
} here = {.ranks = 1};

static struct told tell(const struct mpixq_process *self)
{
    bool known = !mpixq_ident_is_none(self->home);
    int world = -1;

    (void)PMPI_Comm_rank(MPI_COMM_WORLD, &world);
    return (struct told){.pid = known ? (uint32_t)self->pid : 0,
                         .home = (uint32_t)self->home.low,
                         .world = world,
                         .gpus =
                             access("/dev/nvidiactl", F_OK) == 0 || access("/dev/kfd", F_OK) == 0};
}

/* Agree on the identity, which is made of rank 0's process, and on whether all have memory: no rank
 * may leave the next collective call to the others. */
static int agree(MPI_Comm node, const struct mpixq_process *self)
{
    struct mpixq_ident first = {0};
    uint64_t mine[3], largest[3];
    int rc;

    if (here.rank == 0) {
        first = mpixq_ident_add((struct mpixq_ident){.low = 2}, self, sizeof *self);
    }
    mine[0] = first.high;
    mine[1] = first.low;
    mine[2] = here.all == NULL;
    rc = PMPI_Allreduce(mine, largest, 3, MPI_UINT64_T, MPI_MAX, node);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    here.ident = (struct mpixq_ident){.high = largest[0], .low = largest[1]};
    return largest[2] == 0 ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int mpixq_node_open(void)
{
    struct mpixq_process self = mpixq_process_self();
    struct told mine = tell(&self);
    MPI_Comm node = MPI_COMM_NULL;
    int rc = PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);

    rc = rc ? rc : PMPI_Comm_size(node, &here.ranks);
    rc = rc ? rc : PMPI_Comm_rank(node, &here.rank);
    if (rc == MPI_SUCCESS) {
        here.all =
            mpixq_alloc((size_t)here.ranks * sizeof *here.all); /* freed in mpixq_node_close */
        rc = agree(node, &self);
    }
    rc = rc ? rc
            : PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, here.all, sizeof mine, MPI_BYTE, node);
    if (node != MPI_COMM_NULL) {
        (void)PMPI_Comm_free(&node);
    }
    return rc;
}

/* All on one node know that they are: so either all come to the call or none does. */
int mpixq_nodes_compare(bool has_nic)
{
    int mine = has_nic && mpixq_node_sees_gpus(), least = 0, all = 0;
    int rc = PMPI_Comm_size(MPI_COMM_WORLD, &all);

    if (rc == MPI_SUCCESS && all > here.ranks) {
        rc = PMPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    here.have_nics = rc == MPI_SUCCESS && least != 0;
    return rc;
}

void mpixq_node_close(void)
{
    mpixq_free(here.all);
    here.all = NULL;
}

int mpixq_node_ranks(void)
{
    return here.ranks;
}

int mpixq_node_rank(void)
{
    return here.rank;
}

pid_t mpixq_node_pid(int which)
{
    return here.all != NULL && here.all[which].home == here.all[here.rank].home
               ? (pid_t)here.all[which].pid
               : 0;
}

bool mpixq_node_sees_gpus(void)
{
    for (int i = 0; here.all != NULL && i < here.ranks; i++) {
        if (here.all[i].gpus == 0) {
            return false;
        }
    }
    return here.all != NULL;
}

bool mpixq_nodes_have_nics(void)
{
    return here.have_nics;
}

bool mpixq_node_has(int world)
{
    for (int i = 0; here.all != NULL && i < here.ranks; i++) {
        if (here.all[i].world == world) {
            return true;
        }
    }
    return false;
}

struct mpixq_ident mpixq_node_ident(void)
{
    return here.ident;
}
