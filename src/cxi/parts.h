/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What queues have, and ends whose starts a GPU counts: parts of cxi.h.
 */
#ifndef MPIXQ_CXI_PARTS_H
#define MPIXQ_CXI_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "words.h"

struct cxi_end;
struct cxi_nic;
struct fid_mr;
struct mpixq_queue;
struct mpixq_tally_words;

/* A start that waits to be armed. */
struct cxi_logged {
    struct cxi_end *end; /* NULL: freed meanwhile */
    uint64_t epoch;
    uint64_t ring; /* of Q, if it shares that */
};

/* A queue of the library, or the host's own starts. */
struct cxi_queue {
    struct mpixq_queue *queue;  /* NULL: the host */
    struct cxi_nic *nic;        /* of its starts; each has a counter and a log of its own */
    struct cxi_counter *shared; /* Q; NULL: there was none left, and its starts are taken over */
    struct cxi_queue *prev, *next;
    uint64_t issued; /* rings of Q, given out at enqueue time: under the submission lock */
    uint64_t rung;   /* made by the stream: under nic.lock */
    /* The log: written under the submission lock, read under nic.lock. */
    struct cxi_logged *log; /* NULL: the host's */
    uint64_t mask;          /* of positions: its size less one */
    uint64_t full;          /* the position that had no room when it was looked at last */
    _Atomic uint64_t head, tail;
};

/* What a queue of the library has of each NIC, by their numbers. */
struct cxi_queues {
    int n;
    struct cxi_queue of[];
};

/* (ahead.h) An end whose starts a GPU counts, from the first capture or handle on. Constant but for
 * what the lock guards. */
struct cxi_ahead {
    uint64_t floor;           /* starts before it: those behind have what follows */
    struct cxi_counter *ring; /* R: rung for each; NULL: they ring T, or Q, or nothing */
    bool has_own_ring;        /* also once that is closed */
    /* A word of the tally, in which the NIC counts those that are done; NULL: in the end's. */
    _Atomic uint64_t *done;
    struct mpixq_tally_words *words; /* that it is one of */
    struct fid_mr *region;           /* of that word */
    /* Under nic.lock. */
    bool is_listed;    /* kernels ring for them, or there is nothing to ring: the next are armed */
    uint64_t extra[2]; /* at the end: see mpixq_cxi_extra */
    struct cxi_ahead *next_left;
};

/* Starts that are done, if it is any of those; or 0. */
static inline uint64_t mpixq_cxi_done_ahead(const struct cxi_ahead *ahead)
{
    uint64_t done =
        ahead->done != NULL ? atomic_load_explicit(ahead->done, memory_order_acquire) : 0;

    return done > ahead->floor ? done : 0;
}

#endif
