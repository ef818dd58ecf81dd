/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a share consists of: for share.c, share_memory.c and share_window.c alone.
 */
#ifndef MPIXQ_SHARE_INTERNAL_H
#define MPIXQ_SHARE_INTERNAL_H

#include <stdatomic.h>

#include "share.h"
#include "stream/gpu_pinned.h"
#include "stream/gpu_words.h"
#include "util/lock.h"

enum { MPIXQ_SHARE_PEERS = 16 }; /* GPUs of a machine */

struct mpixq_share {
    const struct mpixq_gpu *gpu;
    void *place;
    _Atomic uint64_t life; /* of the place, in which all but outcome and moved was made */
    const char *why;       /* NULL: it can be used */
    struct mpixq_gpu_kernels kernels;
    void *stream;                                   /* waits for no other one */
    struct mpixq_gpu_peer peers[MPIXQ_SHARE_PEERS]; /* itself first */
    int n_peers;
    struct tried {
        struct mpixq_gpu_ident gpu;
        bool works;
    } tried[MPIXQ_SHARE_PEERS]; /* those that are hidden; under lock */
    int n_tried;
    char *ends;
    struct mpixq_gpu_handle handle; /* of ends */
    struct mpixq_pinned words;
    void *outcome; /* of a recall, for the host; one at a time */
    /* The last ticket whose kernels have ended, for the host: pairs of a life that is over are
     * looked at while the place is made anew. */
    _Atomic(_Atomic uint64_t *) moved;
    void *moved_at;
    /* One launch of moves at a time; held while the stream may be full. Who waits for it would wait
     * for that as well. */
    struct mpixq_lock moves;
    uint64_t tickets;          /* given out; under moves */
    struct mpixq_lock seating; /* guards the next one; held while the GPU's library is called */
    struct mpixq_share_seat *seats; /* of windows (share_window.c) */
    struct mpixq_share *next;
};

#endif
