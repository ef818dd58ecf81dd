/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Life of queues on one process: creation, freeing, waiting, testing, several at once, and a text
 * that names the argument for every bad argument.
 */
#include "mtest.h"

#include <string.h>

static void test_version(void)
{
    int major = -1;
    int minor = -1;
    int patch = -1;
    int kind = -1;

    MTEST_OK(MPIXQ_Get_version(&major, &minor, &patch));
    MTEST_EQ(major, MPIXQ_VERSION_MAJOR);
    MTEST_EQ(minor, MPIXQ_VERSION_MINOR);
    MTEST_EQ(patch, MPIXQ_VERSION_PATCH);
    MTEST_OK(MPIXQ_Get_version(NULL, NULL, NULL));
    minor = -1;
    MTEST_OK(MPIXQ_Get_version(NULL, &minor, NULL));
    MTEST_EQ(minor, MPIXQ_VERSION_MINOR);

    MTEST_OK(MPIX_Error_kind(MPI_SUCCESS, &kind));
    MTEST_EQ(kind, MPIXQ_ERR_NONE);
    kind = -1;
    MTEST_OK(MPIX_Error_kind(MPI_ERR_TRUNCATE, &kind));
    MTEST_EQ(kind, MPIXQ_ERR_NONE);
    MTEST_OTHER(MPIX_Error_kind(MPI_SUCCESS, NULL));
}

static void test_life(void)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue q[5] = {MPIX_QUEUE_NULL};
    MPIX_Queue null = MPIX_QUEUE_NULL;
    int flag = -1;

    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&q[0], MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Queue_init(&q[1], MPIX_QUEUE_FALLBACK, &stream));
    MTEST_OK(MPIX_Queue_init(&q[2], MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Queue_init(&q[3], MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Queue_init_info(&q[4], MPIX_QUEUE_AUTO, &stream, MPI_INFO_NULL));
    for (int i = 0; i < 5; i++) {
        MTEST_CHECK(q[i] != MPIX_QUEUE_NULL);
        for (int j = 0; j < i; j++) {
            MTEST_CHECK(q[i] != q[j]);
        }
        flag = -1;
        MTEST_OK(MPIX_Queue_test(q[i], &flag));
        MTEST_EQ(flag, 1);
        MTEST_OK(MPIX_Queue_wait(q[i]));
        MTEST_OK(MPIX_Enqueue_startall(q[i], 0, NULL));
        MTEST_OK(MPIX_Enqueue_waitall(q[i], 0, NULL));
        MTEST_OK(MPIX_Enqueue_startwaitall(q[i], 0, NULL));
        MTEST_OK(MPIX_Enqueue_waitall(q[i], MPIX_ALL_STARTED, NULL));
        MTEST_OK(MPIX_Queue_wait(q[i]));
    }
    /* Not in the order of creation, and the stream last. */
    MTEST_OK(MPIX_Queue_free(&q[1]));
    MTEST_OK(MPIX_Queue_free(&q[0]));
    MTEST_OK(MPIX_Queue_wait(q[4]));
    MTEST_KIND_TEXT(MPIX_Host_stream_destroy(&stream), MPIXQ_ERR_STATE, "queue");
    for (int i = 0; i < 5; i++) {
        if (q[i] != MPIX_QUEUE_NULL) {
            MTEST_OK(MPIX_Queue_free(&q[i]));
        }
        MTEST_CHECK(q[i] == MPIX_QUEUE_NULL);
    }
    MTEST_OK(MPIX_Queue_free(&null));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    MTEST_CHECK(stream == MPIX_HOST_STREAM_NULL);
}

static void add_one(void *arg)
{
    ++*(int *)arg;
}

/* The stream of a queue is told. One that the queue made is as good as any, and nobody's to
 * destroy; it lives as long as there is a queue on it, and runs all it was given. */
static void test_stream(void)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL, told = MPIX_HOST_STREAM_NULL, own;
    MPIX_Queue queue, other;
    int count = 0;

    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Queue_get_stream(queue, &told));
    MTEST_CHECK(told == stream);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Queue_get_stream(queue, &told));
    MTEST_CHECK(told != MPIX_HOST_STREAM_NULL);
    own = told;
    MTEST_KIND_TEXT(MPIX_Host_stream_destroy(&told), MPIXQ_ERR_STATE, "queue");
    MTEST_CHECK(told == own);
    MTEST_OK(MPIX_Queue_init(&other, MPIX_QUEUE_AUTO, &own));
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_launch(own, add_one, &count));
    MTEST_OK(MPIX_Host_stream_synchronize(own));
    MTEST_EQ(count, 1);
    MTEST_EXCHANGE(other, MPI_COMM_WORLD, mtest_size - 1 - mtest_rank);
    MTEST_OK(MPIX_Queue_get_stream(other, &told));
    MTEST_CHECK(told == own);
    for (int i = 0; i < 100; i++) {
        MTEST_OK(MPIX_Host_stream_launch(own, add_one, &count));
    }
    MTEST_OK(MPIX_Queue_free(&other));
    MTEST_EQ(count, 101);
    MTEST_KIND_TEXT(MPIX_Host_stream_synchronize(own), MPIXQ_ERR_ARG, "stream");
}

