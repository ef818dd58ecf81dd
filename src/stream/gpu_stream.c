/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Streams of GPUs. Each has a worker of its own, which is a host stream: it does what a start or a
 * wait means, and the GPU only tells it how far it has come, or is told.
 *
 *     start:  GPU     copy what is staged; reached = ticket
 *             worker  wait until reached is ticket; execute the starts
 *     wait:   GPU     wait until gate is ticket; copy what is staged; reached = ticket
 *             worker  wait for the words; gate = ticket
 *
 * So an array of starts costs the GPU one operation and so does an array of waits, however many
 * they are. The worker has its part before the GPU, as a submission to the GPU may block until
 * earlier work is done. It calls no function of the GPU's library, and needs none.
 *
 * Where the GPU reaches doorbells and words by itself, it rings them before it says that
 * it has reached the start, and waits for the words in place of the gate. The worker then only
 * keeps the books, behind it.
 *
 * Once the queue has failed the worker does not wait any more, neither for the GPU nor for words:
 * it opens all gates, the GPU drains, and starts are dropped by whom they belong to; those that the
 * GPU would do by itself are halted. So a wait needs no error word: the gate is one.
 *
 * What is submitted to both is in gpu_worker.c, what is put into the GPU's stream in gpu_submit.c,
 * and by what in gpu_policy.c; which streams there are is in gpu_streams.c. */
#include <pthread.h>

#include "comm/error.h"
#include "gpu.h"
#include "gpu_ask.h"
#include "gpu_life.h"
#include "gpu_policy.h"
#include "gpu_stream.h"
#include "memory.h"
#include "stream.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/log.h"
#include "util/thread.h"

static const struct mpixq_stream_kind *const host = &mpixq_host_stream_kind;

static const char *gpu_broken(const struct mpixq_stream *base)
{
    return atomic_load_explicit(&((const struct gpu_stream *)base)->broken, memory_order_acquire);
}

static void gpu_halt(struct mpixq_stream *base)
{
    atomic_store(((struct gpu_stream *)base)->words->halt, 1);
}

static int gpu_admits(const struct mpixq_stream *base)
{
    const struct gpu_stream *stream = (const struct gpu_stream *)base;
    bool captured, lost;

    if (mpixq_gpu_is_elsewhere(&stream->lane)) {
        return MPIXQ_E_OTHER_THREAD;
    }
    captured = mpixq_gpu_is_captured(&stream->lane, &lost);
    return captured ? MPIXQ_E_CAPTURE : lost ? MPIXQ_E_GPU_RESET : MPIXQ_E_NONE;
}

/* While that cannot be asked it counts as not captured, and is waited for by words alone. */
static int gpu_may_wait(const struct mpixq_stream *base)
{
    const struct gpu_stream *stream = (const struct gpu_stream *)base;
    bool lost;

    return !mpixq_gpu_stream_is_submitting() && !mpixq_gpu_is_elsewhere(&stream->lane) &&
                   mpixq_gpu_is_captured(&stream->lane, &lost)
               ? MPIXQ_E_CAPTURED
               : MPIXQ_E_NONE;
}

/* Waiting. */

/* The GPU and the worker, which does a start after the GPU has come there. */
static bool has_passed(const struct gpu_stream *stream, uint64_t ticket)
{
    return atomic_load_explicit(&stream->executed, memory_order_acquire) >= ticket &&
           (atomic_load_explicit(stream->words->reached, memory_order_acquire) >= ticket ||
            gpu_broken(&stream->base) != NULL);
}

/* The GPU has stopped, and the queue, whose failure would let the worker go on, does not know. */
static bool is_stuck(const struct gpu_stream *stream)
{
    return gpu_broken(&stream->base) != NULL && atomic_load(stream->failed) == 0;
}

/* Ask the GPU whether it still runs, though not each time: the words tell the rest. While a thread
 * submits, that call may have to wait for it; what the thread calls tells it as well. */
