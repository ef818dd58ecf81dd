/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Graphs of other shapes with captured starts and waits: of several queues whose streams are joined
 * by events, of child graphs, updated, launched in other streams, captured by several threads at a
 * time, and with requests of which nothing is captured. Two ranks, with MTEST_STREAM and
 * MTEST_BUFFER.
 *
 *     graph_shapes [one]   one: for GPUs whose streams hold up each other, as several threads have
 *                          their replays in another order at each rank
 */
#include <pthread.h>
#include <string.h>

#include "gpu_graph.h"
#include "gpu_lanes.h"
#include "mtest_gpu.h"

enum { TAG = 40, FEW = 5, THREADS = 2, ROUNDS = 40 };

static const size_t sizes[] = {300, 100000};

static int peer;
static struct gpu_lanes_side side;

static void make(struct gpu_lanes *l, int tag)
{
    gpu_lanes_make(l, MTEST_SEND, 2, sizes, peer, tag, mtest_rank == 0);
}

static void *capture(struct gpu_lanes *l)
{
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    gpu_lanes_exchange(l, side.queue, side.stream);
    return gpu_graph_end(side.stream);
}

static void *capture_executable(struct gpu_lanes *l)
{
    void *graph = capture(l);
    void *executable = gpu_graph_executable(graph);

    gpu_graph_free(graph);
    return executable;
}

static void launch(void *executable, void *stream, int n)
{
    for (int i = 0; i < n; i++) {
        gpu_graph_launch(executable, stream);
    }
}

static void end(struct gpu_lanes *l, long exchanges, const char *what)
{
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(l, exchanges, what);
    gpu_lanes_free(l);
}

/* In another stream than the one that was captured, and in two in turn. */
static void test_other_streams(void)
{
    static struct gpu_lanes l;
    void *streams[2], *executable;

    make(&l, TAG);
    executable = capture_executable(&l);
    for (int i = 0; i < 2; i++) {
        streams[i] = mtest_gpu_stream();
        launch(executable, streams[i], FEW);
        mtest_gpu_synchronize(streams[i]);
    }
    for (int i = 0; i < FEW; i++) { /* two launches of a graph do not overlap */
        launch(executable, streams[i % 2], 1);
    }
    mtest_gpu_synchronize(streams[0]);
    mtest_gpu_synchronize(streams[1]);
    end(&l, 3L * FEW, "in another stream");
    gpu_graph_free_executable(executable);
    mtest_gpu_stream_end(streams[0]);
    mtest_gpu_stream_end(streams[1]);
}

/* Nothing is captured of what goes to nobody; with others it can stand in one array. */
static void test_nobody(void)
{
    static struct gpu_lanes l;
    MPI_Request r[7], nobody[2];
    void *executable, *empty;
    int word = 77;

    make(&l, TAG);
    MTEST_OK(MPI_Recv_init(&word, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &nobody[0]));
    MTEST_OK(MPI_Send_init(&word, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &nobody[1]));
    MTEST_OK(MPIX_Matchall(2, nobody));
    for (int i = 0; i < 4; i++) {
        r[i < 2 ? i + 1 : i + 2] = l.r[i];
    }
    r[0] = nobody[0];
    r[3] = MPI_REQUEST_NULL;
    r[6] = nobody[1];
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    gpu_lanes_put(&l, side.stream);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 7, r));
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 7, r));
    gpu_lanes_get(&l, side.stream);
    executable = gpu_graph_end_executable(side.stream);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 2, nobody));
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2, nobody));
    MTEST_OK(MPIX_Enqueue_start(side.queue, &r[3]));
    MTEST_OK(MPIX_Enqueue_wait(side.queue, &r[3]));
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 0, NULL));
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 0, NULL));
    empty = gpu_graph_end_executable(side.stream);
    for (int i = 0; i < FEW; i++) {
        launch(empty, side.stream, 1);
        launch(executable, side.stream, 1);
    }
    end(&l, FEW, "beside nobody");
    MTEST_EQ(word, 77);
    gpu_graph_free_executable(executable);
    gpu_graph_free_executable(empty);
    MTEST_OK(MPI_Request_free(&nobody[0]));
    MTEST_OK(MPI_Request_free(&nobody[1]));
}

