/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Datatype and communicator may be freed before Match, before a start and while started; requests
 * may be freed in any order and made again. Argument 1, disconnect: the communicator is
 * disconnected (MPICH 4.0 waits there for persistent requests to be freed, so not with it).
 */
#include "mtest.h"

#include <string.h>

#include "mtest_gpu.h"

enum { TAG = 2, WHEN = 4 };

struct pair {
    MPI_Comm comm;
    MPI_Datatype type;
    struct mtest_buf in;
    struct mtest_buf out;
    MPI_Request r[2];
};

/* With gaps, but not in hidden memory: what is copied through the host has none. */
static void type_make(MPI_Datatype *type)
{
    MTEST_OK(MPI_Type_vector(5, 2, mtest_gpu_hidden() ? 2 : 3, MPI_INT, type));
    MTEST_OK(MPI_Type_commit(type));
}

static void pair_make(struct pair *p, int peer)
{
    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &p->comm));
    type_make(&p->type);
    mtest_buf_make(&p->in, p->type, 2);
    mtest_buf_make(&p->out, p->type, 2);
    MTEST_OK(mtest_init(MTEST_RECV, &p->in, peer, TAG, p->comm, &p->r[0]));
    MTEST_OK(mtest_init(MTEST_SSEND, &p->out, peer, TAG, p->comm, &p->r[1]));
}

/* MPI's view of the type is gone, so the buffers get an equal one for checking. */
static void drop(struct pair *p, int disconnect)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;

    if (disconnect) {
        MTEST_OK(MPI_Comm_disconnect(&p->comm));
    } else {
        MTEST_OK(MPI_Comm_free(&p->comm));
    }
    type_make(&type);
    MTEST_OK(MPI_Type_free(&p->type));
    p->type = p->in.type = p->out.type = type;
}

/* when: 0 before Match, 1 before the first start, 2 while started, 3 between two starts. */
static void run(MPIX_Queue queue, MPIX_Host_stream stream, int peer, int when, int disconnect)
{
    struct pair p;

    pair_make(&p, peer);
    if (when == 0) {
        drop(&p, disconnect);
    }
    MTEST_OK(MPIX_Matchall(2, p.r));
    if (when == 1) {
        drop(&p, disconnect);
    }
    for (int t = 0; t < 3; t++) {
        struct mtest_gate gate = {0};

        mtest_buf_clear(&p.in);
        mtest_buf_fill(&p.out, 10 * t + mtest_rank);
        MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, p.r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, p.r));
        if ((when == 2 && t == 0) || (when == 3 && t == 1)) {
            drop(&p, disconnect);
        }
        mtest_gate_open(&gate);
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_FULL(&p.in, 10 * t + peer);
    }
    MTEST_OK(MPI_Request_free(&p.r[0]));
    MTEST_OK(MPI_Request_free(&p.r[1]));
    MTEST_OK(MPI_Type_free(&p.type));
    mtest_buf_free(&p.in);
    mtest_buf_free(&p.out);
}

/* One side frees its request; the other may not notice until it frees its own; both make new ones
 * with the same envelope that have nothing to do with the old ones. */
static void test_one_side_frees(MPIX_Queue queue, int peer)
{
    enum { ROUNDS = 50 };
    int *in = mtest_gpu_mirror(2 * sizeof(*in));
    int *out = mtest_gpu_mirror(sizeof(*out));
    MPI_Request old[2];
    MPI_Request new[2];

    for (int i = 0; i < ROUNDS; i++) {
        MTEST_OK(
            MPI_Recv_init(mtest_gpu_at(&in[0]), 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &old[0]));
        MTEST_OK(MPI_Send_init(mtest_gpu_at(out), 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &old[1]));
        MTEST_OK(MPIX_Matchall(2, old));
        if ((mtest_rank + i) % 2 == 0) {
            MTEST_OK(MPI_Request_free(&old[0]));
            MTEST_OK(MPI_Request_free(&old[1]));
        }
        in[0] = in[1] = -1;
        *out = 1000 * i + mtest_rank;
        mtest_gpu_put(in);
        mtest_gpu_put(out);
        MTEST_OK(
            MPI_Recv_init(mtest_gpu_at(&in[1]), 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &new[0]));
        MTEST_OK(MPI_Send_init(mtest_gpu_at(out), 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &new[1]));
        MTEST_OK(MPIX_Matchall(2, new));
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, new));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, new));
        MTEST_OK(MPIX_Queue_wait(queue));
        mtest_gpu_get(in);
        MTEST_EQ(in[1], 1000 * i + peer);
        MTEST_EQ(in[0], -1);
        for (int k = 0; k < 2; k++) {
            if (old[k] != MPI_REQUEST_NULL) {
                MTEST_OK(MPI_Request_free(&old[k]));
            }
            MTEST_OK(MPI_Request_free(&new[k]));
        }
    }
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    int disconnect = argc > 1 && strcmp(argv[1], "disconnect") == 0;
    int peer;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    /* A communicator with communication pending may be freed, not disconnected. */
    for (int when = 0; when < (disconnect ? 2 : WHEN); when++) {
        run(queue, stream, peer, when, disconnect);
    }
    test_one_side_frees(queue, peer);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
