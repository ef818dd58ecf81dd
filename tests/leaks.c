/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a program forgot to free is reported on standard error by MPI_Finalize, which ends all the
 * same. Argument 1: nothing, idle (live objects), receive (one that never completes), send (a large
 * one that nobody receives), match (one that nobody answers), gate (a stream with much to do),
 * host (a receive that the host started, and a send that it started and freed), shared (two queues
 * with a receive each on one stream).
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtest_gpu.h"

enum { TAG = 1, BIG = 8 << 20 };

static void leave(const char *what)
{
    static int *in;
    static int *out;
    static char *big;
    static struct mtest_gate gate;
    static MPIX_Queue queue;
    static MPIX_Host_stream stream;
    static MPI_Request r[2];
    static MPI_Request more[2];
    static MPI_Request match;
    int peer = 1 - mtest_rank;

    in = mtest_gpu_array(sizeof(*in));
    out = mtest_gpu_array(sizeof(*out));
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_FALLBACK, &stream));
    if (strcmp(what, "match") == 0) {
        MTEST_OK(MPI_Recv_init(in, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[0]));
        MTEST_OK(MPIX_Imatch(&r[0], &match));
        return;
    }
    big = mtest_gpu_array(BIG);
    if (strcmp(what, "send") == 0) {
        MTEST_OK(MPI_Recv_init(big, BIG / 2, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &r[0]));
        MTEST_OK(MPI_Send_init(big + BIG / 2, BIG / 2, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &r[1]));
    } else {
        MTEST_OK(MPI_Recv_init(in, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[0]));
        MTEST_OK(MPI_Send_init(out, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[1]));
    }
    MTEST_OK(MPIX_Matchall(2, r));
    if (strcmp(what, "shared") == 0) {
        static MPIX_Queue second;

        MTEST_OK(MPIX_Queue_init(&second, MPIX_QUEUE_FALLBACK, &stream));
        MTEST_OK(MPI_Recv_init(in, 1, MPI_INT, peer, TAG + 1, MPI_COMM_WORLD, &more[0]));
        MTEST_OK(MPI_Send_init(out, 1, MPI_INT, peer, TAG + 1, MPI_COMM_WORLD, &more[1]));
        MTEST_OK(MPIX_Matchall(2, more));
        MTEST_OK(MPIX_Enqueue_start(queue, &r[0]));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r[0]));
        MTEST_OK(MPIX_Enqueue_start(second, &more[0]));
        MTEST_OK(MPIX_Enqueue_wait(second, &more[0]));
    } else if (strcmp(what, "receive") == 0) {
        MTEST_OK(MPIX_Enqueue_start(queue, &r[0]));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r[0]));
    } else if (strcmp(what, "send") == 0) {
        MTEST_OK(MPIX_Enqueue_start(queue, &r[1]));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r[1]));
    } else if (strcmp(what, "host") == 0) {
        MTEST_OK(MPI_Recv_init(in, 1, MPI_INT, peer, TAG + 1, MPI_COMM_WORLD, &more[0]));
        MTEST_OK(MPI_Ssend_init(out, 1, MPI_INT, peer, TAG + 1, MPI_COMM_WORLD, &more[1]));
        MTEST_OK(MPIX_Matchall(2, more));
        MTEST_OK(MPI_Start(&r[0]));
        MTEST_OK(MPI_Start(&more[1]));
        MTEST_OK(MPI_Request_free(&more[1]));
    } else if (strcmp(what, "gate") == 0) {
        atomic_store(&gate.open, 1);
        for (int i = 0; i < 100; i++) {
            MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
            MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
            MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
        }
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "nothing";
    char text[8192] = "", first[100];
    int code;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (strcmp(what, "nothing") != 0) {
        leave(what);
    } else {
        MPIX_Queue queue = MPIX_QUEUE_NULL;

        MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
        MTEST_EXCHANGE(queue, MPI_COMM_WORLD, 1 - mtest_rank);
        MTEST_OK(MPIX_Queue_free(&queue));
    }
    code = mtest_verdict();
    mtest_capture();
    MPI_Finalize();
    mtest_captured(text, sizeof text);
    if (strcmp(what, "nothing") == 0) {
        MTEST_CHECK(text[0] == '\0');
    } else {
        MTEST_CHECK(strstr(text, "queue") != NULL);
        MTEST_CHECK(strstr(text, "request") != NULL);
        /* Of no consequence. */
        MTEST_EQ(strstr(text, "host streams") != NULL,
                 getenv("MPIXQ_LOG") != NULL && strcmp(getenv("MPIXQ_LOG"), "info") == 0);
        /* Who did not receive, if this end did not hear of the other's before: by both ranks. */
        (void)snprintf(first, sizeof first, "send to %d tag %d (rank %d of MPI_COMM_WORLD, ",
                       1 - mtest_rank, strcmp(what, "host") == 0 ? TAG + 1 : TAG, 1 - mtest_rank);
        MTEST_EQ(strstr(text, first) != NULL, strstr(text, "never received") != NULL);
    }
    return mtest_failures() > 0 ? 1 : code;
}
