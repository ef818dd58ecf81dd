/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The parameters of the kernels that copy, ring, watch and move: the same for the host and for each
 * GPU. Includes nothing of others, as compilers of kernels have no headers.
 */
#ifndef MPIXQ_PIECES_H
#define MPIXQ_PIECES_H

#include "combine.h"

enum {
    MPIXQ_PIECES = 32, /* of a launch: they fit into its parameters; most arrays have fewer */
    MPIXQ_WORDS = 32,  /* likewise: a warp of threads, one for each */
    MPIXQ_MOVES = 44,  /* likewise */
    MPIXQ_BLOCK_OF_MOVES = 512, /* threads of a block that moves */
    MPIXQ_GROUP = 16,           /* moves of one block at most: a warp for each */
    MPIXQ_THREADS = 1024        /* of a launch at most: as many as every GPU has in a block */
};

typedef __UINT64_TYPE__ mpixq_word_t; /* as uint64_t */

struct mpixq_piece {
    char *to;
    const char *from;
    unsigned long long bytes;
};

struct mpixq_pieces {
    void *word; /* where value is stored when all is copied; NULL: nowhere */
    unsigned long long value;
    unsigned n;
    unsigned each; /* threads for a piece, of n times as many */
    const void
        *closed[MPIXQ_PIECES]; /* a word of each, which is not copied if that is not 0; or NULL */
    struct mpixq_piece piece[MPIXQ_PIECES];
};

/* How long is waited: until gate has reached opened. Then nobody waits any more, but for those
 * whose state is known: they are about to come, unless halt is set and the pair can be closed. */
struct mpixq_until {
    void *gate;
    unsigned long long opened;
    void *halt; /* NULL if no state is known */
};

/* What is waited for. A message may come into a slot instead, and is copied from there. */
struct mpixq_word {
    void *address;
    unsigned long long value;
    struct mpixq_end_state *state; /* of a pair whose start this ends; NULL: of none */
    mpixq_word_t mine;             /* what it is at most while the other end lets it be closed */
    /* Of a pair that its GPU counts (struct mpixq_told); NULL: of another one. Then address is
     * that of its end, value its floor, mine that of start 0, and slot the first one. */
    struct mpixq_told *counted;
    void *slot; /* NULL: there is none */
    char *to;   /* where the message belongs, and its */
    mpixq_word_t bytes;
    /* The slot has nothing but the data, which is there once the word says so. Then it is
     * copied, and mine is stored here. NULL: it is another one, or there is none. */
    void *taken;
    void *go; /* where the start that was waited for is stored, or 0; or NULL */
};

/* Doorbells, or words to wait for. */
struct mpixq_words {
    struct mpixq_until until;
    void *word; /* as above */
    unsigned long long value;
    unsigned n;
    unsigned n_whole; /* of these have slots with nothing but data: see taken */
    unsigned each;    /* threads for a word */
    /* Of the launch, of which each waits for every blocks-th word, from that of its own number on.
     * If there are several each word is of an end, and all ends are of this GPU. */
    unsigned blocks;
    /* What has come is combined: here, if that is to do something (n > 0), and the word with this
     * number, if there is one, was waited for; or behind it, as go of a word says. */
    unsigned is_combined, first;
    struct mpixq_combine combine;
    struct mpixq_word at[MPIXQ_WORDS];
};

/* Pairs whose data GPUs move by themselves (src/ipc/). */

/* Who has come: the value of the last start that came to this word, times 4, and one of these. It
 * only grows, from one pair that uses the word to the next. In memory of the sender's GPU, which so
 * need not ask the receiver's before it moves the data; of a receive with slots, of which a sender
 * seldom asks, in that of the receiver's. */
struct mpixq_end_state {
    mpixq_word_t value;
};
#define MPIXQ_STATE_RECEIVE(value) (4 * (mpixq_word_t)(value) + 1)
#define MPIXQ_STATE_SEND(value) (4 * (mpixq_word_t)(value) + 2)
#define MPIXQ_STATE_BOTH(value) (4 * (mpixq_word_t)(value) + 3)
#define MPIXQ_STATE_CLOSED ((mpixq_word_t)1 << 62) /* a start was taken back */

