/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Persistent collectives of a program that matches none: MPI makes, starts and completes them as if
 * the library were not there. But operations that were freed before the last start serve it.
 */
#include "mtest.h"

#include <string.h>

#include "collective_names.h"

#if HAVE_COLLECTIVES

enum { COUNT = 7, MOST = 8, ROUNDS = 3, GUARD = -77 };

static int number(int rank, int i, int round)
{
    return 1000 * rank + 10 * i + round + 1;
}

/* Whose contribution it is, in each of COUNT elements. */
static void fill(int *data, int rank, int round)
{
    for (int i = 0; i < COUNT; i++) {
        data[i] = number(rank, i, round);
    }
}

static void expect(const int *data, int rank, int round)
{
    for (int i = 0; i < COUNT; i++) {
        MTEST_EQ(data[i], number(rank, i, round));
    }
}

/* In one of the ways that there are. */
static void start_and_wait(MPI_Request *r, int round)
{
    int flag = 0, index = -1;

    if (round == 0) {
        MTEST_OK(MPI_Start(r));
        MTEST_OK(MPI_Wait(r, MPI_STATUS_IGNORE));
    } else if (round == 1) {
        MTEST_OK(MPI_Startall(1, r));
        MTEST_OK(MPI_Waitall(1, r, MPI_STATUSES_IGNORE));
    } else {
        MTEST_OK(MPI_Start(r));
        while (!flag) {
            MTEST_OK(MPI_Testany(1, r, &index, &flag, MPI_STATUS_IGNORE));
        }
        MTEST_EQ(index, 0);
    }
    MTEST_CHECK(*r != MPI_REQUEST_NULL);
}

static void end_of(MPI_Request *r)
{
    MTEST_OK(MPI_Request_free(r));
    MTEST_CHECK(*r == MPI_REQUEST_NULL);
}

