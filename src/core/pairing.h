/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Pairing: which offer of a sender goes with which posted receive, by MPI's order rules. Pure
 * data, no MPI calls; the caller holds the matching lock.
 *
 * Offers and receives are kept in buckets of equal (communicator, source, tag), so that a pair
 * without wildcards is found in constant time. Receives with a wildcard are in a list of their
 * communicator, and each communicator has all its offers in order of arrival for them to
 * search. Sequence numbers tell which of two candidates was posted first.
 */
#ifndef MPIXQ_PAIRING_H
#define MPIXQ_PAIRING_H

#include <stdbool.h>
#include <stdint.h>

#include "ident.h"

struct mpixq_bucket;

/* A receive that is being matched; embedded in its request. The caller sets the first block. */
struct mpixq_posted {
    struct mpixq_ident ident;
    int source, tag; /* MPI_ANY_SOURCE, MPI_ANY_TAG allowed */

    uint64_t sequence;
    struct mpixq_bucket *bucket;
    struct mpixq_posted *next, *prev;
};

/* An offer that has arrived; embedded in what the caller keeps of it. The caller sets the first
 * block. */
struct mpixq_offered {
    struct mpixq_ident ident;
    int source, tag;

    struct mpixq_bucket *bucket;
    struct mpixq_offered *next, *prev;         /* in the bucket */
    struct mpixq_offered *next_all, *prev_all; /* in the communicator */
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
/* Take any kept offer or receive out, or give NULL: to empty a pairing at the end. */
struct mpixq_offered *mpixq_pairing_take_offered(struct mpixq_pairing *pairing);
struct mpixq_posted *mpixq_pairing_take_posted(struct mpixq_pairing *pairing);

#endif
