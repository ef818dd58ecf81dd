/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Pairing: which offer of a sender goes with which posted receive, by MPI's order rules. Pure
 * data, no MPI calls; the caller holds the matching lock.
 *
 * Receives are kept in buckets of equal (communicator, source, tag), where a wildcard is a value
 * of its own; so an offer has to look at the first receive of four buckets at most, and sequence
 * numbers tell which of these was posted first. Offers are kept in buckets of their envelope and in
 * one list of their communicator. Receives with one wildcard find theirs by an index, which a
 * communicator has from the first such receive on. So each step takes constant time.
 */
#ifndef MPIXQ_PAIRING_H
#define MPIXQ_PAIRING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/posted.h"
#include "util/ident.h"

struct mpixq_bucket;

/* The kinds of envelope: which of its two parts are wildcards. */
enum mpixq_wildcards {
    MPIXQ_EXACT,
    MPIXQ_WILD_SOURCE,
    MPIXQ_WILD_TAG,
    MPIXQ_WILD_BOTH,
    MPIXQ_N_WILDCARDS
};

/* An offer that has arrived; embedded in what the caller keeps of it. The caller sets the first
 * block. */
struct mpixq_offered {
    struct mpixq_ident ident;
    int source, tag;

    /* Its places among the offers that fit the same receives; the last in no bucket, as all offers
     * of a communicator fit a receive with both wildcards. */
    struct {
        struct mpixq_bucket *bucket;
        struct mpixq_offered *next, *prev;
    } at[MPIXQ_N_WILDCARDS];
};

struct mpixq_pairing {
    struct mpixq_bucket *buckets; /* hash */
    struct mpixq_context *contexts;
    uint64_t sequence;
};

/* Post a receive. *offered_p is the offer it pairs with, taken out, or NULL: then the receive
 * is kept. False, and nothing has changed, if there is no memory. */
bool mpixq_pairing_post(struct mpixq_pairing *pairing, struct mpixq_posted *posted,
                        struct mpixq_offered **offered_p);
/* The same for an offer that arrives. */
bool mpixq_pairing_offer(struct mpixq_pairing *pairing, struct mpixq_offered *offered,
                         struct mpixq_posted **posted_p);
/* The first of the kept offers of an envelope, and the one that arrived after that; or NULL. */
struct mpixq_offered *mpixq_pairing_find_offered(const struct mpixq_pairing *pairing,
                                                 struct mpixq_ident ident, int source, int tag);
struct mpixq_offered *mpixq_pairing_next_offered(const struct mpixq_offered *offered);
/* Take a kept offer or receive out. */
void mpixq_pairing_drop_offered(struct mpixq_pairing *pairing, struct mpixq_offered *offered);
void mpixq_pairing_drop_posted(struct mpixq_pairing *pairing, struct mpixq_posted *posted);
/* How many offers are kept of the communicator and source of a receive that they do not fit;
 * *first_p is the first of them. */
int mpixq_pairing_count_misfits(const struct mpixq_pairing *pairing,
                                const struct mpixq_posted *posted,
                                const struct mpixq_offered **first_p);
/* Take any kept offer or receive out, or give NULL: to empty a pairing at the end. */
struct mpixq_offered *mpixq_pairing_take_offered(struct mpixq_pairing *pairing);
struct mpixq_posted *mpixq_pairing_take_posted(struct mpixq_pairing *pairing);

#endif
