/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which channels a pair may use: what MPIX_Matchall_info and MPIX_Imatchall_info take, and that two
 * ends without a common channel both hear which ones the other may use, and stay as they were. With
 * argument "limit" (MPIXQ_CHANNELS=fallback) that info cannot go beyond the environment; with
 * "order" (where cxi can be used, too) that the order of the receiver decides.
 */
#include "mtest.h"

#include <stdio.h>
#include <string.h>

enum { ROOM = 512 };

static int peer;

static MPI_Info channels(const char *value)
{
    MPI_Info info = MPI_INFO_NULL;

    MTEST_OK(MPI_Info_create(&info));
    if (value != NULL) {
        MTEST_OK(MPI_Info_set(info, "mpixq_channels", value));
    }
    MTEST_OK(MPI_Info_set(info, "mpixq_no_such_key", "anything"));
    return info;
}

static int match(int count, MPI_Request requests[], const char *value)
{
    MPI_Info info = channels(value);
    int rc = MPIX_Matchall_info(count, requests, info);

    MTEST_OK(MPI_Info_free(&info));
    return rc;
}

static int imatch(int count, MPI_Request requests[], const char *value)
{
    MPI_Info info = channels(value);
    MPI_Request op = MPI_REQUEST_NULL;
    int rc = MPIX_Imatchall_info(count, requests, info, &op);

    MTEST_OK(MPI_Info_free(&info));
    return rc != MPI_SUCCESS ? rc : MPI_Wait(&op, MPI_STATUS_IGNORE);
}

struct pair {
    int out, in;
    MPI_Request r[2]; /* of the receive, of the send */
};

static void make(struct pair *p, int tag)
{
    p->in = -1;
    p->out = 1000 * tag + mtest_rank;
    MTEST_OK(MPI_Recv_init(&p->in, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &p->r[0]));
    MTEST_OK(MPI_Send_init(&p->out, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &p->r[1]));
}

/* Matched: by which channels do the receive and the send go? */
static void transfer(struct pair *p, const char *receive_by, const char *send_by)
{
    const char *by[2] = {receive_by, send_by};
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    char key[64];

    for (int round = 0; round < 3; round++) {
        p->in = -1;
        p->out += 100;
        MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, p->r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, p->r));
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_EQ(p->in, p->out - mtest_rank + peer);
        for (int i = 0; i < 2; i++) {
            (void)snprintf(key, sizeof key, "mpixq_starts_%s", by[i]);
            MTEST_EQ(mtest_queue_count(queue, key), strcmp(by[0], by[1]) == 0 ? 2 : 1);
        }
        MTEST_OK(MPIX_Queue_free(&queue));
    }
}

static void end(struct pair *p)
{
    MTEST_OK(MPI_Request_free(&p->r[0]));
    MTEST_OK(MPI_Request_free(&p->r[1]));
}

static void test_values(void)
{
    static const char *const bad[] = {"nonsense", "self", "cxi,cxi", "ipc,", ",", "fallback cxi"};
    struct pair p;

    make(&p, 1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int flag = 1;

        MTEST_KIND_TEXT(match(2, p.r, bad[i]), MPIXQ_ERR_ARG,
                        "info: the value of key mpixq_channels");
        MTEST_KIND_TEXT(imatch(2, p.r, bad[i]), MPIXQ_ERR_ARG, "mpixq_channels");
        MTEST_KIND(match(0, p.r, bad[i]), MPIXQ_ERR_ARG);
        MTEST_OK(MPIX_Is_matched(p.r[0], &flag));
        MTEST_EQ(flag, 0);
    }
    MTEST_OK(match(0, p.r, "fallback"));
    MTEST_OK(match(2, p.r, "fallback"));
    transfer(&p, "fallback", "fallback");
    end(&p);
    make(&p, 2);
    MTEST_OK(imatch(2, p.r, NULL));
    transfer(&p, "fallback", "fallback");
    end(&p);
}

