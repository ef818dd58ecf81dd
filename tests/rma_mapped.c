/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Windows in memory of GPUs, put to and read from by the host: random puts, gets and plans with
 * signals at both ends, against a model; events that come early, late or too often; blocks that are
 * stale or lie outside; and what cannot be. With MTEST_STREAM, and MTEST_BUFFER=device, pool or
 * chunk. Arguments: rounds, puts and gets in each, first seed.
 *
 *     rma_mapped refused    the GPUs do not reach each other, or are not to
 *     rma_mapped allocated  the memory is the library's
 *
 * With nics as the last argument GPUs do not reach each other, and NICs put and get.
 */
#define RMA_AREA (2 << 20)
#include "rma_random.h"

#include <mpix_queue_device_rma.h>

#include <stdio.h>
#include <stdlib.h>

#include "mtest_gpu.h"
#include "rma_forge.h"

enum { MAPPED_SIGNALS = 1024, NIC_SIGNALS = 512 };

static bool by_nics;

static unsigned char *there; /* the window */

static void *alloc(size_t bytes)
{
    const char *kind = getenv("MTEST_BUFFER");
    void *special = kind != NULL ? mtest_gpu_special_alloc(kind, bytes) : NULL;

    return special != NULL ? special : mtest_gpu_alloc(MTEST_DEVICE, bytes);
}

static void release(void *block)
{
    if (!mtest_gpu_special_free(block)) {
        mtest_gpu_free(MTEST_DEVICE, block);
    }
}

static void fetch(void)
{
    mtest_gpu_copy_now(memory, there, 2 * (size_t)AREA);
}

static size_t random_bytes(unsigned long long *seed)
{
    static const size_t sizes[] = {0, 1, 8, 100, 4096, 16384, 16385, 65536, 300001};

    return sizes[mtest_random(seed) % (sizeof sizes / sizeof sizes[0])];
}

static void run_round(int n, unsigned long long seed)
{
    MPIX_Plan plan = MPIX_PLAN_NULL;

    choose(n, BY_PLAN + 1, &seed);
    memset(memory + AREA, GUARD, AREA);
    mtest_gpu_copy_now(there + AREA, memory + AREA, AREA);
    make_signal(count_events(n, 0), &local_signal);
    make_signal(count_events(n, 1), &remote_signal);
    exchange_blocks(n);
    start(n, MPIX_QUEUE_NULL, 0, &plan);
    wait_for(remote_signal, MPIX_QUEUE_NULL);
    check_told(n, 0);
    wait_for(local_signal, MPIX_QUEUE_NULL);
    check_told(n, 1);
    end_round(n, &plan);
}

/* ---- What goes wrong ------------------------------------------------------------------------ */

static MPIX_Blk of_next(const MPIX_Blk *mine)
{
    int next = (mtest_rank + 1) % mtest_size, before = (mtest_rank + mtest_size - 1) % mtest_size;
    MPIX_Blk theirs;

    MPI_Sendrecv(mine, sizeof *mine, MPI_BYTE, before, 1, &theirs, sizeof theirs, MPI_BYTE, next, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return theirs;
}

/* Two events at each, of which the second comes late, and then one too many. */
static void test_counts(void)
{
    MPIX_Blk mine, theirs, source;
    MPIX_Signal signal;
    int flag = 1;

    MTEST_OK(MPIX_Signal_init(window, 2, &signal));
    MTEST_OK(MPIX_Blk_init(window, AREA, 64, signal, &mine));
    MTEST_OK(MPIX_Blk_init(window, 0, 64, MPIX_SIGNAL_NULL, &source));
    theirs = of_next(&mine);
    MTEST_OK(MPIX_Put(&source, &theirs));
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Signal_test(signal, &flag));
    MTEST_EQ(flag, 0);
    MTEST_KIND_TEXT(MPIX_Signal_reset(signal), MPIXQ_ERR_STATE, "1 of 2 events outstanding");
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Put(&source, &theirs));
    MTEST_OK(MPIX_Signal_wait(signal));
    MTEST_OK(MPIX_Signal_reset(signal));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        MTEST_OK(MPIX_Put(&source, &theirs));
    }
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_KIND_TEXT(MPIX_Signal_test(signal, &flag), MPIXQ_ERR_STATE, "1 events too many");
    MTEST_KIND_TEXT(MPIX_Signal_wait(signal), MPIXQ_ERR_STATE, "too many");
    MTEST_KIND_TEXT(MPIX_Signal_reset(signal), MPIXQ_ERR_STATE, "too many");
    MTEST_OK(MPIX_Signal_free(&signal));
}

