/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Eager pairs: small standard sends, which go to slots of the receive and so need no clear-to-send
 * of the start that they are received by. doc/cxi.md, section 2.
 */
#ifndef MPIXQ_CXI_EAGER_H
#define MPIXQ_CXI_EAGER_H

#include "cxi.h"

enum { CXI_SLOTS = 2 }; /* of a receive: messages of odd starts go to the first one */

/* The slots of a receive. What arrives in the first is counted by D, and what arrives in the other
 * by a counter like it: so no message is counted where the one before it still may be. */
struct cxi_slots {
    struct fid_mr *regions[CXI_SLOTS]; /* NULL once peers cannot reach them */
    struct cxi_counter *second;        /* D of even starts */
    char *memory;
    struct cxi_block *block;    /* that the memory is of; NULL: of the heap, and no GPU sees it */
    struct mpixq_gpu_slots gpu; /* what those who copy know of them, be they GPUs or not */
    struct cxi_entry plain_atomic; /* of even starts: for its completion is counted where it says */
    struct cxi_slots *next_gone;
};

/* With no lock, before the match: could this end be one of an eager pair? A receive takes slots. */
void mpixq_cxi_eager_prepare(struct cxi_end *end, size_t bytes);
/* Under the matching lock, a receive: is it one, whose sender would be? If not, some clean-up
 * closes the slots. */
void mpixq_cxi_eager_decide(struct cxi_end *end, bool would);
/* With no lock; slots may be NULL: peers cannot reach them any more, */
void mpixq_cxi_slots_unreach(struct cxi_slots *slots);
/* and they are gone; the counter has counted so far, if that is known (clean). */
void mpixq_cxi_slots_free(struct cxi_nic *nic, struct cxi_slots *slots, bool clean, uint64_t value);
struct cxi_slots *mpixq_cxi_slots_take_gone(struct cxi_nic *nic); /* NULL: there are none */
void mpixq_cxi_blocks_close(struct cxi_nic *nic); /* once no GPU sees them any more */
/* The buffer is about to be the program's again: nothing is copied into it any more. */
void mpixq_cxi_slots_shut(struct cxi_end *end);
/* Copy what has come for a start that was executed. Any thread, without nic.lock. */
void mpixq_cxi_take(struct cxi_end *end);

/* A send to slots, and a receive whose messages come to slots. */
static inline bool mpixq_cxi_is_to_slots(const struct cxi_end *end)
{
    return end->eager && end->is_send;
}

static inline bool mpixq_cxi_has_slots(const struct cxi_end *end)
{
    return end->eager && !end->is_send;
}

/* Starts that are complete here: of such a receive, those whose data is in the buffer. */
static inline uint64_t mpixq_cxi_complete(const struct cxi_end *end)
{
    return mpixq_cxi_has_slots(end)
               ? atomic_load_explicit(end->slots->gpu.taken, memory_order_acquire)
               : mpixq_cxi_done(end);
}

/* W, or D, of a start; */
static inline struct cxi_counter *mpixq_cxi_counts_in(const struct cxi_end *end, uint64_t epoch)
{
    if (mpixq_cxi_has_slots(end) && epoch % CXI_SLOTS == 0) {
        return end->slots->second;
    }
    return end->is_send ? end->written : end->arrived;
}

/* and which of the starts it is that are counted there: of such a receive, of those whose numbers
 * are odd, or even. */
static inline uint64_t mpixq_cxi_ordinal(const struct cxi_end *end, uint64_t epoch)
{
    return mpixq_cxi_has_slots(end) ? (epoch + 1) / CXI_SLOTS : epoch;
}

static inline struct cxi_entry *mpixq_cxi_plain_atomic(struct cxi_end *end, uint64_t epoch)
{
    return mpixq_cxi_has_slots(end) && epoch % CXI_SLOTS == 0 ? &end->slots->plain_atomic
                                                              : &end->plain_atomic;
}

/* What has come to the CTS word when a write may be made: clear-to-sends, and, in a chain, as many
 * releases for each. An eager one waits for that of the start before. So the message before the
 * last one was received, and has left its slot. */
static inline uint64_t mpixq_cxi_credits(const struct cxi_end *end, uint64_t epoch)
{
    return end->eager ? epoch - 1 : (1 + (uint64_t)end->awaits) * epoch;
}

static inline bool mpixq_cxi_is_clear(const struct cxi_end *end, uint64_t epoch)
{
    return end->ready || mpixq_cxi_cts(end) >= mpixq_cxi_credits(end, epoch);
}

/* Does it go on, once its user has freed it, until the receive has gone? What was written may lie
 * in slots, and be received later. What may not be written yet will not be. */
static inline bool mpixq_cxi_is_awaited(const struct cxi_end *end)
{
    uint64_t started = mpixq_pair_executed(end->pair);

    return mpixq_cxi_is_to_slots(end) && !end->failed &&
           (mpixq_cxi_done(end) == started || mpixq_cxi_is_clear(end, started));
}

/* An eager send waits for its ring alone if what else it needs is here when it is posted. */
static inline bool mpixq_cxi_lacks_credit(const struct cxi_end *end, uint64_t epoch)
{
    return mpixq_cxi_is_to_slots(end) && !mpixq_cxi_is_clear(end, epoch);
}

#endif