/* The handle is copied: the variable that held it may change. */
static void test_handle_copied(void)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Host_stream keep;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Host_stream_create(&stream));
    keep = stream;
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    stream = MPIX_HOST_STREAM_NULL;
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&keep));
}

/* A null handle, perhaps of a stream that was destroyed, is not replaced by another stream. */
static void test_null_handle(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPI_Info info = MPI_INFO_NULL;

    MTEST_OK(MPI_Info_create(&info));
    MTEST_OK(MPI_Info_set(info, "type", "mpix_host_stream"));
    for (int i = 0; i < 2; i++) {
        MTEST_KIND_TEXT(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream), MPIXQ_ERR_ARG,
                        "stream_address");
        MTEST_KIND_TEXT(MPIX_Queue_init_info(&queue, MPIX_QUEUE_AUTO, &stream, info), MPIXQ_ERR_ARG,
                        "null handle");
        MTEST_CHECK(queue == MPIX_QUEUE_NULL);
        MTEST_OK(MPIX_Host_stream_create(&stream));
        MTEST_OK(MPIX_Host_stream_destroy(&stream));
    }
    MTEST_OK(MPIX_Queue_init_info(&queue, MPIX_QUEUE_AUTO, NULL, info));
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Info_free(&info));
}

static void test_bad_init(void)
{
    MPIX_Queue mark = (MPIX_Queue)&mark;
    MPIX_Queue queue = mark;
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Host_stream dead;
    MPIX_Host_stream garbage = (MPIX_Host_stream)&garbage;

    MTEST_OK(MPIX_Host_stream_create(&stream));
    dead = stream;
    MTEST_KIND_TEXT(MPIX_Queue_init(NULL, MPIX_QUEUE_AUTO, &stream), MPIXQ_ERR_ARG, "queue");
    MTEST_KIND_TEXT(MPIX_Queue_init(&queue, (MPIX_Queue_type)77, &stream), MPIXQ_ERR_ARG, "type");
    MTEST_KIND_TEXT(MPIX_Queue_init(&queue, (MPIX_Queue_type)-1, &stream), MPIXQ_ERR_ARG, "type");
    MTEST_KIND_TEXT(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &garbage), MPIXQ_ERR_ARG, "stream");
    MTEST_CHECK(queue == mark);
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    MTEST_KIND_TEXT(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &dead), MPIXQ_ERR_ARG, "stream");
    MTEST_CHECK(queue == mark);
}

/* A machine that has Slingshot gives the queue; any other says what is missing. */
static void test_cxi(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct mtest_errors before = mtest_errors();
    int rc = MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL);

    if (rc == MPI_SUCCESS) {
        MTEST_OK(MPIX_Queue_free(&queue));
    } else {
        mtest_kind(__FILE__, __LINE__, "a queue of type cxi", rc, MPIXQ_ERR_UNSUPPORTED, "CXI",
                   before);
        MTEST_CHECK(queue == MPIX_QUEUE_NULL);
    }
}

