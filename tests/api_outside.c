/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Before MPI_Init and after MPI_Finalize every function returns MPI_ERR_OTHER and does nothing; the
 * version can be asked for at any time. The profiling names are the same functions.
 */
#include "mtest.h"

#include <mpix_queue_partitions.h>
#include <mpix_queue_rma.h>

#include <stdlib.h>

static void nothing(void *arg)
{
    (void)arg;
}

/* Those for puts with signals, likewise. */
static void call_puts(void)
{
    MPIX_Window window = MPIX_WINDOW_NULL;
    MPIX_Signal signal = MPIX_SIGNAL_NULL;
    MPIX_Plan plan = MPIX_PLAN_NULL;
    MPIX_Blk blk = {{0}};
    void *base = &blk;
    int flag = -9;

    MTEST_OTHER(MPIX_Window_create(base, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &window));
    MTEST_OTHER(MPIX_Window_allocate(8, MPI_COMM_WORLD, MPI_INFO_NULL, &base, &window));
    MTEST_OTHER(MPIX_Window_free(&window));
    MTEST_OTHER(MPIX_Window_flush(window));
    MTEST_OTHER(MPIX_Signal_init(window, 1, &signal));
    MTEST_OTHER(MPIX_Signal_reset(signal));
    MTEST_OTHER(MPIX_Signal_test(signal, &flag));
    MTEST_OTHER(MPIX_Signal_wait(signal));
    MTEST_OTHER(MPIX_Signal_wait_reset(signal));
    MTEST_OTHER(MPIX_Signal_free(&signal));
    MTEST_OTHER(MPIX_Blk_init(window, 0, 0, signal, &blk));
    MTEST_OTHER(MPIX_Blk_set_signal(&blk, &blk));
    MTEST_OTHER(MPIX_Put(&blk, &blk));
    MTEST_OTHER(MPIX_Get(&blk, &blk));
    MTEST_OTHER(MPIX_Plan_create(0, &blk, &blk, &plan));
    MTEST_OTHER(MPIX_Plan_start(plan));
    MTEST_OTHER(MPIX_Plan_free(&plan));
    MTEST_OTHER(MPIX_Enqueue_put(MPIX_QUEUE_NULL, &blk, &blk));
    MTEST_OTHER(MPIX_Enqueue_plan_start(MPIX_QUEUE_NULL, plan));
    MTEST_OTHER(MPIX_Enqueue_signal_wait(MPIX_QUEUE_NULL, signal));
    MTEST_OTHER(MPIX_Enqueue_signal_reset(MPIX_QUEUE_NULL, signal));
    MTEST_OTHER(MPIX_Enqueue_signal_wait_reset(MPIX_QUEUE_NULL, signal));
    MTEST_CHECK(base == &blk && flag == -9);
}

