/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Matched requests that the host starts and completes, with every function that MPI has for either,
 * in every send mode, in a ring, to oneself and to nobody; and freed while they are active.
 * Argument 1: the thread level, multiple or single.
 */
#include "mtest.h"

#include <time.h>
#include <string.h>

/* BIG: more bytes than any MPI sends before the receiver comes. */
enum { TAG = 3, COUNT = 40, BIG = 30000, WAYS = 9, KINDS = 3 };

static const int counts[] = {COUNT, 0, BIG};
static int level;

/* One direction of the ring, matched. */
struct pair {
    struct mtest_buf in, out;
    MPI_Request r[2], keep[2]; /* receive, send */
    int from, to;
    int ready; /* the send */
};

static void pair_make(struct pair *p, enum mtest_mode mode, int count, int from, int to)
{
    p->from = from;
    p->to = to;
    p->ready = mode == MTEST_RSEND;
    mtest_buf_make(&p->in, MPI_INT, count);
    mtest_buf_make(&p->out, MPI_INT, count);
    MTEST_OK(mtest_init(MTEST_RECV, &p->in, from, TAG, MPI_COMM_WORLD, &p->r[0]));
    MTEST_OK(mtest_init(mode, &p->out, to, TAG, MPI_COMM_WORLD, &p->r[1]));
    MTEST_OK(MPIX_Matchall(2, p->r));
    p->keep[0] = p->r[0];
    p->keep[1] = p->r[1];
}

static void pair_free(struct pair *p)
{
    MTEST_OK(MPI_Request_free(&p->r[0]));
    MTEST_OK(MPI_Request_free(&p->r[1]));
    MTEST_CHECK(p->r[0] == MPI_REQUEST_NULL && p->r[1] == MPI_REQUEST_NULL);
    mtest_buf_free(&p->in);
    mtest_buf_free(&p->out);
}

static void expect_status(const struct pair *p, MPI_Status *s)
{
    int count = -1, elements = -1, cancelled = -1;
    int none = p->from == MPI_PROC_NULL;

    MTEST_EQ(s->MPI_SOURCE, p->from);
    MTEST_EQ(s->MPI_TAG, none ? MPI_ANY_TAG : TAG);
    MTEST_OK(MPI_Get_count(s, MPI_INT, &count));
    MTEST_EQ(count, none ? 0 : p->in.count);
    MTEST_OK(MPI_Get_elements(s, MPI_INT, &elements));
    MTEST_EQ(elements, none ? 0 : p->in.count);
    MTEST_OK(MPI_Test_cancelled(s, &cancelled));
    MTEST_EQ(cancelled, 0);
}

/* No ready send before the receiver's start. */
static void start_ready(struct pair *p)
{
    MTEST_OK(MPI_Start(&p->r[0]));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPI_Start(&p->r[1]));
}

static void start(struct pair *p, int round)
{
    mtest_buf_clear(&p->in);
    mtest_buf_fill(&p->out, 50 * round + mtest_rank);
    if (p->ready) {
        start_ready(p);
        return;
    }
    switch (round % 3) {
    case 0:
        MTEST_OK(MPI_Startall(2, p->r));
        break;
    case 1:
        MTEST_OK(MPI_Start(&p->r[0]));
        MTEST_OK(MPI_Start(&p->r[1]));
        break;
    default:
        MTEST_OK(MPI_Start(&p->r[1]));
        MTEST_OK(MPI_Start(&p->r[0]));
    }
}

static void complete_one(struct pair *p, int way, MPI_Status *status)
{
    unsigned tries = 0;
    int flag = 0, again = 0;

    switch (way) {
    case 0:
        MTEST_OK(MPI_Wait(&p->r[0], status));
        MTEST_OK(MPI_Wait(&p->r[1], MPI_STATUS_IGNORE));
        break;
    case 1:
        MTEST_OK(MPI_Wait(&p->r[1], MPI_STATUS_IGNORE));
        MTEST_OK(MPI_Wait(&p->r[0], status));
        break;
    case 2:
        while (!flag) {
            MTEST_OK(MPI_Test(&p->r[0], &flag, status));
            mtest_backoff(&tries);
        }
        MTEST_OK(MPI_Wait(&p->r[1], MPI_STATUS_IGNORE));
        break;
    default:
        while (!flag) {
            MTEST_OK(MPI_Request_get_status(p->r[0], &flag, status));
            mtest_backoff(&tries);
        }
        /* It tells without completing. */
        MTEST_OK(MPI_Request_get_status(p->r[0], &again, status));
        MTEST_EQ(again, 1);
        MTEST_OK(MPI_Waitall(2, p->r, MPI_STATUSES_IGNORE));
    }
}

