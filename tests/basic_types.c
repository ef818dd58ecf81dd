/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Derived datatypes, the same on both sides and different but compatible; buffers given with an
 * offset or by absolute addresses. The bytes in the gaps are checked too.
 *
 *     basic_types [staged]
 *
 * staged: what memory of a GPU can receive that MPI does not take
 */
#include "mtest.h"

#include <stdio.h>
#include <string.h>

enum { TYPES = 7 };

static MPI_Datatype make_struct(void)
{
    struct cell {
        char kind;
        double value[3];
        int id;
        short tail;
    };
    int lengths[] = {1, 3, 1, 1};
    MPI_Aint at[] = {offsetof(struct cell, kind), offsetof(struct cell, value),
                     offsetof(struct cell, id), offsetof(struct cell, tail)};
    MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_SHORT};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Datatype sized = MPI_DATATYPE_NULL;

    MTEST_OK(MPI_Type_create_struct(4, lengths, at, parts, &type));
    MTEST_OK(MPI_Type_create_resized(type, 0, sizeof(struct cell), &sized));
    MTEST_OK(MPI_Type_free(&type));
    return sized;
}

static void make_types(MPI_Datatype types[TYPES])
{
    static const int lengths[] = {2, 1, 3};
    static const int at[] = {1, 7, 12};
    static const int sizes[] = {9, 8};
    static const int part[] = {4, 3};
    static const int from[] = {2, 5};
    MPI_Datatype pair = MPI_DATATYPE_NULL;

    MTEST_OK(MPI_Type_contiguous(5, MPI_INT, &types[0]));
    MTEST_OK(MPI_Type_vector(6, 2, 5, MPI_INT, &types[1]));
    MTEST_OK(MPI_Type_indexed(3, lengths, at, MPI_DOUBLE, &types[2]));
    types[3] = make_struct();
    /* Elements that overlap in extent but not in data, and one with a lower bound below zero. */
    MTEST_OK(MPI_Type_vector(4, 1, 3, MPI_INT, &pair));
    MTEST_OK(MPI_Type_create_resized(pair, 0, sizeof(int), &types[4]));
    MTEST_OK(MPI_Type_create_resized(pair, -16, 80, &types[5]));
    MTEST_OK(MPI_Type_free(&pair));
    MTEST_OK(MPI_Type_create_subarray(2, sizes, part, from, MPI_ORDER_C, MPI_INT, &types[6]));
    for (int i = 0; i < TYPES; i++) {
        MTEST_OK(MPI_Type_commit(&types[i]));
    }
}

/* One direction, 0 to 1, twice so that the second start reuses everything. */
static void transfer(struct mtest_buf *out, struct mtest_buf *in, int elements, MPIX_Queue queue)
{
    MPI_Request r = MPI_REQUEST_NULL;

    if (mtest_rank == 0) {
        MTEST_OK(mtest_init(MTEST_SEND, out, 1, 3, MPI_COMM_WORLD, &r));
    } else {
        MTEST_OK(mtest_init(MTEST_RECV, in, 0, 3, MPI_COMM_WORLD, &r));
    }
    MTEST_OK(MPIX_Match(&r));
    for (int i = 0; i < 2; i++) {
        if (mtest_rank == 0) {
            mtest_buf_fill(out, 50 + i);
        } else {
            mtest_buf_clear(in);
        }
        MTEST_OK(MPIX_Enqueue_start(queue, &r));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r));
        MTEST_OK(MPIX_Queue_wait(queue));
        if (mtest_rank == 0) {
            MTEST_FULL(out, 50 + i);
        } else {
            MTEST_PART(in, elements, 50 + i);
        }
    }
    MTEST_OK(MPI_Request_free(&r));
}

static void test_same_types(MPIX_Queue queue)
{
    MPI_Datatype types[TYPES];

    make_types(types);
    for (int i = 0; i < TYPES; i++) {
        for (int count = 0; count <= 3; count += (count == 1 ? 2 : 1)) {
            struct mtest_buf out;
            struct mtest_buf in;
            int before = mtest_failures();

            mtest_buf_make(&out, types[i], count);
            mtest_buf_make(&in, types[i], count);
            transfer(&out, &in, count, queue);
            mtest_buf_free(&out);
            mtest_buf_free(&in);
            if (mtest_failures() > before) {
                fprintf(stderr, "rank %d: failed: type %d, count %d\n", mtest_rank, i, count);
            }
        }
    }
    for (int i = 0; i < TYPES; i++) {
        MTEST_OK(MPI_Type_free(&types[i]));
    }
}

/* 24 ints: as a vector, as contiguous pieces, as single ints; the receive may be longer. */
static void test_compatible_types(MPIX_Queue queue)
{
    MPI_Datatype vector = MPI_DATATYPE_NULL;
    MPI_Datatype six = MPI_DATATYPE_NULL;
    struct mtest_buf out;
    struct mtest_buf in;

    MTEST_OK(MPI_Type_vector(4, 3, 7, MPI_INT, &vector));
    MTEST_OK(MPI_Type_contiguous(6, MPI_INT, &six));
    MTEST_OK(MPI_Type_commit(&vector));
    MTEST_OK(MPI_Type_commit(&six));
    MPI_Datatype as[] = {vector, six, MPI_INT};
    static const int counts[] = {2, 4, 24};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            mtest_buf_make(&out, as[i], counts[i]);
            mtest_buf_make(&in, as[j], counts[j]);
            transfer(&out, &in, counts[j], queue);
            mtest_buf_free(&in);
            mtest_buf_make(&in, as[j], counts[j] * 2);
            transfer(&out, &in, counts[j], queue);
            mtest_buf_free(&in);
            mtest_buf_free(&out);
        }
    }
    MTEST_OK(MPI_Type_free(&vector));
    MTEST_OK(MPI_Type_free(&six));
}

