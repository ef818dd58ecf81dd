/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The request of MPIX_Imatch is completed by every MPI_Wait and MPI_Test function, alone and among
 * ordinary requests; a match that failed is reported by each of them in its own way.
 */
#include "mtest.h"

#include <stdio.h>

#include "mtest_gpu.h"

enum { TAG = 1, WAYS = 8 };

static const char *const way_names[WAYS] = {"Wait",     "Test",     "Waitany", "Testany",
                                            "Waitsome", "Testsome", "Waitall", "Testall"};

/* Requests given to the array forms: an ordinary receive, a null handle, the match. */
enum { OTHER = 0, NONE = 1, MATCH = 2, N = 3 };

struct outcome {
    int rc;
    struct mtest_errors before;
    MPI_Status statuses[2 * N];
    int done;
    int indices[N];
};

/* Polled until the library says done or gives an error. */
static void poll_once(int way, MPI_Request r[N], struct outcome *o)
{
    int index = MPI_UNDEFINED;
    int flag = 0;
    unsigned tries = 0;

    while (!flag && o->rc == MPI_SUCCESS) {
        o->before = mtest_errors();
        if (way == 1) {
            o->rc = MPI_Test(&r[MATCH], &flag, &o->statuses[MATCH]);
        } else if (way == 3) {
            o->rc = MPI_Testany(1, &r[MATCH], &index, &flag, &o->statuses[MATCH]);
        } else if (way == 5) {
            o->rc = MPI_Testsome(1, &r[MATCH], &o->done, o->indices, &o->statuses[MATCH]);
            flag = o->done != 0;
        } else {
            o->rc = MPI_Testall(N, r, &flag, o->statuses);
        }
        mtest_backoff(&tries);
    }
    if (way == 3 && o->rc == MPI_SUCCESS) {
        MTEST_EQ(index, 0);
    }
}

static void complete(int way, MPI_Request r[N], struct outcome *o)
{
    int index = MPI_UNDEFINED;

    o->rc = MPI_SUCCESS;
    o->done = 0;
    o->before = mtest_errors();
    switch (way) {
    case 0:
        o->rc = MPI_Wait(&r[MATCH], &o->statuses[MATCH]);
        break;
    case 2:
        o->rc = MPI_Waitany(2, &r[NONE], &index, &o->statuses[MATCH]);
        MTEST_EQ(index, 1);
        break;
    case 4:
        o->rc = MPI_Waitsome(2, &r[NONE], &o->done, o->indices, &o->statuses[MATCH]);
        MTEST_EQ(o->done, 1);
        MTEST_EQ(o->indices[0], 1);
        break;
    case 6:
        o->rc = MPI_Waitall(N, r, o->statuses);
        break;
    default:
        poll_once(way, r, o);
    }
}