static void look(struct gpu_stream *stream)
{
    enum { EVERY = 64 };

    if (!mpixq_gpu_stream_is_submitting() &&
        atomic_fetch_add_explicit(&stream->looks, 1, memory_order_relaxed) % EVERY == 0) {
        mpixq_gpu_stream_note(stream, mpixq_gpu_ask(&stream->lane));
    }
}

static bool gpu_passed(const struct mpixq_stream *base, uint64_t ticket)
{
    struct gpu_stream *stream = (struct gpu_stream *)base;

    if (!has_passed(stream, ticket)) {
        look(stream);
    }
    return has_passed(stream, ticket);
}

static bool gpu_is_ahead(const struct mpixq_stream *base, uint64_t ticket)
{
    const struct gpu_stream *stream = (const struct gpu_stream *)base;

    return atomic_load(stream->words->reached) >= ticket && !is_stuck(stream);
}

static void gpu_synchronize(struct mpixq_stream *base, uint64_t ticket, const atomic_int *failed)
{
    struct gpu_stream *stream = (struct gpu_stream *)base;
    struct mpixq_backoff backoff;

    mpixq_backoff_begin(&backoff);
    while (!has_passed(stream, ticket) && !is_stuck(stream) &&
           (failed == NULL || atomic_load(failed) == 0)) {
        look(stream);
        mpixq_backoff_pause(&backoff);
    }
}

static uint64_t gpu_depth(const struct mpixq_stream *base)
{
    return host->ops->depth(((const struct gpu_stream *)base)->worker);
}

static const void *gpu_waits_for(const struct mpixq_stream *base)
{
    return host->ops->waits_for(((const struct gpu_stream *)base)->worker);
}

static void *gpu_handle(struct mpixq_stream *base)
{
    return ((struct gpu_stream *)base)->lane.handle;
}

static const void *gpu_identity(const struct mpixq_stream *base)
{
    void *handle = ((const struct gpu_stream *)base)->lane.handle;

    return mpixq_gpu_is_default(handle) ? base : handle;
}

static const char *gpu_how(const struct mpixq_stream *base)
{
    return ((const struct gpu_stream *)base)->lane.by_values ? "values" : "kernels";
}

/* The life of streams. */

/* In the stream's place. */
static enum mpixq_error prepare(struct gpu_stream *stream)
{
    enum mpixq_error error;
    bool unknown;
    int code;

    if (mpixq_gpu_is_capturing(stream->lane.gpu, stream->lane.handle, &unknown)) {
        return MPIXQ_E_CAPTURE;
    }
    stream->lane.life = mpixq_gpu_life(stream->lane.gpu, stream->lane.place);
    error = mpixq_gpu_lane_choose(&stream->lane);
    if (error != MPIXQ_E_NONE) {
        return error;
    }
    stream->words = mpixq_gpu_words_take(stream->lane.gpu, stream->lane.place, stream->lane.life);
    if (stream->words == NULL) {
        return MPIXQ_E_NO_MEMORY;
    }
    code = mpixq_gpu_address(stream->lane.gpu, stream->words->reached, &stream->lane.reached_at);
    code = code != 0
               ? code
               : mpixq_gpu_address(stream->lane.gpu, stream->words->halt, &stream->lane.halt_at);
    stream->lane.gate_at = stream->words->signal;
    if (code == 0 && stream->lane.gate_at == NULL) {
        code = mpixq_gpu_address(stream->lane.gpu, stream->words->gate, &stream->lane.gate_at);
    }
    stream->base.rings = stream->lane.kernels.ring_all != NULL;
    mpixq_gpu_stream_set_watches(stream);
    stream->base.place = stream->lane.place;
    mpixq_gpu_stream_note_code(stream, code);
    return code == 0 ? MPIXQ_E_NONE : MPIXQ_E_GPU;
}

