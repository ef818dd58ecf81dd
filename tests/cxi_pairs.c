/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which pairs the channel cxi serves and which go by the fallback, both ends alike, and that the
 * data of both is right: datatypes, modes, sizes, alignment, messages that are split.
 */
#include "mtest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3, TAG = 1 };

struct pair_case {
    const char *name;
    enum mtest_mode mode;
    MPI_Datatype type;
    int send_count, receive_count;
    bool by_cxi;
};

static void count_starts(MPIX_Queue queue, long counts[2])
{
    counts[0] = mtest_queue_count(queue, "mpixq_starts_fallback");
    counts[1] = mtest_queue_count(queue, "mpixq_starts_cxi");
}

static void run(MPIX_Queue queue, const struct pair_case *c)
{
    int peer = 1 - mtest_rank;
    struct mtest_buf in, out;
    long before[2], after[2];
    MPI_Request r[2];

    mtest_buf_make(&in, c->type, c->receive_count);
    mtest_buf_make(&out, c->type, c->send_count);
    MTEST_OK(MPI_Recv_init(in.buf, c->receive_count, c->type, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(
        mtest_init_raw(c->mode, out.buf, c->send_count, c->type, peer, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    count_starts(queue, before);
    for (int k = 0; k < ROUNDS; k++) {
        mtest_buf_clear(&in);
        mtest_buf_fill(&out, 10 * k + mtest_rank);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_PART(&in, c->send_count, 10 * k + peer);
        MTEST_FULL(&out, 10 * k + mtest_rank);
    }
    count_starts(queue, after);
    if (after[1] - before[1] != (c->by_cxi ? 2 * ROUNDS : 0) ||
        after[0] - before[0] != (c->by_cxi ? 0 : 2 * ROUNDS)) {
        mtest_fail(__FILE__, __LINE__, "%s: went by the wrong channel", c->name);
    }
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    mtest_buf_free(&in);
    mtest_buf_free(&out);
}

static void test_kinds(MPIX_Queue queue)
{
    MPI_Datatype gaps, dense, dup, swapped, padded, dense_vector;
    int ones[2] = {1, 1}, backwards[2] = {1, 0};

    MTEST_OK(MPI_Type_vector(4, 1, 2, MPI_INT, &gaps));
    MTEST_OK(MPI_Type_contiguous(5, MPI_SHORT, &dense));
    MTEST_OK(MPI_Type_dup(dense, &dup));
    MTEST_OK(MPI_Type_indexed(2, ones, backwards, MPI_INT, &swapped));
    MTEST_OK(MPI_Type_create_resized(MPI_INT, 0, 12, &padded));
    MTEST_OK(MPI_Type_vector(3, 2, 2, MPI_INT, &dense_vector));

    const struct pair_case cases[] = {
        {"bytes", MTEST_SEND, MPI_BYTE, 100, 100, true},
        {"synchronous", MTEST_SSEND, MPI_INT, 7, 7, true},
        {"ready", MTEST_RSEND, MPI_INT, 7, 7, true},
        {"nothing", MTEST_SEND, MPI_INT, 0, 0, true},
        {"nothing, ready", MTEST_RSEND, MPI_INT, 0, 5, true},
        {"larger receive", MTEST_SEND, MPI_INT, 3, 11, true},
        {"contiguous", MTEST_SEND, dense, 3, 3, true},
        {"duplicate", MTEST_SEND, dup, 3, 3, true},
        {"vector without gaps", MTEST_SEND, dense_vector, 3, 3, true},
        {"vector with gaps", MTEST_SEND, gaps, 3, 3, false},
        {"other order", MTEST_SEND, swapped, 3, 3, false},
        {"padded", MTEST_SEND, padded, 3, 3, false},
        {"pair type with padding", MTEST_SEND, MPI_SHORT_INT, 3, 3, false},
        {"buffered", MTEST_BSEND, MPI_INT, 7, 7, false},
        {"split", MTEST_SEND, MPI_INT, 5 << 20, 5 << 20, true},
        {"split, ready", MTEST_RSEND, MPI_BYTE, (16 << 20) + 1, (16 << 20) + 9, true},
    };
    MPI_Datatype *const types[] = {&gaps, &dense, &dup, &swapped, &padded, &dense_vector};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        MTEST_OK(MPI_Type_commit(types[i]));
    }
    mtest_bsend_attach(1 << 16);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run(queue, &cases[i]);
    }
    mtest_bsend_detach();
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        MTEST_OK(MPI_Type_free(types[i]));
    }
}

/* A type with gaps at one end only: both ends go by the fallback, as told by either. */
static void test_one_end(MPIX_Queue queue)
{
    int peer = 1 - mtest_rank, in[8], out[4] = {1, 2, 3, 4};
    long before[2], after[2];
    MPI_Datatype gaps;
    MPI_Request r[2];

    memset(in, -1, sizeof in);
    MTEST_OK(MPI_Type_vector(4, 1, 2, MPI_INT, &gaps));
    MTEST_OK(MPI_Type_commit(&gaps));
    MTEST_OK(MPI_Recv_init(in, 1, gaps, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(out, 4, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    count_starts(queue, before);
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    count_starts(queue, after);
    MTEST_EQ(after[0] - before[0], 2);
    MTEST_EQ(after[1], before[1]);
    for (int i = 0; i < 8; i++) {
        MTEST_EQ(in[i], i % 2 == 0 && i < 8 ? i / 2 + 1 : -1);
    }
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(MPI_Type_free(&gaps));
}

/* Two receives into halves that overlap by a byte, at odd addresses, one after the other; sends
 * from the same bytes at the same time. */
static void test_overlap(MPIX_Queue queue)
{
    enum { N = 1001 };
    int peer = 1 - mtest_rank;
    unsigned char in[2 * N + 2], out[N + 3];
    MPI_Request r[4];

    for (int i = 0; i < N + 3; i++) {
        out[i] = mtest_pattern(mtest_rank, (size_t)i);
    }
    memset(in, 0xee, sizeof in);
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPI_Recv_init(in + 1 + i * (N - 1), N, MPI_BYTE, peer, i, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(MPI_Send_init(out + 1 + i, N, MPI_BYTE, peer, i, MPI_COMM_WORLD, &r[2 + i]));
    }
    MTEST_OK(MPIX_Matchall(4, r));
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Enqueue_start(queue, &r[i]));
        MTEST_OK(MPIX_Enqueue_startall(queue, 1, &r[2 + i]));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r[i]));
    }
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r + 2));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(in[0], 0xee);
    MTEST_EQ(in[2 * N], 0xee);
    for (int i = 0; i < N - 1; i++) {
        MTEST_EQ(in[1 + i], mtest_pattern(peer, (size_t)i + 1));
    }
    for (int i = 0; i < N; i++) {
        MTEST_EQ(in[N + i], mtest_pattern(peer, (size_t)i + 2));
    }
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    test_kinds(queue);
    test_one_end(queue);
    test_overlap(queue);
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
