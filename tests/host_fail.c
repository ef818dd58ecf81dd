/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The failure of a request that the host has started reaches the call that starts or completes
 * it, on both sides and by every function, and nobody waits for ever: MPI fails, here or at the
 * peer, or the peer frees its end. What was in the same array goes on. Argument 1: the thread
 * level, multiple or single.
 */
#include "mtest.h"

#include <stdio.h>
#include <string.h>

#include "inject.h"

enum { TAG = 8, WAYS = 9, BIG = 200000 };

/* In the array: what fails, a matched and a plain receive that never complete, a plain one that
 * does, and null. */
enum { BAD, NEVER, PLAIN, GOOD, NONE, N };

static const char *const way_names[WAYS] = {"Wait",    "Test",     "Waitany",
                                            "Testany", "Waitsome", "Testsome",
                                            "Waitall", "Testall",  "get_status"};

/* Until the call gives an error. */
static int complete(int way, MPI_Request r[N], MPI_Status s[N], int *index,
                    struct mtest_errors *before)
{
    int n = 0, indices[N], flag = 0, rc = MPI_SUCCESS;
    unsigned tries = 0;

    while (rc == MPI_SUCCESS) {
        *before = mtest_errors();
        switch (way) {
        case 0:
            rc = MPI_Wait(&r[BAD], &s[0]);
            break;
        case 1:
            rc = MPI_Test(&r[BAD], &flag, &s[0]);
            break;
        case 2:
            rc = MPI_Waitany(NEVER + 1, r, index, &s[0]);
            break;
        case 3:
            rc = MPI_Testany(NEVER + 1, r, index, &flag, &s[0]);
            break;
        case 4:
            rc = MPI_Waitsome(NEVER + 1, r, &n, indices, s);
            break;
        case 5:
            rc = MPI_Testsome(NEVER + 1, r, &n, indices, s);
            break;
        case 6:
            rc = MPI_Waitall(N, r, s);
            break;
        case 7:
            rc = MPI_Testall(N, r, &flag, s);
            break;
        default:
            rc = MPI_Request_get_status(r[BAD], &flag, &s[0]);
        }
        mtest_backoff(&tries);
    }
    if (way == 4 || way == 5) {
        MTEST_EQ(n, 1);
        *index = indices[0];
    }
    return rc;
}

/* The call has failed for the first element only. */
static void expect_failure(int way, MPI_Request r[N])
{
    struct mtest_errors before;
    MPI_Status s[N];
    int index = BAD, rc = complete(way, r, s, &index, &before), class = MPI_SUCCESS;

    MTEST_EQ(index, BAD);
    if (way < 4 || way == 8) {
        mtest_kind(__FILE__, __LINE__, way_names[way], rc, MPIXQ_ERR_COMM, NULL, before);
    } else {
        mtest_class(__FILE__, __LINE__, way_names[way], rc, MPI_ERR_IN_STATUS, before);
        MTEST_EQ(mtest_kind_of(s[0].MPI_ERROR), MPIXQ_ERR_COMM);
    }
    if (way == 6 || way == 7) {
        MTEST_OK(MPI_Error_class(s[NEVER].MPI_ERROR, &class));
        MTEST_EQ(class, MPI_ERR_PENDING);
        MTEST_OK(MPI_Error_class(s[PLAIN].MPI_ERROR, &class));
        MTEST_EQ(class, MPI_ERR_PENDING);
        MTEST_OK(MPI_Error_class(s[GOOD].MPI_ERROR, &class));
        MTEST_EQ(class == MPI_SUCCESS, r[GOOD] == MPI_REQUEST_NULL);
        MTEST_EQ(s[NONE].MPI_ERROR, MPI_SUCCESS);
        MTEST_CHECK(r[BAD] != MPI_REQUEST_NULL && r[PLAIN] != MPI_REQUEST_NULL);
    }
}

