/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * pingpong.c - mpixq_pingpong: pack, send, receive, unpack between two ranks
 *
 * Verification. pack adds 1 to every word, so after n round trips each word tells how many hops it
 * has made; a lost, repeated or torn message leaves another number. It costs the timed part
 * nothing, since pack has to touch every word anyhow. With --bare nothing is packed, and each rank
 * always sends the words that its peer knows; the receive buffer begins with others in each trial.
 */
#include "pingpong.h"

#include <stdlib.h>
#include <string.h>

#define GUARD UINT64_C(0x5ca1ab1e5ca1ab1e)
#define POISON UINT64_C(0xdeaddeaddeaddead)

static uint64_t first_value(size_t word)
{
    return (uint64_t)word * UINT64_C(0x9e3779b97f4a7c15);
}

static void begin(void *ctx, enum bench_mode mode)
{
    struct pingpong *pp = ctx;
    const struct bench_link *link = &pp->links[mode];
    size_t bytes = pp->words * sizeof *pp->data;
    bool linked = bench_mode_is_baseline(mode);

    pp->send_buffer = linked ? (uint64_t *)(void *)link->send : pp->own_send;
    pp->recv_buffer = linked ? (uint64_t *)(void *)link->recv : pp->own_recv;
    for (size_t i = 0; i < pp->words; i++) {
        pp->image[i] = POISON;
    }
    pp->image[pp->words] = GUARD;
    bench_memory_copy(pp->recv_buffer, pp->image, bytes + sizeof GUARD);
    if (linked || (bench_on_device() && bench_mode_is_stream(mode))) {
        pp->mpi_recv[pp->words] = GUARD; /* nothing else of it is used */
    } else {
        memcpy(pp->mpi_recv, pp->image, bytes + sizeof GUARD);
    }
    for (size_t i = 0; (pp->bare || pp->rank == 0) && i < pp->words; i++) {
        pp->image[i] = first_value(i) + (uint64_t)pp->rank;
    }
    bench_memory_copy(pp->bare ? pp->send_buffer : pp->data, pp->image, bytes);
}

static long errors(void *ctx, enum bench_mode mode, long iterations)
{
    struct pingpong *pp = ctx;
    /* The last message that rank 1 received lacks the hop back. */
    uint64_t hops = 2 * (uint64_t)iterations - (pp->rank == 1 ? 1 : 0);
    long wrong = pp->mpi_recv[pp->words] != GUARD;

    if (pp->bare) {
        hops = (uint64_t)pp->peer; /* what each sends is always the same */
    }
    bench_memory_copy(pp->image, pp->recv_buffer + pp->words, sizeof GUARD);
    wrong += (bench_on_device() || bench_mode_is_baseline(mode)) && pp->image[0] != GUARD;
    bench_memory_copy(pp->image, pp->bare ? pp->recv_buffer : pp->data,
                      pp->words * sizeof *pp->data);
    if (mode == BENCH_PLAIN_COPY && pp->rank == 0) {
        return wrong; /* has received nothing */
    }
    for (size_t i = 0; i < pp->words; i++) {
        wrong += pp->image[i] != first_value(i) + hops;
    }
    return wrong;
}

static void make_requests(struct pingpong *pp, enum bench_mode mode)
{
    const struct bench_mpi *mpi = bench_mpi(mode);
    MPI_Request *requests = pp->requests[mode];
    bool on_stream = bench_mode_is_stream(mode);
    int bytes = (int)(pp->words * sizeof *pp->data);

    mpi->recv_init(on_stream ? pp->own_recv : pp->mpi_recv, bytes, MPI_BYTE, pp->peer, PINGPONG_TAG,
                   MPI_COMM_WORLD, &requests[RECV]);
    mpi->send_init(on_stream ? pp->own_send : pp->mpi_send, bytes, MPI_BYTE, pp->peer, PINGPONG_TAG,
                   MPI_COMM_WORLD, &requests[SEND]);
    if (bench_mode_is_matched(mode)) {
        MPIX_Matchall(NUM_REQUESTS, requests);
    }
}

static void make_buffers(struct pingpong *pp, size_t bytes)
{
    pp->words = bytes / sizeof *pp->data;
    pp->data = bench_memory(bytes);
    pp->own_send = bench_memory(bytes);
    pp->own_recv = bench_memory(bytes + sizeof *pp->data);
    pp->image = bench_staging(bench_on_device() ? NULL : bench_alloc(bytes + sizeof *pp->data),
                              bytes + sizeof *pp->data);
    pp->mpi_send = bench_staging(pp->own_send, bytes);
    pp->mpi_recv = bench_staging(pp->own_recv, bytes + sizeof *pp->data);
}

static void free_buffers(struct pingpong *pp)
{
    bench_staging_free(pp->mpi_send);
    bench_staging_free(pp->mpi_recv);
    bench_memory_free(pp->data);
    bench_memory_free(pp->own_send);
    bench_memory_free(pp->own_recv);
    if (bench_on_device()) {
        bench_staging_free(pp->image);
    } else {
        free(pp->image);
    }
}

