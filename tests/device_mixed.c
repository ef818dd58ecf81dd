/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Requests that kernels of the program start: whole messages by a thread, a warp or a block, one
 * by one or several together; element by element and by ranges of elements; straight to the buffer
 * of the peer; and by queues, graphs and the host besides, in any order and independently at the
 * two ends. Messages that a kernel passes on as they come, and many exchanges in one kernel. Two
 * ranks, or one that sends to itself, with MTEST_STREAM. Where the host moves the data
 * (MPIXQ_CHANNELS=fallback) there are whole messages alone, and the buffers may be in any memory
 * (MTEST_BUFFER); else it is device.
 *
 *     device_mixed [ROUNDS [SEED]]   so many exchanges in random order (150); less: and fewer sizes
 */
#include <mpix_queue_device.h>

#include <stdlib.h>
#include <string.h>

#include "device/device_code.h"
#include "gpu_graph.h"
#include "gpu_lanes.h"
#include "mtest_gpu.h"

enum { TAG = 40, ROUNDS = 150, SEED = 1, GUARD_BYTES = 64, LOOPS = 1000, MOST = 4 };
enum { THREADS = 256, WARP_OR_MORE = 128 };

enum way {
    QUEUE,
    REPLAY,
    BY_HOST,
    BY_BLOCK,
    BY_WARP,
    BY_THREAD,
    ALL,
    ALL_BY_WARP,
    ANY,
    TESTED,
    QUEUE_THEN_KERNEL,
    KERNEL_THEN_GRAPH,
    ELEMENTS,
    ELEMENTS_BY_BLOCKS,
    PUT_ONLY,
    GET_ONLY,
    RANGES,
    RANGES_BY_BLOCKS,
    STORES,
    WAYS
};

static int peer;
static struct gpu_lanes_side side;
static unsigned *results, *seen; /* of the steps */

/* Lanes, what was captured of them, and their handles. */
struct started {
    struct gpu_lanes l;
    void *all, *wait;
    MPIX_Device_request handle[2 * MOST];
    const MPIX_Device_request *receives, *sends;
};

static void *capture(struct gpu_lanes *l, bool starts)
{
    gpu_graph_begin(side.stream, GPU_GRAPH_THREAD_LOCAL);
    if (starts) {
        gpu_lanes_exchange(l, side.queue, side.stream);
    } else {
        MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2 * l->n, l->r));
        gpu_lanes_get(l, side.stream);
    }
    return gpu_graph_end_executable(side.stream);
}

static void make(struct started *s, enum mtest_mode mode, int n, const size_t bytes[], int before)
{
    gpu_lanes_make(&s->l, mode, n, bytes, peer, TAG, mtest_rank == 0);
    for (int i = 0; i < before; i++) { /* starts that the GPU does not count */
        gpu_lanes_exchange(&s->l, side.queue, side.stream);
    }
    MTEST_OK(MPIX_Device_request_create(2 * n, s->l.r, side.queue, s->handle));
    s->receives = s->handle + (s->l.receives - s->l.r);
    s->sends = s->handle + (s->l.sends - s->l.r);
    s->all = capture(&s->l, true);
    s->wait = capture(&s->l, false);
}

static void end(struct started *s, long exchanges, const char *what)
{
    gpu_lanes_side_finish(&side);
    gpu_lanes_check(&s->l, exchanges, what);
    for (int i = 0; i < DEVICE_STEPS; i++) {
        MTEST_EQ(results[i], 0);
        results[i] = 0;
    }
    gpu_graph_free_executable(s->all);
    gpu_graph_free_executable(s->wait);
    MTEST_OK(MPIX_Device_request_free(2 * s->l.n, s->handle));
    MTEST_EQ(s->handle[0].abi, 0);
    gpu_lanes_free(&s->l);
}

/* ---- Scripts -------------------------------------------------------------------------------- */

static void add(struct device_script *script, enum device_do todo, const MPIX_Device_request *first,
                int count, MPIXQ_Device_scope scope, void *data)
{
    unsigned i = script->n++;

    script->step[i] = (struct device_step){.todo = (unsigned)todo,
                                           .first = script->n_handles,
                                           .count = (unsigned)count,
                                           .scope = (unsigned)scope,
                                           .limit_ns = MPIX_DEVICE_FOREVER,
                                           .data = data,
                                           .result = &seen[i]};
    for (int k = 0; k < count; k++) {
        script->handle[script->n_handles++] = first[k];
    }
}

