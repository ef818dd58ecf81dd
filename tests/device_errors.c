/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Handles for kernels that go wrong: what no handle can be made of, and leaves everything as it
 * was; starts too many, without their peer, of elements that are too few, and after the free; and
 * waits with a time limit. Two ranks, with MTEST_STREAM and MTEST_BUFFER=device.
 *
 *     device_errors            all that
 *     device_errors host       the host moves the data, so that there are no elements
 *     device_errors values     no kernels: MPIXQ_GPU_OPS=values
 *     device_errors watchdog   a start that lacks its peer: MPIXQ_WATCHDOG_ACTION=error
 */
#include <mpix_queue_device.h>

#include <string.h>

#include <unistd.h>

#include "device/device_code.h"
#include "gpu_graph.h"
#include "gpu_lanes.h"
#include "mtest_gpu.h"

enum { TAG = 40, GUARD_BYTES = 64, MARK = 0x3C, THREADS = 64, SHORT_NS = 20000000 };

static const size_t sizes[] = {400, 100000};

static int peer;
static struct gpu_lanes_side side;
static unsigned *results;

static void barrier(void)
{
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

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

/* One step of one handle, which ends; what it returns. */
static unsigned run(enum device_do todo, const MPIX_Device_request *r, MPIXQ_Device_scope scope,
                    unsigned long long limit_ns, void *data)
{
    struct device_step step = {.todo = (unsigned)todo,
                               .count = 1,
                               .scope = (unsigned)scope,
                               .limit_ns = limit_ns,
                               .data = data};

    return device_code_run(side.stream, THREADS, &step, r);
}

static unsigned start(const MPIX_Device_request *r)
{
    return run(DEVICE_START, r, MPIX_DEVICE_BLOCK, 0, NULL);
}

static unsigned await(const MPIX_Device_request *r, unsigned long long limit_ns)
{
    return run(DEVICE_WAIT, r, MPIX_DEVICE_BLOCK, limit_ns, NULL);
}

/* All four are started at both ends, and waited for. */
static void exchange(struct gpu_lanes *l, const MPIX_Device_request handles[])
{
    gpu_lanes_put(l, side.stream);
    for (int i = 0; i < 4; i++) {
        MTEST_EQ(start(&handles[i]), MPIX_DEVICE_SUCCESS);
    }
    for (int i = 0; i < 4; i++) {
        MTEST_EQ(await(&handles[i], MPIX_DEVICE_FOREVER), MPIX_DEVICE_SUCCESS);
    }
    gpu_lanes_get(l, side.stream);
}

/* The queue has failed, and is made anew. */
static void expect_failed(int kind)
{
    mtest_gpu_synchronize(side.stream);
    MTEST_KIND(MPIX_Queue_wait(side.queue), kind);
    gpu_lanes_side_free(&side);
    gpu_lanes_side_make(&side);
}

/* ---- What no handle can be made of ---------------------------------------------------------- */

static MPIX_Device_request made[4];

/* Nothing is written. */
static void refuse(int count, MPI_Request r[], MPIX_Queue queue, int abi, int kind,
                   const char *word)
{
    static const MPIX_Device_request none;

    memset(made, 0, sizeof(made));
    MTEST_KIND_TEXT(MPIXQ_Device_request_create(count, r, queue, made, abi), kind, word);
    for (int i = 0; i < 4; i++) {
        MTEST_EQ(memcmp(&made[i], &none, sizeof(none)), 0);
    }
}

static void test_arguments(void)
{
    MPI_Request none = MPI_REQUEST_NULL, unknown = MPI_REQUEST_NULL;
    static struct gpu_lanes l;
    MPIX_Device_request h;
    int value = 0;

    gpu_lanes_make(&l, MTEST_SEND, 1, sizes, peer, TAG, false);
    refuse(-1, l.r, side.queue, MPIXQ_DEVICE_ABI, MPIXQ_ERR_ARG, "count");
    refuse(1, NULL, side.queue, MPIXQ_DEVICE_ABI, MPIXQ_ERR_ARG, "requests");
    refuse(1, l.r, MPIX_QUEUE_NULL, MPIXQ_DEVICE_ABI, MPIXQ_ERR_ARG, "queue");
    refuse(2, l.r, side.queue, MPIXQ_DEVICE_ABI + 1, MPIXQ_ERR_UNSUPPORTED, "abi");
    refuse(1, &none, side.queue, MPIXQ_DEVICE_ABI, MPIXQ_ERR_REQUEST, "null");
    MTEST_KIND_TEXT(MPIX_Device_request_create(1, l.r, side.queue, NULL), MPIXQ_ERR_ARG, "handles");
    MTEST_OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &unknown));
    refuse(1, &unknown, side.queue, MPIXQ_DEVICE_ABI, MPIXQ_ERR_REQUEST, NULL);
    MTEST_OK(MPI_Wait(&unknown, MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Device_request_create(0, NULL, side.queue, NULL));
    MTEST_OK(MPIX_Device_request_free(0, NULL));
    MTEST_KIND_TEXT(MPIX_Device_request_free(-1, NULL), MPIXQ_ERR_ARG, "count");
    MTEST_KIND_TEXT(MPIX_Device_request_free(1, NULL), MPIXQ_ERR_ARG, "handles");
    MTEST_OK(MPIX_Device_request_create(1, l.r, side.queue, &h));
    made[0] = h;
    MTEST_OK(MPIX_Device_request_free(1, &h));
    MTEST_OK(MPIX_Device_request_free(1, &h)); /* it is zero */
    MTEST_KIND_TEXT(MPIX_Device_request_free(1, made), MPIXQ_ERR_ARG, "handles");
    gpu_lanes_exchange(&l, side.queue, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 1, "after wrong arguments");
    gpu_lanes_free(&l);
}

