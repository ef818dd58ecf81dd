/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * allreduce.c - mpixq_allreduce: the sum of a vector over all ranks, again and again
 *
 *     each iteration: add 1 to the vector of this rank, reduce
 *
 * The vector is of 64-bit integers. With --barrier it is one of them, and a barrier, which moves no
 * data, stands for the sum; NCCL has none, so there it is the sum of that one. In the modes of MPI
 * the host adds up a copy of the vector: with --device a kernel adds 1, and what MPI sends and
 * receives is copied to and from pinned memory. In the stream modes the persistent collective is
 * matched, and enqueued with the vectors of the device.
 */
#include "bench_collective.h"
#include "bench_queue.h"

#include <limits.h>
#include <stdlib.h>

enum { GUARD = 16 }; /* words behind the result */

struct allreduce {
    int rank, ranks;
    bool is_barrier;
    size_t words;
    uint64_t *data, *sum;         /* of the device, if there is one */
    uint64_t *mpi_data, *mpi_sum; /* what MPI gets */
    uint64_t *image;              /* what was found */
    MPI_Request requests[BENCH_REQUEST_MODES];
    struct bench_link links[BENCH_NUM_MODES]; /* of NCCL: its own memory */
    struct bench_queue bq;
};

/* With a queue on a stream of a GPU, GPUs are to move it. */
static void make_barrier(MPI_Request *request, enum bench_mode mode)
{
    MPI_Info info;

    if (mode == BENCH_MPI_PERSISTENT) {
        BENCH_OWN_BARRIER_INIT(MPI_COMM_WORLD, MPI_INFO_NULL, request);
        return;
    }
    MPI_Info_create(&info);
    if (bench_mode_is_stream(mode) && bench_on_device()) {
        MPI_Info_set(info, "mpixq_memory", bench_device_names[bench_device_vendor()]);
    }
    BENCH_BARRIER_INIT(MPI_COMM_WORLD, info, request);
    MPI_Info_free(&info);
    MPIX_Match(request);
}

static void make_request(struct allreduce *ar, enum bench_mode mode)
{
    bool on_stream = bench_mode_is_stream(mode);
    const uint64_t *from = on_stream ? ar->data : ar->mpi_data;
    uint64_t *to = on_stream ? ar->sum : ar->mpi_sum;

    if (ar->is_barrier) {
        make_barrier(&ar->requests[mode], mode);
        return;
    }
    if (mode == BENCH_MPI_PERSISTENT) {
        BENCH_OWN_ALLREDUCE_INIT(from, to, (int)ar->words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &ar->requests[mode]);
        return;
    }
    BENCH_ALLREDUCE_INIT(from, to, (int)ar->words, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &ar->requests[mode]);
    MPIX_Match(&ar->requests[mode]);
}

static size_t bytes_of(const struct allreduce *ar)
{
    return (ar->words + GUARD) * sizeof *ar->data;
}

/* The work of an iteration: the vector that this mode reduces. */
struct vector {
    uint64_t *data;
    size_t words;
};

static void add_one(void *arg)
{
    const struct vector *vector = arg;

    for (size_t i = 0; i < vector->words; i++) {
        vector->data[i]++;
    }
}

static void launch_add_one(void *arg)
{
    const struct vector *vector = arg;
    const struct bench_words work = {.from = vector->data,
                                     .to = vector->data,
                                     .add = 1,
                                     .words = vector->words,
                                     .stride = vector->words,
                                     .messages = 1};

    bench_device_words(&work);
}

static void nothing(void *arg)
{
    (void)arg;
}

static const struct bench_work adding = {add_one, launch_add_one};
static const struct bench_work no_work = {nothing, nothing};

static struct vector vector_of(const struct allreduce *ar, enum bench_mode mode)
{
    uint64_t *data = bench_mode_is_baseline(mode) ? (void *)ar->links[mode].send : ar->data;

    return (struct vector){.data = data, .words = ar->words};
}

static uint64_t *sum_of(const struct allreduce *ar, enum bench_mode mode)
{
    return bench_mode_is_baseline(mode) ? (void *)ar->links[mode].recv : ar->sum;
}

/* ---- Iterations ------------------------------------------------------------------------------ */

static void run_mpi(struct allreduce *ar, enum bench_mode mode, long iterations)
{
    struct vector vector = {bench_on_device() ? ar->data : ar->mpi_data, ar->words};
    MPI_Request *request = &ar->requests[mode];
    size_t copied = ar->is_barrier ? 0 : ar->words * sizeof *ar->data;

    for (long k = 0; k < iterations; k++) {
        bench_mpi_pack(&adding, &vector, ar->mpi_data, ar->data, copied);
        if (mode != BENCH_MPI_BLOCKING) {
            bench_mpi(mode)->start(request);
            bench_mpi(mode)->wait(request, MPI_STATUS_IGNORE);
        } else if (ar->is_barrier) {
            PMPI_Barrier(MPI_COMM_WORLD);
        } else {
            PMPI_Allreduce(ar->mpi_data, ar->mpi_sum, (int)ar->words, MPI_UINT64_T, MPI_SUM,
                           MPI_COMM_WORLD);
        }
        bench_mpi_unpack(&no_work, NULL, ar->sum, ar->mpi_sum, copied);
    }
    bench_device_synchronize();
}

