/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel ipc: a match ends at one end while the other opens memory of it, which takes long,
 * since its GPU is at work. Both ends hear of it, and the requests can be matched again. The
 * argument says who is slow: rank 0 or rank 1, who do without a watchdog then, or both. On the
 * double of HIP's runtime, with MTEST_STREAM, MTEST_BUFFER=device and a watchdog of 1 s that ends
 * matches.
 */
#include "mtest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mtest_gpu.h"

enum { TAG = 5, BYTES = 30000, SLOW_S = 3 };

static int peer;
static int is_slow;
static void *stream;

static void work(void *arg)
{
    (void)arg;
    (void)sleep(SLOW_S);
}

/* Who cannot wait, or was slow as well, has run into its limit, and a sender hears that from its
 * receiver; a receiver that was slow hears, unless its own time is up first, that its sender is
 * gone. */
static void expect_end(MPI_Request *r, int sends, int both)
{
    int kind, rc = MPIX_Match(r);

    mtest_forgive(1);
    kind = mtest_kind_of(rc);
    MTEST_CHECK(kind == MPIXQ_ERR_TIMEOUT || (kind == MPIXQ_ERR_MATCH && is_slow && !sends));
    MTEST_CHECK(kind == MPIXQ_ERR_MATCH || !is_slow || sends || both);
}

static MPI_Request make(struct mtest_buf *buf, int sends)
{
    MPI_Request r = MPI_REQUEST_NULL;

    MTEST_OK(mtest_init(sends ? MTEST_SEND : MTEST_RECV, buf, peer, TAG, MPI_COMM_WORLD, &r));
    return r;
}

static void test(int sends, int both)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct mtest_buf buf;
    MPI_Request r;

    mtest_buf_make(&buf, MPI_BYTE, BYTES);
    if (sends) {
        mtest_buf_fill(&buf, 7);
    } else {
        mtest_buf_clear(&buf);
    }
    r = make(&buf, sends);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (is_slow) {
        mtest_gpu_launch(stream, work, NULL);
    }
    expect_end(&r, sends, both);
    mtest_gpu_synchronize(stream);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPIX_Match(&r));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(mtest_transfer(queue, &r));
    MTEST_FULL(&buf, 7);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_ipc"), 1);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_buf_free(&buf);
}

/* What is made only once for a GPU, which waits for it, before it is at work. */
static void test_first(void)
{
    struct mtest_buf buf;
    MPI_Request r;

    mtest_buf_make(&buf, MPI_BYTE, BYTES);
    r = make(&buf, mtest_rank == 0);
    MTEST_OK(MPIX_Match(&r));
    MTEST_OK(MPI_Request_free(&r));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_buf_free(&buf);
}

static int rank_in_environment(void)
{
    const char *rank = getenv("PMI_RANK");

    rank = rank != NULL ? rank : getenv("OMPI_COMM_WORLD_RANK");
    return rank != NULL ? atoi(rank) : -1;
}

int main(int argc, char **argv)
{
    int both = argc > 1 && strcmp(argv[1], "both") == 0;

    is_slow = both || (argc > 1 && atoi(argv[1]) == rank_in_environment());
    if (is_slow && !both) {
        (void)setenv("MPIXQ_WATCHDOG_S", "0", 1);
    }
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    if (mtest_gpu_memory() != MTEST_DEVICE || mtest_rank != rank_in_environment()) {
        mtest_skip("MTEST_BUFFER is not device, or the environment does not name ranks");
        return mtest_end();
    }
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    stream = mtest_gpu_stream();
    test_first();
    test(mtest_rank == 0, both);
    test(mtest_rank == 1, both);
    mtest_gpu_stream_end(stream);
    return mtest_end();
}
