/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Streams of GPUs. Each has a worker of its own, which is a host stream: it does what a start or a
 * wait means, and the GPU only tells it how far it has come, or is told.
 *
 *     start:  GPU     copy what is staged; reached = ticket
 *             worker  wait until reached is ticket; execute the triggers
 *     wait:   GPU     wait until gate is ticket; copy what is staged; reached = ticket
 *             worker  wait for the words; gate = ticket
 *
 * So an array of starts costs the GPU one operation and so does an array of waits, however many
 * they are. The worker has its part before the GPU, as a submission to the GPU may block until
 * earlier work is done. It calls no function of the GPU's library, and needs none.
 *
 * Once the queue has failed the worker does not wait any more, neither for the GPU nor for words:
 * it opens all gates, the GPU drains, and starts are dropped by whom they belong to. So a wait
 * needs no error word. */
#include <pthread.h>

#include "core/alloc.h"
#include "core/backoff.h"
#include "core/env.h"
#include "core/error.h"
#include "core/log.h"
#include "gpu.h"
#include "gpu_words.h"
#include "stream.h"

struct gpu_stream {
    struct mpixq_stream base;
    const struct mpixq_gpu *gpu;
    void *handle, *place;
    const atomic_int *failed;
    struct mpixq_stream *worker;
    struct mpixq_gpu_words *words;
    void *reached_at, *gate_at; /* addresses of the words for the GPU */
    struct mpixq_gpu_kernels kernels;
    bool by_values;
    pthread_t owner;           /* of a default stream of each thread */
    uint64_t submitted;        /* the last ticket; in the queue's turn */
    _Atomic uint64_t executed; /* tickets that the worker is done with: written by it */
    atomic_uint looks;
    _Atomic(const char *) broken; /* what the GPU reported: written once, by whoever calls it */
};

static const struct mpixq_stream_ops *const host = &mpixq_host_stream_ops;

static void note(struct gpu_stream *stream, const char *text)
{
    const char *none = NULL;

    if (text != NULL && atomic_compare_exchange_strong(&stream->broken, &none, text)) {
        mpixq_err("%s reports: %s", stream->gpu->name, text);
    }
}

static void note_code(struct gpu_stream *stream, int code)
{
    note(stream, code != 0 ? stream->gpu->text(code) : NULL);
}

static const char *gpu_broken(const struct mpixq_stream *base)
{
    return atomic_load_explicit(&((const struct gpu_stream *)base)->broken, memory_order_acquire);
}

/* Submitting. In the stream's place. */

static int write_reached(struct gpu_stream *stream, uint64_t ticket)
{
    void *parameters[] = {&stream->reached_at, &ticket};

    return stream->by_values
               ? stream->gpu->write(stream->handle, stream->reached_at, ticket)
               : stream->gpu->launch(stream->handle, stream->kernels.ring, parameters);
}

static int wait_for_gate(struct gpu_stream *stream, uint64_t ticket, uint64_t passed)
{
    void *parameters[] = {&stream->gate_at, &ticket, &stream->reached_at, &passed};

    return stream->by_values
               ? stream->gpu->wait(stream->handle, stream->gate_at, ticket, stream->reached_at,
                                   passed)
               : stream->gpu->launch(stream->handle, stream->kernels.wait, parameters);
}

static int copy(struct gpu_stream *stream, const struct mpixq_copy *what)
{
    return what != NULL ? stream->gpu->copy(stream->handle, what->to, what->from, what->bytes) : 0;
}

static int submit_start(struct gpu_stream *stream, const struct mpixq_trigger *triggers, int n,
                        uint64_t ticket)
{
    int code = 0;

    for (int i = 0; code == 0 && i < n; i++) {
        code = copy(stream, triggers[i].copy);
    }
    return code != 0 ? code : write_reached(stream, ticket);
}

static int submit_wait(struct gpu_stream *stream, const struct mpixq_awaited *awaited, int n,
                       uint64_t ticket)
{
    bool copies = false;
    int code;

    for (int i = 0; i < n; i++) {
        copies = copies || awaited[i].copy != NULL;
    }
    /* What is copied afterwards has not passed yet. */
    code = wait_for_gate(stream, ticket, copies ? ticket - 1 : ticket);
    for (int i = 0; code == 0 && i < n; i++) {
        code = copy(stream, awaited[i].copy);
    }
    return code != 0 || !copies ? code : write_reached(stream, ticket);
}

