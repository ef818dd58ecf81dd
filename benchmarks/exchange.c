/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * exchange.c - mpixq_exchange: n messages each way between the neighbours of a ring
 *
 *     each exchange: pack, start 2 n receives and 2 n sends, wait for all, unpack
 *
 * Every rank sends n messages to the rank on its right and n to the one on its left, and receives
 * as many from each. With two ranks both neighbours are the other rank, with one they are the rank
 * itself; the tag tells the direction in which a message travels, which keeps such messages apart.
 *
 * In the MPI modes the host does this. In the stream modes it enqueues all exchanges of a trial and
 * then waits once: an exchange is one startall and one waitall, whatever n is. Pack and unpack are
 * the same functions, run by the stream. With --device all modes pack and unpack by kernels; what
 * MPI sends and receives is copied to and from pinned memory, all messages at once.
 *
 * Ready sends. A ready send says that the receive buffer may be written. Claim: with two sets of
 * buffers, used in turn, it may. Let rank A send to rank B in exchange k, into the set that B last
 * used in k-2; to be shown: B has unpacked k-2.
 *
 *   1. A starts its sends of k after its wait for k-1 is over, so A has received all of k-1.
 *   2. On a ring the neighbours of A have A as a neighbour. So A has received messages of B's k-1.
 *   3. B started those after it had unpacked k-2, by the order of its stream.
 *
 * The first two exchanges of a trial have no k-2; the barrier before the trial stands for it, since
 * each rank has waited for all of the trial before. All modes use the two sets, so that they do
 * equal work.
 *
 * Verification. What came from one side is sent on to the other in the next exchange, and pack adds
 * 1 to every word. So after k exchanges each word tells which rank it came from, as which word of
 * which message, and how many hops it has made; a message that was lost, repeated, torn or mixed up
 * leaves another number.
 */
#include "bench.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GUARD UINT64_C(0x5ca1ab1e5ca1ab1e)
#define POISON UINT64_C(0xdeaddeaddeaddead)
#define MAX_MESSAGES 1024
#define LINE_WORDS 8
#define MAX_BYTES ((size_t)256 << 20) /* of all messages in one direction */

/* The directions in which messages travel. */
enum { RIGHT, LEFT, DIRECTIONS };

enum { SETS = 2 };

struct exchange;

/* The messages of all directions lie one after the other, each in its own cache lines. */
struct exchange_set {
    struct exchange *ex;
    uint64_t *send;
    uint64_t *recv; /* the word behind each message is a guard */
    /* On a device the two are in its memory, and the modes of MPI have these; else the same. */
    uint64_t *mpi_send, *mpi_recv;
    MPI_Request *requests[BENCH_NUM_MODES]; /* receives first */
};

struct exchange {
    int rank, ranks;
    int messages; /* in each direction */
    size_t words; /* of a message */
    size_t stride;
    uint64_t *data;  /* what pack reads and unpack writes */
    uint64_t *image; /* for the host: what goes to such memory, or comes from it */
    struct exchange_set sets[SETS];
    struct bench_counts mpi; /* of the MPI modes */
    struct bench_queue bq;
};

static int num_requests(const struct exchange *ex)
{
    return 2 * DIRECTIONS * ex->messages;
}

/* Of the messages of all directions. */
static size_t block_bytes(const struct exchange *ex)
{
    return (size_t)(DIRECTIONS * ex->messages) * ex->stride * sizeof(uint64_t);
}

/* The rank that is so many steps away in a direction. */
static int rank_towards(const struct exchange *ex, int direction, long steps)
{
    long shift = (direction == RIGHT ? steps : -steps) % ex->ranks;

    return (int)((ex->rank + shift + ex->ranks) % ex->ranks);
}

static int tag(const struct exchange_set *set, int direction, int message)
{
    int index = (int)(set - set->ex->sets);

    return (index * DIRECTIONS + direction) * set->ex->messages + message;
}

/* Different for every word of every message and rank. The factor keeps them far apart, so that hops
 * do not lead from one to another. */
