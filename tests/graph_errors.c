/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Captured starts and waits that go wrong: what cannot be captured, and leaves the capture valid
 * and the rest of it right; starts that are replayed too often, and waits without a start; and
 * requests and queues that are freed before the graph. Two ranks, with MTEST_STREAM and
 * MTEST_BUFFER.
 *
 *     graph_errors            all that
 *     graph_errors values     nothing can be captured: MPIXQ_GPU_OPS=values
 *     graph_errors watchdog   a replay that lacks its peer: MPIXQ_WATCHDOG_ACTION=error
 */
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "gpu_graph.h"
#include "gpu_lanes.h"
#include "mtest_gpu.h"

enum { TAG = 40, FEW = 3, MARK = 0x3C };

static const size_t sizes[] = {300, 100000};

static int peer;
static struct gpu_lanes_side side;

static void barrier(void)
{
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void make(struct gpu_lanes *l, int tag)
{
    gpu_lanes_make(l, MTEST_SEND, 2, sizes, peer, tag, mtest_rank == 0);
}

static void *capture(struct gpu_lanes *l)
{
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    gpu_lanes_exchange(l, side.queue, side.stream);
    return gpu_graph_end_executable(side.stream);
}

/* Without functions and copies. */
static void *capture_raw(MPI_Request r[], int n)
{
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, n, r));
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, n, r));
    return gpu_graph_end_executable(side.stream);
}

/* The queue whose stream was captured has failed, and is made anew. */
static void expect_failed(int kind)
{
    int flag = -1;

    mtest_gpu_synchronize(side.stream);
    MTEST_KIND(MPIX_Queue_wait(side.queue), kind);
    MTEST_KIND(MPIX_Queue_test(side.queue, &flag), kind);
    gpu_lanes_side_free(&side);
    gpu_lanes_side_make(&side);
}

/* ---- What cannot be captured ---------------------------------------------------------------- */

static void refuse(MPI_Request *r, int n, int kind, const char *word)
{
    MTEST_KIND_TEXT(MPIX_Enqueue_startall(side.queue, n, r), kind, word);
    MTEST_KIND_TEXT(MPIX_Enqueue_startwaitall(side.queue, n, r), kind, word);
    MTEST_CHECK(gpu_graph_is_valid(side.stream));
}

/* A pair of other requests beside those of the lanes, in one capture: nothing of a call that fails
 * is recorded, also of what stands before the request that cannot be, and the rest works. */
static void test_refused(MPI_Request others[2], int kind, const char *word)
{
    static struct gpu_lanes l;
    MPI_Request both[2];
    void *executable;

    make(&l, TAG);
    both[0] = l.r[0];
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    for (int i = 0; i < 2; i++) {
        both[1] = others[i];
        refuse(both, 2, kind, word);
        refuse(&others[i], 1, kind, word);
    }
    gpu_lanes_exchange(&l, side.queue, side.stream);
    refuse(both, 2, kind, word);
    executable = gpu_graph_end_executable(side.stream);
    for (int i = 0; i < FEW; i++) {
        gpu_graph_launch(executable, side.stream);
    }
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, FEW, "beside what was refused");
    gpu_graph_free_executable(executable);
    gpu_lanes_free(&l);
}

/* Requests in memory of the host, with a peer or within the process: refused while they are not
 * matched, and then in one graph with lanes. */
static void test_beside(int to)
{
    int out = 0, in = -1;
    static struct gpu_lanes l;
    void *executable;
    MPI_Request r[2];

    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, to, TAG + 20, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, to, TAG + 20, MPI_COMM_WORLD, &r[1]));
    test_refused(r, MPIXQ_ERR_STATE, NULL);
    MTEST_OK(MPIX_Matchall(2, r));
    make(&l, TAG);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 2, r));
    gpu_lanes_exchange(&l, side.queue, side.stream);
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2, r));
    executable = gpu_graph_end_executable(side.stream);
    for (int i = 1; i <= FEW; i++) {
        out = 100 * mtest_rank + i;
        gpu_graph_launch(executable, side.stream);
        mtest_gpu_synchronize(side.stream);
        MTEST_EQ(in, 100 * to + i);
        barrier(); /* the peer is about to write what is sent next */
    }
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, FEW, "beside others");
    gpu_graph_free_executable(executable);
    gpu_lanes_free(&l);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

