/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * pingpong.c - mpixq_pingpong: pack, send, receive, unpack between two ranks
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
 *
 * Verification. pack adds 1 to every word, so after n round trips each word tells how many hops it
 * has made; a lost, repeated or torn message leaves another number. It costs the timed part
 * nothing, since pack has to touch every word anyhow.
 */
#include "bench.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TAG 7
#define GUARD UINT64_C(0x5ca1ab1e5ca1ab1e)
#define POISON UINT64_C(0xdeaddeaddeaddead)

enum { RECV, SEND, NUM_REQUESTS };

struct pingpong {
    int rank, peer;
    size_t words;
    uint64_t *data; /* what pack reads and unpack writes */
    uint64_t *send_buffer;
    uint64_t *recv_buffer; /* one word longer than the message: the guard */
    /* On a device the three are in its memory, and the modes of MPI have these; else the same. */
    uint64_t *mpi_send, *mpi_recv;
    uint64_t *image; /* for the host: what goes there or comes from there, and a guard */
    MPI_Request requests[BENCH_NUM_MODES][NUM_REQUESTS];
    struct bench_counts mpi; /* of the MPI modes */
    struct bench_queue bq;
};

static uint64_t first_value(size_t word)
{
    return (uint64_t)word * UINT64_C(0x9e3779b97f4a7c15);
}

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

static const struct bench_work packing = {pack, launch_pack};
static const struct bench_work unpacking = {unpack, launch_unpack};

static void pack_for_mpi(struct pingpong *pp)
{
    bench_mpi_pack(&packing, pp, pp->mpi_send, pp->send_buffer, pp->words * sizeof *pp->data);
}

static void unpack_from_mpi(struct pingpong *pp)
{
    bench_mpi_unpack(&unpacking, pp, pp->recv_buffer, pp->mpi_recv, pp->words * sizeof *pp->data);
}