/* Not matched, active, and twice; with one before that could be. */
static void test_requests(void)
{
    MPI_Request r[2], others[2];
    int out = mtest_rank, in = -1;
    static struct gpu_lanes l;

    gpu_lanes_make(&l, MTEST_SEND, 1, sizes, peer, TAG, false);
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, peer, TAG + 9, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, peer, TAG + 9, MPI_COMM_WORLD, &r[1]));
    others[0] = l.r[0];
    others[1] = r[0];
    refuse(2, others, side.queue, MPIXQ_DEVICE_ABI, MPIXQ_ERR_STATE, "requests[1]");
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPIX_Device_request_create(2, others, side.queue, made)); /* by whatever channel */
    MTEST_OK(MPIX_Device_request_free(2, made));
    others[1] = l.r[0];
    refuse(2, others, side.queue, MPIXQ_DEVICE_ABI, MPIXQ_ERR_STATE, "twice");
    MTEST_OK(MPIX_Enqueue_startall(side.queue, 2, l.r));
    refuse(1, l.r, side.queue, MPIXQ_DEVICE_ABI, MPIXQ_ERR_STATE, NULL);
    MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2, l.r));
    gpu_lanes_side_finish(&side);
    barrier();
    if (gpu_lanes_host_starts()) {
        MTEST_OK(MPI_Startall(2, l.r));
        refuse(1, l.r, side.queue, MPIXQ_DEVICE_ABI, MPIXQ_ERR_STATE, NULL);
        MTEST_OK(MPI_Waitall(2, l.r, MPI_STATUSES_IGNORE));
    }
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    gpu_lanes_exchange(&l, side.queue, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 1, "after wrong requests");
    gpu_lanes_free(&l);
}