static void run(const struct device_script *script, unsigned blocks)
{
    device_code_launch(side.stream, blocks, blocks > 1 ? THREADS : WARP_OR_MORE, script);
}

/* Each by itself, in one kernel, waited for in the other order. */
static void run_each(struct started *s, MPIXQ_Device_scope scope, enum device_do wait)
{
    for (int i = 0; i < 2 * s->l.n; i++) {
        struct device_script script = {0};

        add(&script, DEVICE_START, &s->handle[i], 1, scope, NULL);
        run(&script, 1);
    }
    for (int i = 2 * s->l.n - 1; i >= 0; i--) {
        struct device_script script = {0};

        add(&script, wait, &s->handle[i], 1, scope, NULL);
        run(&script, 1);
    }
}

static void run_all(struct started *s, MPIXQ_Device_scope scope, enum device_do wait)
{
    struct device_script script = {0};

    add(&script, DEVICE_STARTALL, s->handle, 2 * s->l.n, scope, NULL);
    script.n_handles = 0; /* the same again */
    add(&script, wait, s->handle, 2 * s->l.n, scope, NULL);
    run(&script, 1);
}

static void *data_of(unsigned char *guarded)
{
    return guarded + GUARD_BYTES;
}

/* Receives as elements or as messages, and sends likewise. */
static void run_elements(struct started *s, unsigned blocks, enum device_do send,
                         enum device_do receive)
{
    MPIXQ_Device_scope scope = blocks > 1 ? MPIX_DEVICE_WARP : MPIX_DEVICE_BLOCK;
    struct device_script script = {0};

    if (receive == DEVICE_WAIT) {
        add(&script, DEVICE_STARTALL, s->receives, s->l.n, MPIX_DEVICE_BLOCK, NULL);
    }
    for (int i = 0; i < s->l.n && send != DEVICE_START; i++) {
        add(&script, send, &s->sends[i], 1, scope, data_of(s->l.lane[i].out));
    }
    if (send == DEVICE_START) {
        add(&script, DEVICE_STARTALL, s->sends, s->l.n, MPIX_DEVICE_BLOCK, NULL);
    }
    for (int i = 0; i < s->l.n && receive != DEVICE_WAIT; i++) {
        add(&script, receive, &s->receives[i], 1, scope, data_of(s->l.lane[i].in));
    }
    run(&script, blocks);
    script = (struct device_script){0};
    if (receive == DEVICE_WAIT) {
        add(&script, DEVICE_WAITALL, s->receives, s->l.n, MPIX_DEVICE_BLOCK, NULL);
    }
    if (send == DEVICE_START) {
        add(&script, DEVICE_WAITALL, s->sends, s->l.n, MPIX_DEVICE_WARP, NULL);
    }
    run(&script, 1);
}

/* ---- Exchanges ------------------------------------------------------------------------------ */

static bool has_elements(const struct started *s)
{
    for (int i = 0; i < s->l.n; i++) {
        if (!MPIX_Device_has_elements(&s->sends[i]) || !MPIX_Device_has_elements(&s->receives[i])) {
            return false;
        }
    }
    return true;
}

/* What cannot be done by all lanes is done by a block. */
static enum way possible(const struct started *s, enum way way)
{
    for (int i = 0; i < s->l.n; i++) {
        if ((way == STORES && (s->l.lane[i].bytes == 0 || s->l.lane[i].bytes % 4 != 0 ||
                               MPIX_Device_buffer(&s->sends[i]) == NULL)) ||
            (way == BY_THREAD && s->l.lane[i].bytes > MPIXQ_DEVICE_THREAD_BYTES)) {
            return BY_BLOCK;
        }
    }
    return way >= ELEMENTS && way != STORES && !has_elements(s) ? BY_BLOCK : way;
}

