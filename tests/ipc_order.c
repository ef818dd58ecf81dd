/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel ipc: orders that a start which waits, or needs a later call, would not survive. Any
 * number of ranks, on as many GPUs as there are. With MTEST_STREAM and MTEST_BUFFER=device.
 */
#include "mtest.h"

#include <unistd.h>

#include "mtest_gpu.h"

enum { TAG = 20, RANKS = 8, LATE_US = 100000, ROUNDS = 3 };

static const int sizes[] = {16, 70000};
static int left, right;

/* From the left and to the right. */
struct link {
    struct mtest_buf in, out;
    MPI_Request receive, send;
};

static void make(struct link *l, enum mtest_mode mode, int bytes, int from, int to, int tag)
{
    MPI_Request both[2];

    mtest_buf_make(&l->in, MPI_BYTE, bytes);
    mtest_buf_make(&l->out, MPI_BYTE, bytes);
    MTEST_OK(mtest_init(MTEST_RECV, &l->in, from, tag, MPI_COMM_WORLD, &l->receive));
    MTEST_OK(mtest_init(mode, &l->out, to, tag, MPI_COMM_WORLD, &l->send));
    both[0] = l->receive;
    both[1] = l->send;
    MTEST_OK(MPIX_Matchall(2, both));
}

static void end(struct link *l)
{
    MTEST_OK(MPI_Request_free(&l->receive));
    MTEST_OK(MPI_Request_free(&l->send));
    mtest_buf_free(&l->in);
    mtest_buf_free(&l->out);
}

static void fill(struct link *l, int seed)
{
    mtest_buf_fill(&l->out, 100 * seed + mtest_rank);
    mtest_buf_clear(&l->in);
}

static void check(struct link *l, int from, int seed)
{
    MTEST_FULL(&l->in, 100 * seed + from);
    MTEST_FULL(&l->out, 100 * seed + mtest_rank);
}

