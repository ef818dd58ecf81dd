/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * eager.h - what the tests of eager messages have in common, by whichever channel these go to slots
 * of the receive. Included once by a test program, which says how a pair is made.
 */
#ifndef EAGER_H
#define EAGER_H

#include "mtest.h"

#include <time.h>

enum { TAG = 50, ROUNDS = 5 };

static MPIX_Queue queue;
static int peer, is_sender;
static int limit; /* bytes of the largest eager message */

struct pair {
    struct mtest_buf buf; /* of a receive it may be larger than the message */
    MPI_Request r;
    int bytes; /* of the message */
};

/* A send in this mode, or its receive, which is matched. */
static void make(struct pair *p, enum mtest_mode mode, int bytes);

static void end(struct pair *p)
{
    MTEST_OK(MPI_Request_free(&p->r));
    mtest_buf_free(&p->buf);
}

static void barrier(void)
{
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void start_and_wait(struct pair *p)
{
    MTEST_OK(MPIX_Enqueue_start(queue, &p->r));
    MTEST_OK(MPIX_Enqueue_wait(queue, &p->r));
}

static void send_one(struct pair *p, int seed)
{
    mtest_buf_fill(&p->buf, seed);
    start_and_wait(p);
}

static void receive(struct pair *p, int seed)
{
    mtest_buf_clear(&p->buf);
    start_and_wait(p);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_PART(&p->buf, p->bytes, seed);
}

static void expect_stuck(void)
{
    int flag = 1;

    for (int i = 0; i < 20; i++) {
        MTEST_OK(MPIX_Queue_test(queue, &flag));
        MTEST_EQ(flag, 0);
        (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

/* One message, and both ends know that it is over. */
static void exchange(struct pair *p, int seed)
{
    if (is_sender) {
        send_one(p, seed);
        MTEST_OK(MPIX_Queue_wait(queue));
    } else {
        receive(p, seed);
    }
    barrier();
}

/* So many sends complete before the first receive starts, and one more does not. Then the same once
 * both ends have gone on for a while: what has been received makes room. */
static void test_ahead(enum mtest_mode mode, int bytes, int ahead)
{
    struct pair p;
    int seed = 0;

    make(&p, mode, bytes);
    for (int round = 0; round < ROUNDS; round++) {
        if (is_sender) {
            for (int i = 0; i < ahead; i++) {
                send_one(&p, seed + i);
                MTEST_OK(MPIX_Queue_wait(queue));
            }
            send_one(&p, seed + ahead);
            expect_stuck();
            barrier();
            MTEST_OK(MPIX_Queue_wait(queue));
        } else {
            barrier();
            for (int i = 0; i <= ahead; i++) {
                receive(&p, seed + i);
            }
        }
        seed += ahead + 1;
        barrier();
        for (int i = 0; i < round; i++, seed++) {
            exchange(&p, seed);
        }
    }
    end(&p);
}

/* So many messages are never received. Nobody after that pair sees them, whose slots may be used
 * again. */
static void test_left(int bytes, int ahead)
{
    struct pair p;

    for (int i = 0; i < ROUNDS + 1; i++) {
        make(&p, MTEST_SEND, bytes);
        for (int seed = 0; is_sender && seed < ahead; seed++) {
            send_one(&p, 100 * i + seed);
            MTEST_OK(MPIX_Queue_wait(queue));
        }
        barrier();
        end(&p);
        make(&p, MTEST_SEND, bytes);
        for (int seed = 0; seed < ROUNDS; seed++) {
            exchange(&p, 10 * i + seed);
        }
        end(&p);
    }
}

/* So many pairs of the largest messages, whose handles are given too. */
static void make_many(struct pair pairs[], MPI_Request all[], int n)
{
    for (int i = 0; i < n; i++) {
        mtest_buf_make(&pairs[i].buf, MPI_BYTE, limit);
        MTEST_OK(mtest_init(is_sender ? MTEST_SEND : MTEST_RECV, &pairs[i].buf, peer, TAG + i,
                            MPI_COMM_WORLD, &all[i]));
        mtest_buf_fill(&pairs[i].buf, i);
        if (!is_sender) {
            mtest_buf_clear(&pairs[i].buf);
        }
    }
    MTEST_OK(MPIX_Matchall(n, all));
}

static void end_many(struct pair pairs[], MPI_Request all[], int n)
{
    for (int i = 0; i < n; i++) {
        MTEST_FULL(&pairs[i].buf, i);
        MTEST_OK(MPI_Request_free(&all[i]));
        mtest_buf_free(&pairs[i].buf);
    }
}

#endif
