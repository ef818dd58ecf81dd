/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * halo_exchange.c - eight messages each way per generation, in every mode
 *
 *     start the receives, pack, start the sends, wait for all, unpack, compute
 *
 * In the MPI modes the host does this. In the stream modes it enqueues all generations of a trial
 * and then waits once; pack, unpack and compute are the same functions, run by the stream.
 *
 * Ready sends. A ready send says that the receive buffer may be written. Claim: with two sets of
 * buffers, used in turn, it may. Let rank A send to rank B in generation g, into the set that B
 * last used in g-2; to be shown: B has unpacked g-2.
 *
 *   1. A starts its sends of g after its wait for g-1 is over, so A has received all of g-1.
 *   2. On a periodic grid every neighbour of A has A as its neighbour in the opposite direction.
 *      So one of the messages of g-1 that A has received was sent by B.
 *   3. B started that send after it had unpacked and computed g-2, by the order of its stream.
 *
 * With one set it would not hold: step 3 says nothing about B having unpacked g-1. The first two
 * generations of a trial have no g-2; the barrier before the trial stands for it, since each rank
 * has waited for all of the trial before. All modes use the two sets, so that they do equal work.
 *
 * The same rank may be a neighbour several times, or be this rank itself: the tag tells the
 * direction in which a message travels, which keeps such messages apart.
 */
#include "halo.h"

#include <stdlib.h>
#include <string.h>

static int send_tag(const struct halo_set *set, int direction)
{
    return (int)(set - set->halo->sets) * LIFE_DIRECTIONS + direction;
}

/* What comes from a direction was sent in the opposite one. */
static int recv_tag(const struct halo_set *set, int direction)
{
    return send_tag(set, life_opposite(direction));
}

static int border_bytes(const struct halo *halo, int direction)
{
    return (int)life_border(&halo->board, direction);
}

static void pack(void *arg)
{
    struct halo_set *set = arg;

    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        life_pack(&set->halo->board, d, set->send[d]);
    }
}

static void unpack_and_step(void *arg)
{
    struct halo_set *set = arg;

    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        life_unpack(&set->halo->board, d, set->recv[d]);
    }
    life_step(&set->halo->board);
}

static void run_blocking(struct halo *halo, long generations)
{
    MPI_Request requests[HALO_REQUESTS];

    for (long g = 0; g < generations; g++) {
        struct halo_set *set = &halo->sets[g % HALO_SETS];

        for (int d = 0; d < LIFE_DIRECTIONS; d++) {
            PMPI_Irecv(set->recv[d], border_bytes(halo, d), MPI_BYTE, halo->neighbours[d],
                       recv_tag(set, d), halo->comm, &requests[d]);
        }
        pack(set);
        for (int d = 0; d < LIFE_DIRECTIONS; d++) {
            PMPI_Isend(set->send[d], border_bytes(halo, d), MPI_BYTE, halo->neighbours[d],
                       send_tag(set, d), halo->comm, &requests[LIFE_DIRECTIONS + d]);
        }
        PMPI_Waitall(HALO_REQUESTS, requests, MPI_STATUSES_IGNORE);
        unpack_and_step(set);
    }
}

static void run_persistent(struct halo *halo, enum bench_mode mode, long generations)
{
    const struct bench_mpi *mpi = bench_mpi(mode);

    for (long g = 0; g < generations; g++) {
        struct halo_set *set = &halo->sets[g % HALO_SETS];
        MPI_Request *requests = set->requests[mode];

        mpi->startall(LIFE_DIRECTIONS, requests);
        pack(set);
        mpi->startall(LIFE_DIRECTIONS, requests + LIFE_DIRECTIONS);
        mpi->waitall(HALO_REQUESTS, requests, MPI_STATUSES_IGNORE);
        unpack_and_step(set);
    }
}

/* Operations on the stream per generation: every start, every wait, and two functions. */
enum { OPERATIONS = 2 * HALO_REQUESTS + 2 };

