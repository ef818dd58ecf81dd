/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Lists of one round, for few processes of one node: whoever has data sends it to each process that
 * wants it, and each combines all contributions by itself, in the order of ranks. There a further
 * round takes longer than the bytes that it saves; and GPUs can do all of it by themselves, as
 * nothing has to be done between two messages. So they can in reductions of few processes of
 * several nodes, if NICs bring the contributions to their memory. A reduction of many bytes that
 * GPUs, or NICs and GPUs, may move has two: each process gets the contributions to one share of the
 * vector, combines them likewise, and sends that to all. */
#include <stdint.h>

#include "collective_gpus.h"
#include "comm/comm.h"
#include "comm/layout.h"
#include "schedule.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/node.h"

enum {
    FEW_BYTES = 32 * 1024 - 1, /* that a process sends to each other one at most, */
    MORE_BYTES = 64 * 1024,    /* or, where GPUs may move them: then as many as there are between */
    PAIR = 2,                  /* so few; of a broadcast as many among so few, as its root alone */
    FEW_OF_BCAST = 4           /* sends them */
};

/* Up to so many bytes. Two hosts of which each combines one half, of which it tells the other, are
 * faster with more. */
static uint64_t most_bytes(const struct mpixq_collective *collective, bool by_gpus)
{
    bool is_bcast = collective->args.kind == MPIXQ_BCAST;

    if (mpixq_env.direct_kib >= 0) {
        return (uint64_t)mpixq_env.direct_kib * 1024;
    }
    if (is_bcast ? collective->size <= FEW_OF_BCAST : by_gpus && collective->size <= PAIR) {
        return UINT64_MAX;
    }
    return by_gpus ? MORE_BYTES : FEW_BYTES;
}

static bool is_one_node(const struct mpixq_request *req, int size)
{
    for (int rank = 0; rank < size; rank++) {
        int world = mpixq_comm_world_rank(req->comm, rank);

        if (world == MPI_UNDEFINED || !mpixq_node_has(world)) {
            return false;
        }
    }
    return true;
}

/* A share each, which GPUs can combine, where they see what others send: in the memory of each
 * other, or as NICs bring it. */
static bool has_shares(struct mpixq_collective *collective, bool gpus_see)
{
    return collective->args.kind == MPIXQ_ALLREDUCE && (mpixq_env.direct_kib >= 0 || gpus_see) &&
           collective->args.recvcount >= collective->size &&
           mpixq_collective_can_combine(collective);
}

static bool is_short(const struct mpixq_collective *collective, bool by_gpus)
{
    const struct mpixq_collective_args *args = &collective->args;

    return (args->kind != MPIXQ_ALLREDUCE && args->kind != MPIXQ_BCAST) ||
           mpixq_type_bytes(args->recvtype, args->recvcount) <= most_bytes(collective, by_gpus);
}

/* A process may be the only one whose NIC does not reach its GPU, or whose numbers are in memory of
 * the host: then its host combines, to the same bits; in shares as in one round. */
static bool is_reduced_from_far(struct mpixq_collective *collective)
{
    return collective->args.kind == MPIXQ_ALLREDUCE &&
           (mpixq_env.direct_kib >= 0 || mpixq_nodes_have_nics()) && is_short(collective, true) &&
           mpixq_collective_can_combine(collective);
}

enum mpixq_way mpixq_schedule_way(const struct mpixq_request *req)
{
    struct mpixq_collective *collective = mpixq_collective_of(req);
    enum mpixq_collective_kind kind = collective->args.kind;
    bool is_here;

    if (kind == MPIXQ_NEIGHBOR_ALLTOALL || kind == MPIXQ_NEIGHBOR_ALLTOALLV || /* direct anyway */
        collective->size <= 1 || collective->size > (int)mpixq_env.direct_ranks) {
        return MPIXQ_BY_ROUNDS;
    }
    is_here = is_one_node(req, collective->size);
    if (is_here ? is_short(collective, mpixq_node_sees_gpus()) : is_reduced_from_far(collective)) {
        return MPIXQ_DIRECT;
    }
    return has_shares(collective, is_here ? mpixq_node_sees_gpus() : mpixq_nodes_have_nics())
               ? MPIXQ_IN_SHARES
               : MPIXQ_BY_ROUNDS;
}

static struct mpixq_span span_of(const void *at, MPI_Count count, MPI_Datatype type)
{
    return (struct mpixq_span){.at = (void *)(uintptr_t)at, .count = count, .type = type};
}

