/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts and gets: what a window has under way on one NIC. A write that is answered when its data can
 * be seen, or a read, which is over when its data is here; then an atomic that adds to a word of
 * the peer: so that the word never says more than is there, or was read, in whatever order the
 * network has operations arrive. The atomic is deferred work behind the other (put_chain.h), or,
 * where that lacks something, made by the host when it has seen that end. Below, a put is either.
 */
#ifndef MPIXQ_CXI_PUTS_H
#define MPIXQ_CXI_PUTS_H

#include "cxi.h"
#include "put_chain.h"

enum { CXI_PUTS = 64 /* of a window under way on a NIC */ };

/* Of a put the place where it goes, and what it is. */
struct cxi_target {
    fi_addr_t peer;
    uint64_t key, addr;           /* of what is written, or read */
    uint64_t word_key, word_addr; /* of the word that is added to */
};

struct cxi_put {
    struct cxi_entry entry; /* of what the host does; its operand is what is added, by whomever */
    struct cxi_puts *puts;
    /* In place of that: what its deferred work waits by, and that, as far as there is some (move:
     * the write, or read): of each NULL once it is over, or if there is none; and how much of it
     * was posted. */
    struct cxi_put_chain *chain;
    struct cxi_entry *move, *atomic;
    int posted;
    /* It was to be held: the first of it waits for a ring, until this has come so far. It is the
     * chain's own, or one that is rung for many puts. Held: nobody counts it yet. */
    struct cxi_counter *ring;
    uint64_t ring_at;
    bool is_held, is_over; /* over: though it is held */
    /* The chain is one that a stream rings for, which knows it until the put is open. */
    bool has_bell, keeps_chain;
    struct cxi_target target;
    bool is_get;
    char *data; /* here */
    uint64_t bytes;
    bool tells, adds; /* adds: the host is at that, the write or read is over */
    bool is_read;     /* the NIC has its read, and may write to the data */
    bool is_stranded; /* the NIC has an atomic that it will never execute */
    int error;        /* of libfabric; 0: none */
    void *arg;
    struct cxi_put *prev, *next;
};

struct cxi_puts {
    struct cxi_nic *nic;
    struct fid_mr *held; /* them, as atomics read their operands here */
    /* Under nic.lock. */
    struct cxi_put *spare, *waiting, *over; /* waiting: for the NIC to take it */
    int flying, reads;                      /* reads: of these */
    /* Read without the lock too. Open: neither spare nor held. */
    atomic_int n_over, n_open, n_held;
    struct cxi_puts *next_left;
    struct cxi_put of[CXI_PUTS];
};

/* Does the ring count in the chain? */
static inline bool mpixq_cxi_put_rings_chain(const struct cxi_put *put)
{
    return put->ring != NULL && put->ring == put->chain->counter;
}

/* put_ops.c; under nic.lock: of its deferred operations the one that is posted as the first, or as
 * the second. */
struct cxi_entry **mpixq_cxi_put_entry(struct cxi_put *put, int i);
/* Have the host's next operation of it made now, or the next one of its chain deferred. 0, or an
 * error of libfabric. */
int mpixq_cxi_put_issue(struct cxi_put *put);
int mpixq_cxi_put_post(struct cxi_put *put);

/* NULL: no memory, or it cannot be kept mapped. */
struct cxi_puts *mpixq_cxi_puts_new(struct cxi_nic *nic);
/* Nothing is under way; or it is kept until the NIC is closed. False: the NIC may still write to
 * the data of gets. NULL: nothing happens. */
bool mpixq_cxi_puts_free(struct cxi_puts *puts);
/* Before and after the endpoint is closed. */
void mpixq_cxi_puts_release_left(struct cxi_nic *nic);
void mpixq_cxi_puts_free_left(struct cxi_nic *nic);

/* Any thread. False: there is no room. */
bool mpixq_cxi_put(struct cxi_puts *puts, const struct cxi_put *what);
/* The same for one that is to be rung for. NULL: there is no room. */
struct cxi_put *mpixq_cxi_put_hold(struct cxi_puts *puts, const struct cxi_put *what);
/* Was it, as far as that is known? */
bool mpixq_cxi_put_has_rung(struct cxi_put *put);
/* It was rung for, and is open from now on; or it never will be. */
void mpixq_cxi_put_open(struct cxi_put *put);
void mpixq_cxi_put_drop(struct cxi_put *put);
/* Is there room to hold so many, and are so many chains free? Any thread. */
bool mpixq_cxi_puts_can_hold(const struct cxi_puts *puts, int n, int chains);
/* Let the NIC take what waits. */
void mpixq_cxi_puts_go(struct cxi_puts *puts);
/* One that is over. False: there is none. */
bool mpixq_cxi_puts_take(struct cxi_puts *puts, void **arg_p, int *error_p);
/* Under nic.lock: an operation of one has ended, with an error of libfabric or 0. */
void mpixq_cxi_put_ended(struct cxi_entry *entry, int error);

#endif