/* Of requests that are active when they are captured, by the host or on a queue. */
static void test_active(void)
{
    static struct gpu_lanes l;
    MPI_Request two[2];

    gpu_lanes_make(&l, MTEST_SEND, 1, sizes, peer, TAG + 20, false);
    two[0] = l.receives[0];
    two[1] = l.receives[0];
    if (gpu_lanes_host_starts()) {
        MTEST_OK(MPI_Start(&l.receives[0]));
        test_refused(two, MPIXQ_ERR_STATE, NULL);
        MTEST_OK(MPI_Start(&l.sends[0]));
        MTEST_OK(MPI_Waitall(2, l.r, MPI_STATUSES_IGNORE));
    }
    barrier();
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 2, l.r));
    test_refused(two, MPIXQ_ERR_STATE, NULL);
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2, l.r));
    gpu_lanes_side_finish(&side);
    gpu_lanes_exchange(&l, side.queue, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 1, "after all");
    gpu_lanes_free(&l);
}

/* Twice in one capture; and what waits for the queue, while its stream is captured. */
static void test_twice(void)
{
    static struct gpu_lanes l;
    MPI_Request same[2];
    void *executable;

    make(&l, TAG);
    same[0] = same[1] = l.r[0];
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    gpu_lanes_put(&l, side.stream);
    refuse(same, 2, MPIXQ_ERR_STATE, NULL);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 4, l.r));
    for (int i = 0; i < 4; i++) {
        refuse(&l.r[i], 1, MPIXQ_ERR_STATE, NULL);
    }
    MTEST_KIND_TEXT(MPIX_Queue_wait(side.queue), MPIXQ_ERR_STATE, "captured");
    MTEST_KIND_TEXT(MPIX_Queue_free(&side.queue), MPIXQ_ERR_STATE, "captured");
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 4, l.r));
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 4, l.r)); /* for nothing */
    gpu_lanes_get(&l, side.stream);
    gpu_lanes_exchange(&l, side.queue, side.stream);
    MTEST_CHECK(gpu_graph_is_valid(side.stream));
    executable = gpu_graph_end_executable(side.stream);
    for (int i = 0; i < FEW; i++) {
        gpu_graph_launch(executable, side.stream);
    }
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 2L * FEW, "after a start too many");
    gpu_graph_free_executable(executable);
    gpu_lanes_free(&l);
}

/* A capture that is thrown away leaves no trace. */
static void test_dropped(void)
{
    static struct gpu_lanes l;

    make(&l, TAG);
    for (int i = 0; i < FEW; i++) {
        gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
        gpu_lanes_put(&l, side.stream);
        MTEST_OK(MPIX_Enqueue_startall(side.queue, 4, l.r));
        if (i % 2 == 0) {
            MTEST_OK(MPIX_Enqueue_waitall(side.queue, 3, l.r));
        }
        gpu_graph_end_dropped(side.stream);
        MTEST_OK(MPIX_Enqueue_waitall(side.queue, MPIXQ_ALL_STARTED, NULL));
        gpu_lanes_exchange(&l, side.queue, side.stream);
        gpu_lanes_side_finish(&side);
        gpu_lanes_exchange_by_host(&l);
    }
    gpu_lanes_check(&l, 2L * FEW, "after captures that were thrown away");
    gpu_lanes_free(&l);
}

/* ---- What goes wrong in a replay ------------------------------------------------------------ */

static void test_wait_alone(void)
{
    static struct gpu_lanes l;
    void *executable;

    make(&l, TAG);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 4, l.r));
    executable = gpu_graph_end_executable(side.stream);
    for (int i = 0; i < FEW; i++) {
        gpu_graph_launch(executable, side.stream);
        gpu_graph_launch(executable, side.stream);
        gpu_lanes_exchange(&l, side.queue, side.stream);
    }
    gpu_graph_launch(executable, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, FEW, "waits without a start");
    gpu_graph_free_executable(executable);
    gpu_lanes_free(&l);
}

