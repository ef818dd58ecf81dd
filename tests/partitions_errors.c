/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Partitioned requests that are misused, in a ring: each wrong argument has an error that names it,
 * and changes nothing; ends that do not fit fail their match, and others match after them; and a
 * peer that frees its end ends waits. Where all goes by the channel cxi, queues of its type take no
 * such requests.
 */
#include "mtest.h"

#include <limits.h>
#include <mpix_queue_partitions.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 9, N = 4 };

static int from, to;
static int out[2 * N], in[2 * N];

static void make(MPI_Request both[2], int n_out, int n_in, int count)
{
    MTEST_OK(MPIX_Psend_init(out, n_out, count, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &both[0]));
    MTEST_OK(MPIX_Precv_init(in, n_in, count, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &both[1]));
}

static void unmake(MPI_Request both[2])
{
    MTEST_OK(MPI_Request_free(&both[0]));
    MTEST_OK(MPI_Request_free(&both[1]));
}

static void arguments(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Info info;

    MTEST_KIND_TEXT(
        MPIX_Psend_init(out, -1, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &r),
        MPIXQ_ERR_ARG, "partitions");
    MTEST_KIND_TEXT(
        MPIX_Psend_init(out, 3, LLONG_MAX / 2, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &r),
        MPIXQ_ERR_ARG, "partitions");
    MTEST_KIND_TEXT(
        MPIX_Psend_init(out, 1, -1, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &r),
        MPIXQ_ERR_ARG, "count");
    MTEST_KIND_TEXT(
        MPIX_Psend_init(out, 1, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, NULL),
        MPIXQ_ERR_ARG, "request");
    MTEST_KIND_TEXT(
        MPIX_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &r),
        MPIXQ_ERR_ARG, "source");
    MTEST_KIND_TEXT(
        MPIX_Precv_init(in, 1, 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &r),
        MPIXQ_ERR_ARG, "tag");
    MTEST_CLASS(
        MPIX_Psend_init(out, 1, 1, MPI_INT, mtest_size, TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &r),
        MPI_ERR_RANK);
    MTEST_OK(MPI_Info_create(&info));
    for (int i = 0; i < 3; i++) {
        static const char *const wrong[] = {"0", "1025", "4x"};

        MTEST_OK(MPI_Info_set(info, "mpixq_partitions", wrong[i]));
        MTEST_KIND_TEXT(MPIX_Psend_init(out, 1, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, info, &r),
                        MPIXQ_ERR_ARG, "mpixq_partitions");
    }
    MTEST_OK(MPI_Info_free(&info));
    MTEST_CHECK(r == MPI_REQUEST_NULL);
}

/* Of requests that are not, or not yet, matched. */
static void unmatched(void)
{
    MPI_Request both[2], plain;
    int flag = -1;

    make(both, N, N, 1);
    MTEST_OK(MPI_Send_init(out, 1, MPI_INT, to, TAG, MPI_COMM_WORLD, &plain));
    MTEST_KIND_TEXT(MPI_Start(&both[0]), MPIXQ_ERR_STATE, "not matched");
    MTEST_KIND_TEXT(MPI_Startall(2, both), MPIXQ_ERR_STATE, "not matched");
    MTEST_KIND_TEXT(MPIX_Pready(0, both[0]), MPIXQ_ERR_STATE, "not started");
    MTEST_KIND_TEXT(MPIX_Pbuf_prepare(both[0]), MPIXQ_ERR_STATE, "not started");
    MTEST_OK(MPIX_Parrived(both[1], 0, &flag));
    MTEST_EQ(flag, 1);
    MTEST_KIND_TEXT(MPIX_Pready(0, plain), MPIXQ_ERR_REQUEST, "not a partitioned");
    MTEST_KIND_TEXT(MPIX_Pready_range(0, 1, MPI_REQUEST_NULL), MPIXQ_ERR_REQUEST,
                    "not a partitioned");
    MTEST_KIND_TEXT(MPIX_Parrived(plain, 0, &flag), MPIXQ_ERR_REQUEST, "not a partitioned");
    MTEST_KIND_TEXT(MPIX_Pbuf_prepare(plain), MPIXQ_ERR_REQUEST, "not a partitioned");
    flag = -1;
    MTEST_OK(MPIX_Parrived(MPI_REQUEST_NULL, 7, &flag));
    MTEST_EQ(flag, 1);
    MTEST_OK(MPI_Request_free(&plain));
    unmake(both);
}

