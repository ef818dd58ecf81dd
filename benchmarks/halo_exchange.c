/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * halo_exchange.c - eight messages each way per generation, in every mode
 *
 *     start the receives, pack, start the sends, wait for all, unpack, compute
 *
 * In the MPI modes the host does this. In the stream modes it enqueues all generations of a trial
 * and then waits once; pack, unpack and compute are the same functions, run by the stream. With
 * --device all modes do these by kernels, and what MPI sends and receives is copied to and from
 * pinned memory, all messages of a generation at once. In the modes stream-fused one kernel does a
 * generation (halo_fused.c); the borders of the rank itself it copies without a message.
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
 * So it is with puts. A put of g goes into the set that B has unpacked in g-2, and it tells a
 * signal that B has waited for and reset in g-2, before it unpacked: no event of g can be counted
 * for g-2, and none comes too early. A packs its own set again once the signal of what leaves has
 * said that the memory may be written. Hence nothing but signals keeps the ranks in step, and each
 * set has one plan, which puts all eight borders.
 *
 * With one set it would not hold: step 3 says nothing about B having unpacked g-1. The first two
 * generations of a trial have no g-2; the barrier before the trial stands for it, since each rank
 * has waited for all of the trial before. All modes use the two sets, so that they do equal work.
 *
 * The same rank may be a neighbour several times, or be this rank itself: the tag tells the
 * direction in which a message travels, which keeps such messages apart.
 */
#include "halo.h"

static int send_tag(const struct halo_set *set, int direction)
{
    return (int)(set - set->halo->sets) * LIFE_DIRECTIONS + direction;
}

/* What comes from a direction was sent in the opposite one. */
static int recv_tag(const struct halo_set *set, int direction)
{
    return send_tag(set, life_opposite(direction));
}

/* What a set sends and receives, in one direction. */
struct border {
    int bytes, peer;
    uint8_t *send, *recv;
};

static struct border border(const struct halo_set *set, enum bench_mode mode, int direction)
{
    const struct life_board *board = &set->halo->board;
    size_t offset = life_offset(board, direction), bytes = life_border(board, direction);
    bool on_stream = bench_mode_is_stream(mode);

    return (struct border){.bytes =
                               (int)(bench_mode_is_fused(mode) ? halo_fused_bytes(bytes) : bytes),
                           .peer = set->halo->neighbours[direction],
                           .send = (on_stream ? set->own_send : set->mpi_send) + offset,
                           .recv = (on_stream ? set->own_recv : set->mpi_recv) + offset};
}

typedef int make_recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int make_send(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* Requests by one of these functions, persistent or not. */
static void make_recvs(struct halo_set *set, enum bench_mode mode, make_recv *recv)
{
    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        struct border b = border(set, mode, d);

        recv(b.recv, b.bytes, MPI_BYTE, b.peer, recv_tag(set, d), set->halo->comm,
             &set->requests[mode][d]);
    }
}

static void make_sends(struct halo_set *set, enum bench_mode mode, make_send *send)
{
    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        struct border b = border(set, mode, d);

        send(b.send, b.bytes, MPI_BYTE, b.peer, send_tag(set, d), set->halo->comm,
             &set->requests[mode][LIFE_DIRECTIONS + d]);
    }
}

/* In the set's array for this mode: made anew in each generation, or there already. */
static void run_mpi(struct halo *halo, enum bench_mode mode, long generations)
{
    size_t bytes = life_offset(&halo->board, LIFE_DIRECTIONS);
    const struct bench_mpi *mpi = bench_mpi(mode);

    for (long g = 0; g < generations; g++) {
        struct halo_set *set = &halo->sets[g % HALO_SETS];
        MPI_Request *requests = set->requests[mode];

        if (mode == BENCH_MPI_BLOCKING) {
            make_recvs(set, mode, PMPI_Irecv);
        } else {
            mpi->startall(LIFE_DIRECTIONS, requests);
        }
        bench_mpi_pack(&halo_packing, set, set->mpi_send, set->send, bytes);
        if (mode == BENCH_MPI_BLOCKING) {
            make_sends(set, mode, PMPI_Isend);
        } else {
            mpi->startall(LIFE_DIRECTIONS, requests + LIFE_DIRECTIONS);
        }
        mpi->waitall(HALO_REQUESTS, requests, MPI_STATUSES_IGNORE);
        bench_mpi_unpack(&halo_stepping, set, set->recv, set->mpi_recv, bytes);
    }
    bench_device_synchronize();
}

