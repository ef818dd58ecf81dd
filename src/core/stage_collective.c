/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Staging buffers of collectives. The host moves their data and combines it, so a buffer in memory
 * that it cannot access has another one in its place, which the stream fills before a start and
 * empties after a wait, as for other requests. */
#include <stddef.h>
#include <stdint.h>

#include "channels.h"
#include "collective_gpus.h"
#include "comm/layout.h"
#include "lost.h"
#include "schedule.h"
#include "stream/memory.h"

/* All the bytes that a collective reads, or writes, in one buffer. */
struct extent {
    char *first, *end; /* NULL: none */
    uint64_t data;     /* of them */
    bool is_in_order;
};

static void add(struct extent *extent, const void *buffer, MPI_Datatype type, MPI_Count at,
                MPI_Count count)
{
    MPI_Aint lower, step;
    MPI_Count before;
    uint64_t bytes;
    char *first, *end;

    if (mpixq_type_bytes(type, count) == 0 || !mpixq_type_reach(type, count, &before, &bytes)) {
        return;
    }
    (void)PMPI_Type_get_extent(type, &lower, &step);
    first = (char *)(uintptr_t)buffer + (MPI_Aint)at * step + before;
    end = first + bytes;
    extent->first = extent->first == NULL || first < extent->first ? first : extent->first;
    extent->end = end > extent->end ? end : extent->end;
    extent->is_in_order =
        (extent->data == 0 || extent->is_in_order) && mpixq_is_in_order(type, count);
    extent->data += mpixq_type_bytes(type, count);
}

static void find_neighbors(const struct mpixq_collective *collective, bool is_send,
                           struct extent *extent)
{
    const struct mpixq_collective_args *args = &collective->args;
    const struct mpixq_edges *edges = is_send ? &collective->out : &collective->in;
    const int *counts = is_send ? args->sendcounts : args->recvcounts;
    const int *at = is_send ? args->sdispls : args->rdispls;
    MPI_Count count = is_send ? args->sendcount : args->recvcount;

    for (int i = 0; i < edges->n; i++) {
        if (edges->peers[i] != MPI_PROC_NULL) {
            add(extent, is_send ? args->sendbuf : args->recvbuf,
                is_send ? args->sendtype : args->recvtype, at != NULL ? at[i] : i * count,
                counts != NULL ? counts[i] : count);
        }
    }
}

/* What is read, of the send buffer or in place; or what is written. */
static struct extent find(const struct mpixq_collective *collective, bool reads)
{
    const struct mpixq_collective_args *args = &collective->args;
    bool in_place = args->sendbuf == MPI_IN_PLACE;
    struct extent extent = {.first = NULL};
    MPI_Count count = args->recvcount;

    switch (args->kind) {
    case MPIXQ_BARRIER:
        break;
    case MPIXQ_BCAST:
        if ((collective->rank == args->root) == reads) {
            add(&extent, args->recvbuf, args->recvtype, 0, count);
        }
        break;
    case MPIXQ_ALLREDUCE:
        add(&extent, reads && !in_place ? args->sendbuf : args->recvbuf, args->recvtype, 0, count);
        break;
    case MPIXQ_ALLGATHER:
        if (reads && !in_place) {
            add(&extent, args->sendbuf, args->sendtype, 0, args->sendcount);
        } else {
            add(&extent, args->recvbuf, args->recvtype, reads ? collective->rank * count : 0,
                reads ? count : collective->size * count);
        }
        break;
    case MPIXQ_NEIGHBOR_ALLTOALL:
    case MPIXQ_NEIGHBOR_ALLTOALLV:
        find_neighbors(collective, reads, &extent);
        break;
    }
    return extent;
}

/* Memory in place of these bytes, if it is a GPU's; else NULL in *staging_p. */
static enum mpixq_error stage(struct mpixq_pair *pair, unsigned kinds, const struct extent *extent,
                              struct mpixq_staging **staging_p)
{
    enum { WIDEST = 16 }; /* as in stage.c */
    size_t skew = (uintptr_t)extent->first % WIDEST;
    const char *kind = NULL;
    void *place = NULL;

