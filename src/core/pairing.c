/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "pairing.h"

#include <mpi.h>
#include <utlist.h>

#include "alloc.h"
#include "table.h"

/* Equal envelopes. Compared as bytes, so it has no padding. */
struct key {
    struct mpixq_ident ident;
    int32_t source, tag;
};

struct mpixq_bucket {
    struct key key;
    struct mpixq_context *context;
    struct mpixq_posted *posted; /* in order; at most one of the two lists has elements */
    struct mpixq_offered *offered;
    UT_hash_handle hh;
};

/* One communicator, while anything of it is kept. */
struct mpixq_context {
    struct mpixq_ident ident;
    struct mpixq_posted *wild; /* receives with a wildcard, in order */
    struct mpixq_offered *all; /* every offer, in order of arrival */
    unsigned buckets;
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
            HASH_ADD(hh, pairing->contexts, ident, sizeof ident, context);
            if (!mpixq_in_table(context->hh)) {
                mpixq_free(context);
                return NULL;
            }
        }
    }
    return context;
}

static void context_tidy(struct mpixq_pairing *pairing, struct mpixq_context *context)
{
    if (context->wild == NULL && context->all == NULL && context->buckets == 0) {
        HASH_DEL(pairing->contexts, context);
        mpixq_free(context);
    }
}

