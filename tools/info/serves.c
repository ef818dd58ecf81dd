/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * serves.c - which channel serves, and why not a better one: found by matching pairs
 *
 * A process can be its own peer by every channel, if self is left out. So each rank asks alone what
 * would serve it and a process like it: on its node, or on another one, which no ipc reaches. Where
 * there are several ranks, each is also matched with the next one.
 */
#include <mpi.h>
#include <string.h>

#include "core/channel.h"
#include "util/env.h"
#include "util/node.h"
#include "core/request.h"
#include "core/served.h"
#include "info.h"
#include "missed.h"
#include "mpix_queue.h"

enum { BYTES = 4096 };

/* Between which ends, and what is not asked of. */
struct ends {
    const char *memory, *where; /* for people */
    void *buffers[2];
    MPI_Comm comm;
    int to, from;
    unsigned hidden; /* channels, as bits by their ids */
};

static unsigned bit(uint32_t id)
{
    return 1u << id;
}

/* Of a send, which after the match has the reasons of both ends. */
static void tell_one(struct mpixq_facts *facts, const struct ends *ends,
                     const struct mpixq_request *req, bool is_matched)
{
    char name[80], longer[120];

    (void)snprintf(name, sizeof name, "%s memory, %s", ends->memory, ends->where);
    mpixq_fact(facts, name, "%s", is_matched ? req->pair.channel->name : "none");
    for (int i = 0; i < N_USUAL; i++) {
        uint8_t why = req->why_not[usual[i]];

        if ((ends->hidden & bit(usual[i])) == 0 && is_missed(req, usual[i]) && why != 0) {
            (void)snprintf(longer, sizeof longer, "%s, not %s", name, mpixq_channel_name(usual[i]));
            mpixq_fact(facts, longer, "%s%s", mpixq_reason_text(why),
                       why >= MPIXQ_REASON_OF_PEER && ends->comm != MPI_COMM_SELF ? " (at the peer)"
                                                                                  : "");
        }
    }
}

/* Match a pair, or a send and a receive of two; nothing is started. facts: NULL if the peer only is
 * to know. */
static bool tell_pair(struct mpixq_facts *facts, const struct ends *ends)
{
    const struct mpixq_request *req;
    MPI_Request requests[2];
    bool is_matched;

    MPI_Recv_init(ends->buffers[0], BYTES, MPI_BYTE, ends->from, 0, ends->comm, &requests[0]);
    MPI_Send_init(ends->buffers[1], BYTES, MPI_BYTE, ends->to, 0, ends->comm, &requests[1]);
    is_matched = MPIXQ_Matchall(2, requests) == MPI_SUCCESS;
    req = mpixq_request_find(requests[1]);
    if (req != NULL && facts != NULL) {
        tell_one(facts, ends, req, is_matched);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    return is_matched;
}

/* Without some channels. Nobody else uses the set of the process meanwhile. */
static bool tell_without(struct mpixq_facts *facts, struct ends *ends, const char *where,
                         unsigned hidden)
{
    struct mpixq_channel_set kept = mpixq_env.channels;
    bool is_matched;

    ends->where = where;
    ends->hidden = hidden;
    for (uint32_t id = 0; id < MPIXQ_N_CHANNELS; id++) {
        if ((hidden & bit(id)) != 0) {
            mpixq_channel_set_remove(&mpixq_env.channels, id);
        }
    }
    is_matched = tell_pair(facts, ends);
    mpixq_env.channels = kept;
    return is_matched;
}

static bool tell_own(struct mpixq_facts *facts, struct ends *ends)
{
    const unsigned self = bit(MPIXQ_CHANNEL_SELF);
    bool any;

    ends->comm = MPI_COMM_SELF;
    ends->to = ends->from = 0;
    any = tell_without(facts, ends, "own process", 0);
    any |= tell_without(facts, ends, "same node", self);
    any |= tell_without(facts, ends, "other node", self | bit(MPIXQ_CHANNEL_IPC));
    return any;
}

/* Collective. A rank without such memory takes part with that of the host. */
static bool tell_next(struct mpixq_facts *facts, struct ends *ends)
{
    struct mpixq_ident own = mpixq_node_ident(), theirs = own;
    bool is_matched = true;
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 1) {
        ends->comm = MPI_COMM_WORLD;
        ends->to = (rank + 1) % size;
        ends->from = (rank + size - 1) % size;
        MPI_Sendrecv(&own, sizeof own, MPI_BYTE, ends->from, 1, &theirs, sizeof theirs, MPI_BYTE,
                     ends->to, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        ends->where = memcmp(&own, &theirs, sizeof own) == 0 ? "next rank, on the same node"
                                                             : "next rank, on another node";
        ends->hidden = bit(MPIXQ_CHANNEL_SELF);
        is_matched = tell_pair(facts, ends);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return is_matched;
}

static bool tell_memory(struct mpixq_facts *facts, struct ends *ends)
{
    bool any = tell_own(facts, ends);

    return tell_next(facts, ends) && any;
}

/* Ranks may have GPUs of several vendors, or none. */
static int most_vendors(void)
{
    const char *name;
    void *buffers[2];
    int n = 0;

    while (gpu_buffers(n, &name, buffers, BYTES)) {
        n++;
    }
    MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return n;
}

bool tell_serves(struct mpixq_facts *facts)
{
    static char host[2][BYTES];
    struct ends ends = {.memory = "host", .buffers = {host[0], host[1]}};
    bool any;
    int n = most_vendors();

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    any = tell_memory(facts, &ends);
    for (int i = 0; i < n; i++) {
        ends.buffers[0] = NULL;
        if (!gpu_buffers(i, &ends.memory, ends.buffers, BYTES) || ends.buffers[0] == NULL ||
            ends.buffers[1] == NULL) {
            ends = (struct ends){.memory = "host", .buffers = {host[0], host[1]}};
            (void)tell_next(NULL, &ends); /* which was told before, of a peer with the same */
        } else {
            (void)tell_memory(facts, &ends);
        }
    }
    return any;
}
