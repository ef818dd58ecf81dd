/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What MPIXQ_STATS=1 prints in MPI_Finalize: the counts of each rank, which are those that its
 * queues told before and what the program has started by the host, and their sums. A partitioned
 * request is started once, however many messages it has; these go by channels. Argument:
 *
 *     all        every rank comes in time: rank 0 prints one table
 *     late       rank 1 comes late: rank 0 prints what it has, and all when that has come
 *     absent     rank 0 comes late: rank 1 prints its own line, and rank 0 later all
 *     silent     without MPIXQ_STATS nothing is printed
 *     stalls     as all, and no start has room in the NIC (MPIXQ_TRIGGERED_OPS=0)
 */
#include "mtest.h"

#include <mpix_queue_partitions.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 32768, PAIRS = 3, TIMES = 5, BY_HOST = 2, LATE_S = 8 };

/* Of partitioned requests: a message each, and one more that says that the receive is started. */
enum { PARTED = 2, PARTITIONS = 3, PARTS = PARTITIONS + 1 };

/* Pairs of each rank with the other. */
enum { TO_OTHER = 2 * PAIRS + PARTED * 2 * PARTS };

/* The columns of the table behind the rank. */
enum { QUEUES, STARTS, HOST, WAITS, LAUNCHES, POSTS, RINGS, STALLS, SENT, RECEIVED, COLUMNS };

static long long own[COLUMNS];

static void read_counts(MPIX_Queue queue)
{
    own[QUEUES]++;
    own[STARTS] += mtest_queue_count(queue, "mpixq_starts");
    own[WAITS] += mtest_queue_count(queue, "mpixq_waits");
    own[LAUNCHES] += mtest_queue_count(queue, "mpixq_launches");
    own[POSTS] += mtest_queue_count(queue, "mpixq_posts");
    own[RINGS] += mtest_queue_count(queue, "mpixq_rings");
    own[STALLS] += mtest_queue_count(queue, "mpixq_stalls");
}

/* Messages of 4, 8, ... bytes to the other rank and back, one to itself, and one to nobody. */
static int make(MPI_Request r[], int in[], int out[])
{
    int peer = 1 - mtest_rank, n = 0;

    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(MPI_Recv_init(&in[PAIRS * i], i + 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[n++]));
        MTEST_OK(MPI_Send_init(&out[PAIRS * i], i + 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[n++]));
    }
    MTEST_OK(MPI_Recv_init(&in[PAIRS * PAIRS], 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r[n++]));
    MTEST_OK(MPI_Send_init(&out[PAIRS * PAIRS], 1, MPI_INT, 0, 0, MPI_COMM_SELF, &r[n++]));
    MTEST_OK(MPI_Send_init(&out[0], 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r[n++]));
    MTEST_OK(MPIX_Matchall(n, r));
    return n;
}

static void check_data(int in[], int rank_of_peer)
{
    for (int i = 0; i <= PAIRS * PAIRS; i++) {
        int column = i % PAIRS, row = i / PAIRS;
        bool is_self = i == PAIRS * PAIRS;

        MTEST_EQ(in[i], is_self         ? 100 * mtest_rank + i
                        : column <= row ? 100 * rank_of_peer + i
                                        : -1);
        in[i] = -1;
    }
}

/* On two queues and by the host. The first queue and its requests are freed, some of what comes
 * after is left to MPI_Finalize. */
