/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Persistent collectives of which the ranks give arguments that do not agree: the match fails at
 * one rank at least, nobody waits for ever, neither in a match nor for a start, and what comes
 * after on the same communicator is matched and right. And one of which a rank frees its request
 * before others start: their waits end with an error.
 * With the argument "shapes" the ranks do not agree about who sends to whom. Then a match waits for
 * what never comes, as one of a send without a receive does, until the watchdog ends it.
 */
#include "mtest.h"

#include <stdio.h>
#include <string.h>

#include "collective_names.h"

enum { MOST = 8, FEW = 4, SHAPES = 5, KINDS = 8 };

static MPI_Comm ring;
static MPIX_Queue queue;
static int out[2 * MOST], in[MOST * MOST];

static const char *const names[KINDS] = {"sums of other counts",       "sums of other types",
                                         "a broadcast that is longer", "gathers of other counts",
                                         "neighbours of other counts", "broadcasts of other roots",
                                         "a barrier and a sum",        "a broadcast and a sum"};

/* One rank is different from all others. */
static void make(int kind, int odd, MPI_Request *r)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    bool is_odd = mtest_rank == odd;
    int n = is_odd ? FEW + 1 : FEW;

    switch (kind) {
    case 0:
        MTEST_OK(COLLECTIVE(Allreduce_init)(out, in, n, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, r));
        break;
    case 1:
        MTEST_OK(COLLECTIVE(Allreduce_init)(out, in, FEW, is_odd ? MPI_SHORT : MPI_INT, MPI_SUM,
                                            world, MPI_INFO_NULL, r));
        break;
    case 2:
        MTEST_OK(COLLECTIVE(Bcast_init)(in, n, MPI_INT, odd, world, MPI_INFO_NULL, r));
        break;
    case 3:
        MTEST_OK(
            COLLECTIVE(Allgather_init)(out, n, MPI_INT, in, n, MPI_INT, world, MPI_INFO_NULL, r));
        break;
    case 4:
        MTEST_OK(COLLECTIVE(Neighbor_alltoall_init)(out, n, MPI_INT, in, n, MPI_INT, ring,
                                                    MPI_INFO_NULL, r));
        break;
    case 5:
        MTEST_OK(COLLECTIVE(Bcast_init)(in, FEW, MPI_INT, is_odd ? (odd + 1) % mtest_size : odd,
                                        world, MPI_INFO_NULL, r));
        break;
    default:
        if (is_odd && kind == 6) {
            MTEST_OK(COLLECTIVE(Barrier_init)(world, MPI_INFO_NULL, r));
        } else if (is_odd) {
            MTEST_OK(COLLECTIVE(Bcast_init)(in, FEW, MPI_INT, odd, world, MPI_INFO_NULL, r));
        } else {
            MTEST_OK(COLLECTIVE(Allreduce_init)(out, in, FEW, MPI_INT, MPI_SUM, world,
                                                MPI_INFO_NULL, r));
        }
    }
}

/* An error is told once; whether there is one depends on the rank. */
static int may_fail(int rc, struct mtest_errors before)
{
    int calls = mtest_errors().in_thread - before.in_thread;

    MTEST_EQ(calls, rc != MPI_SUCCESS);
    mtest_forgive(calls);
    return rc;
}

static void expect_match_error(int rc)
{
    int class = MPI_SUCCESS;

    MTEST_OK(MPI_Error_class(rc, &class));
    if (class != MPI_ERR_TRUNCATE && mtest_kind_of(rc) != MPIXQ_ERR_TIMEOUT) {
        MTEST_EQ(mtest_kind_of(rc), MPIXQ_ERR_MATCH);
    }
}

static int match(MPI_Request *r, bool by_imatch)
{
    struct mtest_errors before = mtest_errors();
    MPI_Request pending = MPI_REQUEST_NULL;

    if (!by_imatch) {
        return may_fail(MPIX_Match(r), before);
    }
    MTEST_OK(MPIX_Imatch(r, &pending));
    before = mtest_errors();
    return may_fail(MPI_Wait(&pending, MPI_STATUS_IGNORE), before);
}