static void run_blocking(struct pingpong *pp, long iterations)
{
    int bytes = (int)(pp->words * sizeof *pp->data);

    for (long i = 0; i < iterations; i++) {
        if (pp->rank == 0) {
            pack_for_mpi(pp);
            PMPI_Send(pp->mpi_send, bytes, MPI_BYTE, pp->peer, TAG, MPI_COMM_WORLD);
        }
        PMPI_Recv(pp->mpi_recv, bytes, MPI_BYTE, pp->peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        unpack_from_mpi(pp);
        if (pp->rank == 1) {
            pack_for_mpi(pp);
            PMPI_Send(pp->mpi_send, bytes, MPI_BYTE, pp->peer, TAG, MPI_COMM_WORLD);
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

static double run_batch(struct pingpong *pp, enum bench_mode mode, long iterations)
{
    MPI_Request *requests = pp->requests[mode];
    MPIX_Queue queue = pp->bq.queue;

    bench_queue_hold(&pp->bq);
    if (pp->rank == 1) {
        MPIX_Enqueue_start(queue, &requests[RECV]);
    }
    for (long i = 0; i < iterations; i++) {
        if (pp->rank == 1) {
            MPIX_Enqueue_waitall(queue, NUM_REQUESTS, requests);
            bench_queue_work(&pp->bq, &unpacking, pp);
        }
        bench_queue_work(&pp->bq, &packing, pp);
        if (pp->rank == 1 && i == iterations - 1) {
            MPIX_Enqueue_start(queue, &requests[SEND]);
        } else {
            MPIX_Enqueue_startall(queue, NUM_REQUESTS, requests);
        }
        if (pp->rank == 0) {
            MPIX_Enqueue_waitall(queue, NUM_REQUESTS, requests);
            bench_queue_work(&pp->bq, &unpacking, pp);
        }
    }
    if (pp->rank == 1) {
        MPIX_Enqueue_wait(queue, &requests[SEND]);
    }
    return bench_queue_release(&pp->bq);
}

static double run_stream(struct pingpong *pp, enum bench_mode mode, long iterations)
{
    long batch = bench_queue_batch(&pp->bq, OPERATIONS);
    double seconds = 0;

    for (; iterations > batch; iterations -= batch) {
        seconds += run_batch(pp, mode, batch);
    }
    return seconds + run_batch(pp, mode, iterations);
}

static double run(void *ctx, enum bench_mode mode, long iterations)
{
    struct pingpong *pp = ctx;

    double begin = MPI_Wtime();

    if (bench_mode_is_stream(mode)) {
        return run_stream(pp, mode, iterations);
    }
    if (mode == BENCH_MPI_BLOCKING) {
        run_blocking(pp, iterations);
    } else {
        run_persistent(pp, mode, iterations);
    }
    bench_device_synchronize();
    /* Each round trip is one send and one receive of each rank, whatever calls did it. */
    pp->mpi.starts += 2.0 * (double)iterations;
    pp->mpi.waits += 2.0 * (double)iterations;
    pp->mpi.posts += 2.0 * (double)iterations;
    return MPI_Wtime() - begin;
}

static void begin(void *ctx, enum bench_mode mode)
{
    struct pingpong *pp = ctx;

    size_t bytes = pp->words * sizeof *pp->data;

    (void)mode;
    for (size_t i = 0; i < pp->words; i++) {
        pp->image[i] = POISON;
    }
    pp->image[pp->words] = GUARD;
    bench_memory_copy(pp->recv_buffer, pp->image, bytes + sizeof GUARD);
    memcpy(pp->mpi_recv, pp->image, bytes + sizeof GUARD);
    for (size_t i = 0; pp->rank == 0 && i < pp->words; i++) {
        pp->image[i] = first_value(i);
    }
    bench_memory_copy(pp->data, pp->image, bytes);
}

static long errors(void *ctx, enum bench_mode mode, long iterations)
{
    struct pingpong *pp = ctx;
    /* The last message that rank 1 received lacks the hop back. */
    uint64_t hops = 2 * (uint64_t)iterations - (pp->rank == 1 ? 1 : 0);
    long wrong = pp->mpi_recv[pp->words] != GUARD;

    (void)mode;
    bench_memory_copy(pp->image, pp->recv_buffer + pp->words, sizeof GUARD);
    wrong += bench_on_device() && pp->image[0] != GUARD;
    bench_memory_copy(pp->image, pp->data, pp->words * sizeof *pp->data);
    for (size_t i = 0; i < pp->words; i++) {
        wrong += pp->image[i] != first_value(i) + hops;
    }
    return wrong;
}

static void counts(void *ctx, enum bench_mode mode, struct bench_counts *totals)
{
    struct pingpong *pp = ctx;

    if (bench_mode_is_stream(mode)) {
        bench_queue_counts(&pp->bq, totals);
    } else {
        *totals = pp->mpi;
    }
}

static void channel(void *ctx, enum bench_mode mode, char name[BENCH_CHANNEL_LEN])
{
    struct pingpong *pp = ctx;

    if (bench_mode_is_stream(mode)) {
        bench_queue_channel(&pp->bq, name);
    } else {
        snprintf(name, BENCH_CHANNEL_LEN, mode == BENCH_HOST ? "matched" : "mpi");
    }
}

static void make_requests(struct pingpong *pp, enum bench_mode mode)
{
    const struct bench_mpi *mpi = bench_mpi(mode);
    MPI_Request *requests = pp->requests[mode];
    bool on_stream = bench_mode_is_stream(mode);
    int bytes = (int)(pp->words * sizeof *pp->data);

    mpi->recv_init(on_stream ? pp->recv_buffer : pp->mpi_recv, bytes, MPI_BYTE, pp->peer, TAG,
                   MPI_COMM_WORLD, &requests[RECV]);
    mpi->send_init(on_stream ? pp->send_buffer : pp->mpi_send, bytes, MPI_BYTE, pp->peer, TAG,
                   MPI_COMM_WORLD, &requests[SEND]);
    if (bench_mode_is_matched(mode)) {
        MPIX_Matchall(NUM_REQUESTS, requests);
    }
}

static void make_buffers(struct pingpong *pp, size_t bytes)
{
    pp->words = bytes / sizeof *pp->data;
    pp->data = bench_memory(bytes);
    pp->send_buffer = bench_memory(bytes);
    pp->recv_buffer = bench_memory(bytes + sizeof *pp->data);
    pp->image = bench_alloc(bytes + sizeof *pp->data);
    pp->mpi_send = bench_staging(pp->send_buffer, bytes);
    pp->mpi_recv = bench_staging(pp->recv_buffer, bytes + sizeof *pp->data);
}

static void free_buffers(struct pingpong *pp)
{
    bench_staging_free(pp->mpi_send);
    bench_staging_free(pp->mpi_recv);
    bench_memory_free(pp->data);
    bench_memory_free(pp->send_buffer);
    bench_memory_free(pp->recv_buffer);
    free(pp->image);
}

static void measure_size(struct pingpong *pp, const struct bench_options *opts, size_t bytes,
                         struct bench_report *report)
{
    static const struct bench_app app = {.bench = "pingpong",
                                         .hops = 2,
                                         .messages = 1,
                                         .min_iterations = 2,
                                         .begin = begin,
                                         .run = run,
                                         .errors = errors,
                                         .counts = counts,
                                         .channel = channel};
    struct bench_row rows[BENCH_NUM_MODES];
    int num;

    make_buffers(pp, bytes);
    for (int mode = BENCH_MPI_PERSISTENT; mode < BENCH_NUM_MODES; mode++) {
        if (opts->use_mode[mode]) {
            make_requests(pp, (enum bench_mode)mode);
        }
    }
    num = bench_measure(opts, &app, pp, bytes, opts->seconds / opts->num_sizes, 0, rows);
    bench_report_rows(report, rows, num);
    for (int mode = BENCH_MPI_PERSISTENT; mode < BENCH_NUM_MODES; mode++) {
        if (opts->use_mode[mode]) {
            bench_mpi(mode)->request_free(&pp->requests[mode][RECV]);
            bench_mpi(mode)->request_free(&pp->requests[mode][SEND]);
        }
    }
    free_buffers(pp);
}

static int measure_all(const struct bench_options *opts)
{
    struct pingpong pp = {0};
    struct bench_report report;

    MPI_Comm_rank(MPI_COMM_WORLD, &pp.rank);
    pp.peer = 1 - pp.rank;
    if (!bench_report_open(&report, opts, "ping-pong with pack and unpack, one-way time", 1)) {
        return BENCH_EXIT_USAGE;
    }
    bench_queue_open(&pp.bq, opts);
    for (int i = 0; i < opts->num_sizes; i++) {
        measure_size(&pp, opts, opts->sizes[i], &report);
    }
    bench_queue_close(&pp.bq);
    return bench_report_close(&report, opts);
}

static bool sizes_fit(const struct bench_options *opts)
{
    for (int i = 0; i < opts->num_sizes; i++) {
        if (opts->sizes[i] % sizeof(uint64_t) != 0 || opts->sizes[i] > (size_t)1 << 30) {
            bench_complain(opts, "size %zu is not a multiple of 8 up to 1G", opts->sizes[i]);
            return false;
        }
    }
    return true;
}

int main(int argc, char *argv[])
{
    static const struct bench_usage usage = {
        .summary = "Ping-pong between two ranks: pack, send, receive, unpack per hop.",
        .sizes_help = "message sizes in bytes, multiples of 8"};
    struct bench_options opts = {.program = "mpixq_pingpong",
                                 .seconds = 20,
                                 .trials = 40,
                                 .use_mode = {true, true, true, true, true}};
    int provided, ranks, status;

    bench_parse_size_list("8,32,128,512,2K,8K,32K,64K,256K,1M,4M", opts.sizes, &opts.num_sizes);
    bench_set_channel(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (bench_parse_options(&opts, &usage, argc, argv, &status)) {
        status = BENCH_EXIT_USAGE;
        if (provided < MPI_THREAD_MULTIPLE) {
            bench_complain(&opts, "this MPI does not offer MPI_THREAD_MULTIPLE");
        } else if (ranks != 2) {
            bench_complain(&opts, "needs 2 ranks, was started with %d", ranks);
        } else if (sizes_fit(&opts)) {
            status = measure_all(&opts);
        }
        bench_device_close();
    }
    MPI_Finalize();
    return status;
}
