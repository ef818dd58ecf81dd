/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The life of persistent collectives that are matched: operation, datatype and communicator may be
 * freed before the match, before a start, while started and between two starts; requests come and
 * go in numbers, unmatched or not, and at one rank before the other; queues take turns. What is
 * wrong in a state has the errors that it has for requests to one process. One that is not matched
 * is MPI's alone. One that the host has started goes on while nobody waits for it.
 */
#include "mtest.h"

#include <string.h>

#include "collective_names.h"

enum { COUNT = 5, WHEN = 4, MANY = 300 };

static MPIX_Host_stream streams[2];
static MPIX_Queue queues[2];

static void barrier(void)
{
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* On a queue or, if there is none, by the host. */
static void start(MPIX_Queue queue, MPI_Request *r)
{
    if (queue != MPIX_QUEUE_NULL) {
        MTEST_OK(MPIX_Enqueue_start(queue, r));
    } else {
        MTEST_OK(MPI_Start(r));
    }
}

static void complete(MPIX_Queue queue, MPI_Request *r)
{
    if (queue != MPIX_QUEUE_NULL) {
        MTEST_OK(MPIX_Enqueue_wait(queue, r));
        MTEST_OK(MPIX_Queue_wait(queue));
    } else {
        MTEST_OK(MPI_Wait(r, MPI_STATUS_IGNORE));
    }
}

/* ---- A sum of an int ------------------------------------------------------------------------ */

struct sum {
    int in, out, size;
    MPI_Request r;
};

static void sum_make(struct sum *s, MPI_Comm comm)
{
    s->in = -1;
    s->out = mtest_rank + 1;
    MTEST_OK(MPI_Comm_size(comm, &s->size));
    MTEST_OK(COLLECTIVE(Allreduce_init)(&s->out, &s->in, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                                        &s->r));
}

static void sum_match(struct sum *s, MPI_Comm comm)
{
    sum_make(s, comm);
    MTEST_OK(MPIX_Match(&s->r));
}

/* Of all of MPI_COMM_WORLD, or of this process alone. */
static int sum_of(const struct sum *s, int seed)
{
    int size = mtest_size;

    return s->size == 1 ? seed + mtest_rank : seed * size + size * (size - 1) / 2;
}

static void sum_start(MPIX_Queue queue, struct sum *s, int seed)
{
    s->in = -1;
    s->out = seed + mtest_rank;
    start(queue, &s->r);
}

static void sum_complete(MPIX_Queue queue, struct sum *s, int seed)
{
    complete(queue, &s->r);
    MTEST_EQ(s->in, sum_of(s, seed));
    MTEST_EQ(s->out, seed + mtest_rank);
}

static void sum_run(MPIX_Queue queue, struct sum *s, int seed)
{
    sum_start(queue, s, seed);
    sum_complete(queue, s, seed);
}

/* ---- What they are made from is freed ------------------------------------------------------- */

struct made {
    MPI_Comm comm, ring;
    MPI_Datatype type;
    MPI_Op op;
    int in[3][4 * COUNT], out[3][4 * COUNT]; /* of each request */
    int counts[2], displs[2];
    MPI_Request r[3];
};

/* The left one, so the order of the ranks shows. */
static void first_op(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const int *left = in;
    int *right = inout;

    (void)type;
    for (int i = 0; i < *length * 4; i++) {
        right[i] = left[i];
    }
}

static void made_make(struct made *m)
{
    int left = (mtest_rank + mtest_size - 1) % mtest_size, right = (mtest_rank + 1) % mtest_size;

    MTEST_OK(MPI_Comm_dup(MPI_COMM_WORLD, &m->comm));
    MTEST_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
                                            MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &m->ring));
    MTEST_OK(MPI_Type_contiguous(4, MPI_INT, &m->type));
    MTEST_OK(MPI_Type_commit(&m->type));
    MTEST_OK(MPI_Op_create(first_op, 0, &m->op));
    m->counts[0] = COUNT;
    m->displs[0] = 0;
    MTEST_OK(COLLECTIVE(Allreduce_init)(m->out[0], m->in[0], COUNT, m->type, m->op, m->comm,
                                        MPI_INFO_NULL, &m->r[0]));
    MTEST_OK(COLLECTIVE(Bcast_init)(mtest_rank == mtest_size - 1 ? m->out[1] : m->in[1], COUNT,
                                    m->type, mtest_size - 1, m->comm, MPI_INFO_NULL, &m->r[1]));
    MTEST_OK(COLLECTIVE(Neighbor_alltoallv_init)(m->out[2], m->counts, m->displs, m->type, m->in[2],
                                                 m->counts, m->displs, m->type, m->ring,
                                                 MPI_INFO_NULL, &m->r[2]));
    m->counts[0] = m->displs[0] = -1; /* which were read */
}