/* What an end has in the memory of its GPU: 0 before its first start. */
struct mpixq_end {
    mpixq_word_t done; /* starts that have completed; by whoever moved the data */
    struct mpixq_end_state state;
    mpixq_word_t posted; /* of a sender with slots: the receive that was started last */
    mpixq_word_t tried;  /* changed by GPUs that try whether they can, and for nothing else */
    /* Of a pair that its GPU counts: starts that were made, and waits that have ended. Either is
     * the floor of the pair until it is larger. */
    mpixq_word_t started, waited;
    /* What follows is 0 while nothing is under way. Blocks of a start that have come, and gone, and
     * what the first one has found: 1 more than twice the start if it is to move. */
    mpixq_word_t come, gone, found;
    mpixq_word_t blocks; /* of a launch that are gone */
    mpixq_word_t closed; /* of a pair that its GPU counts: 1: it was freed */
};

/* What an end has in memory of the host. Starts that both GPUs know to be done, by whoever moved
 * the data: of a receive, where the sender's host reads it too. The rest is of a pair whose starts
 * its own GPU counts, as a replayed graph makes starts that no call of the host has numbered: the
 * GPU makes the one after the last that it has made, and waits for the one after the last that it
 * has waited for. It writes started (but of a send that is done in its slot) and fault. */
struct mpixq_told {
    mpixq_word_t done, apart[7]; /* no two GPUs store into one line: that holds up both */
    mpixq_word_t started;
    mpixq_word_t fault;           /* why a start was not made: one of these */
    mpixq_word_t halt, unused[5]; /* halt, by the host: 1: nobody waits any more */
};
enum { MPIXQ_NO_FAULT, MPIXQ_STARTED_TWICE, MPIXQ_STARTED_FREED };
enum { MPIXQ_TRY_CHANGES = 2 }; /* by how much, each time */

/* Slots. A receive has MPIXQ_SLOTS of them in memory of its GPU, used in turn. Each word of one
 * holds 4 bytes of the message, below, and the value of the start that they belong to, above: so
 * the data tells that it has come, and nothing has to be put in order. A send goes into its slot,
 * and is complete, if the receive MPIXQ_SLOTS - 1 before its own was started, or it is one of the
 * first of the pair: then what was in the slot has been copied. */
enum { MPIXQ_SLOTS = 3, MPIXQ_UNIT = 4, MPIXQ_UNIT_BITS = 32 };

/* A start. Of the two ends whoever comes second moves the data, and tells both. */
struct mpixq_move {
    char *to;
    const char *from;
    mpixq_word_t bytes;
    struct mpixq_end *own, *peer; /* peer: where this GPU sees it */
    struct mpixq_told *own_told,
        *told;          /* the receiver's: done, for both hosts; or it is in its slot */
    mpixq_word_t value; /* that done gets; of a pair that its GPU counts, the floor */
    void *slot;         /* of the receive, where this GPU sees it (counted: the first); or NULL */
    const void *after;  /* NULL, or a word of this GPU: if it is 0 no start is made */
    unsigned blocks;    /* that move it */
    unsigned char is_send : 1, is_ready : 1;
    unsigned char is_early : 1;      /* the slot was never used; counted: before the floor */
    unsigned char is_after_host : 1; /* who completed the one before may not have looked at done */
    unsigned char is_counted : 1;    /* its GPU counts its starts */
    unsigned char is_blank : 1;      /* what it sends does not matter: less than a unit */
    /* The host, or the NIC, moves the data: it is told, and the doorbell at to is rung, if there is
     * one, and no more. */
    unsigned char is_host : 1;
};

