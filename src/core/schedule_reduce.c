/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Reductions whose result all processes get. The result grows in the program's receive buffer; what
 * comes from others arrives in memory of ours, as long as that buffer is.
 *
 * As many processes as a power of two take part in the exchanges; each of the others gives its
 * contribution to its left neighbour first, and gets the result last. In exchange k each process
 * combines what it has with what the one whose number differs in bit k has: the contributions of
 * 2^(k + 1) neighbours then, in the order of ranks. For short vectors that is all. Of longer ones
 * the two divide the work: each combines one half of what both have, and half of the vector is left
 * to it, a quarter in the next exchange, and so on; the same exchanges in reverse order then give
 * everybody all of it. */
#include "collective_gpus.h"
#include "schedule.h"

#include <stdint.h>

#include "comm/layout.h"
#include "util/alloc.h"

enum {
    LONG_BYTES = 32 * 1024, /* from here on the work is divided */
    TAG_FOLD = 0,
    TAG_UNFOLD = 1,
    TAG_EXCHANGE = 2, /* and so on, one for each bit */
    TAG_GATHER = 64
};

/* A process that takes part, and its numbers. */
struct member {
    struct mpixq_collective *collective;
    MPI_Aint extent;
    char *arrived; /* as args.recvbuf, for what comes from others */
    int number, n; /* among those that take part, a power of two */
    int doubled;   /* so many of these stand for two processes each, which come first */
};

static struct mpixq_span piece_of(const struct member *me, char *array, MPI_Count first,
                                  MPI_Count end)
{
    return (struct mpixq_span){.at = array + first * me->extent,
                               .count = end - first,
                               .type = me->collective->args.recvtype};
}

/* The end of a process's share of the vector, if all get shares: the first element of the next. */
static MPI_Count share(const struct member *me, int number)
{
    return (MPI_Count)me->collective->args.recvcount * number / me->n;
}

static int rank_of(const struct member *me, int number)
{
    return number < me->doubled ? 2 * number : number + me->doubled;
}

/* Combine elements that have arrived with those that are here, which belong before or after. The
 * two processes that do this must get the same: so the order counts but where MPI's own operations
 * give the same in both. */
static void combine(const struct member *me, MPI_Count first, MPI_Count end, bool mine_is_first)
{
    struct mpixq_span mine = piece_of(me, me->collective->recv, first, end);
    struct mpixq_span theirs = piece_of(me, me->arrived, first, end);

    if (mine_is_first && me->collective->keeps_order) {
        mpixq_schedule_reduce(me->collective, mine, theirs);
        mpixq_schedule_copy(me->collective, theirs, mine);
    } else {
        mpixq_schedule_reduce(me->collective, theirs, mine);
    }
}

static void exchange_all(const struct member *me)
{
    MPI_Count count = me->collective->args.recvcount;
    int tag = TAG_EXCHANGE;

    for (int bit = 1; bit < me->n; bit *= 2, tag++) {
        int peer = rank_of(me, me->number ^ bit);

        mpixq_schedule_recv(me->collective, peer, tag, piece_of(me, me->arrived, 0, count));
        mpixq_schedule_send(me->collective, peer, tag,
                            piece_of(me, me->collective->recv, 0, count));
        combine(me, 0, count, (me->number & bit) == 0);
        mpixq_schedule_next_round(me->collective);
    }
}

/* Shares from low to high, of which one half is mine and the other one the peer's. */
struct halves {
    int low, middle, high;
    bool is_lower; /* my half */
};

static struct halves halve(const struct member *me, int low, int high, int bit)
{
    return (struct halves){low, low + (high - low) / 2, high, (me->number & bit) == 0};
}

static void swap_halves(const struct member *me, struct halves of, int peer, int tag, bool gathers)
{
    int mine = of.is_lower ? of.low : of.middle, theirs = of.is_lower ? of.middle : of.low;
    int half = of.middle - of.low, given = gathers ? mine : theirs, got = gathers ? theirs : mine;
    char *result = me->collective->recv;

    mpixq_schedule_recv(
        me->collective, peer, tag,
        piece_of(me, gathers ? result : me->arrived, share(me, got), share(me, got + half)));
    mpixq_schedule_send(me->collective, peer, tag,
                        piece_of(me, result, share(me, given), share(me, given + half)));
    if (!gathers) {
        combine(me, share(me, mine), share(me, mine + half), of.is_lower);
    }
    mpixq_schedule_next_round(me->collective);
}

