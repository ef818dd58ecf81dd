/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Every send mode in both directions at once, sizes from nothing to 1 MiB, started again and again
 * without a host wait between: functions on the stream fill the buffer before each send and check
 * it after each receive.
 */
#include "mtest.h"

#include <stdio.h>

struct traffic {
    struct mtest_buf out;
    struct mtest_buf in;
    int sent;     /* used by the stream's thread only */
    int received; /* used by the stream's thread only */
};

static int seed_of(int rank, int iteration)
{
    return rank * 1000 + iteration;
}

static void fill(void *arg)
{
    struct traffic *t = arg;

    mtest_buf_fill(&t->out, seed_of(mtest_rank, t->sent));
    t->sent++;
}

static void check(void *arg)
{
    struct traffic *t = arg;

    MTEST_FULL(&t->in, seed_of(1 - mtest_rank, t->received));
    mtest_buf_clear(&t->in);
    t->received++;
}

/* Tells the peer that the receive of this iteration has started, as a ready send needs. */
struct token {
    MPI_Request r[2];
    int in;
    int out;
};

static void token_make(struct token *token, MPIX_Queue queue)
{
    (void)queue;
    MTEST_OK(
        MPI_Recv_init(&token->in, 1, MPI_INT, 1 - mtest_rank, 99, MPI_COMM_WORLD, &token->r[0]));
    MTEST_OK(
        MPI_Send_init(&token->out, 1, MPI_INT, 1 - mtest_rank, 99, MPI_COMM_WORLD, &token->r[1]));
    MTEST_OK(MPIX_Matchall(2, token->r));
}

static void token_pass(struct token *token, MPIX_Queue queue)
{
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, token->r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, token->r));
}

static void token_free(struct token *token)
{
    MTEST_OK(MPI_Request_free(&token->r[0]));
    MTEST_OK(MPI_Request_free(&token->r[1]));
}

static void run(enum mtest_mode mode, int bytes, int times, MPIX_Host_stream stream,
                MPIX_Queue queue)
{
    struct traffic t = {.sent = 0};
    struct token token;
    MPI_Request r[2];
    int before = mtest_failures();

    mtest_buf_make(&t.out, MPI_BYTE, bytes);
    mtest_buf_make(&t.in, MPI_BYTE, bytes);
    t.out.by_stream = t.in.by_stream = true;
    MTEST_OK(mtest_init(MTEST_RECV, &t.in, 1 - mtest_rank, 7, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(mtest_init(mode, &t.out, 1 - mtest_rank, 7, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    token_make(&token, queue);
    for (int i = 0; i < times; i++) {
        MTEST_OK(MPIX_Host_stream_launch(stream, fill, &t));
        mtest_buf_put_in(stream, &t.out);
        MTEST_OK(MPIX_Enqueue_start(queue, &r[0]));
        if (mode == MTEST_RSEND) {
            token_pass(&token, queue);
        }
        MTEST_OK(MPIX_Enqueue_start(queue, &r[1]));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r[0]));
        mtest_buf_get_in(stream, &t.in);
        MTEST_OK(MPIX_Host_stream_launch(stream, check, &t));
        mtest_buf_put_in(stream, &t.in);
        MTEST_OK(MPIX_Enqueue_wait(queue, &r[1]));
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    MTEST_EQ(t.received, times);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    token_free(&token);
    mtest_buf_free(&t.out);
    mtest_buf_free(&t.in);
    if (mtest_failures() > before) {
        fprintf(stderr, "rank %d: failed: %s of %d bytes\n", mtest_rank, mtest_mode_name(mode),
                bytes);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 7, 4096, 4097, 65536, 65537, 1 << 20};
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    mtest_bsend_attach((8U << 20) + 100 * MPI_BSEND_OVERHEAD);
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    for (int mode = MTEST_SEND; mode <= MTEST_RSEND; mode++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            run((enum mtest_mode)mode, sizes[s], sizes[s] > 4097 ? 4 : 40, stream, queue);
        }
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    mtest_bsend_detach();
    return mtest_end();
}
