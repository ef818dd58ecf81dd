/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_put_device.c - the modes device-put and put-loop: puts with signals in a kernel, which
 * waits for those of the peers as well, and resets their signal
 *
 * A block of threads puts a part of a message, as in the modes of NVSHMEM, and one signal counts
 * all parts that come. Why the peers put no earlier than it was reset: bench_put.c.
 */
#include "bench_queue.h"

#include <mpix_queue_device_rma.h>
#include <stdlib.h>

#include "kernels.h"
#include "kernels_puts.h"

static const unsigned long long limit_ns = 10000000000; /* then the data is wrong */

struct own {
    MPIX_Window win;
    MPIX_Signal came;
    unsigned char *memory;           /* what is sent, and behind it what is received */
    MPIX_Device_transfer *transfers; /* in memory of the device */
    struct bench_device_puts all;
    unsigned threads;
};

/* A kernel of one block puts a message whole. */
static size_t part_bytes(enum bench_mode mode, size_t bytes)
{
    return bench_mode_loops(mode) ? bytes : bench_put_part_bytes(bytes);
}

/* One, if there is nothing to put. */
static int num_parts(enum bench_mode mode, size_t bytes)
{
    size_t each = part_bytes(mode, bytes);

    return bytes == 0 ? 1 : (int)((bytes + each - 1) / each);
}

static void make_blocks(const struct bench_link *link, MPIX_Signal signal, size_t at, size_t bytes,
                        MPIX_Blk blocks[])
{
    MPIX_Window win = ((const struct own *)link->own)->win;
    size_t each = part_bytes(link->mode, bytes), first = 0;

    for (int p = 0; p < num_parts(link->mode, bytes); p++) {
        size_t left = bytes - first, own = left < each ? left : each;

        MPIX_Blk_init(win, (MPI_Aint)(at + first), (MPI_Aint)own, signal, &blocks[p]);
        first += own;
    }
}

/* Handles of what is sent. The tags of the messages tell which blocks belong to which of them. */
static void make_transfers(const struct bench_link *link, struct own *own)
{
    size_t num = (size_t)link->num, parts = (size_t)own->all.parts, bytes = sizeof(MPIX_Blk);
    MPIX_Blk *mine = bench_alloc(3 * num * BENCH_PUT_PARTS * bytes);
    MPIX_Blk *local = mine + num * BENCH_PUT_PARTS, *remote = local + num * BENCH_PUT_PARTS;
    MPI_Request *requests = bench_alloc(2 * num * sizeof *requests);
    MPIX_Device_transfer *transfers = bench_alloc(num * parts * sizeof *transfers);

    for (size_t i = 0; i < num; i++) {
        const struct bench_part *recv = &link->recvs[i], *send = &link->sends[i];
        size_t at = i * BENCH_PUT_PARTS;

        make_blocks(link, own->came, link->bytes + recv->offset, recv->bytes, &mine[at]);
        make_blocks(link, MPIX_SIGNAL_NULL, send->offset, send->bytes, &local[at]);
        PMPI_Irecv(&remote[at], num_parts(link->mode, send->bytes) * (int)bytes, MPI_BYTE,
                   send->peer, BENCH_MAX_PARTS + send->tag, MPI_COMM_WORLD, &requests[i]);
        PMPI_Isend(&mine[at], num_parts(link->mode, recv->bytes) * (int)bytes, MPI_BYTE, recv->peer,
                   BENCH_MAX_PARTS + recv->tag, MPI_COMM_WORLD, &requests[num + i]);
    }
    PMPI_Waitall(2 * link->num, requests, MPI_STATUSES_IGNORE);
    for (size_t i = 0; i < num; i++) {
        for (int p = 0; p < num_parts(link->mode, link->sends[i].bytes); p++) {
            size_t at = i * BENCH_PUT_PARTS + (size_t)p;

            MPIX_Device_transfer_init(&local[at], &remote[at], &transfers[i * parts + (size_t)p]);
        }
    }
    own->transfers = bench_memory(num * parts * sizeof *transfers);
    bench_memory_copy(own->transfers, transfers, num * parts * sizeof *transfers);
    free(transfers);
    free(requests);
    free(mine);
}