/* Text of a code that a match gave, which says what each end may use. */
static void expect_sets(int rc, const char *here, const char *there)
{
    char text[MPI_MAX_ERROR_STRING] = "", words[ROOM];
    int length;

    MTEST_EQ(mtest_kind_of(rc), MPIXQ_ERR_MATCH);
    MTEST_OK(MPI_Error_string(rc, text, &length));
    (void)snprintf(words, sizeof words,
                   "no channel in common (MPIXQ_CHANNELS, mpixq_channels): "
                   "this end may use %s, the other %s",
                   here, there);
    if (strstr(text, words) == NULL) {
        mtest_fail(__FILE__, __LINE__, "'%s' does not say '%s'", text, words);
    }
}

static void test_nothing_in_common(void)
{
    const char *here = mtest_rank == 0 ? "fallback" : "cxi,ipc";
    struct pair p;
    int rc, flag = 1;

    make(&p, 3);
    for (int i = 0; i < 2; i++) {
        rc = i == 0 ? match(2, p.r, here) : imatch(2, p.r, here);
        mtest_forgive(1);
        expect_sets(rc, mtest_rank == 0 ? "fallback" : "ipc,cxi",
                    mtest_rank == 0 ? "ipc,cxi" : "fallback");
        MTEST_OK(MPIX_Is_matched(p.r[0], &flag));
        MTEST_EQ(flag, 0);
        MTEST_OK(MPI_Startall(2, p.r));
        MTEST_OK(MPI_Waitall(2, p.r, MPI_STATUSES_IGNORE));
        MTEST_EQ(p.in, p.out - mtest_rank + peer);
    }
    MTEST_OK(MPIX_Matchall(2, p.r));
    transfer(&p, "fallback", "fallback");
    end(&p);
}

/* Within the process, where there is always self but for buffered sends; and to nobody. */
static void test_without_network(void)
{
    int in = -1, out = 5;
    MPI_Request r[4];

    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[1]));
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, &r[2]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, &r[3]));
    MTEST_OK(match(4, r, "cxi"));
    MTEST_OK(MPI_Startall(4, r));
    MTEST_OK(MPI_Waitall(4, r, MPI_STATUSES_IGNORE));
    MTEST_EQ(in, 5);
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[0]));
    MTEST_OK(MPI_Bsend_init(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[1]));
    MTEST_KIND_TEXT(match(2, r, "cxi"), MPIXQ_ERR_RESOURCES, "no channel serves");
    MTEST_OK(match(2, r, "fallback"));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

static void test_limit(void)
{
    struct pair p;
    int rc;

    make(&p, 4);
    rc = match(2, p.r, mtest_rank == 0 ? "cxi,ipc" : "fallback");
    mtest_forgive(1);
    expect_sets(rc, mtest_rank == 0 ? "none" : "fallback", mtest_rank == 0 ? "fallback" : "none");
    MTEST_OK(match(2, p.r, "cxi,fallback,ipc"));
    transfer(&p, "fallback", "fallback");
    end(&p);
}

/* Both ends may use both, and each would rather have another. */
static void test_order(void)
{
    static const char *const orders[] = {"ipc,cxi,fallback", "fallback,cxi", "cxi,fallback",
                                         "fallback,ipc,cxi", "cxi",          "fallback"};
    static const char *const first[] = {"cxi", "fallback", "cxi", "fallback", "cxi", "fallback"};
    struct pair p;

    for (int mine = 0; mine < 4; mine++) {
        int other = (mine + 1) % 4;
        int here = mtest_rank == 0 ? mine : other, there = mtest_rank == 0 ? other : mine;

        make(&p, 10 + mine);
        MTEST_OK(match(2, p.r, orders[here]));
        transfer(&p, first[here], first[there]);
        end(&p);
    }
    for (int only = 4; only < 6; only++) {
        make(&p, 10 + only);
        MTEST_OK(match(2, p.r, mtest_rank == 0 ? orders[only] : NULL));
        transfer(&p, first[only], first[only]);
        end(&p);
    }
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    if (argc > 1 && strcmp(argv[1], "limit") == 0) {
        test_limit();
    } else if (argc > 1 && strcmp(argv[1], "order") == 0) {
        test_order();
    } else {
        test_values();
        test_nothing_in_common();
        test_without_network();
    }
    return mtest_end();
}