static void run_way(struct started *s, enum way way)
{
    switch (way) {
    case BY_WARP:
        run_each(s, MPIX_DEVICE_WARP, DEVICE_WAIT);
        break;
    case BY_THREAD:
        run_each(s, MPIX_DEVICE_THREAD, DEVICE_WAIT);
        break;
    case TESTED:
        run_each(s, MPIX_DEVICE_BLOCK, DEVICE_TEST);
        break;
    case ALL:
        run_all(s, MPIX_DEVICE_BLOCK, DEVICE_WAITALL);
        break;
    case ALL_BY_WARP:
        run_all(s, MPIX_DEVICE_WARP, DEVICE_WAITALL);
        break;
    case ANY:
        run_all(s, MPIX_DEVICE_BLOCK, DEVICE_WAITANY);
        break;
    case ELEMENTS:
        run_elements(s, 1, DEVICE_PUT, DEVICE_GET);
        break;
    case ELEMENTS_BY_BLOCKS:
        run_elements(s, 3, DEVICE_PUT, DEVICE_GET);
        break;
    case PUT_ONLY:
        run_elements(s, 2, DEVICE_PUT, DEVICE_WAIT);
        break;
    case GET_ONLY:
        run_elements(s, 1, DEVICE_START, DEVICE_GET);
        break;
    case RANGES:
        run_elements(s, 1, DEVICE_PUT_RANGES, DEVICE_GET_RANGES);
        break;
    case RANGES_BY_BLOCKS:
        run_elements(s, 3, DEVICE_PUT_RANGES, DEVICE_GET_RANGES);
        break;
    case STORES:
        run_elements(s, 2, DEVICE_DIRECT, DEVICE_WAIT);
        break;
    default:
        run_each(s, MPIX_DEVICE_BLOCK, DEVICE_WAIT);
    }
}