/* All that were started in the capture, and not what was started before it. */
static void test_all_started(void)
{
    static struct gpu_lanes l, before;
    void *executable;

    make(&l, TAG);
    make(&before, TAG + 10);
    gpu_lanes_put(&before, side.stream);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 2 * before.n, before.r));
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, MPIXQ_ALL_STARTED, NULL)); /* which is none */
    gpu_lanes_put(&l, side.stream);
    MTEST_OK(MPIX_Enqueue_start(side.queue, &l.r[0]));
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 3, &l.r[1]));
    MTEST_OK(MPIX_Enqueue_wait(side.queue, &l.r[2]));
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, MPIXQ_ALL_STARTED, NULL));
    gpu_lanes_get(&l, side.stream);
    gpu_lanes_exchange(&l, side.queue, side.stream);
    executable = gpu_graph_end_executable(side.stream);
    launch(executable, side.stream, FEW);
    mtest_gpu_synchronize(side.stream);
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, MPIXQ_ALL_STARTED, NULL));
    gpu_lanes_get(&before, side.stream);
    end(&l, 2L * FEW, "all started in the capture");
    end(&before, 1, "started before the capture");
    gpu_graph_free_executable(executable);
}

/* Let what comes next in a stream come after what stands in the other one. */
static void follow(void *stream, void *other)
{
    void *event = mtest_gpu_event(other);

    mtest_gpu_event_wait(stream, event);
    mtest_gpu_event_end(event);
}

/* Two queues side by side in one capture, which begins in the stream of one of them or in a stream
 * that has none. Both ranks have the branches in the same order, for GPUs that run one after the
 * other. */
static void test_joined(bool begins_elsewhere)
{
    static struct gpu_lanes l, other_l;
    struct gpu_lanes_side other;
    void *executable, *stream = begins_elsewhere ? mtest_gpu_stream() : side.stream;

    gpu_lanes_side_make(&other);
    make(&l, TAG);
    make(&other_l, TAG + 10);
    gpu_graph_begin(stream, GPU_GRAPH_GLOBAL);
    if (begins_elsewhere) {
        follow(side.stream, stream);
    }
    follow(other.stream, stream);
    gpu_lanes_exchange(&l, side.queue, side.stream);
    gpu_lanes_exchange(&other_l, other.queue, other.stream);
    follow(side.stream, other.stream);
    gpu_lanes_exchange(&l, side.queue, side.stream);
    if (begins_elsewhere) {
        follow(stream, side.stream);
    }
    executable = gpu_graph_end_executable(stream);
    launch(executable, stream, FEW);
    mtest_gpu_synchronize(stream);
    gpu_lanes_side_finish(&other);
    end(&l, 2L * FEW, "one of two queues");
    end(&other_l, FEW, "the other one of two queues");
    gpu_graph_free_executable(executable);
    gpu_lanes_side_free(&other);
    if (begins_elsewhere) {
        mtest_gpu_stream_end(stream);
    }
}

/* All starts of two branches before their waits, twice. */
static void cross(struct gpu_lanes *const l[2], const struct gpu_lanes_side *const sides[2])
{
    for (int i = 0; i < 2; i++) {
        gpu_lanes_put(l[i], sides[i]->stream);
        MTEST_OK(MPIX_Enqueue_startall(sides[i]->queue, 2 * l[i]->n, l[i]->r));
    }
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Enqueue_waitall(sides[i]->queue, 2 * l[i]->n, l[i]->r));
        gpu_lanes_get(l[i], sides[i]->stream);
    }
}

/* Two queues in one capture, whose branches the ranks have in another order: a GPU that runs one
 * branch after the other has to make the starts of both before it waits for any. */
static void test_crossed(void)
{
    enum { ROUNDS_IN_A_GRAPH = 2 };
    static struct gpu_lanes l, other_l;
    struct gpu_lanes *const lanes[] = {mtest_rank == 0 ? &l : &other_l,
                                       mtest_rank == 0 ? &other_l : &l};
    struct gpu_lanes_side other;
    const struct gpu_lanes_side *const sides[] = {&side, &other};
    void *executable;

    gpu_lanes_side_make(&other);
    make(&l, TAG);
    make(&other_l, TAG + 10);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    follow(other.stream, side.stream);
    for (int i = 0; i < ROUNDS_IN_A_GRAPH; i++) {
        cross(lanes, sides);
    }
    follow(side.stream, other.stream);
    executable = gpu_graph_end_executable(side.stream);
    launch(executable, side.stream, FEW);
    mtest_gpu_synchronize(side.stream);
    gpu_lanes_side_finish(&other);
    end(&l, (long)ROUNDS_IN_A_GRAPH * FEW, "a branch");
    end(&other_l, (long)ROUNDS_IN_A_GRAPH * FEW, "another branch");
    gpu_graph_free_executable(executable);
    gpu_lanes_side_free(&other);
}

