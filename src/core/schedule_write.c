/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The lists of all collectives but reductions. */
#include "schedule.h"

/* Elements of an array of the type, from the n-th on. */
static struct mpixq_span part_of(const void *array, MPI_Datatype type, MPI_Count first,
                                 MPI_Count count)
{
    MPI_Aint lower, extent = 0;

    (void)PMPI_Type_get_extent(type, &lower, &extent);
    return (struct mpixq_span){
        .at = (char *)(uintptr_t)array + first * extent, .count = count, .type = type};
}

/* After round k each process has heard of the 2^(k + 1) - 1 before it. */
static void write_barrier(struct mpixq_collective *collective)
{
    const struct mpixq_span nothing = {.type = MPI_BYTE};
    int size = collective->size, rank = collective->rank;

    for (int64_t distance = 1; distance < size; distance *= 2) {
        mpixq_schedule_recv(collective, (int)((rank - distance + size) % size),
                            collective->n_rounds, nothing);
        mpixq_schedule_send(collective, (int)((rank + distance) % size), collective->n_rounds,
                            nothing);
        mpixq_schedule_next_round(collective);
    }
}

/* A binomial tree: who has the data sends it to who is a power of two further on, from the farthest
 * to the nearest. */
static void write_bcast(struct mpixq_collective *collective)
{
    const struct mpixq_collective_args *args = &collective->args;
    struct mpixq_span all = part_of(collective->recv, args->recvtype, 0, args->recvcount);
    int64_t size = collective->size, distance = 1;
    int64_t place = (collective->rank - args->root + size) % size;

    while (distance < size && (place & distance) == 0) {
        distance *= 2;
    }
    if (place != 0) {
        mpixq_schedule_recv(collective, (int)((place - distance + args->root) % size), 0, all);
        mpixq_schedule_next_round(collective);
    }
    for (distance /= 2; distance > 0; distance /= 2) {
        if (place + distance < size) {
            mpixq_schedule_send(collective, (int)((place + distance + args->root) % size), 0, all);
        }
    }
    mpixq_schedule_next_round(collective);
}

/* The blocks of count processes up to that of last, which may go around the end. */
static void write_blocks(struct mpixq_collective *collective, bool is_send, int peer, int tag,
                         int last, int count)
{
    const struct mpixq_collective_args *args = &collective->args;
    int size = collective->size, first = (last - count + 1 + size) % size;
    int upper = count < size - first ? count : size - first;
    void (*write)(struct mpixq_collective *, int, int, struct mpixq_span) =
        is_send ? mpixq_schedule_send : mpixq_schedule_recv;

    write(collective, peer, 2 * tag,
          part_of(collective->recv, args->recvtype, (MPI_Count)first * args->recvcount,
                  (MPI_Count)upper * args->recvcount));
    if (upper < count) {
        write(collective, peer, 2 * tag + 1,
              part_of(collective->recv, args->recvtype, 0,
                      (MPI_Count)(count - upper) * args->recvcount));
    }
}

/* A process has the blocks of the 2^k before it, its own one included, and gets as many more from
 * who has those before them. */
static void write_allgather(struct mpixq_collective *collective)
{
    const struct mpixq_collective_args *args = &collective->args;
    int size = collective->size, rank = collective->rank;

    if (args->sendbuf != MPI_IN_PLACE) {
        mpixq_schedule_copy(collective,
                            part_of(collective->send, args->sendtype, 0, args->sendcount),
                            part_of(collective->recv, args->recvtype,
                                    (MPI_Count)rank * args->recvcount, args->recvcount));
        mpixq_schedule_next_round(collective);
    }
    for (int64_t has = 1; has < size; has *= 2) {
        int more = (int)(has < size - has ? has : size - has), tag = collective->n_rounds;
        int before = (int)((rank - has + size) % size), after = (int)((rank + has) % size);

        /* Tags count from the same round on all processes, in place or not. */
        tag -= args->sendbuf != MPI_IN_PLACE;
        write_blocks(collective, false, before, tag, before, more);
        write_blocks(collective, true, after, tag, rank, more);
        mpixq_schedule_next_round(collective);
    }
}

static void write_neighbors(struct mpixq_collective *collective)
{
    const struct mpixq_collective_args *args = &collective->args;
    bool is_v = args->kind == MPIXQ_NEIGHBOR_ALLTOALLV;

    for (int i = 0; i < collective->in.n; i++) {
        MPI_Count count = is_v ? args->recvcounts[i] : args->recvcount;
        MPI_Count first = is_v ? args->rdispls[i] : i * count;

        if (collective->in.peers[i] != MPI_PROC_NULL) {
            mpixq_schedule_recv(collective, collective->in.peers[i], collective->in.tags[i],
                                part_of(collective->recv, args->recvtype, first, count));
        }
    }
    for (int i = 0; i < collective->out.n; i++) {
        MPI_Count count = is_v ? args->sendcounts[i] : args->sendcount;
        MPI_Count first = is_v ? args->sdispls[i] : i * count;

        if (collective->out.peers[i] != MPI_PROC_NULL) {
            mpixq_schedule_send(collective, collective->out.peers[i], collective->out.tags[i],
                                part_of(collective->send, args->sendtype, first, count));
        }
    }
    mpixq_schedule_next_round(collective);
}

bool mpixq_schedule_write(struct mpixq_collective *collective)
{
    static void (*const writers[])(struct mpixq_collective *) = {
        [MPIXQ_BARRIER] = write_barrier,
        [MPIXQ_BCAST] = write_bcast,
        [MPIXQ_ALLREDUCE] = mpixq_schedule_allreduce,
        [MPIXQ_ALLGATHER] = write_allgather,
        [MPIXQ_NEIGHBOR_ALLTOALL] = write_neighbors,
        [MPIXQ_NEIGHBOR_ALLTOALLV] = write_neighbors,
    };

    collective->n_steps = collective->n_rounds = 0;
    collective->lacks_memory = false;
    if (collective->way != MPIXQ_BY_ROUNDS) {
        mpixq_schedule_direct(collective);
    } else {
        writers[collective->args.kind](collective);
    }
    return !collective->lacks_memory;
}