struct mpixq_moves {
    void *word; /* where value is stored when all is moved; NULL: nowhere */
    mpixq_word_t value;
    unsigned n;
    /* The first ones are moved in groups: those that ask no other GPU, then others. */
    unsigned n_near, n_small;
    unsigned group, blocks; /* moves of a group; blocks of the launch */
    /* Of a launch that waits for them too, by so many threads for each: when it begins, came_value
     * is stored in came, if that is not NULL. */
    unsigned each;
    void *came;
    mpixq_word_t came_value;
    struct mpixq_until until;
    struct mpixq_combine combine; /* of one that combines what has come; by the last block */
    struct mpixq_move move[MPIXQ_MOVES];
};

/* The start of one end is taken back, unless the other end has come by now: then the data is on its
 * way. Outcome is 1 or 2 then, 3 if the data has not come for long; in that order. */
struct mpixq_recall {
    struct mpixq_end_state *state;
    mpixq_word_t mine; /* as above */
    struct mpixq_end *own;
    mpixq_word_t value;
    void *outcome;
};

/* Windows in memory of GPUs (src/rma/). */

/* What a signal has in memory of its process's GPU. */
struct mpixq_mapped_words {
    mpixq_word_t word;       /* rma/signal_word.h */
    mpixq_word_t generation; /* of the signal that is here; 0: none */
    mpixq_word_t unused;
    mpixq_word_t tried; /* as in struct mpixq_end: a place for each process of the window */
};

/* What the kernels of a queue that are about a window have in common, in memory of the GPU. */
struct mpixq_mapped_lane {
    mpixq_word_t blocks; /* of a launch that tells its end: those that are gone, or 0 */
    mpixq_word_t halted; /* number of a queue of which one has failed: those after it do nothing */
    mpixq_word_t unused[2];
};
/* Of a launch on a queue. */
struct mpixq_behind {
    void *word; /* where value is stored when it is done; NULL: nowhere */
    mpixq_word_t value;
    const void *halt;               /* a word of the host that is not 0 once the queue has failed */
    struct mpixq_mapped_lane *lane; /* NULL: on no queue */
    mpixq_word_t number;            /* of the queue, which no later one has */
    struct mpixq_mapped_fault *fault;
};
/* Why the first one has failed, in memory of the host: kind is stored last. */
struct mpixq_mapped_fault {
    mpixq_word_t kind, index, found; /* which signal, and what it was */
};
enum { MPIXQ_MAPPED_NO_FAULT, MPIXQ_MAPPED_NOT_ZERO, MPIXQ_MAPPED_WINDOW_FAILED };

/* A put, or a get, and the signals of both ends, where this GPU sees them; NULL: there is none.
 * Each of the blocks that copy it is a part, which tells the signals by itself. */
struct mpixq_put {
    char *to;
    const char *from;
    mpixq_word_t bytes;
    struct mpixq_mapped_words *local, *remote;
    mpixq_word_t generation; /* of the remote one: nothing is copied if it is another by now, */
    mpixq_word_t stale;      /* and this is stored in told */
    mpixq_word_t local_generation; /* the local one is not told if it is another by now */
    void *told;
};
enum { MPIXQ_PUTS = 32 /* of a launch */, MPIXQ_PARTS_SHIFT = 33 /* parts in a word */ };
struct mpixq_puts {
    struct mpixq_behind behind;
    unsigned n, blocks; /* of each, and all of the launch */
    struct mpixq_put put[MPIXQ_PUTS];
};

/* A signal is set to a number of events again, if it is 0; what it was is stored in told, if that
 * is not NULL. */
struct mpixq_set {
    struct mpixq_behind behind;
    struct mpixq_mapped_words *signal;
    mpixq_word_t index, events;
    void *told;
};

/* A signal is waited for until it is 0, or too many have come, or its window has failed. */
struct mpixq_await {
    struct mpixq_behind behind;
    struct mpixq_mapped_words *signal;
    mpixq_word_t index, events; /* which it is set to when it is 0; 0: it is not set */
    const void *failed;         /* a word of the host that is not 0 once the window has failed */
};

#endif