static void complete_many(struct pair *p, int way, MPI_Status *status)
{
    MPI_Status s[2];
    int indices[2], left = 2, n = 0, flag = 0;
    unsigned tries = 0;

    if (way == 0) {
        MTEST_OK(MPI_Waitall(2, p->r, s));
        *status = s[0];
        return;
    }
    if (way == 1) {
        while (!flag) {
            MTEST_OK(MPI_Testall(2, p->r, &flag, s));
            mtest_backoff(&tries);
        }
        *status = s[0];
        return;
    }
    while (left > 0) {
        n = 1;
        flag = 1;
        if (way == 2) {
            MTEST_OK(MPI_Waitany(2, p->r, &indices[0], s));
        } else if (way == 3) {
            MTEST_OK(MPI_Testany(2, p->r, &indices[0], &flag, s));
            n = flag;
        } else {
            MTEST_OK(MPI_Waitsome(2, p->r, &n, indices, s));
        }
        for (int i = 0; i < n; i++) {
            if (indices[i] == 0) {
                *status = s[i];
            }
        }
        left -= n;
        mtest_backoff(&tries);
    }
}

static void expect_inactive(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        MPI_Status s;
        int flag = -1, index = -1;

        MTEST_CHECK(p->r[i] == p->keep[i]);
        MTEST_OK(MPI_Request_get_status(p->r[i], &flag, &s));
        MTEST_EQ(flag, 1);
        MTEST_EQ(s.MPI_SOURCE, MPI_ANY_SOURCE);
        MTEST_EQ(s.MPI_TAG, MPI_ANY_TAG);
        MTEST_OK(MPI_Wait(&p->r[i], &s));
        MTEST_EQ(s.MPI_SOURCE, MPI_ANY_SOURCE);
        MTEST_OK(MPI_Waitany(1, &p->r[i], &index, &s));
        MTEST_EQ(index, MPI_UNDEFINED);
    }
}

static void run_rounds(struct pair *p)
{
    for (int round = 0; round < 2 * WAYS; round++) {
        int way = round % WAYS;
        MPI_Status status;

        start(p, round);
        if (way < 4) {
            complete_one(p, way, &status);
        } else {
            complete_many(p, way - 4, &status);
        }
        expect_status(p, &status);
        if (p->from == MPI_PROC_NULL) {
            MTEST_UNTOUCHED(&p->in);
        } else {
            MTEST_FULL(&p->in, 50 * round + p->from);
        }
        expect_inactive(p);
    }
}

/* A freed request still moves its data; what follows on the same envelope is another pair. */
static void run_freed(struct pair *p)
{
    mtest_buf_clear(&p->in);
    mtest_buf_fill(&p->out, 77 + mtest_rank);
    if (p->ready) {
        start_ready(p);
    } else {
        MTEST_OK(MPI_Start(&p->r[1]));
    }
    MTEST_OK(MPI_Request_free(&p->r[1]));
    MTEST_CHECK(p->r[1] == MPI_REQUEST_NULL);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (!p->ready) {
        MTEST_OK(MPI_Start(&p->r[0]));
    }
    MTEST_OK(MPI_Wait(&p->r[0], MPI_STATUS_IGNORE));
    if (p->from != MPI_PROC_NULL) {
        MTEST_FULL(&p->in, 77 + p->from);
    }
    MTEST_OK(MPI_Request_free(&p->r[0]));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_buf_free(&p->in);
    mtest_buf_free(&p->out);
}

