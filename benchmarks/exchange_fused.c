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
    if (DIRECTIONS * ex->messages > BENCH_FUSED_MESSAGES) {
        bench_complain(opts, "the modes stream-fused take at most %d messages to each neighbour",
                       BENCH_FUSED_MESSAGES / DIRECTIONS);
        return false;
    }
    return true;
}

void exchange_fused_open(struct exchange_set *set, enum bench_mode mode)
{
    const struct exchange *ex = set->ex;
    int n = DIRECTIONS * ex->messages;
    struct bench_fused *fused = bench_alloc(sizeof *fused);

    *fused = (struct bench_fused){.data = (unsigned long long *)(void *)ex->data,
                                  .words = ex->words,
                                  .stride = ex->stride,
                                  .messages = (unsigned long long)n};
    MPIX_Device_request_create(n, set->requests[mode], ex->bq.queue, fused->recv);
    MPIX_Device_request_create(n, set->requests[mode] + n, ex->bq.queue, fused->send);
    for (int i = 0; i < n; i++) {
        if (!MPIX_Device_has_elements(&fused->send[i]) ||
            !MPIX_Device_has_elements(&fused->recv[i])) {
            fprintf(stderr,
                    "benchmark: mode %s: no slots for messages of %zu bytes: raise MPIXQ_EAGER "
                    "(65536 at most), or take fewer modes\n",
                    bench_mode_names[mode], ex->words * sizeof *ex->data);
            MPI_Abort(MPI_COMM_WORLD, BENCH_EXIT_USAGE);
        }
    }
    set->fused[mode] = fused;
}

void exchange_fused_close(struct exchange_set *set, enum bench_mode mode)
{
    struct bench_fused *fused = set->fused[mode];
    int n = DIRECTIONS * set->ex->messages;

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
