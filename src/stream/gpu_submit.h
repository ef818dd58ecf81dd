/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What is put into a stream of a GPU for a start and for a wait.
 */
#ifndef MPIXQ_GPU_SUBMIT_H
#define MPIXQ_GPU_SUBMIT_H

#include <pthread.h>

#include "gpu_words.h"
#include "stream.h"

enum {
    /* Bytes of a message up to which a kernel copies it, with others. On an H200 one block was
     * faster than the copy engines up to some 128 KiB each, and larger ones would keep a part of
     * the GPU from the program for longer than they gain. */
    MPIXQ_SMALL = 65536,
    /* One message alone is copied sooner by a copy engine: 6.2 us there against 7.7. */
    MPIXQ_SEVERAL = 2
};

struct mpixq_gpu_seat;

/* A stream of a GPU, and by what it is told. */
struct mpixq_gpu_lane {
    const struct mpixq_gpu *gpu;
    void *handle, *place;
    uint64_t life;                        /* of the place (gpu_life.h) */
    pthread_t owner;                      /* of a default stream of each thread */
    void *reached_at, *gate_at, *halt_at; /* addresses of the words for the GPU; the first NULL: in
                                           * a graph, where nobody waits for a ticket */
    struct mpixq_gpu_kernels kernels;     /* copy, ring_all: NULL if kernels shall not do that */
    bool by_values;                       /* starts and waits; changes under the submission lock */
    /* The rest of the choice (gpu_policy.h). follows: by_values depends on who uses the GPU. */
    bool follows;
    struct mpixq_gpu_seat *seat; /* NULL: that is not known */
    unsigned starts, looked_at;
    const char *why;
};

/* Which of a list the GPU does by itself. It rings the doorbells that it sees, and makes the starts
 * of ends; it waits for words that it sees, if it does, and for ends in any case, since it has to
 * see to those that are given up. */
void mpixq_gpu_take_starts(const struct mpixq_stream *stream, struct mpixq_op list[], int n);
void mpixq_gpu_take_waits(const struct mpixq_stream *stream, struct mpixq_op list[], int n);
/* Codes of the vendor. */
int mpixq_gpu_submit_starts(const struct mpixq_gpu_lane *lane, const struct mpixq_op list[], int n,
                            uint64_t ticket);
int mpixq_gpu_submit_waits(const struct mpixq_gpu_lane *lane, const struct mpixq_op list[], int n,
                           uint64_t ticket);
/* Can starts and the waits for them be one launch? Both are what take_starts and take_waits said
 * of them. And launch it: started is reached when it begins, the ticket when it ends. */
bool mpixq_gpu_can_pass(const struct mpixq_gpu_lane *lane, const struct mpixq_both *both);
int mpixq_gpu_pass(const struct mpixq_gpu_lane *lane, const struct mpixq_both *both,
                   uint64_t started, uint64_t ticket);
/* How long waits with this ticket wait. */
static inline struct mpixq_until mpixq_gpu_until(const struct mpixq_gpu_lane *lane, uint64_t ticket)
{
    return (struct mpixq_until){.gate = lane->gate_at, .opened = ticket, .halt = lane->halt_at};
}
/* The slot of a start of this value, or NULL. */
static inline char *mpixq_gpu_slot_of(const struct mpixq_gpu_end *end, uint64_t value)
{
    return end->first_slot != NULL
               ? end->first_slot + value % MPIXQ_SLOTS * mpixq_slot_bytes(end->move.bytes)
               : NULL;
}

/* In the place of the lane, all of what follows. gpu_launch.c: the ticket is reached. */
int mpixq_gpu_write_reached(const struct mpixq_gpu_lane *lane, uint64_t ticket);
/* gpu_moves.c: the moves that are the GPU's in a list of so many operations; and to make them, one
 * at least. The last launch tells that the ticket is reached. */
int mpixq_gpu_count_moves(const struct mpixq_op list[], int n);
int mpixq_gpu_move(const struct mpixq_gpu_lane *lane, const struct mpixq_op *op, int moves,
                   uint64_t ticket);
/* What is to be combined, one at least; and what is about windows. */
int mpixq_gpu_combine(const struct mpixq_gpu_lane *lane, const struct mpixq_op *op, int combines,
                      bool is_told, bool tells, uint64_t ticket);
int mpixq_gpu_submit_launch(const struct mpixq_gpu_lane *lane, const struct mpixq_launch *what,
                            uint64_t ticket);

#endif
