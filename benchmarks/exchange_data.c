/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * exchange_data.c - what is packed, sent and unpacked, and whether it came through
 *
 * Verification. What came from one side is sent on to the other in the next exchange, and pack adds
 * 1 to every word. So after k exchanges each word tells which rank it came from, as which word of
 * which message, and how many hops it has made; a message that was lost, repeated, torn or mixed up
 * leaves another number.
 */
#include "exchange.h"

#include <stdlib.h>
#include <string.h>

#define GUARD UINT64_C(0x5ca1ab1e5ca1ab1e)
#define POISON UINT64_C(0xdeaddeaddeaddead)

/* Different for every word of every message and rank. The factor keeps them far apart, so that hops
 * do not lead from one to another. */
static uint64_t first_value(int rank, int direction, int message, size_t word)
{
    uint64_t number = ((uint64_t)rank * DIRECTIONS + (uint64_t)direction) * MAX_MESSAGES;

    return ((number + (uint64_t)message) << 28 | word) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Not inline, and with what they need in variables of their own: the stream calls them by their
 * addresses, and the MPI modes must not get better code for the same work. */
static __attribute__((noinline)) void pack(void *arg)
{
    const struct exchange_set *set = arg;
    const struct exchange *ex = set->ex;
    size_t words = ex->words;

    for (int m = 0; m < DIRECTIONS * ex->messages; m++) {
        const uint64_t *data = ex->data + (size_t)m * ex->stride;
        uint64_t *buffer = set->send + (size_t)m * ex->stride;

        for (size_t i = 0; i < words; i++) {
            buffer[i] = data[i] + 1;
        }
    }
}

static __attribute__((noinline)) void unpack(void *arg)
{
    const struct exchange_set *set = arg;
    const struct exchange *ex = set->ex;
    size_t words = ex->words;

    for (int m = 0; m < DIRECTIONS * ex->messages; m++) {
        const uint64_t *buffer = set->recv + (size_t)m * ex->stride;
        uint64_t *data = ex->data + (size_t)m * ex->stride;

        for (size_t i = 0; i < words; i++) {
            data[i] = buffer[i];
        }
    }
}

/* What these do as a kernel. */
static void launch(const struct exchange *ex, uint64_t *to, const uint64_t *from, uint64_t add)
{
    bench_device_words(&(struct bench_words){.from = from,
                                             .to = to,
                                             .add = add,
                                             .words = ex->words,
                                             .stride = ex->stride,
                                             .messages = (size_t)(DIRECTIONS * ex->messages)});
}

static void launch_pack(void *arg)
{
    const struct exchange_set *set = arg;

    launch(set->ex, set->send, set->ex->data, 1);
}

static void launch_unpack(void *arg)
{
    const struct exchange_set *set = arg;

    launch(set->ex, set->ex->data, set->recv, 0);
}

const struct bench_work exchange_packing = {pack, launch_pack};
const struct bench_work exchange_unpacking = {unpack, launch_unpack};

void exchange_begin(void *ctx, enum bench_mode mode)
{
    struct exchange *ex = ctx;
    int all = DIRECTIONS * ex->messages;

    for (int s = 0; s < SETS; s++) {
        struct exchange_set *set = &ex->sets[s];
        bool linked = bench_mode_is_baseline(mode);

        set->send = linked ? (uint64_t *)(void *)set->links[mode].send : set->own_send;
        set->recv = linked ? (uint64_t *)(void *)set->links[mode].recv : set->own_recv;
    }
    for (int m = 0; m < all; m++) {
        for (size_t i = 0; i <= ex->words; i++) {
            ex->image[(size_t)m * ex->stride + i] = i == ex->words ? GUARD : POISON;
        }
    }
    for (int s = 0; s < SETS; s++) {
        /* What goes as one message takes the guards along. */
        bench_memory_copy(ex->sets[s].send, ex->image, block_bytes(ex));
        bench_memory_copy(ex->sets[s].recv, ex->image, block_bytes(ex));
        memcpy(ex->sets[s].mpi_recv, ex->image, block_bytes(ex));
    }
    for (int m = 0; m < all; m++) {
        for (size_t i = 0; i <= ex->words; i++) {
            ex->image[(size_t)m * ex->stride + i] =
                first_value(ex->rank, m / ex->messages, m % ex->messages, i);
        }
    }
    bench_memory_copy(ex->data, ex->image, block_bytes(ex));
}

static long broken_guards(const struct exchange *ex, const uint64_t *recv)
{
    long wrong = 0;

    for (int m = 0; m < DIRECTIONS * ex->messages; m++) {
        wrong += recv[(size_t)m * ex->stride + ex->words] != GUARD;
    }
    return wrong;
}

long exchange_errors(void *ctx, enum bench_mode mode, long iterations)
{
    const struct exchange *ex = ctx;
    long wrong = 0;

    (void)mode;
    for (int s = 0; s < SETS; s++) {
        bench_memory_copy(ex->image, ex->sets[s].recv, block_bytes(ex));
        wrong += broken_guards(ex, ex->image) + broken_guards(ex, ex->sets[s].mpi_recv);
    }
    bench_memory_copy(ex->image, ex->data, block_bytes(ex));
    for (int d = 0; d < DIRECTIONS; d++) {
        /* What travels to the right began its way on the left. */
        int origin = rank_towards(ex, d, -iterations);

        for (int m = 0; m < ex->messages; m++) {
            const uint64_t *data = ex->image + (size_t)(d * ex->messages + m) * ex->stride;

            for (size_t i = 0; i < ex->words; i++) {
                wrong += data[i] != first_value(origin, d, m, i) + (uint64_t)iterations;
            }
        }
    }
    return wrong;
}

/* The parts of the links. To one and the same rank all messages may go as one, since they lie one
 * behind the other at both ends; otherwise those of a direction. */
void exchange_make_parts(struct exchange *ex)
{
    bool same = rank_towards(ex, RIGHT, 1) == rank_towards(ex, LEFT, 1);
    int num = DIRECTIONS * ex->messages, each;

    ex->sends = bench_alloc((size_t)num * sizeof *ex->sends);
    ex->recvs = bench_alloc((size_t)num * sizeof *ex->recvs);
    for (int i = 0; i < num; i++) {
        int d = i / ex->messages;
        struct bench_part part = {.peer = rank_towards(ex, d, 1),
                                  .tag = i,
                                  .offset = (size_t)i * ex->stride * sizeof *ex->data,
                                  .bytes = ex->words * sizeof *ex->data};

        ex->sends[i] = part;
        part.peer = rank_towards(ex, d, -1);
        ex->recvs[i] = part;
    }
    ex->num_few = same ? 1 : DIRECTIONS;
    each = num / ex->num_few;
    for (int i = 0; i < ex->num_few; i++) {
        ex->few_sends[i] = ex->sends[i * each];
        ex->few_recvs[i] = ex->recvs[i * each];
        ex->few_sends[i].tag = ex->few_recvs[i].tag = i;
        ex->few_sends[i].bytes = ex->few_recvs[i].bytes =
            ((size_t)(each - 1) * ex->stride + ex->words) * sizeof *ex->data;
    }
}

void exchange_free_parts(struct exchange *ex)
{
    free(ex->sends);
    free(ex->recvs);
}
