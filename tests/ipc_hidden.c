/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel ipc where each rank sees only its own GPU, as launchers bind ranks: the GPUs move the
 * data all the same, if they can. With an argument:
 *
 *     none      they cannot: each pair goes by the next channel, at both ends
 *     multiple  who has begun MPIX_Imatch, and calls nothing of the library then, is matched too,
 *               also the parts of partitioned requests
 *
 * For any even number of ranks, with MTEST_STREAM and MTEST_BUFFER=device. On the double of HIP's
 * runtime HIP_DOUBLE_VISIBLE=own hides the other GPUs, and HIP_DOUBLE_HIDDEN says what becomes of
 * their memory.
 */
#include "mtest.h"

#include <mpix_queue_partitions.h>
#include <stdio.h>
#include <string.h>

#include "mtest_gpu.h"

enum { TAG = 20, ROUNDS = 3, SIZES = 6 };
enum mode { SERVES, SERVES_NOT, ALONE };

static const int sizes[SIZES] = {1, 100, 8193, 70001, 300000, 1500000};
static int peer;

struct side {
    struct mtest_buf in[SIZES], out[SIZES];
    MPI_Request r[2 * SIZES]; /* receives, then sends */
};

static void make(struct side *s)
{
    static const enum mtest_mode modes[] = {MTEST_SEND, MTEST_SSEND, MTEST_RSEND};

    for (int i = 0; i < SIZES; i++) {
        mtest_buf_make(&s->in[i], MPI_BYTE, sizes[i]);
        mtest_buf_make(&s->out[i], MPI_BYTE, sizes[i]);
        MTEST_OK(mtest_init(MTEST_RECV, &s->in[i], peer, TAG + i, MPI_COMM_WORLD, &s->r[i]));
        MTEST_OK(
            mtest_init(modes[i % 3], &s->out[i], peer, TAG + i, MPI_COMM_WORLD, &s->r[SIZES + i]));
    }
}

static void end(struct side *s)
{
    for (int i = 0; i < SIZES; i++) {
        MTEST_OK(MPI_Request_free(&s->r[i]));
        MTEST_OK(MPI_Request_free(&s->r[SIZES + i]));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* only then both ends are freed */
    for (int i = 0; i < SIZES; i++) {
        mtest_buf_free(&s->in[i]);
        mtest_buf_free(&s->out[i]);
    }
}

static void transfer(struct side *s, MPIX_Queue queue)
{
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < SIZES; i++) {
            mtest_buf_fill(&s->out[i], 100 * round + 10 * mtest_rank + i);
            mtest_buf_clear(&s->in[i]);
        }
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* the buffers of ready sends may be written */
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * SIZES, s->r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * SIZES, s->r));
        MTEST_OK(MPIX_Queue_wait(queue));
        for (int i = 0; i < SIZES; i++) {
            MTEST_FULL(&s->in[i], 100 * round + 10 * peer + i);
            MTEST_FULL(&s->out[i], 100 * round + 10 * mtest_rank + i);
        }
    }
}

static void match(int n, MPI_Request r[], enum mode mode)
{
    MPI_Request op = MPI_REQUEST_NULL;

    if (mode != ALONE) {
        MTEST_OK(MPIX_Matchall(n, r));
        return;
    }
    /* The other one comes to the barrier when its match is done. */
    if (mtest_rank % 2 == 0) {
        MTEST_OK(MPIX_Imatchall(n, r, &op));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPI_Wait(&op, MPI_STATUS_IGNORE));
    } else {
        MTEST_OK(MPIX_Matchall(n, r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
}

/* Messages of a request are matched after it, and open memory of the peer then. */
static void test_parted(enum mode mode)
{
    enum { PARTITIONS = 4, OF_EACH = 20000 };
    struct mtest_buf in, out;
    MPI_Request r[2];

    mtest_buf_make(&in, MPI_BYTE, PARTITIONS * OF_EACH);
    mtest_buf_make(&out, MPI_BYTE, PARTITIONS * OF_EACH);
    mtest_buf_clear(&in);
    mtest_buf_fill(&out, 7 + mtest_rank);
    MTEST_OK(MPIX_Precv_init(in.buf, PARTITIONS, OF_EACH, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &r[0]));
    MTEST_OK(MPIX_Psend_init(out.buf, PARTITIONS, OF_EACH, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &r[1]));
    match(2, r, mode);
    MTEST_OK(MPI_Startall(2, r));
    MTEST_OK(MPIX_Pready_range(0, PARTITIONS - 1, r[1]));
    MTEST_OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    MTEST_FULL(&in, 7 + peer);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_buf_free(&in);
    mtest_buf_free(&out);
}

/* No other channel may: then both ends hear why it cannot. */
static void test_only(void)
{
    struct side s;
    MPI_Info info = MPI_INFO_NULL;

    make(&s);
    MTEST_OK(MPI_Info_create(&info));
    MTEST_OK(MPI_Info_set(info, "mpixq_channels", "ipc"));
    for (int i = 0; i < 2; i++) { /* rank by rank, so that either has a send, and a receive */
        int first = (mtest_rank % 2 == 0) == (i == 0) ? 0 : SIZES;

        MTEST_KIND_TEXT(MPIX_Matchall_info(SIZES, s.r + first, info), MPIXQ_ERR_RESOURCES,
                        "not by ipc: memory of the peer cannot be opened: ");
    }
    MTEST_OK(MPI_Info_free(&info));
    end(&s);
}

int main(int argc, char **argv)
{
    enum mode mode = SERVES;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    long starts = 2 * SIZES * ROUNDS * 2;
    struct side s;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_memory() != MTEST_DEVICE || mtest_size % 2 != 0) {
        mtest_skip("MTEST_BUFFER is not device, or the number of ranks is odd");
        return mtest_end();
    }
    if (argc > 1) {
        mode = strcmp(argv[1], "none") == 0 ? SERVES_NOT : ALONE;
    }
    peer = mtest_rank ^ 1;
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int i = 0; i < 2; i++) {
        make(&s);
        match(2 * SIZES, s.r, mode);
        transfer(&s, queue);
        end(&s);
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts"), starts);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_ipc"), mode == SERVES_NOT ? 0 : starts);
    MTEST_OK(MPIX_Queue_free(&queue));
    if (mode == SERVES_NOT) {
        test_only();
    } else {
        test_parted(mode);
    }
    return mtest_end();
}
