/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * jacobi_fused.c - a step as one kernel, which computes and exchanges: by handles of requests, or
 * by NVSHMEM
 *
 * A kernel gets the rows that its neighbours have put in the step before, as it computes its edges,
 * and puts these for the step behind; likewise the sums of all ranks. So the messages are under way
 * between two kernels, and no block waits for one that is not yet there: what it waits for was put
 * by an earlier launch. The first step of a run gets what another kernel puts before it, and the
 * queue receives what the last one has put.
 */
#include "jacobi.h"

#include <stdlib.h>

_Static_assert(sizeof(struct bench_jacobi_fused) <= 4096, "the parameters of a launch of CUDA");

static size_t num_edge_blocks(const struct jacobi *jac)
{
    return 2 * BENCH_JACOBI_EDGE_BLOCKS(jac->side);
}

/* Of the requests: rows, then a sum for each other rank; receives, and behind them as many
 * sends. */
static int num_messages(const struct jacobi *jac)
{
    return JACOBI_DIRECTIONS + jac->ranks - 1;
}

static int other_rank(const struct jacobi *jac, int i)
{
    return i < jac->rank ? i : i + 1;
}

static void make_requests(struct jacobi *jac, struct jacobi_fused *fused)
{
    enum { SUM_TAG = JACOBI_DIRECTIONS * JACOBI_SETS };
    struct jacobi_set *set = &jac->sets[0];
    MPI_Request *recvs = fused->requests, *sends = recvs + num_messages(jac);
    int n = (int)jac->side;

    for (int d = 0; d < JACOBI_DIRECTIONS; d++) {
        size_t at = (size_t)d * jac->row;

        MPI_Recv_init(set->own_recv + at, n, MPI_DOUBLE, jac->peers[d], 1 - d, MPI_COMM_WORLD,
                      &recvs[d]);
        MPI_Send_init(set->own_send + at, n, MPI_DOUBLE, jac->peers[d], d, MPI_COMM_WORLD,
                      &sends[d]);
    }
    for (int i = 0; i < jac->ranks - 1; i++) {
        int other = other_rank(jac, i);

        MPI_Recv_init(fused->sums + i, 1, MPI_DOUBLE, other, SUM_TAG, MPI_COMM_WORLD,
                      &recvs[JACOBI_DIRECTIONS + i]);
        MPI_Send_init(fused->sums + jac->ranks - 1, 1, MPI_DOUBLE, other, SUM_TAG, MPI_COMM_WORLD,
                      &sends[JACOBI_DIRECTIONS + i]);
    }
    MPIX_Matchall(2 * num_messages(jac), fused->requests);
}

/* Does this rank have slots for all of them? */
static bool make_handles(struct jacobi *jac, struct jacobi_fused *fused)
{
    struct bench_jacobi_fused *all = &fused->handles;
    int others = jac->ranks - 1;
    MPI_Request *recvs = fused->requests, *sends = recvs + num_messages(jac);
    bool has_slots = true;

    *all = (struct bench_jacobi_fused){.rank = (unsigned)jac->rank, .others = (unsigned)others};
    MPIX_Device_request_create(JACOBI_DIRECTIONS, recvs, jac->bq.queue, all->recv);
    MPIX_Device_request_create(JACOBI_DIRECTIONS, sends, jac->bq.queue, all->send);
    MPIX_Device_request_create(others, recvs + JACOBI_DIRECTIONS, jac->bq.queue, all->recv_sum);
    MPIX_Device_request_create(others, sends + JACOBI_DIRECTIONS, jac->bq.queue, all->send_sum);
    for (int d = 0; d < JACOBI_DIRECTIONS; d++) {
        has_slots = has_slots && MPIX_Device_has_elements(&all->recv[d]) &&
                    MPIX_Device_has_elements(&all->send[d]);
    }
    for (int i = 0; i < others; i++) {
        has_slots = has_slots && MPIX_Device_has_elements(&all->recv_sum[i]) &&
                    MPIX_Device_has_elements(&all->send_sum[i]);
    }
    return has_slots;
}

