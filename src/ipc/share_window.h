/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a window has on its GPU: words of signals that others open, words of the host that the GPU
 * sees, and streams of its own. Kept for later windows, since to free it might mean to wait for the
 * GPU, and since others may have it open for longer.
 */
#ifndef MPIXQ_SHARE_WINDOW_H
#define MPIXQ_SHARE_WINDOW_H

#include "share.h"

/* Words for the host. */
enum {
    MPIXQ_SEAT_FAILED,
    MPIXQ_SEAT_STALE,
    MPIXQ_SEAT_FOUND,
    MPIXQ_SEAT_VALUE,
    MPIXQ_SEAT_FAULTS = 8, /* behind a second value: of MPIXQ_SEAT_LANES */
    MPIXQ_SEAT_LANES = 64,
    MPIXQ_SEAT_WORDS =
        MPIXQ_SEAT_FAULTS + MPIXQ_SEAT_LANES * sizeof(struct mpixq_mapped_fault) / sizeof(uint64_t)
};

struct mpixq_share_seat {
    struct mpixq_share *share;
    uint64_t life, id; /* of the share; which allocation the words are */
    char *words;       /* so many bytes, zeroed once */
    size_t bytes;
    struct mpixq_gpu_handle handle;
    _Atomic uint64_t *told; /* MPIXQ_SEAT_WORDS, and where the GPU sees them */
    uint64_t *told_seen;
    void *memory;        /* of told, for share_window.c */
    void *moves, *looks; /* streams: for puts; for what is asked meanwhile */
    bool is_taken;       /* these two under a lock of the share */
    struct mpixq_share_seat *next;
};

/* Threads of the program. NULL, and why. */
struct mpixq_share_seat *mpixq_share_seat_take(struct mpixq_share *share, size_t bytes,
                                               const char **why_p);
void mpixq_share_seat_give_back(struct mpixq_share_seat *seat);
/* Of a share that is closed. */
void mpixq_share_seats_free(struct mpixq_share *share);

/* The same threads. Into the stream for puts. */
const char *mpixq_share_put(struct mpixq_share_seat *seat, struct mpixq_puts *all);
/* Until the stream for puts is empty. */
const char *mpixq_share_finish(struct mpixq_share_seat *seat);
/* These block until the GPU has done it, one at a time for each seat: zero memory, copy words from
 * or to told, and set a signal. */
const char *mpixq_share_seat_zero(struct mpixq_share_seat *seat, void *memory, size_t bytes);
const char *mpixq_share_copy(struct mpixq_share_seat *seat, void *to, const void *from,
                             size_t bytes);
const char *mpixq_share_set(struct mpixq_share_seat *seat, struct mpixq_set *one);

#endif
