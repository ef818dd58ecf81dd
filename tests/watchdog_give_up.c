/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPIXQ_WATCHDOG_ACTION=error: a match that lasts is given up. Its requests are ordinary ones
 * again, which can be started by MPI and matched once more; what was offered pairs with nothing any
 * more; and if the receiver has paired it just then, it hears that the pair has failed.
 * Argument 1: multiple, or polled (below MPI_THREAD_MULTIPLE).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "capture.h"
#include "mtest.h"

#include <dlfcn.h>
#include <string.h>

enum { TAG = 7, N = 3, FLOOD = 1000 };

static atomic_int deaf; /* the library gets no messages */
static int multiple, peer;
static int out[N], in[N];

/* The library's calls come here first. */
int PMPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
                 MPI_Status *status)
{
    union {
        void *object;
        int (*function)(int, int, MPI_Comm, int *, MPI_Message *, MPI_Status *);
    } next = {.object = dlsym(RTLD_NEXT, "PMPI_Improbe")};

    if (atomic_load(&deaf)) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    return next.function(source, tag, comm, flag, message, status);
}

static MPI_Request make(int is_send, int tag, int i)
{
    MPI_Request r = MPI_REQUEST_NULL;

    MTEST_OK(mtest_init_raw(is_send ? MTEST_SEND : MTEST_RECV, is_send ? &out[i] : &in[i], 1,
                            MPI_INT, peer, tag, MPI_COMM_WORLD, &r));
    return r;
}

/* An ordinary message by these requests, by MPI. */
static void exchange_plainly(MPI_Request *r, int value)
{
    int flag = -1;

    MTEST_OK(MPIX_Is_matched(*r, &flag));
    MTEST_EQ(flag, 0);
    out[0] = value;
    in[0] = -1;
    MTEST_OK(MPI_Start(r));
    MTEST_OK(MPI_Wait(r, MPI_STATUS_IGNORE));
}