static void exchange(MPIX_Queue *left_p)
{
    static int in[PAIRS * PAIRS + 1], out[PAIRS * PAIRS + 1];
    MPI_Request r[2 * PAIRS + 3];
    MPIX_Queue q[2];
    int n;

    for (int i = 0; i <= PAIRS * PAIRS; i++) {
        in[i] = -1;
        out[i] = 100 * mtest_rank + i;
    }
    n = make(r, in, out);
    for (int k = 0; k < 2; k++) {
        MTEST_OK(MPIX_Queue_init(&q[k], MPIX_QUEUE_AUTO, NULL));
        for (int t = 0; t < TIMES; t++) {
            MTEST_OK(MPIX_Enqueue_startall(q[k], n, r));
            MTEST_OK(MPIX_Enqueue_waitall(q[k], n, r));
        }
        MTEST_OK(MPIX_Queue_wait(q[k]));
        check_data(in, 1 - mtest_rank);
        read_counts(q[k]);
    }
    for (int t = 0; t < BY_HOST; t++) {
        MTEST_OK(MPI_Startall(n, r));
        MTEST_OK(MPI_Waitall(n, r, MPI_STATUSES_IGNORE));
        check_data(in, 1 - mtest_rank);
    }
    own[HOST] += (long long)BY_HOST * n;
    own[STARTS] += (long long)BY_HOST * n;
    /* 4 bytes of self, and 4 + 8 + 12 of the others. */
    own[SENT] += (2 * TIMES + BY_HOST) * (4 + 2 * PAIRS * (PAIRS + 1));
    own[RECEIVED] += (2 * TIMES + BY_HOST) * (4 + 2 * PAIRS * (PAIRS + 1));
    MTEST_OK(MPIX_Queue_free(&q[0]));
    for (int i = 0; i < n - 2; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    *left_p = q[1];
}

static void start_parted(MPI_Request r[2], MPIX_Queue queue)
{
    if (queue == MPIX_QUEUE_NULL) {
        MTEST_OK(MPI_Startall(2, r));
        own[HOST] += 2;
        own[STARTS] += 2;
    } else {
        MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    }
    MTEST_OK(MPIX_Pready_range(0, PARTITIONS - 1, r[1]));
    if (queue == MPIX_QUEUE_NULL) {
        MTEST_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    } else {
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
        MTEST_OK(MPIX_Queue_wait(queue));
    }
}

/* By the host and on a queue. The last are left to MPI_Finalize. */
static void exchange_parted(void)
{
    static int in[PARTED][PARTITIONS], out[PARTED][PARTITIONS];
    int peer = 1 - mtest_rank;
    MPIX_Queue queue;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int k = 0; k < PARTED; k++) {
        MPI_Request r[2];

        MTEST_OK(MPIX_Precv_init(in[k], PARTITIONS, 1, MPI_INT, peer, k, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &r[0]));
        MTEST_OK(MPIX_Psend_init(out[k], PARTITIONS, 1, MPI_INT, peer, k, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &r[1]));
        MTEST_OK(MPIX_Matchall(2, r));
        for (int t = 0; t < BY_HOST + TIMES; t++) {
            start_parted(r, t < BY_HOST ? MPIX_QUEUE_NULL : queue);
        }
        own[SENT] += (BY_HOST + TIMES) * (long long)sizeof in[k];
        own[RECEIVED] += (BY_HOST + TIMES) * (long long)sizeof in[k];
        if (k < PARTED - 1) {
            MTEST_OK(MPI_Request_free(&r[0]));
            MTEST_OK(MPI_Request_free(&r[1]));
        }
    }
    read_counts(queue);
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* The row of this name in the n-th table of the text. */
static bool find_row(const char *text, int table, const char *name, long long row[COLUMNS])
{
    const char *at = text;
    char begin[64];
    int used;

    for (int i = 0; i <= table && at != NULL; i++) {
        at = strstr(i == 0 ? at : at + 1, ": stats of ");
    }
    (void)snprintf(begin, sizeof begin, ": stats: %7s ", name);
    at = at != NULL ? strstr(at, begin) : NULL;
    at = at != NULL ? at + strlen(begin) : NULL;
    for (int i = 0; i < COLUMNS && at != NULL; i++) {
        at = sscanf(at, "%lld%n", &row[i], &used) == 1 ? at + used : NULL;
    }
    return at != NULL;
}

static void expect_row(const char *text, int table, const char *name, const long long expected[])
{
    long long row[COLUMNS];

    if (!find_row(text, table, name, row)) {
        mtest_fail(__FILE__, __LINE__, "table %d has no row %s", table, name);
        return;
    }
    for (int i = 0; i < COLUMNS; i++) {
        if (row[i] != expected[i]) {
            mtest_fail(__FILE__, __LINE__, "table %d, rank %s, column %d: %lld, expected %lld",
                       table, name, i, row[i], expected[i]);
        }
    }
}

/* The n-th table has both ranks. */
static void expect_all(const char *text, int table, const long long counts[2][COLUMNS])
{
    long long sum[COLUMNS];

    for (int i = 0; i < COLUMNS; i++) {
        sum[i] = counts[0][i] + counts[1][i];
    }
    expect_row(text, table, "0", counts[0]);
    expect_row(text, table, "1", counts[1]);
    expect_row(text, table, "all", sum);
}

static int tables_in(const char *text)
{
    int n = 0;

    for (; (text = strstr(text, ": stats of ")) != NULL; text++) {
        n++;
    }
    return n;
}

/* Each rank has these, and one pair to itself. */
static void check_channels(const char *text)
{
    char pairs[64];

    (void)snprintf(pairs, sizeof pairs, "%d cxi, 1 self\n", TO_OTHER);
    if (strstr(text, pairs) != NULL) {
        MTEST_CHECK(strstr(text, "pairs by cxi, not by ipc: ") != NULL);
        return;
    }
    (void)snprintf(pairs, sizeof pairs, "%d fallback, 1 self\n", TO_OTHER);
    MTEST_CHECK(strstr(text, pairs) != NULL);
    (void)snprintf(pairs, sizeof pairs, "%d pairs by fallback, not by cxi: ", 2 * TO_OTHER);
    MTEST_CHECK(strstr(text, pairs) != NULL);
    MTEST_CHECK(strstr(strstr(text, pairs), ", on 2 ranks, the first 0\n") != NULL);
}

/* There are no windows, and nothing is said of them. */
static void check_quiet(const char *text)
{
    MTEST_CHECK(strstr(text, "windows") == NULL && strstr(text, "puts") == NULL);
}

static void check(const char *text, const char *which, const long long counts[2][COLUMNS])
{
    bool is_late = strcmp(which, "late") == 0, is_absent = strcmp(which, "absent") == 0;
    bool prints = (mtest_rank == 0) || is_absent;

    check_quiet(text);
    MTEST_EQ(tables_in(text), strcmp(which, "silent") == 0 ? 0 : is_late * prints + prints);
    if (strcmp(which, "silent") == 0 || !prints) {
        return;
    }
    if (mtest_rank == 1) {
        MTEST_CHECK(strstr(text, "stats of 1 of 2 ranks, as rank 0 does not take them\n") != NULL);
        expect_row(text, 0, "1", counts[1]);
        return;
    }
    if (is_late) {
        MTEST_CHECK(strstr(text, "stats of 1 of 2 ranks\n") != NULL);
        expect_row(text, 0, "0", counts[0]);
        MTEST_CHECK(strstr(text, "stats of 2 of 2 ranks, with those that came late\n") != NULL);
    }
    expect_all(text, is_late, counts);
    check_channels(text);
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "all";
    MPIX_Queue left = MPIX_QUEUE_NULL;
    long long counts[2][COLUMNS];
    static char text[ROOM];
    int code;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    exchange_parted();
    exchange(&left);
    MTEST_CHECK((strcmp(which, "stalls") == 0) == (own[STALLS] > 0));
    MTEST_OK(
        MPI_Allgather(own, COLUMNS, MPI_LONG_LONG, counts, COLUMNS, MPI_LONG_LONG, MPI_COMM_WORLD));
    code = mtest_verdict();
    mtest_capture();
    if (strcmp(which, mtest_rank == 1 ? "late" : "absent") == 0) {
        (void)sleep(LATE_S);
    }
    MPI_Finalize();
    mtest_captured(text, sizeof text);
    check(text, which, counts);
    return mtest_failures() > 0 ? 1 : code;
}
