/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Hints at queue creation and everything MPIX_Queue_get_info tells, with counts after known work.
 */
#include "mtest.h"

#include <string.h>

static MPIX_Queue queue_with(const char *key, const char *value, void *stream)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Info info = MPI_INFO_NULL;

    MTEST_OK(MPI_Info_create(&info));
    MTEST_OK(MPI_Info_set(info, key, value));
    MTEST_OK(MPIX_Queue_init_info(&queue, MPIX_QUEUE_AUTO, stream, info));
    MTEST_OK(MPI_Info_free(&info));
    return queue;
}

static void expect_value(MPIX_Queue queue, const char *key, const char *expected)
{
    char value[MPI_MAX_INFO_VAL + 1];

    if (!mtest_queue_info(queue, key, value)) {
        mtest_fail(__FILE__, __LINE__, "no key %s", key);
    } else if (strcmp(value, expected) != 0) {
        mtest_fail(__FILE__, __LINE__, "%s is \"%s\", expected \"%s\"", key, value, expected);
    }
}

static void test_hints(void)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue q[3];

    MTEST_OK(MPIX_Host_stream_create(&stream));
    q[0] = queue_with("type", "mpix_host_stream", &stream);
    q[1] = queue_with("type", "mpix_host_stream", NULL);
    q[2] = queue_with("no_such_key_of_any_library", "7", &stream);
    for (int i = 0; i < 3; i++) {
        expect_value(q[i], "type", "mpix_host_stream");
        expect_value(q[i], "mpixq_stream_owned", i == 1 ? "true" : "false");
        expect_value(q[i], "mpixq_channels", "none");
        expect_value(q[i], "mpixq_stream_depth", "8192");
        MTEST_OK(MPIX_Queue_free(&q[i]));
    }
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
}

static void test_bad_hints(void)
{
    static const struct {
        const char *value;
        int kind;
    } cases[] = {
        {"no_such_stream", MPIXQ_ERR_ARG},
        {"", MPIXQ_ERR_ARG},
        {"cudaStream_t", MPIXQ_ERR_UNSUPPORTED},
        {"hipStream_t", MPIXQ_ERR_UNSUPPORTED},
    };
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        MPI_Info info = MPI_INFO_NULL;

        MTEST_OK(MPI_Info_create(&info));
        /* Some MPI libraries refuse an empty value; then there is nothing to test. */
        if (cases[i].value[0] != '\0') {
            MTEST_OK(MPI_Info_set(info, "type", cases[i].value));
            MTEST_KIND_TEXT(MPIX_Queue_init_info(&queue, MPIX_QUEUE_AUTO, NULL, info),
                            cases[i].kind, "type");
        }
        MTEST_CHECK(queue == MPIX_QUEUE_NULL);
        MTEST_OK(MPI_Info_free(&info));
    }
}

static void test_types(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    expect_value(queue, "mpixq_queue_type", "auto");
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_FALLBACK, NULL));
    expect_value(queue, "mpixq_queue_type", "fallback");
    MTEST_OK(MPIX_Queue_free(&queue));
}

static void expect_counts(MPIX_Queue queue, long starts, long waits)
{
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts"), starts);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_waits"), waits);
}

/* Three real messages from rank to rank and one to nobody, in two calls each, ten times. */
static void test_counts(void)
{
    enum { PAIRS = 3, TIMES = 10 };
    int next = (mtest_rank + 1) % mtest_size;
    int last = (mtest_rank + mtest_size - 1) % mtest_size;
    MPI_Request r[2 * PAIRS];
    int in[PAIRS] = {0};
    int out[PAIRS] = {1, 2, 3};
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    char channels[MPI_MAX_INFO_VAL + 1];

    for (int i = 0; i < PAIRS; i++) {
        MTEST_OK(MPI_Recv_init(&in[i], 1, MPI_INT, last, i, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(MPI_Send_init(&out[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &r[PAIRS + i]));
    }
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_FALLBACK, NULL));
    MTEST_OK(MPIX_Matchall(2 * PAIRS, r));
    expect_counts(queue, 0, 0);
    for (int t = 0; t < TIMES; t++) {
        MTEST_OK(MPIX_Enqueue_startall(queue, PAIRS, r));
        MTEST_OK(MPIX_Enqueue_startall(queue, PAIRS, r + PAIRS));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * PAIRS, r));
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    expect_counts(queue, 2 * PAIRS * TIMES, 2 * PAIRS * TIMES);
    /* Two startalls and one waitall are at least one and at most three operations each. */
    MTEST_CHECK(mtest_queue_count(queue, "mpixq_launches") >= 1);
    MTEST_CHECK(mtest_queue_count(queue, "mpixq_launches") <= 3 * TIMES);
    MTEST_CHECK(mtest_queue_count(queue, "mpixq_posts") >= 0);
    MTEST_CHECK(mtest_queue_count(queue, "mpixq_rings") >= 0);
    MTEST_CHECK(mtest_queue_info(queue, "mpixq_channels", channels));
    MTEST_CHECK(strcmp(channels, "none") != 0 && channels[0] != '\0');
    if (mtest_size > 1) {
        /* doc/cxi.md: four posts per send and its receive. */
        int by_cxi = strstr(channels, "cxi") != NULL;

        MTEST_CHECK(by_cxi || strstr(channels, "fallback") != NULL);
        MTEST_EQ(mtest_queue_count(queue, "mpixq_posts"), (by_cxi ? 4 : 2) * PAIRS * TIMES);
    }
    for (int i = 0; i < PAIRS; i++) {
        MTEST_EQ(in[i], out[i]);
    }
    for (int i = 0; i < 2 * PAIRS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* Requests that nothing is done for are not counted as started or waited for. */
static void test_counts_of_nothing(void)
{
    MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, none));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, none));
    MTEST_OK(MPIX_Enqueue_startwaitall(queue, 2, none));
    MTEST_OK(MPIX_Queue_wait(queue));
    expect_counts(queue, 0, 0);
    MTEST_OK(MPIX_Queue_free(&queue));
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_hints();
    test_bad_hints();
    test_types();
    test_counts();
    test_counts_of_nothing();
    return mtest_end();
}
