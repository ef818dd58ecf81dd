/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Communicators are told apart: one pair with the same peer and tag on every kind of communicator
 * over the same ranks, matched in a different order on every rank.
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>

#include "mtest_gpu.h"

enum { MAX_COMMS = 32, TAG = 3 };

struct comms {
    MPI_Comm comm[MAX_COMMS];
    const char *name[MAX_COMMS];
    int count;
};

static void add(struct comms *c, MPI_Comm comm, const char *name)
{
    MTEST_CHECK(comm != MPI_COMM_NULL);
    c->comm[c->count] = comm;
    c->name[c->count] = name;
    c->count++;
}

static int next_rank(void)
{
    return (mtest_rank + 1) % mtest_size;
}

static int last_rank(void)
{
    return (mtest_rank + mtest_size - 1) % mtest_size;
}

/* The k-th communicator to match: another order on each rank. */
static int turn(int k, int count)
{
    switch (mtest_rank % 3) {
    case 0:
        return k;
    case 1:
        return count - 1 - k;
    default:
        return (k + count / 2) % count;
    }
}

static void expect_apart(struct comms *c, MPIX_Queue queue, int one_by_one)
{
    MPI_Request recv[MAX_COMMS];
    MPI_Request send[MAX_COMMS];
    MPI_Request ordered[2 * MAX_COMMS];
    MPI_Request match[2 * MAX_COMMS];
    int *in = mtest_gpu_mirror(MAX_COMMS * sizeof(*in));
    int *out = mtest_gpu_mirror(MAX_COMMS * sizeof(*out));

    for (int i = 0; i < c->count; i++) {
        int *to = mtest_gpu_at(&in[i]), *from = mtest_gpu_at(&out[i]);

        in[i] = -1;
        out[i] = 100 * i + mtest_rank;
        MTEST_OK(MPI_Recv_init(to, 1, MPI_INT, last_rank(), TAG, c->comm[i], &recv[i]));
        MTEST_OK(MPI_Send_init(from, 1, MPI_INT, next_rank(), TAG, c->comm[i], &send[i]));
    }
    mtest_gpu_put(in);
    mtest_gpu_put(out);
    for (int k = 0; k < c->count; k++) {
        ordered[k] = recv[turn(k, c->count)];
        ordered[c->count + k] = send[turn(c->count - 1 - k, c->count)];
    }
    if (one_by_one) {
        for (int k = 0; k < 2 * c->count; k++) {
            MTEST_OK(MPIX_Imatch(&ordered[k], &match[k]));
        }
        MTEST_OK(MPI_Waitall(2 * c->count, match, MPI_STATUSES_IGNORE));
    } else {
        MTEST_OK(MPIX_Matchall(2 * c->count, ordered));
    }
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * c->count, ordered));
    MTEST_OK(MPIX_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_get(in);
    for (int i = 0; i < c->count; i++) {
        if (in[i] != 100 * i + last_rank()) {
            mtest_fail(__FILE__, __LINE__, "%s got the data of %s", c->name[i],
                       in[i] < 0 || in[i] / 100 >= c->count ? "nobody" : c->name[in[i] / 100]);
        }
        MTEST_OK(MPI_Request_free(&recv[i]));
        MTEST_OK(MPI_Request_free(&send[i]));
    }
}

static void make_duplicates(struct comms *c)
{
    MPI_Comm comm[5];
    MPI_Request idup[2];

    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[0]));
    MTEST_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm[1]));
    /* Non-blocking ones of two parents, with a blocking one between, completed in another order. */
    MTEST_OK(MPI_Comm_idup(MPI_COMM_WORLD, &comm[2], &idup[0]));
    MTEST_OK(MPI_Comm_idup(comm[0], &comm[3], &idup[1]));
    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[4]));
    MTEST_OK(MPI_Wait(&idup[1], MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Wait(&idup[0], MPI_STATUS_IGNORE));
    add(c, comm[0], "dup");
    add(c, comm[1], "dup_with_info");
    add(c, comm[2], "idup of world");
    add(c, comm[3], "idup of dup");
    add(c, comm[4], "dup during idup");
}

