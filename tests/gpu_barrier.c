/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Barriers on a queue on a stream of a GPU: none is passed before all ranks have come to it, with
 * one rank late in turn. They are made with a hint that GPUs are to move them, with none, and with
 * it on some ranks; GPUs do, if MPIXQ_CHANNELS names ipc, and then a queue on a stream of the host
 * cannot start them. What the hint says of a kind that there is not, or of the host, changes
 * nothing. The host starts them too, in between, where all ranks are moved alike. Argument
 * "graph": the same from a graph that is captured once and replayed, and every other time by the
 * queue after all. */
#include "mtest.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective_names.h"
#include "gpu_graph.h"
#include "mtest_gpu.h"

enum { ROUNDS = 4, LATE_US = 20000 };

static void *stream;
static MPIX_Queue queue, host_queue;
static bool by_graph, by_gpus, by_host;
static int ranks, round_now;
static MPI_Win shared;
static const char *kind; /* of GPU, as the hint names it */
static atomic_int *come; /* of each rank: the round that it has come to */

static MPI_Request init_barrier(const char *hint)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Info info = MPI_INFO_NULL;

    if (hint != NULL) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpixq_memory", hint);
    }
    MTEST_OK(COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, info, &r));
    if (hint != NULL) {
        MPI_Info_free(&info);
    }
    return r;
}

static void come_to_it(int late)
{
    round_now++;
    if (mtest_rank == late) {
        (void)usleep(LATE_US);
    }
    atomic_store(&come[mtest_rank], round_now);
}

static void check_passed(const char *name)
{
    for (int rank = 0; rank < ranks; rank++) {
        int seen = atomic_load(&come[rank]);

        if (seen < round_now) {
            mtest_fail(__FILE__, __LINE__, "%s: round %d is over, and rank %d is at %d", name,
                       round_now, rank, seen);
        }
    }
}

static void enqueue(MPI_Request *r)
{
    static int calls; /* in turn by one call and by two */

    if (calls++ % 2 == 0) {
        MTEST_OK(MPIX_Enqueue_startwaitall(queue, 1, r));
        return;
    }
    MTEST_OK(MPIX_Enqueue_start(queue, r));
    MTEST_OK(MPIX_Enqueue_wait(queue, r));
}

static void *capture(MPI_Request *r)
{
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    enqueue(r);
    return gpu_graph_end_executable(stream);
}

static void pass(const char *name, MPI_Request *r, void *graph, int late)
{
    come_to_it(late);
    if (graph != NULL && late % 2 == 0) {
        gpu_graph_launch(graph, stream);
    } else {
        enqueue(r);
    }
    mtest_gpu_synchronize(stream);
    check_passed(name);
    MTEST_OK(MPIX_Queue_wait(queue));
    if (!by_host) {
        return;
    }
    come_to_it(ranks - 1 - late);
    MTEST_OK(MPI_Start(r));
    MTEST_OK(MPI_Wait(r, MPI_STATUS_IGNORE));
    check_passed(name);
}

static void run(const char *name, const char *hint)
{
    MPI_Request r = init_barrier(hint);
    void *graph;

    MTEST_OK(MPIX_Match(&r));
    if (by_gpus && hint != NULL && strcmp(hint, kind) == 0) {
        MTEST_KIND_TEXT(MPIX_Enqueue_start(host_queue, &r), MPIXQ_ERR_UNSUPPORTED,
                        "the barrier is");
    }
    graph = by_graph ? capture(&r) : NULL;
    for (int i = 0; i < ROUNDS * ranks; i++) {
        pass(name, &r, graph, i % ranks);
    }
    for (int i = 0; graph != NULL && i < 100; i++) {
        gpu_graph_launch(graph, stream);
    }
    mtest_gpu_synchronize(stream);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPI_Request_free(&r));
    if (graph != NULL) {
        gpu_graph_free_executable(graph);
    }
}

int main(int argc, char **argv)
{
    const char *channels = getenv("MPIXQ_CHANNELS");
    void *base;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!HAVE_COLLECTIVES || mtest_gpu_kind() == NULL) {
        mtest_skip("this MPI has no persistent collectives, or MTEST_STREAM names no GPU");
        return mtest_end();
    }
    by_graph = argc > 1;
    by_gpus = channels != NULL && strstr(channels, "ipc") != NULL && ranks > 1;
    if (by_graph && !gpu_graph_open()) {
        mtest_skip("there are no graphs");
        return mtest_end();
    }
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    kind = strstr(mtest_gpu_kind(), "hip") != NULL ? "hip" : "cuda";
    stream = mtest_gpu_stream();
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(PMPIXQ_Queue_init(&host_queue, MPIX_QUEUE_AUTO, NULL)); /* of the host indeed */
    MPI_Win_allocate_shared(mtest_rank == 0 ? (MPI_Aint)((size_t)ranks * sizeof *come) : 0, 1,
                            MPI_INFO_NULL, MPI_COMM_WORLD, &base, &shared);
    MPI_Win_shared_query(shared, 0, &(MPI_Aint){0}, &(int){0}, &base);
    come = base;
    atomic_store(&come[mtest_rank], 0);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));

    by_host = true;
    run("no hint", NULL);
    run("a hint", kind);
    by_host = false; /* as data of a GPU goes by its memory */
    run("a hint on some ranks", mtest_rank % 2 == 0 ? kind : NULL);
    by_host = true;
    run("a hint for the host", "host");
    run("another hint", "some other kind of memory");

    MPI_Win_free(&shared);
    MTEST_OK(MPIX_Queue_free(&host_queue));
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
    return mtest_end();
}
