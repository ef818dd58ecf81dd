/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What collectives need that GPUs are to move, before they are started (schedule_gpus.c). */
#include "collective_gpus.h"

#include "channel.h"
#include "comm/halves_ext.h"
#include "comm/layout.h"
#include "schedule.h"

/* Those of MPI, in sizes that depend on the system, and Fortran's on options of its compiler: the
 * number of the smallest that it can be. What MPI does not have is MPI_DATATYPE_NULL. */
static const struct {
    MPI_Datatype type;
    enum mpixq_number smallest;
} types[] = {
    {MPI_SIGNED_CHAR, MPIXQ_INT8},
    {MPI_SHORT, MPIXQ_INT8},
    {MPI_INT, MPIXQ_INT8},
    {MPI_LONG, MPIXQ_INT8},
    {MPI_LONG_LONG, MPIXQ_INT8},
    {MPI_INT8_T, MPIXQ_INT8},
    {MPI_INT16_T, MPIXQ_INT8},
    {MPI_INT32_T, MPIXQ_INT8},
    {MPI_INT64_T, MPIXQ_INT8},
    {MPI_AINT, MPIXQ_INT8},
    {MPI_OFFSET, MPIXQ_INT8},
    {MPI_COUNT, MPIXQ_INT8},
    {MPI_UNSIGNED_CHAR, MPIXQ_UINT8},
    {MPI_BYTE, MPIXQ_UINT8},
    {MPI_UNSIGNED_SHORT, MPIXQ_UINT8},
    {MPI_UNSIGNED, MPIXQ_UINT8},
    {MPI_UNSIGNED_LONG, MPIXQ_UINT8},
    {MPI_UNSIGNED_LONG_LONG, MPIXQ_UINT8},
    {MPI_UINT8_T, MPIXQ_UINT8},
    {MPI_UINT16_T, MPIXQ_UINT8},
    {MPI_UINT32_T, MPIXQ_UINT8},
    {MPI_UINT64_T, MPIXQ_UINT8},
    {MPI_FLOAT, MPIXQ_FLOAT},
    {MPI_DOUBLE, MPIXQ_FLOAT},
    {MPIXQ_MPI_FLOAT16, MPIXQ_FLOAT16},
    {MPIXQ_MPI_BFLOAT16, MPIXQ_BFLOAT16},
    {MPI_INTEGER, MPIXQ_INT8},
    {MPI_INTEGER1, MPIXQ_INT8},
    {MPI_INTEGER2, MPIXQ_INT8},
    {MPI_INTEGER4, MPIXQ_INT8},
    {MPI_INTEGER8, MPIXQ_INT8},
    {MPI_REAL, MPIXQ_FLOAT},
    {MPI_DOUBLE_PRECISION, MPIXQ_FLOAT},
    {MPI_REAL4, MPIXQ_FLOAT},
    {MPI_REAL8, MPIXQ_FLOAT},
};

/* Of this kind and so many bytes. */
static bool is_number(enum mpixq_number smallest, int bytes, unsigned char *number_p)
{
    bool is_half = smallest >= MPIXQ_FLOAT16;
    int least = is_half ? 2 : smallest == MPIXQ_FLOAT ? 4 : 1, wider = 0;

    while (least << wider < bytes) {
        wider++;
    }
    *number_p = (unsigned char)((int)smallest + wider);
    return least << wider == bytes && bytes <= (is_half ? 2 : 8);
}

static bool find_number(MPI_Datatype type, unsigned char *number_p)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        int bytes = 0;

        if (types[i].type == type && type != MPI_DATATYPE_NULL) {
            (void)PMPI_Type_size(type, &bytes);
            return is_number(types[i].smallest, bytes, number_p);
        }
    }
    return false;
}

static bool find_operation(MPI_Op op, unsigned char *operation_p)
{
    const struct {
        MPI_Op op;
        enum mpixq_operation operation;
    } known[] = {
        {MPI_SUM, MPIXQ_SUM},   {MPI_PROD, MPIXQ_PROD}, {MPI_MIN, MPIXQ_MIN},
        {MPI_MAX, MPIXQ_MAX},   {MPI_LAND, MPIXQ_LAND}, {MPI_LOR, MPIXQ_LOR},
        {MPI_LXOR, MPIXQ_LXOR}, {MPI_BAND, MPIXQ_BAND}, {MPI_BOR, MPIXQ_BOR},
        {MPI_BXOR, MPIXQ_BXOR},
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].op == op) {
            *operation_p = (unsigned char)known[i].operation;
            return true;
        }
    }
    return false;
}

bool mpixq_collective_can_combine(struct mpixq_collective *collective)
{
    struct mpixq_combine *all = &collective->combine;

    return find_number(collective->args.recvtype, &all->number) &&
           find_operation(collective->args.op, &all->operation) &&
           (all->number < MPIXQ_FLOAT || all->operation < MPIXQ_LAND);
}

