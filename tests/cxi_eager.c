/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel cxi, eager pairs: small standard sends, which go to slots of the receive. One
 * completes before its receive has started, and the next does not; no synchronous one does, nor one
 * that is too large for either end, nor one whose receive has no slots left. What has come stays
 * out of the buffer until the receive has started, also if the sender is gone by then; and what is
 * in a slot when its receive is freed goes nowhere else. Even ranks send, and odd ones receive.
 * Arguments: what MPIXQ_EAGER is at the one and at the other; and, of what is above, "many": only
 * that of slots that are too few; or "late": the process uses a GPU from the match on, by whose
 * stream messages in slots are received.
 */
#include "eager.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 1, GUARD = 5, MANY = 70, LEFT = 5 };

static void make(struct pair *p, enum mtest_mode mode, int bytes)
{
    p->bytes = bytes;
    if (is_sender) {
        mtest_buf_make(&p->buf, MPI_BYTE, bytes);
        MTEST_OK(mtest_init(mode, &p->buf, peer, TAG, MPI_COMM_WORLD, &p->r));
    } else {
        /* The receive could be too large for a slot, though the message is not: the receive
         * decides by its own size. */
        int room = bytes + GUARD <= limit ? bytes + GUARD : bytes;

        mtest_buf_make(&p->buf, MPI_BYTE, bytes + GUARD);
        MTEST_OK(MPI_Recv_init(p->buf.buf, room, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &p->r));
    }
    MTEST_OK(MPIX_Match(&p->r));
}

/* Many starts are enqueued before the first is received: most lack their credit until then. */
static void test_burst(int bytes)
{
    enum { BURST = 40 };
    struct pair p;

    make(&p, MTEST_SEND, bytes);
    if (is_sender) {
        mtest_buf_fill(&p.buf, 7);
        for (int i = 0; i < BURST; i++) {
            start_and_wait(&p);
        }
        barrier();
        MTEST_OK(MPIX_Queue_wait(queue));
    } else {
        barrier();
        for (int i = 0; i < BURST; i++) {
            receive(&p, 7);
        }
    }
    barrier();
    end(&p);
}

/* What has come is not in the buffer until the receive has started, and is there then though the
 * sender has gone. By the host as well. */
static void test_early(int bytes, bool by_host)
{
    struct pair p;

    make(&p, MTEST_SEND, bytes);
    for (int i = 0; is_sender && i < AHEAD; i++) {
        mtest_buf_fill(&p.buf, i);
        if (by_host) {
            MTEST_OK(MPI_Start(&p.r));
            MTEST_OK(MPI_Wait(&p.r, MPI_STATUS_IGNORE));
        } else {
            send_one(&p, i);
            MTEST_OK(MPIX_Queue_wait(queue));
        }
    }
    if (is_sender) {
        end(&p);
    } else {
        mtest_buf_fill(&p.buf, 99);
    }
    barrier();
    if (!is_sender) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        MTEST_FULL(&p.buf, 99);
        for (int i = 0; i < AHEAD; i++) {
            if (by_host) {
                mtest_buf_clear(&p.buf);
                MTEST_OK(MPI_Start(&p.r));
                MTEST_OK(MPI_Wait(&p.r, MPI_STATUS_IGNORE));
                MTEST_PART(&p.buf, bytes, i);
            } else {
                receive(&p, i);
            }
        }
        end(&p);
    }
    barrier();
}

/* Receives of a process that have slots. */
static int slotted(void)
{
    int share = 512 / mtest_size;

    return share < 64 ? share : 64;
}

/* Sends that complete though no receive was started. Those without a slot would never do so: so
 * none is waited for, and too few of them are an error. */
static void expect_sent(MPI_Request all[])
{
    enum { MOST = 20000, MORE = 6 };
    static int where[MANY];
    unsigned tries = 0;
    int n, done = 0, more = 0;

    for (int i = 0; i < MOST && more < MORE; i++) {
        MTEST_OK(MPI_Testsome(MANY, all, &n, where, MPI_STATUSES_IGNORE));
        done += n != MPI_UNDEFINED ? n : 0;
        more += done >= slotted() - LEFT;
        mtest_backoff(&tries);
    }
    if (done < slotted() - LEFT || done > slotted()) {
        mtest_fail(__FILE__, __LINE__, "%d sends of %d completed before their receives, not %d",
                   done, MANY, slotted());
    }
}