/* Operations on the stream per generation: every start, every wait, and at most three kernels. */
enum { OPERATIONS = 2 * HALO_REQUESTS + 3 };

/* The receives are started with the sends, by one launch. Borders are so short that they come into
 * slots, whether their receives are started or not; for longer messages it would pay to start these
 * before what is sent is packed. */
static void enqueue_stream(struct halo *halo, enum bench_mode mode, long generations)
{
    for (long g = 0; g < generations; g++) {
        struct halo_set *set = &halo->sets[g % HALO_SETS];
        double before;

        bench_queue_work(&halo->bq, &halo_packing, set);
        before = MPI_Wtime();
        MPIX_Enqueue_startwaitall(halo->bq.queue, HALO_REQUESTS, set->requests[mode]);
        bench_calls_end(&halo->bq, before);
        bench_queue_work(&halo->bq, &halo_stepping, set);
        bench_queue_step(&halo->bq);
    }
}

/* Or do it, where the host drives it. */
static void enqueue_baseline(struct halo *halo, enum bench_mode mode, long generations)
{
    for (long g = 0; g < generations; g++) {
        struct halo_set *set = &halo->sets[g % HALO_SETS];
        double before;

        bench_link_work(&halo->bq, mode, &halo_packing, set);
        before = MPI_Wtime();
        bench_link_move(&set->links[mode], BENCH_SENDS | BENCH_RECVS);
        bench_calls_end(&halo->bq, before);
        bench_link_work(&halo->bq, mode, &halo_stepping, set);
        if (bench_mode_is_queued(mode)) {
            bench_queue_step(&halo->bq);
        }
    }
}

static void enqueue_fused(struct halo *halo, enum bench_mode mode, long generations)
{
    for (long g = 0; g < generations; g++) {
        double before = MPI_Wtime();

        halo_fused_launch(&halo->sets[g % HALO_SETS], mode);
        bench_calls_end(&halo->bq, before);
        halo->bq.own.launches += 1;
        bench_queue_step(&halo->bq);
    }
}

static void enqueue(void *ctx, enum bench_mode mode, long generations)
{
    struct halo *halo = ctx;

    /* A graph begins after an even number of generations, whatever the board is at when it is made:
     * the board is turned when a launch is captured, and not when the graph is launched. */
    if (bench_mode_is_graph(mode)) {
        halo->board.current = 0;
    }
    (bench_mode_is_fused(mode)    ? enqueue_fused
     : bench_mode_is_stream(mode) ? enqueue_stream
                                  : enqueue_baseline)(halo, mode, generations);
}

static double run_on_stream(struct halo *halo, enum bench_mode mode, long generations)
{
    int operations = OPERATIONS;
    double seconds;

    if (bench_mode_is_fused(mode)) {
        operations = 1;
    } else if (bench_mode_is_baseline(mode)) {
        operations = 3 + bench_baseline_operations(mode, LIFE_DIRECTIONS);
    }
    seconds = bench_queue_run(&halo->bq, mode, generations, operations, enqueue, halo);
    if (bench_mode_is_graph(mode)) {
        halo->board.current = (int)(generations % 2);
    }
    return seconds;
}

/* The requests of a generation. */
static int num_started(const struct halo *halo, enum bench_mode mode)
{
    int own = 0;

    for (int d = 0; bench_mode_is_fused(mode) && d < LIFE_DIRECTIONS; d++) {
        own += halo->neighbours[d] == halo->rank;
    }
    return HALO_REQUESTS - 2 * own;
}

