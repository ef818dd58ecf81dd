/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "stage.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "channels.h"
#include "comm/layout.h"
#include "lost.h"
#include "util/env.h"
#include "util/log.h"

/* MPICH's names of kinds of GPUs in MPIX_GPU_query_support. */
enum { MPICH_CUDA = 0, MPICH_HIP = 2 };

/* Where a function of MPI that not every MPI has is, if it is there. */
static void *find(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}

/* What MPI says of itself. Open MPI has one function for each kind of GPU, MPICH one for all. */
static bool ask_mpi(bool hip)
{
    int (*ask_one)(void) = NULL;
    int (*ask_any)(int, int *) = NULL;
    void *one = find(hip ? "MPIX_Query_rocm_support" : "MPIX_Query_cuda_support");
    void *any = find("MPIX_GPU_query_support");
    int yes = 0;

    memcpy(&ask_one, &one, sizeof one); /* ISO C has no cast from an object to a function */
    memcpy(&ask_any, &any, sizeof any);
    if (ask_one != NULL) {
        return ask_one() == 1;
    }
    return ask_any != NULL && ask_any(hip ? MPICH_HIP : MPICH_CUDA, &yes) == MPI_SUCCESS && yes;
}

static bool mpi_takes(const char *kind)
{
    bool takes;

    if (mpixq_env.gpu_aware != MPIXQ_GPU_AWARE_AUTO) {
        return mpixq_env.gpu_aware == MPIXQ_GPU_AWARE_YES;
    }
    takes = ask_mpi(strcmp(kind, "hipStream_t") == 0);
    mpixq_debug("MPI %s buffers in memory of GPUs", takes ? "takes" : "does not take");
    return takes;
}

/* The bytes from the first to the last that the data takes. */
struct span {
    char *first;
    size_t bytes;
    bool is_dense;    /* as many of them as there is data, */
    bool is_in_order; /* each is, in the order of the message */
};

static bool find_span(const struct mpixq_pair *pair, struct span *span)
{
    const struct mpixq_message *message = &pair->message;
    MPI_Count first;
    uint64_t bytes;

    if (!mpixq_type_reach(message->type, message->count, &first, &bytes)) {
        return false;
    }
    span->first = (char *)message->buffer + first;
    span->bytes = (size_t)bytes;
    span->is_dense = mpixq_type_bytes(message->type, message->count) == bytes;
    span->is_in_order = false; /* until somebody asks */
    return true;
}

static enum mpixq_error make_staging(struct mpixq_pair *pair, const char *kind, void *place,
                                     const struct span *span)
{
    /* GPUs copy so many bytes at a time, where both ends are as far from a multiple of that. */
    enum { WIDEST = 16 };
    size_t skew = (uintptr_t)span->first % WIDEST;
    struct mpixq_staging *staging;
    void *staged;

    if (!span->is_dense && !mpixq_pair_is_send(pair)) {
        return MPIXQ_E_GPU_TYPE;
    }
    staging = mpixq_staging_take(kind, place, pair->message.life,
                                 skew + span->bytes); /* given back with the record */
    if (staging == NULL) {
        return MPIXQ_E_NO_MEMORY;
    }
    staging->buffer =
        (char *)staging->memory.host + skew + ((const char *)pair->message.buffer - span->first);
    staged = (char *)staging->address + skew;
    staging->copy = (struct mpixq_copy){.bytes = span->bytes};
    staging->before = mpixq_pair_is_send(pair) ? &staging->copy : NULL;
    staging->after = mpixq_pair_is_send(pair) ? NULL : &staging->copy;
    staging->needs_all = !span->is_in_order;
    staging->copy.place = place;
    staging->copy.to = mpixq_pair_is_send(pair) ? staged : span->first;
    staging->copy.from = mpixq_pair_is_send(pair) ? span->first : staged;
    pair->staging = staging;
    return MPIXQ_E_NONE;
}

/* A match that came to nothing may have left a staging buffer of another life of the place. */
static void note_life(struct mpixq_pair *pair, uint64_t life)
{
    if (pair->message.life != life) {
        mpixq_pair_unstage(pair);
    }
    pair->message.life = (uint32_t)life; /* no process resets so often */
}