/* Of one and of the other requests and of the same again; the children are gone by then. */
static void test_children(void)
{
    static struct gpu_lanes l, other;
    void *children[3], *graph, *executable;

    make(&l, TAG);
    make(&other, TAG + 10);
    children[0] = capture(&l);
    children[1] = capture(&other);
    children[2] = children[0];
    graph = gpu_graph_of_children(3, children);
    gpu_graph_free(children[0]);
    gpu_graph_free(children[1]);
    executable = gpu_graph_executable(graph);
    gpu_graph_free(graph);
    launch(executable, side.stream, FEW);
    end(&l, 2L * FEW, "child graphs");
    end(&other, FEW, "another child graph");
    gpu_graph_free_executable(executable);
}

/* Other requests of the same kind take the place of those before; a graph that has other nodes does
 * not. What was launched before goes on. */
static void test_updated(void)
{
    static struct gpu_lanes l, other;
    void *executable, *graph;

    make(&l, TAG);
    make(&other, TAG + 10);
    executable = capture_executable(&l);
    launch(executable, side.stream, 2);
    graph = capture(&other);
    MTEST_CHECK(gpu_graph_update(executable, graph));
    gpu_graph_free(graph);
    launch(executable, side.stream, 3);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    gpu_lanes_exchange(&l, side.queue, side.stream);
    gpu_lanes_exchange(&l, side.queue, side.stream);
    graph = gpu_graph_end(side.stream);
    MTEST_CHECK(!gpu_graph_update(executable, graph));
    gpu_graph_free(graph);
    launch(executable, side.stream, 1);
    graph = capture(&l);
    MTEST_CHECK(gpu_graph_update(executable, graph));
    gpu_graph_free(graph);
    launch(executable, side.stream, FEW);
    end(&l, 2 + FEW, "before and after updates");
    end(&other, 4, "of an update");
    gpu_graph_free_executable(executable);
}

/* One of several threads: its queue, stream and lanes. */
struct own {
    pthread_t thread;
    struct gpu_lanes_side side;
    struct gpu_lanes l;
    void *executable;
};

/* Launches, plain exchanges, and captures that are thrown away, all at the same time. */
static void *replay(void *own)
{
    struct own *o = own;

    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    for (int i = 0; i < ROUNDS; i++) {
        gpu_graph_launch(o->executable, o->side.stream);
        if (i % 8 == 7) {
            gpu_lanes_exchange(&o->l, o->side.queue, o->side.stream);
            gpu_lanes_side_finish(&o->side);
            gpu_graph_begin(o->side.stream, GPU_GRAPH_THREAD_LOCAL);
            gpu_lanes_exchange(&o->l, o->side.queue, o->side.stream);
            MTEST_CHECK(gpu_graph_is_valid(o->side.stream));
            gpu_graph_end_dropped(o->side.stream);
        }
    }
    return NULL;
}

/* What may wait for the GPU is done when nothing is in its streams. */
static void test_threads(void)
{
    static struct own own[THREADS];

    for (int i = 0; i < THREADS; i++) {
        gpu_lanes_side_make(&own[i].side);
        make(&own[i].l, TAG + 10 * i);
        gpu_graph_begin(own[i].side.stream, GPU_GRAPH_THREAD_LOCAL);
        gpu_lanes_exchange(&own[i].l, own[i].side.queue, own[i].side.stream);
        own[i].executable = gpu_graph_end_executable(own[i].side.stream);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&own[i].thread, NULL, replay, &own[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(own[i].thread, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        gpu_lanes_side_finish(&own[i].side);
        gpu_lanes_check(&own[i].l, ROUNDS + ROUNDS / 8, "of a thread");
        gpu_graph_free_executable(own[i].executable);
        gpu_lanes_free(&own[i].l);
        gpu_lanes_side_free(&own[i].side);
    }
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!gpu_lanes_can_run(2)) {
        return mtest_end();
    }
    peer = 1 - mtest_rank;
    gpu_lanes_side_make(&side);
    test_other_streams();
    test_nobody();
    test_all_started();
    test_joined(false);
    test_joined(true);
    test_crossed();
    test_children();
    test_updated();
    if (argc < 2 || strcmp(argv[1], "one") != 0) {
        test_threads();
    }
    gpu_lanes_side_free(&side);
    return mtest_end();
}