/* Refused partitions are not ready: all of them can be made ready behind it. */
static void partitions(void)
{
    static const int twice[] = {1, 2, 1}, beyond[] = {3, N};
    MPI_Request both[2];
    int flag = -1;

    make(both, N, 2, 1);
    unmake(both); /* never matched */
    make(both, N, N, 1);
    MTEST_OK(MPIX_Matchall(2, both));
    MTEST_KIND_TEXT(MPIX_Pready(0, both[0]), MPIXQ_ERR_STATE, "not started");
    memset(in, -1, sizeof in);
    for (int i = 0; i < N; i++) {
        out[i] = 10 * mtest_rank + i;
    }
    MTEST_OK(MPI_Startall(2, both));
    MTEST_KIND_TEXT(MPIX_Pready(-1, both[0]), MPIXQ_ERR_ARG, "argument partition");
    MTEST_KIND_TEXT(MPIX_Pready(N, both[0]), MPIXQ_ERR_ARG, "argument partition");
    MTEST_KIND_TEXT(MPIX_Pready_range(2, 1, both[0]), MPIXQ_ERR_ARG, "partition_low");
    MTEST_KIND_TEXT(MPIX_Pready_range(2, N, both[0]), MPIXQ_ERR_ARG, "argument partition");
    MTEST_KIND_TEXT(MPIX_Pready_range(INT_MIN, INT_MAX, both[0]), MPIXQ_ERR_ARG,
                    "argument partition");
    MTEST_KIND_TEXT(MPIX_Pready_list(3, twice, both[0]), MPIXQ_ERR_STATE, "ready already");
    MTEST_KIND_TEXT(MPIX_Pready_list(2, beyond, both[0]), MPIXQ_ERR_ARG, "argument partition");
    MTEST_KIND_TEXT(MPIX_Pready_list(-1, twice, both[0]), MPIXQ_ERR_ARG, "length");
    MTEST_KIND_TEXT(MPIX_Pready_list(1, NULL, both[0]), MPIXQ_ERR_ARG, "array_of_partitions");
    MTEST_KIND_TEXT(MPIX_Pready(0, both[1]), MPIXQ_ERR_REQUEST, "a receive");
    MTEST_KIND_TEXT(MPIX_Parrived(both[0], 0, &flag), MPIXQ_ERR_REQUEST, "a send");
    MTEST_KIND_TEXT(MPIX_Parrived(both[1], N, &flag), MPIXQ_ERR_ARG, "argument partition");
    MTEST_KIND_TEXT(MPIX_Parrived(both[1], 0, NULL), MPIXQ_ERR_ARG, "flag");
    MTEST_OK(MPIX_Pready_list(0, NULL, both[0]));
    MTEST_OK(MPIX_Pready_list(2, twice, both[0]));
    MTEST_KIND_TEXT(MPIX_Pready(1, both[0]), MPIXQ_ERR_STATE, "ready already");
    MTEST_OK(MPIX_Pready(0, both[0]));
    MTEST_OK(MPIX_Pready(3, both[0]));
    MTEST_OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    for (int i = 0; i < N; i++) {
        MTEST_EQ(in[i], 10 * from + i);
    }
    MTEST_KIND_TEXT(MPIX_Pready(1, both[0]), MPIXQ_ERR_STATE, "not started");
    unmake(both);
}

/* Ends of different sizes in all, and then others of the same envelope. */
static void sizes(void)
{
    MPI_Request both[2];

    make(both, N, N + 1, 1);
    MTEST_KIND_TEXT(MPIX_Matchall(2, both), MPIXQ_ERR_MATCH, "same size");
    MTEST_KIND_TEXT(MPI_Start(&both[0]), MPIXQ_ERR_STATE, "not matched");
    unmake(both);
    make(both, N, N, 1);
    MTEST_OK(MPIX_Matchall(2, both));
    MTEST_OK(MPI_Startall(2, both));
    MTEST_OK(MPIX_Pready_range(0, N - 1, both[0]));
    MTEST_OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    unmake(both);
}

/* The peer frees its end while this one starts once more: no start completes, and none blocks. */
static void peer_frees(void)
{
    MPI_Request both[2];
    MPI_Status status;

    make(both, N, N, 1);
    MTEST_OK(MPIX_Matchall(2, both));
    if (mtest_rank % 2 == 0) {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPI_Request_free(&both[0]));
        MTEST_OK(MPI_Request_free(&both[1]));
    } else {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPI_Startall(2, both));
        MTEST_OK(MPIX_Pready_range(0, N - 1, both[0]));
        MTEST_KIND(MPI_Wait(&both[1], &status), MPIXQ_ERR_COMM); /* of whichever part fails first */
        MTEST_KIND(MPI_Wait(&both[0], &status), MPIXQ_ERR_COMM);
        MTEST_OK(MPI_Request_free(&both[0]));
        MTEST_OK(MPI_Request_free(&both[1]));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A queue starts them by a thread of the host, whichever channels their messages go by. */
static void types(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request both[2];

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    make(both, N, N, 1);
    MTEST_OK(MPIX_Matchall(2, both));
    for (int i = 0; i < 2; i++) {
        MTEST_KIND_TEXT(MPIX_Enqueue_start(queue, &both[i]), MPIXQ_ERR_UNSUPPORTED,
                        "type of the queue");
    }
    MTEST_OK(MPI_Startall(2, both));
    MTEST_OK(MPIX_Pready_range(0, N - 1, both[0]));
    MTEST_OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    unmake(both);
    MTEST_OK(MPIX_Queue_free(&queue));
}

int main(int argc, char **argv)
{
    const char *channels = getenv("MPIXQ_CHANNELS");

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    from = (mtest_rank + mtest_size - 1) % mtest_size;
    to = (mtest_rank + 1) % mtest_size;
    arguments();
    unmatched();
    partitions();
    sizes();
    if (channels != NULL && strcmp(channels, "cxi") == 0) {
        types();
    }
    if (mtest_size == 2) {
        peer_frees();
    }
    return mtest_end();
}