static uint64_t first_value(int rank, int direction, int message, size_t word)
{
    uint64_t number = ((uint64_t)rank * DIRECTIONS + (uint64_t)direction) * MAX_MESSAGES;

    return ((number + (uint64_t)message) << 28 | word) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Not inline, and with what they need in variables of their own: the stream calls them by their
 * addresses, and the MPI modes must not get better code for the same work. */
static __attribute__((noinline)) void pack(void *arg)
{
    const struct exchange_set *set = arg;
    const struct exchange *ex = set->ex;
    size_t words = ex->words;

    for (int m = 0; m < DIRECTIONS * ex->messages; m++) {
        const uint64_t *data = ex->data + (size_t)m * ex->stride;
        uint64_t *buffer = set->send + (size_t)m * ex->stride;

        for (size_t i = 0; i < words; i++) {
            buffer[i] = data[i] + 1;
        }
    }
}

static __attribute__((noinline)) void unpack(void *arg)
{
    const struct exchange_set *set = arg;
    const struct exchange *ex = set->ex;
    size_t words = ex->words;

    for (int m = 0; m < DIRECTIONS * ex->messages; m++) {
        const uint64_t *buffer = set->recv + (size_t)m * ex->stride;
        uint64_t *data = ex->data + (size_t)m * ex->stride;

        for (size_t i = 0; i < words; i++) {
            data[i] = buffer[i];
        }
    }
}

/* What these do as a kernel. */
static void launch(const struct exchange *ex, uint64_t *to, const uint64_t *from, uint64_t add)
{
    bench_device_words(&(struct bench_words){.from = from,
                                             .to = to,
                                             .add = add,
                                             .words = ex->words,
                                             .stride = ex->stride,
                                             .messages = (size_t)(DIRECTIONS * ex->messages)});
}

static void launch_pack(void *arg)
{
    const struct exchange_set *set = arg;

    launch(set->ex, set->send, set->ex->data, 1);
}

static void launch_unpack(void *arg)
{
    const struct exchange_set *set = arg;

    launch(set->ex, set->ex->data, set->recv, 0);
}

static const struct bench_work packing = {pack, launch_pack};
static const struct bench_work unpacking = {unpack, launch_unpack};

typedef int make_recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int make_send(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* The requests of one exchange by these two functions, persistent or not. What travels to the right
 * comes from the left. */
static void make(const struct exchange_set *set, enum bench_mode mode, make_recv *recv,
                 make_send *send)
{
    const struct exchange *ex = set->ex;
    bool on_stream = bench_mode_is_stream(mode);
    uint64_t *in = on_stream ? set->recv : set->mpi_recv;
    const uint64_t *out = on_stream ? set->send : set->mpi_send;
    MPI_Request *requests = set->requests[mode];
    int bytes = (int)(ex->words * sizeof *ex->data);

    for (int d = 0; d < DIRECTIONS; d++) {
        int to = rank_towards(ex, d, 1), from = rank_towards(ex, d, -1);

        for (int m = 0; m < ex->messages; m++) {
            int i = d * ex->messages + m;
            size_t offset = (size_t)i * ex->stride;

            recv(in + offset, bytes, MPI_BYTE, from, tag(set, d, m), MPI_COMM_WORLD, &requests[i]);
            send(out + offset, bytes, MPI_BYTE, to, tag(set, d, m), MPI_COMM_WORLD,
                 &requests[DIRECTIONS * ex->messages + i]);
        }
    }
}

/* In the set's array for this mode: anew in each exchange, or there already. */
static void run_mpi(struct exchange *ex, enum bench_mode mode, long iterations)
{
    const struct bench_mpi *mpi = bench_mpi(mode);
    int num = num_requests(ex);

    for (long k = 0; k < iterations; k++) {
        struct exchange_set *set = &ex->sets[k % SETS];
        MPI_Request *requests = set->requests[mode];

        bench_mpi_pack(&packing, set, set->mpi_send, set->send, block_bytes(ex));
        if (mode == BENCH_MPI_BLOCKING) {
            make(set, mode, PMPI_Irecv, PMPI_Isend);
        } else {
            mpi->startall(num, requests);
        }
        mpi->waitall(num, requests, MPI_STATUSES_IGNORE);
        bench_mpi_unpack(&unpacking, set, set->recv, set->mpi_recv, block_bytes(ex));
    }
    bench_device_synchronize();
}

static double run_batch(struct exchange *ex, enum bench_mode mode, long iterations)
{
    MPIX_Queue queue = ex->bq.queue;
    int num = num_requests(ex);

    bench_queue_hold(&ex->bq);
    for (long k = 0; k < iterations; k++) {
        struct exchange_set *set = &ex->sets[k % SETS];

        bench_queue_work(&ex->bq, &packing, set);
        MPIX_Enqueue_startall(queue, num, set->requests[mode]);
        MPIX_Enqueue_waitall(queue, num, set->requests[mode]);
        bench_queue_work(&ex->bq, &unpacking, set);
    }
    return bench_queue_release(&ex->bq);
}

static double run_stream(struct exchange *ex, enum bench_mode mode, long iterations)
{
    /* On the stream: every start, every wait, and two functions. */
    long batch = bench_queue_batch(&ex->bq, 2 * num_requests(ex) + 2);
    double seconds = 0;

    for (; iterations > batch; iterations -= batch) {
        seconds += run_batch(ex, mode, batch);
    }
    return seconds + run_batch(ex, mode, iterations);
}

static double run(void *ctx, enum bench_mode mode, long iterations)
{
    struct exchange *ex = ctx;
    double started = (double)iterations * num_requests(ex), begin = MPI_Wtime();

    if (bench_mode_is_stream(mode)) {
        return run_stream(ex, mode, iterations);
    }
    run_mpi(ex, mode, iterations);
    ex->mpi.starts += started;
    ex->mpi.waits += started;
    ex->mpi.posts += started;
    return MPI_Wtime() - begin;
}

static void begin(void *ctx, enum bench_mode mode)
{
    struct exchange *ex = ctx;
    int all = DIRECTIONS * ex->messages;

    (void)mode;
    for (int m = 0; m < all; m++) {
        for (size_t i = 0; i <= ex->words; i++) {
            ex->image[(size_t)m * ex->stride + i] = i == ex->words ? GUARD : POISON;
        }
    }
    for (int s = 0; s < SETS; s++) {
        bench_memory_copy(ex->sets[s].recv, ex->image, block_bytes(ex));
        memcpy(ex->sets[s].mpi_recv, ex->image, block_bytes(ex));
    }
    for (int m = 0; m < all; m++) {
        for (size_t i = 0; i <= ex->words; i++) {
            ex->image[(size_t)m * ex->stride + i] =
                first_value(ex->rank, m / ex->messages, m % ex->messages, i);
        }
    }
    bench_memory_copy(ex->data, ex->image, block_bytes(ex));
}

static long broken_guards(const struct exchange *ex, const uint64_t *recv)
{
    long wrong = 0;

    for (int m = 0; m < DIRECTIONS * ex->messages; m++) {
        wrong += recv[(size_t)m * ex->stride + ex->words] != GUARD;
    }
    return wrong;
}

static long errors(void *ctx, enum bench_mode mode, long iterations)
{
    const struct exchange *ex = ctx;
    long wrong = 0;

    (void)mode;
    for (int s = 0; s < SETS; s++) {
        bench_memory_copy(ex->image, ex->sets[s].recv, block_bytes(ex));
        wrong += broken_guards(ex, ex->image) + broken_guards(ex, ex->sets[s].mpi_recv);
    }
    bench_memory_copy(ex->image, ex->data, block_bytes(ex));
    for (int d = 0; d < DIRECTIONS; d++) {
        /* What travels to the right began its way on the left. */
        int origin = rank_towards(ex, d, -iterations);

        for (int m = 0; m < ex->messages; m++) {
            const uint64_t *data = ex->image + (size_t)(d * ex->messages + m) * ex->stride;

            for (size_t i = 0; i < ex->words; i++) {
                wrong += data[i] != first_value(origin, d, m, i) + (uint64_t)iterations;
            }
        }
    }
    return wrong;
}

static void counts(void *ctx, enum bench_mode mode, struct bench_counts *totals)
{
    struct exchange *ex = ctx;

    if (bench_mode_is_stream(mode)) {
        bench_queue_counts(&ex->bq, totals);
    } else {
        *totals = ex->mpi;
    }
}

static void channel(void *ctx, enum bench_mode mode, char name[BENCH_CHANNEL_LEN])
{
    struct exchange *ex = ctx;

    if (bench_mode_is_stream(mode)) {
        bench_queue_channel(&ex->bq, name);
    } else {
        snprintf(name, BENCH_CHANNEL_LEN, mode == BENCH_HOST ? "matched" : "mpi");
    }
}

static void open_set(struct exchange_set *set, const struct bench_options *opts)
{
    const struct exchange *ex = set->ex;
    int num = num_requests(ex);

    set->send = bench_memory(block_bytes(ex));
    set->recv = bench_memory(block_bytes(ex));
    set->mpi_send = bench_staging(set->send, block_bytes(ex));
    set->mpi_recv = bench_staging(set->recv, block_bytes(ex));
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (!opts->use_mode[mode]) {
            continue;
        }
        set->requests[mode] = bench_alloc((size_t)num * sizeof(MPI_Request));
        if (mode != BENCH_MPI_BLOCKING) {
            const struct bench_mpi *mpi = bench_mpi((enum bench_mode)mode);

            make(set, (enum bench_mode)mode, mpi->recv_init, mpi->send_init);
        }
        if (bench_mode_is_matched((enum bench_mode)mode)) {
            MPIX_Matchall(num, set->requests[mode]);
        }
    }
}

static void close_set(struct exchange_set *set, const struct bench_options *opts)
{
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        for (int i = 0; i < num_requests(set->ex); i++) {
            if (opts->use_mode[mode] && mode != BENCH_MPI_BLOCKING) {
                bench_mpi((enum bench_mode)mode)->request_free(&set->requests[mode][i]);
            }
        }
        free(set->requests[mode]);
        set->requests[mode] = NULL;
    }
    bench_staging_free(set->mpi_send);
    bench_staging_free(set->mpi_recv);
    bench_memory_free(set->send);
    bench_memory_free(set->recv);
}