/* Whatever the peer's queue has heard of a failure. */
static void expect_failed_or_not(void)
{
    int rc;

    mtest_gpu_synchronize(side.stream);
    rc = MPIX_Queue_wait(side.queue);
    if (rc != MPI_SUCCESS) {
        mtest_forgive(1);
        MTEST_EQ(mtest_kind_of(rc), MPIXQ_ERR_COMM);
    }
    gpu_lanes_side_free(&side);
    gpu_lanes_side_make(&side);
}

static void expect_works(void)
{
    static struct gpu_lanes l;
    void *executable;

    make(&l, TAG);
    executable = capture(&l);
    for (int i = 0; i < FEW; i++) {
        gpu_graph_launch(executable, side.stream);
        gpu_lanes_exchange(&l, side.queue, side.stream);
    }
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 2L * FEW, "after a failure");
    gpu_graph_free_executable(executable);
    gpu_lanes_free(&l);
}

/* A second start at one end is not made, and its queue fails. The message of the first one has come
 * by then. */
static void test_started_twice(int at)
{
    static struct gpu_lanes l;
    void *start, *wait;

    make(&l, TAG);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 4, l.r));
    start = gpu_graph_end_executable(side.stream);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 4, l.r));
    wait = gpu_graph_end_executable(side.stream);
    gpu_lanes_put(&l, side.stream);
    gpu_graph_launch(start, side.stream);
    mtest_gpu_synchronize(side.stream);
    /* All are started, and so moved, but for what the waits take out of its slot. */
    barrier();
    usleep(30000); /* and the progress thread has found nothing under way */
    if (mtest_rank == at) {
        gpu_graph_launch(start, side.stream);
        gpu_graph_launch(wait, side.stream);
        expect_failed(MPIXQ_ERR_STATE);
    } else {
        gpu_graph_launch(wait, side.stream);
        gpu_lanes_get(&l, side.stream);
        expect_failed_or_not();
        gpu_lanes_check(&l, 1, "of the peer that starts once");
    }
    barrier();
    gpu_graph_free_executable(start);
    gpu_graph_free_executable(wait);
    gpu_lanes_free(&l);
    expect_works();
}

/* What a replay has started is started on another queue, before its message has come: both queues
 * hear of it, and the wait of the replay ends. If both were made at the same time nobody would see
 * it: so the start of the replay has ended first. With one hardware queue the other would be behind
 * that wait, and nothing would ever run it. */
static void test_started_elsewhere(int at)
{
    const char *queues = getenv("HIP_DOUBLE_QUEUES");
    struct gpu_lanes_side other;
    static struct gpu_lanes l;
    void *start, *wait;

    if (queues != NULL && strcmp(queues, "1") == 0) {
        return;
    }
    make(&l, TAG);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 2, l.receives));
    start = gpu_graph_end_executable(side.stream);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2, l.receives));
    wait = gpu_graph_end_executable(side.stream);
    gpu_lanes_side_make(&other);
    if (mtest_rank == at) {
        gpu_graph_launch(start, side.stream);
        mtest_gpu_synchronize(side.stream);
        gpu_graph_launch(wait, side.stream);
        MTEST_OK(MPIX_Enqueue_start(other.queue, l.receives));
        mtest_gpu_synchronize(other.stream);
        mtest_gpu_synchronize(side.stream);
        MTEST_KIND(MPIX_Queue_wait(other.queue), MPIXQ_ERR_STATE);
        expect_failed(MPIXQ_ERR_STATE);
    } else {
        expect_failed_or_not();
    }
    barrier();
    gpu_graph_free_executable(start);
    gpu_graph_free_executable(wait);
    gpu_lanes_free(&l);
    gpu_lanes_side_free(&other);
    expect_works();
}

/* The requests are freed, at both ends or at one, and their memory holds something else; then comes
 * a replay. */