static void swap_with(struct mpixq_collective *collective, int peer, struct mpixq_span from,
                      struct mpixq_span to)
{
    int tag = collective->n_rounds; /* so far */

    mpixq_schedule_recv(collective, peer, tag, to);
    mpixq_schedule_send(collective, peer, tag, from);
}

static void write_bcast(struct mpixq_collective *collective)
{
    const struct mpixq_collective_args *args = &collective->args;
    struct mpixq_span all = span_of(collective->recv, args->recvcount, args->recvtype);

    if (collective->rank != args->root) {
        mpixq_schedule_recv(collective, args->root, 0, all);
        return;
    }
    for (int peer = 0; peer < collective->size; peer++) {
        if (peer != args->root) {
            mpixq_schedule_send(collective, peer, 0, all);
        }
    }
}

/* Where the data begins. */
static char *first_of(const struct mpixq_span *span)
{
    MPI_Count first = 0;
    uint64_t bytes;

    if (span->count > 0) {
        (void)mpixq_type_reach(span->type, span->count, &first, &bytes);
    }
    return (char *)span->at + first;
}

/* What this process has is copied to its block by the host, or last of all by its GPU. */
static void copy_own(struct mpixq_collective *collective, struct mpixq_span from,
                     struct mpixq_span to)
{
    if (!collective->by_gpus) {
        mpixq_schedule_copy(collective, from, to);
        return;
    }
    collective->combine.bytes = mpixq_type_bytes(from.type, from.count);
    collective->combines = collective->combine.bytes > 0;
    collective->combine.n = 1;
    collective->combine.from[0] = first_of(&from);
    collective->combine.to = first_of(&to);
}

static void write_allgather(struct mpixq_collective *collective)
{
    const struct mpixq_collective_args *args = &collective->args;
    MPI_Aint lower, extent = 0;
    struct mpixq_span own, block;

    (void)PMPI_Type_get_extent(args->recvtype, &lower, &extent);
    block = span_of(collective->recv + (MPI_Count)collective->rank * args->recvcount * extent,
                    args->recvcount, args->recvtype);
    own = args->sendbuf == MPI_IN_PLACE
              ? block
              : span_of(collective->send, args->sendcount, args->sendtype);
    for (int peer = 0; peer < collective->size; peer++) {
        if (peer != collective->rank) {
            swap_with(collective, peer, own,
                      span_of(collective->recv + (MPI_Count)peer * args->recvcount * extent,
                              args->recvcount, args->recvtype));
        }
    }
    if (args->sendbuf != MPI_IN_PLACE) {
        copy_own(collective, own, block);
    }
}

static char *make_work(struct mpixq_collective *collective, size_t stride, const void *own)
{
    enum { WIDEST = 16 }; /* as in stage.c */

    if (collective->by_gpus) {
        return (char *)collective->made.address + MPIXQ_COMBINE_HEAD + (uintptr_t)own % WIDEST;
    }
    mpixq_free(collective->work);
    collective->work = mpixq_alloc(stride * (size_t)collective->size); /* freed with it */
    collective->lacks_memory |= collective->work == NULL;
    return collective->work;
}

/* A byte, which says nothing, and not none: GPUs move what is in their memory. */
static void write_barrier(struct mpixq_collective *collective)
{
    char *work = make_work(collective, MPIXQ_BARRIER_STRIDE, NULL);

    for (int peer = 0; work != NULL && peer < collective->size; peer++) {
        if (peer != collective->rank) {
            swap_with(collective, peer,
                      span_of(work + collective->rank * MPIXQ_BARRIER_STRIDE, 1, MPI_BYTE),
                      span_of(work + peer * MPIXQ_BARRIER_STRIDE, 1, MPI_BYTE));
        }
    }
}

/* Where the contributions are by then. The host combines two, in the place of the second one. */
static void combine(struct mpixq_collective *collective, char *const at[])
{
    const struct mpixq_collective_args *args = &collective->args;
    int last = collective->size - 1;

    for (int rank = 1; rank <= last; rank++) {
        mpixq_schedule_reduce(collective, span_of(at[rank - 1], args->recvcount, args->recvtype),
                              span_of(at[rank], args->recvcount, args->recvtype));
    }
    if (at[last] != collective->recv) {
        mpixq_schedule_copy(collective, span_of(at[last], args->recvcount, args->recvtype),
                            span_of(collective->recv, args->recvcount, args->recvtype));
    }
}

