/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The NIC refuses posts for a time, since it has no room or a signal came in between. The starts
 * are held, and made when it takes posts again. Meanwhile they are not tried at the rate at which
 * the program polls, for each attempt can cost a reference to a mapping that never comes back.
 * Argument 1: again (-FI_EAGAIN) or interrupt (-FI_EINTR); or signals: each second post is
 * interrupted (CXI_DOUBLE_REFUSE=interrupt), and made all the same, so that the host has no part.
 */
#include "mtest.h"

#include <string.h>

#include "cxi_double/switches.h"
#include "cxi_hooks.h"

enum { POLLS = 4000, INTS = 50, TAG = 1 };

static const struct cxi_double_hooks *hooks;
static int peer, refuse, attempts, data[INTS + 2];

static void fill(int round)
{
    for (int i = 0; i < INTS + 2; i++) {
        data[i] = mtest_rank == 0 ? round + i : -1;
    }
}

static void check(int round)
{
    MTEST_EQ(data[0], mtest_rank == 0 ? round : -1);
    for (int i = 1; i <= INTS; i++) {
        MTEST_EQ(data[i], round + i);
    }
    MTEST_EQ(data[INTS + 1], mtest_rank == 0 ? round + INTS + 1 : -1);
}

/* The starts of both ends are under way; nothing may be posted. A queue's are tried by its stream,
 * those of the host by the calls themselves. */
static void poll_in_vain(MPIX_Queue queue, MPI_Request *r)
{
    int flag = 0, rc = MPI_SUCCESS, polls = 0, refused = 0;

    /* Of two ends one may have nothing to post. */
    for (int sum = 0; sum == 0; polls += POLLS) {
        for (int i = 0; i < POLLS && rc == MPI_SUCCESS; i++) {
            rc = queue == MPIX_QUEUE_NULL ? MPI_Test(r, &flag, MPI_STATUS_IGNORE)
                                          : MPIX_Queue_test(queue, &flag);
        }
        refused = hooks->refused();
        sum = refused + (rc != MPI_SUCCESS);
        MTEST_OK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    }
    MTEST_OK(rc);
    if (refused >= polls / 2) {
        mtest_fail(__FILE__, __LINE__, "%d attempts in %d polls", refused, polls);
    }
}

/* A write that is refused for want of room leaves its mapping with the provider, for ever. One that
 * a signal interrupts does not, nor does an atomic, which is all that rank 1 posts. */
static void check_left(void)
{
    bool leaves = refuse == NIC_REFUSE_AGAIN && mtest_rank == 0;

    MTEST_CHECK(leaves ? hooks->left() > 0 : hooks->left() == 0);
    MTEST_CHECK(hooks->left() <= attempts);
}

static void run(enum mtest_mode mode, int by_host)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r;

    if (!by_host) {
        MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    }
    MTEST_OK(mtest_init_raw(mtest_rank == 0 ? mode : MTEST_RECV, &data[1], INTS, MPI_INT, peer, TAG,
                            MPI_COMM_WORLD, &r));
    MTEST_OK(MPIX_Match(&r));
    for (int round = 1; round <= 3; round++) {
        fill(100 * round);
        hooks->refuse(round == 2 ? refuse : NIC_REFUSE_NONE);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* the buffer of a ready send may be written */
        if (by_host) {
            MTEST_OK(MPI_Start(&r));
        } else {
            MTEST_OK(MPIX_Enqueue_start(queue, &r));
            MTEST_OK(MPIX_Enqueue_wait(queue, &r));
        }
        if (round == 2) {
            poll_in_vain(queue, &r);
            attempts += hooks->refused();
            hooks->refuse(NIC_REFUSE_NONE);
        }
        MTEST_OK(by_host ? MPI_Wait(&r, MPI_STATUS_IGNORE) : MPIX_Queue_wait(queue));
        check(100 * round);
    }
    if (!by_host) {
        MTEST_OK(MPIX_Queue_free(&queue));
    }
    MTEST_OK(MPI_Request_free(&r));
}

static void run_refused(void)
{
    for (int by_host = 0; by_host < 2; by_host++) {
        run(MTEST_SEND, by_host);
        run(MTEST_RSEND, by_host);
    }
    check_left();
}

static void run_interrupted(MPIX_Queue queue)
{
    enum { ROUNDS = 100 };
    MPI_Request r;

    MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_SEND : MTEST_RECV, &data[1], INTS, MPI_INT,
                            peer, TAG, MPI_COMM_WORLD, &r));
    MTEST_OK(MPIX_Match(&r));
    for (int round = 1; round <= ROUNDS; round++) {
        fill(round);
        MTEST_OK(MPIX_Enqueue_start(queue, &r));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r));
        MTEST_OK(MPIX_Queue_wait(queue));
        check(round);
    }
    MTEST_OK(MPI_Request_free(&r));
    MTEST_CHECK(hooks->refused() >= ROUNDS / 2);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_stalls"), 0);
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    const char *which;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    which = argc > 1 ? argv[1] : "";
    peer = 1 - mtest_rank;
    refuse = strcmp(which, "again") == 0 ? NIC_REFUSE_AGAIN : NIC_REFUSE_INTERRUPT;
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    hooks = cxi_hooks();
    if (hooks != NULL && strcmp(which, "signals") == 0) {
        run_interrupted(queue);
    } else if (hooks != NULL) {
        run_refused();
    }
    MTEST_EXCHANGE(queue, MPI_COMM_WORLD, peer);
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