static void measure_size(struct exchange *ex, const struct bench_options *opts, size_t bytes,
                         struct bench_report *report)
{
    const struct bench_app app = {.bench = "exchange",
                                  .hops = 1,
                                  .messages = DIRECTIONS * ex->messages,
                                  .min_iterations = 2,
                                  .begin = begin,
                                  .run = run,
                                  .errors = errors,
                                  .counts = counts,
                                  .channel = channel};
    struct bench_row rows[BENCH_NUM_MODES];
    int num;

    ex->words = bytes / sizeof *ex->data;
    ex->stride = (ex->words + 1 + LINE_WORDS - 1) / LINE_WORDS * LINE_WORDS;
    ex->data = bench_memory(block_bytes(ex));
    ex->image = bench_alloc(block_bytes(ex));
    for (int s = 0; s < SETS; s++) {
        ex->sets[s].ex = ex;
        open_set(&ex->sets[s], opts);
    }
    num = bench_measure(opts, &app, ex, bytes, opts->seconds / opts->num_sizes, 0, rows);
    bench_report_rows(report, rows, num);
    for (int s = 0; s < SETS; s++) {
        close_set(&ex->sets[s], opts);
    }
    bench_memory_free(ex->data);
    free(ex->image);
}

static int measure_all(struct exchange *ex, const struct bench_options *opts)
{
    struct bench_report report;
    char what[96];

    (void)snprintf(what, sizeof what, "%d messages each way between neighbours of a ring",
                   ex->messages);
    if (!bench_report_open(&report, opts, what, DIRECTIONS * ex->messages)) {
        return BENCH_EXIT_USAGE;
    }
    bench_queue_open(&ex->bq, opts);
    for (int i = 0; i < opts->num_sizes; i++) {
        measure_size(ex, opts, opts->sizes[i], &report);
    }
    bench_queue_close(&ex->bq);
    return bench_report_close(&report, opts);
}

