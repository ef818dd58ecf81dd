/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What reports say of a request, and of what it waits for. All under the matching lock. */
#include <stdio.h>

#include "comm/comm.h"
#include "core/channels.h"
#include "core/request_name.h"
#include "match/control.h"
#include "match/match_internal.h"
#include "watchdog.h"

const char *mpixq_watchdog_why_unmatched(const struct mpixq_request *req, char text[MPIXQ_WHY_ROOM])
{
    const struct mpixq_offered *first = NULL;
    const char *opening = mpixq_match_opening_text(req);
    int n;

    if (opening != NULL) {
        return opening;
    }
    if (mpixq_match_is_split_answered(req)) {
        return "it is paired, and the messages that it consists of are still to be matched by both "
               "ends";
    }
    if (mpixq_request_is_send(req)) {
        return mpixq_control_has_taken(req->pair.peer_world)
                   ? "the peer knows of the send and has begun no match of a receive that fits"
                   : "the peer has taken no message about it: it has begun no match, or it runs "
                     "below MPI_THREAD_MULTIPLE and is blocked outside of this library, MPI_Wait "
                     "and MPI_Test";
    }
    n = mpixq_pairing_count_misfits(&mpixq_matching.pairing, &req->posted, &first);
    if (n == 0) {
        return "no peer has said that it matches a send that fits: it has begun no such match, or "
               "it runs below MPI_THREAD_MULTIPLE and is blocked outside of this library, MPI_Wait "
               "and MPI_Test";
    }
    (void)snprintf(text, MPIXQ_WHY_ROOM,
                   "no peer has said that it matches a send that fits; %d others wait for their "
                   "receives, the first from %d tag %d (rank %d of MPI_COMM_WORLD)",
                   n, first->source, first->tag, mpixq_comm_world_rank(req->comm, first->source));
    return text;
}

const char *mpixq_watchdog_what_is_missing(const struct mpixq_request *req)
{
    return mpixq_pair_is_without_peer(&req->pair, req->age.progress + 1)
               ? "the peer has freed its end of the pair"
               : mpixq_channel_what_is_missing(&req->pair);
}
