/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * One operation of a pair fails, is lost, comes late or comes twice, on the double of the cxi
 * provider: each operation of each chain in turn. What fails is told by an error on both ends, by
 * the end that finds it with the operation and the peer, by the other with the peer; streams drain
 * and all objects can be freed; whatever is said to be complete has the right data; and the next
 * pair works. Argument 1: fail, lose (with the watchdog), late, twice (a clear-to-send), or apart
 * (what may have no name when it fails, beside another start under way that has nothing to do with
 * it).
 * Argument 2: writes of a message. Argument 3: host, if the host starts and waits. With
 * MPIXQ_CXI_DATA=delivered the sender tells, which is one more operation.
 */
#include "mtest.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cxi_double/switches.h"
#include "cxi_hooks.h"

enum { INTS = 100, TAG = 1, SENDER = 0, RECEIVER = 1 };

/* Operation number op of a rank in one start is hit. */
struct fault_case {
    const char *name; /* of the operation, as errors have it */
    enum mtest_mode mode;
    int rank, op;
    bool is_own; /* the other end may be complete without it */
};

static const struct cxi_double_hooks *hooks;
static const struct fault_case *at;
static int data[INTS], pieces = 1, peer;
static bool by_host, is_lost, tells, is_eager;
static MPIX_Queue queue;
static MPI_Request request;

static int value(int round, int i)
{
    return round * 7919 + i;
}

static void fill(int round)
{
    for (int i = 0; i < INTS; i++) {
        data[i] = mtest_rank == SENDER ? value(round, i) : -1;
    }
}

static void check(int round)
{
    for (int i = 0; i < INTS; i++) {
        if (data[i] != value(round, i)) {
            mtest_fail(__FILE__, __LINE__, "%s: wrong data", at->name);
            return;
        }
    }
}

static void make(enum mtest_mode mode)
{
    queue = MPIX_QUEUE_NULL;
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    MTEST_OK(mtest_init_raw(mtest_rank == SENDER ? mode : MTEST_RECV, data, (int)sizeof data,
                            MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &request));
    MTEST_OK(MPIX_Match(&request));
}

static void unmake(void)
{
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Request_free(&request));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* A start and its wait; a code of MPI. */
static int transfer(void)
{
    int rc;

    if (!by_host) {
        return mtest_transfer(queue, &request);
    }
    rc = MPI_Start(&request);
    return rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

static int round_of(int number)
{
    fill(number);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* the buffer of a ready send may be written */
    return transfer();
}

/* A round in which nothing goes wrong. */
static void good_round(int round)
{
    MTEST_OK(round_of(round));
    check(round);
}

static void hit(int fault, const struct fault_case *c)
{
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == c->rank) {
        hooks->fault(fault, NIC_HIT_ANY, c->op, 1);
    }
}

static void spare(const struct fault_case *c)
{
    if (mtest_rank == c->rank) {
        MTEST_EQ(hooks->hits(), 1);
        hooks->fault(NIC_FAULT_NONE, NIC_HIT_ANY, 1, 1);
    }
}

/* An error of this end: it names the peer, and the end that found it names the operation. */
static void expect(int rc, bool names_operation)
{
    char text[MPI_MAX_ERROR_STRING] = "", rank[16];
    int length;

    mtest_forgive(1);
    /* What the watchdog finds, the other end is told. */
    MTEST_CHECK(mtest_kind_of(rc) == MPIXQ_ERR_COMM ||
                (is_lost && mtest_kind_of(rc) == MPIXQ_ERR_TIMEOUT));
    (void)MPI_Error_string(rc, text, &length);
    (void)snprintf(rank, sizeof rank, "rank %d", peer);
    /* A start that is refused since the failure is known already says only that. */
    if (!names_operation && by_host && strstr(text, "has failed") != NULL) {
        return;
    }
    if (strstr(text, rank) == NULL || (names_operation && strstr(text, at->name) == NULL)) {
        mtest_fail(__FILE__, __LINE__, "%s: \"%s\" does not name peer and operation", at->name,
                   text);
    }
}

/* This end was complete in spite of it. The next starts cannot be, sooner or later. */
static int fail_later(void)
{
    unsigned tries = 0;
    int rc = MPI_SUCCESS;

    for (int i = 0; i < 2000 && rc == MPI_SUCCESS; i++) {
        mtest_backoff(&tries);
        rc = transfer();
    }
    return rc;
}

static void run_failure(int fault, const struct fault_case *c)
{
    bool is_hit = mtest_rank == c->rank;
    int rc;

    make(c->mode);
    good_round(1);
    hit(fault, c);
    rc = round_of(2);
    spare(c);
    if (rc == MPI_SUCCESS && (is_hit || !c->is_own)) {
        mtest_fail(__FILE__, __LINE__, "%s of a %s was hit on rank %d, and no error came", c->name,
                   mtest_mode_name(c->mode), c->rank);
    } else if (rc == MPI_SUCCESS) {
        check(2);
        rc = fail_later();
    }
    expect(rc, is_hit && fault == NIC_FAULT_FAIL);
    unmake();
}

static void run_late(const struct fault_case *c)
{
    make(c->mode);
    good_round(1);
    hit(NIC_FAULT_LATE, c);
    good_round(2);
    spare(c);
    good_round(3);
    unmake();
}

/* The receiver's clear-to-send of round 2 comes twice. That is found when the sender executes a
 * start with more of them than starts: at once, if both were there by then, or in a later round in
 * which the receiver was ahead by a start. */