/* What the failed request is good for, and that the others are as they were. */
static void expect_after(MPI_Request r[N], int way)
{
    MPI_Request copy[2];
    int flag = -1;

    copy[0] = r[NEVER];
    copy[1] = r[BAD];
    if (way == 8) {
        MTEST_KIND(MPI_Wait(&r[BAD], MPI_STATUS_IGNORE), MPIXQ_ERR_COMM);
    }
    MTEST_KIND(MPI_Start(&r[BAD]), MPIXQ_ERR_COMM);
    MTEST_KIND(MPI_Wait(&r[BAD], MPI_STATUS_IGNORE), MPIXQ_ERR_COMM);
    MTEST_KIND(MPI_Waitall(2, copy, MPI_STATUSES_IGNORE), MPIXQ_ERR_COMM);
    MTEST_OK(MPI_Test(&r[NEVER], &flag, MPI_STATUS_IGNORE));
    MTEST_EQ(flag, 0);
    MTEST_OK(MPI_Request_free(&r[BAD]));
    MTEST_OK(MPI_Request_free(&r[NEVER])); /* active still */
    MTEST_OK(MPI_Cancel(&r[PLAIN]));
    MTEST_OK(MPI_Wait(&r[PLAIN], MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Wait(&r[GOOD], MPI_STATUS_IGNORE));
}

/* The peer's start fails in MPI, or the peer frees its end. */
enum cause { START, FREED, CAUSES };

static void run_sender(enum cause cause)
{
    MPI_Request r[2];
    int out[2] = {1, 2}, class = MPI_SUCCESS, rc;

    MTEST_OK(MPI_Ssend_init(&out[0], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&out[1], 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPI_Send(&out[1], 1, MPI_INT, 1, TAG + 1, MPI_COMM_WORLD));
    if (cause == START) {
        struct mtest_errors before = mtest_errors();

        inject_start_failure(1);
        rc = MPI_Start(&r[0]);
        mtest_class(__FILE__, __LINE__, "MPI_Start", rc, MTEST_ANY_CLASS, before);
        MTEST_EQ(inject_stop(), 1);
        MTEST_KIND(MPI_Start(&r[0]), MPIXQ_ERR_COMM);
        MTEST_OK(MPI_Error_class(rc, &class));
        MTEST_EQ(class, MPI_ERR_INTERN); /* MPI's own */
    }
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPI_Request_free(&r[1]));
}

static void run_receiver(int way)
{
    MPI_Request r[N], both[2];
    int in[N] = {0};

    r[NONE] = MPI_REQUEST_NULL;
    MTEST_OK(MPI_Recv_init(&in[BAD], 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &r[BAD]));
    MTEST_OK(MPI_Recv_init(&in[NEVER], 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &r[NEVER]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPI_Irecv(&in[PLAIN], 1, MPI_INT, 0, TAG + 2, MPI_COMM_WORLD, &r[PLAIN]));
    MTEST_OK(MPI_Irecv(&in[GOOD], 1, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD, &r[GOOD]));
    both[0] = r[BAD];
    both[1] = r[NEVER];
    MTEST_OK(MPI_Startall(2, both));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    expect_failure(way, r);
    expect_after(r, way);
    MTEST_EQ(in[GOOD], 2);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A synchronous send whose receiver frees its end. */
static void run_freed_receiver(int way)
{
    static int data[BIG];
    MPI_Request r[N];
    MPI_Status status;

    for (int i = 0; i < N; i++) {
        r[i] = MPI_REQUEST_NULL;
    }
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Ssend_init(data, BIG, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r[0]));
        MTEST_OK(MPIX_Match(&r[0]));
        /* What was received before is no failure, however late it is looked at. */
        MTEST_OK(MPI_Start(&r[0]));
        MTEST_OK(MPI_Wait(&r[0], &status));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPI_Start(&r[0]));
        if (way != 6 && way != 7) {
            expect_failure(way, r);
        } else {
            MTEST_CLASS(MPI_Waitall(1, r, &status), MPI_ERR_IN_STATUS);
        }
    } else {
        MTEST_OK(MPI_Recv_init(data, BIG, MPI_INT, 0, TAG, MPI_COMM_WORLD, &r[0]));
        MTEST_OK(MPIX_Match(&r[0]));
        MTEST_OK(MPI_Start(&r[0]));
        MTEST_OK(MPI_Wait(&r[0], &status));
        MTEST_OK(MPI_Request_free(&r[0]));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (r[0] != MPI_REQUEST_NULL) {
        MTEST_OK(MPI_Request_free(&r[0]));
    }
}

/* Both ends here; either is freed first. */
static void run_alone(int freed)
{
    MPI_Request r[2];
    int in = -1, out = 6;

    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, mtest_rank, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, mtest_rank, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPI_Startall(2, r));
    MTEST_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    MTEST_EQ(in, 6);
    MTEST_OK(MPI_Request_free(&r[freed]));
    MTEST_OK(MPI_Start(&r[1 - freed]));
    MTEST_KIND_TEXT(MPI_Wait(&r[1 - freed], MPI_STATUS_IGNORE), MPIXQ_ERR_COMM, "has freed");
    MTEST_OK(MPI_Request_free(&r[1 - freed]));
}

/* In one Testall with a request that has failed, matches that have: it completes them and says so.
 */
