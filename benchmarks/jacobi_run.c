/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * jacobi_run.c - a step of Jacobi's method in every mode
 *
 *     the edges; start two rows each way; what is inside; the sum, now and then; wait for all
 *
 * In the MPI modes the host does this. In the stream modes it enqueues the steps of a batch and
 * then waits once; with --device all modes compute by kernels, and what MPI sends and receives is
 * copied to and from pinned memory. By NCCL the rows travel on a second stream beside what is
 * inside; or all is computed first, and then one group has rows and sum (nccl-one). What a kernel
 * exchanges by itself is in jacobi_fused.c.
 *
 * Ready sends. A ready send says that the receive buffer may be written. Claim: with two sets of
 * blocks, used in turn, it may. Let rank A send to rank B in step s, into the set that B last
 * received to in s-2; to be shown: B has computed the edges of s-1, which read that.
 *
 *   1. A starts its sends of s after its wait for s-1 is over, so A has received all of s-1.
 *   2. On a ring the neighbours of A have A as a neighbour. So A has received a row of B's s-1.
 *   3. B started to send that after it had computed the edges of s-1, by the order of its stream.
 *
 * The first step of a run reads what stands in the blocks from the beginning; the barrier before
 * the run stands for the steps before it. So it is with the puts of NVSHMEM. All modes use the two
 * sets, so that they do equal work.
 *
 * The same rank may be above and below, or be this rank itself: the tag tells the direction in
 * which a row travels.
 */
#include "bench_collective.h"
#include "jacobi.h"

#include <math.h>
#include <stdlib.h>

static int tag(const struct jacobi *jac, const struct jacobi_set *set, int direction)
{
    return (int)(set - jac->sets) * JACOBI_DIRECTIONS + direction;
}

