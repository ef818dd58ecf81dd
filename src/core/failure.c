/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "failure.h"

#include <stddef.h>

#include "request.h"

static const struct mpixq_failure_listener *heard_by; /* NULL: nothing was ever matched */

void mpixq_failure_listen(const struct mpixq_failure_listener *listener)
{
    heard_by = listener;
}

/* Those of a collective are its parts'. */
static bool has_peers(const struct mpixq_pair *pair)
{
    return pair->peer_world != MPI_PROC_NULL ||
           (pair->owner != NULL && pair->owner->is_collective && !pair->owner->is_part);
}

void mpixq_failure_abandon(struct mpixq_pair *pair)
{
    if (has_peers(pair) && !atomic_exchange(&pair->failed, true) && heard_by != NULL) {
        heard_by->abandoned(pair);
    }
}

void mpixq_failure_of(uint64_t id, int code, const char *operation)
{
    if (heard_by != NULL) {
        heard_by->failed(id, code, operation);
    }
}