static double run_batch(struct halo *halo, enum bench_mode mode, long generations)
{
    MPIX_Queue queue = halo->bq.queue;

    bench_queue_hold(&halo->bq);
    for (long g = 0; g < generations; g++) {
        struct halo_set *set = &halo->sets[g % HALO_SETS];
        MPI_Request *requests = set->requests[mode];

        MPIX_Enqueue_startall(queue, LIFE_DIRECTIONS, requests);
        MPIX_Host_stream_launch(halo->bq.stream, pack, set);
        MPIX_Enqueue_startall(queue, LIFE_DIRECTIONS, requests + LIFE_DIRECTIONS);
        MPIX_Enqueue_waitall(queue, HALO_REQUESTS, requests);
        MPIX_Host_stream_launch(halo->bq.stream, unpack_and_step, set);
    }
    return bench_queue_release(&halo->bq);
}

static double run_stream(struct halo *halo, enum bench_mode mode, long generations)
{
    long batch = bench_queue_batch(&halo->bq, OPERATIONS);
    double seconds = 0;

    for (; generations > batch; generations -= batch) {
        seconds += run_batch(halo, mode, batch);
    }
    return seconds + run_batch(halo, mode, generations);
}

double halo_run(struct halo *halo, enum bench_mode mode, long generations)
{
    double started = (double)generations * HALO_REQUESTS, begin = MPI_Wtime();

    if (bench_mode_is_stream(mode)) {
        return run_stream(halo, mode, generations);
    }
    if (mode == BENCH_MPI_BLOCKING) {
        run_blocking(halo, generations);
    } else {
        run_persistent(halo, mode, generations);
    }
    halo->mpi.starts += started;
    halo->mpi.waits += started;
    halo->mpi.posts += started;
    return MPI_Wtime() - begin;
}

static void make_requests(struct halo_set *set, enum bench_mode mode)
{
    const struct bench_mpi *mpi = bench_mpi(mode);
    const struct halo *halo = set->halo;
    MPI_Request *requests = set->requests[mode];

    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        int bytes = border_bytes(halo, d), peer = halo->neighbours[d];

        mpi->recv_init(set->recv[d], bytes, MPI_BYTE, peer, recv_tag(set, d), halo->comm,
                       &requests[d]);
        mpi->send_init(set->send[d], bytes, MPI_BYTE, peer, send_tag(set, d), halo->comm,
                       &requests[LIFE_DIRECTIONS + d]);
    }
    if (bench_mode_is_matched(mode)) {
        MPIX_Matchall(HALO_REQUESTS, requests);
    }
}

void halo_open(struct halo *halo, const struct bench_options *opts)
{
    for (int s = 0; s < HALO_SETS; s++) {
        struct halo_set *set = &halo->sets[s];

        set->halo = halo;
        for (int d = 0; d < LIFE_DIRECTIONS; d++) {
            set->send[d] = bench_alloc(life_border(&halo->board, d));
            set->recv[d] = bench_alloc(life_border(&halo->board, d));
        }
        for (int mode = BENCH_MPI_PERSISTENT; mode < BENCH_NUM_MODES; mode++) {
            if (opts->use_mode[mode]) {
                make_requests(set, (enum bench_mode)mode);
            }
        }
    }
}

static void free_requests(struct halo_set *set, enum bench_mode mode)
{
    for (int i = 0; i < HALO_REQUESTS; i++) {
        bench_mpi(mode)->request_free(&set->requests[mode][i]);
    }
}

void halo_close(struct halo *halo, const struct bench_options *opts)
{
    for (int s = 0; s < HALO_SETS; s++) {
        struct halo_set *set = &halo->sets[s];

        for (int mode = BENCH_MPI_PERSISTENT; mode < BENCH_NUM_MODES; mode++) {
            if (opts->use_mode[mode]) {
                free_requests(set, (enum bench_mode)mode);
            }
        }
        for (int d = 0; d < LIFE_DIRECTIONS; d++) {
            free(set->send[d]);
            free(set->recv[d]);
        }
    }
}

void halo_reset(struct halo *halo)
{
    for (int s = 0; s < HALO_SETS; s++) {
        for (int d = 0; d < LIFE_DIRECTIONS; d++) {
            memset(halo->sets[s].recv[d], 0xff, life_border(&halo->board, d));
        }
    }
}
