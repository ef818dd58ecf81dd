/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel cxi, eager pairs in processes that use a GPU: who copies a message out of its slot. A
 * kernel that waits does, into memory of its GPU or into memory of the host that is pinned, with no
 * copy beside; for other memory, and where kernels do not wait, the host does. Whoever it is, it is
 * one of them, the data is there behind the wait, the next message does not come before, and
 * nothing is written after the wait, though another thread asks for the request all the time.
 * Rank 0 sends, and rank 1 receives. Argument 1: kernel or host, who is to copy. Argument 2:
 * uncounted, where there is a GPU and not the double of its runtime, which tells of each copy.
 */
#include "mtest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "drains.h"
#include "mtest_gpu.h"

enum { ROUNDS = 12, AHEAD = 30, MANY = 40, LIMIT = 8192, TAG = 60 };

static MPIX_Queue queue;
static MPIX_Host_stream stream;
static bool is_sender, by_kernel, is_counted;

struct pair {
    struct mtest_buf buf;
    MPI_Request r;
};

static void make(struct pair *p, int bytes, int tag)
{
    mtest_buf_make(&p->buf, MPI_BYTE, bytes);
    MTEST_OK(mtest_init(is_sender ? MTEST_SEND : MTEST_RECV, &p->buf, 1 - mtest_rank, tag,
                        MPI_COMM_WORLD, &p->r));
}

static void end(struct pair *p)
{
    MTEST_OK(MPI_Request_free(&p->r));
    mtest_buf_free(&p->buf);
}

static void begin_round(struct pair *p, int seed)
{
    if (is_sender) {
        mtest_buf_fill(&p->buf, seed);
    } else {
        mtest_buf_clear(&p->buf);
    }
}

static void watch(bool watches)
{
    if (is_counted) {
        drains_watch(watches);
    }
}

/* A kernel copies all of them, and nothing else does; or the host all. Of what goes by a staging
 * buffer the stream copies each then. */
static void expect_copies(long n, long n_empty)
{
    long is_staged = mtest_gpu_memory() == MTEST_DEVICE ? n - n_empty : 0;

    if (is_counted) {
        MTEST_EQ(atomic_exchange(&drains, 0), by_kernel ? n : 0);
        MTEST_EQ(atomic_exchange(&drain_copies, 0), by_kernel ? 0 : is_staged);
    }
}

static void run_round(struct pair *p, int bytes, int seed)
{
    begin_round(p, seed);
    watch(!is_sender);
    MTEST_OK(MPIX_Enqueue_start(queue, &p->r));
    MTEST_OK(MPIX_Enqueue_wait(queue, &p->r));
    MTEST_OK(MPIX_Queue_wait(queue));
    watch(false);
    if (!is_sender) {
        MTEST_FULL(&p->buf, seed);
        expect_copies(1, bytes == 0);
    }
}

static void test_size(int bytes)
{
    struct pair p;

    make(&p, bytes, TAG);
    MTEST_OK(MPIX_Match(&p.r));
    for (int k = 0; k < ROUNDS; k++) {
        run_round(&p, bytes, 100 * bytes + k);
    }
    end(&p);
}