enum { ORDERS = 5, SIDE = 4 };

/* 16 ints without a gap: as they lie in memory, by columns, backwards, and in some order. */
static void make_orders(MPI_Datatype types[ORDERS], int counts[ORDERS])
{
    static const int ones[] = {1, 1, 1, 1}, at[] = {2, 0, 3, 1};
    static const MPI_Aint bytes[] = {0, 4, 8, 12};
    MPI_Datatype ints[] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    MPI_Datatype column = MPI_DATATYPE_NULL;

#if MPI_VERSION >= 4
    MTEST_OK(MPI_Type_contiguous_c(SIDE, MPI_INT, &types[0]));
#else
    MTEST_OK(MPI_Type_contiguous(SIDE, MPI_INT, &types[0]));
#endif
    MTEST_OK(MPI_Type_create_struct(SIDE, ones, bytes, ints, &types[1]));
    MTEST_OK(MPI_Type_vector(SIDE, 1, SIDE, MPI_INT, &column));
    MTEST_OK(MPI_Type_create_resized(column, 0, sizeof(int), &types[2]));
    MTEST_OK(MPI_Type_vector(SIDE * SIDE, 1, -1, MPI_INT, &types[3]));
    MTEST_OK(MPI_Type_indexed(SIDE, ones, at, MPI_INT, &types[4]));
    MTEST_OK(MPI_Type_free(&column));
    for (int i = 0; i < ORDERS; i++) {
        counts[i] = i == 3 ? 1 : SIDE;
        MTEST_OK(MPI_Type_commit(&types[i]));
    }
}

/* The order of the message is that of the datatype, not that of memory. */
static void test_orders(MPIX_Queue queue)
{
    MPI_Datatype types[ORDERS];
    int counts[ORDERS];
    struct mtest_buf out, in;

    make_orders(types, counts);
    for (int i = 0; i < ORDERS; i++) {
        for (int j = 0; j < ORDERS; j++) {
            int before = mtest_failures();

            mtest_buf_make(&out, types[i], counts[i]);
            mtest_buf_make(&in, types[j], counts[j]);
            transfer(&out, &in, counts[j], queue);
            mtest_buf_free(&in);
            mtest_buf_free(&out);
            if (mtest_failures() > before) {
                fprintf(stderr, "rank %d: failed: from order %d to %d\n", mtest_rank, i, j);
            }
        }
    }
    for (int i = 0; i < ORDERS; i++) {
        MTEST_OK(MPI_Type_free(&types[i]));
    }
}

/* Half a matrix into columns: what lies between is not touched; or the match is refused, where the
 * data goes by a staging buffer. */
static void test_short(MPIX_Queue queue, bool is_staged)
{
    MPI_Datatype types[ORDERS];
    int counts[ORDERS];
    struct mtest_buf out, in;
    MPI_Request r = MPI_REQUEST_NULL;

    make_orders(types, counts);
    mtest_buf_make(&out, types[0], SIDE / 2);
    mtest_buf_make(&in, types[2], SIDE);
    if (!is_staged) {
        transfer(&out, &in, SIDE / 2, queue);
    } else {
        if (mtest_rank == 0) {
            MTEST_OK(mtest_init(MTEST_SEND, &out, 1, 3, MPI_COMM_WORLD, &r));
        } else {
            MTEST_OK(mtest_init(MTEST_RECV, &in, 0, 3, MPI_COMM_WORLD, &r));
        }
        MTEST_KIND_TEXT(MPIX_Match(&r), MPIXQ_ERR_UNSUPPORTED, "gaps");
        MTEST_OK(MPI_Request_free(&r));
    }
    mtest_buf_free(&in);
    mtest_buf_free(&out);
    for (int i = 0; i < ORDERS; i++) {
        MTEST_OK(MPI_Type_free(&types[i]));
    }
}

/* The address is in the datatype and the buffer is MPI_BOTTOM. */
static void test_bottom(MPIX_Queue queue)
{
    int a[4] = {0};
    double b = 0;
    int lengths[] = {4, 1};
    MPI_Aint at[2];
    MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Request r = MPI_REQUEST_NULL;

    MTEST_OK(MPI_Get_address(a, &at[0]));
    MTEST_OK(MPI_Get_address(&b, &at[1]));
    MTEST_OK(MPI_Type_create_struct(2, lengths, at, parts, &type));
    MTEST_OK(MPI_Type_commit(&type));
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Send_init(MPI_BOTTOM, 1, type, 1, 4, MPI_COMM_WORLD, &r));
        a[0] = 1;
        a[3] = 4;
        b = 2.5;
    } else {
        MTEST_OK(MPI_Recv_init(MPI_BOTTOM, 1, type, 0, 4, MPI_COMM_WORLD, &r));
    }
    MTEST_OK(MPIX_Match(&r));
    MTEST_OK(MPI_Type_free(&type));
    MTEST_OK(MPIX_Enqueue_start(queue, &r));
    MTEST_OK(MPIX_Enqueue_wait(queue, &r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(a[0], 1);
    MTEST_EQ(a[1], 0);
    MTEST_EQ(a[3], 4);
    MTEST_CHECK(b == 2.5);
    MTEST_OK(MPI_Request_free(&r));
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    bool is_staged = argc > 1 && strcmp(argv[1], "staged") == 0;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    test_orders(queue);
    test_short(queue, is_staged);
    if (!is_staged) {
        test_same_types(queue);
        test_compatible_types(queue);
        test_bottom(queue);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