static void open_modes(struct pingpong *pp, const struct bench_options *opts)
{
    size_t bytes = pp->words * sizeof *pp->data;

    pp->part = (struct bench_part){.peer = pp->peer, .bytes = bytes};
    for (int mode = BENCH_MPI_PERSISTENT; mode < BENCH_NUM_MODES; mode++) {
        bool fused = mode == BENCH_NVSHMEM_FUSED;

        if (opts->use_mode[mode] && bench_mode_is_baseline((enum bench_mode)mode)) {
            pp->links[mode] =
                (struct bench_link){.mode = (enum bench_mode)mode,
                                    .num = 1,
                                    .sends = &pp->part,
                                    .recvs = &pp->part,
                                    .bytes = (bytes + 63) / 64 * 64 + 128,
                                    .data = fused && !pp->bare ? (void *)pp->data : NULL,
                                    .follows = pp->rank == 1,
                                    .counts = &pp->bq.own,
                                    .queue = pp->bq.queue};
            bench_link_open(&pp->links[mode]);
        } else if (opts->use_mode[mode]) {
            make_requests(pp, (enum bench_mode)mode);
        }
    }
}

static void close_modes(struct pingpong *pp, const struct bench_options *opts)
{
    bench_queue_renew(&pp->bq);
    for (int mode = BENCH_MPI_PERSISTENT; mode < BENCH_NUM_MODES; mode++) {
        if (opts->use_mode[mode] && bench_mode_is_baseline((enum bench_mode)mode)) {
            bench_link_close(&pp->links[mode]);
        } else if (opts->use_mode[mode]) {
            bench_mpi(mode)->request_free(&pp->requests[mode][RECV]);
            bench_mpi(mode)->request_free(&pp->requests[mode][SEND]);
        }
    }
}

static void measure_size(struct pingpong *pp, const struct bench_options *opts, size_t bytes,
                         struct bench_report *report)
{
    const struct bench_app app = {.bench = "pingpong",
                                  .hops = 2,
                                  .messages = 1,
                                  .min_iterations = 2,
                                  .begin = begin,
                                  .run = pingpong_run,
                                  .errors = errors,
                                  .bq = &pp->bq};
    struct bench_row rows[BENCH_NUM_MODES];
    int num;

    make_buffers(pp, bytes);
    open_modes(pp, opts);
    num = bench_measure(opts, &app, pp, bytes, opts->seconds / opts->num_sizes, 0, rows);
    bench_report_rows(report, rows, num);
    if (pp->bare) {
        bench_report_bandwidth(report, rows, num);
    }
    close_modes(pp, opts);
    free_buffers(pp);
}

static int measure_all(struct pingpong *pp, const struct bench_options *opts)
{
    const char *what = pp->bare ? "ping-pong without pack and unpack, one-way time"
                                : "ping-pong with pack and unpack, one-way time";
    struct bench_report report;

    if (!bench_report_open(&report, opts, what, 1)) {
        return BENCH_EXIT_USAGE;
    }
    bench_queue_open(&pp->bq, opts);
    for (int i = 0; i < opts->num_sizes; i++) {
        measure_size(pp, opts, opts->sizes[i], &report);
    }
    bench_queue_close(&pp->bq);
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

struct program {
    struct pingpong pp;
    struct bench_usage usage;
};

static bool set_bare(void *target, const char *value)
{
    struct program *prog = target;

    (void)value;
    prog->pp.bare = true;
    prog->usage.lacking &= ~BENCH_BARE;
    return true;
}

/* The number of ranks. With more or fewer than two nobody has a peer. */
static int find_place(struct program *prog)
{
    int ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &prog->pp.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    prog->pp.peer = 1 - prog->pp.rank;
    prog->usage.peers = &prog->pp.peer;
    prog->usage.num_peers = ranks == 2 ? 1 : 0;
    return ranks;
}

int main(int argc, char *argv[])
{
    static const struct bench_extra_option extra[] = {
        {"bare", NULL, "without pack and unpack; with --device also plain-copy and loops",
         set_bare}};
    static struct program prog = {
        .usage = {.summary = "Ping-pong between two ranks: pack, send, receive, unpack per hop.",
                  .sizes_help = "message sizes in bytes, multiples of 8",
                  .extra = extra,
                  .num_extra = 1,
                  .target = &prog,
                  .lacking = BENCH_PIPELINED | BENCH_BIT(BENCH_FUSED) |
                             BENCH_BIT(BENCH_FUSED_GRAPH) | BENCH_BIT(BENCH_MPI_AWARE_ONE) |
                             BENCH_BIT(BENCH_PEER_COPY_ONE) | BENCH_BIT(BENCH_NVSHMEM_ONE) |
                             BENCH_BIT(BENCH_NVSHMEM_DEVICE_ONE) | BENCH_BARE}};
    struct bench_options opts = {
        .program = "mpixq_pingpong", .seconds = 20, .trials = 40, .use_mode = BENCH_USUAL_MODES};
    int provided, ranks, status;

    bench_parse_size_list("8,32,128,512,2K,8K,32K,64K,256K,1M,4M", opts.sizes, &opts.num_sizes);
    bench_set_channel(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    ranks = find_place(&prog);
    if (bench_parse_options(&opts, &prog.usage, argc, argv, &status)) {
        status = BENCH_EXIT_USAGE;
        if (provided < MPI_THREAD_MULTIPLE) {
            bench_complain(&opts, "this MPI does not offer MPI_THREAD_MULTIPLE");
        } else if (ranks != 2) {
            bench_complain(&opts, "needs 2 ranks, was started with %d", ranks);
        } else if (sizes_fit(&opts)) {
            status = measure_all(&prog.pp, &opts);
        }
        bench_baselines_close(&opts);
        bench_device_close();
    }
    MPI_Finalize();
    return status;
}
