/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the files of this folder share. doc/cxi.md explains the protocol, and T, W, D and Q.
 *
 *     libfabric.c  what is loaded of it; quirks.c: what providers do differently
 *     locality.c   the choice of a NIC
 *     shares.c     the division of its entries among processes
 *     cxi_ops.c    the extensions of provider cxi: doorbells, and how many entries there are
 *     memory.c     regions
 *     expose.c     doorbells and words for GPUs (words.h: what NICs count in)
 *     entries.c    entries: budgeted, taken, given back
 *     supply.c     counters and words: taken, given back, set aside
 *     eager.c      eager pairs: slots of receives, and the copies out of them (eager.h)
 *     ops.c        one operation: posted as deferred work, or issued by the host
 *     peers.c      addresses of peers, and their signs of life
 *     state.c      where an end stands: under way, taken over, failed
 *     arm.c        queues, and starts of theirs: armed
 *     ahead.c      starts that GPUs ring for: armed ahead of them (ahead.h)
 *     put_chain.c  counters by which operations of a put wait for each other (put_chain.h); where
 *                  put_chain_open.c has found that the NIC stops them at a failure
 *     put_ops.c    the operations of a put, or a get
 *     puts.c       puts and gets of windows: chained by the NIC, or by the host (puts.h)
 *     drive.c      completion queues, and what the host does of starts taken over
 *     equip.c      what ends have whose starts GPUs ring for: from the first one to the last
 *     execute.c    starts that a stream, or the host, has come to; counted.c: that a GPU counts
 *     start.c      starts and waits: logged (start_log.h)
 *     end.c        ends of pairs: made before a match, and closed after a free
 *     chain.c      ends of collectives, of which sends wait for receives (chain.h)
 *     nic.c        one NIC, opened and closed (nic.h: all that is known of it)
 *     about.c      what there is to say of it, for people
 *     process.c    the NICs of this process: which pairs and queues are given
 *     stripe.c     messages in shares, one for each of several NICs
 *     reach.c      the buffer and the end of a pair, before its match
 *     window.c     windows, and the processes of them that NICs reach
 *     pair.c       matching, and the end of a pair: the channel's table
 *
 * Each calls only those before it.
 * Threads. Everything is entered by any thread. nic.lock guards what changes after a pair was
 * matched; it is taken under the locks of queues and of matching, and nothing is called under it
 * but libfabric and the heap; and not what makes the NIC know or forget a region or a counter. What
 * only matching uses is under the matching lock.
 */
#ifndef MPIXQ_CXI_H
#define MPIXQ_CXI_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/channel.h"
#include "core/pair.h"
#include "core/queue.h"
#include "parts.h"
#include "quirks.h"
#include "util/lock.h"

struct cxi_end;
struct cxi_nic;
struct cxi_put;
struct cxi_released;
struct cxi_slots;

/* One operation in the hands of the NIC. All that it was told stays as it is until the operation is
 * known to be over. The context comes first: completions give its address back. */
struct cxi_entry {
    struct fi_deferred_work work;
    union {
        struct {
            struct fi_op_rma op;
            struct iovec local;
            struct fi_rma_iov remote;
        } write;
        struct {
            struct fi_op_atomic op;
            struct fi_ioc local;
            struct fi_rma_ioc remote;
        } atomic;
    } u;
    struct cxi_end *end;     /* NULL: gone */
    struct cxi_probe *probe; /* that it is, in place of an operation of a pair; else NULL */
    struct cxi_put *put;     /* of a window, that it is a part of; likewise */
    uint64_t epoch;          /* of the start that it is part of */
    uint64_t operand;        /* of an atomic that does not add */
    const char *what;
    bool plain, is_write; /* plain: issued by the host, and part of its end, not deferred */
    bool counts;          /* in W, or in D */
    uint64_t rest;        /* it was given back in this read of completions */
    struct cxi_entry *prev, *next;
};

