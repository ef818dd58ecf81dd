/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * exchange.c - mpixq_exchange: n messages each way between the neighbours of a ring, or of a grid
 *
 *     each exchange: pack, start all receives and sends, wait for all, unpack
 *
 * Every rank sends n messages to the rank on its right and n to the one on its left, and receives
 * as many from each; on a grid, to and from eight neighbours. Some of them may be the same rank, or
 * be this rank itself, as on a ring of two ranks, or of one; the tag tells the direction in which a
 * message travels, which keeps such messages apart.
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
 *   2. On a ring, or a grid, the neighbours of A have A as a neighbour. So A has received messages
 *      of B's k-1.
 *   3. B started those after it had unpacked k-2, by the order of its stream.
 *
 * The first two exchanges of a trial have no k-2; the barrier before the trial stands for it, since
 * each rank has waited for all of the trial before. All modes use the two sets, so that they do
 * equal work.
 */
#include "exchange.h"

#include <stdlib.h>

static int tag(const struct exchange_set *set, int direction, int message)
{
    const struct exchange *ex = set->ex;
    int index = (int)(set - ex->sets);

    return (index * ex->directions + direction) * ex->messages + message;
}

typedef int make_recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int make_send(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* The requests of one exchange by these two functions, persistent or not. What travels to the right
 * comes from the left. */
static void make(const struct exchange_set *set, enum bench_mode mode, make_recv *recv,
                 make_send *send)
{
    const struct exchange *ex = set->ex;
    bool on_stream = bench_mode_is_stream(mode);
    uint64_t *in = on_stream ? set->own_recv : set->mpi_recv;
    const uint64_t *out = on_stream ? set->own_send : set->mpi_send;
    MPI_Request *requests = set->requests[mode];
    int bytes = (int)(ex->words * sizeof *ex->data);

    for (int d = 0; d < ex->directions; d++) {
        int to = ex->peers[d], from = exchange_towards(ex, d, -1);

        for (int m = 0; m < ex->messages; m++) {
            int i = d * ex->messages + m;
            size_t offset = (size_t)i * ex->stride;

            recv(in + offset, bytes, MPI_BYTE, from, tag(set, d, m), MPI_COMM_WORLD, &requests[i]);
            send(out + offset, bytes, MPI_BYTE, to, tag(set, d, m), MPI_COMM_WORLD,
                 &requests[num_messages(ex) + i]);
        }
    }
}

static void be_late(const struct exchange *ex)
{
    if (ex->skew > 0 && ex->rank % 2 == 1) {
        bench_device_delay(ex->skew);
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

        be_late(ex);
        bench_mpi_pack(&exchange_packing, set, set->mpi_send, set->send, block_bytes(ex));
        if (mode == BENCH_MPI_BLOCKING) {
            make(set, mode, PMPI_Irecv, PMPI_Isend);
        } else {
            mpi->startall(num, requests);
        }
        mpi->waitall(num, requests, MPI_STATUSES_IGNORE);
        bench_mpi_unpack(&exchange_unpacking, set, set->recv, set->mpi_recv, block_bytes(ex));
    }
    bench_device_synchronize();
}

/* Or do it, where the host drives it. */
static void enqueue(void *ctx, enum bench_mode mode, long iterations)
{
    struct exchange *ex = ctx;
    MPIX_Queue queue = ex->bq.queue;
    int num = num_requests(ex);
    bool fused = mode == BENCH_NVSHMEM_FUSED || bench_mode_is_fused(mode);

    for (long k = 0; k < iterations; k++) {
        struct exchange_set *set = &ex->sets[k % SETS];
        double before;

        be_late(ex);
        if (!fused) {
            bench_link_work(&ex->bq, mode, &exchange_packing, set);
        }
        before = MPI_Wtime();
        if (bench_mode_is_baseline(mode)) {
            bench_link_move(&set->links[mode], BENCH_SENDS | BENCH_RECVS);
        } else if (fused) {
            exchange_fused_launch(set, mode);
            ex->bq.own.launches += 1;
        } else {
            MPIX_Enqueue_startwaitall(queue, num, set->requests[mode]);
        }
        bench_calls_end(&ex->bq, before);
        if (!fused) {
            bench_link_work(&ex->bq, mode, &exchange_unpacking, set);
        }
        if (bench_mode_is_queued(mode)) {
            bench_queue_step(&ex->bq);
        }
    }
}

static double run_on_stream(struct exchange *ex, enum bench_mode mode, long iterations)
{
    /* On the stream: every start, every wait, and two functions. */
    int operations = 2 * num_requests(ex) + 2;

    if (bench_mode_in_kernel(mode) || bench_mode_is_fused(mode)) {
        operations = 3;
    } else if (bench_mode_is_baseline(mode)) {
        operations = 2 + bench_baseline_operations(mode, ex->sets[0].links[mode].num);
    }
    return bench_queue_run(&ex->bq, mode, iterations, operations, enqueue, ex);
}

/* The requests of an exchange. One kernel for all has none for the rank itself. */
static int num_started(const struct exchange *ex, enum bench_mode mode)
{
    int own = 0;

    for (int d = 0; bench_mode_is_fused(mode) && d < ex->directions; d++) {
        own += ex->peers[d] == ex->rank;
    }
    return num_requests(ex) - 2 * own * ex->messages;
}

static double run(void *ctx, enum bench_mode mode, long iterations)
{
    struct exchange *ex = ctx;
    double started = (double)iterations * num_started(ex, mode), begin = MPI_Wtime();

    ex->bq.own.starts += started;
    ex->bq.own.waits += started;
    if (bench_mode_is_enqueued(mode)) {
        return run_on_stream(ex, mode, iterations);
    }
    if (bench_mode_is_baseline(mode)) {
        enqueue(ex, mode, iterations);
        bench_device_synchronize();
    } else {
        run_mpi(ex, mode, iterations);
        ex->bq.own.posts += started;
    }
    return MPI_Wtime() - begin;
}

static void open_link(struct exchange_set *set, enum bench_mode mode)
{
    struct exchange *ex = set->ex;
    struct bench_link *link = &set->links[mode];
    bool few = bench_mode_is_one(mode);

    *link = (struct bench_link){.mode = mode,
                                .num = few ? ex->num_few : num_messages(ex),
                                .sends = few ? ex->few_sends : ex->sends,
                                .recvs = few ? ex->few_recvs : ex->recvs,
                                .bytes = block_bytes(ex),
                                .data = mode == BENCH_NVSHMEM_FUSED ? (void *)ex->data : NULL,
                                .counts = &ex->bq.own,
                                .queue = ex->bq.queue};
    bench_link_open(link);
}

static void open_set(struct exchange_set *set, const struct bench_options *opts)
{
    const struct exchange *ex = set->ex;
    int num = num_requests(ex);

    set->own_send = bench_memory(block_bytes(ex));
    set->own_recv = bench_memory(block_bytes(ex));
    set->mpi_send = bench_staging(set->own_send, block_bytes(ex));
    set->mpi_recv = bench_staging(set->own_recv, block_bytes(ex));
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (!opts->use_mode[mode]) {
            continue;
        }
        if (bench_mode_is_baseline((enum bench_mode)mode)) {
            open_link(set, (enum bench_mode)mode);
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
        if (bench_mode_is_fused((enum bench_mode)mode)) {
            exchange_fused_open(set, (enum bench_mode)mode);
        }
    }
}

static void close_set(struct exchange_set *set, const struct bench_options *opts)
{
    for (int mode = BENCH_REQUEST_MODES; mode < BENCH_NUM_MODES; mode++) {
        if (opts->use_mode[mode]) {
            bench_link_close(&set->links[mode]);
        }
    }
    for (int mode = 0; mode < BENCH_REQUEST_MODES; mode++) {
        if (set->fused[mode] != NULL) {
            exchange_fused_close(set, (enum bench_mode)mode);
        }
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
    bench_memory_free(set->own_send);
    bench_memory_free(set->own_recv);
}

static void measure_size(struct exchange *ex, const struct bench_options *opts, size_t bytes,
                         struct bench_report *report)
{
    const struct bench_app app = {.bench = "exchange",
                                  .hops = 1,
                                  .messages = num_messages(ex),
                                  .min_iterations = 2,
                                  .begin = exchange_begin,
                                  .run = run,
                                  .errors = exchange_errors,
                                  .bq = &ex->bq};
    struct bench_row rows[BENCH_NUM_MODES];
    int num;

    ex->words = bytes / sizeof *ex->data;
    ex->stride = (ex->words + 1 + LINE_WORDS - 1) / LINE_WORDS * LINE_WORDS;
    ex->data = bench_memory(block_bytes(ex));
    ex->image = bench_alloc(block_bytes(ex));
    exchange_make_parts(ex);
    for (int s = 0; s < SETS; s++) {
        ex->sets[s].ex = ex;
        open_set(&ex->sets[s], opts);
    }
    num = bench_measure(opts, &app, ex, bytes, opts->seconds / opts->num_sizes, 0, rows);
    bench_report_rows(report, rows, num);
    if (ex->beside > 0) {
        const struct bench_beside beside = {exchange_begin, enqueue, exchange_errors, &ex->bq, ex};

        bench_beside(report, opts, ex->beside, &beside);
    }
    bench_queue_renew(&ex->bq);
    for (int s = 0; s < SETS; s++) {
        close_set(&ex->sets[s], opts);
    }
    exchange_free_parts(ex);
    bench_memory_free(ex->data);
    free(ex->image);
}

static int measure_all(struct exchange *ex, const struct bench_options *opts)
{
    struct bench_report report;
    char what[128];
    int length =
        snprintf(what, sizeof what, "%d messages each way between neighbours of a ", ex->messages);

    if (ex->directions == RING_DIRECTIONS) {
        length += snprintf(what + length, sizeof what - (size_t)length, "ring");
    } else {
        length += snprintf(what + length, sizeof what - (size_t)length, "grid of %d x %d",
                           ex->dims[1], ex->dims[0]);
    }

    if (ex->skew > 0) {
        (void)snprintf(what + length, sizeof what - (size_t)length,
                       "; odd ranks are %.0f us late, which the times have in them", ex->skew);
    }
    if (!bench_report_open(&report, opts, what, num_messages(ex))) {
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

static bool set_grid(void *target, const char *value)
{
    struct exchange *ex = target;

    (void)value; /* it has none */
    exchange_make_grid(ex);
    ex->usage->num_peers = ex->directions;
    return true;
}

static bool set_skew(void *target, const char *value)
{
    long us;

    if (!bench_parse_int(value, 0, 100000, &us)) {
        return false;
    }
    ((struct exchange *)target)->skew = (double)us;
    return true;
}

static bool set_beside(void *target, const char *value)
{
    return bench_parse_size(value, &((struct exchange *)target)->beside) &&
           ((struct exchange *)target)->beside % 4 == 0 &&
           ((struct exchange *)target)->beside <= MAX_SIDE;
}

/* What these options need is there. */
static bool options_fit(struct exchange *ex, const struct bench_options *opts)
{
    if (ex->messages == 0) {
        ex->messages = ex->directions == RING_DIRECTIONS ? 4 : 1;
    }
    if (num_messages(ex) > RING_DIRECTIONS * MAX_MESSAGES) {
        bench_complain(opts, "--grid takes at most %d messages to each neighbour",
                       RING_DIRECTIONS * MAX_MESSAGES / ex->directions);
        return false;
    }
    if ((ex->skew > 0 || ex->beside > 0) && !bench_on_device()) {
        bench_complain(opts, "--skew and --beside need --device");
        return false;
    }
    if (ex->beside > 0 && ex->ranks % 2 != 0) {
        bench_complain(opts, "--beside needs ranks in pairs, not %d", ex->ranks);
        return false;
    }
    return sizes_fit(ex, opts) && exchange_fused_fits(ex, opts);
}

static void find_place(struct exchange *ex, struct bench_usage *usage)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &ex->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ex->ranks);
    exchange_make_ring(ex);
    usage->peers = ex->peers;
    usage->num_peers = ex->directions;
    ex->usage = usage;
}

static int run_program(struct exchange *ex, const struct bench_options *opts, int provided)
{
    if (provided < MPI_THREAD_MULTIPLE) {
        bench_complain(opts, "this MPI does not offer MPI_THREAD_MULTIPLE");
        return BENCH_EXIT_USAGE;
    }
    return options_fit(ex, opts) ? measure_all(ex, opts) : BENCH_EXIT_USAGE;
}

int main(int argc, char *argv[])
{
    static const struct bench_extra_option extra[] = {
        {"messages", "N", "messages to each neighbour (default 4, on a grid 1)", set_messages},
        {"grid", NULL, "a grid, where each rank has eight neighbours", set_grid},
        {"skew", "US", "with --device: microseconds that odd ranks are late each time", set_skew},
        {"beside", "N", "with --device: time also a product of N x N while a wait waits",
         set_beside}};
    static struct exchange ex;
    struct bench_usage usage = {
        .summary =
            "A ring or grid of ranks, each exchanging N messages each way with its neighbours.",
        .sizes_help = "message sizes in bytes, multiples of 8",
        .extra = extra,
        .num_extra = sizeof extra / sizeof extra[0],
        .target = &ex,
        .lacking = BENCH_PIPELINED | BENCH_BARE};
    struct bench_options opts = {.program = "mpixq_exchange",
                                 .seconds = 10,
                                 .trials = 30,
                                 .use_mode = BENCH_USUAL_MODES,
                                 .verify = true};
    int provided, status;

    bench_parse_size_list("8,64,512,4K,32K,256K", opts.sizes, &opts.num_sizes);
    bench_set_channel(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    find_place(&ex, &usage);
    if (bench_parse_options(&opts, &usage, argc, argv, &status)) {
        status = run_program(&ex, &opts, provided);
        bench_baselines_close(&opts);
        bench_device_close();
    }
    MPI_Finalize();
    return status;
}
