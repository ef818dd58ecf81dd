/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A stream of a GPU, for gpu_stream.c, and all that are open, for whoever asks.
 */
#ifndef MPIXQ_GPU_STREAM_H
#define MPIXQ_GPU_STREAM_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu_submit.h"
#include "gpu_words.h"
#include "stream.h"
#include "util/lock.h"

struct gpu_stream {
    struct mpixq_stream base;
    struct mpixq_gpu_lane lane;
    const atomic_int *failed;
    struct mpixq_stream *worker;
    struct mpixq_gpu_words *words;
    uint64_t submitted;        /* the last ticket; under the submission lock */
    _Atomic uint64_t waits;    /* ticket of the last wait */
    _Atomic uint64_t executed; /* tickets that the worker is done with: written by it */
    atomic_uint looks;
    _Atomic(const char *) broken; /* what the GPU reported: written once, by whoever calls it */
    struct gpu_stream *next;
};

/* Open streams. */
struct mpixq_gpu_streams {
    struct mpixq_lock lock; /* guards the list; a leaf */
    struct gpu_stream *first;
    atomic_int pausing; /* threads that have paused waits */
    _Atomic(mpixq_streams_waiter *) waiter;
    /* Threads that may be in a call of a GPU's library that blocks; of gpu_worker.c. */
    alignas(64) atomic_int submitting;
};
extern struct mpixq_gpu_streams mpixq_gpu_streams
    __attribute__((visibility("hidden"))); /* at once */

/* What the GPU reports of it, if that is not NULL and the first. */
void mpixq_gpu_stream_note(struct gpu_stream *stream, const char *text);
static inline void mpixq_gpu_stream_note_code(struct gpu_stream *stream, int code)
{
    mpixq_gpu_stream_note(stream, code != 0 ? stream->lane.gpu->text(code) : NULL);
}

static inline void mpixq_gpu_stream_set_watches(struct gpu_stream *stream)
{
    stream->base.watches = !stream->lane.by_values && stream->lane.kernels.wait_all != NULL;
}

/* gpu_worker.c: of the table of streams; and may a thread be in a call of a GPU's library that
 * blocks? */
uint64_t mpixq_gpu_stream_submit(struct mpixq_stream *base, struct mpixq_op list[], int n,
                                 struct mpixq_submission *submission);
uint64_t mpixq_gpu_stream_submit_both(struct mpixq_stream *base, const struct mpixq_both *both,
                                      struct mpixq_submission *submission, bool *at_once_p);
bool mpixq_gpu_stream_is_submitting(void);
/* gpu_streams.c */
void mpixq_gpu_stream_add(struct gpu_stream *stream);
void mpixq_gpu_stream_remove(struct gpu_stream *stream);
/* Of streams of GPUs (stream.h): gpu_graph.c. */
extern const struct mpixq_stream_graphs mpixq_gpu_graphs;
/* Is there a wait in one that it has not passed? And is one open in this place, or none at all by
 * now? Any thread. */
bool mpixq_gpu_any_waits(void);
bool mpixq_gpu_may_start_at(const void *place);

#endif
