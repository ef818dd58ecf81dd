/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * pingpong_run.c - round trips in every mode
 *
 * The loop is the same in all modes, and always has the next receive started before the send that
 * the peer answers:
 *
 *     rank 0:                              rank 1:
 *                                          start recv
 *     each round trip:                     each round trip:
 *         pack                                 wait for recv (and the last send)
 *         start recv and send                  unpack
 *         wait for both                        pack
 *         unpack                               start recv and send (the last time: send only)
 *
 * In the MPI modes the host does this. In the stream modes it enqueues all round trips of a trial
 * and then waits once; pack and unpack are the same functions, run by the stream. With --device all
 * modes pack and unpack by kernels; what MPI sends and receives is copied to and from pinned
 * memory.
 *
 * Ready sends. A ready send says that the receive buffer may be written. In this loop it may: a
 * rank starts its n-th send after it unpacked message n-1 of its peer. So who has received the
 * peer's message knows that the peer is done with everything it received before that, and every
 * send but the very first follows such a message. The first send of a trial follows the barrier
 * at its start, and before that barrier both ranks have waited for all of the last trial. One
 * receive buffer is enough, apart from the send buffer: the peer cannot send again before it is
 * answered.
 */
#include "pingpong.h"

/* Not inline, and with what they need in variables of their own: the stream calls them by their
 * addresses, and the MPI modes must not get better code for the same work. */
static __attribute__((noinline)) void pack(void *arg)
{
    const struct pingpong *pp = arg;
    const uint64_t *data = pp->data;
    uint64_t *buffer = pp->send_buffer;
    size_t words = pp->words;

    for (size_t i = 0; i < words; i++) {
        buffer[i] = data[i] + 1;
    }
}

static __attribute__((noinline)) void unpack(void *arg)
{
    const struct pingpong *pp = arg;
    const uint64_t *buffer = pp->recv_buffer;
    uint64_t *data = pp->data;
    size_t words = pp->words;

    for (size_t i = 0; i < words; i++) {
        data[i] = buffer[i];
    }
}

static void launch_pack(void *arg)
{
    const struct pingpong *pp = arg;

    bench_device_words(&(struct bench_words){
        .from = pp->data, .to = pp->send_buffer, .add = 1, .words = pp->words, .messages = 1});
}

static void launch_unpack(void *arg)
{
    const struct pingpong *pp = arg;

    bench_device_words(&(struct bench_words){
        .from = pp->recv_buffer, .to = pp->data, .words = pp->words, .messages = 1});
}

static void do_nothing(void *arg)
{
    (void)arg;
}

static const struct bench_work packing = {pack, launch_pack};
static const struct bench_work unpacking = {unpack, launch_unpack};
static const struct bench_work nothing = {do_nothing, do_nothing};

static void work(struct pingpong *pp, const struct bench_work *work)
{
    if (!pp->bare) {
        bench_queue_work(&pp->bq, work, pp);
    }
}

static void pack_for_mpi(struct pingpong *pp)
{
    bench_mpi_pack(pp->bare ? &nothing : &packing, pp, pp->mpi_send, pp->send_buffer,
                   pp->words * sizeof *pp->data);
}

static void unpack_from_mpi(struct pingpong *pp)
{
    bench_mpi_unpack(pp->bare ? &nothing : &unpacking, pp, pp->recv_buffer, pp->mpi_recv,
                     pp->words * sizeof *pp->data);
}

static void run_blocking(struct pingpong *pp, long iterations)
{
    int bytes = (int)(pp->words * sizeof *pp->data);

    for (long i = 0; i < iterations; i++) {
        if (pp->rank == 0) {
            pack_for_mpi(pp);
            PMPI_Send(pp->mpi_send, bytes, MPI_BYTE, pp->peer, PINGPONG_TAG, MPI_COMM_WORLD);
        }
        PMPI_Recv(pp->mpi_recv, bytes, MPI_BYTE, pp->peer, PINGPONG_TAG, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE);
        unpack_from_mpi(pp);
        if (pp->rank == 1) {
            pack_for_mpi(pp);
            PMPI_Send(pp->mpi_send, bytes, MPI_BYTE, pp->peer, PINGPONG_TAG, MPI_COMM_WORLD);
        }
    }
}

static void run_persistent(struct pingpong *pp, enum bench_mode mode, long iterations)
{
    const struct bench_mpi *mpi = bench_mpi(mode);
    MPI_Request *requests = pp->requests[mode];

    if (pp->rank == 1) {
        mpi->start(&requests[RECV]);
    }
    for (long i = 0; i < iterations; i++) {
        if (pp->rank == 1) {
            mpi->waitall(NUM_REQUESTS, requests, MPI_STATUSES_IGNORE);
            unpack_from_mpi(pp);
        }
        pack_for_mpi(pp);
        if (pp->rank == 1 && i == iterations - 1) {
            mpi->start(&requests[SEND]);
        } else {
            mpi->startall(NUM_REQUESTS, requests);
        }
        if (pp->rank == 0) {
            mpi->waitall(NUM_REQUESTS, requests, MPI_STATUSES_IGNORE);
            unpack_from_mpi(pp);
        }
    }
    if (pp->rank == 1) {
        mpi->wait(&requests[SEND], MPI_STATUS_IGNORE);
    }
}

