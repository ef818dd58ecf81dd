/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What is kept of GPUs from one queue to the next, until MPI_Finalize: for the three files that are
 * named. All of it belongs to a life of a place (gpu_life.h), and goes without the GPU's library
 * when that is over. So the lives go last.
 */
#ifndef MPIXQ_GPU_KEPT_H
#define MPIXQ_GPU_KEPT_H

#include <stdatomic.h>
#include <stdint.h>

#include "util/lock.h"

struct mpixq_gpu_block;
struct mpixq_gpu_loaded;
struct mpixq_gpu_place;
struct mpixq_made;
struct mpixq_staging;

struct mpixq_gpu_kept {
    /* memory.c: given back and kept, since to free it may mean to wait for a GPU that waits for us.
     * The lock guards the lists. */
    struct {
        struct mpixq_lock lock;
        struct mpixq_staging *first;
        struct mpixq_made *made; /* to be freed, once no wait is pending */
        int n_holding;           /* threads that keep it from that */
    } memory;
    /* gpu_words.c. The lock guards the rest, and is held while a GPU's library is called: nobody
     * whom a GPU may wait for takes it. */
    struct {
        struct mpixq_lock lock;
        struct mpixq_gpu_block *blocks;
        struct mpixq_gpu_loaded *loaded;
    } words;
    /* gpu_life.c */
    struct {
        /* Held while the GPU's library is asked: nobody whom a GPU may wait for takes it. */
        struct mpixq_lock ask;
        /* Guards the list, and the lives of what is in it. A leaf. */
        struct mpixq_lock lock;
        struct mpixq_gpu_place *first;
        uint64_t last_life;
        atomic_uint n_over;
    } lives;
};
extern struct mpixq_gpu_kept mpixq_gpu_kept __attribute__((visibility("hidden"))); /* as static */

#endif
