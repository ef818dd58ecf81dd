/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "pairing.h"

#include <mpi.h>
#include <utlist.h>

#include "util/alloc.h"
#include "util/table.h"

/* Equal envelopes. Compared as bytes, so it has no padding. */
struct key {
    struct mpixq_ident ident;
    int32_t source, tag;
};

struct mpixq_bucket {
    struct key key;
    struct mpixq_context *context;
    enum mpixq_wildcards wildcards; /* of key */
    struct mpixq_posted *posted;    /* in order; at most one of the two lists has elements */
    struct mpixq_offered *offered;  /* linked by at[wildcards] */
    UT_hash_handle hh;
};

/* One communicator, while anything of it is kept. */
struct mpixq_context {
    struct mpixq_ident ident;
    struct mpixq_offered *all;          /* every offer, in order of arrival */
    unsigned posted[MPIXQ_N_WILDCARDS]; /* receives kept */
    bool indexed[MPIXQ_N_WILDCARDS];    /* offers are in the buckets of this kind */
    unsigned buckets;                   /* while there are any, something is kept */
    UT_hash_handle hh;
};

static struct mpixq_context *context_get(struct mpixq_pairing *pairing, struct mpixq_ident ident)
{
    struct mpixq_context *context;

    HASH_FIND(hh, pairing->contexts, &ident, sizeof ident, context);
    if (context == NULL) {
        context = mpixq_alloc(sizeof *context); /* freed in context_tidy */
        if (context != NULL) {
            context->ident = ident;
            context->indexed[MPIXQ_EXACT] = true;
            HASH_ADD(hh, pairing->contexts, ident, sizeof ident, context);
            if (!mpixq_in_table(context->hh)) {
                mpixq_free(context);
                return NULL;
            }
        }
    }
    return context;
}

/* The last step of whatever takes something out. */
static void context_tidy(struct mpixq_pairing *pairing, struct mpixq_context *context)
{
    if (context->buckets == 0) {
        HASH_DEL(pairing->contexts, context);
        mpixq_free(context);
    }
}

static struct mpixq_bucket *bucket_find(const struct mpixq_pairing *pairing, const struct key *key)
{
    struct mpixq_bucket *bucket;

    HASH_FIND(hh, pairing->buckets, key, sizeof *key, bucket);
    return bucket;
}

static enum mpixq_wildcards wildcards_of(const struct key *key)
{
    return (key->source == MPI_ANY_SOURCE ? MPIXQ_WILD_SOURCE : MPIXQ_EXACT) |
           (key->tag == MPI_ANY_TAG ? MPIXQ_WILD_TAG : MPIXQ_EXACT);
}

static struct mpixq_bucket *bucket_get(struct mpixq_pairing *pairing, struct mpixq_context *context,
                                       const struct key *key)
{
    struct mpixq_bucket *bucket = bucket_find(pairing, key);

    if (bucket == NULL) {
        bucket = mpixq_alloc(sizeof *bucket); /* freed in bucket_tidy */
        if (bucket != NULL) {
            bucket->key = *key;
            bucket->wildcards = wildcards_of(key);
            bucket->context = context;
            HASH_ADD(hh, pairing->buckets, key, sizeof *key, bucket);
            if (!mpixq_in_table(bucket->hh)) {
                mpixq_free(bucket);
                return NULL;
            }
            context->buckets++;
        }
    }
    return bucket;
}

static void bucket_tidy(struct mpixq_pairing *pairing, struct mpixq_bucket *bucket)
{
    if (bucket->posted == NULL && bucket->offered == NULL) {
        bucket->context->buckets--;
        HASH_DEL(pairing->buckets, bucket);
        mpixq_free(bucket);
    }
}

/* Receives. */

static void posted_keep(struct mpixq_bucket *bucket, struct mpixq_posted *posted)
{
    posted->bucket = bucket;
    DL_APPEND(bucket->posted, posted);
    bucket->context->posted[bucket->wildcards]++;
}

static void posted_remove(struct mpixq_pairing *pairing, struct mpixq_posted *posted)
{
    struct mpixq_bucket *bucket = posted->bucket;

    DL_DELETE(bucket->posted, posted);
    bucket->context->posted[bucket->wildcards]--;
    bucket_tidy(pairing, bucket);
}

/* Offers. */