static void make(struct bench_link *link)
{
    struct own *own = bench_alloc(sizeof *own);
    int events = 0, parts = 1;
    size_t largest = 0; /* of the parts */

    for (int i = 0; i < link->num; i++) {
        size_t bytes = link->sends[i].bytes;

        events += num_parts(link->mode, link->recvs[i].bytes);
        parts = num_parts(link->mode, bytes) > parts ? num_parts(link->mode, bytes) : parts;
        bytes = bytes < part_bytes(link->mode, bytes) ? bytes : part_bytes(link->mode, bytes);
        largest = bytes > largest ? bytes : largest;
    }
    own->memory = bench_memory(2 * link->bytes);
    link->send = own->memory;
    link->recv = own->memory + link->bytes;
    MPIX_Window_create(own->memory, (MPI_Aint)(2 * link->bytes), MPI_COMM_WORLD, MPI_INFO_NULL,
                       &own->win);
    MPIX_Signal_init(own->win, events, &own->came);
    own->all = (struct bench_device_puts){.parts = (unsigned)parts, .limit_ns = limit_ns};
    MPIX_Device_signal_init(own->came, &own->all.came);
    own->threads = bench_put_threads(largest);
    link->own = own;
    make_transfers(link, own);
    own->all.transfers = own->transfers;
}

static void unmake(struct bench_link *link)
{
    struct own *own = link->own;

    MPIX_Window_free(&own->win);
    bench_memory_free(own->transfers);
    bench_memory_free(own->memory);
    free(own);
}

static void move(struct bench_link *link, int what)
{
    const struct own *own = link->own;
    bool sends = (what & BENCH_SENDS) != 0;
    struct bench_device_puts all = own->all;
    void *parameters[] = {&all};

    if ((what & (BENCH_SENDS | BENCH_RECVS)) == 0) {
        return;
    }
    all.messages = sends ? (unsigned)link->num : 0;
    all.waits = (what & BENCH_RECVS) != 0;
    bench_device_start(BENCH_KERNEL_PUTS, sends ? (size_t)all.parts : 1,
                       sends ? (size_t)link->num : 1, own->threads, parameters);
    link->counts->launches += 1;
}

static void bounce(struct bench_link *link, bool leads, long rounds)
{
    const struct own *own = link->own;
    struct bench_put_loop loop = {
        .all = own->all, .rounds = (unsigned long long)rounds, .leads = leads};
    void *parameters[] = {&loop};

    loop.all.messages = 1;
    bench_device_start(BENCH_KERNEL_PUT_LOOP, 1, 1, own->threads, parameters);
    link->counts->launches += 1;
}

/* ---- Is it there? ---------------------------------------------------------------------------- */

static int try_queue(const MPIX_Blk *block)
{
    MPIX_Queue queue;
    int rc = bench_queue_on_device(&queue);

    if (rc == MPI_SUCCESS) {
        rc = MPIX_Enqueue_put(queue, block, block);
        rc = rc == MPI_SUCCESS ? MPIX_Queue_wait(queue) : rc;
        MPIX_Queue_free(&queue);
    }
    return rc;
}

/* A window of a few bytes: can it be made, and used on a queue? */
const char *bench_put_on_device(bool on_queue)
{
    enum { BYTES = 64 };
    static char text[MPI_MAX_ERROR_STRING + 1];
    void *memory = bench_memory(BYTES);
    MPI_Errhandler handler;
    MPIX_Window win;
    MPIX_Blk block;
    int rc, length;

    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rc = MPIX_Window_create(memory, BYTES, MPI_COMM_WORLD, MPI_INFO_NULL, &win);
    if (rc == MPI_SUCCESS) {
        rc = MPIX_Blk_init(win, 0, BYTES, MPIX_SIGNAL_NULL, &block);
        rc = rc == MPI_SUCCESS && on_queue ? try_queue(&block) : rc;
        MPIX_Window_free(&win);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    bench_memory_free(memory);
    if (rc == MPI_SUCCESS) {
        return NULL;
    }
    MPI_Error_string(rc, text, &length);
    return text;
}

static const char *find(void)
{
    return bench_put_on_device(false);
}

const struct bench_baseline bench_device_put = {
    .name = "put",
    .operations = 1,
    .find = find,
    .make = make,
    .unmake = unmake,
    .move = move,
    .bounce = bounce,
};
