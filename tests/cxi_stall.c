/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The NIC's queue of commands stands still, as it does when its trigger entries are used up: no
 * post and no read of a counter gets through. Whoever waits does not freeze in a call of libfabric:
 * the watchdog ends what was posted by its error, and the peer's. A start that the host does itself
 * may complete as well. When the queue goes on, so do new pairs, with counters that others had.
 * Argument 1: posted, if all starts are, so that none can complete.
 */
#include "capture.h"
#include "mtest.h"

#include <stdbool.h>
#include <string.h>

#include "cxi_hooks.h"

enum { N = 4, TAG = 1 };

static const struct cxi_double_hooks *hooks;
static int peer, data[3];
static bool posted;

static void fill(int round)
{
    data[0] = data[2] = -1;
    data[1] = mtest_rank == 0 ? round : -2;
}

static void check(int round)
{
    MTEST_EQ(data[0], -1);
    MTEST_EQ(data[1], round);
    MTEST_EQ(data[2], -1);
}

static void expect_end(int rc, int round)
{
    if (rc == MPI_SUCCESS && !posted) {
        check(round);
        return;
    }
    mtest_forgive(1);
    MTEST_CHECK(mtest_kind_of(rc) == MPIXQ_ERR_TIMEOUT || mtest_kind_of(rc) == MPIXQ_ERR_COMM);
}

/* Both ends wait, by the host or by a queue. */
static int transfer(MPIX_Queue queue, MPI_Request *r, int by_host)
{
    int rc;

    if (!by_host) {
        return mtest_transfer(queue, r);
    }
    rc = MPI_Start(r);
    return rc == MPI_SUCCESS ? MPI_Wait(r, MPI_STATUS_IGNORE) : rc;
}

static void test_stall(enum mtest_mode mode, int by_host)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    MTEST_OK(mtest_init_raw(mtest_rank == 0 ? mode : MTEST_RECV, &data[1], 1, MPI_INT, peer, TAG,
                            MPI_COMM_WORLD, &r));
    MTEST_OK(MPIX_Match(&r));
    fill(1);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* the buffer of a ready send may be written */
    MTEST_OK(transfer(queue, &r, by_host));
    check(1);
    hooks->stall(true);
    fill(2);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    expect_end(transfer(queue, &r, by_host), 2);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    hooks->stall(false);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Request_free(&r));
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    capture_begin();
    peer = 1 - mtest_rank;
    posted = argc > 1 && strcmp(argv[1], "posted") == 0;
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    hooks = cxi_hooks();
    for (int by_host = 0; hooks != NULL && by_host < 2; by_host++) {
        test_stall(MTEST_SEND, by_host);
        test_stall(MTEST_RSEND, by_host);
        for (int i = 0; i < N; i++) {
            MTEST_EXCHANGE(queue, MPI_COMM_WORLD, peer);
        }
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    capture_end();
    return mtest_end();
}
