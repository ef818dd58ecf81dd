/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which processes use a GPU. Each that has streams there holds a read lock on one byte of the
 * folder /dev/shm, whose number is a hash of the GPU's name, for as long; and whoever could not
 * have a write lock there is not the only one. So nothing is sent and nobody waits, no file is
 * made, and a process that ends, however it does, is not counted any more. Not seen are programs
 * without this library, and containers with a /dev/shm of their own. A child that was forked and
 * runs on without exec keeps the seat of its parent.
 */
#ifndef MPIXQ_GPU_SEAT_H
#define MPIXQ_GPU_SEAT_H

#include <stdbool.h>

#include "util/lock.h"

struct mpixq_gpu_seat;

/* All of the process. The lock guards the list and what is in it. A leaf. */
struct mpixq_gpu_seats {
    struct mpixq_lock lock;
    struct mpixq_gpu_seat *first;
    int folder; /* open while there are seats */
};
#define MPIXQ_GPU_SEATS_INITIALIZER                                                                \
    {                                                                                              \
        .lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_GPU_SEAT), .folder = -1                          \
    }

/* That of this process at a GPU, counted. NULL: locks cannot be had here. Any thread. */
struct mpixq_gpu_seat *mpixq_gpu_seat_take(struct mpixq_gpu_seats *seats, const char *kind,
                                           const char *name);
/* NULL: nothing happens. */
void mpixq_gpu_seat_leave(struct mpixq_gpu_seat *seat);
/* Is another process there? Any thread; a system call that never blocks. */
bool mpixq_gpu_seat_is_shared(const struct mpixq_gpu_seat *seat);

#endif
