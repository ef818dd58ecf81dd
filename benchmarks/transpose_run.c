/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * transpose_run.c - one transposition per iteration, in every mode
 *
 *     pack, move a block to every rank and get one from each, unpack
 *
 * Ready sends, and puts. Both say that the receive buffer may be written. Claim: with two sets of
 * buffers, used in turn, it may. Let rank A send to rank B in iteration k, into the set that B last
 * used in k-2; to be shown: B has unpacked k-2.
 *
 *   1. A starts its sends of k after its wait for k-1 is over, so A has a message of k-1 from every
 *      rank, B included: blocks without elements are sent, and put, like others.
 *   2. B started that one after it had unpacked k-2, by the order of its stream.
 *
 * A signal that counts puts of k was waited for and reset by B in k-2, before it unpacked, so no
 * event comes early. The first two iterations of a trial have no k-2; the barrier before the trial
 * stands for it, since each rank has waited for all of the trial before.
 */
#include "transpose.h"

#include <stdlib.h>

static int num_requests(const struct transpose *tr)
{
    return 2 * tr->ranks;
}

/* Tags of the two ways differ; each rank sends one message to each other in a way. */
static void make_requests(struct transpose_way *way, enum bench_mode mode)
{
    struct transpose *tr = way->tr;
    const struct bench_mpi *mpi = bench_mpi(mode);
    MPI_Request *requests = bench_alloc((size_t)num_requests(tr) * sizeof *requests);
    int tag = (int)(way - tr->ways);

    for (int rank = 0; rank < tr->ranks; rank++) {
        const struct span *in = &way->recvs[rank], *out = &way->sends[rank];

        mpi->recv_init(way->own_recv + in->begin, (int)in->count, MPI_C_DOUBLE_COMPLEX, rank, tag,
                       MPI_COMM_WORLD, &requests[rank]);
        mpi->send_init(way->own_send + out->begin, (int)out->count, MPI_C_DOUBLE_COMPLEX, rank, tag,
                       MPI_COMM_WORLD, &requests[tr->ranks + rank]);
    }
    if (bench_mode_is_matched(mode)) {
        MPIX_Matchall(num_requests(tr), requests);
    }
    way->requests[mode] = requests;
}

static void open_link(struct transpose_way *way, enum bench_mode mode)
{
    struct transpose *tr = way->tr;
    size_t out = transpose_elements(way->sends, tr->ranks);
    size_t in = transpose_elements(way->recvs, tr->ranks);

    way->links[mode] =
        (struct bench_link){.mode = mode,
                            .num = tr->ranks,
                            .sends = way->send_parts,
                            .recvs = way->recv_parts,
                            .bytes = ((out > in ? out : in) + 1) * sizeof(struct element),
                            .counts = &tr->bq.own,
                            .queue = tr->bq.queue};
    bench_link_open(&way->links[mode]);
}

void transpose_open(struct transpose *tr, const struct bench_options *opts)
{
    for (int mode = BENCH_MPI_PERSISTENT; mode < BENCH_NUM_MODES; mode++) {
        for (int number = 0; opts->use_mode[mode] && number < WAYS; number++) {
            if (bench_mode_is_baseline((enum bench_mode)mode)) {
                open_link(&tr->ways[number], (enum bench_mode)mode);
            } else {
                make_requests(&tr->ways[number], (enum bench_mode)mode);
            }
        }
    }
}

static void close_requests(struct transpose_way *way, enum bench_mode mode)
{
    for (int i = 0; i < num_requests(way->tr); i++) {
        bench_mpi(mode)->request_free(&way->requests[mode][i]);
    }
    free(way->requests[mode]);
    way->requests[mode] = NULL;
}

void transpose_close(struct transpose *tr, const struct bench_options *opts)
{
    bench_queue_renew(&tr->bq);
    for (int mode = BENCH_MPI_PERSISTENT; mode < BENCH_NUM_MODES; mode++) {
        for (int number = 0; opts->use_mode[mode] && number < WAYS; number++) {
            if (bench_mode_is_baseline((enum bench_mode)mode)) {
                bench_link_close(&tr->ways[number].links[mode]);
            } else {
                close_requests(&tr->ways[number], (enum bench_mode)mode);
            }
        }
    }
}

static void run_mpi(struct transpose *tr, enum bench_mode mode, long iterations)
{
    const struct bench_mpi *mpi = bench_mpi(mode);
    int num = num_requests(tr);

    for (long k = 0; k < iterations; k++) {
        struct transpose_way *way = &tr->ways[k % WAYS];

        transpose_packing.call(way);
        if (mode == BENCH_MPI_BLOCKING) {
            transpose_alltoallv(way);
        } else {
            mpi->startall(num, way->requests[mode]);
            mpi->waitall(num, way->requests[mode], MPI_STATUSES_IGNORE);
        }
        transpose_unpacking.call(way);
    }
}

/* Or do it, where the host drives it. */
static void enqueue(void *ctx, enum bench_mode mode, long iterations)
{
    struct transpose *tr = ctx;

    for (long k = 0; k < iterations; k++) {
        struct transpose_way *way = &tr->ways[k % WAYS];
        double before;

        bench_link_work(&tr->bq, mode, &transpose_packing, way);
        before = MPI_Wtime();
        if (bench_mode_is_baseline(mode)) {
            bench_link_move(&way->links[mode], BENCH_SENDS | BENCH_RECVS);
        } else {
            MPIX_Enqueue_startwaitall(tr->bq.queue, num_requests(tr), way->requests[mode]);
        }
        bench_calls_end(&tr->bq, before);
        bench_link_work(&tr->bq, mode, &transpose_unpacking, way);
        if (bench_mode_is_queued(mode)) {
            bench_queue_step(&tr->bq);
        }
    }
}

double transpose_run(void *ctx, enum bench_mode mode, long iterations)
{
    struct transpose *tr = ctx;
    double started = (double)iterations * num_requests(tr), begin = MPI_Wtime();

    tr->bq.own.starts += started;
    tr->bq.own.waits += started;
    if (bench_mode_is_enqueued(mode)) {
        /* Every start, every wait, and two functions; or a plan, two waits, two resets. */
        int operations = bench_mode_is_stream(mode)
                             ? 2 * num_requests(tr) + 2
                             : 2 + bench_baseline_operations(mode, num_requests(tr));

        return bench_queue_run(&tr->bq, mode, iterations, operations, enqueue, tr);
    }
    if (bench_mode_is_baseline(mode)) {
        enqueue(tr, mode, iterations);
    } else {
        run_mpi(tr, mode, iterations);
        tr->bq.own.posts += mode == BENCH_MPI_BLOCKING ? (double)iterations : started;
    }
    return MPI_Wtime() - begin;
}
