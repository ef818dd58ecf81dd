/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_graph.c - what the benchmarks use of the graphs of CUDA's driver and of HIP's runtime, by
 * their documentation
 */
#include <mpix_queue_device.h>

#include "bench_queue.h"

#include <stdlib.h>

enum { CAPTURE_OF_THREAD = 1, BYTES = 64 };

/* What the two have in common, and what they have not. */
static struct {
    int (*begin)(void *stream, int mode);
    int (*end)(void *stream, void **graph_p);
    int (*launch)(void *exec, void *stream);
    int (*free)(void *exec);
    int (*drop)(void *graph);
    int (*cuda_make)(void **exec_p, void *graph, unsigned long long flags);
    int (*hip_make)(void **exec_p, void *graph, void **node_p, char *log, size_t log_bytes);
} api;

static const struct function {
    void **address;
    const char *cuda, *hip; /* NULL: not needed there */
} functions[] = {
    {(void **)&api.begin, "cuStreamBeginCapture_v2", "hipStreamBeginCapture"},
    {(void **)&api.end, "cuStreamEndCapture", "hipStreamEndCapture"},
    {(void **)&api.launch, "cuGraphLaunch", "hipGraphLaunch"},
    {(void **)&api.free, "cuGraphExecDestroy", "hipGraphExecDestroy"},
    {(void **)&api.drop, "cuGraphDestroy", "hipGraphDestroy"},
    {(void **)&api.cuda_make, "cuGraphInstantiateWithFlags", NULL},
    {(void **)&api.hip_make, NULL, "hipGraphInstantiate"},
};

bool bench_graphs_are_there(void)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        const struct function *f = &functions[i];
        bool needed = (bench_device_vendor() == BENCH_ON_CUDA ? f->cuda : f->hip) != NULL;

        *f->address = bench_device_symbol(f->cuda, f->hip);
        if (needed && *f->address == NULL) {
            return false;
        }
    }
    return bench_on_device();
}

void bench_graph_begin(void)
{
    bench_need("begin to capture", api.begin(bench_device_stream(), CAPTURE_OF_THREAD));
}

static int make(void **exec_p, void *graph)
{
    return bench_device_vendor() == BENCH_ON_CUDA ? api.cuda_make(exec_p, graph, 0)
                                                  : api.hip_make(exec_p, graph, NULL, NULL, 0);
}

void *bench_graph_end(void)
{
    void *graph, *exec;

    bench_need("end to capture", api.end(bench_device_stream(), &graph));
    bench_need("make a graph", make(&exec, graph));
    bench_need("drop a graph", api.drop(graph));
    return exec;
}

bool bench_graph_can(void (*enqueue)(void *arg), void *arg)
{
    void *graph = NULL, *exec;
    bool can;

    bench_graph_begin();
    enqueue(arg);
    if (api.end(bench_device_stream(), &graph) != 0 || graph == NULL) {
        return false;
    }
    can = make(&exec, graph) == 0;
    if (can) {
        bench_graph_free(exec);
    }
    bench_need("drop a graph", api.drop(graph));
    return can;
}

void bench_graph_launch(void *graph)
{
    bench_need("launch a graph", api.launch(graph, bench_device_stream()));
}

void bench_graph_free(void *graph)
{
    bench_need("destroy a graph", api.free(graph));
}

/* Messages like those of the program, by a communicator that returns errors. Receives first. */
struct trial {
    MPI_Comm comm;
    const int *peers;
    int num; /* requests */
    MPI_Request *requests;
    char *memory;
};

static void open_trial(struct trial *trial, const struct bench_usage *usage, enum bench_mode mode)
{
    const struct bench_mpi *mpi = bench_mpi(mode);
    int n = usage->num_peers;

    MPI_Comm_dup(MPI_COMM_WORLD, &trial->comm);
    MPI_Comm_set_errhandler(trial->comm, MPI_ERRORS_RETURN);
    trial->peers = usage->peers;
    trial->num = 2 * n;
    trial->requests = bench_alloc((size_t)trial->num * sizeof *trial->requests);
    trial->memory = bench_memory((size_t)trial->num * BYTES);
    for (int i = 0; i < n; i++) {
        mpi->recv_init(trial->memory + (size_t)i * BYTES, BYTES, MPI_BYTE, usage->peers[i], 0,
                       trial->comm, &trial->requests[i]);
        mpi->send_init(trial->memory + (size_t)(n + i) * BYTES, BYTES, MPI_BYTE, usage->peers[i], 0,
                       trial->comm, &trial->requests[n + i]);
    }
}

