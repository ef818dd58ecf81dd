/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Host streams: order, synchronise, query, more launches than the buffer holds, and misuse.
 */
#include "mtest.h"

#include <pthread.h>
#include <stdlib.h>

struct log_entry {
    int value;
    int *log;
    int *used; /* written by the stream's thread only, read after synchronise */
};

static void append(void *arg)
{
    struct log_entry *e = arg;

    e->log[*e->used] = e->value;
    *e->used += 1;
}

/* Order holds also past the depth of the buffer, and nothing is lost or run twice. */
static void test_order(void)
{
    enum { LAUNCHES = 50000 };
    struct log_entry *entries = calloc(LAUNCHES, sizeof(*entries));
    int *log = calloc(LAUNCHES, sizeof(*log));
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    int used = 0;
    int wrong = 0;

    MTEST_OK(MPIX_Host_stream_create(&stream));
    for (int i = 0; i < LAUNCHES; i++) {
        entries[i] = (struct log_entry){.value = i, .log = log, .used = &used};
        MTEST_OK(MPIX_Host_stream_launch(stream, append, &entries[i]));
    }
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    MTEST_EQ(used, LAUNCHES);
    for (int i = 0; i < used; i++) {
        wrong += log[i] != i;
    }
    MTEST_EQ(wrong, 0);
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    free(entries);
    free(log);
}

static void test_query(void)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    struct mtest_gate gate = {0};
    unsigned tries = 0;
    int flag = -1;

    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Host_stream_query(stream, &flag));
    MTEST_EQ(flag, 1);
    MTEST_OK(MPIX_Host_stream_synchronize(stream));
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
    mtest_gate_wait_reached(&gate);
    MTEST_OK(MPIX_Host_stream_query(stream, &flag));
    MTEST_EQ(flag, 0);
    mtest_gate_open(&gate);
    while (flag == 0) {
        MTEST_OK(MPIX_Host_stream_query(stream, &flag));
        mtest_backoff(&tries);
    }
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
}

/* Two streams do not wait for each other. */
static void test_independent(void)
{
    MPIX_Host_stream held = MPIX_HOST_STREAM_NULL;
    MPIX_Host_stream other = MPIX_HOST_STREAM_NULL;
    struct mtest_gate gate = {0};
    struct mtest_gate open = {.open = 1};

    MTEST_OK(MPIX_Host_stream_create(&held));
    MTEST_OK(MPIX_Host_stream_create(&other));
    MTEST_OK(MPIX_Host_stream_launch(held, mtest_gate_fn, &gate));
    MTEST_OK(MPIX_Host_stream_launch(other, mtest_gate_fn, &open));
    MTEST_OK(MPIX_Host_stream_synchronize(other));
    MTEST_EQ(atomic_load(&open.reached), 1);
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Host_stream_destroy(&other));
    MTEST_OK(MPIX_Host_stream_destroy(&held));
}

struct thread_ids {
    pthread_t first;
    pthread_t second;
    int done;
};

static void note_first(void *arg)
{
    ((struct thread_ids *)arg)->first = pthread_self();
}

static void note_second(void *arg)
{
    struct thread_ids *ids = arg;

    ids->second = pthread_self();
    ids->done = 1;
}

/* The functions run on one thread, not the caller's; destroy waits for what was launched. */
static void test_thread(void)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    struct thread_ids ids = {0};

    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Host_stream_launch(stream, note_first, &ids));
    MTEST_OK(MPIX_Host_stream_launch(stream, note_second, &ids));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    MTEST_CHECK(stream == MPIX_HOST_STREAM_NULL);
    MTEST_EQ(ids.done, 1);
    MTEST_CHECK(pthread_equal(ids.first, ids.second));
    MTEST_CHECK(!pthread_equal(ids.first, pthread_self()));
}

static void nothing(void *arg)
{
    (void)arg;
}

