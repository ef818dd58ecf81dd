/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What matching knows, and the numbers by which control messages name the ends of pairs: all under
 * the matching lock. */
#include <string.h>

#include "match_internal.h"

struct mpixq_matching mpixq_matching = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_MATCH)};

struct mpixq_pair *mpixq_match_by_id(uint64_t id)
{
    struct mpixq_pair *pair;

    HASH_FIND(hh_id, mpixq_matching.ids, &id, sizeof id, pair);
    return pair;
}

struct mpixq_request *mpixq_match_request(uint64_t id)
{
    struct mpixq_pair *pair = mpixq_match_by_id(id);

    return pair != NULL ? pair->owner : NULL;
}

bool mpixq_match_id_add(struct mpixq_pair *pair)
{
    pair->id = ++mpixq_matching.last_id;
    memset(&pair->hh_id, 0, sizeof pair->hh_id);
    HASH_ADD(hh_id, mpixq_matching.ids, id, sizeof pair->id, pair);
    return mpixq_in_table(pair->hh_id);
}

bool mpixq_match_id_was_given(uint64_t id)
{
    return id <= mpixq_matching.last_id;
}

void mpixq_match_id_remove(struct mpixq_pair *pair)
{
    if (mpixq_in_table(pair->hh_id)) {
        HASH_DELETE(hh_id, mpixq_matching.ids, pair);
        memset(&pair->hh_id, 0, sizeof pair->hh_id);
    }
}

void mpixq_match_each(void (*visit)(struct mpixq_request *req, void *arg), void *arg)
{
    struct mpixq_pair *pair, *next;

    HASH_ITER(hh_id, mpixq_matching.ids, pair, next)
    {
        if (pair->owner != NULL) {
            visit(pair->owner, arg);
        }
    }
}
