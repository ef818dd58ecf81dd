/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_loop.c - the mode device-loop: one kernel at each end makes all round trips of a batch, by
 * handles of requests, without their buffers
 */
#include <mpix_queue_device.h>

#include "bench_queue.h"

#include <stdlib.h>

#include "kernels_fused.h"

static const unsigned long long limit_ns = 10000000000; /* then the data is wrong */

enum { WARP = 32, MOST_THREADS = 512 };

struct own {
    MPI_Request recv, send;
    struct bench_loop all;
};

static const char *find(void)
{
    return bench_graphs_are_there() ? NULL : "graphs"; /* what starts from kernels needs */
}

static void make(struct bench_link *link)
{
    const struct bench_part *send = link->sends, *recv = link->recvs;
    struct own *own = bench_alloc(sizeof *own);
    MPI_Request requests[2];

    link->send = bench_memory(link->bytes);
    link->recv = bench_memory(link->bytes);
    MPI_Recv_init(link->recv + recv->offset, (int)recv->bytes, MPI_BYTE, recv->peer, recv->tag,
                  MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(link->send + send->offset, (int)send->bytes, MPI_BYTE, send->peer, send->tag,
                  MPI_COMM_WORLD, &requests[1]);
    MPIX_Matchall(2, requests);
    *own = (struct own){.recv = requests[0],
                        .send = requests[1],
                        .all = {.from = (void *)(link->send + send->offset),
                                .to = (void *)(link->recv + recv->offset),
                                .words = send->bytes / sizeof(uint64_t),
                                .limit_ns = limit_ns}};
    bench_queue_handles(link->queue, link->mode, send->bytes, &own->recv, &own->send,
                        &own->all.recv, &own->all.send);
    link->own = own;
}

static void unmake(struct bench_link *link)
{
    struct own *own = link->own;

    MPIX_Device_request_free(1, &own->all.recv);
    MPIX_Device_request_free(1, &own->all.send);
    MPI_Request_free(&own->recv);
    MPI_Request_free(&own->send);
    bench_memory_free(link->send);
    bench_memory_free(link->recv);
    free(own);
}

static void bounce(struct bench_link *link, bool leads, long rounds)
{
    const struct own *own = link->own;
    struct bench_loop all = own->all;
    size_t threads = (all.words + WARP - 1) / WARP * WARP;
    void *parameters[] = {&all};

    all.rounds = (unsigned long long)rounds;
    all.leads = leads;
    threads = threads < WARP ? WARP : threads < MOST_THREADS ? threads : MOST_THREADS;
    bench_device_start(BENCH_KERNEL_LOOP, 1, 1, (unsigned)threads, parameters);
    link->counts->launches += 1;
}

const struct bench_baseline bench_device_loop = {
    .name = "ipc",
    .on_queue = true,
    .operations = 1,
    .find = find,
    .make = make,
    .unmake = unmake,
    .bounce = bounce,
};
