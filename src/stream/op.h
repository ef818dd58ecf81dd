/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Operations: what a channel makes of a start or of a wait, and what a stream executes. A channel
 * fills a list of them (channel.h) and does not ask what kind of stream executes it; the stream
 * decides who does what (stream.h): the thread of a host stream all of it; a GPU what it reaches by
 * itself, and the worker that follows it the rest.
 */
#ifndef MPIXQ_OP_H
#define MPIXQ_OP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pieces.h"

struct mpixq_combine; /* combine.h */
struct mpixq_stream_kind;

enum mpixq_op_kind {
    /* Starts. Each but a store ends with a call of a function of the host, for all of a list that
     * have the same function together. */
    MPIXQ_OP_CALL,  /* that is all */
    MPIXQ_OP_RING,  /* a GPU that sees the doorbell rings it before the call */
    MPIXQ_OP_MOVE,  /* a GPU makes the start of an end before the call */
    MPIXQ_OP_PUT,   /* a GPU launches something before the call; alone in its list, as SIGNAL */
    MPIXQ_OP_STORE, /* value into word, release */
    MPIXQ_OP_RUN,   /* a function of the program */
    /* Waits: until word has reached value, acquire, or *failed is not 0. */
    MPIXQ_OP_WAIT, /* a GPU that sees the word waits for it by itself */
    MPIXQ_OP_TAKE, /* a GPU waits for an end, and copies what lies in a slot */
    /* A GPU that sees what it needs waits for another word, which says that a message lies in a
     * slot of the host's memory, copies that, and writes the word. */
    MPIXQ_OP_DRAIN,
    /* Behind the waits of its list a GPU combines what has come. The host has nothing to wait for
     * there. Of streams of GPUs that have kernels, as PUT. */
    MPIXQ_OP_COMBINE,
    /* A GPU launches something that waits, and then there is a call as after a start: there is no
     * word for the host. Of streams of GPUs that have kernels, as PUT. */
    MPIXQ_OP_SIGNAL
};

/* What a stream of a GPU copies in its order, between its memory and the host's: addresses as the
 * GPU has them. */
struct mpixq_copy {
    void *to;
    const void *from;
    size_t bytes;
    const void *place; /* where a kernel can (gpu.h); NULL: not known */
    /* In a graph: a word, where kernels see it, which is not 0 once the memory may be gone. They
     * copy then, and not if it is. NULL outside of graphs. */
    const void *closed;
};

/* Memory of the host, or registers of a device, that streams of one kind are to see as soon as that
 * can be brought about. */
struct mpixq_exposed {
    char *memory;
    size_t bytes;
    bool is_io;                         /* registers */
    const struct mpixq_stream_kind *by; /* by which kind; written once, before seen */
    _Atomic(char *) seen;               /* where they see it; NULL: not yet, or they cannot */
    struct mpixq_exposed *next;
};

/* One end of a pair whose data GPUs move by themselves: what is the same for each start. */
struct mpixq_gpu_end {
    struct mpixq_move move;        /* a start, but for what its value changes */
    struct mpixq_end_state *state; /* NULL: nothing can be taken back */
    char *first_slot;              /* where this GPU sees the slots of the receive; NULL: none */
    uint64_t base;                 /* the value before the first start */
    /* Its GPU counts its starts, from this value on: that of an operation then says nothing. */
    bool is_counted;
    uint64_t floor;
    void *go; /* a word of its GPU that waits set, for what combines (combine.h); or NULL */
};

/* A receive whose messages come to slots of equal size in memory of the host, used in turn, the
 * first by start 1. Whoever waits for start k copies it, once a word says that it has come, and
 * writes k to taken: a thread of the host, which is busy meanwhile, or a GPU, for which its stream
 * has claimed the start before. Only one of them does. */
struct mpixq_gpu_slots {
    const struct mpixq_exposed *page, *block; /* memory with the word, and with slots and taken */
    const _Atomic uint64_t *word;             /* base + k: start k has come */
    uint64_t base;
    char *first;
    uint64_t room, bytes; /* of a slot, and of a message */
    unsigned n;
    _Atomic uint64_t *taken;
    /* Where kernels of a place, in one life of it, find the buffer if that is the host's memory;
     * NULL: they do not reach it, or it has a staging buffer, out of which the stream copies. */
    char *to;
    const void *place;
    uint64_t life;
    atomic_bool busy;         /* a thread copies; or none may any more */
    _Atomic uint64_t claimed; /* the last start that a GPU copies */
    uint64_t left;            /* the last one that was left to threads; under the submission lock */
    /* Of the wait that is submitted, by its stream: the word, the slot, where that belongs, and
     * taken, as the GPU sees them. */
    struct {
        char *word, *slot, *to, *taken;
    } seen;
};

/* A launch that is about a window in memory of GPUs. */
enum mpixq_launch_kind { MPIXQ_LAUNCH_PUTS, MPIXQ_LAUNCH_SET, MPIXQ_LAUNCH_AWAIT };
struct mpixq_launch {
    enum mpixq_launch_kind kind;
    unsigned blocks, threads;
    void *parameters;            /* of the kernel */
    struct mpixq_behind *behind; /* in them: word, value and halt are the stream's to fill */
};

