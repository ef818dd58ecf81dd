/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The numbers by which control messages name the ends of pairs. All under the matching lock. */
#include <string.h>

#include "match_internal.h"

static struct mpixq_request *ids; /* every end that a peer may name */
static uint64_t last_id;

struct mpixq_request *mpixq_match_by_id(uint64_t id)
{
    struct mpixq_request *req;

    HASH_FIND(hh_id, ids, &id, sizeof id, req);
    return req;
}

bool mpixq_match_id_add(struct mpixq_request *req)
{
    req->id = ++last_id;
    memset(&req->hh_id, 0, sizeof req->hh_id);
    HASH_ADD(hh_id, ids, id, sizeof req->id, req);
    return mpixq_in_table(req->hh_id);
}

bool mpixq_match_id_was_given(uint64_t id)
{
    return id <= last_id;
}

void mpixq_match_id_remove(struct mpixq_request *req)
{
    if (mpixq_in_table(req->hh_id)) {
        HASH_DELETE(hh_id, ids, req);
        memset(&req->hh_id, 0, sizeof req->hh_id);
    }
}

void mpixq_match_each(void (*visit)(struct mpixq_request *req, void *arg), void *arg)
{
    struct mpixq_request *req, *next;

    HASH_ITER(hh_id, ids, req, next)
    {
        visit(req, arg);
    }
}
