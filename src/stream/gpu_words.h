/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The words that a stream of a GPU and its worker share, in memory of the host that the GPU sees;
 * and the kernels by which it writes them and waits for them. Both are kept as long as their place
 * lives, since to free either could mean to wait for a GPU that waits for us.
 */
#ifndef MPIXQ_GPU_WORDS_H
#define MPIXQ_GPU_WORDS_H

#include <stdatomic.h>
#include <stdint.h>

#include "gpu.h"

struct mpixq_gpu_words {
    _Atomic uint64_t *reached; /* tickets that the stream has passed: written by the GPU */
    _Atomic uint64_t *gate;    /* waits that may end: written by the worker */
    _Atomic uint64_t *halt;    /* 1: nothing is started any more; written by the host */
    void *signal;              /* where gate is, if that needs memory of its own */
    struct mpixq_gpu_block *block;
    bool is_taken;
    bool in_graph; /* kernels of graphs look at halt; by who has taken them */
};

/* Words, all 0, for this life of the place that the calling thread has entered, or NULL: no
 * memory. The host may access them for as long as they are taken, but for the gate, which may go
 * with the place. */
struct mpixq_gpu_words *mpixq_gpu_words_take(const struct mpixq_gpu *gpu, void *place,
                                             uint64_t life);
/* Those that are in a graph, which may live longer, are used again in a later life only. */
void mpixq_gpu_words_give_back(struct mpixq_gpu_words *words);

struct mpixq_gpu_kernels {
    /* NULL: they cannot be had here. Of those that start and wait: all is for any pairs, plain for
     * those that no GPU counts, and combine also combines what has come. */
    void *ring, *wait, *copy, *ring_all, *wait_all, *wait_plain, *wait_combine;
    void *move_all, *move_plain, *pass_all, *pass_plain, *pass_combine, *call_back, *try_end;
    void *put_all, *set_signal, *await_signal, *combine_all, *combine_wide;
    bool early; /* all but the first four, call_back and try_end may be launched early */
    const char *why;
    const char *cure; /* if there are none and something helps; else NULL */
};

/* The same. */
struct mpixq_gpu_kernels mpixq_gpu_kernels(const struct mpixq_gpu *gpu, void *place, uint64_t life);

/* In MPI_Finalize. */
void mpixq_gpu_words_close(void);

#endif