static void test_bad_arguments(void)
{
    MPIX_Host_stream live = MPIX_HOST_STREAM_NULL;
    MPIX_Host_stream null = MPIX_HOST_STREAM_NULL;
    MPIX_Host_stream dead;
    MPIX_Host_stream garbage = (MPIX_Host_stream)&garbage;
    int flag = -5;

    MTEST_KIND_TEXT(MPIX_Host_stream_create(NULL), MPIXQ_ERR_ARG, "stream");
    MTEST_KIND_TEXT(MPIX_Host_stream_destroy(NULL), MPIXQ_ERR_ARG, "stream");
    MTEST_OK(MPIX_Host_stream_destroy(&null));
    MTEST_OK(MPIX_Host_stream_create(&live));
    MTEST_KIND_TEXT(MPIX_Host_stream_launch(live, NULL, &flag), MPIXQ_ERR_ARG, "fn");
    MTEST_KIND_TEXT(MPIX_Host_stream_query(live, NULL), MPIXQ_ERR_ARG, "flag");
    MTEST_OK(MPIX_Host_stream_launch(live, nothing, NULL));
    dead = live;
    MTEST_OK(MPIX_Host_stream_destroy(&live));

    MPIX_Host_stream bad[] = {MPIX_HOST_STREAM_NULL, dead, garbage};
    for (int i = 0; i < 3; i++) {
        MTEST_KIND_TEXT(MPIX_Host_stream_launch(bad[i], nothing, NULL), MPIXQ_ERR_ARG, "stream");
        MTEST_KIND_TEXT(MPIX_Host_stream_synchronize(bad[i]), MPIXQ_ERR_ARG, "stream");
        MTEST_KIND_TEXT(MPIX_Host_stream_query(bad[i], &flag), MPIXQ_ERR_ARG, "stream");
        if (bad[i] != MPIX_HOST_STREAM_NULL) {
            MPIX_Host_stream copy = bad[i];

            MTEST_KIND_TEXT(MPIX_Host_stream_destroy(&copy), MPIXQ_ERR_ARG, "stream");
            MTEST_CHECK(copy == bad[i]);
        }
    }
    MTEST_EQ(flag, -5);
}

struct inside {
    MPIX_Host_stream stream;
    MPIX_Queue queue;
    MPI_Request request;
};

/* Runs on a stream: everything but telling the version is refused and changes nothing. */
static void misuse_inside(void *arg)
{
    struct inside *in = arg;
    MPIX_Host_stream other = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request match = MPI_REQUEST_NULL;
    int flag = -3;

    MTEST_OK(MPIXQ_Get_version(NULL, NULL, NULL));
    MTEST_KIND(MPIX_Host_stream_create(&other), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Host_stream_launch(in->stream, nothing, NULL), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Host_stream_synchronize(in->stream), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Host_stream_query(in->stream, &flag), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Host_stream_destroy(&in->stream), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Queue_wait(in->queue), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Queue_test(in->queue, &flag), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Queue_free(&in->queue), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Match(&in->request), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Imatch(&in->request, &match), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Enqueue_start(in->queue, &in->request), MPIXQ_ERR_STATE);
    MTEST_KIND(MPIX_Enqueue_wait(in->queue, &in->request), MPIXQ_ERR_STATE);
    MTEST_EQ(flag, -3);
    MTEST_CHECK(other == MPIX_HOST_STREAM_NULL && queue == MPIX_QUEUE_NULL);
    MTEST_CHECK(match == MPI_REQUEST_NULL);
    MTEST_CHECK(in->queue != MPIX_QUEUE_NULL && in->stream != MPIX_HOST_STREAM_NULL);
}

static void test_misuse_inside(void)
{
    struct inside in = {MPIX_HOST_STREAM_NULL, MPIX_QUEUE_NULL, MPI_REQUEST_NULL};

    MTEST_OK(MPIX_Host_stream_create(&in.stream));
    MTEST_OK(MPIX_Queue_init(&in.queue, MPIX_QUEUE_AUTO, &in.stream));
    MTEST_OK(MPIX_Host_stream_launch(in.stream, misuse_inside, &in));
    MTEST_OK(MPIX_Host_stream_synchronize(in.stream));
    MTEST_EXCHANGE(in.queue, MPI_COMM_SELF, 0);
    MTEST_OK(MPIX_Queue_free(&in.queue));
    MTEST_OK(MPIX_Host_stream_destroy(&in.stream));
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_order();
    test_query();
    test_independent();
    test_thread();
    test_bad_arguments();
    test_misuse_inside();
    return mtest_end();
}
