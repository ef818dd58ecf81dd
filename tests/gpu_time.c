/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * How long a hop between two ranks takes, and an exchange of eight messages, on streams of a GPU
 * and driven by the host. Prints lines for people; as a test it only runs a few. No verdict.
 *
 *     gpu_time [ROUNDS]
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>

#include "mtest_gpu.h"

enum { MOST = 8, TAG = 7 };

struct bench {
    void *stream;
    MPIX_Queue queue;
    int rounds, n;
    size_t bytes;
    enum mtest_memory memory;
    char *out[MOST], *in[MOST], *host_out, *host_in;
    MPI_Request all[2 * MOST], *sends, *receives;
};

static void make(struct bench *b)
{
    int peer = 1 - mtest_rank;

    b->receives = b->all;
    b->sends = b->all + b->n;
    for (int i = 0; i < b->n; i++) {
        b->out[i] = mtest_gpu_alloc(b->memory, b->bytes);
        b->in[i] = mtest_gpu_alloc(b->memory, b->bytes);
        MTEST_OK(MPI_Recv_init(b->in[i], (int)b->bytes, MPI_BYTE, peer, TAG + i, MPI_COMM_WORLD,
                               &b->receives[i]));
        MTEST_OK(MPI_Send_init(b->out[i], (int)b->bytes, MPI_BYTE, peer, TAG + i, MPI_COMM_WORLD,
                               &b->sends[i]));
    }
    MTEST_OK(MPIX_Matchall(2 * b->n, b->all));
    b->host_out = mtest_gpu_alloc(MTEST_PINNED, b->bytes);
    b->host_in = mtest_gpu_alloc(MTEST_PINNED, b->bytes);
}

static void unmake(struct bench *b)
{
    for (int i = 0; i < b->n; i++) {
        MTEST_OK(MPI_Request_free(&b->sends[i]));
        MTEST_OK(MPI_Request_free(&b->receives[i]));
        mtest_gpu_free(b->memory, b->out[i]);
        mtest_gpu_free(b->memory, b->in[i]);
    }
    mtest_gpu_free(MTEST_PINNED, b->host_out);
    mtest_gpu_free(MTEST_PINNED, b->host_in);
}

static void half_hop(struct bench *b, MPI_Request *r)
{
    MTEST_OK(MPIX_Enqueue_start(b->queue, r));
    MTEST_OK(MPIX_Enqueue_wait(b->queue, r));
}

/* There and back, all of it enqueued before the first is done. */
static void hops_on_stream(struct bench *b)
{
    for (int k = 0; k < b->rounds; k++) {
        half_hop(b, mtest_rank == 0 ? &b->sends[0] : &b->receives[0]);
        half_hop(b, mtest_rank == 0 ? &b->receives[0] : &b->sends[0]);
    }
    MTEST_OK(MPIX_Queue_wait(b->queue));
}

static void send_by_host(struct bench *b)
{
    if (b->memory == MTEST_DEVICE) {
        mtest_gpu_copy(b->stream, b->host_out, b->out[0], b->bytes);
    }
    mtest_gpu_synchronize(b->stream);
    MPI_Send(b->host_out, (int)b->bytes, MPI_BYTE, 1 - mtest_rank, TAG, MPI_COMM_WORLD);
}

static void receive_by_host(struct bench *b)
{
    MPI_Recv(b->host_in, (int)b->bytes, MPI_BYTE, 1 - mtest_rank, TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (b->memory == MTEST_DEVICE) {
        mtest_gpu_copy(b->stream, b->in[0], b->host_in, b->bytes);
    }
}

static void hops_by_host(struct bench *b)
{
    for (int k = 0; k < b->rounds; k++) {
        if (mtest_rank == 0) {
            send_by_host(b);
            receive_by_host(b);
        } else {
            receive_by_host(b);
            send_by_host(b);
        }
    }
    mtest_gpu_synchronize(b->stream);
}

static void exchanges_on_stream(struct bench *b)
{
    for (int k = 0; k < b->rounds; k++) {
        MTEST_OK(MPIX_Enqueue_startall(b->queue, b->n, b->receives));
        MTEST_OK(MPIX_Enqueue_startall(b->queue, b->n, b->sends));
        MTEST_OK(MPIX_Enqueue_waitall(b->queue, b->n, b->receives));
        MTEST_OK(MPIX_Enqueue_waitall(b->queue, b->n, b->sends));
    }
    MTEST_OK(MPIX_Queue_wait(b->queue));
}

/* The best of three. */
static double best_us(struct bench *b, void (*run)(struct bench *), int per_round)
{
    double best = 1e30;

    run(b);
    for (int i = 0; i < 3; i++) {
        double t;

        MPI_Barrier(MPI_COMM_WORLD);
        t = MPI_Wtime();
        run(b);
        t = (MPI_Wtime() - t) * 1e6 / b->rounds / per_round;
        best = t < best ? t : best;
    }
    return best;
}

static void measure(struct bench *b)
{
    double stream, host, eight;

    b->n = 1;
    make(b);
    stream = best_us(b, hops_on_stream, 2);
    host = best_us(b, hops_by_host, 2);
    unmake(b);
    b->n = MOST;
    make(b);
    eight = best_us(b, exchanges_on_stream, 1);
    unmake(b);
    if (mtest_rank == 0) {
        printf(
            "%8s %8zu bytes: hop %7.1f us on the stream, %7.1f by the host; exchange of 8 %7.1f\n",
            b->memory == MTEST_DEVICE ? "device" : "pinned", b->bytes, stream, host, eight);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {16, 1024, 8192, 65536, 1048576};
    struct bench b = {.rounds = argc > 1 ? atoi(argv[1]) : 2};

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() == NULL || mtest_size != 2) {
        mtest_skip("MTEST_STREAM names no GPU, or there are not two ranks");
        return mtest_end();
    }
    b.stream = mtest_gpu_stream();
    MTEST_OK(MPIX_Queue_init(&b.queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Queue_wait(b.queue));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        b.bytes = sizes[i];
        b.memory = MTEST_PINNED;
        measure(&b);
        b.memory = MTEST_DEVICE;
        measure(&b);
    }
    MTEST_OK(MPIX_Queue_free(&b.queue));
    mtest_gpu_stream_end(b.stream);
    return mtest_end();
}