static uint64_t gpu_trigger(struct mpixq_stream *base, const struct mpixq_trigger *triggers, int n)
{
    struct gpu_stream *stream = (struct gpu_stream *)base;
    uint64_t ticket = ++stream->submitted;
    struct mpixq_awaited turn = {
        .word = stream->words->reached, .value = ticket, .failed = stream->failed};
    struct mpixq_trigger executed = {.word = &stream->executed, .value = ticket};
    void *before;
    int code;

    (void)host->await(stream->worker, &turn, 1);
    (void)host->trigger(stream->worker, triggers, n);
    (void)host->trigger(stream->worker, &executed, 1);
    code = stream->gpu->enter(stream->place, &before);
    if (code == 0) {
        code = submit_start(stream, triggers, n, ticket);
        stream->gpu->leave(stream->place, before);
    }
    note_code(stream, code);
    return ticket;
}

static uint64_t gpu_await(struct mpixq_stream *base, const struct mpixq_awaited *awaited, int n)
{
    struct gpu_stream *stream = (struct gpu_stream *)base;
    uint64_t ticket = ++stream->submitted;
    struct mpixq_trigger open[2] = {{.word = &stream->executed, .value = ticket},
                                    {.word = stream->words->gate, .value = ticket}};
    void *before;
    int code;

    (void)host->await(stream->worker, awaited, n);
    (void)host->trigger(stream->worker, open, 2);
    code = stream->gpu->enter(stream->place, &before);
    if (code == 0) {
        code = submit_wait(stream, awaited, n, ticket);
        stream->gpu->leave(stream->place, before);
    }
    note_code(stream, code);
    return ticket;
}

