/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cg_run.c - iterations of conjugate gradients in every mode
 *
 *     classic     pack p, exchange; q = A p, (p, q), reduce; x, r, (r, r), reduce; p
 *     pipelined   begin to reduce (r, r) and (A r, r); pack w, exchange; q = A w; have reduced;
 *                 all vectors, and the two products of the next iteration
 *
 * The second form is that of P. Ghysels and W. Vanroose, "Hiding global synchronization latency in
 * the preconditioned Conjugate Gradient algorithm", without a preconditioner.
 *
 * The step lengths are computed where the vectors are, from what the reductions leave there, so in
 * the stream modes nothing goes by the host: it enqueues so many iterations, waits for them, and
 * looks at the residual, which in the pipelined form is that of the last iteration but one. In the
 * modes of MPI it looks as seldom. All ranks see the same numbers and decide alike.
 *
 * Ready sends. A ready send says that the receive buffer may be written. Claim: in the classic form
 * it may, with one buffer. Let rank A send to rank B in an iteration; to be shown: B has multiplied
 * in the one before. A starts its sends after it has the sums of the one before, which B's part is
 * in; B gave it after it had multiplied, by the order of its stream. Before the first iteration of
 * a trial stands a barrier.
 */
#include "bench_collective.h"
#include "cg.h"

#include <math.h>
#include <stdlib.h>

static int num_requests(const struct cg *cg)
{
    return cg->num_from + cg->num_to;
}

static int num_sums(enum bench_mode mode)
{
    return bench_mode_is_pipelined(mode) ? 1 : 2;
}

/* Where a mode has the blocks: in the modes of MPI not in memory of a device. */
static double *halo_of(const struct cg_form *form, enum bench_mode mode)
{
    return bench_mode_is_stream(mode) ? form->all.in + form->all.rows : form->mpi_halo;
}

static double *send_of(const struct cg_form *form, enum bench_mode mode)
{
    return bench_mode_is_stream(mode) ? form->all.send : form->mpi_send;
}