static void test_freed_requests(bool both)
{
    static struct gpu_lanes l;
    bool frees = both || mtest_rank == 0;
    void *executable;

    make(&l, TAG);
    executable = capture_raw(l.r, 4);
    gpu_graph_launch(executable, side.stream);
    gpu_lanes_side_finish(&side);
    for (int i = 0; i < 4 && frees; i++) {
        MTEST_OK(MPI_Request_free(&l.r[i]));
    }
    gpu_lanes_mark(&l, (unsigned char)(MARK + mtest_rank));
    barrier();
    if (frees) {
        gpu_graph_launch(executable, side.stream);
        gpu_graph_launch(executable, side.stream);
        expect_failed(MPIXQ_ERR_STATE);
    }
    barrier();
    gpu_lanes_expect_mark(&l, (unsigned char)(MARK + mtest_rank));
    gpu_graph_free_executable(executable);
    gpu_lanes_free(&l);
    expect_works();
}

/* A queue fails while requests that it has captured are idle: they are as good as before. */
static void test_idle(void)
{
    static struct gpu_lanes l, freed;
    void *executable, *doomed;

    make(&l, TAG);
    make(&freed, TAG + 10);
    executable = capture(&l);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 4, freed.r));
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 4, freed.r));
    doomed = gpu_graph_end_executable(side.stream);
    gpu_graph_launch(executable, side.stream);
    gpu_lanes_side_finish(&side);
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPI_Request_free(&freed.r[i]));
    }
    gpu_graph_launch(doomed, side.stream);
    expect_failed(MPIXQ_ERR_STATE);
    usleep(mtest_rank == 0 ? 50000 : 400000); /* so that the other one's wait would have ended */
    gpu_lanes_exchange(&l, side.queue, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 2, "after its queue has failed");
    gpu_graph_free_executable(executable);
    gpu_graph_free_executable(doomed);
    gpu_lanes_free(&l);
    gpu_lanes_free(&freed);
}

static void test_freed_queue(void)
{
    static struct gpu_lanes l;
    void *executable;

    make(&l, TAG);
    executable = capture(&l);
    gpu_graph_launch(executable, side.stream);
    mtest_gpu_synchronize(side.stream);
    MTEST_OK(MPIX_Queue_free(&side.queue));
    for (int i = 0; i < FEW; i++) {
        gpu_graph_launch(executable, side.stream);
    }
    mtest_gpu_synchronize(side.stream);
    gpu_lanes_exchange_by_host(&l);
    gpu_lanes_check(&l, FEW + 2, "after the queue was freed");
    gpu_graph_free_executable(executable);
    gpu_lanes_free(&l);
    mtest_gpu_stream_end(side.stream);
    gpu_lanes_side_make(&side);
}

/* ---- Other runs ----------------------------------------------------------------------------- */

static void test_values(void)
{
    struct gpu_lanes l;

    make(&l, TAG);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    gpu_lanes_put(&l, side.stream);
    refuse(l.r, 4, MPIXQ_ERR_UNSUPPORTED, NULL);
    MTEST_KIND(MPIX_Enqueue_waitall(side.queue, 4, l.r), MPIXQ_ERR_UNSUPPORTED);
    MTEST_CHECK(gpu_graph_is_valid(side.stream));
    gpu_graph_end_dropped(side.stream);
    gpu_lanes_exchange(&l, side.queue, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 1, "after what was refused");
    gpu_lanes_free(&l);
}

static void expect_told(MPI_Request *r)
{
    int rc = mtest_transfer(side.queue, r);

    /* Where MPI moves the data it may come before the news, which the next start waits for. */
    if (rc == MPI_SUCCESS) {
        rc = mtest_transfer(side.queue, r);
    }
    mtest_forgive(1); /* it has heard of the failure, or its own watchdog has found it */
    MTEST_CHECK(mtest_kind_of(rc) == MPIXQ_ERR_COMM || mtest_kind_of(rc) == MPIXQ_ERR_TIMEOUT);
    mtest_gpu_synchronize(side.stream);
    gpu_lanes_side_free(&side);
    gpu_lanes_side_make(&side);
}

