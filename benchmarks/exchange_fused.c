/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * exchange_fused.c - an exchange as one kernel, which packs, puts, gets and unpacks: the messages
 * of a set of requests by handles, without its buffers
 */
#include <mpix_queue_device.h>

#include "exchange.h"

#include <stdlib.h>

#include "kernels_fused.h"

/* Threads of a block, and words that each of them has at most. */
enum { MOST_THREADS = 512, WARP = 32, WORDS_OF_THREAD = 2 };

bool exchange_fused_fits(const struct exchange *ex, const struct bench_options *opts)
{
    if (!opts->use_mode[BENCH_FUSED] && !opts->use_mode[BENCH_FUSED_GRAPH]) {
        return true;
    }
    if (num_messages(ex) > BENCH_FUSED_MESSAGES) {
        bench_complain(opts, "the modes stream-fused take at most %d messages to each neighbour",
                       BENCH_FUSED_MESSAGES / ex->directions);
        return false;
    }
    return true;
}

static void make_handles(struct exchange_set *set, enum bench_mode mode, int message)
{
    const struct exchange *ex = set->ex;
    struct bench_fused *fused = set->fused[mode];
    MPI_Request *recv = &set->requests[mode][message];

    bench_queue_handles(ex->bq.queue, mode, ex->words * sizeof *ex->data, recv,
                        recv + num_messages(ex), &fused->recv[message], &fused->send[message]);
}

void exchange_fused_open(struct exchange_set *set, enum bench_mode mode)
{
    const struct exchange *ex = set->ex;
    int n = num_messages(ex);

    set->fused[mode] = bench_alloc(sizeof *set->fused[mode]);
    *set->fused[mode] = (struct bench_fused){.data = (unsigned long long *)(void *)ex->data,
                                             .words = ex->words,
                                             .stride = ex->stride,
                                             .messages = (unsigned long long)n};
    for (int i = 0; i < n; i++) {
        /* Where it is this rank, the sender is as well. */
        if (ex->peers[i / ex->messages] != ex->rank) {
            make_handles(set, mode, i);
        }
    }
}

void exchange_fused_close(struct exchange_set *set, enum bench_mode mode)
{
    struct bench_fused *fused = set->fused[mode];
    int n = num_messages(set->ex);

    /* Of those that are all zero there is nothing to free. */
    MPIX_Device_request_free(n, fused->recv);
    MPIX_Device_request_free(n, fused->send);
    free(fused);
    set->fused[mode] = NULL;
}

void exchange_fused_launch(const struct exchange_set *set, enum bench_mode mode)
{
    struct bench_fused *fused = set->fused[mode];
    size_t threads = (fused->words + WARP - 1) / WARP * WARP, blocks;
    void *parameters[] = {fused};

    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    blocks = (fused->words + threads * WORDS_OF_THREAD - 1) / (threads * WORDS_OF_THREAD);
    bench_device_start(BENCH_KERNEL_FUSED, blocks, fused->messages, (unsigned)threads, parameters);
}