static void run_failed_matches(void)
{
    MPI_Request r[2], small, large, all[3];
    MPI_Status s[3];
    int in = -1, out[2] = {7, 8}, flag = 0, rc, class = MPI_SUCCESS;
    struct mtest_errors before;

    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, mtest_rank, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(out, 1, MPI_INT, mtest_rank, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, mtest_rank, TAG, MPI_COMM_WORLD, &small));
    MTEST_OK(MPI_Send_init(out, 2, MPI_INT, mtest_rank, TAG, MPI_COMM_WORLD, &large));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(MPI_Start(&r[0]));
    all[0] = r[0];
    MTEST_OK(MPIX_Imatch(&small, &all[1]));
    MTEST_OK(MPIX_Imatch(&large, &all[2]));
    for (int i = 1; i < 3; i++) {
        for (flag = 0; !flag;) {
            MTEST_OK(MPI_Request_get_status(all[i], &flag, MPI_STATUS_IGNORE));
        }
    }
    before = mtest_errors();
    rc = MPI_Testall(3, all, &flag, s);
    mtest_class(__FILE__, __LINE__, "MPI_Testall", rc, MPI_ERR_IN_STATUS, before);
    MTEST_EQ(mtest_kind_of(s[0].MPI_ERROR), MPIXQ_ERR_COMM);
    for (int i = 1; i < 3; i++) {
        MTEST_OK(MPI_Error_class(s[i].MPI_ERROR, &class));
        MTEST_EQ(class, MPI_ERR_TRUNCATE);
        MTEST_CHECK(all[i] == MPI_REQUEST_NULL);
    }
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&small));
    MTEST_OK(MPI_Request_free(&large));
}

/* A buffered send without a buffer fails as MPI says; the pair is lost, and the peer told. Late: it
 * has likely heard of that when it starts its receive, and its wait fails all the same. */
static void run_unbuffered(bool late)
{
    static int data[BIG];
    MPI_Request r = MPI_REQUEST_NULL;
    struct mtest_errors before;
    int rc, flag, looks = late ? 100 : 0;
    unsigned tries = 0;

    if (mtest_rank == 0) {
        MTEST_OK(MPI_Bsend_init(data, BIG, MPI_INT, 1, TAG, MPI_COMM_WORLD, &r));
        MTEST_OK(MPIX_Match(&r));
        MTEST_OK(late ? MPI_SUCCESS : MPI_Barrier(MPI_COMM_WORLD));
        MTEST_CLASS(MPI_Start(&r), MPI_ERR_BUFFER);
        MTEST_OK(late ? MPI_Barrier(MPI_COMM_WORLD) : MPI_SUCCESS);
    } else {
        MTEST_OK(MPI_Recv_init(data, BIG, MPI_INT, 0, TAG, MPI_COMM_WORLD, &r));
        MTEST_OK(MPIX_Match(&r));
        MTEST_OK(late ? MPI_Barrier(MPI_COMM_WORLD) : MPI_SUCCESS);
        for (; looks > 0; looks--) { /* hears of its peer meanwhile */
            MTEST_OK(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
            mtest_backoff(&tries);
        }
        before = mtest_errors();
        rc = MPI_Start(&r);
        if (!late || rc == MPI_SUCCESS) {
            MTEST_OK(rc);
        } else {
            mtest_kind(__FILE__, __LINE__, "MPI_Start", rc, MPIXQ_ERR_COMM, NULL, before);
        }
        MTEST_OK(late ? MPI_SUCCESS : MPI_Barrier(MPI_COMM_WORLD));
        MTEST_KIND(MPI_Wait(&r, MPI_STATUS_IGNORE), MPIXQ_ERR_COMM);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPI_Request_free(&r));
}

/* MPI fails to test or complete: the error is MPI's own. */
static void run_completion(int array)
{
    MPI_Request r[2];
    MPI_Status s[2];
    int in = -1, out = 3;

    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, 1 - mtest_rank, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, 1 - mtest_rank, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    inject_test_failure(1);
    MTEST_OK(MPI_Start(&r[0]));
    if (array) {
        MTEST_CLASS(MPI_Waitall(1, r, s), MPI_ERR_IN_STATUS);
        MTEST_CHECK(s[0].MPI_ERROR != MPI_SUCCESS);
    } else {
        MTEST_CLASS(MPI_Wait(&r[0], s), MTEST_ANY_CLASS);
    }
    MTEST_EQ(inject_stop(), 1);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

int main(int argc, char **argv)
{
    int single = argc > 1 && strcmp(argv[1], "single") == 0;

    mtest_begin(&argc, &argv, single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE);
    for (int way = 0; way < WAYS; way++) {
        int before = mtest_failures();

        for (enum cause cause = START; cause < CAUSES; cause++) {
            if (mtest_rank == 0) {
                run_sender(cause);
            } else {
                run_receiver(way);
            }
        }
        run_freed_receiver(way);
        if (mtest_failures() > before) {
            fprintf(stderr, "rank %d: by %s\n", mtest_rank, way_names[way]);
        }
    }
    run_alone(0);
    run_alone(1);
    run_failed_matches();
    run_unbuffered(false);
    run_unbuffered(true);
    run_completion(0);
    run_completion(1);
    return mtest_end();
}