static void test_host_stream(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    static struct gpu_lanes l;

    gpu_lanes_make(&l, MTEST_SEND, 1, sizes, peer, TAG, false);
    MTEST_OK(PMPIXQ_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    refuse(1, l.r, queue, MPIXQ_DEVICE_ABI, MPIXQ_ERR_UNSUPPORTED, "queue");
    MTEST_OK(MPIX_Queue_free(&queue));
    gpu_lanes_free(&l);
}

/* ---- What goes wrong in a kernel ------------------------------------------------------------ */

/* Of a request that a kernel has started: neither it nor the handle can be freed, and a second
 * start fails, and so the queue. */
static void test_twice(void)
{
    MPIX_Device_request h[4];
    static struct gpu_lanes l;

    make(&l, h);
    MTEST_EQ(start(&h[0]), MPIX_DEVICE_SUCCESS);
    usleep(30000); /* the progress thread has seen it */
    MTEST_KIND(MPIX_Device_request_free(4, h), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Request_free(&l.r[0]), MPIXQ_ERR_STATE);
    MTEST_EQ(start(&h[0]), MPIXQ_DEVICE_ERR_ACTIVE);
    MTEST_EQ(run(DEVICE_GET, &h[0], MPIX_DEVICE_BLOCK, SHORT_NS, NULL), MPIXQ_DEVICE_ERR_ACTIVE);
    expect_failed(MPIXQ_ERR_STATE);
    barrier();
    MTEST_OK(MPIX_Device_request_free(4, h));
    gpu_lanes_free(&l);
}

/* Too little time: what was started is under way still. */
static void test_limits(void)
{
    MPIX_Device_request h[4];
    static struct gpu_lanes l;

    make(&l, h);
    for (int i = 0; i < 4; i++) {
        MTEST_EQ(await(&h[i], MPIX_DEVICE_FOREVER), MPIX_DEVICE_SUCCESS); /* for nothing */
    }
    gpu_lanes_put(&l, side.stream);
    MTEST_EQ(start(&h[0]), MPIX_DEVICE_SUCCESS);
    MTEST_EQ(start(&h[1]), MPIX_DEVICE_SUCCESS);
    for (int i = 0; i < 2; i++) {
        MTEST_EQ(await(&h[i], SHORT_NS), MPIXQ_DEVICE_ERR_TIMEOUT);
        MTEST_EQ(await(&h[i], 0), MPIXQ_DEVICE_ERR_TIMEOUT);
    }
    barrier();
    for (int i = 2; i < 4; i++) {
        MTEST_EQ(start(&h[i]), MPIX_DEVICE_SUCCESS);
    }
    for (int i = 0; i < 4; i++) {
        MTEST_EQ(await(&h[i], MPIX_DEVICE_FOREVER), MPIX_DEVICE_SUCCESS);
    }
    gpu_lanes_get(&l, side.stream);
    exchange(&l, h);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 2, "after time limits");
    end(&l, h);
}

/* A put without credit, and a get without its message, likewise; the same start is begun again. */
static void test_limits_of_elements(void)
{
    bool sends = mtest_rank == 0;
    MPIX_Device_request h[4];
    static struct gpu_lanes l;
    void *in, *out;

    make(&l, h);
    in = l.lane[0].in + GUARD_BYTES;
    out = l.lane[0].out + GUARD_BYTES;
    gpu_lanes_put(&l, side.stream);
    MTEST_EQ(run(DEVICE_GET, &h[0], MPIX_DEVICE_BLOCK, SHORT_NS, in), MPIXQ_DEVICE_ERR_TIMEOUT);
    MTEST_EQ(run(DEVICE_GET_RANGES, &h[0], MPIX_DEVICE_BLOCK, SHORT_NS, in),
             MPIXQ_DEVICE_ERR_TIMEOUT);
    barrier();
    /* Three slots, of which the receive whose get was begun has posted one. */
    for (unsigned i = 0; i < 3; i++) {
        MTEST_EQ(run(DEVICE_PUT, &h[2], MPIX_DEVICE_BLOCK, SHORT_NS, out), MPIX_DEVICE_SUCCESS);
    }
    MTEST_EQ(run(DEVICE_PUT, &h[2], MPIX_DEVICE_BLOCK, SHORT_NS, out), MPIXQ_DEVICE_ERR_TIMEOUT);
    MTEST_EQ(run(DEVICE_PUT_RANGES, &h[2], MPIX_DEVICE_WARP, SHORT_NS, out),
             MPIXQ_DEVICE_ERR_TIMEOUT);
    barrier();
    for (unsigned i = 0; i < 4; i++) {
        if (sends && i == 2) { /* the peer has got two by now, or is about to */
            MTEST_EQ(run(DEVICE_PUT, &h[2], MPIX_DEVICE_BLOCK, MPIX_DEVICE_FOREVER, out), 0);
        } else if (!sends && i == 3) {
            MTEST_EQ(run(DEVICE_PUT, &h[2], MPIX_DEVICE_BLOCK, MPIX_DEVICE_FOREVER, out), 0);
        }
        MTEST_EQ(run(i % 2 == 0 ? DEVICE_GET : DEVICE_GET_RANGES, &h[0], MPIX_DEVICE_BLOCK,
                     MPIX_DEVICE_FOREVER, in),
                 0);
    }
    MTEST_EQ(start(&h[1]), MPIX_DEVICE_SUCCESS);
    MTEST_EQ(start(&h[3]), MPIX_DEVICE_SUCCESS);
    MTEST_EQ(await(&h[1], MPIX_DEVICE_FOREVER), MPIX_DEVICE_SUCCESS);
    MTEST_EQ(await(&h[3], MPIX_DEVICE_FOREVER), MPIX_DEVICE_SUCCESS);
    gpu_lanes_get(&l, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 1, "elements after time limits");
    end(&l, h);
}