/* Bytes of a slot for a message, at both ends the same. */
static inline size_t mpixq_slot_bytes(uint64_t bytes)
{
    return (bytes + MPIXQ_UNIT - 1) / MPIXQ_UNIT * sizeof(uint64_t);
}

enum { MPIXQ_PAIR_OPS = 4 }; /* of a start of a pair, or of a wait for it, at most */

/* Any thread: drive those that are waited for. Must not block. */
typedef void mpixq_op_poll_fn(void *const args[], int n);

/* The first half is all that a thread of the host reads of a start. */
struct mpixq_op {
    uint8_t kind;       /* enum mpixq_op_kind */
    uint8_t on_gpu;     /* set by the stream: the GPU does its part by itself; 0 or 1 */
    bool is_after_host; /* of a MOVE: the host has made the start before */
    bool goes_on; /* of a WAIT, and then of all of its list: another list of the wait follows */
    void *arg;    /* of the functions; of waits, who waits: see waits_for in stream.h */
    union {
        void (*call)(void *const args[], int n, bool on_gpu);
        void (*run)(void *arg);
        _Atomic uint64_t *word;          /* of a STORE */
        const _Atomic uint64_t *awaited; /* of waits */
    } u;
    uint64_t value; /* of the word; of an end, that of the start */

    /* What a GPU needs for its part. Of a RING: the doorbell, or NULL, and then where it sees
     * it; of a WAIT: the memory that the word is in, or NULL, and then where it sees the word; of a
     * MOVE and a TAKE: the end; of a MOVE NULL, if the start moves nothing; of a DRAIN: the slots;
     * of a PUT, a SIGNAL and a COMBINE: what is launched, which is read before submit returns. */
    union {
        const struct mpixq_exposed *exposed;
        char *seen;
        const struct mpixq_gpu_end *end;
        struct mpixq_gpu_slots *slots;
        const struct mpixq_launch *launch;
        const struct mpixq_combine *combine;
    } gpu;
    /* Made before a start, or after a wait; NULL: none. Not set where the stream copies nothing. */
    const struct mpixq_copy *copy;
    /* Of waits. Poll is called again and again until the word is there, with the args of all that
     * are waited for together and are not there yet; NULL: somebody else sets the word. */
    mpixq_op_poll_fn *poll;
    const atomic_int *failed;
};

/* Starts, and the waits for them in the same order. A start without one only counts, and behind the
 * waits of some something is combined. */
struct mpixq_both {
    struct mpixq_op *starts, *waits;
    int n_starts, n_waits;
};

static inline bool mpixq_op_is_wait(const struct mpixq_op *op)
{
    return op->kind >= MPIXQ_OP_WAIT;
}

static inline bool mpixq_op_is_launch(const struct mpixq_op *op)
{
    return op->kind == MPIXQ_OP_PUT || op->kind == MPIXQ_OP_SIGNAL;
}

/* A start that is a call, and perhaps something for a GPU before it, which the caller adds. */
static inline void mpixq_op_call(struct mpixq_op *op, enum mpixq_op_kind kind,
                                 void (*call)(void *const args[], int n, bool on_gpu), void *arg)
{
    op->kind = (uint8_t)kind;
    op->on_gpu = false;
    op->arg = arg;
    op->u.call = call;
}

static inline void mpixq_op_wait(struct mpixq_op *op, enum mpixq_op_kind kind, void *arg,
                                 const _Atomic uint64_t *word, uint64_t value,
                                 const atomic_int *failed)
{
    op->kind = (uint8_t)kind;
    op->on_gpu = false;
    op->is_after_host = false;
    op->goes_on = false;
    op->arg = arg;
    op->u.awaited = word;
    op->value = value;
    op->gpu.exposed = NULL;
    op->copy = NULL;
    op->poll = NULL;
    op->failed = failed;
}

/* A word that has reached 0 is any word. */
static inline void mpixq_op_combine(struct mpixq_op *op, void *arg,
                                    const struct mpixq_combine *combine,
                                    const _Atomic uint64_t *word, const atomic_int *failed)
{
    mpixq_op_wait(op, MPIXQ_OP_COMBINE, arg, word, 0, failed);
    op->gpu.combine = combine;
}

static inline void mpixq_op_store(struct mpixq_op *op, _Atomic uint64_t *word, uint64_t value)
{
    op->kind = MPIXQ_OP_STORE;
    op->on_gpu = false;
    op->arg = NULL;
    op->u.word = word;
    op->value = value;
    op->copy = NULL;
}

/* Where streams of this kind see it, or NULL. */
static inline char *mpixq_exposed_to(const struct mpixq_exposed *exposed,
                                     const struct mpixq_stream_kind *kind)
{
    char *seen =
        exposed != NULL ? atomic_load_explicit(&exposed->seen, memory_order_acquire) : NULL;

    return seen != NULL && exposed->by == kind ? seen : NULL;
}

#endif