static void run(MPI_Request *r, bool by_queue)
{
    struct mtest_errors before = mtest_errors();
    int rc = by_queue ? mtest_transfer(queue, r) : MPI_Start(r);

    if (!by_queue && rc == MPI_SUCCESS) {
        rc = MPI_Wait(r, MPI_STATUS_IGNORE);
    }
    if (may_fail(rc, before) != MPI_SUCCESS && mtest_kind_of(rc) != MPIXQ_ERR_TIMEOUT) {
        MTEST_EQ(mtest_kind_of(rc), MPIXQ_ERR_COMM);
    }
}

/* A queue that has failed is of no use, and has requests until it is freed. */
static void renew_queue(void)
{
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
}

static void expect_sound(MPI_Comm comm)
{
    int mine = mtest_rank, sum = -1, n = mtest_size;
    MPI_Request r;

    MTEST_OK(COLLECTIVE(Allreduce_init)(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r));
    MTEST_OK(MPIX_Match(&r));
    MTEST_OK(mtest_transfer(queue, &r));
    MTEST_EQ(sum, n * (n - 1) / 2);
    sum = -1;
    MTEST_OK(MPI_Start(&r));
    MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    MTEST_EQ(sum, n * (n - 1) / 2);
    MTEST_OK(MPI_Request_free(&r));
}

static void disagree(int kind, int odd, bool by_imatch, bool by_queue)
{
    int before = mtest_failures(), bad, most = 0, flag = -1;
    MPI_Request r = MPI_REQUEST_NULL;

    make(kind, odd, &r);
    bad = match(&r, by_imatch);
    MTEST_OK(MPIX_Is_matched(r, &flag));
    MTEST_EQ(flag, bad == MPI_SUCCESS);
    if (bad != MPI_SUCCESS) {
        expect_match_error(bad);
    } else {
        run(&r, by_queue);
    }
    renew_queue();
    MTEST_OK(MPI_Request_free(&r));
    bad = bad != MPI_SUCCESS;
    MTEST_OK(MPI_Allreduce(&bad, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    MTEST_EQ(most, 1);
    expect_sound(kind == 4 ? ring : MPI_COMM_WORLD);
    if (mtest_failures() > before) {
        fprintf(stderr, "rank %d: failed: %s, rank %d is different\n", mtest_rank, names[kind],
                odd);
    }
}

/* The rank that has freed takes part in no start any more. */
static void free_early(int who, bool by_queue)
{
    struct mtest_errors before;
    MPI_Request r;
    int rc;

    MTEST_OK(COLLECTIVE(Allreduce_init)(out, in, FEW, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                        MPI_INFO_NULL, &r));
    MTEST_OK(MPIX_Match(&r));
    run(&r, by_queue);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank != who) {
        before = mtest_errors();
        rc = by_queue ? mtest_transfer(queue, &r) : MPI_Start(&r);
        rc = rc == MPI_SUCCESS ? MPI_Wait(&r, MPI_STATUS_IGNORE) : rc;
        MTEST_EQ(mtest_kind_of(may_fail(rc, before)), MPIXQ_ERR_COMM);
    }
    renew_queue();
    if (mtest_rank != who) {
        int flag = 0;

        MTEST_OK(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
        MTEST_EQ(flag, 1); /* as nothing of it is under way */
    }
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    expect_sound(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int periodic = 1, shapes = argc > 1 && strcmp(argv[1], "shapes") == 0;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (!HAVE_COLLECTIVES) {
        mtest_skip("this MPI has no persistent collectives");
        return mtest_end();
    }
    MTEST_OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &mtest_size, &periodic, 0, &ring));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int kind = shapes ? SHAPES : 0; kind < (shapes ? KINDS : SHAPES); kind++) {
        for (int odd = 0; odd < mtest_size; odd++) {
            disagree(kind, odd, (kind + odd) % 2, odd % 2);
        }
    }
    for (int who = 0; who < mtest_size && !shapes; who++) {
        free_early(who, false);
        free_early(who, true);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Comm_free(&ring));
    return mtest_end();
}