/* All ranks send before they receive, and wait the other way round. */
static void test_crossed(MPIX_Queue queue, enum mtest_mode mode, int bytes)
{
    struct link l;

    make(&l, mode, bytes, left, right, TAG);
    for (int seed = 0; seed < ROUNDS; seed++) {
        fill(&l, seed);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* a ready send must not be too early */
        MTEST_OK(MPIX_Enqueue_start(queue, &l.send));
        MTEST_OK(MPIX_Enqueue_start(queue, &l.receive));
        MTEST_OK(MPIX_Enqueue_wait(queue, &l.receive));
        MTEST_OK(MPIX_Enqueue_wait(queue, &l.send));
        MTEST_OK(MPIX_Queue_wait(queue));
        check(&l, left, seed);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    end(&l);
}

static void sleep_long(void *arg)
{
    (void)arg;
    usleep(LATE_US);
}

/* One rank's stream comes late, to both of its ends. */
static void test_late(MPIX_Queue queue, MPIX_Host_stream stream, int bytes)
{
    struct link l;

    make(&l, MTEST_SEND, bytes, left, right, TAG);
    for (int seed = 0; seed < 2 * mtest_size; seed++) {
        fill(&l, seed);
        if (seed % mtest_size == mtest_rank) {
            MTEST_OK(MPIX_Host_stream_launch(stream, sleep_long, NULL));
        }
        for (int k = 0; k < 2; k++) {
            MTEST_OK(MPIX_Enqueue_start(queue, seed < mtest_size ? &l.receive : &l.send));
            MTEST_OK(MPIX_Enqueue_start(queue, seed < mtest_size ? &l.send : &l.receive));
            MTEST_OK(MPIX_Enqueue_wait(queue, &l.receive));
            MTEST_OK(MPIX_Enqueue_wait(queue, &l.send));
        }
        MTEST_OK(MPIX_Queue_wait(queue));
        check(&l, left, seed);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    end(&l);
}

/* The data goes from rank to rank, each of which can send only what it has received. */
static void test_chain(MPIX_Queue queue, MPIX_Host_stream stream, int bytes)
{
    struct link l;

    make(&l, MTEST_SEND, bytes, left, right, TAG);
    for (int seed = 0; seed < ROUNDS; seed++) {
        fill(&l, seed);
        MTEST_OK(MPIX_Enqueue_start(queue, &l.receive));
        if (mtest_rank == 0) {
            MTEST_OK(MPIX_Enqueue_start(queue, &l.send));
        }
        MTEST_OK(MPIX_Enqueue_wait(queue, &l.receive));
        if (mtest_rank != 0) {
            mtest_gpu_copy(mtest_gpu_stream_of(stream), l.out.buf, l.in.buf, (size_t)bytes);
            MTEST_OK(MPIX_Enqueue_start(queue, &l.send));
        }
        MTEST_OK(MPIX_Enqueue_wait(queue, &l.send));
        MTEST_OK(MPIX_Queue_wait(queue));
        MTEST_FULL(&l.in, 100 * seed);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    end(&l);
}

/* What the host waits for depends on a start that no call follows. */
static void test_host_depends(MPIX_Queue queue, int bytes)
{
    int word = mtest_rank, got = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    struct link l;

    make(&l, MTEST_SEND, bytes, left, right, TAG);
    fill(&l, 5);
    MTEST_OK(MPIX_Enqueue_start(queue, &l.receive));
    MTEST_OK(MPIX_Enqueue_start(queue, &l.send));
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Recv(&got, 1, MPI_INT, right, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MTEST_EQ(got, right);
    }
    MTEST_OK(MPIX_Enqueue_wait(queue, &l.receive));
    MTEST_OK(MPIX_Enqueue_wait(queue, &l.send));
    MTEST_OK(MPIX_Queue_wait(queue));
    check(&l, left, 5);
    if (left == 0) {
        MTEST_OK(MPI_Isend(&word, 1, MPI_INT, 0, TAG + 1, MPI_COMM_WORLD, &request));
        MTEST_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    end(&l);
}

/* Everybody with everybody, and with itself, in one call. */
static void test_all(MPIX_Queue queue, int bytes)
{
    struct mtest_buf in[RANKS], out[RANKS];
    MPI_Request r[2 * RANKS];
    int n = mtest_size;

    for (int i = 0; i < n; i++) {
        mtest_buf_make(&in[i], MPI_BYTE, bytes);
        mtest_buf_make(&out[i], MPI_BYTE, bytes);
        MTEST_OK(mtest_init(MTEST_RECV, &in[i], i, TAG, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(mtest_init(MTEST_SEND, &out[i], i, TAG, MPI_COMM_WORLD, &r[n + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * n, r));
    for (int seed = 0; seed < ROUNDS; seed++) {
        for (int i = 0; i < n; i++) {
            mtest_buf_fill(&out[i], 1000 * seed + 10 * mtest_rank + i);
            mtest_buf_clear(&in[i]);
        }
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * n, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * n, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        for (int i = 0; i < n; i++) {
            MTEST_FULL(&in[i], 1000 * seed + 10 * i + mtest_rank);
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    for (int i = 0; i < n; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
        MTEST_OK(MPI_Request_free(&r[n + i]));
        mtest_buf_free(&in[i]);
        mtest_buf_free(&out[i]);
    }
}

int main(int argc, char **argv)
{
    MPIX_Host_stream stream = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    left = (mtest_rank + mtest_size - 1) % mtest_size;
    right = (mtest_rank + 1) % mtest_size;
    if (mtest_gpu_memory() != MTEST_DEVICE || mtest_size > RANKS) {
        mtest_skip("MTEST_BUFFER is not device, or there are too many ranks");
        return mtest_end();
    }
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    for (int i = 0; i < 2; i++) {
        test_crossed(queue, MTEST_SEND, sizes[i]);
        test_crossed(queue, MTEST_SSEND, sizes[i]);
        test_late(queue, stream, sizes[i]);
        test_chain(queue, stream, sizes[i]);
        test_host_depends(queue, sizes[i]);
        test_all(queue, sizes[i]);
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_ipc"),
             mtest_queue_count(queue, "mpixq_starts"));
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