static void test_wrong_elements(bool by_ranges)
{
    MPIX_Device_request h[4];
    static struct gpu_lanes l;

    make(&l, h);
    gpu_lanes_put(&l, side.stream);
    /* Too few, and then all of them. */
    (void)run(by_ranges ? DEVICE_WRONG_RANGES : DEVICE_PUT_FEW, &h[2], MPIX_DEVICE_BLOCK,
              MPIX_DEVICE_FOREVER, l.lane[0].out + GUARD_BYTES);
    MTEST_EQ(results[0], by_ranges ? MPIX_DEVICE_SUCCESS : MPIXQ_DEVICE_ERR_COUNT);
    MTEST_EQ(results[1], MPIX_DEVICE_SUCCESS);
    /* No slots; a receive; and more than a thread may move. */
    MTEST_EQ(run(DEVICE_PUT, &h[3], MPIX_DEVICE_BLOCK, 0, l.lane[1].out + GUARD_BYTES),
             MPIXQ_DEVICE_ERR_ARG);
    MTEST_EQ(run(DEVICE_DIRECT, &h[0], MPIX_DEVICE_BLOCK, 0, l.lane[0].in + GUARD_BYTES),
             MPIXQ_DEVICE_ERR_ARG);
    MTEST_EQ(run(DEVICE_START, &h[3], MPIX_DEVICE_THREAD, 0, NULL), MPIXQ_DEVICE_ERR_ARG);
    MTEST_EQ(start(&h[3]), MPIX_DEVICE_SUCCESS);
    MTEST_EQ(start(&h[0]), MPIX_DEVICE_SUCCESS);
    MTEST_EQ(start(&h[1]), MPIX_DEVICE_SUCCESS);
    for (int i = 0; i < 4; i++) {
        MTEST_EQ(await(&h[i], MPIX_DEVICE_FOREVER), MPIX_DEVICE_SUCCESS);
    }
    gpu_lanes_get(&l, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 1, "after wrong elements");
    end(&l, h);
}

/* The requests are freed, at one end or at both, and their memory holds something else. */
static void test_freed(bool both)
{
    bool frees = both || mtest_rank == 0;
    MPIX_Device_request h[4];
    static struct gpu_lanes l;

    make(&l, h);
    exchange(&l, h);
    gpu_lanes_side_finish(&side);
    for (int i = 0; i < 4 && frees; i++) {
        MTEST_OK(MPI_Request_free(&l.r[i]));
    }
    gpu_lanes_mark(&l, (unsigned char)(MARK + mtest_rank));
    barrier();
    if (frees) {
        for (int i = 0; i < 4; i++) {
            MTEST_EQ(start(&h[i]), MPIXQ_DEVICE_ERR_FREED);
            MTEST_EQ(await(&h[i], MPIX_DEVICE_FOREVER), MPIX_DEVICE_SUCCESS);
        }
        expect_failed(MPIXQ_ERR_STATE);
    }
    barrier();
    gpu_lanes_expect_mark(&l, (unsigned char)(MARK + mtest_rank));
    end(&l, h);
}