/* More receives than may have slots: those that have none, and their sends, wait for each other.
 * Receives that were freed before may have theirs still, until they hear of their sends' end. */
static void test_many(void)
{
    static struct pair p[MANY];
    static MPI_Request all[MANY];

    make_many(p, all, MANY);
    if (!is_sender) {
        barrier();
    }
    for (int i = 0; i < MANY; i++) {
        MTEST_OK(MPI_Start(&all[i]));
    }
    if (is_sender) {
        expect_sent(all);
        barrier();
    }
    MTEST_OK(MPI_Waitall(MANY, all, MPI_STATUSES_IGNORE));
    end_many(p, all, MANY);
    barrier();
}

/* The limit of this rank, which the launcher names in the environment. */
static void set_limits(int argc, char **argv)
{
    const char *rank = getenv("PMI_RANK");

    rank = rank != NULL ? rank : getenv("OMPI_COMM_WORLD_RANK");
    if (argc > 2 && rank != NULL) {
        long odd = strtol(rank, NULL, 10) % 2;
        int mine = (int)strtol(argv[1 + odd], NULL, 10);
        int other = (int)strtol(argv[2 - odd], NULL, 10);

        (void)setenv("MPIXQ_EAGER", argv[1 + odd], 1);
        limit = mine < other ? mine : other;
    }
}

static void test_all(void)
{
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    test_ahead(MTEST_SEND, limit + 1, 0);
    test_ahead(MTEST_SSEND, 8, 0);
    test_ahead(MTEST_SEND, 0, limit > 0 ? AHEAD : 0);
    test_burst(limit + 1);
    if (limit > 0) {
        test_ahead(MTEST_SEND, 1, AHEAD);
        test_ahead(MTEST_SEND, limit, AHEAD);
        test_ahead(MTEST_SEND, limit - GUARD - 1, AHEAD);
        test_burst(0);
        test_burst(limit);
        test_early(limit, false);
        test_early(7, true);
        test_left(limit, AHEAD);
        test_left(7, AHEAD);
        test_many();
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_cxi"),
             mtest_queue_count(queue, "mpixq_starts"));
    MTEST_OK(MPIX_Queue_free(&queue));
}

static void late_exchange(MPI_Request *r, int data[], int k)
{
    if (is_sender) {
        data[0] = k;
    }
    MTEST_OK(MPIX_Enqueue_start(queue, r));
    MTEST_OK(MPIX_Enqueue_wait(queue, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(data[0], k);
}

/* The pair is matched before anything has loaded the library of a GPU, on a stream of which the
 * queue is. The first message lies in a slot by then. */
static void test_late(void)
{
    int data[2] = {0, 0};
    MPI_Request r;

    if (is_sender) {
        MTEST_OK(mtest_init_raw(MTEST_SEND, data, 2, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r));
    } else {
        MTEST_OK(MPI_Recv_init(data, 2, MPI_INT, peer, TAG, MPI_COMM_WORLD, &r));
    }
    MTEST_OK(MPIX_Match(&r));
    if (is_sender) {
        data[0] = 1;
        MTEST_OK(MPI_Start(&r));
        MTEST_OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    }
    barrier();
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    for (int k = 1; k <= ROUNDS; k++) {
        if (!is_sender || k > 1) {
            late_exchange(&r, data, k);
        }
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Request_free(&r));
}

int main(int argc, char **argv)
{
    const char *what = argc > 3 ? argv[3] : "";

    set_limits(argc, argv);
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = mtest_rank ^ 1;
    is_sender = mtest_rank % 2 == 0;
    if (strcmp(what, "many") == 0) {
        test_many();
    } else if (strcmp(what, "late") == 0) {
        test_late();
    } else {
        test_all();
    }
    return mtest_end();
}