static void close_trial(struct trial *trial, enum bench_mode mode)
{
    for (int i = 0; i < trial->num; i++) {
        bench_mpi(mode)->request_free(&trial->requests[i]);
    }
    free(trial->requests);
    MPI_Comm_free(&trial->comm);
    bench_memory_free(trial->memory);
}

static char channels[BENCH_NUM_MODES][BENCH_CHANNEL_LEN];

/* What is captured never runs. */
static int capture(MPIX_Queue queue, const struct trial *trial)
{
    int rc;

    bench_graph_begin();
    rc = MPIX_Enqueue_startall(queue, trial->num, trial->requests);
    if (rc == MPI_SUCCESS) {
        rc = MPIX_Enqueue_waitall(queue, trial->num, trial->requests);
    }
    bench_graph_free(bench_graph_end());
    return rc;
}

enum { NO_SLOTS = -1 }; /* no code of MPI */

/* They have to have slots, which they have not where the host moves the data. What goes to the rank
 * itself the kernels copy without a message. */
static int make_handles(MPIX_Queue queue, const struct trial *trial)
{
    MPIX_Device_request *handles = bench_alloc((size_t)trial->num * sizeof *handles);
    int rc = MPIX_Device_request_create(trial->num, trial->requests, queue, handles), rank;

    MPI_Comm_rank(trial->comm, &rank);
    if (rc == MPI_SUCCESS) {
        for (int i = 0; i < trial->num; i++) {
            bool is_own = trial->peers[i % (trial->num / 2)] == rank;

            rc = is_own || MPIX_Device_has_elements(&handles[i]) ? rc : NO_SLOTS;
        }
        MPIX_Device_request_free(trial->num, handles);
    }
    free(handles);
    return rc;
}

/* Started once, as the queue then tells by which channels they go. */
static int start(MPIX_Queue queue, const struct trial *trial, enum bench_mode mode)
{
    int rc = MPIX_Enqueue_startall(queue, trial->num, trial->requests);

    rc = rc == MPI_SUCCESS ? MPIX_Enqueue_waitall(queue, trial->num, trial->requests) : rc;
    rc = rc == MPI_SUCCESS ? MPIX_Queue_wait(queue) : rc;
    bench_queue_name_channels(queue, channels[mode]);
    return rc;
}

static int try_on_queue(const struct trial *trial, enum bench_mode mode)
{
    MPIX_Queue queue;
    int rc = bench_queue_on_device(&queue), all, lacking;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = bench_mode_is_fused(mode) ? make_handles(queue, trial) : capture(queue, trial);
    lacking = rc != MPI_SUCCESS;
    MPI_Allreduce(&lacking, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (all == 0) {
        rc = start(queue, trial, mode);
    }
    MPIX_Queue_free(&queue);
    return rc;
}

const char *bench_graph_channel(enum bench_mode mode)
{
    return channels[mode];
}

const char *bench_graph_refused(const struct bench_usage *usage, enum bench_mode mode)
{
    static char text[MPI_MAX_ERROR_STRING + 1];
    MPI_Errhandler handler;
    struct trial trial;
    int rc, length;

    if (usage->num_peers == 0) {
        return NULL;
    }
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    open_trial(&trial, usage, mode);
    rc = MPIX_Matchall(trial.num, trial.requests);
    if (rc == MPI_SUCCESS) {
        rc = try_on_queue(&trial, mode);
    }
    close_trial(&trial, mode);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    if (rc == MPI_SUCCESS || rc == NO_SLOTS) {
        return rc == MPI_SUCCESS ? NULL : "slots for messages in kernels";
    }
    MPI_Error_string(rc, text, &length);
    return text;
}
