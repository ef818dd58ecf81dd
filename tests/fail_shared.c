/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Two queues share a stream. The one behind fails while the stream stands in a wait of the other
 * one: its error comes at once, and not only when that wait ends. To free it takes until then,
 * which the watchdog reports (argument 1: reported).
 */
#include "capture.h"
#include "mtest.h"

#include <pthread.h>
#include <string.h>

/* Open MPI sends a small buffered message without a buffer. */
enum { TAG = 1, BIG = 100000 };

static int out[2][BIG], in[2][BIG];
static MPIX_Queue senders = MPIX_QUEUE_NULL;
static MPI_Request good_pair[2], bad_pair[2];

static void make(MPI_Request pair[2], enum mtest_mode mode, int i)
{
    MPI_Request match = MPI_REQUEST_NULL;

    MTEST_OK(
        mtest_init_raw(mode, out[i], BIG, MPI_INT, mtest_rank, TAG + i, MPI_COMM_WORLD, &pair[0]));
    MTEST_OK(mtest_init_raw(MTEST_RECV, in[i], BIG, MPI_INT, mtest_rank, TAG + i, MPI_COMM_WORLD,
                            &pair[1]));
    MTEST_OK(MPIX_Imatch(&pair[1], &match));
    MTEST_OK(MPIX_Match(&pair[0]));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
}

/* Let the first queue go on. */
static void start_partner(void)
{
    MTEST_OK(MPIX_Enqueue_start(senders, &good_pair[0]));
    MTEST_OK(MPIX_Enqueue_wait(senders, &good_pair[0]));
}

static void *start_when_reported(void *arg)
{
    CAPTURE_WAIT(mtest_rank, 1, "error: watchdog: MPIX_Queue_free of queue 2, which has failed");
    start_partner();
    return arg;
}

static void free_behind(MPIX_Queue *behind, int reported)
{
    pthread_t helper;

    if (reported) {
        MTEST_EQ(pthread_create(&helper, NULL, start_when_reported, NULL), 0);
    } else {
        start_partner();
    }
    MTEST_OK(MPIX_Queue_free(behind));
    if (reported) {
        MTEST_EQ(pthread_join(helper, NULL), 0);
    }
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue before = MPIX_QUEUE_NULL, behind = MPIX_QUEUE_NULL, bad = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    capture_begin();
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&before, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Queue_init(&behind, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPIX_Queue_init(&senders, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Queue_init(&bad, MPIX_QUEUE_AUTO, NULL));
    make(good_pair, MTEST_SEND, 0);
    make(bad_pair, MTEST_BSEND, 1); /* there is no buffer */
    out[0][BIG - 1] = 5;
    MTEST_OK(MPIX_Enqueue_start(before, &good_pair[1]));
    MTEST_OK(MPIX_Enqueue_wait(before, &good_pair[1]));
    MTEST_OK(MPIX_Enqueue_start(behind, &bad_pair[1]));
    MTEST_OK(MPIX_Enqueue_wait(behind, &bad_pair[1]));
    MTEST_OK(MPIX_Enqueue_start(bad, &bad_pair[0]));
    MTEST_CLASS(MPIX_Queue_wait(bad), MTEST_ANY_CLASS);
    MTEST_KIND(MPIX_Queue_wait(behind), MPIXQ_ERR_COMM);
    free_behind(&behind, argc > 1 && strcmp(argv[1], "reported") == 0);
    MTEST_OK(MPIX_Queue_wait(before));
    MTEST_EQ(in[0][BIG - 1], 5);
    MTEST_OK(MPIX_Queue_wait(senders));
    MTEST_OK(MPIX_Queue_free(&before));
    MTEST_OK(MPIX_Queue_free(&senders));
    MTEST_OK(MPIX_Queue_free(&bad));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPI_Request_free(&good_pair[i]));
        MTEST_OK(MPI_Request_free(&bad_pair[i]));
    }
    capture_end();
    return mtest_end();
}