static void run_twice(const struct fault_case *c)
{
    enum { ROUNDS = 50, FIRST = 2 };
    int rc = MPI_SUCCESS;

    make(c->mode);
    good_round(1);
    hit(NIC_FAULT_DUPLICATE, c);
    for (int round = FIRST; rc == MPI_SUCCESS && round < ROUNDS; round++) {
        unsigned tries = 100;

        fill(round);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        if (mtest_rank == SENDER) {
            for (int i = 0; i < 5 * (round - FIRST); i++) {
                mtest_backoff(&tries);
            }
        }
        rc = transfer();
        if (round == FIRST) {
            spare(c);
        }
        if (rc == MPI_SUCCESS) {
            check(round);
        }
        /* Both or none, in the end. */
        int failed = rc != MPI_SUCCESS;

        MTEST_OK(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        rc = failed != 0 && rc == MPI_SUCCESS ? fail_later() : rc;
    }
    expect(rc, mtest_rank == SENDER);
    unmake();
}

/* An operation of an empty message fails while a start of another queue of the same process waits
 * for its peer, which comes to pass all the same. That start has nothing executed yet that could be
 * hit: a synchronous send lacks its clear-to-send, and the receive of a ready send its data. */
static void run_apart(const struct fault_case *c)
{
    MPIX_Queue second = MPIX_QUEUE_NULL;
    MPI_Request r[2];
    bool is_hit = mtest_rank == c->rank;
    int rc;

    queue = MPIX_QUEUE_NULL;
    fill(1);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    MTEST_OK(MPIX_Queue_init(&second, MPIX_QUEUE_CXI, NULL));
    for (int i = 0; i < 2; i++) {
        enum mtest_mode mode = i == 0 ? c->mode : c->rank == RECEIVER ? MTEST_RSEND : MTEST_SSEND;

        MTEST_OK(mtest_init_raw(mtest_rank == SENDER ? mode : MTEST_RECV, data,
                                i * (int)sizeof data, MPI_BYTE, peer, TAG + i, MPI_COMM_WORLD,
                                &r[i]));
    }
    MTEST_OK(MPIX_Matchall(2, r));
    request = r[0];
    if (is_hit) {
        MTEST_OK(MPIX_Enqueue_start(second, &r[1]));
        MTEST_OK(MPIX_Enqueue_wait(second, &r[1]));
    }
    hit(NIC_FAULT_FAIL, c);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    rc = transfer();
    spare(c);
    if (rc == MPI_SUCCESS && !is_hit && c->is_own) {
        rc = fail_later();
    }
    expect(rc, is_hit);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (!is_hit) {
        MTEST_OK(MPIX_Enqueue_start(second, &r[1]));
        MTEST_OK(MPIX_Enqueue_wait(second, &r[1]));
    }
    MTEST_OK(MPIX_Queue_wait(second));
    check(1);
    MTEST_OK(MPIX_Queue_free(&second));
    MTEST_OK(MPI_Request_free(&r[1]));
    unmake();
}

static void run(const char *what, const struct fault_case *c)
{
    at = c;
    if (strcmp(what, "fail") == 0) {
        run_failure(NIC_FAULT_FAIL, c);
    } else if (strcmp(what, "lose") == 0) {
        run_failure(NIC_FAULT_LOSE, c);
    } else if (strcmp(what, "late") == 0) {
        run_late(c);
    } else {
        run_twice(c);
    }
}

static void run_all(const char *what)
{
    const struct fault_case cases[] = {
        {"clear-to-send", MTEST_SEND, RECEIVER, 1, is_eager}, /* then it is for the next send */
        {"completion", MTEST_SEND, RECEIVER, 2, true},
        {"completion", MTEST_SEND, SENDER, pieces + 1 + tells, true},
        {"completion", MTEST_RSEND, RECEIVER, 1, true},
        {"completion", MTEST_RSEND, SENDER, pieces + 1 + tells, true},
        {"notice of delivery", MTEST_SEND, SENDER, pieces + 1, false},
        {"notice of delivery", MTEST_RSEND, SENDER, pieces + 1, false},
    };
    const int all = (int)(sizeof cases / sizeof cases[0]) - (tells ? 0 : 2);
    const int n = strcmp(what, "twice") == 0 ? 1 : all;

    if (strcmp(what, "apart") == 0) {
        const struct fault_case writes[] = {{"write", MTEST_SEND, SENDER, 1, false},
                                            {"write", MTEST_RSEND, SENDER, 1, false}};

        for (int i = 0; i < all + 2; i++) {
            at = i < all ? &cases[i] : &writes[i - all];
            run_apart(at);
        }
        return;
    }
    for (int i = 0; i < n; i++) {
        run(what, &cases[i]);
    }
    for (int i = 0; i < 2 * pieces && n > 1; i++) {
        const struct fault_case write = {"write", i % 2 == 0 ? MTEST_SEND : MTEST_RSEND, SENDER,
                                         i / 2 + 1, false};

        run(what, &write);
    }
}

int main(int argc, char **argv)
{
    MPIX_Queue first = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_EQ(mtest_size, 2);
    peer = 1 - mtest_rank;
    is_lost = argc > 1 && strcmp(argv[1], "lose") == 0;
    pieces = argc > 2 ? atoi(argv[2]) : 1;
    tells = getenv("MPIXQ_CXI_DATA") != NULL && strcmp(getenv("MPIXQ_CXI_DATA"), "delivered") == 0;
    is_eager = !tells && (getenv("MPIXQ_EAGER") == NULL || atoi(getenv("MPIXQ_EAGER")) > 0);
    by_host = argc > 3 && strcmp(argv[3], "host") == 0;
    MTEST_OK(MPIX_Queue_init(&first, MPIX_QUEUE_CXI, NULL));
    hooks = cxi_hooks();
    if (hooks != NULL && argc > 1) {
        run_all(argv[1]);
    }
    MTEST_EXCHANGE(first, MPI_COMM_WORLD, peer);
    MTEST_OK(MPIX_Queue_free(&first));
    return mtest_end();
}
