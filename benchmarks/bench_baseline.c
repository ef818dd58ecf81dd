/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_baseline.c - which baselines are there, and what they have in common
 */
#include "bench.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

static const struct bench_baseline *const baselines[BENCH_NUM_MODES] = {
    [BENCH_MPI_AWARE] = &bench_aware,
    [BENCH_MPI_AWARE_ONE] = &bench_aware,
    [BENCH_PEER_COPY] = &bench_peer,
    [BENCH_PEER_COPY_ONE] = &bench_peer,
    [BENCH_NCCL] = &bench_nccl,
    [BENCH_NCCL_ONE] = &bench_nccl,
    [BENCH_NCCL_GRAPH] = &bench_nccl,
    [BENCH_NCCL_ONE_GRAPH] = &bench_nccl,
    [BENCH_NVSHMEM] = &bench_nvshmem,
    [BENCH_NVSHMEM_ONE] = &bench_nvshmem,
    [BENCH_NVSHMEM_GRAPH] = &bench_nvshmem,
    [BENCH_NVSHMEM_DEVICE] = &bench_nvshmem,
    [BENCH_NVSHMEM_DEVICE_ONE] = &bench_nvshmem,
    [BENCH_NVSHMEM_FUSED] = &bench_nvshmem,
    [BENCH_NVSHMEM_LOOP] = &bench_nvshmem,
    [BENCH_PLAIN_COPY] = &bench_plain,
    [BENCH_ONE_KERNEL] = &bench_kernel,
    [BENCH_DEVICE_LOOP] = &bench_device_loop,
    [BENCH_MPI_PUT] = &bench_mpi_put,
    [BENCH_MPI_PUT_ALLOC] = &bench_mpi_put,
    [BENCH_HOST_PUT] = &bench_host_put,
    [BENCH_STREAM_PUT] = &bench_stream_put,
    [BENCH_STREAM_PUT_GRAPH] = &bench_stream_put,
    [BENCH_HOST_PUT_ALLOC] = &bench_host_put,
    [BENCH_STREAM_PUT_ALLOC] = &bench_stream_put,
    [BENCH_DEVICE_PUT] = &bench_device_put,
    [BENCH_PUT_LOOP] = &bench_device_put,
};

const struct bench_baseline *bench_baseline(enum bench_mode mode)
{
    return baselines[mode];
}

int bench_baseline_operations(enum bench_mode mode, int messages)
{
    const struct bench_baseline *by = bench_baseline(mode);

    return by->on_queue ? by->operations : by->operations * messages;
}

/* Not measured: a guess of what a block is good for. */
enum { LEAST_PART = 16384, LEAST_THREADS = 64 };

size_t bench_put_part_bytes(size_t bytes)
{
    size_t each = (bytes + BENCH_PUT_PARTS - 1) / BENCH_PUT_PARTS;

    each = (each + 15) / 16 * 16;
    return each < LEAST_PART ? LEAST_PART : each;
}

unsigned bench_put_threads(size_t part_bytes)
{
    size_t threads = (part_bytes / 16 + 31) / 32 * 32;

    return threads < LEAST_THREADS       ? LEAST_THREADS
           : threads > BENCH_PUT_THREADS ? BENCH_PUT_THREADS
                                         : (unsigned)threads;
}

bool bench_mode_is_enqueued(enum bench_mode mode)
{
    return bench_mode_is_stream(mode) ||
           (bench_mode_is_baseline(mode) && !baselines[mode]->by_host);
}

bool bench_mode_is_queued(enum bench_mode mode)
{
    return bench_mode_is_stream(mode) ||
           (bench_mode_is_baseline(mode) && baselines[mode]->on_queue);
}

void bench_need(const char *what, int code)
{
    if (code != 0) {
        fprintf(stderr, "benchmark: %s: error %d\n", what, code);
        MPI_Abort(MPI_COMM_WORLD, BENCH_EXIT_USAGE);
    }
}

const char *bench_load(const char *const libraries[], const struct bench_symbol symbols[], int num)
{
    void *library = NULL;

    for (int i = 0; library == NULL && libraries[i] != NULL; i++) {
        library = dlopen(libraries[i], RTLD_NOW);
    }
    if (library == NULL) {
        return libraries[0];
    }
    for (int i = 0; i < num; i++) {
        *symbols[i].address = dlsym(library, symbols[i].name);
        if (*symbols[i].address == NULL && !symbols[i].optional) {
            return symbols[i].name;
        }
    }
    return NULL;
}

/* Collective, so what it asks first is the same on all ranks. */
static const char *missing_put(enum bench_mode mode)
{
    bool needs_device = mode == BENCH_STREAM_PUT_GRAPH || bench_mode_in_kernel(mode);
    const char *lack;

    if (bench_on_device() && !needs_device && mode != BENCH_STREAM_PUT) {
        return "windows in memory of a device, for the host";
    }
    if (!bench_on_device() && needs_device) {
        return "a device (--device)";
    }
    lack = baselines[mode]->find != NULL ? baselines[mode]->find() : NULL;
    return lack == NULL && bench_mode_is_graph(mode) && !bench_graphs_are_there() ? "graphs" : lack;
}