/* The data goes from the rank with a send to the other one, on queues where there can be any. */
static void exchange_matched(int is_send, MPI_Request *r, int value)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    if (multiple) {
        out[0] = value;
        in[0] = -1;
        MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
        MTEST_OK(MPIX_Enqueue_start(queue, r));
        MTEST_OK(MPIX_Enqueue_wait(queue, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_OK(MPIX_Queue_free(&queue));
        MTEST_EQ(in[0], is_send ? -1 : value);
    }
}

/* Rank 0 gives up; rank 1 then matches alone and gives up too: the offer of rank 0 is not there any
 * more. */
static void test_apart(int is_send, int with_imatch)
{
    int mine = is_send == (mtest_rank == 0);
    MPI_Request r = make(mine, TAG, 0), match = MPI_REQUEST_NULL;

    if (mtest_rank == 1) {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    if (with_imatch) {
        MTEST_OK(MPIX_Imatch(&r, &match));
        MTEST_KIND_TEXT(MPI_Wait(&match, MPI_STATUS_IGNORE), MPIXQ_ERR_TIMEOUT, "did not match");
        MTEST_CHECK(match == MPI_REQUEST_NULL);
    } else {
        MTEST_KIND_TEXT(MPIX_Match(&r), MPIXQ_ERR_TIMEOUT, "did not match");
    }
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    CAPTURE_WAIT(mtest_rank, 1, "error: watchdog: ", with_imatch ? "MPIX_Imatch" : "MPIX_Match",
                 mine ? "send to" : "receive from");
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* rank 0 does not begin again before */
    exchange_plainly(&r, 1);
    MTEST_OK(MPIX_Match(&r));
    exchange_matched(mine, &r, 2);
    MTEST_OK(MPI_Request_free(&r));
}

/* The peer matches the second of three. */
static void test_array(int is_send)
{
    int mine = is_send == (mtest_rank == 0), flag = -1;
    MPI_Request r[N], match = MPI_REQUEST_NULL;
    MPI_Status statuses[1];

    for (int i = 0; i < N; i++) {
        r[i] = make(mine, TAG + i, i);
    }
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Imatchall(N, r, &match));
        MTEST_CLASS(MPI_Waitall(1, &match, statuses), MPI_ERR_IN_STATUS);
        MTEST_EQ(mtest_kind_of(statuses[0].MPI_ERROR), MPIXQ_ERR_TIMEOUT);
        for (int i = 0; i < N; i++) {
            MTEST_OK(MPIX_Is_matched(r[i], &flag));
            MTEST_EQ(flag, i == 1);
        }
        MTEST_CHECK(CAPTURE_COUNT(0, "for 2 of 3 requests", "tag 7 (") > 0);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    } else {
        MTEST_OK(MPIX_Match(&r[1]));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    MTEST_OK(MPIX_Matchall(1, &r[2]));
    MTEST_OK(MPIX_Matchall(1, &r[0]));
    exchange_matched(mine, &r[0], 3);
    for (int i = 0; i < N; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* To oneself. */
static void test_self(void)
{
    MPI_Request r[2], match = MPI_REQUEST_NULL;
    int flag = -1;

    MTEST_OK(mtest_init_raw(MTEST_SEND, &out[0], 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &r[0]));
    MTEST_OK(mtest_init_raw(MTEST_RECV, &in[0], 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &r[1]));
    MTEST_KIND(MPIX_Match(&r[0]), MPIXQ_ERR_TIMEOUT);
    MTEST_KIND(MPIX_Match(&r[1]), MPIXQ_ERR_TIMEOUT);
    MTEST_OK(MPIX_Imatch(&r[1], &match));
    MTEST_OK(MPIX_Match(&r[0]));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Is_matched(r[1], &flag));
    MTEST_EQ(flag, 1);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

/* The receiver has paired the offer and is content; its answer comes too late. */
static void test_late_answer(void)
{
    MPI_Request r = make(mtest_rank == 0, TAG, 0);
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    if (mtest_rank == 0) {
        atomic_store(&deaf, 1);
        MTEST_KIND(MPIX_Match(&r), MPIXQ_ERR_TIMEOUT);
        atomic_store(&deaf, 0);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        /* It is as good as new: a second receive pairs with it. */
        MTEST_OK(MPIX_Match(&r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        exchange_matched(1, &r, 4);
    } else {
        MPI_Request second = make(0, TAG, 0);

        MTEST_OK(MPIX_Match(&r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPIX_Match(&second));
        if (multiple) {
            struct mtest_errors before;
            int rc;

            MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
            before = mtest_errors();
            rc = MPIX_Enqueue_start(queue, &r);
            if (rc == MPI_SUCCESS) {
                before = mtest_errors();
                rc = MPIX_Enqueue_wait(queue, &r);
            }
            if (rc == MPI_SUCCESS) {
                before = mtest_errors();
                rc = MPIX_Queue_wait(queue);
            }
            mtest_kind(__FILE__, __LINE__, "a start of the failed pair", rc, MPIXQ_ERR_COMM, NULL,
                       before);
            MTEST_OK(MPIX_Queue_free(&queue));
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        exchange_matched(0, &second, 4);
        MTEST_OK(MPI_Request_free(&second));
    }
    MTEST_OK(MPI_Request_free(&r));
}

/* Rank 1 takes no messages, and those of rank 0 that wait for it hold up the answers of rank 0: a
 * match there that only lacks these ends well. All offers are given up then, on both sides, many of
 * them with their answers under way. */
static void test_flood(void)
{
    static MPI_Request sends[FLOOD], receives[FLOOD];
    MPI_Request match = MPI_REQUEST_NULL, after;
    struct mtest_errors before;
    int rc;

    for (int i = 0; i < FLOOD; i++) {
        sends[i] = make(1, TAG, 0);
        receives[i] = make(0, TAG, 0);
    }
    atomic_store(&deaf, mtest_rank == 1);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Imatchall(FLOOD, sends, &match));
    if (mtest_rank == 0) {
        before = mtest_errors();
        rc = MPIX_Matchall(FLOOD, receives);
        if (rc == MPI_SUCCESS) {
            MTEST_CHECK(CAPTURE_COUNT(0, "the answer to a match of rank 1 of MPI_COMM_WORLD") > 0);
        } else { /* too slow to get all offers in time */
            mtest_kind(__FILE__, __LINE__, "MPIX_Matchall", rc, MPIXQ_ERR_TIMEOUT, NULL, before);
        }
    }
    MTEST_KIND(MPI_Wait(&match, MPI_STATUS_IGNORE), MPIXQ_ERR_TIMEOUT);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    atomic_store(&deaf, 0);
    for (int i = 0; i < FLOOD; i++) {
        MTEST_OK(MPI_Request_free(&sends[i]));
        MTEST_OK(MPI_Request_free(&receives[i]));
    }
    after = make(mtest_rank == 0, TAG + 1, 0);
    MTEST_OK(MPIX_Match(&after));
    exchange_matched(mtest_rank == 0, &after, 5);
    MTEST_OK(MPI_Request_free(&after));
}

/* The host has started a matched request, and waits for it. */
static void test_host(int is_send)
{
    int mine = is_send == (mtest_rank == 0), rc;
    double begun;
    struct mtest_errors before;
    MPI_Request r = MPI_REQUEST_NULL;

    MTEST_OK(mtest_init_raw(mine ? MTEST_SSEND : MTEST_RECV, mine ? out : in, 1, MPI_INT, peer, TAG,
                            MPI_COMM_WORLD, &r));
    MTEST_OK(MPIX_Match(&r));
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Start(&r));
        MTEST_KIND_TEXT(MPI_Wait(&r, MPI_STATUS_IGNORE), MPIXQ_ERR_TIMEOUT, "waited longer than");
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_KIND(MPI_Start(&r), MPIXQ_ERR_COMM);
    } else {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        begun = MPI_Wtime();
        do { /* what MPI has taken before the news comes may go through */
            before = mtest_errors();
            rc = MPI_Start(&r);
            if (rc == MPI_SUCCESS) {
                before = mtest_errors();
                rc = MPI_Wait(&r, MPI_STATUS_IGNORE);
            }
        } while (rc == MPI_SUCCESS && MPI_Wtime() - begun < 30);
        mtest_kind(__FILE__, __LINE__, "a start whose peer has failed", rc, MPIXQ_ERR_COMM, NULL,
                   before);
    }
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    multiple = argc > 1 && strcmp(argv[1], "multiple") == 0;
    mtest_begin(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED);
    capture_begin();
    peer = 1 - mtest_rank;
    for (int is_send = 0; is_send < 2; is_send++) {
        test_apart(is_send, 0);
        test_apart(is_send, 1);
        test_array(is_send);
        test_host(is_send);
    }
    test_self();
    test_late_answer();
    test_flood();
    capture_end();
    return mtest_end();
}