/* The receive is freed while active, and its message comes later. */
static void run_freed_receive(int from, int to)
{
    struct pair p;
    MPI_Request none = MPI_REQUEST_NULL;
    int word = -1, out = 5 + mtest_rank, flag;

    pair_make(&p, MTEST_SEND, COUNT, from, to);
    mtest_buf_clear(&p.in);
    mtest_buf_fill(&p.out, 88 + mtest_rank);
    MTEST_OK(MPI_Start(&p.r[0]));
    MTEST_OK(MPI_Request_free(&p.r[0]));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPI_Start(&p.r[1]));
    MTEST_OK(MPI_Wait(&p.r[1], MPI_STATUS_IGNORE));
    MTEST_OK(MPI_Request_free(&p.r[1]));
    /* MPI has no order between the two; calls of MPI let the first arrive, if the library sees some
     * of them, which lets a GPU copy. */
    for (int i = 0; i < 20; i++) {
        MTEST_OK(MPI_Test(&none, &flag, MPI_STATUS_IGNORE));
        (void)nanosleep(&(struct timespec){.tv_nsec = i * 1000000L}, NULL);
        MTEST_OK(MPI_Sendrecv(&out, 1, MPI_INT, to, TAG, &word, 1, MPI_INT, from, TAG,
                              MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    MTEST_EQ(word, 5 + from);
    MTEST_FULL(&p.in, 88 + from);
    mtest_buf_free(&p.in);
    mtest_buf_free(&p.out);
}

/* Buffered sends of 1 MiB, started again before the receiver comes. One that is not matched may get
 * another handle, in an array with a matched one, and is still known to be matched later. */
static void run_buffered(int from, int to)
{
    enum { TIMES = 4, N = 2 };
    struct mtest_buf in[N], out[N];
    MPI_Request send[N], receive[N], both[2], keep;
    MPI_Status s[N];

    for (int i = 0; i < N; i++) {
        mtest_buf_make(&in[i], MPI_BYTE, 1 << 20);
        mtest_buf_make(&out[i], MPI_BYTE, 1 << 20);
        MTEST_OK(mtest_init(MTEST_RECV, &in[i], from, TAG + i, MPI_COMM_WORLD, &receive[i]));
        MTEST_OK(mtest_init(MTEST_BSEND, &out[i], to, TAG + i, MPI_COMM_WORLD, &send[i]));
    }
    both[0] = receive[0];
    both[1] = send[0];
    MTEST_OK(MPIX_Matchall(2, both));
    keep = send[0];
    for (int k = 0; k < TIMES; k++) {
        mtest_buf_fill(&out[0], 300 + k);
        mtest_buf_fill(&out[1], 400 + k);
        MTEST_OK(MPI_Startall(N, send));
        MTEST_OK(MPI_Waitall(N, send, s));
        MTEST_CHECK(send[0] == keep);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    for (int k = 0; k < TIMES; k++) {
        MTEST_OK(MPI_Startall(N, receive));
        MTEST_OK(MPI_Waitall(N, receive, s));
        MTEST_FULL(&in[0], 300 + k);
    }
    both[0] = receive[1];
    both[1] = send[1];
    MTEST_OK(MPIX_Matchall(2, both));
    mtest_buf_clear(&in[1]);
    mtest_buf_fill(&out[1], 500);
    MTEST_OK(MPI_Startall(2, both));
    MTEST_OK(MPI_Waitall(2, both, s));
    MTEST_FULL(&in[1], 500);
    for (int i = 0; i < N; i++) {
        MTEST_OK(MPI_Request_free(&send[i]));
        MTEST_OK(MPI_Request_free(&receive[i]));
        mtest_buf_free(&in[i]);
        mtest_buf_free(&out[i]);
    }
}

int main(int argc, char **argv)
{
    int left, right;

    level = argc > 1 && strcmp(argv[1], "single") == 0 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
    mtest_begin(&argc, &argv, level);
    mtest_bsend_attach(16U << 20);
    left = (mtest_rank + mtest_size - 1) % mtest_size;
    right = (mtest_rank + 1) % mtest_size;
    for (enum mtest_mode mode = MTEST_SEND; mode < MTEST_RECV; mode++) {
        for (int kind = 0; kind < KINDS; kind++) {
            struct pair p;

            for (int peer = 0; peer < 3; peer++) {
                int from = peer == 0 ? left : peer == 1 ? mtest_rank : MPI_PROC_NULL;
                int to = peer == 0 ? right : peer == 1 ? mtest_rank : MPI_PROC_NULL;

                pair_make(&p, mode, counts[kind], from, to);
                run_rounds(&p);
                pair_free(&p);
                pair_make(&p, mode, counts[kind], from, to);
                run_freed(&p);
            }
        }
    }
    run_buffered(left, right);
    run_buffered(mtest_rank, mtest_rank);
    run_freed_receive(left, right);
    run_freed_receive(mtest_rank, mtest_rank);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_bsend_detach();
    return mtest_end();
}
