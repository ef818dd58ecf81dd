/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the files of the fallback channel share: this end of a pair, and how it comes to its end.
 */
#ifndef MPIXQ_END_H
#define MPIXQ_END_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/pair.h"
#include "parts.h"
#include "tags.h"

/* This end of a pair. Made at match time, freed in mpixq_end_retire. */
struct end {
    MPI_Request request; /* made at the first start */
    int tag;
    MPI_Comm comm;             /* the channel's */
    atomic_bool busy;          /* a thread is in MPI with request */
    bool active;               /* started, not completed; under busy */
    bool counted;              /* as outstanding; under busy */
    bool recalled;             /* released while active; MPI was asked to cancel it */
    uint64_t received;         /* messages of MPI */
    struct mpixq_parts *parts; /* NULL: request is for the whole message */
    /* Draining after the release of a receive, one message at a time. */
    void *scratch;
    MPI_Request drain;
};

/* part: see parts.h; 0: the message goes whole. NULL: no memory. */
struct end *mpixq_end_create(const struct mpixq_pair *pair, int tag, uint64_t part, MPI_Comm comm);

static inline bool mpixq_end_try_enter(struct end *end)
{
    return !atomic_exchange_explicit(&end->busy, true, memory_order_acquire);
}

/* It is held for one call of MPI at a time. */
static inline void mpixq_end_enter(struct end *end)
{
    while (!mpixq_end_try_enter(end)) {
    }
}

static inline void mpixq_end_leave(struct end *end)
{
    atomic_store_explicit(&end->busy, false, memory_order_release);
}

/* Of a request that MPI was asked to cancel: has MPI let go of its buffer? One that it has matched
 * with a large message already ends once all data have come, and is counted. */
static inline bool mpixq_end_lets_go(struct end *end, MPI_Request *request)
{
    MPI_Status status;
    int flag = 0, cancelled = 0;

    if (PMPI_Test(request, &flag, &status) != MPI_SUCCESS) {
        return true;
    }
    if (flag) {
        (void)PMPI_Test_cancelled(&status, &cancelled);
        end->received += !cancelled;
    }
    return flag;
}

/* It is under way no more. Under busy, or with no other thread about. */
void mpixq_end_deactivate(struct end *end);
/* The channel's release and retire. *until_ns_p: until when the last free that had to wait did so,
 * 0 at first. */
void mpixq_end_release(struct mpixq_pair *pair, uint64_t *until_ns_p);
bool mpixq_end_retire(struct mpixq_pair *pair, struct mpixq_tags *tags);

#endif
