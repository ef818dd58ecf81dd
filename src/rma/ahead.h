/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts of queues that are put into the hands of NICs before the stream gets there, which then only
 * rings. The call that enqueues them logs them; who drives the window holds what can be held by
 * then, in the order of the log; and what is not held when the stream is there is made as without.
 *
 * A stream of a GPU rings by itself, and its thread follows. What it rings is taken when the put is
 * enqueued, so it does not depend on whether anything is held by then: if not, it rings for
 * nothing, and who follows makes the put.
 */
#ifndef MPIXQ_RMA_AHEAD_H
#define MPIXQ_RMA_AHEAD_H

#include "direct.h"
#include "put.h"

/* DOUBT: its queue has failed, and nobody knows whether the GPU has rung before. */
enum {
    MPIXQ_AHEAD_NONE,
    MPIXQ_AHEAD_HELD,
    MPIXQ_AHEAD_RINGING,
    MPIXQ_AHEAD_MADE,
    MPIXQ_AHEAD_DOUBT
};

enum { MPIXQ_AHEAD_PARTS = 32 /* of a call: for more there is never room at once */ };

/* What one call has enqueued; a part of what the stream is to call. */
struct mpixq_rma_ahead {
    struct mpixq_window *window; /* NULL: it is not logged */
    struct mpixq_queue *queue;   /* NULL: of a graph (rounds.h) */
    const struct mpixq_transfer *transfers;
    int n;
    /* Called when it is not needed any more, if the stream has rung, under the lock. */
    void (*forget)(struct mpixq_rma_ahead *ahead);
    /* Of a graph: its GPU is not to ring any more. Under the lock. */
    void (*stop)(struct mpixq_rma_ahead *ahead);
    /* A list, one for each part, or, of a graph, for each NIC, which a GPU rings; NULL: the
     * stream's thread does. */
    struct mpixq_nic_bell *bells;
    uint64_t ring; /* of a graph: so often each of these has been rung then; else 0 */
    /* HELD is written under the lock, RINGING by the stream, or by who has the queue fail: who has
     * changed it to that has what is held for a moment, until it is MADE. */
    atomic_int state;  /* one of those above */
    uint64_t since_ns; /* there is doubt; written before that */
    /* Under the lock of the window. */
    bool is_listed;
    struct mpixq_rma_op *ops; /* the parts that are held */
    uint64_t bytes;           /* of them */
    int transferred;          /* so many transfers */
    uint64_t revoked_ns; /* a right was seen to be gone, though a GPU is to ring; 0: none was; */
    bool is_late;        /* and the GPU has not rung before that */
    struct mpixq_rma_ahead *prev, *next;
};

/* May anything of such a window be held? */
bool mpixq_rma_ahead_may(const struct mpixq_window *window);
/* Enqueue time, with no lock of the window: log it, if that may come to something. The rest but
 * window, queue and forget is set here. */
void mpixq_rma_ahead_log(struct mpixq_rma_ahead *ahead, const struct mpixq_transfer transfers[],
                         int n);
/* The stream is there, and its queue may have failed: ring, if it is held and the GPU has not,
 * *rings_p times in all, and have it forgotten at any time from then on. Takes no lock. False: it
 * is to be settled. */
bool mpixq_rma_ahead_ring(struct mpixq_rma_ahead *ahead, bool has_failed, uint64_t *rings_p);

/* The rest under the lock of the window. */
/* The stream is there, and has not rung for anything: nothing is held from now on, and whoever
 * calls makes it, or not, if the queue has failed. */
void mpixq_rma_ahead_settle(struct mpixq_rma_ahead *ahead, bool has_failed);
/* It was held and rung for: it counts as started. */
void mpixq_rma_ahead_open(struct mpixq_rma_ahead *ahead);
/* To be held, by whoever drives, in its turn. */
void mpixq_rma_ahead_list(struct mpixq_rma_ahead *ahead);
/* What was rung for by now counts as started; before who asks what is under way. */
void mpixq_rma_ahead_look(struct mpixq_window *window);
/* By then some may have been rung for though their queue has failed: that will be known soon. */
bool mpixq_rma_ahead_doubts(const struct mpixq_window *window);
/* That, what mpixq_rma_direct_go does, and then hold what can be held. */
void mpixq_rma_ahead_go(struct mpixq_window *window);
/* The window ends: nothing of what is logged is made any more. */
void mpixq_rma_ahead_close(struct mpixq_window *window);

#endif