/* And those of partitioned requests. */
static void call_partitions(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int buf = 0, flag = -9;

    MTEST_OTHER(
        MPIX_Psend_init(&buf, 1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    MTEST_OTHER(
        MPIX_Precv_init(&buf, 1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    MTEST_OTHER(MPIX_Pready(0, request));
    MTEST_OTHER(MPIX_Pready_range(0, 0, request));
    MTEST_OTHER(MPIX_Pready_list(1, &buf, request));
    MTEST_OTHER(MPIX_Parrived(request, 0, &flag));
    MTEST_OTHER(MPIX_Pbuf_prepare(request));
    MTEST_CHECK(request == MPI_REQUEST_NULL && flag == -9);
}

static void call_everything(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Request match = MPI_REQUEST_NULL;
    MPI_Info info = MPI_INFO_NULL;
    int flag = -9;
    int major = -1;

    MTEST_CHECK(MPIXQ_Get_version(&major, NULL, NULL) == MPI_SUCCESS);
    MTEST_EQ(major, MPIXQ_VERSION_MAJOR);
    MTEST_OTHER(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OTHER(MPIX_Queue_init_info(&queue, MPIX_QUEUE_AUTO, NULL, MPI_INFO_NULL));
    MTEST_OTHER(MPIX_Queue_init(NULL, (MPIX_Queue_type)99, NULL));
    MTEST_OTHER(MPIX_Queue_free(&queue));
    MTEST_OTHER(MPIX_Queue_wait(queue));
    MTEST_OTHER(MPIX_Queue_test(queue, &flag));
    MTEST_OTHER(MPIX_Queue_get_info(queue, &info));
    MTEST_OTHER(MPIX_Queue_get_stream(queue, &stream));
    MTEST_OTHER(MPIX_Match(&request));
    MTEST_OTHER(MPIX_Matchall(0, NULL));
    MTEST_OTHER(MPIX_Imatch(&request, &match));
    MTEST_OTHER(MPIX_Imatchall(0, NULL, &match));
    MTEST_OTHER(MPIX_Is_matched(request, &flag));
    MTEST_OTHER(MPIX_Enqueue_start(queue, &request));
    MTEST_OTHER(MPIX_Enqueue_startall(queue, 0, NULL));
    MTEST_OTHER(MPIX_Enqueue_wait(queue, &request));
    MTEST_OTHER(MPIX_Enqueue_waitall(queue, 0, NULL));
    MTEST_OTHER(MPIX_Enqueue_startwaitall(queue, 0, NULL));
    MTEST_OTHER(MPIX_Host_stream_create(&stream));
    MTEST_OTHER(MPIX_Host_stream_destroy(&stream));
    MTEST_OTHER(MPIX_Host_stream_launch(stream, nothing, NULL));
    MTEST_OTHER(MPIX_Host_stream_synchronize(stream));
    MTEST_OTHER(MPIX_Host_stream_query(stream, &flag));
    call_puts();
    call_partitions();
    MTEST_EQ(flag, -9);
    MTEST_CHECK(queue == MPIX_QUEUE_NULL && stream == MPIX_HOST_STREAM_NULL);
    MTEST_CHECK(match == MPI_REQUEST_NULL && info == MPI_INFO_NULL);
}

/* The profiling names do the work too. */
static void use_profiling_names(void)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL, told = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r[2];
    MPI_Request match = MPI_REQUEST_NULL;
    MPI_Info info = MPI_INFO_NULL;
    int in = 0;
    int out = 17;
    int flag = 0;
    int kind = -1;

    MTEST_OK(PMPIXQ_Get_version(NULL, NULL, NULL));
    MTEST_OK(PMPIXQ_Error_kind(MPI_SUCCESS, &kind));
    MTEST_OK(PMPIXQ_Host_stream_create(&stream));
    MTEST_OK(PMPIXQ_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &r[1]));
    MTEST_OK(PMPIXQ_Imatch(&r[0], &match));
    MTEST_OK(PMPIXQ_Match(&r[1]));
    MTEST_OK(MPI_Wait(&match, MPI_STATUS_IGNORE));
    MTEST_OK(PMPIXQ_Is_matched(r[0], &flag));
    MTEST_EQ(flag, 1);
    MTEST_OK(PMPIXQ_Enqueue_start(queue, &r[0]));
    MTEST_OK(PMPIXQ_Enqueue_startall(queue, 1, &r[1]));
    MTEST_OK(PMPIXQ_Enqueue_wait(queue, &r[0]));
    MTEST_OK(PMPIXQ_Enqueue_waitall(queue, MPIX_ALL_STARTED, NULL));
    MTEST_OK(PMPIXQ_Host_stream_launch(stream, nothing, NULL));
    MTEST_OK(PMPIXQ_Queue_wait(queue));
    MTEST_EQ(in, 17);
    in = 0;
    MTEST_OK(PMPIXQ_Enqueue_startwaitall(queue, 2, r));
    MTEST_OK(PMPIXQ_Queue_wait(queue));
    MTEST_OK(PMPIXQ_Queue_test(queue, &flag));
    MTEST_OK(PMPIXQ_Queue_get_info(queue, &info));
    MTEST_OK(PMPIXQ_Queue_get_stream(queue, &told));
    MTEST_CHECK(told == stream);
    MTEST_OK(MPI_Info_free(&info));
    MTEST_EQ(in, 17);
    MTEST_OK(PMPIXQ_Matchall(0, NULL));
    MTEST_OK(PMPIXQ_Host_stream_synchronize(stream));
    MTEST_OK(PMPIXQ_Host_stream_query(stream, &flag));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(PMPIXQ_Queue_free(&queue));
    MTEST_OK(PMPIXQ_Host_stream_destroy(&stream));
}

int main(int argc, char **argv)
{
    int code;

    call_everything();
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    use_profiling_names();
    code = mtest_end();
    call_everything();
    return mtest_failures() > 0 ? 1 : code;
}