static void made_drop(struct made *m)
{
    MTEST_OK(MPI_Op_free(&m->op));
    MTEST_OK(MPI_Type_free(&m->type));
    MTEST_OK(MPI_Comm_free(&m->comm));
    MTEST_OK(MPI_Comm_free(&m->ring));
}

static int value(int rank, int run, int k, int i)
{
    return 10000 * rank + 1000 * run + 100 * k + i;
}

static void made_fill(struct made *m, int run)
{
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 4 * COUNT; i++) {
            m->in[k][i] = -1;
            m->out[k][i] = value(mtest_rank, run, k, i);
        }
    }
}

/* From rank 0, from the last one, and from the left. */
static void made_check(const struct made *m, int run)
{
    const int last = mtest_size - 1;
    const int from[3] = {0, last, (mtest_rank + last) % mtest_size};

    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 4 * COUNT; i++) {
            MTEST_EQ(m->in[k][i], k == 1 && mtest_rank == last ? -1 : value(from[k], run, k, i));
            MTEST_EQ(m->out[k][i], value(mtest_rank, run, k, i));
        }
    }
}

/* when: 0 before the match, 1 before the first start, 2 while started, 3 between two starts. */
static void test_dropped(int when, MPIX_Queue queue)
{
    static struct made m;

    made_make(&m);
    if (when == 0) {
        made_drop(&m);
    }
    MTEST_OK(MPIX_Matchall(3, m.r));
    if (when == 1) {
        made_drop(&m);
    }
    for (int run = 0; run < 3; run++) {
        made_fill(&m, run);
        for (int k = 0; k < 3; k++) {
            start(queue, &m.r[(k + mtest_rank) % 3]);
        }
        if (when == 2 && run == 0) {
            made_drop(&m);
        }
        for (int k = 0; k < 3; k++) {
            complete(queue, &m.r[(k + 2 * mtest_rank) % 3]);
        }
        made_check(&m, run);
        if (when == 3 && run == 0) {
            made_drop(&m);
        }
    }
    for (int k = 0; k < 3; k++) {
        MTEST_OK(MPI_Request_free(&m.r[k]));
        MTEST_CHECK(m.r[k] == MPI_REQUEST_NULL);
    }
}

/* ---- Requests come and go ------------------------------------------------------------------- */

static void test_never_matched(void)
{
    struct made m;
    struct sum s;

    made_make(&m);
    sum_make(&s, MPI_COMM_WORLD);
    for (int k = 2; k >= 0; k--) {
        MTEST_OK(MPI_Request_free(&m.r[k]));
    }
    made_drop(&m);
    MTEST_OK(MPI_Request_free(&s.r));
    sum_match(&s, MPI_COMM_WORLD); /* after some that were not */
    sum_run(queues[0], &s, 3);
    MTEST_OK(MPI_Request_free(&s.r));
}

/* Handles and numbers are given out again; every third is not matched, every fifth not started. */
static void test_many(void)
{
    for (int i = 0; i < MANY; i++) {
        struct sum s;

        sum_make(&s, i % 7 == 0 ? MPI_COMM_SELF : MPI_COMM_WORLD);
        if (i % 3 != 0) {
            MTEST_OK(MPIX_Match(&s.r));
        }
        if (i % 3 != 0 && i % 5 != 0) {
            sum_run(i % 2 == 0 ? MPIX_QUEUE_NULL : queues[i / 2 % 2], &s, i);
        }
        MTEST_OK(MPI_Request_free(&s.r));
    }
}

