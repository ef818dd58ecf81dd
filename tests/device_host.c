/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Handles of requests whose data the host moves: what they cannot do, and what happens to the
 * staging buffers of those in memory of a GPU that MPI does not take. Two ranks, with MTEST_STREAM.
 *
 *     device_host            on the fallback: MPIXQ_CHANNELS
 *     device_host direct     on the channel cxi, whose NIC moves the data itself
 *     device_host devices    and with a queue on another GPU than that of the buffers
 */
#include <mpix_queue_device.h>

#include <string.h>

#include <unistd.h>

#include "device/device_code.h"
#include "gpu_graph.h"
#include "gpu_lanes.h"
#include "mtest_gpu.h"

enum { TAG = 40, GUARD_BYTES = 64, MARK = 0x3C, THREADS = 64 };

static const size_t sizes[] = {400, 100000};

static int peer;
static bool is_direct; /* the NIC writes into the buffers, and reads from them */
static struct gpu_lanes_side side;

/* Two receives, and two sends. */
static void make(struct gpu_lanes *l, MPIX_Device_request handles[])
{
    gpu_lanes_make(l, MTEST_SEND, 2, sizes, peer, TAG, false);
    MTEST_OK(MPIX_Device_request_create(4, l->r, side.queue, handles));
}

static void end(struct gpu_lanes *l, MPIX_Device_request handles[])
{
    MTEST_OK(MPIX_Device_request_free(4, handles));
    gpu_lanes_free(l);
}

static unsigned run(enum device_do todo, const MPIX_Device_request *r, MPIXQ_Device_scope scope,
                    void *data)
{
    struct device_step step = {.todo = (unsigned)todo,
                               .count = 1,
                               .scope = (unsigned)scope,
                               .limit_ns = MPIX_DEVICE_FOREVER,
                               .data = data};

    return device_code_run(side.stream, THREADS, &step, r);
}

static unsigned start(const MPIX_Device_request *r)
{
    return run(DEVICE_START, r, MPIX_DEVICE_BLOCK, NULL);
}

static unsigned await(const MPIX_Device_request *r)
{
    return run(DEVICE_WAIT, r, MPIX_DEVICE_BLOCK, NULL);
}

static void exchange(struct gpu_lanes *l, const MPIX_Device_request handles[])
{
    gpu_lanes_put(l, side.stream);
    for (int i = 0; i < 4; i++) {
        MTEST_EQ(start(&handles[i]), MPIX_DEVICE_SUCCESS);
    }
    for (int i = 0; i < 4; i++) {
        MTEST_EQ(await(&handles[i]), MPIX_DEVICE_SUCCESS);
    }
    gpu_lanes_get(l, side.stream);
}

static void refuse(int count, MPI_Request r[], MPIX_Queue queue, const char *word)
{
    static const MPIX_Device_request none[4];
    MPIX_Device_request made[4];

    memset(made, 0, sizeof(made));
    MTEST_KIND_TEXT(MPIX_Device_request_create(count, r, queue, made), MPIXQ_ERR_UNSUPPORTED, word);
    MTEST_EQ(memcmp(made, none, sizeof(none)), 0);
}

/* Where the host moves the data there are whole messages alone. */
static void test_no_elements(void)
{
    MPIX_Device_request h[4];
    static struct gpu_lanes l;

    make(&l, h);
    for (int i = 0; i < 4; i++) {
        MTEST_EQ(MPIX_Device_has_elements(&h[i]), 0);
        MTEST_EQ(MPIX_Device_buffer(&h[i]) == NULL, 1);
    }
    MTEST_EQ(run(DEVICE_PUT, &h[2], MPIX_DEVICE_BLOCK, NULL), MPIXQ_DEVICE_ERR_ARG);
    MTEST_EQ(run(DEVICE_GET, &h[0], MPIX_DEVICE_BLOCK, NULL), MPIXQ_DEVICE_ERR_ARG);
    MTEST_EQ(run(DEVICE_DIRECT, &h[2], MPIX_DEVICE_BLOCK, NULL), MPIXQ_DEVICE_ERR_ARG);
    MTEST_EQ(run(DEVICE_START, &h[3], MPIX_DEVICE_THREAD, NULL), MPIXQ_DEVICE_ERR_ARG);
    exchange(&l, h);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 1, "after elements that are none");
    end(&l, h);
}

/* Until a send is started what it sends may change, and what was received before its wait is not in
 * the buffer. */
static void test_staging(void)
{
    static const unsigned char before[1] = {MARK};
    MPIX_Device_request h[4];
    static struct gpu_lanes l;
    unsigned char seen = 0;

    make(&l, h);
    exchange(&l, h);
    gpu_lanes_side_finish(&side);
    gpu_lanes_put(&l, side.stream);
    for (int i = 0; i < 4; i++) {
        MTEST_EQ(start(&h[i]), MPIX_DEVICE_SUCCESS);
    }
    MTEST_EQ(await(&h[2]), MPIX_DEVICE_SUCCESS);
    MTEST_EQ(await(&h[3]), MPIX_DEVICE_SUCCESS);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* all data has left, and soon comes */
    usleep(100000);
    if (mtest_gpu_memory() == MTEST_DEVICE) {
        mtest_gpu_copy_now(l.lane[1].in + GUARD_BYTES, before, sizeof(before));
        usleep(20000);
        mtest_gpu_copy_now(&seen, l.lane[1].in + GUARD_BYTES, sizeof(seen));
        MTEST_EQ(seen, MARK);
    }
    MTEST_EQ(await(&h[0]), MPIX_DEVICE_SUCCESS);
    MTEST_EQ(await(&h[1]), MPIX_DEVICE_SUCCESS);
    gpu_lanes_get(&l, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 2, "by staging buffers");
    end(&l, h);
}

