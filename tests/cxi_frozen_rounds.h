/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cxi_frozen_rounds.h - rounds of collectives that are enqueued ahead on a stream that is held, and
 * then end with no CPU (cxi_frozen.h), or need it
 */
#ifndef MTEST_CXI_FROZEN_ROUNDS_H
#define MTEST_CXI_FROZEN_ROUNDS_H

#include "cxi_frozen.h"

enum { ROUNDS = 6, LIMIT_S = 60, LIMIT_OF_CPU_S = 3 };

static void synchronize(MPIX_Queue queue, MPIX_Host_stream stream)
{
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
}

static void run_frozen(MPIX_Queue queue, MPIX_Host_stream stream, bool expects_cpu,
                       void (*enqueue_round)(MPIX_Queue queue, MPIX_Host_stream stream, int round))
{
    enum freezer_state state;
    unsigned tries = 0;
    long posts, of_round;

    MTEST_OK(MPIX_Host_stream_launch(stream, say_who, NULL));
    enqueue_round(queue, stream, 0);
    synchronize(queue, stream);
    of_round = posts = mtest_queue_count(queue, "mpixq_posts");
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Host_stream_launch(stream, hold, NULL));
    for (int round = 1; round <= ROUNDS; round++) {
        enqueue_round(queue, stream, round);
    }
    MTEST_OK(MPIX_Host_stream_launch(stream, finish, NULL));
    /* All of it comes into the hands of the NIC while the stream holds. */
    while (!expects_cpu && mtest_queue_count(queue, "mpixq_posts") - posts < of_round * ROUNDS) {
        mtest_backoff(&tries);
    }
    while (!freezer_is_quiet(atomic_load(&executor), never_quiet)) {
    }
    state = freezer_run(atomic_load(&executor), devices, expects_cpu ? LIMIT_OF_CPU_S : LIMIT_S);
    synchronize(queue, stream);
    if (judge_frozen(state, 1 + ROUNDS, expects_cpu)) {
        MTEST_CHECK(stores > 0);
    }
}

#endif