    *staging_p = NULL;
    if (extent->first != NULL) {
        kind = mpixq_memory_of(kinds, extent->first, &place, &pair->moves);
    }
    if (kind == NULL || pair->moves) {
        return MPIXQ_E_NONE;
    }
    pair->in_gpu = true;
    pair->message.life = (uint32_t)mpixq_memory_life(kind, place);
    *staging_p = mpixq_staging_take(kind, place, pair->message.life,
                                    skew + (size_t)(extent->end - extent->first));
    if (*staging_p == NULL) {
        return MPIXQ_E_NO_MEMORY;
    }
    (*staging_p)->buffer = (char *)(*staging_p)->memory.host + skew;
    (*staging_p)->before = (*staging_p)->after = NULL;
    (*staging_p)->needs_all = true;
    return MPIXQ_E_NONE;
}

/* Between so much memory of a GPU and what is in its place. */
static struct mpixq_copy make_copy(const struct mpixq_staging *staging, const struct extent *whole,
                                   const struct extent *part, bool is_in)
{
    char *theirs = (char *)staging->address +
                   ((const char *)staging->buffer - (const char *)staging->memory.host) +
                   (part->first - whole->first);

    return (struct mpixq_copy){.to = is_in ? theirs : part->first,
                               .from = is_in ? part->first : theirs,
                               .bytes = (size_t)(part->end - part->first),
                               .place = staging->place};
}

/* Where that is in the other memory: as far from the bytes as in the program's. */
static char *moved(const struct mpixq_staging *staging, const struct extent *extent,
                   const void *buffer)
{
    return (char *)(uintptr_t)staging->buffer + ((const char *)buffer - extent->first);
}

/* The buffer that is written, and with it what is read in place. */
static enum mpixq_error stage_recv(struct mpixq_request *req, unsigned kinds, bool reads_in_place)
{
    struct mpixq_collective *collective = mpixq_collective_of(req);
    struct extent read = find(collective, true), written = find(collective, false);
    const struct extent *whole = written.first != NULL ? &written : &read;
    struct mpixq_staging *staging;
    enum mpixq_error error;

    if (written.first == NULL && !reads_in_place) {
        return MPIXQ_E_NONE;
    }
    error = stage(&req->pair, kinds, whole, &staging);
    if (error != MPIXQ_E_NONE || staging == NULL) {
        return error;
    }
    req->pair.staging = staging; /* given back with the record */
    if (written.first != NULL) {
        if (!written.is_in_order || written.data != (uint64_t)(written.end - written.first)) {
            return MPIXQ_E_GPU_TYPE;
        }
        staging->copy = make_copy(staging, whole, &written, false);
        staging->after = &staging->copy;
    }
    if (reads_in_place && read.first != NULL) {
        collective->copy_in = make_copy(staging, whole, &read, true);
        staging->before = &collective->copy_in;
    }
    collective->recv = moved(staging, whole, collective->args.recvbuf);
    return MPIXQ_E_NONE;
}

static enum mpixq_error stage_send(struct mpixq_request *req, unsigned kinds)
{
    struct mpixq_collective *collective = mpixq_collective_of(req);
    struct extent read = find(collective, true);
    enum mpixq_error error = stage(&req->pair, kinds, &read, &collective->staged_send);
    struct mpixq_staging *staging = collective->staged_send;

    if (error != MPIXQ_E_NONE || staging == NULL) {
        return error;
    }
    collective->send = moved(staging, &read, collective->args.sendbuf);
    collective->copy_in = make_copy(staging, &read, &read, true);
    if (req->pair.staging == NULL) { /* the pair has it: it is where streams look for copies */
        req->pair.staging = staging;
        collective->staged_send = NULL;
    }
    req->pair.staging->before = &collective->copy_in;
    return MPIXQ_E_NONE;
}

/* The channels by which GPUs do it, or, between two that do not reach each other, the host. */
static bool has_channels(const struct mpixq_channel_set *set)
{
    return mpixq_channel_set_has(set, MPIXQ_CHANNEL_IPC) &&
           (mpixq_channel_set_has(set, MPIXQ_CHANNEL_FALLBACK) ||
            !mpixq_channel_set_has(set, MPIXQ_CHANNEL_CXI));
}

/* As GPUs access numbers. */
static bool is_aligned(const struct extent *extent, const struct mpixq_collective *collective)
{
    int bytes = 1;

    (void)PMPI_Type_size(collective->args.recvtype, &bytes);
    return (uintptr_t)extent->first % (unsigned)(bytes > 0 ? bytes : 1) == 0;
}

/* Is all that is read and written in memory of one GPU, whose kernels can do what is to be done
 * with it? Then this process needs no staging buffers. */