static bool sizes_fit(const struct exchange *ex, const struct bench_options *opts)
{
    for (int i = 0; i < opts->num_sizes; i++) {
        if (opts->sizes[i] % sizeof(uint64_t) != 0 ||
            opts->sizes[i] > MAX_BYTES / (size_t)ex->messages) {
            bench_complain(opts, "size %zu is not a multiple of 8, or %d messages exceed 256M",
                           opts->sizes[i], ex->messages);
            return false;
        }
    }
    return true;
}

static bool set_messages(void *target, const char *value)
{
    long messages;

    if (!bench_parse_int(value, 1, MAX_MESSAGES, &messages)) {
        return false;
    }
    ((struct exchange *)target)->messages = (int)messages;
    return true;
}

int main(int argc, char *argv[])
{
    static const struct bench_extra_option extra[] = {
        {"messages", "N", "messages to each neighbour (default 4)", set_messages}};
    struct exchange ex = {.messages = 4};
    struct bench_usage usage = {
        .summary = "A ring of ranks, each exchanging N messages each way with both neighbours.",
        .sizes_help = "message sizes in bytes, multiples of 8",
        .extra = extra,
        .num_extra = 1,
        .target = &ex};
    struct bench_options opts = {.program = "mpixq_exchange",
                                 .seconds = 10,
                                 .trials = 30,
                                 .use_mode = {true, true, true, true, true},
                                 .verify = true};
    int provided, status;

    bench_parse_size_list("8,64,512,4K,32K,256K", opts.sizes, &opts.num_sizes);
    bench_set_channel(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &ex.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ex.ranks);
    if (bench_parse_options(&opts, &usage, argc, argv, &status)) {
        status = BENCH_EXIT_USAGE;
        if (provided < MPI_THREAD_MULTIPLE) {
            bench_complain(&opts, "this MPI does not offer MPI_THREAD_MULTIPLE");
        } else if (sizes_fit(&ex, &opts)) {
            status = measure_all(&ex, &opts);
        }
        bench_device_close();
    }
    MPI_Finalize();
    return status;
}