/* More than the words of a launch, of all sizes, as one wait. */
static void test_many(void)
{
    static struct pair p[MANY];
    static MPI_Request r[MANY];

    for (int i = 0; i < MANY; i++) {
        make(&p[i], 1 + i * (LIMIT - 1) / (MANY - 1), TAG + i);
        r[i] = p[i].r;
    }
    MTEST_OK(MPIX_Matchall(MANY, r));
    for (int k = 0; k < ROUNDS; k++) {
        for (int i = 0; i < MANY; i++) {
            begin_round(&p[i], MANY * k + i);
        }
        watch(!is_sender);
        MTEST_OK(MPIX_Enqueue_startall(queue, MANY, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, MANY, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        watch(false);
        for (int i = 0; !is_sender && i < MANY; i++) {
            MTEST_FULL(&p[i].buf, MANY * k + i);
        }
        if (!is_sender && by_kernel) {
            expect_copies(MANY, 0);
        }
        atomic_store(&drain_copies, 0);
    }
    for (int i = 0; i < MANY; i++) {
        p[i].r = r[i];
        end(&p[i]);
    }
}

/* Of starts by the queue and by the host, who may start nothing that has a staging buffer. */
static void test_turns(void)
{
    struct pair p;

    if (mtest_gpu_memory() == MTEST_DEVICE) {
        return;
    }
    make(&p, 777, TAG);
    MTEST_OK(MPIX_Match(&p.r));
    for (int k = 0; k < 3 * ROUNDS; k++) {
        if (k % 3 != 1) {
            run_round(&p, 777, k);
            continue;
        }
        begin_round(&p, k);
        MTEST_OK(MPI_Start(&p.r));
        MTEST_OK(MPI_Wait(&p.r, MPI_STATUS_IGNORE));
        if (!is_sender) {
            MTEST_FULL(&p.buf, k);
        }
    }
    end(&p);
}

/* Another thread asks, which may copy, until the wait is enqueued. */
static atomic_bool stops;

static void *ask(void *arg)
{
    struct pair *p = arg;
    int flag;

    while (!atomic_load(&stops)) {
        MTEST_OK(MPI_Request_get_status(p->r, &flag, MPI_STATUS_IGNORE));
    }
    return NULL;
}

static void ask_begin(struct pair *p, pthread_t *asker)
{
    atomic_store(&stops, false);
    MTEST_CHECK(pthread_create(asker, NULL, ask, p) == 0);
}

static void ask_end(pthread_t asker)
{
    atomic_store(&stops, true);
    MTEST_CHECK(pthread_join(asker, NULL) == 0);
}

/* All is enqueued before any of it is done: what is behind a wait in the stream sees its data. So
 * it is while another thread asks, though some waits may be the host's then. */
static void test_ahead(bool is_asked)
{
    enum { BYTES = 1000 };
    static unsigned char zero[BYTES];
    unsigned char *all = mtest_gpu_alloc(MTEST_PINNED, (size_t)AHEAD * BYTES);
    void *in = mtest_gpu_stream_of(stream);
    struct pair p;
    pthread_t asker;

    make(&p, BYTES, TAG);
    MTEST_OK(MPIX_Match(&p.r));
    if (is_asked) {
        ask_begin(&p, &asker);
    }
    for (int i = 0; is_sender && i < AHEAD * BYTES; i++) {
        all[i] = mtest_pattern(7, (size_t)i);
    }
    for (int k = 0; k < AHEAD; k++) {
        if (is_sender) {
            mtest_gpu_copy(in, p.buf.buf, all + (size_t)k * BYTES, BYTES);
        }
        MTEST_OK(MPIX_Enqueue_start(queue, &p.r));
        MTEST_OK(MPIX_Enqueue_wait(queue, &p.r));
        if (!is_sender) {
            mtest_gpu_copy(in, all + (size_t)k * BYTES, p.buf.buf, BYTES);
            mtest_gpu_copy(in, p.buf.buf, zero, BYTES);
        }
        if (is_asked) { /* so that messages are there before the last waits are */
            (void)nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        }
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_synchronize(in);
    if (is_asked) {
        ask_end(asker);
    }
    for (int i = 0; i < AHEAD * BYTES; i++) {
        if (all[i] != mtest_pattern(7, (size_t)i)) {
            mtest_fail(__FILE__, __LINE__, "byte %d of message %d is wrong", i % BYTES, i / BYTES);
            break;
        }
    }
    end(&p);
    mtest_gpu_free(MTEST_PINNED, all);
}

static void test_asked(void)
{
    struct pair p;
    pthread_t asker;

    make(&p, LIMIT, TAG);
    MTEST_OK(MPIX_Match(&p.r));
    ask_begin(&p, &asker);
    for (int k = 0; k < 10 * ROUNDS; k++) {
        begin_round(&p, k);
        MTEST_OK(MPIX_Enqueue_start(queue, &p.r));
        if (k % 2 == 0) { /* the message may be there before the wait */
            (void)nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
        }
        MTEST_OK(MPIX_Enqueue_wait(queue, &p.r));
        MTEST_OK(MPIX_Queue_wait(queue));
        if (!is_sender) {
            MTEST_FULL(&p.buf, k);
            mtest_buf_fill(&p.buf, -1 - k);
            (void)nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
            MTEST_FULL(&p.buf, -1 - k);
        }
    }
    ask_end(asker);
    end(&p);
}

/* Freed with a message in its slot, which is seen by nobody after it, though the slot is used
 * again. */
static void test_left(void)
{
    for (int k = 0; k < ROUNDS; k++) {
        struct pair p;

        make(&p, 500, TAG);
        MTEST_OK(MPIX_Match(&p.r));
        run_round(&p, 500, k);
        if (is_sender) {
            mtest_buf_fill(&p.buf, 1000);
            MTEST_OK(MPIX_Enqueue_start(queue, &p.r));
            MTEST_OK(MPIX_Enqueue_wait(queue, &p.r));
            MTEST_OK(MPIX_Queue_wait(queue));
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        if (!is_sender) {
            MTEST_FULL(&p.buf, k);
        }
        end(&p);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 3, 15, 16, 17, 64, 1000, 4097, LIMIT};

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    is_sender = mtest_rank == 0;
    by_kernel = argc > 1 && strcmp(argv[1], "kernel") == 0;
    is_counted = argc < 3 || strcmp(argv[2], "uncounted") != 0;
    MTEST_EQ(mtest_size, 2);
    MTEST_CHECK(mtest_gpu_kind() != NULL);
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, &stream));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        test_size(sizes[i]);
    }
    if (by_kernel && mtest_gpu_memory() != MTEST_DEVICE) { /* there, MPI takes what is empty */
        test_size(0);
    }
    test_many();
    test_turns();
    test_ahead(false);
    for (int k = 0; k < ROUNDS; k++) {
        test_ahead(true);
    }
    test_asked();
    test_left();
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