static bool find_gpu(struct mpixq_request *req, unsigned kinds)
{
    struct mpixq_collective *collective = mpixq_collective_of(req);
    const struct extent both[] = {find(collective, true), find(collective, false)};
    const char *kind = NULL;
    void *place;

    collective->place = NULL;
    if (collective->wanted != NULL) {
        collective->kind = collective->wanted;
        return true;
    }
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++) {
        if (both[i].first == NULL) {
            continue;
        }
        kind = mpixq_memory_of(kinds, both[i].first, &place, &req->pair.moves);
        if (kind == NULL || req->pair.moves || place == NULL || !both[i].is_in_order ||
            (collective->place != NULL && collective->place != place)) {
            return false;
        }
        collective->kind = kind;
        collective->place = place;
    }
    return collective->place != NULL &&
           (collective->args.kind != MPIXQ_ALLREDUCE ||
            (mpixq_collective_can_combine(collective) && is_aligned(&both[0], collective) &&
             is_aligned(&both[1], collective))) &&
           mpixq_memory_has_kernels(collective->kind, collective->place);
}

/* What NICs write before the GPU combines it is memory of ours; the shares that they bring then go
 * to the program's buffer, as messages of the program's own do. */
static bool may_take_nics(const struct mpixq_request *req)
{
    const struct mpixq_collective *collective = mpixq_collective_of(req);

    return collective->args.kind == MPIXQ_ALLREDUCE && collective->way != MPIXQ_BY_ROUNDS &&
           mpixq_channel_set_has(&req->channels, MPIXQ_CHANNEL_CXI);
}

/* Have what it takes, and by which channels. */
static bool is_equipped(struct mpixq_request *req)
{
    struct mpixq_collective *collective = mpixq_collective_of(req);

    if (!mpixq_collective_make_work(collective)) {
        return false;
    }
    collective->may_take_nics =
        may_take_nics(req) && mpixq_channels_nics_reach(collective->kind, collective->made.address);
    if (!collective->may_take_nics && !has_channels(&req->channels)) {
        mpixq_memory_unmake_later(&collective->made);
        return false;
    }
    return true;
}

static bool goes_by_gpus(struct mpixq_request *req, unsigned kinds)
{
    struct mpixq_collective *collective = mpixq_collective_of(req);
    bool is_short = collective->way != MPIXQ_BY_ROUNDS ||
                    collective->args.kind == MPIXQ_NEIGHBOR_ALLTOALL ||
                    collective->args.kind == MPIXQ_NEIGHBOR_ALLTOALLV;

    collective->by_gpus = is_short && (has_channels(&req->channels) || may_take_nics(req)) &&
                          find_gpu(req, kinds) && is_equipped(req);
    if (collective->by_gpus) {
        req->pair.in_gpu = true;
        req->pair.message.life = (uint32_t)mpixq_memory_life(collective->kind, collective->place);
    }
    return collective->by_gpus;
}

static void unstage(struct mpixq_request *req)
{
    struct mpixq_collective *collective = mpixq_collective_of(req);

    collective->by_gpus = collective->combines = false;
    collective->may_take_nics = collective->takes_nics = false;
    atomic_store(&collective->is_closed, false);
    collective->combine = (struct mpixq_combine){.to = NULL};
    mpixq_memory_unmake_later(&collective->made);
    mpixq_pair_unstage(&req->pair);
    mpixq_staging_give_back(collective->staged_send);
    collective->staged_send = NULL;
    collective->send = collective->args.sendbuf;
    collective->recv = collective->args.recvbuf;
    req->pair.in_gpu = false;
}

enum mpixq_error mpixq_collective_stage(struct mpixq_request *req)
{
    const struct mpixq_collective *collective = mpixq_collective_of(req);
    bool in_place =
        collective->args.sendbuf == MPI_IN_PLACE || collective->args.kind == MPIXQ_BCAST;
    unsigned kinds = mpixq_memory_kinds();
    enum mpixq_error error;

    unstage(req);
    if (kinds == 0) {
        return MPIXQ_E_NONE;
    }
    mpixq_memory_relax(kinds);
    if (goes_by_gpus(req, kinds)) {
        error = MPIXQ_E_NONE;
    } else {
        error = stage_recv(req, kinds, in_place);
        if (error == MPIXQ_E_NONE && !in_place) {
            error = stage_send(req, kinds);
        }
    }
    mpixq_lost_look();
    mpixq_memory_restore(kinds);
    if (error != MPIXQ_E_NONE) {
        unstage(req);
    }
    return error;
}