static void stream_free(struct gpu_stream *stream)
{
    if (stream->worker != NULL) {
        host->ops->close(stream->worker);
    }
    if (stream->words != NULL) {
        mpixq_gpu_words_give_back(stream->words);
    }
    mpixq_gpu_lane_end(&stream->lane);
    mpixq_free(stream);
}

static enum mpixq_error enter_and_prepare(struct gpu_stream *stream)
{
    enum mpixq_error error;
    void *before;
    int code = stream->lane.gpu->place_of(stream->lane.handle, &stream->lane.place);

    code = code != 0 ? code : stream->lane.gpu->enter(stream->lane.place, &before);
    mpixq_gpu_stream_note_code(stream, code);
    if (code != 0) {
        return MPIXQ_E_GPU;
    }
    error = prepare(stream);
    stream->lane.gpu->leave(stream->lane.place, before);
    return error;
}

static struct mpixq_stream *gpu_open(const struct mpixq_stream_kind *kind, void *handle,
                                     const atomic_int *failed, struct mpixq_refusal *refusal)
{
    const struct mpixq_gpu *gpu = kind->gpu;
    struct gpu_stream *stream = mpixq_alloc(sizeof *stream);

    *refusal = (struct mpixq_refusal){.error = MPIXQ_E_NO_MEMORY};
    if (stream == NULL) {
        return NULL;
    }
    if (!gpu->find(true)) {
        refusal->error = gpu->not_found;
        mpixq_free(stream);
        return NULL;
    }
    stream->base.ops = kind->ops;
    stream->base.kind = kind;
    stream->lane.gpu = gpu;
    stream->lane.handle = handle;
    stream->failed = failed;
    stream->lane.owner = pthread_self();
    refusal->error = (int)enter_and_prepare(stream);
    refusal->why = gpu_broken(&stream->base);
    if (refusal->error == MPIXQ_E_NONE) {
        stream->worker = host->ops->open(host, NULL, failed, refusal);
    }
    if (stream->worker == NULL) {
        stream_free(stream);
        return NULL;
    }
    mpixq_gpu_stream_add(stream);
    return &stream->base;
}

static void gpu_close(struct mpixq_stream *base)
{
    struct gpu_stream *stream = (struct gpu_stream *)base;

    mpixq_gpu_stream_remove(stream);
    stream_free(stream);
}

static bool gpu_is_live(const struct mpixq_stream_kind *kind, const void *handle)
{
    (void)handle;
    return kind->gpu->is_used();
}

static void *gpu_map(const struct mpixq_stream_kind *kind, void *memory, size_t bytes, bool is_io)
{
    return mpixq_memory_map(kind->gpu, memory, bytes, is_io);
}

static void gpu_unmap(const struct mpixq_stream_kind *kind, void *memory)
{
    mpixq_memory_unmap(kind->gpu, memory);
}

static const struct mpixq_stream_ops ops = {
    .graphs = &mpixq_gpu_graphs,
    .copies = true,
    .is_live = gpu_is_live,
    .open = gpu_open,
    .close = gpu_close,
    .how = gpu_how,
    .admits = gpu_admits,
    .may_wait = gpu_may_wait,
    .broken = gpu_broken,
    .submit = mpixq_gpu_stream_submit,
    .submit_both = mpixq_gpu_stream_submit_both,
    .halt = gpu_halt,
    .map = gpu_map,
    .unmap = gpu_unmap,
    .depth = gpu_depth,
    .waits_for = gpu_waits_for,
    .handle = gpu_handle,
    .identity = gpu_identity,
    .passed = gpu_passed,
    .is_ahead = gpu_is_ahead,
    .synchronize = gpu_synchronize,
};

const struct mpixq_stream_kind mpixq_cuda_stream_kind = {
    .name = "cudaStream_t", .gpu = &mpixq_gpu_cuda, .ops = &ops};
const struct mpixq_stream_kind mpixq_hip_stream_kind = {
    .name = "hipStream_t", .gpu = &mpixq_gpu_hip, .ops = &ops};