size_t mpixq_schedule_stride(const struct mpixq_collective *collective, MPI_Count *first_p)
{
    enum { APART = 256 }; /* GPUs move what begins at such addresses best */
    const struct mpixq_collective_args *args = &collective->args;
    MPI_Count count = args->recvcount;
    uint64_t bytes = 0;

    if (collective->way == MPIXQ_IN_SHARES) {
        count = count / collective->size + 1; /* the longest */
    }
    *first_p = 0;
    (void)mpixq_type_reach(args->recvtype, count, first_p, &bytes);
    return (size_t)(bytes + 2 * APART - 1) / APART * APART;
}

bool mpixq_collective_make_work(struct mpixq_collective *collective)
{
    struct mpixq_refusal refusal;
    MPI_Count first;
    size_t bytes;

    switch (collective->args.kind) {
    case MPIXQ_ALLREDUCE:
        bytes = (size_t)collective->size * mpixq_schedule_stride(collective, &first);
        break;
    case MPIXQ_BARRIER:
        bytes = (size_t)collective->size * MPIXQ_BARRIER_STRIDE;
        break;
    case MPIXQ_ALLGATHER:
        bytes = 0;
        break;
    default:
        return true;
    }
    if (!mpixq_memory_make(collective->kind, collective->place, MPIXQ_COMBINE_HEAD + bytes,
                           &collective->made, &refusal)) {
        return false;
    }
    collective->place = collective->made.place;
    if (!mpixq_memory_has_kernels(collective->kind, collective->place)) {
        mpixq_memory_unmake_later(&collective->made);
        return false;
    }
    return true;
}

/* Blocks that combine. A large vector keeps the memory busy if some 4 MiB are on their way, as it
 * brings 3 to 4 TB a second and takes about a microsecond. A thread has 64 bytes or more on their
 * way, 32 of each contribution, for half of its time: for the rest it combines and stores. So that
 * takes 2^17 threads, 512 in a block, which read OF_BLOCK bytes of a contribution at a time. */
static unsigned blocks_for(uint64_t bytes)
{
    enum { OF_BLOCK = 16 * 1024, MOST = 128, MOST_WIDE = 256 };
    uint64_t blocks = bytes / OF_BLOCK + 1, most = bytes < MPIXQ_WIDE_BYTES ? MOST : MOST_WIDE;

    return (unsigned)(blocks < most ? blocks : most);
}

/* A byte that tells of a barrier is never written, and need not be read before it is sent, nor be
 * copied to or from a staging buffer. */
static void read_nothing(struct mpixq_collective *collective)
{
    for (int i = 0; i < collective->parted.n_used; i++) {
        struct mpixq_pair *part = &collective->parted.parts[i]->pair;

        if (part->staging != NULL) {
            part->staging->before = part->staging->after = NULL;
        }
        if (part->channel->gpus != NULL && part->channel->gpus->end != NULL) {
            part->channel->gpus->end(part)->move.is_blank = true;
        }
    }
}

void mpixq_collective_matched_gpus(struct mpixq_request *req)
{
    struct mpixq_collective *collective = mpixq_collective_of(req);

    if (collective->args.kind == MPIXQ_BARRIER) {
        read_nothing(collective);
    }
    for (int i = 0; i < collective->parted.n_used; i++) {
        const struct mpixq_pair *part = &collective->parted.parts[i]->pair;

        collective->takes_nics |= part->channel->id == MPIXQ_CHANNEL_CXI;
    }
    collective->combine.blocks = blocks_for(collective->combine.bytes);
    req->pair.channel =
        collective->takes_nics ? &mpixq_channel_collective_both : &mpixq_channel_collective_gpus;
}

enum mpixq_error mpixq_collective_admits(const struct mpixq_request *req, const void *place,
                                         int *ops_p)
{
    const struct mpixq_collective *collective = mpixq_collective_of(req);

    *ops_p = collective->parted.n_used * (collective->takes_nics ? MPIXQ_PAIR_OPS : 1) + 1;
    if (!collective->by_gpus) { /* what has staging buffers is copied by streams of GPUs */
        return req->pair.staging != NULL && place == NULL ? MPIXQ_E_GPU_BUFFER : MPIXQ_E_NONE;
    }
    if (place == collective->place) {
        return MPIXQ_E_NONE;
    }
    return place == NULL || collective->wanted != NULL ? mpixq_collective_not_here(collective)
                                                       : MPIXQ_E_OTHER_GPU;
}

bool mpixq_collective_needs_stream(const struct mpixq_request *req)
{
    const struct mpixq_collective *collective = mpixq_collective_of(req);

    for (int i = 0; collective->by_gpus && i < collective->parted.n_used; i++) {
        if (collective->parted.parts[i]->pair.staging != NULL) {
            return true;
        }
    }
    return collective->by_gpus && collective->combines &&
           mpixq_collective_executor(&req->pair) == NULL;
}