static const char *missing(const struct bench_options *opts, enum bench_mode mode)
{
    const char *lack;

    if (mode >= BENCH_PUT_MODES) {
        return missing_put(mode);
    }
    if (!bench_on_device()) {
        return "a device (--device)";
    }
    /* What cannot be captured cannot be started by kernels. */
    if ((bench_mode_is_graph(mode) || mode == BENCH_FUSED) && !bench_graphs_are_there()) {
        return "graphs";
    }
    if (bench_mode_is_stream(mode)) {
        return NULL;
    }
    lack = baselines[mode]->find();
    return lack == NULL && bench_mode_in_kernel(mode) ? bench_nvshmem_kernels(opts->nvshmem) : lack;
}

/* Does no rank lack anything? If one does, that is told. */
static bool is_complete(const struct bench_options *opts, enum bench_mode mode, const char *lack)
{
    int lacking = lack != NULL;

    MPI_Allreduce(MPI_IN_PLACE, &lacking, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (lacking > 0) {
        bench_complain(opts, "mode %s %s: %d ranks lack something (this one: %s)",
                       bench_mode_names[mode],
                       opts->if_there[mode] ? "is left out" : "cannot be used", lacking,
                       lack != NULL ? lack : "nothing");
    }
    return lacking == 0;
}

static bool is_there(const struct bench_options *opts, const struct bench_usage *usage,
                     enum bench_mode mode)
{
    if (!bench_mode_is_baseline(mode) && !bench_mode_is_graph(mode) && mode != BENCH_FUSED) {
        return true;
    }
    /* The second question is asked of all ranks together. */
    return is_complete(opts, mode, missing(opts, mode)) &&
           (!bench_mode_is_stream(mode) ||
            is_complete(opts, mode, bench_graph_refused(usage, mode)));
}

/* The first mode that uses the same baseline. */
static bool is_first(const struct bench_options *opts, int mode)
{
    for (int other = 0; other < mode; other++) {
        if (opts->use_mode[other] && baselines[other] == baselines[mode]) {
            return false;
        }
    }
    return true;
}

/* Leave a mode out, if it may be. */
static bool leave_out(struct bench_options *opts, int mode)
{
    opts->use_mode[mode] = false;
    return opts->if_there[mode];
}

static bool any_is_left(const struct bench_options *opts)
{
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (opts->use_mode[mode]) {
            return true;
        }
    }
    bench_complain(opts, "no mode is left");
    return false;
}

static bool is_used(const struct bench_options *opts, const struct bench_baseline *by)
{
    for (int mode = BENCH_REQUEST_MODES; mode < BENCH_NUM_MODES; mode++) {
        if (opts->use_mode[mode] && baselines[mode] == by) {
            return true;
        }
    }
    return false;
}

/* It has to be open to tell whether graphs can have its calls. False: that was needed. */
static bool look_at_nvshmem(struct bench_options *opts)
{
    enum bench_mode mode = BENCH_NVSHMEM_GRAPH;
    bool may_go_on;

    if (!opts->use_mode[mode] || is_complete(opts, mode, bench_nvshmem_refused())) {
        return true;
    }
    may_go_on = leave_out(opts, mode);
    if (!is_used(opts, baselines[mode])) {
        baselines[mode]->close();
    }
    return may_go_on;
}

bool bench_baselines_open(struct bench_options *opts, const struct bench_usage *usage)
{
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (opts->use_mode[mode] && !is_there(opts, usage, (enum bench_mode)mode) &&
            !leave_out(opts, mode)) {
            return false;
        }
    }
    for (int mode = BENCH_REQUEST_MODES; mode < BENCH_NUM_MODES; mode++) {
        if (opts->use_mode[mode] && is_first(opts, mode) && baselines[mode]->open != NULL) {
            baselines[mode]->open();
        }
    }
    if (!look_at_nvshmem(opts)) {
        bench_baselines_close(opts);
        return false;
    }
    return any_is_left(opts);
}

void bench_baselines_close(const struct bench_options *opts)
{
    for (int mode = BENCH_REQUEST_MODES; mode < BENCH_NUM_MODES; mode++) {
        if (opts->use_mode[mode] && is_first(opts, mode) && baselines[mode]->close != NULL) {
            baselines[mode]->close();
        }
    }
}

void bench_link_open(struct bench_link *link)
{
    const struct bench_baseline *by = baselines[link->mode];

    if (by->alloc != NULL) {
        link->send = by->alloc(link->bytes);
        link->recv = by->alloc(link->bytes);
    }
    link->sent = link->received = 0;
    by->make(link);
    MPI_Barrier(MPI_COMM_WORLD);
}

void bench_link_close(struct bench_link *link)
{
    const struct bench_baseline *by = baselines[link->mode];

    /* Nobody frees what another one still has mapped. */
    bench_device_synchronize();
    MPI_Barrier(MPI_COMM_WORLD);
    by->unmake(link);
    MPI_Barrier(MPI_COMM_WORLD);
    if (by->alloc != NULL) {
        by->free(link->recv);
        by->free(link->send);
    }
}

void bench_link_move(struct bench_link *link, int what)
{
    link->sent += (what & BENCH_SENDS) != 0;
    link->received += (what & BENCH_RECVS) != 0;
    baselines[link->mode]->move(link, what);
}