/* The peer does not come: the watchdog ends the wait, and the peer hears of it. */
static void test_watchdog(int waits)
{
    static struct gpu_lanes l;
    void *executable;

    make(&l, TAG);
    executable = capture_raw(l.r, 4);
    gpu_graph_launch(executable, side.stream);
    gpu_lanes_side_finish(&side);
    barrier();
    if (mtest_rank == waits) {
        gpu_graph_launch(executable, side.stream);
        expect_failed(MPIXQ_ERR_TIMEOUT);
        barrier();
    } else {
        barrier();
        expect_told(&l.r[1]); /* the large one: no message of it is on its way */
    }
    barrier();
    gpu_graph_free_executable(executable);
    gpu_lanes_free(&l);
}

/* What ends the start of a replay is a captured wait: the host is refused while the start is under
 * way, in calls for other requests too, and finds the request inactive before and after. */
static void test_host_waits(void)
{
    static struct gpu_lanes l;
    void *starts, *waits;
    int flag = -1, index = -1;

    gpu_lanes_make(&l, MTEST_SEND, 1, &sizes[1], peer, TAG, false);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    gpu_lanes_put(&l, side.stream);
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 2, l.r));
    starts = gpu_graph_end_executable(side.stream);
    gpu_graph_begin(side.stream, GPU_GRAPH_GLOBAL);
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2, l.r));
    gpu_lanes_get(&l, side.stream);
    waits = gpu_graph_end_executable(side.stream);
    MTEST_OK(MPI_Waitall(2, l.r, MPI_STATUSES_IGNORE));
    if (mtest_rank == 0) {
        gpu_graph_launch(starts, side.stream);
        mtest_gpu_synchronize(side.stream);
        for (int i = 0; i < 2; i++) {
            MTEST_KIND_TEXT(MPI_Wait(&l.r[i], MPI_STATUS_IGNORE), MPIXQ_ERR_STATE, "replayed");
            MTEST_KIND(MPI_Test(&l.r[i], &flag, MPI_STATUS_IGNORE), MPIXQ_ERR_STATE);
        }
        MTEST_KIND(MPI_Waitall(2, l.r, MPI_STATUSES_IGNORE), MPIXQ_ERR_STATE);
        MTEST_KIND(MPI_Waitany(2, l.r, &index, MPI_STATUS_IGNORE), MPIXQ_ERR_STATE);
    }
    barrier();
    if (mtest_rank == 1) {
        gpu_graph_launch(starts, side.stream);
    }
    gpu_graph_launch(waits, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 1, "after waits by the host");
    MTEST_OK(MPI_Waitall(2, l.r, MPI_STATUSES_IGNORE));
    barrier();
    gpu_lanes_exchange_by_host(&l);
    gpu_lanes_check(&l, 2, "by the host");
    gpu_graph_free_executable(starts);
    gpu_graph_free_executable(waits);
    gpu_lanes_free(&l);
}

static void test_all(void)
{
    test_beside(peer);
    test_beside(mtest_rank);
    test_active();
    test_twice();
    test_dropped();
    test_wait_alone();
    test_started_twice(0);
    test_started_twice(1);
    test_started_elsewhere(0);
    test_started_elsewhere(1);
    test_freed_requests(true);
    test_freed_requests(false);
    test_idle();
    test_host_waits();
    test_freed_queue();
}

int main(int argc, char **argv)
{
    const char *run = argc > 1 ? argv[1] : "";

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!gpu_lanes_can_run(2)) {
        return mtest_end();
    }
    peer = 1 - mtest_rank;
    gpu_lanes_side_make(&side);
    if (strcmp(run, "values") == 0) {
        test_values();
    } else if (strcmp(run, "watchdog") == 0) {
        test_watchdog(0);
        test_watchdog(1);
        test_dropped();
    } else {
        test_all();
    }
    gpu_lanes_side_free(&side);
    return mtest_end();
}