static void make_subsets(struct comms *c)
{
    MPI_Comm comm[4];
    MPI_Group group = MPI_GROUP_NULL;

    MTEST_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, mtest_rank, &comm[0]));
    MTEST_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, mtest_rank, MPI_INFO_NULL,
                                 &comm[1]));
    MTEST_OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    MTEST_OK(MPI_Comm_create(MPI_COMM_WORLD, group, &comm[2]));
    MTEST_OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, 77, &comm[3]));
    MTEST_OK(MPI_Group_free(&group));
    add(c, comm[0], "split");
    add(c, comm[1], "split_type");
    add(c, comm[2], "create");
    add(c, comm[3], "create_group");
}

static void make_topologies(struct comms *c)
{
    MPI_Comm comm[6];
    int dims[] = {mtest_size, 1};
    int periods[] = {1, 0};
    int keep[] = {1, 1};
    int *index = calloc((size_t)mtest_size, sizeof(*index));
    int *edges = calloc((size_t)mtest_size, sizeof(*edges));
    int next = next_rank();
    int last = last_rank();
    int one = 1;

    for (int i = 0; i < mtest_size; i++) {
        index[i] = i + 1;
        edges[i] = (i + 1) % mtest_size;
    }
    MTEST_OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm[0]));
    MTEST_OK(MPI_Cart_sub(comm[0], keep, &comm[1]));
    MTEST_OK(MPI_Graph_create(MPI_COMM_WORLD, mtest_size, index, edges, 0, &comm[2]));
    MTEST_OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &mtest_rank, &one, &next, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm[3]));
    MTEST_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, MPI_UNWEIGHTED, 1, &next,
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm[4]));
    MTEST_OK(MPI_Comm_dup(comm[0], &comm[5]));
    add(c, comm[0], "cart_create");
    add(c, comm[1], "cart_sub");
    add(c, comm[2], "graph_create");
    add(c, comm[3], "dist_graph_create");
    add(c, comm[4], "dist_graph_create_adjacent");
    add(c, comm[5], "dup of cart");
    free(index);
    free(edges);
}

/* The merged communicator has the ranks of MPI_COMM_WORLD in its order, or is left out. */
static void make_merged(struct comms *c)
{
    int high = mtest_rank >= (mtest_size + 1) / 2;
    int leader = high ? 0 : (mtest_size + 1) / 2;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Comm merged = MPI_COMM_NULL;

    if (mtest_size < 2) {
        return;
    }
    MTEST_OK(MPI_Comm_split(MPI_COMM_WORLD, high, mtest_rank, &half));
    MTEST_OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, leader, 5, &inter));
    MTEST_OK(MPI_Intercomm_merge(inter, high, &merged));
    mtest_count_errors(merged);
    MTEST_OK(MPI_Comm_free(&inter));
    MTEST_OK(MPI_Comm_free(&half));
    add(c, merged, "intercomm_merge");
}

/* Calls that give some ranks no communicator, or nobody one, leave the identities in step. */
static void disturb(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int dims[] = {mtest_size + 1};
    int periods[] = {0};
    struct mtest_errors before = mtest_errors();
    int rc;

    MTEST_OK(MPI_Comm_split(MPI_COMM_WORLD, mtest_rank == 0 ? MPI_UNDEFINED : 1, 0, &comm));
    if (comm != MPI_COMM_NULL) {
        MTEST_OK(MPI_Comm_free(&comm));
    }
    /* More processes than there are: an error on all. */
    rc = MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm);
    mtest_class(__FILE__, __LINE__, "too large a grid", rc, MTEST_ANY_CLASS, before);
}

int main(int argc, char **argv)
{
    struct comms c = {.count = 0};
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    add(&c, MPI_COMM_WORLD, "world");
    make_duplicates(&c);
    disturb();
    make_subsets(&c);
    make_topologies(&c);
    make_merged(&c);
    expect_apart(&c, queue, 0);
    expect_apart(&c, queue, 1);
    /* Freed and made again while the rest lives on, four times. */
    for (int round = 0; round < 4; round++) {
        MTEST_OK(MPI_Comm_free(&c.comm[1]));
        MTEST_OK(MPI_Comm_free(&c.comm[6]));
        MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &c.comm[6]));
        MTEST_OK(MPI_Comm_split(MPI_COMM_WORLD, round, mtest_rank, &c.comm[1]));
        expect_apart(&c, queue, round % 2);
    }
    for (int i = 1; i < c.count; i++) {
        MTEST_OK(MPI_Comm_free(&c.comm[i]));
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    return mtest_end();
}