/* All contributions at once, which are known, by a GPU or as one does. */
static void set_combined(struct mpixq_collective *collective, const struct mpixq_span *to)
{
    struct mpixq_combine *all = &collective->combine;

    all->n = (unsigned)collective->size;
    all->to = to->at;
    all->count = (uint64_t)to->count;
    all->bytes = mpixq_type_bytes(to->type, to->count);
    if (collective->by_gpus) {
        collective->combines = true;
    } else {
        mpixq_schedule_combine(collective);
    }
}

static void combine_all(struct mpixq_collective *collective, char *const at[])
{
    const struct mpixq_collective_args *args = &collective->args;
    struct mpixq_span to = span_of(collective->recv, args->recvcount, args->recvtype);

    for (int rank = 0; rank < collective->size; rank++) {
        collective->combine.from[rank] = at[rank];
    }
    collective->combine.from[collective->rank] =
        args->sendbuf == MPI_IN_PLACE ? collective->recv : collective->send;
    set_combined(collective, &to);
}

static void write_allreduce(struct mpixq_collective *collective)
{
    const struct mpixq_collective_args *args = &collective->args;
    bool in_place = args->sendbuf == MPI_IN_PLACE;
    struct mpixq_span own =
        span_of(in_place ? collective->recv : collective->send, args->recvcount, args->recvtype);
    MPI_Count first;
    size_t stride = mpixq_schedule_stride(collective, &first);
    char *work = args->recvcount > 0 ? make_work(collective, stride, own.at) : NULL;
    char *at[MPIXQ_CONTRIBUTIONS];

    if (work == NULL) {
        return;
    }
    for (int rank = 0; rank < collective->size; rank++) {
        at[rank] =
            rank == collective->rank ? collective->recv : work + (size_t)rank * stride - first;
        if (rank != collective->rank) {
            swap_with(collective, rank, own, span_of(at[rank], args->recvcount, args->recvtype));
        }
    }
    if (collective->by_gpus || mpixq_collective_can_combine(collective)) {
        combine_all(collective, at);
        return;
    }
    if (!in_place) {
        mpixq_schedule_copy(collective, own,
                            span_of(collective->recv, args->recvcount, args->recvtype));
    }
    combine(collective, at);
}

/* The first element of a process's share. */
static MPI_Count share(const struct mpixq_collective *collective, int rank)
{
    return (MPI_Count)collective->args.recvcount * rank / collective->size;
}

static struct mpixq_span share_in(const struct mpixq_collective *collective, const char *array,
                                  int rank)
{
    MPI_Count first = share(collective, rank);
    MPI_Datatype type = collective->args.recvtype;

    return span_of(array + mpixq_type_bytes(type, first), share(collective, rank + 1) - first,
                   type);
}

/* Of numbers that kernels know, which lie one after the other. */
static void write_shares(struct mpixq_collective *collective)
{
    struct mpixq_combine *all = &collective->combine;
    int rank = collective->rank;
    const char *given =
        collective->args.sendbuf == MPI_IN_PLACE ? collective->recv : collective->send;
    struct mpixq_span mine = share_in(collective, given, rank);
    struct mpixq_span result = share_in(collective, collective->recv, rank);
    MPI_Count first;
    size_t stride = mpixq_schedule_stride(collective, &first);
    char *work = make_work(collective, stride, mine.at);

    if (work == NULL || !mpixq_collective_can_combine(collective)) {
        return;
    }
    for (int peer = 0; peer < collective->size; peer++) {
        all->from[peer] = peer == rank ? mine.at : work + (size_t)peer * stride;
        if (peer != rank) {
            swap_with(collective, peer, share_in(collective, given, peer),
                      span_of(all->from[peer], mine.count, mine.type));
        }
    }
    set_combined(collective, &result);
    mpixq_schedule_next_round(collective);
    for (int peer = 0; peer < collective->size; peer++) {
        if (peer != rank) {
            swap_with(collective, peer, result, share_in(collective, collective->recv, peer));
        }
    }
}

void mpixq_schedule_direct(struct mpixq_collective *collective)
{
    if (collective->way == MPIXQ_IN_SHARES) {
        write_shares(collective);
        mpixq_schedule_next_round(collective);
        return;
    }
    switch (collective->args.kind) {
    case MPIXQ_BARRIER:
        write_barrier(collective);
        break;
    case MPIXQ_BCAST:
        write_bcast(collective);
        break;
    case MPIXQ_ALLGATHER:
        write_allgather(collective);
        break;
    default:
        write_allreduce(collective);
        break;
    }
    mpixq_schedule_next_round(collective);
}
