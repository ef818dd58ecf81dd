/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel ipc: memory of the peer cannot be opened. The match goes on with the next channel, at
 * both ends, whichever of them cannot; without another one both hear why. The next pairs work. What
 * was opened is closed when the last request that needs it is freed; if a wait of ours is in a
 * stream then, when the queue is freed. On the double of HIP's runtime, which can be told to fail,
 * with MTEST_STREAM and MTEST_BUFFER=device.
 */
#include "mtest.h"

#include "mtest_gpu.h"

enum { TAG = 80, BYTES = 40000, NO_MEMORY = 2 };
enum way { MATCH, IMATCH, NO_OTHER, WAYS };

static int peer;
static int (*fail)(const char *function, long n, int error);
static long (*calls_of)(const char *function);
static long n_failed; /* calls to open that were told to */

/* What is opened: words for the host, by senders; the buffer; the words of ends. */
static const struct {
    const char *function;
    long n;
    bool by_receiver;
} steps[] = {{"hipHostRegister", 1, false},
             {"hipIpcOpenMemHandle", 1, true},
             {"hipIpcOpenMemHandle", 2, true}};

struct pair {
    struct mtest_buf buf[2];
    MPI_Request r[2]; /* receive, send */
};

static void make(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        mtest_buf_make(&p->buf[i], MPI_BYTE, BYTES);
        mtest_buf_fill(&p->buf[i], mtest_rank);
        MTEST_OK(mtest_init(i == 0 ? MTEST_RECV : MTEST_SEND, &p->buf[i], peer, TAG, MPI_COMM_WORLD,
                            &p->r[i]));
    }
    mtest_buf_clear(&p->buf[0]);
}

static void end(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPI_Request_free(&p->r[i]));
        mtest_buf_free(&p->buf[i]);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void match_later(MPI_Request *r)
{
    MPI_Request op = MPI_REQUEST_NULL;

    MTEST_OK(MPIX_Imatch(r, &op));
    MTEST_OK(MPI_Wait(&op, MPI_STATUS_IGNORE));
}

/* No other channel will do: an error of both ends, who both hear why. */
static void match_no_other(MPI_Request *r)
{
    MPI_Info info = MPI_INFO_NULL;

    MTEST_OK(MPI_Info_create(&info));
    MTEST_OK(MPI_Info_set(info, "mpixq_channels", "ipc"));
    MTEST_KIND_TEXT(MPIX_Matchall_info(1, r, info), MPIXQ_ERR_RESOURCES,
                    mtest_rank == 0 ? "not by ipc: memory of the peer cannot be opened: hipError"
                                    : "memory of the peer cannot be opened: hipErrorOutOfMemory "
                                      "(at the peer)");
    MTEST_OK(MPIX_Matchall_info(1, r, info)); /* the call that fails was the one before */
    MTEST_OK(MPI_Info_free(&info));
}

/* Moves data, by this channel at both ends. */
static void expect_channel(struct pair *p, int which, const char *key)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int round = 1; round <= 3; round++) {
        if (which == 0) {
            mtest_buf_clear(&p->buf[0]);
        } else {
            mtest_buf_fill(&p->buf[1], round);
        }
        MTEST_OK(mtest_transfer(queue, &p->r[which]));
        MTEST_FULL(&p->buf[which], round);
    }
    MTEST_EQ(mtest_queue_count(queue, key), 3);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts"), 3);
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* One pair, of which the receiver, or the sender, is rank 0, and cannot open it. */
static void test(int step, enum way way, int which_of_first)
{
    int which = mtest_rank == 0 ? which_of_first : 1 - which_of_first;
    struct pair p;

    make(&p);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        MTEST_EQ(fail(steps[step].function, steps[step].n, NO_MEMORY), 0);
        n_failed += steps[step].function[3] == 'I';
    }
    if (way == MATCH) {
        MTEST_OK(MPIX_Match(&p.r[which]));
    } else if (way == IMATCH) {
        match_later(&p.r[which]);
    } else {
        match_no_other(&p.r[which]);
    }
    expect_channel(&p, which, way == NO_OTHER ? "mpixq_starts_ipc" : "mpixq_starts_fallback");
    end(&p);
}

