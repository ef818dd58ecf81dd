/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "pair.h"

#include <stdio.h>

#include "error.h"
#include "request.h"

const char *mpixq_pair_verb(const struct mpixq_pair *pair)
{
    static const char *const verbs[] = {
        [MPIXQ_MODE_SEND] = "send to",
        [MPIXQ_MODE_BSEND] = "buffered send to",
        [MPIXQ_MODE_SSEND] = "synchronous send to",
        [MPIXQ_MODE_RSEND] = "ready send to",
        [MPIXQ_MODE_RECV] = "receive from",
    };

    return verbs[pair->message.mode];
}

const char *mpixq_pair_describe(const struct mpixq_pair *pair, char *buffer, size_t size)
{
    const struct mpixq_request *owner = pair->owner;

    if (owner != NULL) {
        (void)snprintf(buffer, size, "%s %d tag %d", mpixq_pair_verb(pair), owner->peer,
                       owner->tag);
    } else {
        (void)snprintf(buffer, size, "%s rank %d", mpixq_pair_verb(pair), pair->peer_world);
    }
    return buffer;
}

int mpixq_pair_peer_failed(const struct mpixq_pair *pair)
{
    char what[64], text[160];

    (void)snprintf(text, sizeof text, "%s: the peer (rank %d of MPI_COMM_WORLD) reported a failure",
                   mpixq_pair_describe(pair, what, sizeof what), pair->peer_world);
    return mpixq_error_code_saying(MPIXQ_E_PEER_FAILED, text);
}