static int gpu_admits(const struct mpixq_stream *base)
{
    const struct gpu_stream *stream = (const struct gpu_stream *)base;
    bool capturing = true;
    void *before;

    if (stream->handle == MPIXQ_GPU_PER_THREAD && !pthread_equal(stream->owner, pthread_self())) {
        return MPIXQ_E_OTHER_THREAD;
    }
    if (stream->gpu->enter(stream->place, &before) == 0) {
        capturing = stream->gpu->is_capturing(stream->handle);
        stream->gpu->leave(stream->place, before);
    } else {
        capturing = false; /* the submission will fail, and say why */
    }
    return capturing ? MPIXQ_E_CAPTURE : MPIXQ_E_NONE;
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

/* Ask the GPU whether it still runs, though not each time: the words tell the rest. */
static void look(struct gpu_stream *stream)
{
    enum { EVERY = 64 };
    void *before;

    if (atomic_fetch_add_explicit(&stream->looks, 1, memory_order_relaxed) % EVERY != 0) {
        return;
    }
    /* Another thread's default stream is not that of this one. */
    if (stream->handle == MPIXQ_GPU_PER_THREAD && !pthread_equal(stream->owner, pthread_self())) {
        return;
    }
    if (stream->gpu->enter(stream->place, &before) == 0) {
        note(stream, stream->gpu->broken(stream->handle));
        stream->gpu->leave(stream->place, before);
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
    return host->depth(((const struct gpu_stream *)base)->worker);
}

static const void *gpu_waits_for(const struct mpixq_stream *base)
{
    return host->waits_for(((const struct gpu_stream *)base)->worker);
}

static const char *gpu_how(const struct mpixq_stream *base)
{
    return ((const struct gpu_stream *)base)->by_values ? "values" : "kernels";
}

/* The life of streams. */

/* Kernels or values? On CUDA values won wherever the host answers; on HIP nothing was measured, and
 * kernels need no memory of a special kind. In the stream's place. */
static enum mpixq_error choose(struct gpu_stream *stream)
{
    bool has_values = stream->gpu->has_values();
    bool has_kernels;

    stream->kernels = mpixq_gpu_kernels(stream->gpu, stream->place);
    has_kernels = stream->kernels.wait != NULL;
    switch (mpixq_env.gpu_ops) {
    case MPIXQ_GPU_OPS_KERNELS:
        has_values = false;
        break;
    case MPIXQ_GPU_OPS_VALUES:
        has_kernels = false;
        break;
    default:
        has_kernels = has_kernels && !(has_values && stream->gpu == &mpixq_gpu_cuda);
        break;
    }
    stream->by_values = !has_kernels;
    if (mpixq_env.info) {
        mpixq_print("%s: stream memory operations %s, kernels: %s; used: %s (MPIXQ_GPU_OPS)",
                    stream->gpu->name, stream->gpu->has_values() ? "can be used" : "cannot be used",
                    stream->kernels.why,
                    has_kernels  ? "kernels"
                    : has_values ? "values"
                                 : "none");
    }
    return has_kernels || has_values ? MPIXQ_E_NONE : MPIXQ_E_GPU_OPS;
}

/* In the stream's place. */
static enum mpixq_error prepare(struct gpu_stream *stream)
{
    enum mpixq_error error = choose(stream);
    int code;

    if (error != MPIXQ_E_NONE) {
        return error;
    }
    if (stream->gpu->is_capturing(stream->handle)) {
        return MPIXQ_E_CAPTURE;
    }
    stream->words = mpixq_gpu_words_take(stream->gpu);
    if (stream->words == NULL) {
        return MPIXQ_E_NO_MEMORY;
    }
    code = stream->gpu->address(stream->words->reached, &stream->reached_at);
    stream->gate_at = stream->words->signal;
    if (code == 0 && stream->gate_at == NULL) {
        code = stream->gpu->address(stream->words->gate, &stream->gate_at);
    }
    note_code(stream, code);
    return code == 0 ? MPIXQ_E_NONE : MPIXQ_E_GPU;
}

static void stream_free(struct gpu_stream *stream)
{
    if (stream->worker != NULL) {
        host->close(stream->worker);
    }
    if (stream->words != NULL) {
        mpixq_gpu_words_give_back(stream->words);
    }
    mpixq_free(stream);
}

static enum mpixq_error enter_and_prepare(struct gpu_stream *stream)
{
    enum mpixq_error error;
    void *before;
    int code = stream->gpu->place_of(stream->handle, &stream->place);

    code = code != 0 ? code : stream->gpu->enter(stream->place, &before);
    note_code(stream, code);
    if (code != 0) {
        return MPIXQ_E_GPU;
    }
    error = prepare(stream);
    stream->gpu->leave(stream->place, before);
    return error;
}

static struct mpixq_stream *open_on(const struct mpixq_gpu *gpu, const struct mpixq_stream_ops *ops,
                                    void *handle, const atomic_int *failed, int *error_p)
{
    struct gpu_stream *stream = mpixq_alloc(sizeof *stream);

    *error_p = MPIXQ_E_NO_MEMORY;
    if (stream == NULL) {
        return NULL;
    }
    if (!gpu->find(true)) {
        *error_p = gpu == &mpixq_gpu_cuda ? MPIXQ_E_CUDA : MPIXQ_E_HIP;
        mpixq_free(stream);
        return NULL;
    }
    stream->base.ops = ops;
    stream->gpu = gpu;
    stream->handle = handle;
    stream->failed = failed;
    stream->owner = pthread_self();
    *error_p = (int)enter_and_prepare(stream);
    if (*error_p == MPIXQ_E_NONE) {
        stream->worker = host->open(NULL, failed, error_p);
    }
    if (stream->worker == NULL) {
        stream_free(stream);
        return NULL;
    }
    return &stream->base;
}

static void gpu_close(struct mpixq_stream *base)
{
    stream_free((struct gpu_stream *)base);
}

static bool cuda_is_live(const void *handle)
{
    (void)handle;
    return mpixq_gpu_cuda.is_used();
}

static struct mpixq_stream *cuda_open(void *handle, const atomic_int *failed, int *error_p)
{
    return open_on(&mpixq_gpu_cuda, &mpixq_cuda_stream_ops, handle, failed, error_p);
}

static bool hip_is_live(const void *handle)
{
    (void)handle;
    return mpixq_gpu_hip.is_used();
}

static struct mpixq_stream *hip_open(void *handle, const atomic_int *failed, int *error_p)
{
    return open_on(&mpixq_gpu_hip, &mpixq_hip_stream_ops, handle, failed, error_p);
}

#define BUT_KIND                                                                                   \
    .copies = true, .close = gpu_close, .how = gpu_how, .admits = gpu_admits,                      \
    .broken = gpu_broken, .trigger = gpu_trigger, .await = gpu_await, .depth = gpu_depth,          \
    .waits_for = gpu_waits_for, .passed = gpu_passed, .synchronize = gpu_synchronize

const struct mpixq_stream_ops mpixq_cuda_stream_ops = {
    .kind = "cudaStream_t", .is_live = cuda_is_live, .open = cuda_open, BUT_KIND};
const struct mpixq_stream_ops mpixq_hip_stream_ops = {
    .kind = "hipStream_t", .is_live = hip_is_live, .open = hip_open, BUT_KIND};