/* The envelope of the receives of a kind that an offer fits. */
static struct key key_of(const struct mpixq_offered *offered, int wildcards)
{
    return (struct key){.ident = offered->ident,
                        .source =
                            (wildcards & MPIXQ_WILD_SOURCE) != 0 ? MPI_ANY_SOURCE : offered->source,
                        .tag = (wildcards & MPIXQ_WILD_TAG) != 0 ? MPI_ANY_TAG : offered->tag};
}

static bool index_add(struct mpixq_pairing *pairing, struct mpixq_context *context,
                      struct mpixq_offered *offered, int kind)
{
    struct key key = key_of(offered, kind);
    struct mpixq_bucket *bucket = bucket_get(pairing, context, &key);

    offered->at[kind].bucket = bucket;
    if (bucket != NULL) {
        DL_APPEND2(bucket->offered, offered, at[kind].prev, at[kind].next);
    }
    return bucket != NULL;
}

static void index_remove(struct mpixq_pairing *pairing, struct mpixq_offered *offered, int kind)
{
    struct mpixq_bucket *bucket = offered->at[kind].bucket;

    if (bucket != NULL) {
        DL_DELETE2(bucket->offered, offered, at[kind].prev, at[kind].next);
        offered->at[kind].bucket = NULL;
        bucket_tidy(pairing, bucket);
    }
}

static void index_drop(struct mpixq_pairing *pairing, struct mpixq_context *context, int kind)
{
    struct mpixq_offered *offered;

    DL_FOREACH2(context->all, offered, at[MPIXQ_WILD_BOTH].next)
    {
        index_remove(pairing, offered, kind);
    }
    context->indexed[kind] = false;
}

/* Index the offers for receives of a kind: each of them once as long as the communicator has
 * anything kept. False without memory; then there is no such index. */
static bool index_make(struct mpixq_pairing *pairing, struct mpixq_context *context, int kind)
{
    struct mpixq_offered *offered;

    DL_FOREACH2(context->all, offered, at[MPIXQ_WILD_BOTH].next)
    {
        if (!index_add(pairing, context, offered, kind)) {
            index_drop(pairing, context, kind);
            return false;
        }
    }
    context->indexed[kind] = true;
    return true;
}

static void offered_remove(struct mpixq_pairing *pairing, struct mpixq_context *context,
                           struct mpixq_offered *offered)
{
    DL_DELETE2(context->all, offered, at[MPIXQ_WILD_BOTH].prev, at[MPIXQ_WILD_BOTH].next);
    for (int kind = MPIXQ_EXACT; kind < MPIXQ_WILD_BOTH; kind++) {
        index_remove(pairing, offered, kind);
    }
}

static bool offered_keep(struct mpixq_pairing *pairing, struct mpixq_context *context,
                         struct mpixq_offered *offered)
{
    DL_APPEND2(context->all, offered, at[MPIXQ_WILD_BOTH].prev, at[MPIXQ_WILD_BOTH].next);
    for (int kind = MPIXQ_EXACT; kind < MPIXQ_WILD_BOTH; kind++) {
        offered->at[kind].bucket = NULL;
    }
    for (int kind = MPIXQ_EXACT; kind < MPIXQ_WILD_BOTH; kind++) {
        if (context->indexed[kind] && !index_add(pairing, context, offered, kind)) {
            offered_remove(pairing, context, offered);
            return false;
        }
    }
    return true;
}

bool mpixq_pairing_post(struct mpixq_pairing *pairing, struct mpixq_posted *posted,
                        struct mpixq_offered **offered_p)
{
    struct key key = {.ident = posted->ident, .source = posted->source, .tag = posted->tag};
    enum mpixq_wildcards kind = wildcards_of(&key);
    struct mpixq_context *context = context_get(pairing, posted->ident);
    struct mpixq_bucket *bucket;
    struct mpixq_offered *offered;
    bool new_index = context != NULL && kind != MPIXQ_WILD_BOTH && !context->indexed[kind];

    if (context == NULL || (new_index && !index_make(pairing, context, kind))) {
        goto no_memory;
    }
    bucket = bucket_find(pairing, &key);
    offered = kind == MPIXQ_WILD_BOTH ? context->all : bucket != NULL ? bucket->offered : NULL;
    if (offered != NULL) {
        offered_remove(pairing, context, offered);
        context_tidy(pairing, context);
    } else {
        bucket = bucket_get(pairing, context, &key);
        if (bucket == NULL) {
            goto drop_index;
        }
        posted->sequence = pairing->sequence++;
        posted_keep(bucket, posted);
    }
    *offered_p = offered;
    return true;

drop_index:
    if (new_index) {
        index_drop(pairing, context, kind);
    }
no_memory:
    if (context != NULL) {
        context_tidy(pairing, context);
    }
    return false;
}