/* Operations on the stream per iteration: pack, unpack, two starts, two waits. */
enum { OPERATIONS = 6 };

static void start_and_wait(struct pingpong *pp, int num, MPI_Request requests[])
{
    double before = MPI_Wtime();

    MPIX_Enqueue_startwaitall(pp->bq.queue, num, requests);
    bench_calls_end(&pp->bq, before);
}

/* Rank 1 sends what it has received, and waits for the next one. */
static void enqueue_stream(struct pingpong *pp, enum bench_mode mode, long iterations)
{
    MPI_Request *requests = pp->requests[mode];

    if (pp->rank == 1) {
        start_and_wait(pp, 1, &requests[RECV]);
    }
    for (long i = 0; i < iterations; i++) {
        if (pp->rank == 1) {
            work(pp, &unpacking);
        }
        work(pp, &packing);
        if (pp->rank == 1 && i == iterations - 1) {
            start_and_wait(pp, 1, &requests[SEND]);
        } else {
            start_and_wait(pp, NUM_REQUESTS, requests);
        }
        if (pp->rank == 0) {
            work(pp, &unpacking);
        }
        bench_queue_step(&pp->bq);
    }
}

static void work_by(struct pingpong *pp, enum bench_mode mode, const struct bench_work *work)
{
    if (!pp->bare) {
        bench_link_work(&pp->bq, mode, work, pp);
    }
}

static void move(struct pingpong *pp, enum bench_mode mode, int what)
{
    double before = MPI_Wtime();

    bench_link_move(&pp->links[mode], what);
    bench_calls_end(&pp->bq, before);
}

/* By a baseline. Where that makes sense, the next receive goes with the send that the peer answers:
 * on the host, and in the modes that make one call of two. */
static void enqueue_baseline(struct pingpong *pp, enum bench_mode mode, long iterations)
{
    bool together =
        bench_mode_is_one(mode) || bench_mode_in_kernel(mode) || !bench_mode_is_enqueued(mode);

    if (pp->rank == 1 && together) {
        move(pp, mode, BENCH_RECVS);
    }
    for (long i = 0; i < iterations; i++) {
        if (pp->rank == 1) {
            if (!together) {
                move(pp, mode, BENCH_RECVS);
            }
            work_by(pp, mode, &unpacking);
        }
        work_by(pp, mode, &packing);
        if (together && (pp->rank == 0 || i < iterations - 1)) {
            move(pp, mode, BENCH_SENDS | BENCH_RECVS);
        } else {
            move(pp, mode, BENCH_SENDS);
        }
        if (pp->rank == 0) {
            if (!together) {
                move(pp, mode, BENCH_RECVS);
            }
            work_by(pp, mode, &unpacking);
        }
        if (bench_mode_is_queued(mode)) {
            bench_queue_step(&pp->bq);
        }
    }
    if (pp->rank == 1 && mode >= BENCH_PUT_MODES) {
        move(pp, mode, BENCH_REST);
    }
}

static void enqueue(void *ctx, enum bench_mode mode, long iterations)
{
    struct pingpong *pp = ctx;

    if (bench_mode_loops(mode)) {
        bench_baseline(mode)->bounce(&pp->links[mode], pp->rank == 0, iterations);
    } else if (mode == BENCH_PLAIN_COPY) {
        /* Two hops are two copies, of which nobody knows. */
        for (long i = 0; pp->rank == 0 && i < 2 * iterations; i++) {
            move(pp, mode, BENCH_SENDS);
        }
    } else if (mode == BENCH_NVSHMEM_FUSED) {
        for (long i = 0; i < iterations; i++) {
            move(pp, mode, BENCH_SENDS | BENCH_RECVS);
        }
    } else if (bench_mode_is_stream(mode)) {
        enqueue_stream(pp, mode, iterations);
    } else {
        enqueue_baseline(pp, mode, iterations);
    }
}

static double run_on_stream(struct pingpong *pp, enum bench_mode mode, long iterations)
{
    int operations = OPERATIONS;

    if (bench_mode_is_baseline(mode)) {
        operations = 2 + bench_baseline_operations(mode, 1);
    }
    return bench_queue_run(&pp->bq, mode, iterations, operations, enqueue, pp);
}

double pingpong_run(void *ctx, enum bench_mode mode, long iterations)
{
    struct pingpong *pp = ctx;
    double begin = MPI_Wtime();

    /* Each round trip is one send and one receive of each rank, whatever calls did it. */
    pp->bq.own.starts += 2.0 * (double)iterations;
    pp->bq.own.waits += 2.0 * (double)iterations;
    if (bench_mode_is_enqueued(mode)) {
        return run_on_stream(pp, mode, iterations);
    }
    if (bench_mode_is_baseline(mode)) {
        enqueue_baseline(pp, mode, iterations);
    } else if (mode == BENCH_MPI_BLOCKING) {
        run_blocking(pp, iterations);
    } else {
        run_persistent(pp, mode, iterations);
    }
    bench_device_synchronize();
    if (!bench_mode_is_baseline(mode)) {
        pp->bq.own.posts += 2.0 * (double)iterations;
    }
    return MPI_Wtime() - begin;
}