typedef int make_recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int make_send(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* By these functions, persistent or not. What comes from above travels downwards. */
static void make_rows(struct jacobi *jac, struct jacobi_set *set, enum bench_mode mode,
                      make_recv *recv, make_send *send)
{
    bool on_stream = bench_mode_is_stream(mode);
    double *in = on_stream ? set->own_recv : set->mpi_recv;
    const double *out = on_stream ? set->own_send : set->mpi_send;
    MPI_Request *requests = set->requests[mode];
    int n = (int)jac->side;

    for (int d = 0; d < JACOBI_DIRECTIONS; d++) {
        size_t at = (size_t)d * jac->row;

        recv(in + at, n, MPI_DOUBLE, jac->peers[d], tag(jac, set, 1 - d), MPI_COMM_WORLD,
             &requests[d]);
        send(out + at, n, MPI_DOUBLE, jac->peers[d], tag(jac, set, d), MPI_COMM_WORLD,
             &requests[JACOBI_DIRECTIONS + d]);
    }
}

static void make_matched(struct jacobi *jac, struct jacobi_set *set, enum bench_mode mode)
{
    bool on_stream = bench_mode_is_stream(mode);
    const double *from = on_stream ? set->own_send : set->mpi_send;
    double *to = on_stream ? set->own_recv : set->mpi_recv;
    size_t at = 2 * jac->row;

    BENCH_ALLREDUCE_INIT(from + at, to + at, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &set->requests[mode][JACOBI_SUM]);
    MPIX_Matchall(JACOBI_REQUESTS, set->requests[mode]);
}

/* What travels upwards is received below what is here. */
static void make_parts(struct jacobi *jac)
{
    for (int d = 0; d < JACOBI_DIRECTIONS; d++) {
        struct bench_part part = {.peer = jac->peers[d],
                                  .tag = d,
                                  .offset = (size_t)d * jac->row * sizeof(double),
                                  .bytes = jac->side * sizeof(double)};

        jac->sends[d] = part;
        part.tag = 1 - d;
        jac->recvs[1 - d] = part;
    }
}

static void open_link(struct jacobi *jac, struct jacobi_set *set, enum bench_mode mode)
{
    set->links[mode] = (struct bench_link){.mode = mode,
                                           .num = JACOBI_DIRECTIONS,
                                           .sends = jac->sends,
                                           .recvs = jac->recvs,
                                           .bytes = jac->block * sizeof(double),
                                           .counts = &jac->bq.own};
    bench_link_open(&set->links[mode]);
}

static void open_mode(struct jacobi *jac, struct jacobi_set *set, enum bench_mode mode)
{
    if (bench_mode_is_baseline(mode)) {
        open_link(jac, set, mode);
    } else if (mode != BENCH_MPI_BLOCKING && !bench_mode_is_fused(mode)) {
        make_rows(jac, set, mode, bench_mpi(mode)->recv_init, bench_mpi(mode)->send_init);
        if (bench_mode_is_matched(mode)) {
            make_matched(jac, set, mode);
        }
    }
}

static bool uses_fork(enum bench_mode mode)
{
    return mode == BENCH_NCCL || mode == BENCH_NCCL_GRAPH;
}

void jacobi_open(struct jacobi *jac, struct bench_options *opts)
{
    make_parts(jac);
    for (int m = 0; m < BENCH_NUM_MODES; m++) {
        enum bench_mode mode = (enum bench_mode)m;

        if (!opts->use_mode[m]) {
            continue;
        }
        if (bench_mode_is_fused(mode)) {
            opts->use_mode[m] = jacobi_fused_open(jac, mode);
        }
        for (int s = 0; s < JACOBI_SETS; s++) {
            open_mode(jac, &jac->sets[s], mode);
        }
        if (mode == BENCH_NVSHMEM_FUSED) {
            jacobi_puts_open(jac);
        }
        /* This makes the stream and its events, which no capture has to do then. */
        if (uses_fork(mode)) {
            bench_device_fork();
            bench_device_back();
            bench_device_join();
        }
        if (!opts->use_mode[m]) {
            bench_complain(opts,
                           "mode %s is left out at %zu: no slots for rows of %zu bytes; raise "
                           "MPIXQ_EAGER (65536 at most), or take fewer modes",
                           bench_mode_names[m], jac->side, jac->side * sizeof(double));
        }
    }
}

static void close_mode(struct jacobi_set *set, enum bench_mode mode)
{
    if (bench_mode_is_baseline(mode)) {
        bench_link_close(&set->links[mode]);
        return;
    }
    for (int i = 0; mode != BENCH_MPI_BLOCKING && i < JACOBI_REQUESTS; i++) {
        if (i < JACOBI_SUM || bench_mode_is_matched(mode)) {
            bench_mpi(mode)->request_free(&set->requests[mode][i]);
        }
    }
}

void jacobi_close(struct jacobi *jac, const struct bench_options *opts)
{
    for (int m = 0; m < BENCH_NUM_MODES; m++) {
        enum bench_mode mode = (enum bench_mode)m;

        if (!opts->use_mode[m]) {
            continue;
        }
        if (mode == BENCH_NVSHMEM_FUSED) {
            jacobi_puts_close(jac);
        }
        for (int s = 0; s < JACOBI_SETS && !bench_mode_is_fused(mode); s++) {
            close_mode(&jac->sets[s], mode);
        }
        if (bench_mode_is_fused(mode)) {
            jacobi_fused_close(jac, mode);
        }
    }
}

/* ---- Driven by the host ---------------------------------------------------------------------- */

/* On a device what is copied is there when the next function that needs it has synchronized. */
static void copy_if(void *to, const void *from, size_t elements)
{
    if (bench_on_device()) {
        bench_device_copy(to, from, elements * sizeof(double));
    }
}

static void reduce(struct jacobi *jac, struct jacobi_set *set, enum bench_mode mode)
{
    size_t at = 2 * jac->row;
    MPI_Request *request = &set->requests[mode][JACOBI_SUM];

    copy_if(set->mpi_send + at, set->send + at, 1);
    bench_device_synchronize();
    if (mode == BENCH_HOST) {
        bench_mpi(mode)->start(request);
        bench_mpi(mode)->wait(request, MPI_STATUS_IGNORE);
    } else {
        PMPI_Allreduce(set->mpi_send + at, set->mpi_recv + at, 1, MPI_DOUBLE, MPI_SUM,
                       MPI_COMM_WORLD);
    }
    copy_if(set->recv + at, set->mpi_recv + at, 1);
}

static void do_step(struct jacobi *jac, enum bench_mode mode, long s)
{
    struct bench_jacobi *step = &jac->steps[s % JACOBI_SETS][jacobi_adds(jac, s)];
    struct jacobi_set *out = &jac->sets[(s + 1) % JACOBI_SETS];
    const struct bench_mpi *mpi = bench_mpi(mode);
    MPI_Request *requests = out->requests[mode];

    bench_link_work(&jac->bq, mode, &jacobi_edges, step);
    copy_if(out->mpi_send, out->send, 2 * jac->row);
    bench_device_synchronize();
    if (mode == BENCH_MPI_BLOCKING) {
        make_rows(jac, out, mode, PMPI_Irecv, PMPI_Isend);
    } else {
        mpi->startall(JACOBI_ROWS, requests);
    }
    bench_link_work(&jac->bq, mode, &jacobi_inside, step);
    mpi->waitall(JACOBI_ROWS, requests, MPI_STATUSES_IGNORE);
    copy_if(out->recv, out->mpi_recv, 2 * jac->row);
    if (step->adds) {
        reduce(jac, out, mode);
    }
}

/* ---- Enqueued -------------------------------------------------------------------------------- */

static void enqueue_stream(struct jacobi *jac, enum bench_mode mode, long s)
{
    struct bench_jacobi *step = &jac->steps[s % JACOBI_SETS][jacobi_adds(jac, s)];
    MPI_Request *requests = jac->sets[(s + 1) % JACOBI_SETS].requests[mode];
    double before;

    bench_queue_work(&jac->bq, &jacobi_edges, step);
    before = MPI_Wtime();
    MPIX_Enqueue_startall(jac->bq.queue, JACOBI_ROWS, requests);
    bench_calls_end(&jac->bq, before);
    bench_queue_work(&jac->bq, &jacobi_inside, step);
    before = MPI_Wtime();
    if (step->adds) {
        MPIX_Enqueue_start(jac->bq.queue, &requests[JACOBI_SUM]);
    }
    MPIX_Enqueue_waitall(jac->bq.queue, step->adds ? JACOBI_REQUESTS : JACOBI_ROWS, requests);
    bench_calls_end(&jac->bq, before);
}

static void enqueue_nccl(struct jacobi *jac, enum bench_mode mode, long s)
{
    struct bench_jacobi *step = &jac->steps[s % JACOBI_SETS][jacobi_adds(jac, s)];
    struct bench_link *link = &jac->sets[(s + 1) % JACOBI_SETS].links[mode];
    size_t at = 2 * jac->row * sizeof(double);
    double before;

    bench_queue_work(&jac->bq, uses_fork(mode) ? &jacobi_edges : &jacobi_whole, step);
    before = MPI_Wtime();
    if (uses_fork(mode)) {
        bench_device_fork();
        bench_link_move(link, BENCH_SENDS | BENCH_RECVS);
        bench_device_back();
        bench_calls_end(&jac->bq, before);
        bench_queue_work(&jac->bq, &jacobi_inside, step);
        before = MPI_Wtime();
        bench_device_join();
    } else {
        bench_nccl_begin();
        bench_link_move(link, BENCH_SENDS | BENCH_RECVS);
    }
    if (step->adds) {
        bench_nccl_sum(link, at, 1);
    }
    if (!uses_fork(mode)) {
        bench_nccl_end();
    }
    bench_calls_end(&jac->bq, before);
}

static void enqueue_nvshmem(struct jacobi *jac, long s)
{
    struct bench_jacobi *step = &jac->steps[s % JACOBI_SETS][jacobi_adds(jac, s)];
    struct bench_link *link = &jac->sets[(s + 1) % JACOBI_SETS].links[BENCH_NVSHMEM];
    double before;

    bench_queue_work(&jac->bq, &jacobi_edges, step);
    before = MPI_Wtime();
    bench_link_move(link, BENCH_SENDS);
    bench_calls_end(&jac->bq, before);
    bench_queue_work(&jac->bq, &jacobi_inside, step);
    before = MPI_Wtime();
    bench_link_move(link, BENCH_RECVS);
    if (step->adds) {
        bench_nvshmem_sum(link, 2 * jac->row * sizeof(double), 1);
    }
    bench_calls_end(&jac->bq, before);
}

static void enqueue(void *ctx, enum bench_mode mode, long steps)
{
    struct jacobi *jac = ctx;

    for (long s = jac->bq.position; s < jac->bq.position + steps; s++) {
        double before = MPI_Wtime();

        if (mode == BENCH_NVSHMEM_FUSED) {
            jacobi_puts_launch(jac, s);
            jac->bq.own.launches += 1;
            bench_calls_end(&jac->bq, before);
        } else if (bench_mode_is_fused(mode)) {
            jacobi_fused_launch(jac, mode, s);
            jac->bq.own.launches += 1;
            bench_calls_end(&jac->bq, before);
        } else if (mode == BENCH_NVSHMEM) {
            enqueue_nvshmem(jac, s);
        } else if (bench_mode_is_baseline(mode)) {
            enqueue_nccl(jac, mode, s);
        } else {
            enqueue_stream(jac, mode, s);
        }
        if (bench_mode_is_queued(mode)) {
            bench_queue_step(&jac->bq);
        }
    }
}

/* ---- Both ------------------------------------------------------------------------------------ */

/* On the stream in a step, at most: two kernels, starts and waits, and what combines a sum. Those
 * of baselines: branches of a stream take four, a sum one. */
static int num_operations(enum bench_mode mode)
{
    if (bench_mode_is_fused(mode) || mode == BENCH_NVSHMEM_FUSED) {
        return 1;
    }
    return bench_mode_is_baseline(mode) ? 7 + bench_baseline_operations(mode, JACOBI_DIRECTIONS)
                                        : 3 + 2 * JACOBI_REQUESTS;
}

static double run_on_stream(struct jacobi *jac, enum bench_mode mode, long steps)
{
    if (bench_mode_is_fused(mode)) {
        jacobi_fused_begin(jac, mode);
    }
    return bench_queue_run(&jac->bq, mode, steps, num_operations(mode), enqueue, jac);
}

/* The sum of the last step that had one. */
static double last_sum(struct jacobi *jac, enum bench_mode mode, long steps)
{
    long last = steps / jac->every * jac->every;
    double sum = 0;

    if (bench_mode_is_fused(mode)) {
        sum = jacobi_fused_end(jac, mode, steps);
    } else if (mode == BENCH_NVSHMEM_FUSED) {
        sum = jacobi_puts_end(jac, steps);
    }
    /* What they have told then is in no block. */
    if ((bench_mode_is_fused(mode) || mode == BENCH_NVSHMEM_FUSED) && last == steps) {
        return sum;
    }
    if (last > 0) {
        bench_memory_copy(&sum, jac->sets[last % JACOBI_SETS].recv + 2 * jac->row, sizeof sum);
    }
    return sum;
}

double jacobi_run(void *ctx, enum bench_mode mode, long steps)
{
    struct jacobi *jac = ctx;
    double started = (double)steps * JACOBI_ROWS + (double)(steps / jac->every);
    double begin = MPI_Wtime(), seconds;

    jac->bq.own.starts += started;
    jac->bq.own.waits += started;
    if (bench_mode_is_enqueued(mode)) {
        seconds = run_on_stream(jac, mode, steps);
    } else {
        for (long s = 0; s < steps; s++) {
            do_step(jac, mode, s);
        }
        bench_device_synchronize();
        jac->bq.own.posts += started;
        seconds = MPI_Wtime() - begin;
    }
    jac->norm = sqrt(last_sum(jac, mode, steps));
    return seconds;
}