/* A message without data. If its buffer is in memory of a GPU, it may go as others from there. */
static void stage_empty(struct mpixq_request *req, unsigned kinds)
{
    struct mpixq_pair *pair = &req->pair;
    void *place, *buffer = (void *)(uintptr_t)pair->message.buffer;
    const char *kind = mpixq_memory_of(kinds, buffer, &place, &pair->moves);

    if (kind != NULL && !pair->moves) {
        pair->in_gpu = true;
        note_life(pair, mpixq_memory_life(kind, place));
        mpixq_channels_prepare(pair, &req->channels, kind, place, buffer);
    }
}

static enum mpixq_error stage_one(struct mpixq_request *req, unsigned kinds)
{
    struct mpixq_pair *pair = &req->pair;
    enum mpixq_error error = MPIXQ_E_NONE;
    struct span span;
    const char *kind;
    void *place;

    if (pair->message.count == 0 || !find_span(pair, &span) || span.bytes == 0) {
        mpixq_channels_reach(pair, &req->channels, NULL);
        stage_empty(req, kinds);
        return MPIXQ_E_NONE;
    }
    kind = mpixq_memory_of(kinds, span.first, &place, &pair->moves);
    pair->in_gpu = kind != NULL;
    if (kind != NULL) {
        note_life(pair, mpixq_memory_life(kind, place));
        span.is_in_order =
            span.is_dense && mpixq_is_in_order(pair->message.type, pair->message.count);
    }
    if (kind != NULL && pair->staging == NULL && !mpi_takes(kind)) {
        error = make_staging(pair, kind, place, &span);
    }
    if (error == MPIXQ_E_NONE && !pair->moves) {
        mpixq_channels_reach(pair, &req->channels, kind);
        if (kind != NULL && span.is_in_order) {
            mpixq_channels_prepare(pair, &req->channels, kind, place, span.first);
        }
    }
    return error;
}

/* No GPU is used. */
static void reach_of_host(struct mpixq_request *req)
{
    if (req->peer != MPI_PROC_NULL && !req->is_partitioned) {
        req->was_matching = true;
        mpixq_channels_reach(&req->pair, &req->channels, NULL);
    }
}

void mpixq_unstage(struct mpixq_request *const reqs[], int n)
{
    for (int i = 0; i < n; i++) {
        mpixq_channels_unreach(&reqs[i]->pair);
    }
    mpixq_channels_clean_up();
}

enum mpixq_error mpixq_stage(struct mpixq_request *const reqs[], int n,
                             struct mpixq_request **failed_p)
{
    enum mpixq_error error = MPIXQ_E_NONE;
    unsigned kinds = mpixq_memory_kinds(); /* asked once, for all of them */

    if (kinds == 0) {
        for (int i = 0; i < n; i++) {
            reach_of_host(reqs[i]);
        }
        return MPIXQ_E_NONE;
    }
    mpixq_memory_relax(kinds);
    for (int i = 0; error == MPIXQ_E_NONE && i < n; i++) {
        if (reqs[i]->peer != MPI_PROC_NULL && !reqs[i]->is_partitioned) {
            reqs[i]->was_matching = true; /* be it matched or not */
            error = stage_one(reqs[i], kinds);
        }
        *failed_p = reqs[i];
    }
    mpixq_lost_look();
    if (error != MPIXQ_E_NONE) {
        mpixq_unstage(reqs, n);
    }
    mpixq_memory_restore(kinds);
    return error;
}

enum mpixq_error mpixq_stage_short(const struct mpixq_pair *pair)
{
    return pair->staging != NULL && pair->staging->needs_all ? MPIXQ_E_GPU_TYPE : MPIXQ_E_NONE;
}

void mpixq_stage_matched(struct mpixq_pair *pair)
{
    if (pair->channel->of_gpus) {
        mpixq_staging_give_back(pair->staging);
        pair->staging = NULL;
    } else if (pair->staging != NULL && !mpixq_pair_is_send(pair)) {
        /* It may be less than the receive has room for, if that leaves no gaps. */
        pair->staging->copy.bytes = pair->bytes;
    }
}