/* A receive that a kernel has started is freed when its message has come, and before a kernel has
 * waited for it: that finds no buffer any more. */
static void test_freed_early(void)
{
    unsigned char mark = (unsigned char)(MARK + mtest_rank);
    bool is_staged = mtest_gpu_memory() == MTEST_DEVICE && !is_direct;
    MPIX_Device_request h[4];
    static struct gpu_lanes l;

    make(&l, h);
    for (int i = 0; i < 4; i++) {
        MTEST_EQ(start(&h[i]), MPIX_DEVICE_SUCCESS);
    }
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
        while (MPI_Request_free(&l.r[i]) != MPI_SUCCESS) {
            usleep(1000);
        }
    }
    gpu_lanes_mark(&l, mark);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 4; i++) {
        MTEST_EQ(await(&h[i]), is_staged && i < 2 ? MPIXQ_DEVICE_ERR_FREED : MPIX_DEVICE_SUCCESS);
    }
    gpu_lanes_side_finish(&side);
    gpu_lanes_expect_mark(&l, mark);
    end(&l, h);
}

/* A request is started on streams of one GPU. */
static void test_devices(void)
{
    struct gpu_lanes_side other;
    MPIX_Device_request h[4];
    static struct gpu_lanes l;

    if (mtest_gpu_devices() < 2) {
        mtest_skip("there is one GPU");
        return;
    }
    mtest_gpu_set_device((mtest_rank + 1) % mtest_gpu_devices());
    gpu_lanes_side_make(&other);
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    gpu_lanes_make(&l, MTEST_SEND, 2, sizes, peer, TAG, false);
    if (mtest_gpu_memory() == MTEST_DEVICE) {
        refuse(4, l.r, other.queue, "requests[0]");
    }
    MTEST_OK(MPIX_Device_request_create(4, l.r, side.queue, h));
    refuse(4, l.r, other.queue, "another GPU");
    exchange(&l, h);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 1, "beside a queue on another GPU");
    end(&l, h);
    gpu_lanes_side_free(&other);
}

/* Lanes of the next device, with handles for a queue there. */
static void make_far(struct gpu_lanes_side *far, struct gpu_lanes *l, MPIX_Device_request h[])
{
    mtest_gpu_set_device((mtest_rank + 1) % mtest_gpu_devices());
    gpu_lanes_side_make(far);
    gpu_lanes_make(l, MTEST_SEND, 2, sizes, peer, TAG + 10, false);
    MTEST_OK(MPIX_Device_request_create(4, l->r, far->queue, h));
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
}

/* A capture on another queue takes the first request, and is refused for the second one: it is
 * still the queue of the first one's handle that hears of its failures. */
static void test_refused_behind(void)
{
    struct gpu_lanes_side far, other;
    MPIX_Device_request h[4], h_far[4];
    static struct gpu_lanes l, l_far;
    MPI_Request both[2];

    make(&l, h);
    make_far(&far, &l_far, h_far);
    gpu_lanes_side_make(&other);
    both[0] = l.r[0];
    both[1] = l_far.r[0];
    gpu_graph_begin(other.stream, GPU_GRAPH_GLOBAL);
    MTEST_KIND(MPIX_Enqueue_startall(other.queue, 2, both), MPIXQ_ERR_UNSUPPORTED);
    gpu_graph_end_dropped(other.stream);
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPI_Request_free(&l.r[i]));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_EQ(start(&h[0]), MPIXQ_DEVICE_ERR_FREED);
    mtest_gpu_synchronize(side.stream);
    MTEST_KIND(MPIX_Queue_wait(side.queue), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Queue_wait(other.queue));
    gpu_lanes_side_free(&side);
    gpu_lanes_side_make(&side);
    end(&l, h);
    end(&l_far, h_far);
    gpu_lanes_side_free(&other);
    gpu_lanes_side_free(&far);
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "host";
    unsigned *results;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!gpu_lanes_can_run(2)) {
        return mtest_end();
    }
    if (!device_code_open()) {
        mtest_skip("there was no compiler for kernels");
        return mtest_end();
    }
    peer = 1 - mtest_rank;
    results = device_code_results(NULL);
    gpu_lanes_side_make(&side);
    if (strcmp(which, "devices") == 0) {
        test_devices();
        if (mtest_gpu_devices() >= 2 && mtest_gpu_memory() != MTEST_DEVICE) {
            test_refused_behind();
        }
    } else {
        is_direct = strcmp(which, "direct") == 0;
        test_no_elements();
        if (!is_direct) {
            test_staging();
        }
        test_freed_early();
    }
    gpu_lanes_side_free(&side);
    mtest_gpu_free(MTEST_PINNED, results);
    return mtest_end();
}