/* The put or the flush refuses it, and all goes on. */
static void put_outside(const MPIX_Blk *local, const MPIX_Blk *remote)
{
    int rc = MPIX_Put(local, remote);

    rc = rc != MPI_SUCCESS ? rc : MPIX_Window_flush(window);
    MTEST_EQ(mtest_kind_of(rc), MPIXQ_ERR_ARG);
    mtest_forgive(1);
    MTEST_OK(MPIX_Window_flush(window));
}

/* A signal that was freed, and a block outside: both are refused, nothing is written. */
static void test_refusals(void)
{
    MPIX_Blk mine, theirs, source, forged;
    MPIX_Signal signal, local;

    memset(memory + AREA, GUARD, 64);
    mtest_gpu_copy_now(there + AREA, memory + AREA, 64);
    MTEST_OK(MPIX_Signal_init(window, 1, &signal));
    MTEST_OK(MPIX_Signal_init(window, 1, &local));
    MTEST_OK(MPIX_Blk_init(window, AREA, 64, signal, &mine));
    MTEST_OK(MPIX_Blk_init(window, 0, 64, local, &source));
    MTEST_OK(MPIX_Signal_free(&signal));
    theirs = of_next(&mine);
    MTEST_OK(MPIX_Signal_init(window, 1, &signal)); /* in the same place */
    MPI_Barrier(MPI_COMM_WORLD);
    if (mtest_size > 1) {
        MTEST_OK(MPIX_Put(&source, &theirs));
        MTEST_KIND_TEXT(MPIX_Window_flush(window), MPIXQ_ERR_STATE, "was freed");
        MTEST_OK(MPIX_Window_flush(window));
        if (by_nics) { /* nothing has left */
            MTEST_KIND_TEXT(MPIX_Signal_wait(local), MPIXQ_ERR_STATE, "was freed");
        } else {
            MTEST_OK(MPIX_Signal_wait(local));
        }
    } else {
        MTEST_KIND_TEXT(MPIX_Put(&source, &theirs), MPIXQ_ERR_STATE, "was freed");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_KIND_TEXT(MPIX_Signal_reset(signal), MPIXQ_ERR_STATE, "1 of 1 events outstanding");
    mtest_gpu_copy_now(memory + AREA, there + AREA, 64);
    MTEST_EQ(memory[AREA], GUARD);
    MTEST_OK(MPIX_Signal_free(&signal));
    MTEST_OK(MPIX_Signal_free(&local));
    forged = theirs;
    forged.words[3] ^= 1;
    MTEST_KIND_TEXT(MPIX_Put(&source, &forged), MPIXQ_ERR_ARG, "no block");
    MTEST_OK(MPIX_Blk_init(window, 0, 64, MPIX_SIGNAL_NULL, &source));
    forged = theirs;
    rma_forge(&forged, 3, 2 * (uint64_t)AREA - 63);
    put_outside(&source, &forged);
    rma_forge(&forged, 3, UINT64_MAX - 1);
    put_outside(&source, &forged);
}

static void test_many_signals(void)
{
    static MPIX_Signal signals[MAPPED_SIGNALS];
    MPIX_Signal more = MPIX_SIGNAL_NULL;
    int most = by_nics ? NIC_SIGNALS : MAPPED_SIGNALS;

    for (int i = 0; i < most; i++) {
        MTEST_OK(MPIX_Signal_init(window, 1, &signals[i]));
    }
    MTEST_KIND_TEXT(MPIX_Signal_init(window, 1, &more), MPIXQ_ERR_RESOURCES,
                    by_nics ? "512" : "1024");
    MTEST_CHECK(more == MPIX_SIGNAL_NULL);
    for (int i = 0; i < most; i++) {
        MTEST_OK(MPIX_Signal_free(&signals[i]));
    }
}

/* At some of the processes only: none has a window then. */
static void test_mixed(void)
{
    MPIX_Window w = MPIX_WINDOW_NULL;
    char *base = mtest_rank == 0 ? (char *)memory : (char *)there;

    if (mtest_size > 1) {
        MTEST_KIND_TEXT(MPIX_Window_create(base, 64, MPI_COMM_WORLD, MPI_INFO_NULL, &w),
                        MPIXQ_ERR_UNSUPPORTED, "at some processes");
        MTEST_KIND_TEXT(
            MPIX_Window_create(there, mtest_rank == 0 ? 0 : 64, MPI_COMM_WORLD, MPI_INFO_NULL, &w),
            MPIXQ_ERR_UNSUPPORTED, "at some processes");
        MTEST_CHECK(w == MPIX_WINDOW_NULL);
    }
}

/* It is complete when the free returns; then others may come at the same addresses. */
static void test_frees(void)
{
    MPIX_Blk mine, theirs, source;

    for (int i = 0; i < 4; i++) {
        MPIX_Window w;

        memset(memory, i + 1, AREA);
        mtest_gpu_copy_now(there, memory, AREA);
        MTEST_OK(MPIX_Window_create(there, 2 * (MPI_Aint)AREA, MPI_COMM_WORLD, MPI_INFO_NULL, &w));
        MTEST_OK(MPIX_Blk_init(w, AREA, AREA, MPIX_SIGNAL_NULL, &mine));
        MTEST_OK(MPIX_Blk_init(w, 0, AREA, MPIX_SIGNAL_NULL, &source));
        theirs = of_next(&mine);
        MTEST_OK(MPIX_Put(&source, &theirs));
        MTEST_OK(MPIX_Window_free(&w));
        mtest_gpu_copy_now(memory + AREA, there + AREA, AREA);
        for (int k = 0; k < AREA; k++) {
            if (memory[AREA + k] != i + 1) {
                mtest_fail(__FILE__, __LINE__, "round %d: byte %d is not there", i, k);
                break;
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* What the program calls the memory of its GPU. */
static const char *gpu_memory(void)
{
    return strcmp(mtest_gpu_kind(), "hipStream_t") == 0 ? "hip" : "cuda";
}

/* A window of memory of the library, of this kind. NULL: no window, and an error. */
static MPIX_Window allocate(const char *kind, MPI_Aint bytes, void **base_p, int *rc_p)
{
    MPIX_Window w = MPIX_WINDOW_NULL;
    MPI_Info info = MPI_INFO_NULL;

    *base_p = NULL;
    if (kind != NULL) {
        MTEST_OK(MPI_Info_create(&info));
        MTEST_OK(MPI_Info_set(info, "mpixq_memory", kind));
    }
    *rc_p = MPIX_Window_allocate(bytes, MPI_COMM_WORLD, info, base_p, &w);
    if (kind != NULL) {
        MTEST_OK(MPI_Info_free(&info));
    }
    return w;
}

static void expect_no_memory(const char *kind, int error, const char *text)
{
    struct mtest_errors before = mtest_errors();
    void *base;
    int rc;
    MPIX_Window w = allocate(kind, 64, &base, &rc);

    mtest_kind(__FILE__, __LINE__, kind != NULL ? kind : "without info", rc, error, text, before);
    MTEST_CHECK(w == MPIX_WINDOW_NULL && base == NULL);
}

/* It is zeroed, each time, others put to it, and it is freed while a stream waits. */
static void test_allocated(void)
{
    const char *kind = gpu_memory();
    MPIX_Blk mine, theirs, source;
    MPIX_Window empty;
    void *base;
    int rc;

    for (int i = 0; i < 4; i++) {
        MPIX_Window w = allocate(kind, 2 * (MPI_Aint)AREA, &base, &rc);

        MTEST_OK(rc);
        mtest_gpu_copy_now(memory, base, 2 * (size_t)AREA);
        for (int k = 0; k < 2 * AREA; k++) {
            if (memory[k] != 0) {
                mtest_fail(__FILE__, __LINE__, "byte %d is not zero", k);
                break;
            }
        }
        MTEST_OK(MPIX_Blk_init(w, AREA, AREA, MPIX_SIGNAL_NULL, &mine));
        MTEST_OK(MPIX_Blk_init(w, 0, AREA, MPIX_SIGNAL_NULL, &source));
        theirs = of_next(&mine);
        memset(memory, i + 1, AREA);
        mtest_gpu_copy_now(base, memory, AREA);
        MTEST_OK(MPIX_Put(&source, &theirs));
        MTEST_OK(MPIX_Window_flush(w));
        MPI_Barrier(MPI_COMM_WORLD);
        mtest_gpu_copy_now(memory, (char *)base + AREA, AREA);
        for (int k = 0; k < AREA; k++) {
            if (memory[k] != i + 1) {
                mtest_fail(__FILE__, __LINE__, "round %d: byte %d is not there", i, k);
                break;
            }
        }
        MTEST_OK(MPIX_Window_free(&w));
    }
    empty = allocate(kind, 0, &base, &rc);
    MTEST_OK(rc);
    MTEST_CHECK(base == NULL);
    MTEST_OK(MPIX_Window_free(&empty));
    expect_no_memory("gpu", MPIXQ_ERR_ARG, "mpixq_memory");
    expect_no_memory(mtest_gpu_kind(), MPIXQ_ERR_ARG, "mpixq_memory");
    if (mtest_size > 1) {
        expect_no_memory(mtest_rank == 0 ? kind : NULL, MPIXQ_ERR_UNSUPPORTED, "at some processes");
        expect_no_memory(mtest_rank == 0 ? kind : "host", MPIXQ_ERR_UNSUPPORTED, "some processes");
    }
}

/* While a stream waits the memory of a window that is freed is kept, and goes with a later one. */
static void test_freed_meanwhile(void)
{
    MPI_Request r[2];
    MPIX_Queue queue;
    int in = 0, out = 7, rc;
    MPIX_Window w;
    void *base;

    w = allocate(gpu_memory(), AREA, &base, &rc);
    MTEST_OK(rc);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, mtest_rank, 3, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, mtest_rank, 3, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPIX_Enqueue_start(queue, &r[0]));
    MTEST_OK(MPIX_Enqueue_wait(queue, &r[0]));
    MTEST_OK(MPIX_Window_free(&w));
    MTEST_OK(MPI_Start(&r[1]));
    MTEST_OK(MPI_Wait(&r[1], MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(in, 7);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(MPIX_Queue_free(&queue));
    w = allocate(gpu_memory(), AREA, &base, &rc);
    MTEST_OK(rc);
    MTEST_OK(MPIX_Window_free(&w));
}

/* While this thread captures a stream, which forbids calls that might wait for what is captured, a
 * window is allocated, put to and freed, and the capture stays valid. */
static void test_while_capturing(void)
{
    bool hip = strcmp(mtest_gpu_kind(), "hipStream_t") == 0;
    int (*begin)(void *, int), (*end)(void *, void **), (*destroy)(void *), rc;
    void *stream = mtest_gpu_stream(), *graph = NULL, *base;
    MPIX_Blk mine, theirs, source;
    MPIX_Window w;

    *(void **)&begin = mtest_gpu_symbol(hip ? "hipStreamBeginCapture" : "cuStreamBeginCapture_v2");
    *(void **)&end = mtest_gpu_symbol(hip ? "hipStreamEndCapture" : "cuStreamEndCapture");
    *(void **)&destroy = mtest_gpu_symbol(hip ? "hipGraphDestroy" : "cuGraphDestroy");
    MTEST_CHECK(begin != NULL && end != NULL && destroy != NULL);
    MTEST_EQ(begin(stream, 0), 0); /* of the mode that forbids most */
    w = allocate(gpu_memory(), 2 * (MPI_Aint)AREA, &base, &rc);
    MTEST_OK(rc);
    MTEST_OK(MPIX_Blk_init(w, AREA, AREA, MPIX_SIGNAL_NULL, &mine));
    MTEST_OK(MPIX_Blk_init(w, 0, AREA, MPIX_SIGNAL_NULL, &source));
    theirs = of_next(&mine);
    MTEST_OK(MPIX_Put(&source, &theirs));
    MTEST_OK(MPIX_Window_flush(w));
    MTEST_OK(MPIX_Window_free(&w));
    MTEST_EQ(end(stream, &graph), 0);
    MTEST_CHECK(graph != NULL);
    MTEST_EQ(destroy(graph), 0);
    mtest_gpu_stream_end(stream);
}

/* Where it cannot be, every process is told so. */
static void expect_refused(void)
{
    MPIX_Window w = MPIX_WINDOW_NULL;

    MTEST_KIND_TEXT(MPIX_Window_create(there, AREA, MPI_COMM_WORLD, MPI_INFO_NULL, &w),
                    MPIXQ_ERR_UNSUPPORTED, "argument base");
    MTEST_CHECK(w == MPIX_WINDOW_NULL);
}

static void run_all(int rounds, int n, unsigned long long seed)
{
    MTEST_OK(MPIX_Window_create(there, 2 * (MPI_Aint)AREA, MPI_COMM_WORLD, MPI_INFO_NULL, &window));
    for (int round = 0; round < rounds; round++) {
        run_round(ops_of_round(n, round), seed + (unsigned long long)round);
    }
    test_counts();
    test_refusals();
    test_many_signals();
    test_mixed();
    MTEST_OK(MPIX_Window_free(&window));
    test_frees();
}

int main(int argc, char **argv)
{
    int rounds, n;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    by_nics = argc > 1 && strcmp(argv[argc - 1], "nics") == 0;
    argc -= by_nics;
    rounds = argc > 1 ? atoi(argv[1]) : 6;
    n = argc > 2 ? atoi(argv[2]) : 20;
    if (mtest_gpu_kind() == NULL) {
        mtest_skip("there is no GPU: MTEST_STREAM");
        return mtest_end();
    }
    if (mtest_gpu_devices() > 1) {
        mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    }
    memory = malloc(2 * (size_t)AREA);
    model = malloc(AREA);
    there = alloc(2 * (size_t)AREA);
    fill_source();
    mtest_gpu_copy_now(there, memory, AREA);
    if (argc > 1 && strcmp(argv[1], "refused") == 0) {
        expect_refused();
    } else if (argc > 1 && strcmp(argv[1], "allocated") == 0) {
        test_allocated();
        test_freed_meanwhile();
        test_while_capturing();
    } else {
        run_all(rounds, n, argc > 3 ? (unsigned long long)atoi(argv[3]) : 1);
    }
    release(there);
    free(memory);
    free(model);
    return mtest_end();
}
