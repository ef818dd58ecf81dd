/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Tallies: how graphs start and wait for pairs whose data the host moves. Such a pair has words in
 * memory of the host that its GPU sees. A kernel of a start counts it there and does no more; a
 * thread of the library finds the count, and makes the start; a kernel of a wait waits for the word
 * that says how many are done. From the first capture on this is how streams of GPUs start the pair
 * in any call. Threads that start it, of streams of the host and of programs, count there as well.
 *
 * A start follows the wait for the one before, so at most one is under way, whoever has made it.
 */
#ifndef MPIXQ_TALLY_H
#define MPIXQ_TALLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "comm/error.h"
#include "graphs.h"
#include "pair.h"
#include "queue.h"
#include "stream/op.h"

struct mpixq_stream;
struct mpixq_tally_slab;
struct mpixq_tally_words;

/* Who has made the start that the channel was given last. */
enum mpixq_tally_by { MPIXQ_BY_GPU, MPIXQ_BY_STREAM, MPIXQ_BY_HOST };

struct mpixq_tally {
    struct mpixq_gpu_end gpu; /* for operations of streams */
    struct mpixq_pair *pair;
    struct mpixq_tally_words *words;
    const struct mpixq_tally_slab *slab; /* that the words are of */
    /* Of a channel that equips it. Kernels ring this doorbell of a NIC for a start, where GPUs see
     * it; NULL: none. They do, or none is to be rung, so whoever finds the start does not. And the
     * NIC itself counts in the word done: then the words are the channel's to give back. */
    char *bell;
    bool is_rung, is_done_by_nic;
    _Atomic uint64_t begun; /* starts that were given to the channel; in its exclusion */
    atomic_bool is_closed;  /* no more are */
    /* Starts by streams whose GPU cannot count: enqueued, under the submission lock of the queue;
     * given to the channel; and completed, for which their waits wait. The first number is 1. */
    uint64_t enqueued, given;
    _Atomic uint64_t done;
    enum mpixq_tally_by by; /* in the channel's exclusion */
    /* Under the lock of tally.c. */
    bool is_driven;
    struct mpixq_tally *next, *prev;
};

/* Have words for pairs that are captured on this stream, so that no capture has to wait for a GPU
 * to get them. No harm is done if there is no memory. In the creation of a queue. */
void mpixq_tallies_provide(const struct mpixq_stream *stream);
/* Under the submission lock of a queue, which is lent meanwhile: the starts of the pair are counted
 * from now on. NULL: there is no memory. Freed by mpixq_tally_free, once no graph and no thread has
 * it. */
struct mpixq_tally *mpixq_tally_create(struct mpixq_pair *pair, struct mpixq_queue *queue);
/* Once mpixq_tally_of finds it: a start may be under way, and threads then call go_on at once. */
void mpixq_tally_drive_from_now_on(struct mpixq_tally *tally);
void mpixq_tally_free(struct mpixq_tally *tally);
/* The word done, for a NIC. */
_Atomic uint64_t *mpixq_tally_done_word(const struct mpixq_tally *tally);
/* Words for what is no pair's, and the end of them for operations of a stream, which counts from 0
 * on; as mpixq_tally_create. And words that nobody touches any more, also those of a NIC. */
struct mpixq_tally_words *mpixq_tally_take(struct mpixq_queue *queue, struct mpixq_gpu_end *gpu);
void mpixq_tally_return(struct mpixq_tally_words *words);
/* Can this stream count, with these words? */
bool mpixq_tally_suits(const struct mpixq_tally *tally, const struct mpixq_stream *stream);
/* Has a start been made that has not completed? */
bool mpixq_tally_is_under_way(const struct mpixq_tally *tally);
/* One of the words that change with each start (graphs.h). */
const _Atomic uint64_t *mpixq_tally_mirror(const struct mpixq_tally *tally);

/* Any thread, with no lock but a queue's: let channels make the starts that were counted, and look
 * at those under way. Never blocks. */
void mpixq_tallies_drive(void);
/* By the progress thread, in each round: was such a start found not long ago, so that more are to
 * be expected? */
bool mpixq_tallies_expect(void);

/* Has any pair one? That costs less to ask than of each pair. */
bool mpixq_tallies_any(void);

/* For channels that have go_on. NULL: nothing of the pair was captured. */
static inline struct mpixq_tally *mpixq_tally_of(const struct mpixq_pair *pair)
{
    const struct mpixq_counted *counted = atomic_load(&pair->counted);

    return __builtin_expect(counted != NULL, false) ? counted->tally : NULL;
}

/* Can kernels on this stream count the starts of a pair, which need not have a tally yet, and copy
 * what is staged? */
bool mpixq_tally_can_count(const struct mpixq_pair *pair, const struct mpixq_stream *stream);

/* refresh, halt, close and describe for their tables. */
enum mpixq_error mpixq_tally_refresh(struct mpixq_pair *pair);
void mpixq_tally_describe(const struct mpixq_pair *pair, struct mpixq_device_request *device);
void mpixq_tally_halt(struct mpixq_pair *pair);
void mpixq_tally_close(struct mpixq_pair *pair);
/* No thread drives it any more, and none will. */
void mpixq_tally_shut(struct mpixq_tally *tally);

/* Fill the operation of a start by this queue. False: its stream cannot count, and the start is a
 * call. */
bool mpixq_tally_start(struct mpixq_tally *tally, const struct mpixq_queue *queue,
                       struct mpixq_op *op);
/* Fill that of a wait, also of a pair without a tally. A GPU that cannot count, and a thread, which
 * polls if it is given a function, wait for the word done to reach the number enqueued. */
void mpixq_tally_wait_slow(const struct mpixq_queue *queue, struct mpixq_tally *tally,
                           mpixq_op_poll_fn *poll, struct mpixq_op *op);
static inline void mpixq_tally_wait(const struct mpixq_queue *queue, struct mpixq_pair *pair,
                                    mpixq_op_poll_fn *poll, struct mpixq_op *op)
{
    struct mpixq_tally *tally = mpixq_tally_of(pair);

    if (tally != NULL) {
        mpixq_tally_wait_slow(queue, tally, poll, op);
        return;
    }
    mpixq_op_wait(op, MPIXQ_OP_WAIT, pair, mpixq_pair_done_word(pair), mpixq_pair_started(pair),
                  &queue->halted);
    op->poll = poll;
}

/* In the channel's exclusion, which keeps all but one thread from the starts of the pair. */
enum mpixq_tally_next { MPIXQ_TALLY_NONE, MPIXQ_TALLY_START, MPIXQ_TALLY_DROP };
/* By go_on: what is there to do? START: make one, which is counted as begun. DROP: its queue or the
 * pair has failed, so it is not made, and mpixq_tally_dropped is to be called outside. */
enum mpixq_tally_next mpixq_tally_next(struct mpixq_tally *tally);
void mpixq_tally_dropped(struct mpixq_tally *tally);
/* A thread makes a start; queue: by a stream, or NULL. It was enqueued before the first capture if
 * mpixq_tally_is_older says so, and is none of the tally's. */
bool mpixq_tally_is_older(const struct mpixq_tally *tally);
void mpixq_tally_begin(struct mpixq_tally *tally, const struct mpixq_queue *queue);
/* Before done of the pair is counted up to this number, and after that. */
void mpixq_tally_completes(struct mpixq_tally *tally, uint64_t done);
void mpixq_tally_completed(struct mpixq_tally *tally);

#endif