/* Many at once, freed in another order at each rank. */
static void test_many_at_once(void)
{
    enum { N = 40 };
    struct sum s[N];
    MPI_Request r[N];

    for (int i = 0; i < N; i++) {
        sum_make(&s[i], MPI_COMM_WORLD);
        r[i] = s[i].r;
    }
    MTEST_OK(MPIX_Matchall(N, r));
    for (int i = 0; i < N; i++) {
        int k = (i + 7 * mtest_rank) % N;

        sum_start(i % 2 == 0 ? queues[0] : MPIX_QUEUE_NULL, &s[k], k);
    }
    for (int i = 0; i < N; i++) {
        int k = (i + 7 * mtest_rank) % N;

        sum_complete(i % 2 == 0 ? queues[0] : MPIX_QUEUE_NULL, &s[k], k);
    }
    for (int i = 0; i < N; i++) {
        MTEST_OK(MPI_Request_free(&s[(i * 3 + mtest_rank) % N].r));
    }
}

/* A rank frees its request, and makes and matches the next, while others have theirs still. */
static void test_one_frees_early(void)
{
    enum { ROUNDS = 30 };

    for (int i = 0; i < ROUNDS; i++) {
        MPIX_Queue queue = i % 2 == 0 ? queues[0] : MPIX_QUEUE_NULL;
        struct sum old, new;

        sum_match(&old, MPI_COMM_WORLD);
        if (i % 3 > 0) {
            sum_run(queue, &old, i);
        }
        if ((mtest_rank + i) % 2 == 0) {
            MTEST_OK(MPI_Request_free(&old.r));
        }
        sum_match(&new, MPI_COMM_WORLD);
        sum_run(queue, &new, 2 * i);
        if ((mtest_rank + i) % 2 != 0) {
            MTEST_OK(MPI_Request_free(&old.r));
        }
        sum_run(queue, &new, 3 * i);
        MTEST_OK(MPI_Request_free(&new.r));
    }
}

static void test_two_queues(void)
{
    struct sum a, b;

    sum_match(&a, MPI_COMM_WORLD);
    sum_match(&b, MPI_COMM_WORLD);
    for (int i = 0; i < 6; i++) {
        int turn = (i + mtest_rank) % 2;

        sum_start(queues[turn], &a, i);
        sum_start(queues[1 - turn], &b, 2 * i);
        MTEST_KIND(MPIX_Enqueue_wait(queues[1 - turn], &a.r), MPIXQ_ERR_STATE);
        MTEST_KIND(MPIX_Enqueue_start(queues[1 - turn], &a.r), MPIXQ_ERR_STATE);
        sum_complete(queues[turn], &a, i);
        sum_complete(queues[1 - turn], &b, 2 * i);
    }
    MTEST_OK(MPI_Request_free(&a.r));
    MTEST_OK(MPI_Request_free(&b.r));
}

/* ---- States --------------------------------------------------------------------------------- */

static void expect_matched(MPI_Request r, int expected)
{
    int flag = -1;

    MTEST_OK(MPIX_Is_matched(r, &flag));
    MTEST_EQ(flag, expected);
}