static void exchange_halves(const struct member *me)
{
    struct halves done[32];
    int n = 0, low = 0, high = me->n;

    for (int bit = 1; bit < me->n; bit *= 2, n++) {
        done[n] = halve(me, low, high, bit);
        swap_halves(me, done[n], rank_of(me, me->number ^ bit), TAG_EXCHANGE + n, false);
        low = done[n].is_lower ? low : done[n].middle;
        high = done[n].is_lower ? done[n].middle : high;
    }
    while (n-- > 0) {
        swap_halves(me, done[n], rank_of(me, me->number ^ (1 << n)), TAG_GATHER + n, true);
    }
}

/* Room for a vector as it lies in the receive buffer. */
static char *make_work(struct mpixq_collective *collective)
{
    const struct mpixq_collective_args *args = &collective->args;
    MPI_Count first = 0;
    uint64_t bytes = 0;

    (void)mpixq_type_reach(args->recvtype, args->recvcount, &first, &bytes);
    mpixq_free(collective->work);
    collective->work = mpixq_alloc((size_t)bytes + 1); /* freed with the collective */
    collective->lacks_memory |= collective->work == NULL;
    return collective->lacks_memory ? NULL : collective->work - first;
}

static void write_member(struct member *me)
{
    struct mpixq_collective *collective = me->collective;
    MPI_Count count = collective->args.recvcount;
    int rank = collective->rank;
    struct mpixq_span all = piece_of(me, collective->recv, 0, count);

    if (rank < 2 * me->doubled && rank % 2 == 1) {
        mpixq_schedule_send(collective, rank - 1, TAG_FOLD, all);
        mpixq_schedule_next_round(collective);
        mpixq_schedule_recv(collective, rank - 1, TAG_UNFOLD, all);
        mpixq_schedule_next_round(collective);
        return;
    }
    me->number = rank < 2 * me->doubled ? rank / 2 : rank - me->doubled;
    if (rank < 2 * me->doubled) {
        mpixq_schedule_recv(collective, rank + 1, TAG_FOLD, piece_of(me, me->arrived, 0, count));
        combine(me, 0, count, true);
        mpixq_schedule_next_round(collective);
    }
    if (mpixq_type_bytes(collective->args.recvtype, count) >= LONG_BYTES && count >= me->n) {
        exchange_halves(me);
    } else {
        exchange_all(me);
    }
    if (rank < 2 * me->doubled) {
        mpixq_schedule_send(collective, rank + 1, TAG_UNFOLD, all);
        mpixq_schedule_next_round(collective);
    }
}

void mpixq_schedule_allreduce(struct mpixq_collective *collective)
{
    const struct mpixq_collective_args *args = &collective->args;
    struct member me = {.collective = collective, .n = 1};
    MPI_Aint lower;

    if (args->recvcount == 0) {
        return;
    }
    (void)PMPI_Type_get_extent(args->recvtype, &lower, &me.extent);
    while (me.n <= collective->size / 2) {
        me.n *= 2;
    }
    me.doubled = collective->size - me.n;
    /* MPI libraries that have the type need not have the operation: MPICH 4.0 ends the process. */
    collective->is_of_halves =
        mpixq_collective_can_combine(collective) && collective->combine.number >= MPIXQ_FLOAT16;
    if (args->sendbuf != MPI_IN_PLACE) {
        mpixq_schedule_copy(collective,
                            piece_of(&me, (char *)(uintptr_t)collective->send, 0, args->recvcount),
                            piece_of(&me, collective->recv, 0, args->recvcount));
        mpixq_schedule_next_round(collective);
    }
    if (collective->size > 1) {
        me.arrived = make_work(collective);
        write_member(&me);
    }
}