/* Of the receives that an offer fits, the one that was posted first. */
static struct mpixq_posted *first_fitting(const struct mpixq_pairing *pairing,
                                          const struct mpixq_context *context,
                                          const struct mpixq_offered *offered)
{
    struct mpixq_posted *first = NULL;

    for (int kind = MPIXQ_EXACT; kind < MPIXQ_N_WILDCARDS; kind++) {
        struct key key = key_of(offered, kind);
        struct mpixq_bucket *bucket = context->posted[kind] > 0 ? bucket_find(pairing, &key) : NULL;
        struct mpixq_posted *posted = bucket != NULL ? bucket->posted : NULL;

        if (posted != NULL && (first == NULL || posted->sequence < first->sequence)) {
            first = posted;
        }
    }
    return first;
}

bool mpixq_pairing_offer(struct mpixq_pairing *pairing, struct mpixq_offered *offered,
                         struct mpixq_posted **posted_p)
{
    struct mpixq_context *context = context_get(pairing, offered->ident);
    struct mpixq_posted *posted;

    if (context == NULL) {
        return false;
    }
    posted = first_fitting(pairing, context, offered);
    if (posted != NULL) {
        posted_remove(pairing, posted);
        context_tidy(pairing, context);
    } else if (!offered_keep(pairing, context, offered)) {
        context_tidy(pairing, context);
        return false;
    }
    *posted_p = posted;
    return true;
}

static struct mpixq_context *context_find(const struct mpixq_pairing *pairing,
                                          struct mpixq_ident ident)
{
    struct mpixq_context *context;

    HASH_FIND(hh, pairing->contexts, &ident, sizeof ident, context);
    return context;
}

struct mpixq_offered *mpixq_pairing_find_offered(const struct mpixq_pairing *pairing,
                                                 struct mpixq_ident ident, int source, int tag)
{
    struct key key = {.ident = ident, .source = source, .tag = tag};
    const struct mpixq_bucket *bucket = bucket_find(pairing, &key);

    return bucket != NULL ? bucket->offered : NULL;
}

struct mpixq_offered *mpixq_pairing_next_offered(const struct mpixq_offered *offered)
{
    return offered->at[MPIXQ_EXACT].next;
}

void mpixq_pairing_drop_offered(struct mpixq_pairing *pairing, struct mpixq_offered *offered)
{
    struct mpixq_context *context = context_find(pairing, offered->ident);

    offered_remove(pairing, context, offered);
    context_tidy(pairing, context);
}

void mpixq_pairing_drop_posted(struct mpixq_pairing *pairing, struct mpixq_posted *posted)
{
    struct mpixq_context *context = context_find(pairing, posted->ident);

    posted_remove(pairing, posted);
    context_tidy(pairing, context);
}

int mpixq_pairing_count_misfits(const struct mpixq_pairing *pairing,
                                const struct mpixq_posted *posted,
                                const struct mpixq_offered **first_p)
{
    const struct mpixq_offered *offered;
    const struct mpixq_context *context = context_find(pairing, posted->ident);
    int n = 0;

    if (context == NULL) {
        return 0;
    }
    DL_FOREACH2(context->all, offered, at[MPIXQ_WILD_BOTH].next)
    {
        if (posted->source == MPI_ANY_SOURCE || posted->source == offered->source) {
            *first_p = n == 0 ? offered : *first_p;
            n++;
        }
    }
    return n;
}

struct mpixq_offered *mpixq_pairing_take_offered(struct mpixq_pairing *pairing)
{
    struct mpixq_context *context, *next;

    HASH_ITER(hh, pairing->contexts, context, next)
    {
        struct mpixq_offered *offered = context->all;

        if (offered != NULL) {
            offered_remove(pairing, context, offered);
            context_tidy(pairing, context);
            return offered;
        }
    }
    return NULL;
}

struct mpixq_posted *mpixq_pairing_take_posted(struct mpixq_pairing *pairing)
{
    struct mpixq_bucket *bucket, *next;

    HASH_ITER(hh, pairing->buckets, bucket, next)
    {
        struct mpixq_context *context = bucket->context;
        struct mpixq_posted *posted = bucket->posted;

        if (posted != NULL) {
            posted_remove(pairing, posted);
            context_tidy(pairing, context);
            return posted;
        }
    }
    return NULL;
}
