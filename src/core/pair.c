/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "pair.h"

#include <stdio.h>

#include "collective.h"
#include "comm/comm.h"
#include "comm/error.h"
#include "fault.h"
#include "request.h"

/* Which has no one peer. */
static bool is_whole_collective(const struct mpixq_pair *pair)
{
    return pair->message.mode >= MPIXQ_MODE_COLLECTIVE;
}

const char *mpixq_pair_verb(const struct mpixq_pair *pair)
{
    static const char *const verbs[] = {
        [MPIXQ_MODE_SEND] = "send to",
        [MPIXQ_MODE_BSEND] = "buffered send to",
        [MPIXQ_MODE_SSEND] = "synchronous send to",
        [MPIXQ_MODE_RSEND] = "ready send to",
        [MPIXQ_MODE_RECV] = "receive from",
        [MPIXQ_MODE_COLLECTIVE + MPIXQ_BARRIER] = "barrier",
        [MPIXQ_MODE_COLLECTIVE + MPIXQ_BCAST] = "broadcast",
        [MPIXQ_MODE_COLLECTIVE + MPIXQ_ALLREDUCE] = "allreduce",
        [MPIXQ_MODE_COLLECTIVE + MPIXQ_ALLGATHER] = "allgather",
        [MPIXQ_MODE_COLLECTIVE + MPIXQ_NEIGHBOR_ALLTOALL] = "neighbor alltoall",
        [MPIXQ_MODE_COLLECTIVE + MPIXQ_NEIGHBOR_ALLTOALLV] = "neighbor alltoallv",
    };

    return verbs[pair->message.mode];
}

const char *mpixq_pair_describe(const struct mpixq_pair *pair, char *buffer, size_t size)
{
    const struct mpixq_request *owner = pair->owner;

    if (is_whole_collective(pair)) {
        (void)snprintf(buffer, size, "%s", mpixq_pair_verb(pair));
    } else if (owner != NULL) {
        (void)snprintf(buffer, size, "%s %d tag %d", mpixq_pair_verb(pair), owner->peer,
                       owner->tag);
    } else {
        (void)snprintf(buffer, size, "%s rank %d", mpixq_pair_verb(pair), pair->peer_world);
    }
    return buffer;
}

void mpixq_pair_fault(const struct mpixq_pair *pair, struct mpixq_fault *fault_p)
{
    const struct mpixq_request *req = pair->owner;
    struct mpixq_comm_view view;

    *fault_p = MPIXQ_FAULT_NONE;
    if (req == NULL) {
        return;
    }
    mpixq_comm_view(req->comm, &view);
    fault_p->verb = mpixq_pair_verb(pair);
    fault_p->peer = is_whole_collective(pair) ? MPIXQ_FAULT_NO_PEER : req->peer;
    fault_p->tag = req->tag;
    fault_p->rank = view.rank;
    fault_p->size = view.size;
    fault_p->bytes = pair->bytes;
}

bool mpixq_pair_is_by_host(const struct mpixq_pair *pair)
{
    uint64_t started = mpixq_pair_started(pair);

    return started > 0 && atomic_load(&pair->host_start) == started;
}

int mpixq_pair_peer_failed(const struct mpixq_pair *pair)
{
    char what[64], why[96];

    (void)snprintf(why, sizeof why, "the peer (rank %d of MPI_COMM_WORLD) reported a failure",
                   pair->peer_world);
    return mpixq_error_cause(MPIXQ_E_PEER_FAILED, mpixq_pair_describe(pair, what, sizeof what),
                             why);
}
