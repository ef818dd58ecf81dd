/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * How many events an exchange with eight neighbours makes, on the double of the cxi provider: one
 * for each write, and none for atomics, nor for writes without bytes; the same where the NIC has no
 * sum. All of them by deferred work: what the host posts is not counted. And how often the library
 * reads a counter meanwhile: never, as words in its memory say what succeeds and what fails.
 */
#include "mtest.h"

#include <stdlib.h>
#include <string.h>

#include "cxi_hooks.h"

enum { NEIGHBOURS = 8, ROUNDS = 20 };

static const struct cxi_double_hooks *hooks;
static MPIX_Queue queue;

static bool is_set(const char *name, const char *value)
{
    const char *found = getenv(name);

    return found != NULL && strcmp(found, value) == 0;
}

static void exchange(MPI_Request r[], const int in[], int out[], int count)
{
    uint64_t reads = hooks->reads();

    for (int k = 0; k < ROUNDS; k++) {
        for (int i = 0; i < NEIGHBOURS; i++) {
            out[i] = 100 * k + 10 * i + mtest_rank;
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* the buffers of ready sends may be written */
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * NEIGHBOURS, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * NEIGHBOURS, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        for (int i = 0; i < NEIGHBOURS && count > 0; i++) {
            MTEST_EQ(in[i], 100 * k + 10 * i + 1 - mtest_rank);
        }
    }
    MTEST_EQ(hooks->reads() - reads, 0);
}

/* Of so many operations per neighbour so many make an event. */
static void check(enum mtest_mode mode, int count, long posts, long events)
{
    MPI_Request r[2 * NEIGHBOURS];
    int in[NEIGHBOURS], out[NEIGHBOURS], peer = 1 - mtest_rank;
    long posts_before = mtest_queue_count(queue, "mpixq_posts");
    uint64_t before = hooks->events();
    unsigned tries = 0;

    for (int i = 0; i < NEIGHBOURS; i++) {
        MTEST_OK(MPI_Recv_init(&in[i], count, MPI_INT, peer, i, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(mtest_init_raw(mode, &out[i], count * (int)sizeof out[i], MPI_BYTE, peer, i,
                                MPI_COMM_WORLD, &r[NEIGHBOURS + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * NEIGHBOURS, r));
    exchange(r, in, out, count);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_posts") - posts_before, posts * NEIGHBOURS * ROUNDS);
    /* The last one comes a while after what it says was done. */
    while (hooks->events() - before < (uint64_t)events * NEIGHBOURS * ROUNDS) {
        mtest_backoff(&tries);
    }
    for (int i = 0; i < 2 * NEIGHBOURS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_EQ(hooks->events() - before, (uint64_t)events * NEIGHBOURS * ROUNDS);
}

int main(int argc, char **argv)
{
    int tells = is_set("MPIXQ_CXI_DATA", "delivered");

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_EQ(mtest_size, 2);
    queue = MPIX_QUEUE_NULL;
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    hooks = cxi_hooks();
    if (hooks != NULL) {
        check(MTEST_RSEND, 1, 3 + tells, 1);
        check(MTEST_SEND, 1, 4 + tells, 1);
        check(MTEST_SEND, 0, 4 + tells, 0);
        check(MTEST_SSEND, 1, 4 + tells, 1);
        check(MTEST_SSEND, 0, 4 + tells, 0);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
