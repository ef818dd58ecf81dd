/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Partitioned requests, which consist of others (parted.h): their messages, and one more, without
 * data and from the receiver to the sender, which says that the receive is started. The send is
 * complete only then, though its messages are sent as soon as they are ready, and wait for the
 * receive as others do.
 *
 * Counts, not flags: the n-th time that a partition is ready belongs to the n-th start, whether the
 * stream has come to that or not.
 */
#ifndef MPIXQ_PARTITIONS_H
#define MPIXQ_PARTITIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "channel.h"
#include "comm/error.h"
#include "parted.h"
#include "request.h"

/* Messages of a request, unless info says otherwise, and at most. */
enum { MPIXQ_PARTITIONS_USUAL = 16, MPIXQ_PARTITIONS_MOST = 1024 };

struct mpixq_partitions {
    struct mpixq_parted parted; /* first */
    int n;                      /* of the program; constant */
    int most;                   /* messages that this end admits; constant */
    /* Written by the match; constant once it has ended. */
    int n_parts;    /* messages; the part without data follows them */
    int of_each;    /* partitions of a message */
    bool is_staged; /* some go through memory of the host, */
    bool of_gpus;   /* or are moved by GPUs */
    /* Of a send. How often each partition was ready; how often any of a message; how many starts of
     * a message were begun. */
    _Atomic uint64_t *ready, *arrived, *begun;
    _Atomic uint64_t *claimed; /* as ready, and by calls that may still find something wrong */
    /* Threads that say what is ready: all that they begin may complete, and be freed, before they
     * have left. */
    atomic_int inside;
};

/* For a request of so many partitions; NULL without memory. */
struct mpixq_partitions *mpixq_partitions_create(int n, int most, bool is_send);
/* With all parts that were not let go of. Not under the lock of the records. */
void mpixq_partitions_free(struct mpixq_partitions *partitions);
/* Have parts that are not matched, in place of those of an earlier match. False without memory. */
bool mpixq_partitions_renew(struct mpixq_request *req);
/* How many messages two ends have: partitions and limits of both. */
int mpixq_partitions_agree(int n, int most, int other_n, int other_most);
/* Both ends have agreed: say what each of the parts is. */
void mpixq_partitions_cut(struct mpixq_request *req, int n_parts);

static inline struct mpixq_partitions *mpixq_partitions_of(const struct mpixq_request *req)
{
    return req->is_partitioned ? req->pair.end : NULL;
}

/* Some partitions of a started send are ready, each named once: indices, or, if that is NULL, count
 * of them from first on. NONE, or nothing has changed. Threads of the program. */
enum mpixq_error mpixq_partitions_ready(struct mpixq_request *req, int first, int count,
                                        const int indices[]);
/* Has a partition of this start come? */
bool mpixq_partitions_has_arrived(struct mpixq_request *req, int partition, uint64_t start);
/* Is the receive of this start under way? */
bool mpixq_partitions_is_prepared(struct mpixq_request *req, uint64_t start);
/* Go on with what is started: threads of the program, or of its stream, with no lock. */
void mpixq_partitions_go_on(struct mpixq_pair *pair);
void mpixq_partitions_go_on_with(struct mpixq_pair *pair, bool has_lock); /* of parted */

extern const struct mpixq_channel mpixq_channel_partitions;

#endif