double halo_run(struct halo *halo, enum bench_mode mode, long generations)
{
    double started = (double)generations * num_started(halo, mode), begin = MPI_Wtime();

    halo->bq.own.starts += started;
    halo->bq.own.waits += started;
    if (bench_mode_is_enqueued(mode)) {
        return run_on_stream(halo, mode, generations);
    }
    if (bench_mode_is_baseline(mode)) {
        enqueue_baseline(halo, mode, generations);
        bench_device_synchronize();
    } else {
        run_mpi(halo, mode, generations);
        halo->bq.own.posts += started;
    }
    return MPI_Wtime() - begin;
}

/* A rank that is a neighbour several times sends in the order of the directions, so its messages
 * are received in that of the opposite ones; the tag is the direction of the sender. */
static void make_parts(struct halo *halo)
{
    for (int d = 0; d < LIFE_DIRECTIONS; d++) {
        int from = life_opposite(d);

        halo->sends[d] = (struct bench_part){.peer = halo->world[d],
                                             .tag = d,
                                             .offset = life_offset(&halo->board, d),
                                             .bytes = life_border(&halo->board, d)};
        halo->recvs[d] = (struct bench_part){.peer = halo->world[from],
                                             .tag = d,
                                             .offset = life_offset(&halo->board, from),
                                             .bytes = life_border(&halo->board, from)};
    }
}

static void open_link(struct halo *halo, struct halo_set *set, enum bench_mode mode)
{
    struct bench_link *link = &set->links[mode];

    *link = (struct bench_link){.mode = mode,
                                .num = LIFE_DIRECTIONS,
                                .sends = halo->sends,
                                .recvs = halo->recvs,
                                .bytes = life_offset(&halo->board, LIFE_DIRECTIONS),
                                .counts = &halo->bq.own,
                                .queue = halo->bq.queue};
    bench_link_open(link);
}

void halo_open(struct halo *halo, const struct bench_options *opts)
{
    make_parts(halo);
    for (int s = 0; s < HALO_SETS; s++) {
        for (int m = BENCH_MPI_PERSISTENT; m < BENCH_NUM_MODES; m++) {
            enum bench_mode mode = (enum bench_mode)m;

            if (!opts->use_mode[mode]) {
                continue;
            }
            if (bench_mode_is_baseline(mode)) {
                open_link(halo, &halo->sets[s], mode);
                continue;
            }
            make_recvs(&halo->sets[s], mode, bench_mpi(mode)->recv_init);
            make_sends(&halo->sets[s], mode, bench_mpi(mode)->send_init);
            if (bench_mode_is_matched(mode)) {
                MPIX_Matchall(HALO_REQUESTS, halo->sets[s].requests[mode]);
            }
            if (bench_mode_is_fused(mode)) {
                halo_fused_open(&halo->sets[s], mode);
            }
        }
    }
}

void halo_close(struct halo *halo, const struct bench_options *opts)
{
    bench_queue_renew(&halo->bq);
    for (int s = 0; s < HALO_SETS; s++) {
        for (int mode = BENCH_REQUEST_MODES; mode < BENCH_NUM_MODES; mode++) {
            if (opts->use_mode[mode]) {
                bench_link_close(&halo->sets[s].links[mode]);
            }
        }
        for (int mode = BENCH_MPI_PERSISTENT; mode < BENCH_REQUEST_MODES; mode++) {
            if (halo->sets[s].fused[mode] != NULL) {
                halo_fused_close(&halo->sets[s], (enum bench_mode)mode);
            }
            for (int i = 0; opts->use_mode[mode] && i < HALO_REQUESTS; i++) {
                bench_mpi((enum bench_mode)mode)->request_free(&halo->sets[s].requests[mode][i]);
            }
        }
    }
}
