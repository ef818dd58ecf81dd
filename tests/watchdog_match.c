/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The watchdog reports a match that lasts: which request, how many of its array, and what the peer
 * seems to do. The report changes nothing: once the peer matches, all is well. So it does a wait of
 * MPI for matched requests that the host has started.
 * Argument 1: multiple, or polled (below MPI_THREAD_MULTIPLE).
 */
#include "capture.h"
#include "mtest.h"

#include <string.h>

enum { TAG = 7, N = 3 };

static MPI_Comm comm = MPI_COMM_NULL; /* the ranks of MPI_COMM_WORLD in reverse */
static int data[N];

static MPI_Request make(int is_send, int peer, int tag, int i)
{
    MPI_Request r = MPI_REQUEST_NULL;

    MTEST_OK(mtest_init_raw(is_send ? MTEST_SEND : MTEST_RECV, &data[i], 1, MPI_INT, peer, tag,
                            comm, &r));
    return r;
}

static void end(int n, MPI_Request r[])
{
    int flag = 0;

    for (int i = 0; i < n; i++) {
        MTEST_OK(MPIX_Is_matched(r[i], &flag));
        MTEST_EQ(flag, 1);
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Rank 0 blocks in Match, or in MPI_Wait for an Imatch; rank 1 makes no call until that is told. */
static void test_one(int is_send, int with_imatch, int tag, const char *what, const char *why)
{
    int mine = is_send == (mtest_rank == 0);
    MPI_Request r = make(mine, mtest_rank, tag, 0), match = MPI_REQUEST_NULL;

    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0 && with_imatch) {
        MTEST_OK(MPIX_Imatch(&r, &match));
        MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    } else {
        if (mtest_rank == 1) {
            CAPTURE_WAIT(0, 1, "error: watchdog: ", with_imatch ? "MPIX_Imatch" : "MPIX_Match",
                         "for 1 of 1 requests", what, "(rank 1 of MPI_COMM_WORLD, 4 bytes)", why);
        }
        MTEST_OK(MPIX_Match(&r));
    }
    end(1, &r);
}

/* The peer has begun to match a part of the array. */
static void test_array(void)
{
    MPI_Request r[N];

    for (int i = 0; i < N; i++) {
        r[i] = make(mtest_rank == 1, mtest_rank, TAG + 10 + i, i);
    }
    if (mtest_rank == 1) {
        MTEST_OK(MPIX_Match(&r[0]));
        CAPTURE_WAIT(0, 1, "MPIX_Match", "for 2 of 3 requests",
                     "the first receive from 0 tag 18 (");
        MTEST_OK(MPIX_Matchall(N - 1, r + 1));
    } else {
        MTEST_OK(MPIX_Matchall(N, r));
    }
    end(N, r);
}

/* Let this rank answer its peer until rank 0 has reported. */
static void serve(MPI_Request *match, const char *word, const char *why)
{
    const char *const words[] = {word, why, NULL};
    unsigned tries = 0;
    int flag = 0;

    while (!flag && capture_count(0, words, NULL) == 0) {
        MTEST_OK(MPI_Test(match, &flag, MPI_STATUS_IGNORE));
        mtest_backoff(&tries);
    }
    MTEST_EQ(flag, 0);
}

/* Rank 1 is alive, but what it matches does not fit: another tag. */
static void test_misfit(int is_send)
{
    int mine = is_send == (mtest_rank == 0), tag = TAG + 20 + 2 * is_send;
    MPI_Request r[2] = {make(mine, mtest_rank, tag, 0), make(mine, mtest_rank, tag + 1, 1)};
    MPI_Request match = MPI_REQUEST_NULL;

    if (mtest_rank == 0) {
        MTEST_OK(MPIX_Match(&r[0]));
        MTEST_OK(MPIX_Match(&r[1]));
    } else {
        MTEST_OK(MPIX_Imatch(&r[1], &match));
        if (is_send) {
            serve(&match, "send to 0 tag 29 (", "knows of the send and has begun no match");
        } else {
            serve(&match, "receive from 0 tag 27 (",
                  "1 others wait for their receives, the first "
                  "from 0 tag 28 (rank 1 of MPI_COMM_WORLD)");
        }
        MTEST_OK(MPIX_Match(&r[0]));
        MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    }
    end(2, r);
}

static void test_wild(void)
{
    MPI_Request r = mtest_rank == 0 ? make(0, MPI_ANY_SOURCE, MPI_ANY_TAG, 0)
                                    : make(1, mtest_rank, TAG + 30, 0);

    if (mtest_rank == 1) {
        CAPTURE_WAIT(0, 1, "the first receive from any source any tag (4 bytes)");
    }
    MTEST_OK(MPIX_Match(&r));
    end(1, &r);
}

/* Rank 1 has begun the match, and is then in no call that would answer. */
static void test_blocked(void)
{
    MPI_Request r = make(mtest_rank == 0, mtest_rank, TAG + 40, 0), match = MPI_REQUEST_NULL;

    if (mtest_rank == 0) {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPIX_Match(&r));
    } else {
        MTEST_OK(MPIX_Imatch(&r, &match));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        CAPTURE_WAIT(0, 1, "send to 0 tag 47 (", "below MPI_THREAD_MULTIPLE and is blocked");
        MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    }
    end(1, &r);
}

/* Matched requests that the host has started, and waits for by MPI. */
static void test_host(void)
{
    MPI_Request r[2];

    for (int i = 0; i < 2; i++) {
        r[i] = make(mtest_rank == 1, mtest_rank, TAG + 50 + i, i);
    }
    MTEST_OK(MPIX_Matchall(2, r));
    if (mtest_rank == 1) {
        for (int i = 0; i < 2; i++) {
            CAPTURE_WAIT(0, 1, "error: watchdog: the host has waited ",
                         i == 0 ? "for start 1 of receive from 0 tag 57 ("
                                : "for start 1 of receive from 0 tag 58 (",
                         "by channel fallback", "the peer has not started its send");
        }
    }
    MTEST_OK(MPI_Startall(2, r));
    MTEST_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    end(2, r);
}

int main(int argc, char **argv)
{
    int multiple = argc > 1 && strcmp(argv[1], "multiple") == 0;

    mtest_begin(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED);
    capture_begin();
    MTEST_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -mtest_rank, &comm));
    test_one(0, 0, TAG, "receive from 0 tag 7 (", "no peer has said that it matches a send");
    test_one(1, 0, TAG + 1, "send to 0 tag 8 (", "the peer has taken no message about it");
    test_one(0, 1, TAG + 2, "receive from 0 tag 9 (", "no peer has said that it matches a send");
    test_one(1, 1, TAG + 3, "send to 0 tag 10 (", "the peer has taken no message about it");
    test_array();
    test_misfit(0);
    test_misfit(1);
    test_wild();
    test_host();
    if (!multiple) {
        test_blocked();
    }
    MTEST_OK(MPI_Comm_free(&comm));
    capture_end();
    return mtest_end();
}
