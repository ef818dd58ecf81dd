/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_put.c - the modes host-put, stream-put and stream-put-graph, and host-put-alloc and
 * stream-put-alloc: puts with signals of this library, by the host, enqueued, or in a graph
 *
 * Both blocks of a link are one window. One signal counts what comes, another what has left, so a
 * rank that has waited for both may read what it received and write what it sends. A link is
 * started again only after that, and the benchmarks see to the rest (halo_exchange.c says how): a
 * peer puts once it knows that what it put before was read. All parts are one plan. On a stream of
 * a device what was put has left when the stream has passed the put: no signal counts that.
 */
#include "bench.h"

#include <mpix_queue_rma.h>
#include <stdlib.h>

struct own {
    MPIX_Window win;
    MPIX_Signal came, left; /* left: none on a device */
    MPIX_Plan plan;
    unsigned char *memory; /* what is sent, and behind it what is received */
    uint64_t settled;      /* starts whose parts have left */
};

/* The tags of the parts tell which block belongs to which of them. */
static void make_plan(struct bench_link *link, struct own *own)
{
    size_t num = (size_t)link->num;
    MPIX_Blk *mine = bench_alloc(3 * num * sizeof *mine), *local = mine + num,
             *remote = local + num;
    MPI_Request *requests = bench_alloc(2 * num * sizeof *requests);

    for (size_t i = 0; i < num; i++) {
        const struct bench_part *recv = &link->recvs[i], *send = &link->sends[i];

        MPIX_Blk_init(own->win, (MPI_Aint)(link->bytes + recv->offset), (MPI_Aint)recv->bytes,
                      own->came, &mine[i]);
        MPIX_Blk_init(own->win, (MPI_Aint)send->offset, (MPI_Aint)send->bytes, own->left,
                      &local[i]);
        PMPI_Irecv(&remote[i], sizeof *remote, MPI_BYTE, send->peer, BENCH_MAX_PARTS + send->tag,
                   MPI_COMM_WORLD, &requests[i]);
        PMPI_Isend(&mine[i], sizeof *mine, MPI_BYTE, recv->peer, BENCH_MAX_PARTS + recv->tag,
                   MPI_COMM_WORLD, &requests[num + i]);
    }
    PMPI_Waitall(2 * link->num, requests, MPI_STATUSES_IGNORE);
    MPIX_Plan_create(link->num, local, remote, &own->plan);
    free(requests);
    free(mine);
}

/* By the library, with the window. */
static bool is_allocated(const struct bench_link *link)
{
    return link->mode == BENCH_HOST_PUT_ALLOC || link->mode == BENCH_STREAM_PUT_ALLOC;
}

/* All ranks as much as any of them needs. */
static void allocate(const struct bench_link *link, struct own *own)
{
    unsigned long long bytes = 2 * link->bytes;

    MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    MPIX_Window_allocate((MPI_Aint)bytes, MPI_COMM_WORLD, MPI_INFO_NULL, &own->memory, &own->win);
}

static void make(struct bench_link *link)
{
    struct own *own = bench_alloc(sizeof *own);

    if (is_allocated(link)) {
        allocate(link, own);
    } else {
        own->memory = bench_memory(2 * link->bytes);
        MPIX_Window_create(own->memory, (MPI_Aint)(2 * link->bytes), MPI_COMM_WORLD, MPI_INFO_NULL,
                           &own->win);
    }
    link->send = own->memory;
    link->recv = own->memory + link->bytes;
    MPIX_Signal_init(own->win, link->num, &own->came);
    own->left = MPIX_SIGNAL_NULL;
    if (!bench_on_device()) {
        MPIX_Signal_init(own->win, link->num, &own->left);
    }
    make_plan(link, own);
    link->own = own;
}

static void unmake(struct bench_link *link)
{
    struct own *own = link->own;

    MPIX_Plan_free(&own->plan);
    MPIX_Window_free(&own->win);
    if (!is_allocated(link)) {
        bench_memory_free(own->memory);
    }
    free(own);
}

static void move(struct bench_link *link, int what)
{
    struct own *own = link->own;

    if ((what & BENCH_SENDS) != 0) {
        MPIX_Plan_start(own->plan);
        link->counts->posts += link->num;
    }
    if ((what & BENCH_RECVS) != 0) {
        MPIX_Signal_wait_reset(own->came);
    }
    if ((what & (BENCH_RECVS | BENCH_REST)) != 0 && own->settled < link->sent) {
        MPIX_Signal_wait_reset(own->left);
        own->settled = link->sent;
    }
}

static void enqueue_move(struct bench_link *link, int what)
{
    struct own *own = link->own;

    if ((what & BENCH_SENDS) != 0) {
        MPIX_Enqueue_plan_start(link->queue, own->plan);
    }
    if ((what & BENCH_RECVS) != 0) {
        MPIX_Enqueue_signal_wait_reset(link->queue, own->came);
    }
    if (own->left != MPIX_SIGNAL_NULL && (what & (BENCH_RECVS | BENCH_REST)) != 0 &&
        own->settled < link->sent) {
        MPIX_Enqueue_signal_wait_reset(link->queue, own->left);
        own->settled = link->sent;
    }
}

const struct bench_baseline bench_host_put = {
    .name = "put",
    .by_host = true,
    .make = make,
    .unmake = unmake,
    .move = move,
};

static const char *find_on_queue(void)
{
    return bench_on_device() ? bench_put_on_device(true) : NULL;
}

const struct bench_baseline bench_stream_put = {
    .name = "put",
    .on_queue = true,
    .operations = 5,
    .find = find_on_queue,
    .make = make,
    .unmake = unmake,
    .move = enqueue_move,
};
