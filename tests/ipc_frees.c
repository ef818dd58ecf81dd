/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel ipc: a process frees its end of a pair and the buffer, and its peer, which keeps its
 * own request, lets go of that memory in the next call that may. What is allocated there afterwards
 * is told from it, and a start that comes too late fails, or completes, as on other channels, and
 * touches nothing. On the double of HIP's runtime, which tells what is open, ends who touches what
 * is not, and may give out freed addresses again, with MTEST_STREAM and MTEST_BUFFER=device. On a
 * GPU, whose runtime tells nothing of that, only what is allocated anew, the given number of times.
 */
#include "mtest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mtest_gpu.h"

enum { TAG = 82, BYTES = 40000, SMALL = 64, LATE_STARTS = 200, MANY = 10000 };

static int peer, rounds = 20;
static long (*calls_of)(const char *function);

/* What is open of the peer just now, of what is opened by handles. */
static long n_open(void)
{
    return calls_of("hipIpcOpenMemHandle") - calls_of("hipIpcCloseMemHandle");
}

static void expect_open(long n)
{
    if (calls_of != NULL) {
        MTEST_EQ(n_open(), n);
    }
}

static long n_registered(void)
{
    return calls_of("hipHostRegister") - calls_of("hipHostUnregister");
}

/* A call that may close what nobody needs. */
static void tidy(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* The peer has freed its end; that its message has come takes a while. */
static void tidy_until(long open)
{
    unsigned tries = 0;

    for (tidy(); n_open() > open && mtest_failures() == 0 && tries < MANY; tidy()) {
        mtest_backoff(&tries);
    }
    MTEST_EQ(n_open(), open);
}

/* One end of a pair. */
struct half {
    struct mtest_buf buf;
    MPI_Request r;
    enum mtest_mode mode;
};

static void make(struct half *h, enum mtest_mode mode, int bytes, int seed)
{
    h->mode = mode;
    mtest_buf_make(&h->buf, MPI_BYTE, bytes);
    if (mode != MTEST_RECV) {
        mtest_buf_fill(&h->buf, seed);
    }
    MTEST_OK(mtest_init(mode, &h->buf, peer, TAG, MPI_COMM_WORLD, &h->r));
}

static void end(struct half *h)
{
    MTEST_OK(MPI_Request_free(&h->r));
    mtest_buf_free(&h->buf);
}

/* First the owner starts, so that it is the other one who moves the data. */
static void transfer(struct half *h, int owner, int seed)
{
    if (mtest_rank == owner) {
        MTEST_OK(MPI_Start(&h->r));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank != owner) {
        MTEST_OK(MPI_Start(&h->r));
    }
    MTEST_OK(MPI_Wait(&h->r, MPI_STATUS_IGNORE));
    if (h->mode == MTEST_RECV) {
        MTEST_FULL(&h->buf, seed);
    }
}

/* Rank 0 frees its end and its buffer, and rank 1 keeps its request. */
static void keep_one(struct half *h, enum mtest_mode mode, int keeper_receives, int bytes)
{
    make(h, keeper_receives == (mtest_rank == 1) ? MTEST_RECV : mode, bytes, 7);
    MTEST_OK(MPIX_Match(&h->r));
    transfer(h, 0, 7);
    if (mtest_rank == 0) {
        end(h);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A start of whom its peer has left; as on a queue, or by the host. */
static int start_late(MPI_Request *r, int on_queue)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int rc;

    if (on_queue) {
        MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
        rc = mtest_transfer(queue, r);
        MTEST_OK(MPIX_Queue_free(&queue));
    } else {
        rc = MPI_Start(r);
        rc = rc != MPI_SUCCESS ? rc : MPI_Wait(r, MPI_STATUS_IGNORE);
    }
    return rc;
}

/* How a start ends whose peer has left. One that needs no receive completes; the host may see that
 * nobody is there before it sees that. */
enum outcome { FAILS, COMPLETES, EITHER };

static void test_late(enum mtest_mode mode, int keeper_receives, int bytes, int on_queue,
                      enum outcome outcome)
{
    struct half h;

    keep_one(&h, mode, keeper_receives, bytes);
    if (mtest_rank == 1) {
        int rc;

        tidy_until(1); /* the words of ends */
        rc = start_late(&h.r, on_queue);
        mtest_forgive(rc != MPI_SUCCESS);
        if (rc != MPI_SUCCESS || outcome == FAILS) {
            MTEST_EQ(mtest_kind_of(rc), MPIXQ_ERR_COMM);
            MTEST_CHECK(outcome != COMPLETES);
        }
        end(&h);
        MTEST_EQ(n_open(), 0);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* To close waits for the GPU, so not while a wait of ours, that lacks its peer, is in a stream. */
static void test_not_while_waiting(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct half kept, waited;

    make(&waited, mtest_rank == 1 ? MTEST_RECV : MTEST_SEND, BYTES, 9);
    MTEST_OK(MPIX_Match(&waited.r));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    make(&kept, mtest_rank == 1 ? MTEST_SEND : MTEST_RECV, BYTES, 7);
    MTEST_OK(MPIX_Match(&kept.r));
    if (mtest_rank == 1) {
        MTEST_OK(MPIX_Enqueue_start(queue, &waited.r));
        MTEST_OK(MPIX_Enqueue_wait(queue, &waited.r));
        MTEST_EQ(n_open(), 3);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        end(&kept);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1) {
        tidy();
        MTEST_EQ(n_open(), 3);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        MTEST_OK(mtest_transfer(queue, &waited.r));
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    if (mtest_rank == 1) {
        MTEST_FULL(&waited.buf, 9);
        tidy_until(2);
        end(&kept);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* or the other buffer might be gone as well */
    end(&waited);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_EQ(n_open(), 0);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* It is gone before what it sent is looked at: nothing is to be opened but the words. */
static void test_before_open(void)
{
    MPI_Request op = MPI_REQUEST_NULL;
    struct half h;

    make(&h, mtest_rank == 1 ? MTEST_SEND : MTEST_RECV, BYTES, 7);
    MTEST_OK(mtest_rank == 1 ? MPIX_Imatch(&h.r, &op) : MPIX_Match(&h.r));
    if (mtest_rank == 0) {
        end(&h);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1) {
        MTEST_OK(MPI_Wait(&op, MPI_STATUS_IGNORE));
        tidy_until(1);
        MTEST_EQ(mtest_kind_of(start_late(&h.r, 0)), MPIXQ_ERR_COMM);
        mtest_forgive(1);
        end(&h);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A receiver's words in memory of the host, which the sender opens, are let go of as well. */
static void test_words(void)
{
    struct half h;
    long before;

    tidy();
    before = n_registered();
    make(&h, mtest_rank == 1 ? MTEST_SEND : MTEST_RECV, BYTES, 7);
    MTEST_OK(MPIX_Match(&h.r));
    MTEST_EQ(n_registered(), before + (mtest_rank == 1));
    transfer(&h, 0, 7);
    end(&h);
    MTEST_EQ(n_registered(), before);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Again and again the owner allocates anew, often where it was before, while its peer has the last
 * request still. Owner and sender take turns. */
static void test_again(int owner)
{
    struct half h[2];

    for (int i = 0; i < rounds; i++) {
        struct half *now = &h[i % 2], *last = &h[1 - i % 2];

        make(now, (i % 4 < 2) == (mtest_rank == owner) ? MTEST_RECV : MTEST_SEND, BYTES, i);
        MTEST_OK(MPIX_Match(&now->r));
        if (mtest_rank != owner) {
            expect_open(2);
        }
        transfer(now, owner, i);
        if (mtest_rank == owner) {
            end(now);
        } else if (i > 0) {
            end(last);
        }
    }
    if (mtest_rank != owner) {
        end(&h[(rounds - 1) % 2]);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void *start_ready(void *arg)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int i = 0; i < LATE_STARTS; i++) {
        MTEST_OK(mtest_transfer(queue, arg));
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    return NULL;
}

/* The owner has freed the buffer and not the request, so its peer cannot know: what comes next, at
 * the same address and with the same handle, is not taken for it: it goes by another channel. */
static void test_unannounced(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct half old, now;

    make(&old, mtest_rank == 1 ? MTEST_SEND : MTEST_RECV, BYTES, 7);
    MTEST_OK(MPIX_Match(&old.r));
    transfer(&old, 0, 7);
    if (mtest_rank == 0) {
        mtest_buf_free(&old.buf);
    }
    make(&now, mtest_rank == 1 ? MTEST_SEND : MTEST_RECV, BYTES, 8);
    MTEST_OK(MPIX_Match(&now.r));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(mtest_transfer(queue, &now.r));
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_fallback"), 1);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_FULL(&now.buf, 8);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPI_Request_free(&old.r));
    end(&now);
    if (mtest_rank == 1) {
        mtest_buf_free(&old.buf);
    }
    MTEST_EQ(n_open(), 0);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Sends that ask for no receive, while another thread lets go of it. */
static void test_ready(void)
{
    struct half h;
    pthread_t thread;

    make(&h, mtest_rank == 1 ? MTEST_RSEND : MTEST_RECV, BYTES, 7);
    MTEST_OK(MPIX_Match(&h.r));
    transfer(&h, 0, 7);
    if (mtest_rank == 1) {
        MTEST_EQ(pthread_create(&thread, NULL, start_ready, &h.r), 0);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        tidy_until(1);
        MTEST_EQ(pthread_join(thread, NULL), 0);
    } else {
        MTEST_OK(MPI_Request_free(&h.r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1) {
        MTEST_OK(MPI_Request_free(&h.r));
    }
    mtest_buf_free(&h.buf);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* On queues what fails does so after a second. */
static void test_all_late(void)
{
    test_late(MTEST_SEND, 0, BYTES, 1, FAILS);
    test_late(MTEST_RSEND, 0, BYTES, 1, COMPLETES);
    test_late(MTEST_SEND, 0, SMALL, 1, COMPLETES); /* to a slot */
    test_late(MTEST_RSEND, 0, SMALL, 1, COMPLETES);
    test_late(MTEST_SEND, 1, BYTES, 1, FAILS);
    test_late(MTEST_SEND, 0, BYTES, 0, FAILS);
    test_late(MTEST_SSEND, 0, BYTES, 0, FAILS);
    test_late(MTEST_SSEND, 0, SMALL, 0, FAILS);
    test_late(MTEST_RSEND, 0, BYTES, 0, EITHER);
    test_late(MTEST_SEND, 0, SMALL, 0, EITHER);
    test_late(MTEST_SEND, 1, BYTES, 0, FAILS);
    test_late(MTEST_RSEND, 1, BYTES, 0, FAILS);
    test_late(MTEST_SEND, 1, SMALL, 0, FAILS);
}

int main(int argc, char **argv)
{
    const char *addresses = getenv("HIP_DOUBLE_ADDRESSES");

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    rounds = argc > 1 ? atoi(argv[1]) : rounds;
    *(void **)&calls_of = mtest_gpu_symbol("hip_double_calls");
    if (mtest_gpu_memory() != MTEST_DEVICE) {
        mtest_skip("MTEST_BUFFER is not device");
        return mtest_end();
    }
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    if (calls_of == NULL) {
        test_again(0);
        test_again(1);
        return mtest_end();
    }
    test_all_late();
    test_not_while_waiting();
    test_before_open();
    test_words();
    test_again(0);
    test_again(1);
    test_ready();
    if (addresses != NULL && strcmp(addresses, "again") == 0) {
        test_unannounced();
    }
    return mtest_end();
}
