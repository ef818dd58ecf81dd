/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Without the watchdog, a wait that has blocked a stream for MPIXQ_NOTICE_S is noticed in one line,
 * once, and so is a match that has waited for a fifth of that; nothing fails of it. Argument 1:
 * noticed (MPIXQ_NOTICE_S is 5), or off (it is 0).
 * A second argument names the channel.
 */
#include "capture.h"
#include "mtest.h"

#include <string.h>
#include <time.h>

#include "mtest_gpu.h"

/* MANY matches are more than two looks have lines for. */
enum { TAG = 7, N = 3, MANY = 70, LONG_MS = 2500 };

static int is_off;
static int *in, *out;
static const char *channel = "fallback";

static void sleep_ms(int ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

    while (nanosleep(&left, &left) != 0) {
    }
}

/* Long enough for a notice of a match, and for a second one, if there were any. */
static void wait_for_match_notice(const char *function)
{
    if (!is_off) {
        CAPTURE_WAIT(0, 1, "warning: ", function, "for 3 of 3 requests",
                     "(rank 1 of MPI_COMM_WORLD, 4 bytes)", "one MPIX_Matchall",
                     "MPIXQ_WATCHDOG_S reports more");
    }
    sleep_ms(LONG_MS);
    MTEST_EQ(CAPTURE_COUNT(0, function), !is_off);
}

static void test_match(MPI_Request r[N])
{
    for (int i = 0; i < N; i++) {
        MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_RECV : MTEST_SEND,
                                mtest_rank == 0 ? &in[i] : &out[i], 1, MPI_INT, 1 - mtest_rank,
                                TAG + i, MPI_COMM_WORLD, &r[i]));
    }
    if (mtest_rank == 1) {
        wait_for_match_notice("MPIX_Matchall has waited ");
    }
    MTEST_OK(MPIX_Matchall(N, r));
}

/* Of very many at once some are only counted, as a warning too. */
static void test_many(void)
{
    MPI_Request r[MANY], match[MANY];

    for (int i = 0; i < MANY; i++) {
        MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_RECV : MTEST_SEND, in, 0, MPI_INT,
                                1 - mtest_rank, TAG + i, MPI_COMM_WORLD, &r[i]));
        if (mtest_rank == 0) {
            MTEST_OK(MPIX_Imatch(&r[i], &match[i]));
        }
    }
    if (mtest_rank == 1 && !is_off) {
        CAPTURE_WAIT(0, 1, "warning: and ", " more. MPIXQ_WATCHDOG_S reports more");
    }
    if (mtest_rank == 1) {
        MTEST_OK(MPIX_Matchall(MANY, r));
    } else {
        MTEST_OK(MPI_Waitall(MANY, match, MPI_STATUSES_IGNORE));
        MTEST_EQ(CAPTURE_COUNT(0, "error: "), 0);
    }
    for (int i = 0; i < MANY; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

/* All three starts are missing: that is one wait, and one line. */
static void test_wait(MPI_Request r[N])
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Enqueue_startall(queue, N, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, N, r));
    } else if (!is_off) {
        CAPTURE_WAIT(0, 1, "warning: ", "start 1 of receive from 1 tag ", "by channel ", channel,
                     "the peer has not started its ", "may just need as long",
                     "MPIXQ_WATCHDOG_S reports more");
    } else {
        sleep_ms(LONG_MS);
    }
    MTEST_EQ(CAPTURE_COUNT(0, "start 1 of "), mtest_rank == 1 && !is_off);
    if (mtest_rank == 1) {
        for (int i = 0; i < N; i++) {
            out[i] = 100 + i;
        }
        MTEST_OK(MPIX_Enqueue_startall(queue, N, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, N, r));
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    for (int i = 0; mtest_rank == 0 && i < N; i++) {
        MTEST_EQ(in[i], 100 + i);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
}

int main(int argc, char **argv)
{
    MPI_Request r[N];

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    is_off = argc > 1 && strcmp(argv[1], "off") == 0;
    channel = argc > 2 ? argv[2] : channel;
    in = mtest_gpu_array(N * sizeof(*in));
    out = mtest_gpu_array(N * sizeof(*out));
    capture_begin();
    test_match(r);
    test_wait(r);
    test_many();
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < N; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    capture_end();
    return mtest_end();
}