/* A match together with an ordinary message; bad: the receive is too short for its send. */
static void run(int way, int bad)
{
    int peer = 1 - mtest_rank;
    int *data = mtest_gpu_array(4 * sizeof(*data));
    int in = 0;
    int out = 8;
    MPI_Request pair[2];
    MPI_Request r[N] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request sent = MPI_REQUEST_NULL;
    struct outcome o;
    int before = mtest_failures();

    MTEST_OK(MPI_Recv_init(data, bad ? 1 : 2, MPI_INT, peer, TAG, MPI_COMM_WORLD, &pair[0]));
    MTEST_OK(MPI_Send_init(data + 2, 2, MPI_INT, peer, TAG, MPI_COMM_WORLD, &pair[1]));
    MTEST_OK(MPI_Irecv(&in, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[OTHER]));
    MTEST_OK(MPI_Isend(&out, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &sent));
    MTEST_OK(MPIX_Imatchall(2, pair, &r[MATCH]));
    MTEST_CHECK(r[MATCH] != MPI_REQUEST_NULL);
    complete(way, r, &o);
    if (!bad) {
        mtest_ok(__FILE__, __LINE__, way_names[way], o.rc, o.before);
    } else if (way < 4) {
        mtest_class(__FILE__, __LINE__, way_names[way], o.rc, MPI_ERR_TRUNCATE, o.before);
    } else {
        int class = MPI_SUCCESS;

        mtest_class(__FILE__, __LINE__, way_names[way], o.rc, MPI_ERR_IN_STATUS, o.before);
        MTEST_OK(MPI_Error_class(o.statuses[MATCH].MPI_ERROR, &class));
        MTEST_EQ(class, MPI_ERR_TRUNCATE);
        if (way >= 6) {
            MTEST_EQ(o.statuses[OTHER].MPI_ERROR, MPI_SUCCESS);
        }
    }
    MTEST_CHECK(r[MATCH] == MPI_REQUEST_NULL);
    if (way >= 6) {
        MTEST_CHECK(r[OTHER] == MPI_REQUEST_NULL);
    }
    MTEST_OK(MPI_Wait(&r[OTHER], MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
    MTEST_EQ(in, 8);
    for (int i = 0; i < 2; i++) {
        int flag = -1;

        MTEST_OK(MPIX_Is_matched(pair[i], &flag));
        MTEST_EQ(flag, !bad);
        MTEST_OK(MPI_Request_free(&pair[i]));
    }
    if (mtest_failures() > before) {
        fprintf(stderr, "rank %d: failed: MPI_%s%s\n", mtest_rank, way_names[way],
                bad ? ", truncation" : "");
    }
}

/* Several matches completed by one call, one of them failing; statuses ignored. */
static void test_several(void)
{
    enum { M = 4, BAD = 2 };
    int peer = 1 - mtest_rank;
    int *data = mtest_gpu_array(2 * sizeof(*data));
    MPI_Request pair[M][2];
    MPI_Request match[M];

    for (int i = 0; i < M; i++) {
        MTEST_OK(
            MPI_Recv_init(data, i == BAD ? 0 : 1, MPI_INT, peer, i, MPI_COMM_WORLD, &pair[i][0]));
        MTEST_OK(MPI_Send_init(data + 1, 1, MPI_INT, peer, i, MPI_COMM_WORLD, &pair[i][1]));
        MTEST_OK(MPIX_Imatchall(2, pair[i], &match[i]));
    }
    MTEST_CLASS(MPI_Waitall(M, match, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
    for (int i = 0; i < M; i++) {
        MTEST_CHECK(match[i] == MPI_REQUEST_NULL);
        MTEST_OK(MPI_Request_free(&pair[i][0]));
        MTEST_OK(MPI_Request_free(&pair[i][1]));
    }
}

/* It cannot be cancelled, and the handles that were matched need not stay where they were. */
static void test_cancel(void)
{
    int peer = 1 - mtest_rank;
    int *data = mtest_gpu_array(2 * sizeof(*data));
    int cancelled = -1;
    int flag = 0;
    MPI_Request keep[2];
    MPI_Request match = MPI_REQUEST_NULL;
    MPI_Status status;

    {
        MPI_Request pair[2];

        MTEST_OK(MPI_Recv_init(&data[0], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &pair[0]));
        MTEST_OK(MPI_Send_init(&data[1], 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &pair[1]));
        keep[0] = pair[0];
        keep[1] = pair[1];
        MTEST_OK(MPIX_Imatchall(2, pair, &match));
        pair[0] = pair[1] = MPI_REQUEST_NULL;
    }
    struct mtest_errors before = mtest_errors();
    int rc = MPI_Cancel(&match);

    if (rc != MPI_SUCCESS) {
        mtest_kind(__FILE__, __LINE__, "MPI_Cancel", rc, MPIXQ_ERR_UNSUPPORTED, NULL, before);
    }
    MTEST_OK(MPI_Wait(&match, &status));
    MTEST_OK(MPI_Test_cancelled(&status, &cancelled));
    MTEST_EQ(cancelled, 0);
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Is_matched(keep[i], &flag));
        MTEST_EQ(flag, 1);
        MTEST_OK(MPI_Request_free(&keep[i]));
    }
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    for (int way = 0; way < WAYS; way++) {
        run(way, 0);
        run(way, 1);
        run(way, 0);
    }
    test_several();
    test_cancel();
    return mtest_end();
}