static void enqueue(void *ctx, enum bench_mode mode, long iterations)
{
    struct allreduce *ar = ctx;
    static struct vector vectors[BENCH_NUM_MODES]; /* host streams read it later */

    vectors[mode] = vector_of(ar, mode);
    for (long k = 0; k < iterations; k++) {
        double before;

        bench_link_work(&ar->bq, mode, &adding, &vectors[mode]);
        before = MPI_Wtime();
        if (bench_mode_is_baseline(mode)) {
            bench_nccl_allreduce(&ar->links[mode], ar->words);
        } else {
            MPIX_Enqueue_startwaitall(ar->bq.queue, 1, &ar->requests[mode]);
        }
        bench_calls_end(&ar->bq, before);
        if (bench_mode_is_queued(mode)) {
            bench_queue_step(&ar->bq);
        }
    }
}

static double run(void *ctx, enum bench_mode mode, long iterations)
{
    enum { OPERATIONS = 4 }; /* on the stream: a function, start, wait, and what combines */
    struct allreduce *ar = ctx;
    double begin = MPI_Wtime();

    ar->bq.own.starts += (double)iterations;
    ar->bq.own.waits += (double)iterations;
    if (bench_mode_is_enqueued(mode)) {
        return bench_queue_run(&ar->bq, mode, iterations, OPERATIONS, enqueue, ar);
    }
    run_mpi(ar, mode, iterations);
    ar->bq.own.posts += (double)iterations;
    return MPI_Wtime() - begin;
}

/* ---- The data -------------------------------------------------------------------------------- */

static uint64_t first(size_t word, int rank)
{
    return 1000003 * (uint64_t)rank + 7 * word;
}

static void begin(void *ctx, enum bench_mode mode)
{
    struct allreduce *ar = ctx;
    uint64_t *data = vector_of(ar, mode).data;

    for (size_t i = 0; i < ar->words + GUARD; i++) {
        ar->image[i] = i < ar->words ? first(i, ar->rank) : ~UINT64_C(0);
    }
    bench_memory_copy(data, ar->image, bytes_of(ar));
    for (size_t i = 0; i < ar->words; i++) {
        ar->image[i] = ~UINT64_C(0);
    }
    bench_memory_copy(sum_of(ar, mode), ar->image, bytes_of(ar));
}

/* Of a barrier that of the vector alone, which counts the iterations. */
static long errors_beside_barrier(struct allreduce *ar, enum bench_mode mode, long iterations)
{
    bench_memory_copy(ar->image, vector_of(ar, mode).data, sizeof *ar->image);
    return ar->image[0] != first(0, ar->rank) + (uint64_t)iterations;
}

/* Words of the sum, and guards, that are not what they have to be. */
static long errors(void *ctx, enum bench_mode mode, long iterations)
{
    struct allreduce *ar = ctx;
    uint64_t ranks = (uint64_t)ar->ranks;
    long wrong = 0;

    if (ar->is_barrier) {
        return errors_beside_barrier(ar, mode, iterations);
    }
    bench_memory_copy(ar->image, sum_of(ar, mode), bytes_of(ar));
    for (size_t i = 0; i < ar->words + GUARD; i++) {
        uint64_t right =
            ranks * (7 * i + (uint64_t)iterations) + 1000003 * (ranks * (ranks - 1) / 2);

        wrong += ar->image[i] != (i < ar->words ? right : ~UINT64_C(0));
    }
    return wrong;
}

static void open_modes(struct allreduce *ar, const struct bench_options *opts)
{
    ar->data = bench_memory(bytes_of(ar));
    ar->sum = bench_memory(bytes_of(ar));
    ar->mpi_data = bench_staging(ar->data, bytes_of(ar));
    ar->mpi_sum = bench_staging(ar->sum, bytes_of(ar));
    ar->image = bench_alloc(bytes_of(ar));
    for (int m = BENCH_MPI_PERSISTENT; m < BENCH_NUM_MODES; m++) {
        enum bench_mode mode = (enum bench_mode)m;

        if (opts->use_mode[m] && bench_mode_is_baseline(mode)) {
            ar->links[m] = (struct bench_link){
                .mode = mode, .bytes = bytes_of(ar), .counts = &ar->bq.own, .queue = ar->bq.queue};
            bench_link_open(&ar->links[m]);
        } else if (opts->use_mode[m]) {
            make_request(ar, mode);
        }
    }
}

static void close_modes(struct allreduce *ar, const struct bench_options *opts)
{
    for (int m = BENCH_MPI_PERSISTENT; m < BENCH_NUM_MODES; m++) {
        enum bench_mode mode = (enum bench_mode)m;

        if (opts->use_mode[m] && bench_mode_is_baseline(mode)) {
            bench_link_close(&ar->links[m]);
        } else if (opts->use_mode[m]) {
            bench_mpi(mode)->request_free(&ar->requests[m]);
        }
    }
    free(ar->image);
    bench_staging_free(ar->mpi_data);
    bench_staging_free(ar->mpi_sum);
    bench_memory_free(ar->data);
    bench_memory_free(ar->sum);
}

