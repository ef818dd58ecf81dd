/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "request_name.h"

#include <stdio.h>

#include "comm/comm.h"
#include "request.h"

const char *mpixq_name_peer(const struct mpixq_pair *pair, char text[MPIXQ_PEER_ROOM])
{
    text[0] = '\0';
    if (pair->message.mode < MPIXQ_MODE_COLLECTIVE) {
        (void)snprintf(text, MPIXQ_PEER_ROOM, " (rank %d of MPI_COMM_WORLD)", pair->peer_world);
    }
    return text;
}

static void name_message(const struct mpixq_request *req, char text[MPIXQ_NAME_ROOM])
{
    bool is_paired = mpixq_request_state(req) != MPIXQ_MATCHING;
    int peer = !is_paired || mpixq_request_is_send(req) ? req->peer : req->pair.source;
    int tag = is_paired ? req->pair.source_tag : req->tag;
    int world = peer == MPI_ANY_SOURCE ? -1
                : is_paired            ? req->pair.peer_world
                                       : mpixq_comm_world_rank(req->comm, peer);
    char from[24] = "any source", with[24] = "any tag", rank[48] = "";

    if (peer != MPI_ANY_SOURCE) {
        (void)snprintf(from, sizeof from, "%d", peer);
        (void)snprintf(rank, sizeof rank, "rank %d of MPI_COMM_WORLD, ", world);
    }
    if (tag != MPI_ANY_TAG) {
        (void)snprintf(with, sizeof with, "tag %d", tag);
    }
    (void)snprintf(text, MPIXQ_NAME_ROOM, "%s%s %s %s (%s%llu bytes)",
                   req->is_collective ? "collective's " : "", mpixq_pair_verb(&req->pair), from,
                   with, rank, (unsigned long long)req->pair.bytes);
}

const char *mpixq_request_name(const struct mpixq_request *req, char text[MPIXQ_NAME_ROOM])
{
    if (req->is_collective && !req->is_part) {
        (void)snprintf(text, MPIXQ_NAME_ROOM, "%s (%llu bytes)", mpixq_pair_verb(&req->pair),
                       (unsigned long long)req->pair.bytes);
    } else {
        name_message(req, text);
    }
    return text;
}
