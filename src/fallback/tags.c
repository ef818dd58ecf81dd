/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "tags.h"

#include "util/alloc.h"
#include "util/log.h"
#include "util/table.h"

struct mpixq_tag_source {
    int rank;
    int next;  /* tags from here on were never used */
    int *free; /* given back */
    int n_free, room;
    UT_hash_handle hh;
};

void mpixq_tags_open(struct mpixq_tags *tags, int largest)
{
    *tags = (struct mpixq_tags){.largest = largest};
}

void mpixq_tags_close(struct mpixq_tags *tags)
{
    struct mpixq_tag_source *source, *next;

    HASH_ITER(hh, tags->sources, source, next)
    {
        HASH_DEL(tags->sources, source);
        mpixq_free(source->free);
        mpixq_free(source);
    }
}

static struct mpixq_tag_source *source_get(struct mpixq_tags *tags, int rank)
{
    struct mpixq_tag_source *source;

    HASH_FIND_INT(tags->sources, &rank, source);
    if (source == NULL) {
        source = mpixq_alloc(sizeof *source); /* freed in mpixq_tags_close */
        if (source == NULL) {
            return NULL;
        }
        source->rank = rank;
        HASH_ADD_INT(tags->sources, rank, source);
        if (!mpixq_in_table(source->hh)) {
            mpixq_free(source);
            return NULL;
        }
    }
    return source;
}

int mpixq_tag_take(struct mpixq_tags *tags, int rank)
{
    struct mpixq_tag_source *source = source_get(tags, rank);

    if (source == NULL) {
        return -1;
    }
    if (source->n_free > 0) {
        return source->free[--source->n_free];
    }
    /* Not next > largest after the fact: the largest tag may be INT_MAX. */
    if (source->next < 0 || source->next > tags->largest) {
        return -1;
    }
    return source->next == tags->largest ? (source->next = -1, tags->largest) : source->next++;
}

void mpixq_tag_give_back(struct mpixq_tags *tags, int rank, int tag)
{
    struct mpixq_tag_source *source = source_get(tags, rank);

    if (source != NULL && source->n_free == source->room) {
        int room = source->room > 0 ? source->room * 2 : 8;
        int *bigger = mpixq_realloc(source->free, (size_t)room * sizeof *bigger);

        if (bigger != NULL) {
            source->free = bigger;
            source->room = room;
        }
    }
    if (source == NULL || source->n_free == source->room) {
        mpixq_warn("no memory to give back tag %d of rank %d: it is not used again", tag, rank);
        return;
    }
    source->free[source->n_free++] = tag;
}