/* This end of a pair. */
struct cxi_end {
    struct mpixq_pair *pair; /* NULL: it is gone, and the end is to be closed */
    struct cxi_nic *nic;     /* that serves it, like its queues */
    /* (stripe.h) Of the first share of a message: the ends of the others, one after the other, each
     * with a pair of its own; constant once it is matched. */
    struct cxi_end *next_share;
    struct mpixq_pair *own_pair; /* of another share: its pair; freed with the end */
    bool is_send, ready, direct; /* ready: no clear-to-send; direct: the buffer is in a GPU */
    bool delivered; /* the sender tells when the data is in place, which D counts too */
    bool shared;    /* a start of it rings Q: not if it rings T, nor if it only waits for data */
    bool may_be_eager, eager; /* (eager.h) it could be, before the match; it is */
    fi_addr_t peer;
    struct cxi_probe *probe; /* of that NIC; NULL: it has not met its peer */
    char *buffer;
    uint64_t offset, bytes;                          /* of what it moves: of all, or of a share */
    uint64_t piece;                                  /* bytes of a write but the last */
    uint32_t pieces;                                 /* writes of a message */
    uint64_t remote_key, remote_addr;                /* of the buffer, or of the CTS word */
    uint64_t remote_base;                            /* of the CTS word */
    uint64_t second_key, second_addr;                /* of the other slot, if eager */
    struct cxi_counter *trigger, *written, *arrived; /* T, W, D; NULL: none here */
    uint32_t own; /* atomics of a start that W or D counts when over: see cxi_nic.nameless */
    struct fid_mr *region; /* of the buffer, or of the CTS word; NULL once released */
    struct fid_mr *warm;   /* of what is sent from; likewise; NULL: does without */
    struct cxi_word *word, *cts;
    struct cxi_slots *slots; /* of a receive that may be eager, or is; NULL: it has none */
    /* (chain.h) Of a send: of so many receives it waits for the data, too. Of a receive: such
     * sends, to whose CTS words it adds when its data is here. */
    uint32_t awaits, n_released;
    struct cxi_released *released;
    _Atomic(struct cxi_ahead *) ahead;       /* NULL: no GPU counts its starts, or it is divided */
    const struct mpixq_exposed *page, *bell; /* of word, and of T; NULL: there is none */
    uint64_t word_base, cts_base;
    struct cxi_end *prev, *next; /* of all ends */
    struct cxi_end *prev_ahead, *next_ahead;
    atomic_bool is_entered; /* (counted.c) by a thread */
    /* Under nic.lock. */
    bool is_leaving; /* its regions are to be closed, or being closed */
    bool is_unclean; /* of one that no pair has any more: not all that was posted was executed, */
    uint64_t starts; /* and how many there were */
    struct cxi_end *next_leaving;
    struct cxi_queue *queue;            /* of its last start */
    struct cxi_entry *entries, *newest; /* in the order of their posting */
    uint64_t settled;                   /* last start that was armed or taken over */
    uint32_t posted; /* operations of the start behind it that are posted already */
    uint64_t over;   /* start that the host is at; 0: none */
    uint32_t step;   /* next operation of it */
    int flying;      /* plain operations */
    struct cxi_entry plain_write, plain_atomic;
    uint64_t perhaps;       /* a start that the GPU may have rung for before the queue failed */
    bool is_live;           /* executed, and not seen to be done, or not twice */
    uint64_t seen;          /* last start that was seen to be done while it was live */
    bool failed, suspected; /* its counter shows a failure, perhaps of what has no name */
    struct cxi_end *prev_live, *next_live, *prev_over, *next_over, *next_failed;
    char text[200]; /* what failed */
};

/* ops.c; under nic.lock. Operations of a start are numbered from 0. */
uint32_t mpixq_cxi_n_ops(const struct cxi_end *end);
/* Hand operation i of a start to the NIC. 0, or -FI_EAGAIN: no entry, or it is busy. */
int mpixq_cxi_post(struct cxi_end *end, uint32_t i, uint64_t epoch, uint64_t ring);
/* What must have failed, by its counter, if it was something that has no name. */
const char *mpixq_cxi_nameless(const struct cxi_end *end);
/* Do it now. 1: done, 0: it is not due, or an error of libfabric. */
int mpixq_cxi_issue(struct cxi_end *end, uint32_t i, uint64_t epoch);

