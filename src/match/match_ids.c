/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The numbers by which control messages name the ends of pairs. All under the matching lock. */
#include <string.h>

#include "match_internal.h"

static struct {
    struct mpixq_pair *ids; /* every end that a peer may name */
    uint64_t last_id;
} known;

struct mpixq_pair *mpixq_match_by_id(uint64_t id)
{
    struct mpixq_pair *pair;

    HASH_FIND(hh_id, known.ids, &id, sizeof id, pair);
    return pair;
}

struct mpixq_request *mpixq_match_request(uint64_t id)
{
    struct mpixq_pair *pair = mpixq_match_by_id(id);

    return pair != NULL ? pair->owner : NULL;
}

bool mpixq_match_id_add(struct mpixq_pair *pair)
{
    pair->id = ++known.last_id;
    memset(&pair->hh_id, 0, sizeof pair->hh_id);
    HASH_ADD(hh_id, known.ids, id, sizeof pair->id, pair);
    return mpixq_in_table(pair->hh_id);
}

bool mpixq_match_id_was_given(uint64_t id)
{
    return id <= known.last_id;
}

void mpixq_match_id_remove(struct mpixq_pair *pair)
{
    if (mpixq_in_table(pair->hh_id)) {
        HASH_DELETE(hh_id, known.ids, pair);
        memset(&pair->hh_id, 0, sizeof pair->hh_id);
    }
}

void mpixq_match_each(void (*visit)(struct mpixq_request *req, void *arg), void *arg)
{
    struct mpixq_pair *pair, *next;

    HASH_ITER(hh_id, known.ids, pair, next)
    {
        if (pair->owner != NULL) {
            visit(pair->owner, arg);
        }
    }
}