static void refuse_enqueue(MPI_Request *r)
{
    MTEST_KIND(MPIX_Enqueue_start(queues[0], r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Enqueue_startall(queues[0], 1, r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Enqueue_wait(queues[0], r), MPIXQ_ERR_STATE);
}

static void refuse_matching(MPI_Request *r)
{
    MPI_Request twice[2] = {*r, *r}, match = MPI_REQUEST_NULL;

    MTEST_KIND(MPIX_Match(r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Imatch(r, &match), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Matchall(2, twice), MPIXQ_ERR_STATE);
    MTEST_CHECK(match == MPI_REQUEST_NULL);
}

static void test_states(void)
{
    MPI_Request twice[2];
    struct mtest_gate gate = {0};
    struct sum s;
    int flag = -1;

    sum_make(&s, MPI_COMM_WORLD);
    expect_matched(s.r, 0);
    refuse_enqueue(&s.r);
    twice[0] = twice[1] = s.r;
    MTEST_KIND(MPIX_Matchall(2, twice), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Match(&s.r));
    expect_matched(s.r, 1);
    refuse_matching(&s.r);
    MTEST_OK(MPIX_Enqueue_wait(queues[0], &s.r)); /* not started: for nothing */
    sum_start(MPIX_QUEUE_NULL, &s, 4);
    MTEST_KIND(MPI_Start(&s.r), MPIXQ_ERR_STATE);
    refuse_matching(&s.r);
    refuse_enqueue(&s.r);
    sum_complete(MPIX_QUEUE_NULL, &s, 4);
    MTEST_OK(MPIX_Host_stream_launch(streams[0], mtest_gate_fn, &gate));
    sum_start(queues[0], &s, 5);
    refuse_matching(&s.r);
    MTEST_KIND(MPI_Start(&s.r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Request_free(&s.r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Enqueue_start(queues[0], &s.r), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Enqueue_wait(queues[0], &s.r));
    MTEST_KIND(MPI_Start(&s.r), MPIXQ_ERR_STATE);
    MTEST_KIND(MPI_Request_free(&s.r), MPIXQ_ERR_STATE);
    MTEST_OK(MPI_Request_get_status(s.r, &flag, MPI_STATUS_IGNORE));
    MTEST_EQ(flag, 0);
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queues[0]));
    MTEST_EQ(s.in, sum_of(&s, 5));
    MTEST_OK(MPI_Request_get_status(s.r, &flag, MPI_STATUS_IGNORE));
    MTEST_EQ(flag, 1);
    MTEST_OK(MPI_Wait(&s.r, MPI_STATUS_IGNORE)); /* inactive */
    MTEST_OK(MPI_Request_free(&s.r));
}

/* MPI moves what is not matched; later it is matched and the library does. MPICH 4.0 copies data
 * as the request is made, so the sum is that of the first start alone. */
static void test_unmatched_start(void)
{
    MPI_Request r, other;
    struct sum s;

    MTEST_OK(COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    sum_match(&s, MPI_COMM_WORLD);
    MTEST_OK(COLLECTIVE(Allreduce_init)(&s.out, &s.in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                        MPI_INFO_NULL, &other));
    MTEST_OK(MPI_Start(&other));
    MTEST_KIND(MPIX_Match(&other), MPIXQ_ERR_STATE);
    refuse_enqueue(&other);
    MTEST_OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
    MTEST_EQ(s.in, sum_of(&s, 1));
    for (int i = 0; i < 3; i++) {
        MTEST_OK(MPI_Start(&r));
        MTEST_KIND(MPIX_Match(&r), MPIXQ_ERR_STATE);
        MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    }
    MTEST_OK(MPIX_Match(&r));
    start(queues[0], &r);
    complete(queues[0], &r);
    sum_run(MPIX_QUEUE_NULL, &s, 8);
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Request_free(&other));
    MTEST_OK(MPI_Request_free(&s.r));
}

/* An array of starts: MPI is asked for what is not matched, which is active then; and it is not, if
 * another element cannot be started. */
static void test_unmatched_startall(void)
{
    MPI_Request both[2], other;
    struct sum s;

    sum_match(&s, MPI_COMM_WORLD);
    MTEST_OK(COLLECTIVE(Allreduce_init)(&s.out, &s.in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                        MPI_INFO_NULL, &other));
    MTEST_OK(MPI_Startall(1, &other));
    MTEST_KIND(MPIX_Match(&other), MPIXQ_ERR_STATE);
    MTEST_OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
    MTEST_EQ(s.in, sum_of(&s, 1));
    MTEST_OK(MPI_Request_free(&other));

    MTEST_OK(COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]));
    both[1] = s.r;
    sum_start(MPIX_QUEUE_NULL, &s, 2);
    MTEST_KIND(MPI_Startall(2, both), MPIXQ_ERR_STATE);
    MTEST_OK(MPIX_Match(&both[0]));
    sum_complete(MPIX_QUEUE_NULL, &s, 2);
    start(MPIX_QUEUE_NULL, &both[0]);
    complete(MPIX_QUEUE_NULL, &both[0]);
    MTEST_OK(MPI_Request_free(&both[0]));
    MTEST_OK(MPI_Request_free(&s.r));
}

/* ---- Progress ------------------------------------------------------------------------------- */

/* One rank waits in MPI for the others before it waits for what it has started; these wait for that
 * before they go on. */
static void unwaited(MPI_Request *r, int who, MPIX_Queue queue)
{
    start(queue, r);
    if (mtest_rank == who) {
        barrier();
        complete(queue, r);
    } else {
        complete(queue, r);
        barrier();
    }
}

static void test_progress(void)
{
    enum { LARGE = 100000 };
    static int out[LARGE], in[LARGE];
    MPI_Request r[3];

    MTEST_OK(COLLECTIVE(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]));
    MTEST_OK(COLLECTIVE(Allreduce_init)(out, in, LARGE, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                        MPI_INFO_NULL, &r[1]));
    MTEST_OK(COLLECTIVE(Bcast_init)(out, LARGE, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r[2]));
    MTEST_OK(MPIX_Matchall(3, r));
    for (int who = 0; who < mtest_size; who++) {
        for (int k = 0; k < 2 * 3; k++) {
            for (int i = 0; i < LARGE; i++) {
                in[i] = -1;
                out[i] = mtest_rank + i + k;
            }
            unwaited(&r[k / 2], who, k % 2 == 0 ? MPIX_QUEUE_NULL : queues[0]);
            for (int i = 0; i < LARGE; i += 1 + LARGE / 7) {
                int size = mtest_size, sum = size * (i + k) + size * (size - 1) / 2;

                MTEST_EQ(in[i], k / 2 == 1 ? sum : -1);
                MTEST_EQ(out[i], (k / 2 == 2 ? 0 : mtest_rank) + i + k);
            }
        }
    }
    for (int k = 0; k < 3; k++) {
        MTEST_OK(MPI_Request_free(&r[k]));
    }
}