/* A receiver opens nothing in this step. */
static void test_not_opened(int step)
{
    int which = mtest_rank == 0 ? 0 : 1;
    struct pair p;
    long before;

    make(&p);
    before = calls_of(steps[step].function);
    MTEST_OK(MPIX_Match(&p.r[which]));
    MTEST_EQ(calls_of(steps[step].function) - before, which);
    expect_channel(&p, which, "mpixq_starts_ipc");
    end(&p);
}

/* Words of its own, those that graphs count in, and staging buffers, of which the last pair's may
 * not be given back yet, are registered as well, and kept: nothing but what belongs to the peer is
 * from here on. */
static void register_own(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct pair p[3];

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPIX_Queue_free(&queue));
    for (int i = 0; i < 3; i++) {
        make(&p[i]);
        MTEST_OK(MPIX_Matchall(2, p[i].r));
    }
    for (int i = 0; i < 3; i++) {
        end(&p[i]);
    }
}

/* What is open of peers just now, of what can be opened by handles. */
static long n_open(void)
{
    return calls_of("hipIpcOpenMemHandle") - n_failed - calls_of("hipIpcCloseMemHandle");
}

static void test_closed(void)
{
    struct pair p;

    MTEST_EQ(n_open(), 0);
    make(&p);
    MTEST_OK(MPIX_Matchall(2, p.r));
    MTEST_EQ(n_open(), 3); /* two buffers, and the words of all ends */
    MTEST_OK(MPI_Startall(2, p.r));
    MTEST_OK(MPI_Waitall(2, p.r, MPI_STATUSES_IGNORE));
    MTEST_FULL(&p.buf[0], peer);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPI_Request_free(&p.r[0]));
    MTEST_CHECK(n_open() == 2 || n_open() == 1); /* has the peer freed its receive too? */
    MTEST_OK(MPI_Request_free(&p.r[1]));
    MTEST_EQ(n_open(), 0);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_buf_free(&p.buf[0]);
    mtest_buf_free(&p.buf[1]);
}

/* To close would wait for the wait, which lacks what is started later. */
static void test_closed_later(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    struct pair p[2];

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    make(&p[0]);
    MTEST_OK(MPIX_Matchall(2, p[0].r));
    make(&p[1]);
    MTEST_OK(MPIX_Matchall(2, p[1].r));
    MTEST_EQ(n_open(), 5);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* what is freed from now on was opened */
    MTEST_OK(MPIX_Enqueue_start(queue, &p[0].r[0]));
    MTEST_OK(MPIX_Enqueue_wait(queue, &p[0].r[0]));
    MTEST_OK(MPI_Request_free(&p[1].r[0]));
    MTEST_OK(MPI_Request_free(&p[1].r[1]));
    MTEST_EQ(n_open(), 5);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPI_Start(&p[0].r[1]));
    MTEST_OK(MPI_Wait(&p[0].r[1], MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_FULL(&p[0].buf[0], peer);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_EQ(n_open(), 3);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    end(&p[0]);
    MTEST_EQ(n_open(), 0);
    mtest_buf_free(&p[1].buf[0]);
    mtest_buf_free(&p[1].buf[1]);
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = 1 - mtest_rank;
    *(void **)&fail = mtest_gpu_symbol("hip_double_fail");
    *(void **)&calls_of = mtest_gpu_symbol("hip_double_calls");
    if (mtest_gpu_memory() != MTEST_DEVICE || fail == NULL) {
        mtest_skip("no double of HIP's runtime, or MTEST_BUFFER is not device");
        return mtest_end();
    }
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    register_own();
    for (int step = 0; step < (int)(sizeof(steps) / sizeof(steps[0])); step++) {
        for (int way = 0; way < WAYS; way++) {
            if (steps[step].by_receiver) {
                test(step, (enum way)way, 0);
            } else {
                test_not_opened(step);
            }
            test(step, (enum way)way, 1);
        }
    }
    test_closed();
    test_closed_later();
    return mtest_end();
}
