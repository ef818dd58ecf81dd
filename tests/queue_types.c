/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the types of queues promise: a pair of a channel that the type excludes is not started, with
 * a text that names the channel and why it was taken, and nothing else has happened. By default
 * with the channel cxi (which must be usable); with argument "ipc" on streams of a GPU, where ipc
 * is.
 */
#include "capture.h"
#include "mtest.h"

#include <string.h>

#include "gpu_pair.h"

enum { N = 2, BYTES = 3000 };

static int peer;

static void make(MPI_Request r[2], int *in, int *out, int tag)
{
    *in = -1;
    *out = 10 * tag + mtest_rank;
    MTEST_OK(MPI_Recv_init(in, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(out, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &r[1]));
}

static void match_by(MPI_Request r[2], const char *channels)
{
    MPI_Info info = MPI_INFO_NULL;

    MTEST_OK(MPI_Info_create(&info));
    MTEST_OK(MPI_Info_set(info, "mpixq_channels", channels));
    MTEST_OK(MPIX_Matchall_info(2, r, info));
    MTEST_OK(MPI_Info_free(&info));
}

static void transfer(MPIX_Queue queue, MPI_Request r[2], int *in, const int *out)
{
    *in = -1;
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(*in, *out - mtest_rank + peer);
}

/* The queue starts neither of the pair, nor what stands in the array with it. */
static void expect_refused(MPIX_Queue queue, MPI_Request good[2], MPI_Request bad[2],
                           const char *reason)
{
    long starts = mtest_queue_count(queue, "mpixq_starts");
    MPI_Request all[4] = {good[0], good[1], bad[0], bad[1]};

    MTEST_KIND_TEXT(MPIX_Enqueue_start(queue, &bad[0]), MPIXQ_ERR_UNSUPPORTED,
                    "starts no pair of channel fallback");
    MTEST_KIND_TEXT(MPIX_Enqueue_start(queue, &bad[1]), MPIXQ_ERR_UNSUPPORTED, reason);
    MTEST_KIND_TEXT(MPIX_Enqueue_startall(queue, 4, all), MPIXQ_ERR_UNSUPPORTED,
                    "excluded by the type of the queue");
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts"), starts);
    MTEST_OK(MPIX_Queue_wait(queue));
}

static void test_cxi(void)
{
    int in[N], out[N], self_in = -1, self_out = 3;
    MPI_Request r[N][2], s[3];
    MPIX_Queue cxi = MPIX_QUEUE_NULL, any = MPIX_QUEUE_NULL, mpi = MPIX_QUEUE_NULL;
    char value[MPI_MAX_INFO_VAL + 1];

    MTEST_OK(MPIX_Queue_init(&cxi, MPIX_QUEUE_CXI, NULL));
    MTEST_OK(MPIX_Queue_init(&any, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Queue_init(&mpi, MPIX_QUEUE_FALLBACK, NULL));
    make(r[0], &in[0], &out[0], 1);
    match_by(r[0], "cxi");
    make(r[1], &in[1], &out[1], 2);
    match_by(r[1], "fallback");
    transfer(cxi, r[0], &in[0], &out[0]);
    expect_refused(cxi, r[0], r[1], "not by cxi: left out by MPIXQ_CHANNELS");
    /* Neither the queue nor the request is any worse for it. */
    transfer(cxi, r[0], &in[0], &out[0]);
    transfer(any, r[1], &in[1], &out[1]);
    expect_refused(cxi, r[0], r[1], "MPIX_QUEUE_CXI");
    /* MPI is a preference, which comes too late here: that is said once. */
    MTEST_EQ(CAPTURE_COUNT(mtest_rank, "MPIX_QUEUE_FALLBACK"), 0);
    transfer(mpi, r[0], &in[0], &out[0]);
    transfer(mpi, r[0], &in[0], &out[0]);
    MTEST_EQ(CAPTURE_COUNT(mtest_rank, "warning: queue ", "MPIX_QUEUE_FALLBACK", "of channel cxi"),
             1);
    transfer(mpi, r[1], &in[1], &out[1]);
    MTEST_OK(MPI_Startall(2, r[1]));
    MTEST_OK(MPI_Waitall(2, r[1], MPI_STATUSES_IGNORE));
    MTEST_OK(MPI_Recv_init(&self_in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &s[0]));
    MTEST_OK(MPI_Send_init(&self_out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &s[1]));
    MTEST_OK(MPI_Send_init(&self_out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF, &s[2]));
    MTEST_OK(MPIX_Matchall(3, s));
    MTEST_OK(MPIX_Enqueue_startall(cxi, 3, s));
    MTEST_OK(MPIX_Enqueue_waitall(cxi, 3, s));
    MTEST_OK(MPIX_Queue_wait(cxi));
    MTEST_EQ(self_in, 3);
    MTEST_EQ(mtest_queue_info(cxi, "mpixq_queue_type", value), 1);
    MTEST_CHECK(strcmp(value, "cxi") == 0);
    for (int i = 0; i < 3; i++) {
        MTEST_OK(MPI_Request_free(&s[i]));
    }
    for (int i = 0; i < 4; i++) {
        MTEST_OK(MPI_Request_free(&r[i / 2][i % 2]));
    }
    MTEST_OK(MPIX_Queue_free(&cxi));
    MTEST_OK(MPIX_Queue_free(&any));
    MTEST_OK(MPIX_Queue_free(&mpi));
}

/* What the other end says: the type of the receive on rank 1 has a gap, which cxi cannot serve. */
static void test_reason_of_peer(void)
{
    int buffer[4] = {1, 2, 3, 4};
    MPI_Datatype gap = MPI_DATATYPE_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPI_Request r = MPI_REQUEST_NULL;

    MTEST_OK(MPI_Type_vector(2, 1, 2, MPI_INT, &gap));
    MTEST_OK(MPI_Type_commit(&gap));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    for (int receiver = 0; receiver < 2; receiver++) {
        bool has_gap = mtest_rank == 1;

        MTEST_OK(mtest_rank == receiver
                     ? MPI_Recv_init(buffer, has_gap ? 1 : 2, has_gap ? gap : MPI_INT, peer, 9,
                                     MPI_COMM_WORLD, &r)
                     : MPI_Send_init(buffer, has_gap ? 1 : 2, has_gap ? gap : MPI_INT, peer, 9,
                                     MPI_COMM_WORLD, &r));
        MTEST_OK(MPIX_Match(&r));
        MTEST_KIND_TEXT(MPIX_Enqueue_start(queue, &r), MPIXQ_ERR_UNSUPPORTED,
                        has_gap ? "not by cxi: the datatype is not one piece of memory"
                                : "the datatype is not one piece of memory (at the peer)");
        MTEST_OK(MPI_Request_free(&r));
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Type_free(&gap));
}

/* The type ipc says that GPUs move the data: no queue on a host stream can. */
static void test_ipc_without_gpu(void)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_KIND_TEXT(MPIX_Queue_init(&queue, MPIX_QUEUE_IPC, NULL), MPIXQ_ERR_UNSUPPORTED, "GPU");
    MTEST_KIND_TEXT(MPIX_Queue_init(&queue, MPIX_QUEUE_IPC, &stream), MPIXQ_ERR_UNSUPPORTED,
                    "MPIX_QUEUE_IPC");
    MTEST_CHECK(queue == MPIX_QUEUE_NULL);
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
}

static void test_ipc(void)
{
    void *stream = mtest_gpu_stream();
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct gpu_pair good, bad;

    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_IPC, &stream));
    gpu_pair_make(&good, MTEST_DEVICE, BYTES, peer, 1, 2);
    gpu_pair_make(&bad, MTEST_PINNED, BYTES, peer, 2, 2);
    MTEST_OK(MPIX_Matchall(2, good.r));
    MTEST_OK(MPIX_Matchall(2, bad.r));
    gpu_pair_exchange(&good, queue, stream, 0);
    MTEST_OK(MPIX_Queue_wait(queue));
    expect_refused(queue, good.r, bad.r, "not by ipc: the buffer is not in memory of a GPU");
    gpu_pair_exchange(&good, queue, stream, 1);
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_synchronize(stream);
    gpu_pair_check(&good, 2, "a pair by ipc");
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_ipc"), 4);
    gpu_pair_free(&good);
    gpu_pair_free(&bad);
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    if (argc > 1 && strcmp(argv[1], "ipc") == 0) {
        test_ipc();
    } else {
        capture_begin();
        test_cxi();
        test_reason_of_peer();
        test_ipc_without_gpu();
        capture_end();
    }
    return mtest_end();
}
