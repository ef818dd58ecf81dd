/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Calls the kernels of benchmarks that put with signals, and those that loop.
 */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#include "../../benchmarks/kernels_host.h"
#include "double.h"

void bench_puts(struct bench_device_puts all) __attribute__((weak));
void bench_loop(struct bench_loop all) __attribute__((weak));
void bench_put_loop(struct bench_put_loop all) __attribute__((weak));

static void *reach_or_null(const void *address, size_t bytes)
{
    return address == NULL ? NULL : hip_double_reach(address, bytes);
}

/* Returns the transfers, which are to be freed behind the kernel. */
static struct mpixq_device_transfer *reach_puts(struct bench_device_puts *all)
{
    size_t bytes = (size_t)(all->messages * all->parts) * sizeof(*all->transfers);
    struct mpixq_device_transfer *transfers = malloc(bytes + 1);

    memcpy(transfers, hip_double_reach((void *)(uintptr_t)all->transfers, bytes), bytes);
    for (size_t i = 0; i < bytes / sizeof(*transfers); i++) {
        hip_reach_transfer(&transfers[i]);
    }
    all->transfers = transfers;
    all->came.word = reach_or_null(all->came.word, sizeof(uint64_t));
    all->came.failed = reach_or_null(all->came.failed, sizeof(uint64_t));
    return transfers;
}

void hip_run_bench_puts(const void *parameters)
{
    struct bench_device_puts all = *(const struct bench_device_puts *)parameters;
    struct mpixq_device_transfer *transfers = reach_puts(&all);

    bench_puts(all);
    free(transfers);
}

void hip_run_bench_put_loop(const void *parameters)
{
    struct bench_put_loop loop = *(const struct bench_put_loop *)parameters;
    struct mpixq_device_transfer *transfers = reach_puts(&loop.all);

    bench_put_loop(loop);
    free(transfers);
}

void hip_run_bench_loop(const void *parameters)
{
    struct bench_loop all = *(const struct bench_loop *)parameters;

    hip_reach_handle(&all.send);
    hip_reach_handle(&all.recv);
    all.from = hip_double_reach(all.from, all.words * sizeof(*all.from));
    all.to = hip_double_reach(all.to, all.words * sizeof(*all.to));
    bench_loop(all);
}