static void exchange(struct started *s, enum way wanted)
{
    enum way way = possible(s, wanted);
    struct device_script script = {0};

    if (way == QUEUE) {
        gpu_lanes_exchange(&s->l, side.queue, side.stream);
        return;
    }
    if (way == REPLAY) {
        gpu_graph_launch(s->all, side.stream);
        return;
    }
    if (way == BY_HOST) {
        gpu_lanes_side_finish(&side);
        gpu_lanes_exchange_by_host(&s->l);
        return;
    }
    gpu_lanes_put(&s->l, side.stream);
    if (way == QUEUE_THEN_KERNEL) {
        MTEST_OK(MPIX_Enqueue_startall(side.queue, 2 * s->l.n, s->l.r));
        add(&script, DEVICE_WAITALL, s->handle, 2 * s->l.n, MPIX_DEVICE_BLOCK, NULL);
        run(&script, 1);
        MTEST_OK(MPIX_Enqueue_waitall(side.queue, 2 * s->l.n, s->l.r)); /* finds nothing */
    } else if (way == KERNEL_THEN_GRAPH) {
        add(&script, DEVICE_STARTALL, s->handle, 2 * s->l.n, MPIX_DEVICE_BLOCK, NULL);
        run(&script, 1);
        gpu_graph_launch(s->wait, side.stream);
        return; /* it looks at the data */
    } else {
        run_way(s, way);
    }
    gpu_lanes_get(&s->l, side.stream);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void test_each_with_each(const size_t *bytes, int before)
{
    static struct started s;
    long exchanges = before;

    make(&s, MTEST_SEND, 1, bytes, before);
    for (int mine = 0; mine < WAYS; mine++) {
        for (int other = 0; other < WAYS; other++, exchanges++) {
            exchange(&s, (enum way)(mtest_rank == 0 ? mine : other));
        }
    }
    end(&s, exchanges, "each way with each");
}

static void test_modes(enum mtest_mode mode, const size_t *bytes)
{
    static struct started s;
    int exchanges = 0;

    make(&s, mode, 1, bytes, 0);
    for (int way = BY_BLOCK; way < WAYS; way++) {
        if (way != STORES || mode != MTEST_RSEND) {
            exchange(&s, (enum way)way);
            exchange(&s, (enum way)way);
            exchanges += 2;
        }
    }
    end(&s, exchanges, mtest_mode_name(mode));
}

/* Receives by a kernel and sends by a queue or the host, and the other way round. */
static void test_halves(int n, const size_t bytes[])
{
    static struct started s;
    int exchanges = 0;

    make(&s, MTEST_SEND, n, bytes, 0);
    for (int i = 0; i < 8; i++, exchanges++) {
        bool by_host = i % 4 >= 2 && gpu_lanes_host_starts();
        MPI_Request *others = i % 2 == 0 ? s.l.sends : s.l.receives;
        struct device_script script = {0};

        add(&script, DEVICE_STARTALL, i % 2 == 0 ? s.receives : s.sends, n, MPIX_DEVICE_BLOCK,
            NULL);
        script.n_handles = 0; /* the same again */
        add(&script, DEVICE_WAITALL, i % 2 == 0 ? s.receives : s.sends, n, MPIX_DEVICE_BLOCK, NULL);
        gpu_lanes_put(&s.l, side.stream);
        if (by_host) {
            gpu_lanes_side_finish(&side);
            MTEST_OK(MPI_Startall(n, others));
            run(&script, 1);
            MTEST_OK(MPI_Waitall(n, others, MPI_STATUSES_IGNORE));
        } else {
            MTEST_OK(MPIX_Enqueue_startall(side.queue, n, others));
            run(&script, 1);
            MTEST_OK(MPIX_Enqueue_waitall(side.queue, n, others));
        }
        gpu_lanes_get(&s.l, side.stream);
    }
    end(&s, exchanges, "half by kernels");
}

/* To nobody: nothing has to be waited for, and nothing is touched. */
static void test_null(void)
{
    unsigned char *buffer = mtest_gpu_alloc(mtest_gpu_memory(), GUARD_BYTES);
    struct device_script script = {0};
    MPIX_Device_request h[2];
    MPI_Request r[2];

    MTEST_OK(mtest_init_raw(MTEST_RECV, buffer, GUARD_BYTES, MPI_BYTE, MPI_PROC_NULL, TAG,
                            MPI_COMM_WORLD, &r[0]));
    MTEST_OK(mtest_init_raw(MTEST_SEND, buffer, GUARD_BYTES, MPI_BYTE, MPI_PROC_NULL, TAG,
                            MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPIX_Device_request_create(2, r, side.queue, h));
    MTEST_EQ(MPIX_Device_has_elements(&h[1]), 0);
    add(&script, DEVICE_STARTALL, h, 2, MPIX_DEVICE_BLOCK, NULL);
    add(&script, DEVICE_START, h, 1, MPIX_DEVICE_WARP, NULL); /* it is complete */
    add(&script, DEVICE_WAITANY, h, 2, MPIX_DEVICE_BLOCK, NULL);
    add(&script, DEVICE_TEST, h, 1, MPIX_DEVICE_THREAD, NULL);
    add(&script, DEVICE_WAITALL, h, 2, MPIX_DEVICE_BLOCK, NULL);
    add(&script, DEVICE_PUT, &h[1], 1, MPIX_DEVICE_BLOCK, NULL);
    run(&script, 1);
    gpu_lanes_side_finish(&side);
    for (int i = 0; i < 5; i++) {
        MTEST_EQ(results[i], MPIX_DEVICE_SUCCESS);
    }
    MTEST_EQ(results[5], MPIXQ_DEVICE_ERR_ARG);
    results[5] = 0;
    MTEST_OK(MPIX_Device_request_free(2, h));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    mtest_gpu_free(mtest_gpu_memory(), buffer);
}

/* Each rank chooses by itself. */
static void test_random(int rounds, unsigned long long seed, int n, const size_t bytes[])
{
    static struct started s;
    unsigned long long state = seed * 2 + (unsigned long long)mtest_rank;

    make(&s, MTEST_SEND, n, bytes, 1);
    for (int i = 0; i < rounds; i++) {
        exchange(&s, (enum way)(mtest_random(&state) % WAYS));
        if (mtest_random(&state) % 8 == 0) {
            gpu_lanes_side_finish(&side);
        }
    }
    end(&s, rounds + 1, "in any order");
}

/* Rank 0 sends and gets back what rank 1 passes on, element by element, in one kernel each. */
static void test_forward(size_t bytes, int times)
{
    static struct started s;

    make(&s, MTEST_SEND, 1, &bytes, 0);
    times = has_elements(&s) ? times : 0;
    for (int i = 0; i < times; i++) {
        struct device_script script = {0};

        if (mtest_rank == 0) {
            add(&script, DEVICE_PUT, s.sends, 1, MPIX_DEVICE_BLOCK, data_of(s.l.lane[0].out));
            add(&script, DEVICE_GET, s.receives, 1, MPIX_DEVICE_BLOCK, data_of(s.l.lane[0].in));
        } else {
            MPIX_Device_request both[2] = {s.receives[0], s.sends[0]};

            add(&script, DEVICE_FORWARD, both, 2, MPIX_DEVICE_BLOCK, data_of(s.l.lane[0].in));
        }
        gpu_lanes_put(&s.l, side.stream);
        run(&script, 1);
        if (mtest_rank == 1) {
            gpu_lanes_get(&s.l, side.stream);
            continue;
        }
        /* It has its own data back. */
        mtest_gpu_copy(side.stream, s.l.lane[0].sink, s.l.lane[0].in, bytes + GUARD_BYTES);
        gpu_lanes_side_finish(&side);
        MTEST_EQ(memcmp(data_of(s.l.lane[0].sink), data_of(s.l.lane[0].source), bytes), 0);
        s.l.seen++;
    }
    end(&s, times, "passed on");
}

/* Many exchanges in one kernel, by a block, a warp and a thread. */
static void test_rounds(enum device_do todo, size_t bytes, int rounds)
{
    static const MPIXQ_Device_scope scopes[] = {MPIX_DEVICE_BLOCK, MPIX_DEVICE_WARP,
                                                MPIX_DEVICE_THREAD};
    static struct started s;

    make(&s, MTEST_SEND, 1, &bytes, 0);
    for (size_t i = 0; has_elements(&s) && i < sizeof(scopes) / sizeof(scopes[0]); i++) {
        MPIX_Device_request both[2] = {s.sends[0], s.receives[0]};
        struct device_script script = {0};

        add(&script, todo, both, 2, scopes[i], NULL);
        script.step[0].count = (unsigned)rounds;
        run(&script, 1);
        gpu_lanes_side_finish(&side);
        MTEST_EQ(results[0], 0);
    }
    gpu_lanes_exchange(&s.l, side.queue, side.stream);
    end(&s, 1, "after many rounds in a kernel");
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {100, 300 * 1024, 8192, 0, 4, 9000};
    static const size_t some[] = {64, 8192, 1000, 4}, others[] = {64, 0, 8193, 70000};
    int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS, n = rounds < ROUNDS ? 2 : 6;
    unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 10) : SEED;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!gpu_lanes_can_run(mtest_size == 1 ? 1 : 2)) {
        return mtest_end();
    }
    if (!device_code_open()) {
        mtest_skip("there was no compiler for kernels");
        return mtest_end();
    }
    peer = mtest_size - 1 - mtest_rank;
    results = device_code_results(&seen);
    gpu_lanes_side_make(&side);
    for (int i = 0; i < n; i++) {
        test_each_with_each(&sizes[i], i % 3);
    }
    test_modes(MTEST_SSEND, &sizes[0]);
    test_modes(MTEST_SSEND, &sizes[1]);
    test_halves(4, some);
    test_halves(2, &sizes[1]);
    test_null();
    test_forward(8192, 5);
    test_forward(16, 20);
    test_rounds(DEVICE_ROUNDS, 64, rounds < ROUNDS ? 100 : LOOPS);
    test_rounds(DEVICE_ROUNDS, 8192, rounds < ROUNDS ? 10 : LOOPS);
    test_rounds(DEVICE_RANGE_ROUNDS, 20, rounds < ROUNDS ? 100 : LOOPS);
    test_rounds(DEVICE_RANGE_ROUNDS, 8192, rounds < ROUNDS ? 10 : LOOPS);
    test_random(rounds, seed, 1, sizes);
    test_random(rounds, seed + 1, 4, some);
    test_random(rounds, seed + 2, 4, others);
    gpu_lanes_side_free(&side);
    mtest_gpu_free(MTEST_PINNED, results);
    return mtest_end();
}