/* arm.c; without nic.lock: */
bool mpixq_cxi_queue_open(struct cxi_queue *cxq, struct cxi_nic *nic, struct mpixq_queue *queue,
                          uint64_t log);
void mpixq_cxi_queue_close(struct cxi_queue *cxq);
/* Under nic.lock: arm what is logged, as far as there are entries; the first of it. */
void mpixq_cxi_arm_logged(struct cxi_nic *nic);
bool mpixq_cxi_arm_first(struct cxi_queue *cxq, const struct cxi_logged *logged);
/* An eager send that lacks its credit, or that of an earlier start: those behind it go first. */
bool mpixq_cxi_is_early(const struct cxi_logged *logged);
/* Post all operations of the start behind the settled ones. False: no room, or the NIC is busy, or
 * it lacks a credit; what was posted by then stays. */
bool mpixq_cxi_arm(struct cxi_queue *cxq, struct cxi_end *end, uint64_t ring);
void mpixq_cxi_unlog(const struct cxi_end *end); /* take it out of the logs */
void mpixq_cxi_count_posts(const struct cxi_end *end, uint64_t n);
/* The start is none that the counters of the provider have room for. */
void mpixq_cxi_fail_if_used_up(struct cxi_end *end, uint64_t epoch, uint64_t ring);

/* start.c */
int mpixq_cxi_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                    struct mpixq_op list[]);
int mpixq_cxi_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op list[]);
bool mpixq_cxi_poll(struct mpixq_pair *pair);

/* drive.c: read completion queues, */
void mpixq_cxi_read(struct cxi_nic *nic);
/* and go on with what the host does; scan also looks at every start under way; */
void mpixq_cxi_drive(struct cxi_nic *nic, bool scan);
void mpixq_cxi_report_failures(struct cxi_nic *nic); /* or make known what has failed by now */

/* state.c; under nic.lock. */
void mpixq_cxi_fail(struct cxi_end *end, const char *what, int error);
/* Something failed, and its completion does not say what; */
void mpixq_cxi_suspect(struct cxi_nic *nic);
/* so count what counters show. If there is more than before, read the completion queue again: an
 * operation that has a name is counted too, and its completion says more. */
bool mpixq_cxi_count_failures(struct cxi_nic *nic);
/* Then fail those pairs whose counters have shown it. */
void mpixq_cxi_find_failures(struct cxi_nic *nic);
void mpixq_cxi_set_live(struct cxi_end *end, bool live);
void mpixq_cxi_take_over(struct cxi_end *end, uint64_t epoch);
void mpixq_cxi_leave_over(struct cxi_end *end);
void mpixq_cxi_drop(struct cxi_end *end); /* it is not to be found any more */

static inline bool mpixq_cxi_has_failed(const struct cxi_queue *cxq)
{
    return cxq->queue != NULL && mpixq_queue_has_failed(cxq->queue);
}

/* The pair that others know. */
static inline struct mpixq_pair *mpixq_cxi_whole(struct mpixq_pair *pair)
{
    return pair->is_share ? pair->whole : pair;
}

/* What a start adds to W, or to D. */
static inline uint64_t mpixq_cxi_counted(const struct cxi_end *end)
{
    return end->pieces + end->delivered + end->own;
}

/* Starts that are done, here. */
static inline uint64_t mpixq_cxi_done(const struct cxi_end *end)
{
    const struct cxi_ahead *ahead = atomic_load_explicit(&end->ahead, memory_order_acquire);
    uint64_t done = __builtin_expect(ahead != NULL, false) ? mpixq_cxi_done_ahead(ahead) : 0;

    if (__builtin_expect(done > 0, false)) {
        return done;
    }
    return atomic_load_explicit(&end->word->value, memory_order_acquire) - end->word_base;
}

static inline uint64_t mpixq_cxi_cts(const struct cxi_end *end)
{
    return atomic_load_explicit(&end->cts->value, memory_order_acquire) - end->cts_base;
}

#endif