/* Two collectives are started everywhere, and one rank waits for the other one first: each wait
 * goes on with both, also without a progress thread. */
static void test_order(void)
{
    struct sum s[2];
    MPI_Comm reverse;

    MTEST_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -mtest_rank, &reverse));
    sum_make(&s[0], MPI_COMM_WORLD);
    sum_make(&s[1], reverse);
    MTEST_OK(MPI_Comm_free(&reverse));
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Match(&s[i].r));
    }
    for (int run = 0; run < 20; run++) {
        int first = mtest_rank == run % mtest_size;

        sum_start(MPIX_QUEUE_NULL, &s[0], run);
        sum_start(MPIX_QUEUE_NULL, &s[1], 100 + run);
        sum_complete(MPIX_QUEUE_NULL, &s[first], 100 * first + run);
        sum_complete(MPIX_QUEUE_NULL, &s[!first], 100 * !first + run);
    }
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPI_Request_free(&s[i].r));
    }
}

/* One call for a match, a matched collective that is inactive, and requests that MPI has: those
 * that are persistent keep their handles. */
static void test_inactive_among_others(void)
{
    int out = 7, in = -1;
    MPI_Request all[4], kept[4];
    struct sum idle, matching;

    sum_match(&idle, MPI_COMM_WORLD);
    sum_make(&matching, MPI_COMM_WORLD);
    all[1] = idle.r;
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, mtest_rank, 3, MPI_COMM_WORLD, &all[2]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, mtest_rank, 3, MPI_COMM_WORLD, &all[3]));
    MTEST_OK(MPI_Startall(2, &all[2]));
    MTEST_OK(MPIX_Imatch(&matching.r, &all[0]));
    memcpy(kept, all, sizeof kept);
    MTEST_OK(MPI_Waitall(4, all, MPI_STATUSES_IGNORE));
    MTEST_CHECK(all[0] == MPI_REQUEST_NULL);
    for (int i = 1; i < 4; i++) {
        MTEST_CHECK(all[i] == kept[i]);
    }
    MTEST_EQ(in, out);
    sum_run(MPIX_QUEUE_NULL, &idle, 5);
    sum_run(MPIX_QUEUE_NULL, &matching, 6);
    MTEST_OK(MPI_Request_free(&idle.r));
    MTEST_OK(MPI_Request_free(&matching.r));
    MTEST_OK(MPI_Request_free(&kept[2]));
    MTEST_OK(MPI_Request_free(&kept[3]));
}

int main(int argc, char **argv)
{
    bool is_single = argc > 1; /* order, where there are no queues */

    mtest_begin(&argc, &argv, is_single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE);
    if (!HAVE_COLLECTIVES) {
        mtest_skip("this MPI has no persistent collectives");
        return mtest_end();
    }
    test_order();
    if (is_single) {
        return mtest_end();
    }
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Host_stream_create(&streams[i]));
        MTEST_OK(MPIX_Queue_init(&queues[i], MPIX_QUEUE_AUTO, &streams[i]));
    }
    for (int when = 0; when < WHEN; when++) {
        test_dropped(when, queues[0]);
        test_dropped(when, MPIX_QUEUE_NULL);
    }
    test_never_matched();
    test_many();
    test_many_at_once();
    test_one_frees_early();
    test_two_queues();
    test_states();
    test_unmatched_start();
    test_unmatched_startall();
    test_progress();
    test_inactive_among_others();
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPIX_Queue_free(&queues[i]));
        MTEST_OK(MPIX_Host_stream_destroy(&streams[i]));
    }
    return mtest_end();
}