bool jacobi_fused_open(struct jacobi *jac, enum bench_mode mode)
{
    struct jacobi_fused *fused = &jac->fused[mode];
    int lacking, num = 2 * num_messages(jac);
    double *zeros = bench_alloc((size_t)jac->ranks * sizeof *zeros);

    fused->requests = bench_alloc((size_t)num * sizeof *fused->requests);
    fused->sums = bench_memory((size_t)jac->ranks * sizeof *fused->sums);
    bench_memory_copy(fused->sums, zeros, (size_t)jac->ranks * sizeof *zeros);
    free(zeros);
    make_requests(jac, fused);
    lacking = !make_handles(jac, fused);
    MPI_Allreduce(MPI_IN_PLACE, &lacking, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (lacking) {
        jacobi_fused_close(jac, mode);
    }
    return !lacking;
}

void jacobi_fused_close(struct jacobi *jac, enum bench_mode mode)
{
    struct jacobi_fused *fused = &jac->fused[mode];
    struct bench_jacobi_fused *all = &fused->handles;
    int others = jac->ranks - 1;

    MPIX_Device_request_free(JACOBI_DIRECTIONS, all->recv);
    MPIX_Device_request_free(JACOBI_DIRECTIONS, all->send);
    MPIX_Device_request_free(others, all->recv_sum);
    MPIX_Device_request_free(others, all->send_sum);
    for (int i = 0; i < 2 * num_messages(jac); i++) {
        MPI_Request_free(&fused->requests[i]);
    }
    free(fused->requests);
    bench_memory_free(fused->sums);
}

static void launch(struct jacobi *jac, enum bench_mode mode, long s, enum bench_kernel kernel)
{
    struct bench_jacobi_fused all = jac->fused[mode].handles;
    const struct jacobi_set *in = &jac->sets[s % JACOBI_SETS];
    void *parameters[] = {&all};

    all.cells = jac->steps[s % JACOBI_SETS][jacobi_adds(jac, s)];
    all.before = in->send + 2 * jac->row;
    all.total = in->recv + 2 * jac->row;
    all.gets = jacobi_is_behind(jac, s);
    bench_device_start(kernel,
                       kernel == BENCH_KERNEL_JACOBI_OPEN ? num_edge_blocks(jac)
                                                          : jacobi_blocks(&all.cells),
                       1, BENCH_JACOBI_THREADS, parameters);
}

void jacobi_fused_launch(struct jacobi *jac, enum bench_mode mode, long s)
{
    launch(jac, mode, s, BENCH_KERNEL_JACOBI_FUSED);
}

void jacobi_fused_begin(struct jacobi *jac, enum bench_mode mode)
{
    launch(jac, mode, 0, BENCH_KERNEL_JACOBI_OPEN);
}

double jacobi_fused_end(struct jacobi *jac, enum bench_mode mode, long steps)
{
    struct jacobi_fused *fused = &jac->fused[mode];
    bool is_behind = jacobi_is_behind(jac, steps);
    int num = is_behind ? num_messages(jac) : JACOBI_DIRECTIONS;
    double sums[BENCH_JACOBI_RANKS], own, total = 0;

    MPIX_Enqueue_startall(jac->bq.queue, num, fused->requests);
    MPIX_Enqueue_waitall(jac->bq.queue, num, fused->requests);
    bench_queue_wait(&jac->bq);
    bench_memory_copy(sums, fused->sums, (size_t)jac->ranks * sizeof *sums);
    bench_memory_copy(&own, jac->sets[steps % JACOBI_SETS].send + 2 * jac->row, sizeof own);
    for (int rank = 0; rank < jac->ranks && is_behind; rank++) {
        total += rank == jac->rank ? own : sums[rank < jac->rank ? rank : rank - 1];
    }
    return total;
}

/* ---- By NVSHMEM ------------------------------------------------------------------------------ */

void jacobi_puts_open(struct jacobi *jac)
{
    struct jacobi_puts *puts = &jac->puts;
    size_t bytes = (num_edge_blocks(jac) + (size_t)jac->ranks) * sizeof *puts->came;
    unsigned long long *zeros = bench_alloc(bytes);

    *puts = (struct jacobi_puts){.kernel = bench_nvshmem_find("bench_nvshmem_jacobi"),
                                 .came = bench_nvshmem.alloc(bytes)};
    puts->sums = bench_nvshmem.alloc(BENCH_JACOBI_SUMS * (size_t)jac->ranks * sizeof *puts->sums);
    bench_memory_copy(puts->came, zeros, bytes);
    free(zeros);
    MPI_Barrier(MPI_COMM_WORLD);
}

void jacobi_puts_close(struct jacobi *jac)
{
    bench_device_synchronize();
    MPI_Barrier(MPI_COMM_WORLD);
    bench_nvshmem.free(jac->puts.sums);
    bench_nvshmem.free(jac->puts.came);
}

void jacobi_puts_launch(struct jacobi *jac, long s)
{
    const struct jacobi_puts *puts = &jac->puts;
    const struct jacobi_set *in = &jac->sets[s % JACOBI_SETS];
    const struct jacobi_set *out = &jac->sets[(s + 1) % JACOBI_SETS];
    struct bench_jacobi_puts all = {
        .cells = jac->steps[s % JACOBI_SETS][jacobi_adds(jac, s)],
        .there = {out->recv + jac->row, out->recv}, /* what leaves upwards comes from below */
        .peers = {(unsigned)jac->peers[JACOBI_UP], (unsigned)jac->peers[JACOBI_DOWN]},
        .came = puts->came,
        .value = puts->steps + (unsigned long long)s,
        .sums = puts->sums,
        .total = in->recv + 2 * jac->row,
        .summed = puts->summed + (unsigned long long)(s / jac->every),
        .gets = s > 0 && jacobi_is_behind(jac, s),
        .rank = (unsigned)jac->rank,
        .ranks = (unsigned)jac->ranks};
    void *parameters[] = {&all};

    bench_device_run(puts->kernel, jacobi_blocks(&all.cells), 1, BENCH_JACOBI_THREADS, parameters);
}

double jacobi_puts_end(struct jacobi *jac, long steps)
{
    struct jacobi_puts *puts = &jac->puts;
    double *sums = bench_alloc((size_t)jac->ranks * sizeof *sums), total = 0;

    puts->steps += (unsigned long long)steps;
    puts->summed += (unsigned long long)(steps / jac->every);
    MPI_Barrier(MPI_COMM_WORLD); /* the last steps of all ranks have put what they put */
    bench_memory_copy(sums, puts->sums + puts->summed % BENCH_JACOBI_SUMS * (size_t)jac->ranks,
                      (size_t)jac->ranks * sizeof *sums);
    for (int rank = 0; rank < jac->ranks; rank++) {
        total += sums[rank];
    }
    free(sums);
    return total;
}