static void barriers(void)
{
    MPI_Request r = MPI_REQUEST_NULL;

    MTEST_OK(COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    for (int round = 0; round < ROUNDS; round++) {
        start_and_wait(&r, round);
    }
    end_of(&r);
}

static void broadcasts(void)
{
    for (int root = 0; root < mtest_size; root++) {
        MPI_Request r = MPI_REQUEST_NULL;
        int data[COUNT + 1] = {[COUNT] = GUARD};

        MTEST_OK(
            COLLECTIVE(Bcast_init)(data, COUNT, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
        for (int round = 0; round < ROUNDS; round++) {
            fill(data, mtest_rank, round);
            start_and_wait(&r, round);
            expect(data, root, round);
            MTEST_EQ(data[COUNT], GUARD);
        }
        end_of(&r);
    }
}

static void expect_sum(const int *data, int round)
{
    for (int i = 0; i < COUNT; i++) {
        int sum = 0;

        for (int rank = 0; rank < mtest_size; rank++) {
            sum += number(rank, i, round);
        }
        MTEST_EQ(data[i], sum);
    }
    MTEST_EQ(data[COUNT], GUARD);
}

static void reduce(MPI_Request *r, const int *in, int *out, bool in_place)
{
    for (int round = 0; round < ROUNDS; round++) {
        fill(in_place ? out : (int *)in, mtest_rank, round);
        start_and_wait(r, round);
        expect_sum(out, round);
    }
}

static void reductions(bool in_place)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int in[COUNT], out[COUNT + 1] = {[COUNT] = GUARD};

    MTEST_OK(COLLECTIVE(Allreduce_init)(in_place ? MPI_IN_PLACE : in, out, COUNT, MPI_INT, MPI_SUM,
                                        MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    reduce(&r, in, out, in_place);
    end_of(&r);
}

static bool is_gathered(const int *out, int round)
{
    for (int rank = 0; rank < mtest_size; rank++) {
        for (int i = 0; i < COUNT; i++) {
            if (out[rank * COUNT + i] != number(rank, i, round)) {
                return false;
            }
        }
    }
    return true;
}

/* How many rounds brought the data. */
static int gather_by(__typeof(COLLECTIVE(Allgather_init)) *init, bool in_place)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int in[COUNT], out[MOST * COUNT + 1], *own = in_place ? out + mtest_rank * COUNT : in, n = 0;

    MTEST_OK(init(in_place ? MPI_IN_PLACE : in, COUNT, MPI_INT, out, COUNT, MPI_INT, MPI_COMM_WORLD,
                  MPI_INFO_NULL, &r));
    out[mtest_size * COUNT] = GUARD;
    for (int round = 0; round < ROUNDS; round++) {
        fill(own, mtest_rank, round);
        start_and_wait(&r, round);
        n += is_gathered(out, round);
        MTEST_EQ(out[mtest_size * COUNT], GUARD);
    }
    end_of(&r);
    return n;
}

/* MPICH 4.0 moves nothing from the second start on where it doubles distances. */
static void gathers(bool in_place)
{
    int n = gather_by(PCOLLECTIVE(Allgather_init), in_place);

    MTEST_CHECK(n > 0);
    MTEST_EQ(gather_by(COLLECTIVE(Allgather_init), in_place), n);
}

/* A ring in which each process sends to the next one and receives from the one before. */
static MPI_Comm ring(int *from, int *to)
{
    MPI_Comm comm = MPI_COMM_NULL;

    *from = (mtest_rank + mtest_size - 1) % mtest_size;
    *to = (mtest_rank + 1) % mtest_size;
    MTEST_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, from, MPI_UNWEIGHTED, 1, to,
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    return comm;
}

static void neighbours(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int in[COUNT], out[COUNT + 1] = {[COUNT] = GUARD}, from, to;
    MPI_Comm comm = ring(&from, &to);

    MTEST_OK(COLLECTIVE(Neighbor_alltoall_init)(in, COUNT, MPI_INT, out, COUNT, MPI_INT, comm,
                                                MPI_INFO_NULL, &r));
    for (int round = 0; round < ROUNDS; round++) {
        fill(in, mtest_rank, round);
        start_and_wait(&r, round);
        expect(out, from, round);
        MTEST_EQ(out[COUNT], GUARD);
    }
    end_of(&r);
    MTEST_OK(MPI_Comm_free(&comm));
}

/* What is behind the displacements. */
static void neighbours_with_counts(void)
{
    const int counts[] = {COUNT}, sdispls[] = {2}, rdispls[] = {3};
    MPI_Request r = MPI_REQUEST_NULL;
    int in[2 + COUNT], out[3 + COUNT + 1] = {GUARD, GUARD, GUARD, [3 + COUNT] = GUARD}, from, to;
    MPI_Comm comm = ring(&from, &to);

    MTEST_OK(COLLECTIVE(Neighbor_alltoallv_init)(in, counts, sdispls, MPI_INT, out, counts, rdispls,
                                                 MPI_INT, comm, MPI_INFO_NULL, &r));
    for (int round = 0; round < ROUNDS; round++) {
        fill(in + 2, mtest_rank, round);
        start_and_wait(&r, round);
        expect(out + 3, from, round);
        MTEST_CHECK(out[0] == GUARD && out[2] == GUARD && out[3 + COUNT] == GUARD);
    }
    end_of(&r);
    MTEST_OK(MPI_Comm_free(&comm));
}

static void all_at_once(void)
{
    MPI_Request r[3];
    int in[COUNT], sum[COUNT + 1] = {[COUNT] = GUARD}, one[COUNT];

    MTEST_OK(COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]));
    MTEST_OK(COLLECTIVE(Allreduce_init)(in, sum, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                        MPI_INFO_NULL, &r[1]));
    MTEST_OK(COLLECTIVE(Bcast_init)(one, COUNT, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r[2]));
    for (int round = 0; round < ROUNDS; round++) {
        fill(in, mtest_rank, round);
        fill(one, mtest_rank, round);
        MTEST_OK(MPI_Startall(3, r));
        MTEST_OK(MPI_Waitall(3, r, MPI_STATUSES_IGNORE));
        expect_sum(sum, round);
        expect(one, 0, round);
    }
    for (int i = 0; i < 3; i++) {
        end_of(&r[i]);
    }
}

static void never_started(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int data[COUNT] = {0};

    MTEST_OK(COLLECTIVE(Bcast_init)(data, COUNT, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    end_of(&r);
}

/* Refused by MPI, once and with its code; what is made next works. */
static void refused(void)
{
    MPI_Request r = MPI_REQUEST_NULL;
    int data[COUNT] = {0};

    MTEST_CLASS(COLLECTIVE(Barrier_init)(MPI_COMM_NULL, MPI_INFO_NULL, &r), MPI_ERR_COMM);
    MTEST_CLASS(COLLECTIVE(Bcast_init)(data, -1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r),
                MPI_ERR_COUNT);
    MTEST_CLASS(COLLECTIVE(Allreduce_init)(MPI_IN_PLACE, data, 1, MPI_INT, MPI_OP_NULL,
                                           MPI_COMM_WORLD, MPI_INFO_NULL, &r),
                MPI_ERR_OP);
    barriers();
}

/* ---- Operations ------------------------------------------------------------------------------ */

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++) {
        ((int *)inout)[i] += ((int *)in)[i];
    }
}

static void spoil(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in;
    (void)type;
    for (int i = 0; i < *n; i++) {
        ((int *)inout)[i] = GUARD;
    }
}

static void freed_operation(bool in_place)
{
    MPI_Op op = MPI_OP_NULL, other = MPI_OP_NULL;
    MPI_Request r[2];
    int in[COUNT], out[2][COUNT + 1] = {{[COUNT] = GUARD}, {[COUNT] = GUARD}};

    MTEST_OK(MPI_Op_create(add, 1, &op));
    for (int i = 0; i < 2; i++) {
        MTEST_OK(COLLECTIVE(Allreduce_init)(in_place ? MPI_IN_PLACE : in, out[i], COUNT, MPI_INT,
                                            op, MPI_COMM_WORLD, MPI_INFO_NULL, &r[i]));
    }
    reduce(&r[0], in, out[0], in_place);
    MTEST_OK(MPI_Op_free(&op));
    MTEST_CHECK(op == MPI_OP_NULL);
    MTEST_OK(MPI_Op_create(spoil, 1, &other)); /* it may be where the freed one was */
    reduce(&r[0], in, out[0], in_place);
    end_of(&r[0]);
    reduce(&r[1], in, out[1], in_place);
    end_of(&r[1]);
    MTEST_OK(MPI_Op_free(&other));
    MTEST_CHECK(other == MPI_OP_NULL);
}

/* One that no persistent reduction has, or none any more. */
static void operation_without_requests(void)
{
    MPI_Op op = MPI_OP_NULL;
    MPI_Request r = MPI_REQUEST_NULL;
    int in = mtest_rank + 1, out = 0;

    MTEST_OK(MPI_Op_create(add, 1, &op));
    MTEST_OK(MPI_Allreduce(&in, &out, 1, MPI_INT, op, MPI_COMM_WORLD));
    MTEST_EQ(out, mtest_size * (mtest_size + 1) / 2);
    MTEST_OK(MPI_Op_free(&op));
    MTEST_CHECK(op == MPI_OP_NULL);
    MTEST_OK(MPI_Op_create(add, 1, &op));
    MTEST_OK(
        COLLECTIVE(Allreduce_init)(&in, &out, 1, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    end_of(&r);
    MTEST_OK(MPI_Op_free(&op));
    MTEST_CHECK(op == MPI_OP_NULL);
}

static int class_of(int rc)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(rc, &class);
    mtest_forgive(1);
    return class;
}

/* As MPI itself says. */
static void operations_that_cannot_be_freed(void)
{
    MPI_Op sum = MPI_SUM, null = MPI_OP_NULL;
    int of_sum = class_of(PMPI_Op_free(&sum)), of_null = class_of(PMPI_Op_free(&null)),
        of_nothing = class_of(PMPI_Op_free(NULL));

    MTEST_CLASS(MPI_Op_free(&sum), of_sum);
    MTEST_CHECK(sum == MPI_SUM);
    MTEST_CLASS(MPI_Op_free(&null), of_null);
    MTEST_CHECK(null == MPI_OP_NULL);
    MTEST_CLASS(MPI_Op_free(NULL), of_nothing);
}

/* The request and its operation are the program's until the end. */
static void left_to_finalize(void)
{
    static int in, out;
    MPI_Op op = MPI_OP_NULL;
    MPI_Request r = MPI_REQUEST_NULL;

    MTEST_OK(MPI_Op_create(add, 1, &op));
    MTEST_OK(
        COLLECTIVE(Allreduce_init)(&in, &out, 1, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    MTEST_OK(MPI_Op_free(&op));
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_SINGLE);
    if (mtest_size > MOST) {
        mtest_skip("there are too many ranks");
        return mtest_end();
    }
    barriers();
    broadcasts();
    for (int in_place = 0; in_place < 2; in_place++) {
        reductions(in_place);
        gathers(in_place);
        freed_operation(in_place);
    }
    neighbours();
    neighbours_with_counts();
    all_at_once();
    never_started();
    operation_without_requests();
    refused();
    operations_that_cannot_be_freed();
    left_to_finalize();
    return mtest_end();
}

#else

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_SINGLE);
    mtest_skip("this MPI has no persistent collectives");
    return mtest_end();
}

#endif