/* Handles of a request that outlive each other, and the queue. */
static void test_several(void)
{
    MPIX_Device_request h[4], again[4];
    static struct gpu_lanes l;

    make(&l, h);
    MTEST_OK(MPIX_Device_request_create(4, l.r, side.queue, again));
    exchange(&l, h);
    exchange(&l, again);
    gpu_lanes_side_finish(&side);
    MTEST_OK(MPIX_Device_request_free(4, h));
    MTEST_OK(MPIX_Queue_free(&side.queue));
    exchange(&l, again);
    mtest_gpu_synchronize(side.stream);
    MTEST_OK(mtest_gpu_queue(&side.queue, MPIX_QUEUE_AUTO, &side.stream));
    gpu_lanes_exchange(&l, side.queue, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 4, "several handles");
    end(&l, again);
}

/* ---- Other runs ----------------------------------------------------------------------------- */

/* Nobody starts the other end: the wait ends with an error, also that of a put without credit. */
static void test_watchdog(void)
{
    MPIX_Device_request h[4];
    static struct gpu_lanes l;
    unsigned code = MPIX_DEVICE_SUCCESS;
    bool has_elements;

    make(&l, h);
    has_elements = MPIX_Device_has_elements(&h[2]);
    MTEST_EQ(start(&h[0]), MPIX_DEVICE_SUCCESS);
    MTEST_EQ(start(&h[1]), MPIX_DEVICE_SUCCESS);
    MTEST_EQ(await(&h[0], MPIX_DEVICE_FOREVER), MPIXQ_DEVICE_ERR_FAILED);
    MTEST_EQ(await(&h[1], MPIX_DEVICE_FOREVER), MPIXQ_DEVICE_ERR_FAILED);
    expect_failed(MPIXQ_ERR_TIMEOUT);
    barrier();
    MTEST_OK(MPIX_Device_request_free(4, h));
    gpu_lanes_free(&l);

    if (!has_elements) {
        return;
    }
    make(&l, h);
    for (int i = 0; i < 4 && code == MPIX_DEVICE_SUCCESS; i++) {
        code = run(DEVICE_PUT, &h[2], MPIX_DEVICE_BLOCK, MPIX_DEVICE_FOREVER,
                   l.lane[0].out + GUARD_BYTES);
    }
    MTEST_EQ(code, MPIXQ_DEVICE_ERR_FAILED);
    expect_failed(MPIXQ_ERR_TIMEOUT);
    barrier();
    MTEST_OK(MPIX_Device_request_free(4, h));
    gpu_lanes_free(&l);
}

static void test_values(void)
{
    static struct gpu_lanes l;

    gpu_lanes_make(&l, MTEST_SEND, 1, sizes, peer, TAG, false);
    refuse(1, l.r, side.queue, MPIXQ_DEVICE_ABI, MPIXQ_ERR_UNSUPPORTED, "values");
    gpu_lanes_exchange(&l, side.queue, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&l, 1, "after what was refused");
    gpu_lanes_free(&l);
}

static void test_all(bool by_host)
{
    test_arguments();
    test_requests();
    test_host_stream();
    test_twice();
    test_limits();
    if (!by_host) {
        test_limits_of_elements();
        test_wrong_elements(false);
        test_wrong_elements(true);
    }
    test_freed(true);
    test_freed(false);
    test_several();
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "all";

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
    if (strcmp(which, "values") == 0) {
        test_values();
    } else if (strcmp(which, "watchdog") == 0) {
        test_watchdog();
    } else {
        test_all(strcmp(which, "host") == 0);
    }
    gpu_lanes_side_free(&side);
    mtest_gpu_free(MTEST_PINNED, results);
    return mtest_end();
}