/* ---- The program ----------------------------------------------------------------------------- */

static void measure_size(struct allreduce *ar, const struct bench_options *opts, size_t bytes,
                         struct bench_report *report)
{
    const struct bench_app app = {.bench = ar->is_barrier ? "barrier" : "allreduce",
                                  .hops = 1,
                                  .min_iterations = 1,
                                  .begin = begin,
                                  .run = run,
                                  .errors = errors,
                                  .bq = &ar->bq};
    struct bench_row rows[BENCH_NUM_MODES];
    int num;

    ar->words = ar->is_barrier ? 1 : bytes / sizeof *ar->data;
    open_modes(ar, opts);
    num = bench_measure(opts, &app, ar, bytes, opts->seconds / opts->num_sizes, 0, rows);
    bench_report_rows(report, rows, num);
    bench_queue_renew(&ar->bq);
    close_modes(ar, opts);
}

static int measure_all(struct allreduce *ar, const struct bench_options *opts)
{
    struct bench_report report;

    if (!bench_report_open(&report, opts,
                           ar->is_barrier ? "barrier; by NCCL the sum of a 64-bit integer"
                                          : "sum of a vector of 64-bit integers over all ranks",
                           0)) {
        return BENCH_EXIT_USAGE;
    }
    bench_queue_open(&ar->bq, opts);
    for (int i = 0; i < opts->num_sizes; i++) {
        measure_size(ar, opts, opts->sizes[i], &report);
    }
    bench_queue_close(&ar->bq);
    return bench_report_close(&report, opts);
}

static bool options_fit(const struct allreduce *ar, struct bench_options *opts)
{
    if (ar->is_barrier) {
        opts->sizes[0] = 0;
        opts->num_sizes = 1;
        return true;
    }
    for (int i = 0; i < opts->num_sizes; i++) {
        if (opts->sizes[i] % sizeof(uint64_t) != 0 || opts->sizes[i] == 0 ||
            opts->sizes[i] / sizeof(uint64_t) > INT_MAX) {
            bench_complain(opts,
                           "--sizes: %zu bytes are no vector of 1 to 2^31 - 1 words of 8 bytes",
                           opts->sizes[i]);
            return false;
        }
    }
    return true;
}

static bool set_barrier(void *target, const char *value)
{
    struct allreduce *ar = target;

    (void)value; /* it has none */
    ar->is_barrier = true;
    return true;
}

static void choose_modes(struct bench_options *opts, struct bench_usage *usage)
{
    for (int mode = BENCH_STREAM_READY; mode < BENCH_NUM_MODES; mode++) {
        usage->lacking |= BENCH_BIT(mode);
    }
    usage->lacking |= BENCH_BIT(BENCH_MPI_PIPELINED);
    usage->lacking &=
        ~(BENCH_BIT(BENCH_STREAM_GRAPH) | BENCH_BIT(BENCH_NCCL) | BENCH_BIT(BENCH_NCCL_GRAPH));
    opts->use_mode[BENCH_MPI_BLOCKING] = opts->use_mode[BENCH_MPI_PERSISTENT] = true;
    opts->use_mode[BENCH_HOST] = opts->use_mode[BENCH_STREAM] = true;
    bench_leave_collectives(opts, usage, BENCH_MPI_PERSISTENT, "mpi-blocking is");
}

int main(int argc, char *argv[])
{
    static const struct bench_extra_option extra[] = {
        {"barrier", NULL, "a barrier, without data, instead of the sum", set_barrier}};
    static struct allreduce ar;
    static struct bench_options opts = {
        .program = "mpixq_allreduce", .seconds = 10, .trials = 30, .verify = true};
    struct bench_usage usage = {.summary = "The sum of a vector over all ranks.",
                                .sizes_help = "bytes of the vector",
                                .extra = extra,
                                .num_extra = 1,
                                .target = &ar};
    int provided, status, peers[2];

    bench_parse_size_list("8,1K,64K", opts.sizes, &opts.num_sizes);
    bench_set_channel(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &ar.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ar.ranks);
    peers[0] = (ar.rank + 1) % ar.ranks;
    peers[1] = (ar.rank + ar.ranks - 1) % ar.ranks;
    usage.peers = peers;
    usage.num_peers = 2;
    choose_modes(&opts, &usage);
    if (bench_parse_options(&opts, &usage, argc, argv, &status)) {
        status = BENCH_EXIT_USAGE;
        if (provided < MPI_THREAD_MULTIPLE) {
            bench_complain(&opts, "this MPI does not offer MPI_THREAD_MULTIPLE");
        } else if (options_fit(&ar, &opts)) {
            status = measure_all(&ar, &opts);
        }
        bench_baselines_close(&opts);
        bench_device_close();
    }
    MPI_Finalize();
    return status;
}
