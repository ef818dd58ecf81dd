/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * exchange_data.c - what is packed, sent and unpacked, and whether it came through
 *
 * Verification. What came from one side is sent on to the opposite one in the next exchange, and
 * pack adds 1 to every word. So after k exchanges each word tells which rank it came from, as which
 * word of which message, and how many hops it has made; a message that was lost, repeated, torn or
 * mixed up leaves another number.
 */
#include "exchange.h"

#include <string.h>

#define GUARD UINT64_C(0x5ca1ab1e5ca1ab1e)
#define POISON UINT64_C(0xdeaddeaddeaddead)

/* Different for every word of every message and rank. The factor keeps them far apart, so that hops
 * do not lead from one to another. */
static uint64_t first_value(int rank, int direction, int message, size_t word)
{
    uint64_t number = ((uint64_t)rank * GRID_DIRECTIONS + (uint64_t)direction) * MAX_MESSAGES;

    return ((number + (uint64_t)message) << 28 | word) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Not inline, and with what they need in variables of their own: the stream calls them by their
 * addresses, and the MPI modes must not get better code for the same work. */
static __attribute__((noinline)) void pack(void *arg)
{
    const struct exchange_set *set = arg;
    const struct exchange *ex = set->ex;
    size_t words = ex->words;

    for (int m = 0; m < num_messages(ex); m++) {
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

    for (int m = 0; m < num_messages(ex); m++) {
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
                                             .messages = (size_t)num_messages(ex)});
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
    int all = num_messages(ex);

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

    for (int m = 0; m < num_messages(ex); m++) {
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
    for (int d = 0; d < ex->directions; d++) {
        /* What travels to the right, say, began its way on the left. */
        int origin = exchange_towards(ex, d, -iterations);

        for (int m = 0; m < ex->messages; m++) {
            const uint64_t *data = ex->image + (size_t)(d * ex->messages + m) * ex->stride;

            for (size_t i = 0; i < ex->words; i++) {
                wrong += data[i] != first_value(origin, d, m, i) + (uint64_t)iterations;
            }
        }
    }
    return wrong;
}