static struct mpixq_bucket *bucket_get(struct mpixq_pairing *pairing, struct mpixq_context *context,
                                       int source, int tag)
{
    struct key key = {.ident = context->ident, .source = source, .tag = tag};
    struct mpixq_bucket *bucket;

    HASH_FIND(hh, pairing->buckets, &key, sizeof key, bucket);
    if (bucket == NULL) {
        bucket = mpixq_alloc(sizeof *bucket); /* freed in bucket_tidy */
        if (bucket != NULL) {
            bucket->key = key;
            bucket->context = context;
            HASH_ADD(hh, pairing->buckets, key, sizeof key, bucket);
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
    struct mpixq_context *context = bucket->context;

    if (bucket->posted == NULL && bucket->offered == NULL) {
        HASH_DEL(pairing->buckets, bucket);
        mpixq_free(bucket);
        context->buckets--;
        context_tidy(pairing, context);
    }
}

static bool is_wild(const struct mpixq_posted *posted)
{
    return posted->source == MPI_ANY_SOURCE || posted->tag == MPI_ANY_TAG;
}

static bool fits(const struct mpixq_posted *posted, const struct mpixq_offered *offered)
{
    return (posted->source == MPI_ANY_SOURCE || posted->source == offered->source) &&
           (posted->tag == MPI_ANY_TAG || posted->tag == offered->tag);
}

static void offered_remove(struct mpixq_pairing *pairing, struct mpixq_offered *offered)
{
    struct mpixq_bucket *bucket = offered->bucket;

    DL_DELETE(bucket->offered, offered);
    DL_DELETE2(bucket->context->all, offered, prev_all, next_all);
    bucket_tidy(pairing, bucket);
}

static void posted_remove(struct mpixq_pairing *pairing, struct mpixq_context *context,
                          struct mpixq_posted *posted)
{
    if (posted->bucket == NULL) {
        DL_DELETE(context->wild, posted);
        context_tidy(pairing, context);
    } else {
        DL_DELETE(posted->bucket->posted, posted);
        bucket_tidy(pairing, posted->bucket);
    }
}

static struct mpixq_offered *first_fitting_offer(struct mpixq_context *context,
                                                 const struct mpixq_posted *posted)
{
    struct mpixq_offered *offered;

    DL_FOREACH2(context->all, offered, next_all)
    {
        if (fits(posted, offered)) {
            return offered;
        }
    }
    return NULL;
}

static bool post_wild(struct mpixq_pairing *pairing, struct mpixq_context *context,
                      struct mpixq_posted *posted, struct mpixq_offered **offered_p)
{
    *offered_p = first_fitting_offer(context, posted);
    posted->bucket = NULL;
    if (*offered_p != NULL) {
        offered_remove(pairing, *offered_p);
    } else {
        DL_APPEND(context->wild, posted);
    }
    return true;
}

bool mpixq_pairing_post(struct mpixq_pairing *pairing, struct mpixq_posted *posted,
                        struct mpixq_offered **offered_p)
{
    struct mpixq_context *context = context_get(pairing, posted->ident);
    struct mpixq_bucket *bucket;

    if (context == NULL) {
        return false;
    }
    posted->sequence = pairing->sequence++;
    if (is_wild(posted)) {
        return post_wild(pairing, context, posted, offered_p);
    }
    bucket = bucket_get(pairing, context, posted->source, posted->tag);
    if (bucket == NULL) {
        context_tidy(pairing, context);
        return false;
    }
    *offered_p = bucket->offered;
    posted->bucket = bucket;
    if (*offered_p != NULL) {
        offered_remove(pairing, *offered_p);
    } else {
        DL_APPEND(bucket->posted, posted);
    }
    return true;
}

/* The receive that an offer pairs with: the first of its bucket, unless a fitting one with a
 * wildcard was posted before. */
static struct mpixq_posted *first_fitting_receive(struct mpixq_context *context,
                                                  struct mpixq_bucket *bucket,
                                                  const struct mpixq_offered *offered)
{
    struct mpixq_posted *exact = bucket->posted, *wild;

    DL_FOREACH(context->wild, wild)
    {
        if (exact != NULL && exact->sequence < wild->sequence) {
            return exact;
        }
        if (fits(wild, offered)) {
            return wild;
        }
    }
    return exact;
}

bool mpixq_pairing_offer(struct mpixq_pairing *pairing, struct mpixq_offered *offered,
                         struct mpixq_posted **posted_p)
{
    struct mpixq_context *context = context_get(pairing, offered->ident);
    struct mpixq_bucket *bucket;

    if (context == NULL) {
        return false;
    }
    bucket = bucket_get(pairing, context, offered->source, offered->tag);
    if (bucket == NULL) {
        context_tidy(pairing, context);
        return false;
    }
    offered->bucket = bucket;
    *posted_p = first_fitting_receive(context, bucket, offered);
    if (*posted_p == NULL) {
        DL_APPEND(bucket->offered, offered);
        DL_APPEND2(context->all, offered, prev_all, next_all);
        return true;
    }
    if ((*posted_p)->bucket == NULL) {
        /* The empty bucket may be the last thing that keeps the context: tidy it second. */
        DL_DELETE(context->wild, *posted_p);
        bucket_tidy(pairing, bucket);
    } else {
        posted_remove(pairing, context, *posted_p);
    }
    return true;
}

struct mpixq_offered *mpixq_pairing_take_offered(struct mpixq_pairing *pairing)
{
    struct mpixq_context *context, *next;

    HASH_ITER(hh, pairing->contexts, context, next)
    {
        struct mpixq_offered *offered = context->all;

        if (offered != NULL) {
            offered_remove(pairing, offered);
            return offered;
        }
    }
    return NULL;
}

struct mpixq_posted *mpixq_pairing_take_posted(struct mpixq_pairing *pairing)
{
    struct mpixq_bucket *bucket, *next_bucket;
    struct mpixq_context *context, *next;

    HASH_ITER(hh, pairing->buckets, bucket, next_bucket)
    {
        struct mpixq_posted *posted = bucket->posted;

        if (posted != NULL) {
            posted_remove(pairing, bucket->context, posted);
            return posted;
        }
    }
    HASH_ITER(hh, pairing->contexts, context, next)
    {
        struct mpixq_posted *posted = context->wild;

        if (posted != NULL) {
            posted_remove(pairing, context, posted);
            return posted;
        }
    }
    return NULL;
}