static void test_bad_queue(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPIX_Queue dead = MPIX_QUEUE_NULL;
    MPIX_Queue garbage = (MPIX_Queue)&garbage;
    MPI_Request none = MPI_REQUEST_NULL;
    MPI_Info info = MPI_INFO_NULL;
    void *stream = &info;
    int flag = -7;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_KIND_TEXT(MPIX_Queue_free(NULL), MPIXQ_ERR_ARG, "queue");
    MTEST_KIND_TEXT(MPIX_Queue_test(queue, NULL), MPIXQ_ERR_ARG, "flag");
    MTEST_KIND_TEXT(MPIX_Queue_get_info(queue, NULL), MPIXQ_ERR_ARG, "info_used");
    MTEST_KIND_TEXT(MPIX_Queue_get_stream(queue, NULL), MPIXQ_ERR_ARG, "stream");
    MTEST_KIND_TEXT(MPIX_Enqueue_startall(queue, -1, &none), MPIXQ_ERR_ARG, "count");
    MTEST_KIND_TEXT(MPIX_Enqueue_startall(queue, 1, NULL), MPIXQ_ERR_ARG, "requests");
    MTEST_KIND_TEXT(MPIX_Enqueue_waitall(queue, -2, &none), MPIXQ_ERR_ARG, "count");
    MTEST_KIND_TEXT(MPIX_Enqueue_waitall(queue, 1, NULL), MPIXQ_ERR_ARG, "requests");
    MTEST_KIND_TEXT(MPIX_Enqueue_startwaitall(queue, MPIX_ALL_STARTED, &none), MPIXQ_ERR_ARG,
                    "count");
    MTEST_KIND_TEXT(MPIX_Enqueue_startwaitall(queue, 1, NULL), MPIXQ_ERR_ARG, "requests");
    MTEST_KIND_TEXT(MPIX_Enqueue_start(queue, NULL), MPIXQ_ERR_ARG, "request");
    MTEST_KIND_TEXT(MPIX_Enqueue_wait(queue, NULL), MPIXQ_ERR_ARG, "request");
    dead = queue;
    MTEST_OK(MPIX_Queue_free(&queue));

    MPIX_Queue bad[] = {MPIX_QUEUE_NULL, dead, garbage};
    for (int i = 0; i < 3; i++) {
        MTEST_KIND_TEXT(MPIX_Queue_wait(bad[i]), MPIXQ_ERR_ARG, "queue");
        MTEST_KIND_TEXT(MPIX_Queue_test(bad[i], &flag), MPIXQ_ERR_ARG, "queue");
        MTEST_KIND_TEXT(MPIX_Queue_get_info(bad[i], &info), MPIXQ_ERR_ARG, "queue");
        MTEST_KIND_TEXT(MPIX_Queue_get_stream(bad[i], &stream), MPIXQ_ERR_ARG, "queue");
        MTEST_KIND_TEXT(MPIX_Enqueue_start(bad[i], &none), MPIXQ_ERR_ARG, "queue");
        MTEST_KIND_TEXT(MPIX_Enqueue_wait(bad[i], &none), MPIXQ_ERR_ARG, "queue");
        MTEST_KIND_TEXT(MPIX_Enqueue_startall(bad[i], 0, NULL), MPIXQ_ERR_ARG, "queue");
        MTEST_KIND_TEXT(MPIX_Enqueue_waitall(bad[i], MPIX_ALL_STARTED, NULL), MPIXQ_ERR_ARG,
                        "queue");
        MTEST_KIND_TEXT(MPIX_Enqueue_startwaitall(bad[i], 0, NULL), MPIXQ_ERR_ARG, "queue");
        if (bad[i] != MPIX_QUEUE_NULL) {
            MPIX_Queue copy = bad[i];

            MTEST_KIND_TEXT(MPIX_Queue_free(&copy), MPIXQ_ERR_ARG, "queue");
            MTEST_CHECK(copy == bad[i]);
        }
    }
    MTEST_EQ(flag, -7);
    MTEST_CHECK(info == MPI_INFO_NULL && stream == &info);
}

/* Many queues come and go without using up threads or memory. */
static void test_many(void)
{
    enum { AT_ONCE = 16, ROUNDS = 60 };
    MPIX_Queue q[AT_ONCE];

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            MTEST_OK(MPIX_Queue_init(&q[i], MPIX_QUEUE_AUTO, NULL));
        }
        for (int i = 0; i < AT_ONCE; i++) {
            MTEST_OK(MPIX_Queue_free(&q[(i * 7) % AT_ONCE]));
        }
    }
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    test_version();
    test_life();
    test_stream();
    test_handle_copied();
    test_bad_init();
    test_null_handle();
    test_cxi();
    test_bad_queue();
    test_many();
    return mtest_end();
}
