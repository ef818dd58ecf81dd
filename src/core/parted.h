/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Requests that consist of others: partitioned ones (partitions.h) and collective ones
 * (schedule.h). What MPI knows as one request moves as several messages: each is the pair of a
 * request of its own, its part, which has no handle, is matched like any other, and goes by
 * whichever channel serves it.
 *
 * To everybody else such a request has one pair, whose channel belongs to its kind: a start of it
 * is a function of the host, and it is complete when all of its parts are. Its parts are started
 * and completed as the host starts others. A thread of the program, of the stream or the progress
 * thread goes on with them; so requests whose data GPUs move by themselves are no parts of what
 * queues start, since the progress thread may not call a GPU's library.
 */
#ifndef MPIXQ_PARTED_H
#define MPIXQ_PARTED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "request.h"

struct mpixq_split;

/* What a request of parts has in pair.end, matched or not, begins with this. */
struct mpixq_parted {
    struct mpixq_parts_base base; /* first */
    /* What a kind of them does; constant. */
    void (*matched)(struct mpixq_request *req); /* all parts that are in use are matched */
    /* Go on with what is started. With the lock of the list, by the progress thread. */
    void (*go_on)(struct mpixq_pair *pair, bool has_lock);

    struct mpixq_request **parts; /* room for n_room; those in use come first */
    int n_room, n_used;
    struct mpixq_split *split; /* of the matching, while it is under way; one block of memory */
    struct mpixq_pair *pair;   /* of the whole, once matched */
    atomic_bool busy;          /* a thread is looking at the parts */
    /* Started, and not complete: in the list of the progress thread, under its lock. */
    bool is_listed;
    struct mpixq_parted *prev, *next;
};

static inline struct mpixq_parted *mpixq_parted_of(const struct mpixq_request *req)
{
    return mpixq_request_is_parted(req) ? req->pair.end : NULL;
}

/* Have room for n parts, in place of those of an earlier match; who calls fills it, and counts
 * n_room. False without memory. */
bool mpixq_parted_make_room(struct mpixq_parted *parted, int n);
/* With all parts that were not let go of. Not under the lock of the records. */
void mpixq_parted_free_parts(struct mpixq_parted *parted);

/* The progress thread goes on with it until it is complete, or has failed. */
void mpixq_parted_list(struct mpixq_parted *parted);
void mpixq_parted_unlist(struct mpixq_parted *parted, bool has_lock);
/* By the progress thread: with all that are listed. */
void mpixq_parted_drive(void);

/* Start a part as the host starts a request. */
void mpixq_parted_start(struct mpixq_request *part);
/* Is this part complete for the start? If it has failed, so has the whole. */
bool mpixq_parted_look_at(struct mpixq_pair *pair, struct mpixq_request *part, uint64_t start);
/* The whole fails as this part did. */
void mpixq_parted_fail(struct mpixq_pair *pair, struct mpixq_pair *part);
/* All parts are: so is the whole, unless one has failed. */
void mpixq_parted_complete(struct mpixq_parted *parted, uint64_t start, bool has_lock);

/* What the channels of such requests have in common. */

/* Start those, by the function of their kind, that are of no queue that has failed. */
typedef void mpixq_parted_start_fn(struct mpixq_pair *pair, struct mpixq_queue *queue);
void mpixq_parted_run(void *const args[], int n, mpixq_parted_start_fn *start);
/* A wait whose thread goes on with them meanwhile. */
struct mpixq_op;
int mpixq_parted_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op *op);
void mpixq_parted_progress_wait(struct mpixq_pair *pair);
/* Only tells: it may be called under locks that starts of parts must not be made under. */
bool mpixq_parted_poll(struct mpixq_pair *pair);
/* By who frees the request, or has seen it fail, with no lock: what is under way is recalled. */
void mpixq_parted_recall(struct mpixq_pair *pair);
/* Some parts go by a network that can tell. */
bool mpixq_parted_has_lost(struct mpixq_pair *pair);

#endif