typedef int make_recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int make_send(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* By these functions, persistent or not. */
static void make_requests(struct cg *cg, enum bench_mode mode, make_recv *recv, make_send *send)
{
    const struct cg_form *form = cg_form(cg, mode);
    MPI_Request *requests = cg->requests[mode];

    for (int i = 0; i < cg->num_from; i++) {
        const struct cg_block *block = &cg->from[i];

        recv(halo_of(form, mode) + block->begin, block->count, MPI_DOUBLE, block->rank, 0,
             MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < cg->num_to; i++) {
        const struct cg_block *block = &cg->to[i];

        send(send_of(form, mode) + block->begin, block->count, MPI_DOUBLE, block->rank, 0,
             MPI_COMM_WORLD, &requests[cg->num_from + i]);
    }
}

static void make_sums(struct cg *cg, enum bench_mode mode)
{
    const struct cg_form *form = cg_form(cg, mode);
    double *sums = bench_mode_is_stream(mode) ? form->all.scalars->sums : form->mpi_scalars->sums;
    int num = num_sums(mode);

    for (int i = 0; i < num; i++) {
        BENCH_ALLREDUCE_INIT(MPI_IN_PLACE, sums + i, 2 / num, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &cg->sums[mode][i]);
    }
    MPIX_Matchall(num, cg->sums[mode]);
}

void cg_open(struct cg *cg, const struct bench_options *opts)
{
    for (int m = 0; m < BENCH_REQUEST_MODES; m++) {
        enum bench_mode mode = (enum bench_mode)m;

        if (!opts->use_mode[m]) {
            continue;
        }
        cg->requests[m] = bench_alloc((size_t)num_requests(cg) * sizeof(MPI_Request));
        if (mode == BENCH_MPI_BLOCKING) {
            continue;
        }
        make_requests(cg, mode, bench_mpi(mode)->recv_init, bench_mpi(mode)->send_init);
        if (bench_mode_is_matched(mode)) {
            MPIX_Matchall(num_requests(cg), cg->requests[m]);
            make_sums(cg, mode);
        }
    }
}

static void close_mode(struct cg *cg, enum bench_mode mode)
{
    for (int i = 0; i <= CG_MAX_EVERY; i++) {
        if (cg->graphs[mode][i] != NULL) {
            bench_graph_free(cg->graphs[mode][i]);
            cg->graphs[mode][i] = NULL;
        }
    }
    for (int i = 0; mode != BENCH_MPI_BLOCKING && i < num_requests(cg); i++) {
        bench_mpi(mode)->request_free(&cg->requests[mode][i]);
    }
    for (int i = 0; bench_mode_is_matched(mode) && i < num_sums(mode); i++) {
        MPI_Request_free(&cg->sums[mode][i]);
    }
    free(cg->requests[mode]);
}

void cg_close(struct cg *cg, const struct bench_options *opts)
{
    for (int mode = 0; mode < BENCH_REQUEST_MODES; mode++) {
        if (opts->use_mode[mode]) {
            close_mode(cg, (enum bench_mode)mode);
        }
    }
}

/* ---- Driven by the host ---------------------------------------------------------------------- */

/* On a device what is copied is there when the next function that needs it has synchronized. */
static void copy_if(void *to, const void *from, size_t bytes)
{
    if (bench_on_device() && bytes > 0) {
        bench_device_copy(to, from, bytes);
    }
}

static void exchange(struct cg *cg, enum bench_mode mode)
{
    const struct cg_form *form = cg_form(cg, mode);
    const struct bench_mpi *mpi = bench_mpi(mode);
    MPI_Request *requests = cg->requests[mode];
    int num = num_requests(cg);

    bench_link_work(&cg->bq, mode, &cg_pack, (void *)(uintptr_t)form);
    copy_if(form->mpi_send, form->all.send, cg->sends * sizeof(double));
    bench_device_synchronize();
    if (mode == BENCH_MPI_BLOCKING) {
        make_requests(cg, mode, PMPI_Irecv, PMPI_Isend);
    } else {
        mpi->startall(num, requests);
    }
    mpi->waitall(num, requests, MPI_STATUSES_IGNORE);
    copy_if(form->all.in + form->all.rows, form->mpi_halo, cg->halo * sizeof(double));
}

static void reduce(struct cg *cg, enum bench_mode mode, int which)
{
    const struct cg_form *form = cg_form(cg, mode);
    double *sum = &form->mpi_scalars->sums[which];
    MPI_Request *request = &cg->sums[mode][which];

    copy_if(sum, &form->all.scalars->sums[which], sizeof *sum);
    bench_device_synchronize();
    if (mode == BENCH_HOST) {
        bench_mpi(mode)->start(request);
        bench_mpi(mode)->wait(request, MPI_STATUS_IGNORE);
    } else {
        PMPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    copy_if(&form->all.scalars->sums[which], sum, sizeof *sum);
}

static void do_classic(struct cg *cg, enum bench_mode mode)
{
    struct cg_form *form = cg_form(cg, mode);

    exchange(cg, mode);
    bench_link_work(&cg->bq, mode, &cg_multiply, form);
    bench_link_work(&cg->bq, mode, &cg_sum_curvature, form);
    reduce(cg, mode, BENCH_CG_CURVATURE);
    bench_link_work(&cg->bq, mode, &cg_step, form);
    bench_link_work(&cg->bq, mode, &cg_sum_residual, form);
    reduce(cg, mode, BENCH_CG_RESIDUAL);
    bench_link_work(&cg->bq, mode, &cg_turn, form);
}

static void do_pipelined(struct cg *cg, enum bench_mode mode)
{
    struct cg_form *form = cg_form(cg, mode);
    double *sums = form->mpi_scalars->sums;
    MPI_Request request;

    copy_if(sums, form->all.scalars->sums, 2 * sizeof *sums);
    bench_device_synchronize();
    PMPI_Iallreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    exchange(cg, mode);
    bench_link_work(&cg->bq, mode, &cg_multiply, form);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    copy_if(form->all.scalars->sums, sums, 2 * sizeof *sums);
    bench_link_work(&cg->bq, mode, &cg_pipe, form);
    bench_link_work(&cg->bq, mode, &cg_sum_both, form);
}

/* ---- Enqueued -------------------------------------------------------------------------------- */

static void enqueue_start(struct cg *cg, MPI_Request *request)
{
    double before = MPI_Wtime();

    MPIX_Enqueue_start(cg->bq.queue, request);
    bench_calls_end(&cg->bq, before);
}

static void enqueue_wait(struct cg *cg, MPI_Request *request)
{
    double before = MPI_Wtime();

    MPIX_Enqueue_wait(cg->bq.queue, request);
    bench_calls_end(&cg->bq, before);
}

static void enqueue_both(struct cg *cg, int num, MPI_Request requests[])
{
    double before = MPI_Wtime();

    if (num > 0) {
        MPIX_Enqueue_startwaitall(cg->bq.queue, num, requests);
    }
    bench_calls_end(&cg->bq, before);
}

static void enqueue_product(struct cg *cg, enum bench_mode mode)
{
    struct cg_form *form = cg_form(cg, mode);

    bench_queue_work(&cg->bq, &cg_pack, form);
    enqueue_both(cg, num_requests(cg), cg->requests[mode]);
    bench_queue_work(&cg->bq, &cg_multiply, form);
}

static void enqueue_sum(struct cg *cg, enum bench_mode mode, int which)
{
    enqueue_both(cg, 1, &cg->sums[mode][which]);
}

static void enqueue_classic(struct cg *cg, enum bench_mode mode)
{
    struct cg_form *form = cg_form(cg, mode);

    enqueue_product(cg, mode);
    bench_queue_work(&cg->bq, &cg_sum_curvature, form);
    enqueue_sum(cg, mode, BENCH_CG_CURVATURE);
    bench_queue_work(&cg->bq, &cg_step, form);
    bench_queue_work(&cg->bq, &cg_sum_residual, form);
    enqueue_sum(cg, mode, BENCH_CG_RESIDUAL);
    bench_queue_work(&cg->bq, &cg_turn, form);
}

static void enqueue_pipelined(struct cg *cg, enum bench_mode mode)
{
    struct cg_form *form = cg_form(cg, mode);

    enqueue_start(cg, cg->sums[mode]);
    enqueue_product(cg, mode);
    enqueue_wait(cg, cg->sums[mode]);
    bench_queue_work(&cg->bq, &cg_pipe, form);
    bench_queue_work(&cg->bq, &cg_sum_both, form);
}

static void enqueue(struct cg *cg, enum bench_mode mode, long iterations)
{
    for (long k = 0; k < iterations; k++) {
        (bench_mode_is_pipelined(mode) ? enqueue_pipelined : enqueue_classic)(cg, mode);
        bench_queue_step(&cg->bq);
    }
}

/* A graph of so many iterations, made when it is first needed. */
static void launch_graph(struct cg *cg, enum bench_mode mode, long iterations)
{
    void **graph = &cg->graphs[mode][iterations];
    double before;

    if (*graph == NULL) {
        struct bench_counts own = cg->bq.own;

        cg->bq.captures = true;
        bench_graph_begin();
        enqueue(cg, mode, iterations);
        *graph = bench_graph_end();
        cg->bq.captures = false;
        cg->bq.own = own;
    }
    before = MPI_Wtime();
    bench_graph_launch(*graph);
    bench_calls_end(&cg->bq, before);
    cg->bq.own.launches += 1;
}

/* ---- Both ------------------------------------------------------------------------------------ */

static void put(struct cg *cg, enum bench_mode mode, long iterations)
{
    if (bench_mode_is_graph(mode)) {
        launch_graph(cg, mode, iterations);
    } else if (bench_mode_is_stream(mode)) {
        enqueue(cg, mode, iterations);
    } else {
        for (long k = 0; k < iterations; k++) {
            (bench_mode_is_pipelined(mode) ? do_pipelined : do_classic)(cg, mode);
        }
    }
}

static void wait_for_all(struct cg *cg, enum bench_mode mode)
{
    if (bench_mode_is_stream(mode)) {
        bench_queue_wait(&cg->bq);
    } else {
        bench_device_synchronize();
    }
}

static void look(struct cg *cg, enum bench_mode mode)
{
    const struct cg_form *form = cg_form(cg, mode);
    struct bench_cg_scalars seen;

    wait_for_all(cg, mode);
    bench_memory_copy(&seen, form->all.scalars, sizeof seen);
    cg->residual = sqrt(form->all.pipelined ? seen.before : seen.sums[BENCH_CG_RESIDUAL]);
    cg->ended = cg->residual <= cg->tolerance * cg->norm || cg->iterations >= cg->limit;
}

static long least(long one, long other)
{
    return one < other ? one : other;
}

/* As many as are left, up to the next look. */
static long go_on(struct cg *cg, enum bench_mode mode, long left)
{
    long iterations = least(least(left, cg->every), cg->limit - cg->iterations);

    put(cg, mode, iterations);
    cg->looked = cg->iterations;
    cg->iterations += iterations;
    look(cg, mode);
    return iterations;
}

static void restart(struct cg *cg, enum bench_mode mode)
{
    bench_link_work(&cg->bq, mode, &cg_start, cg_form(cg, mode));
    cg->iterations = cg->looked = 0;
    cg->ended = false;
}

void cg_begin(void *ctx, enum bench_mode mode)
{
    restart(ctx, mode);
    wait_for_all(ctx, mode);
}

double cg_run(void *ctx, enum bench_mode mode, long iterations)
{
    struct cg *cg = ctx;
    double begin = MPI_Wtime(), started = (double)iterations * (num_requests(cg) + num_sums(mode));

    cg->bq.own.starts += started;
    cg->bq.own.waits += started;
    cg->bq.own.posts += bench_mode_is_stream(mode) ? 0 : started;
    for (long left = iterations; left > 0;) {
        if (cg->ended) {
            restart(cg, mode);
        }
        left -= go_on(cg, mode, left);
    }
    return MPI_Wtime() - begin;
}

void cg_finish(struct cg *cg, enum bench_mode mode)
{
    while (!cg->ended) {
        go_on(cg, mode, cg->every);
    }
}
