/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel ipc: sizes, alignments and modes; whichever end comes first; whole arrays with pairs
 * of other channels among them; what cannot be started; and that words and memory are used again.
 * With MTEST_STREAM and MTEST_BUFFER=device.
 */
#include "mtest.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mtest_gpu.h"

enum { TAG = 30, MOST = 100, PAIRS_AT_ONCE = 300, ENDS = 16384, BEFORE_US = 2000 };

static int peer;
static long (*calls_of)(const char *function); /* of the double; NULL: on a GPU */

struct side {
    MPIX_Queue queue;
    struct mtest_buf in[MOST], out[MOST];
    MPI_Request r[2 * MOST]; /* receives, then sends */
    int n;
};

static void make(struct side *s, enum mtest_mode mode, int to, const int bytes[], int n)
{
    s->n = n;
    for (int i = 0; i < n; i++) {
        mtest_buf_make(&s->in[i], MPI_BYTE, bytes[i]);
        mtest_buf_make(&s->out[i], MPI_BYTE, bytes[i]);
        MTEST_OK(mtest_init(MTEST_RECV, &s->in[i], to, TAG + i, MPI_COMM_WORLD, &s->r[i]));
        MTEST_OK(mtest_init(mode, &s->out[i], to, TAG + i, MPI_COMM_WORLD, &s->r[n + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * n, s->r));
}

static void end(struct side *s)
{
    for (int i = 0; i < s->n; i++) {
        MTEST_OK(MPI_Request_free(&s->r[i]));
        MTEST_OK(MPI_Request_free(&s->r[s->n + i]));
        mtest_buf_free(&s->in[i]);
        mtest_buf_free(&s->out[i]);
    }
}

static void fill(struct side *s, int seed)
{
    for (int i = 0; i < s->n; i++) {
        mtest_buf_fill(&s->out[i], seed + 1000 * mtest_rank + i);
        mtest_buf_clear(&s->in[i]);
    }
}

static void check(struct side *s, int from, int seed)
{
    for (int i = 0; i < s->n; i++) {
        MTEST_FULL(&s->in[i], seed + 1000 * from + i);
        MTEST_FULL(&s->out[i], seed + 1000 * mtest_rank + i);
    }
}

static void barrier(void)
{
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* All starts so far were of the channel. */
static void expect_ipc(MPIX_Queue queue)
{
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_ipc"),
             mtest_queue_count(queue, "mpixq_starts"));
    MTEST_CHECK(mtest_queue_count(queue, "mpixq_starts") > 0);
}

/* Several rounds of everything at once. */
static void rounds(struct side *s, int from)
{
    for (int seed = 1; seed <= 3; seed++) {
        fill(s, seed);
        barrier(); /* who sends ready must know that the buffer may be written */
        MTEST_OK(MPIX_Enqueue_startall(s->queue, 2 * s->n, s->r));
        MTEST_OK(MPIX_Enqueue_waitall(s->queue, 2 * s->n, s->r));
        MTEST_OK(MPIX_Queue_wait(s->queue));
        check(s, from, seed);
        barrier();
    }
}

static void test_sizes(struct side *s, enum mtest_mode mode, int to)
{
    /* Of a group, of a block each, of several blocks. */
    static const int bytes[] = {1,    7,     8,     15,    16,     17,     100,    4096,   4097,
                                8191, 16384, 32767, 32768, 32769,  65536,  100001, 262147, 2500003,
                                5,    3,     64,    640,   120000, 131072, 9,      33};

    make(s, mode, to, bytes, (int)(sizeof(bytes) / sizeof(bytes[0])));
    rounds(s, to);
    end(s);
}

/* Parts of one allocation, at any distance from a multiple of what is copied at a time. */
static void test_offsets(struct side *s)
{
    enum { ROOM = 4096, N = 12 };
    static const int first[N] = {0, 1, 3, 8, 13, 16, 17, 24, 31, 32, 100, 257};
    unsigned char *host = mtest_gpu_alloc(MTEST_PINNED, (size_t)ROOM * N);
    unsigned char *in = mtest_gpu_alloc(MTEST_DEVICE, (size_t)ROOM * N);
    unsigned char *out = mtest_gpu_alloc(MTEST_DEVICE, (size_t)ROOM * N);
    void *stream = mtest_gpu_stream();
    MPI_Request r[2 * N];
    size_t wrong = 0;

    for (size_t i = 0; i < (size_t)ROOM * N; i++) {
        host[i] = mtest_pattern(mtest_rank, i);
    }
    mtest_gpu_copy(stream, out, host, (size_t)ROOM * N);
    mtest_gpu_synchronize(stream);
    memset(host, 0xA7, (size_t)ROOM * N);
    mtest_gpu_copy(stream, in, host, (size_t)ROOM * N);
    mtest_gpu_synchronize(stream);
    for (int i = 0; i < N; i++) {
        MTEST_OK(MPI_Recv_init(in + i * ROOM + first[i], 1000 + i, MPI_BYTE, peer, TAG + i,
                               MPI_COMM_WORLD, &r[i]));
        MTEST_OK(MPI_Send_init(out + i * ROOM + first[N - 1 - i], 1000 + i, MPI_BYTE, peer, TAG + i,
                               MPI_COMM_WORLD, &r[N + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * N, r));
    MTEST_OK(MPIX_Enqueue_startall(s->queue, 2 * N, r));
    MTEST_OK(MPIX_Enqueue_waitall(s->queue, 2 * N, r));
    MTEST_OK(MPIX_Queue_wait(s->queue));
    mtest_gpu_copy(stream, host, in, (size_t)ROOM * N);
    mtest_gpu_synchronize(stream);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < ROOM; k++) {
            int at = k - first[i], is_data = at >= 0 && at < 1000 + i;
            size_t from = (size_t)(i * ROOM + first[N - 1 - i] + at);

            wrong += host[i * ROOM + k] != (is_data ? mtest_pattern(peer, from) : 0xA7);
        }
        MTEST_OK(MPI_Request_free(&r[i]));
        MTEST_OK(MPI_Request_free(&r[N + i]));
    }
    MTEST_EQ(wrong, 0);
    mtest_gpu_stream_end(stream);
    mtest_gpu_free(MTEST_DEVICE, in);
    mtest_gpu_free(MTEST_DEVICE, out);
    mtest_gpu_free(MTEST_PINNED, host);
}

/* One end starts and waits long before the other, which then moves the data. */
static void test_second(struct side *s, enum mtest_mode mode, int bytes)
{
    make(s, mode, peer, &bytes, 1);
    for (int seed = 1; seed <= 4; seed++) {
        int is_first = (seed % 2 == 0) == (mtest_rank == 0);
        MPI_Request *mine = &s->r[seed <= 2 ? 0 : 1], *other = &s->r[seed <= 2 ? 1 : 0];

        fill(s, seed);
        if (is_first) {
            MTEST_OK(MPIX_Enqueue_start(s->queue, mine));
            MTEST_OK(MPIX_Enqueue_wait(s->queue, mine));
            barrier();
        } else {
            barrier();
            MTEST_OK(MPIX_Enqueue_start(s->queue, other));
            MTEST_OK(MPIX_Enqueue_wait(s->queue, other));
        }
        MTEST_OK(MPIX_Queue_wait(s->queue));
        if (is_first == (seed <= 2)) {
            MTEST_FULL(&s->in[0], seed + 1000 * peer);
        } else {
            MTEST_UNTOUCHED(&s->in[0]);
        }
        barrier();
    }
    end(s);
}

/* In any order on both sides, starts without a wait included. */
static void test_orders(struct side *s)
{
    static const int bytes[2] = {500, 70000};
    MPI_Request *receive = &s->r[0], *send = &s->r[2];
    int flag = 0;

    make(s, MTEST_SSEND, peer, bytes, 2);
    fill(s, 1);
    MTEST_OK(MPIX_Enqueue_startall(s->queue, 2, send));
    MTEST_OK(MPIX_Enqueue_startall(s->queue, 2, receive));
    MTEST_OK(MPIX_Enqueue_wait(s->queue, &receive[1]));
    MTEST_OK(MPIX_Enqueue_wait(s->queue, &send[0]));
    MTEST_OK(MPIX_Queue_wait(s->queue)); /* also for those without a wait */
    check(s, peer, 1);
    MTEST_OK(MPIX_Queue_test(s->queue, &flag));
    MTEST_EQ(flag, 1);
    MTEST_OK(MPIX_Enqueue_wait(s->queue, &receive[0]));
    MTEST_OK(MPIX_Enqueue_wait(s->queue, &send[1]));
    MTEST_OK(MPIX_Queue_wait(s->queue));
    end(s);
}

/* A whole array is one submission, and on the double it is seen how many launches that takes: one
 * for each 44 starts, and one for each 32 waits. */
static void test_many(struct side *s)
{
    int bytes[MOST];
    long starts, launches;

    for (int i = 0; i < MOST; i++) {
        bytes[i] = i % 10 == 9 ? 40000 : 8 * i + 8;
    }
    make(s, MTEST_SEND, peer, bytes, 16);
    rounds(s, peer);
    launches = mtest_queue_count(s->queue, "mpixq_launches");
    starts = calls_of != NULL ? calls_of("hipModuleLaunchKernel") : 0;
    MTEST_OK(MPIX_Enqueue_startall(s->queue, 32, s->r));
    MTEST_OK(MPIX_Enqueue_waitall(s->queue, 32, s->r));
    MTEST_OK(MPIX_Queue_wait(s->queue));
    MTEST_EQ(mtest_queue_count(s->queue, "mpixq_launches") - launches, 2);
    if (calls_of != NULL && getenv("MPIXQ_GPU_OPS") == NULL) {
        MTEST_EQ(calls_of("hipModuleLaunchKernel") - starts, 2);
    }
    end(s);
    make(s, MTEST_SEND, peer, bytes, MOST);
    rounds(s, peer);
    end(s);
}

/* Pairs of other channels in the same arrays. */
static void test_mixed(struct side *s)
{
    static const int bytes[3] = {1000, 50000, 16};
    static int in[10], out[10];
    MPI_Request all[8];
    MPIX_Queue queue;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    make(s, MTEST_SEND, peer, bytes, 3);
    MTEST_OK(MPI_Recv_init(in, 10, MPI_INT, peer, TAG + 50, MPI_COMM_WORLD, &all[0]));
    MTEST_OK(MPI_Send_init(out, 10, MPI_INT, peer, TAG + 50, MPI_COMM_WORLD, &all[7]));
    MTEST_OK(MPIX_Match(&all[mtest_rank == 0 ? 0 : 7]));
    MTEST_OK(MPIX_Match(&all[mtest_rank == 0 ? 7 : 0]));
    memcpy(&all[1], s->r, 6 * sizeof(all[0]));
    for (int seed = 1; seed <= 3; seed++) {
        for (int i = 0; i < 10; i++) {
            out[i] = 100 * seed + 10 * mtest_rank + i;
            in[i] = -1;
        }
        fill(s, seed);
        MTEST_OK(MPIX_Enqueue_startall(queue, 8, all));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 8, all));
        MTEST_OK(MPIX_Queue_wait(queue));
        check(s, peer, seed);
        for (int i = 0; i < 10; i++) {
            MTEST_EQ(in[i], 100 * seed + 10 * peer + i);
        }
        barrier();
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_ipc"), 18);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_fallback"), 6);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Request_free(&all[0]));
    MTEST_OK(MPI_Request_free(&all[7]));
    end(s);
}

/* What is matched by Imatch can be started as soon as it is, whoever has opened it. */
static void test_imatch(struct side *s)
{
    static const int bytes[1] = {3000};
    MPI_Request match = MPI_REQUEST_NULL;
    int done = 0;

    s->n = 1;
    mtest_buf_make(&s->in[0], MPI_BYTE, bytes[0]);
    mtest_buf_make(&s->out[0], MPI_BYTE, bytes[0]);
    MTEST_OK(mtest_init(MTEST_RECV, &s->in[0], peer, TAG, MPI_COMM_WORLD, &s->r[0]));
    MTEST_OK(mtest_init(MTEST_SEND, &s->out[0], peer, TAG, MPI_COMM_WORLD, &s->r[1]));
    MTEST_OK(MPIX_Imatchall(2, s->r, &match));
    for (int i = 0; i < 2; i++) {
        for (int flag = 0; !flag;) {
            MTEST_OK(MPIX_Is_matched(s->r[i], &flag));
        }
    }
    rounds(s, peer);
    while (!done) {
        MTEST_OK(MPI_Test(&match, &done, MPI_STATUS_IGNORE));
    }
    rounds(s, peer);
    end(s);
}

/* What its GPU does not start. */
static void test_elsewhere(struct side *s)
{
    static const int bytes[1] = {64};

    make(s, MTEST_SEND, peer, bytes, 1);
    if (mtest_gpu_devices() > 1) {
        int before = mtest_rank % mtest_gpu_devices();
        void *stream;
        MPIX_Queue queue;

        mtest_gpu_set_device(before > 0 ? 0 : 1);
        stream = mtest_gpu_stream();
        MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
        MTEST_KIND_TEXT(MPIX_Enqueue_startall(queue, 2, s->r), MPIXQ_ERR_UNSUPPORTED,
                        "stream of that GPU");
        MTEST_OK(MPIX_Queue_free(&queue));
        mtest_gpu_stream_end(stream);
        mtest_gpu_set_device(before);
    }
    rounds(s, peer);
    end(s);
}

/* Memory that is given back and comes again at the same address. */
static void test_again(struct side *s)
{
    int bytes[1] = {2000}, times = calls_of != NULL ? 60 : 1000;

    for (int i = 0; i < times; i++) {
        bytes[0] = i % 3 == 0 ? 2000 : 300000;
        make(s, MTEST_SEND, peer, bytes, 1);
        fill(s, i);
        MTEST_OK(MPIX_Enqueue_startall(s->queue, 2, s->r));
        MTEST_OK(MPIX_Enqueue_waitall(s->queue, 2, s->r));
        MTEST_OK(MPIX_Queue_wait(s->queue));
        check(s, peer, i);
        end(s);
    }
}

/* The same while the other end, of rank 1, has not freed its request for what was there before: its
 * GPU comes second, and moves the data out of what is there now, or into it. */
static void test_kept(struct side *s, int bytes)
{
    enum { TIMES = 6 };
    MPI_Request kept[TIMES], *r = &kept[0];
    struct mtest_buf buf[TIMES], *b = buf;
    int keeps = mtest_rank == 1;

    for (int i = 0; i < TIMES; i++, r++, b++) {
        int sends = (i % 2 == 0) == (mtest_rank == 0);

        mtest_buf_make(b, MPI_BYTE, bytes);
        if (sends) {
            mtest_buf_fill(b, i);
        }
        MTEST_OK(mtest_init(sends ? MTEST_SEND : MTEST_RECV, b, peer, TAG, MPI_COMM_WORLD, r));
        MTEST_OK(MPIX_Match(r));
        if (keeps) {
            barrier();
        }
        MTEST_OK(MPIX_Enqueue_start(s->queue, r));
        MTEST_OK(MPIX_Enqueue_wait(s->queue, r));
        if (!keeps) {
            usleep(BEFORE_US); /* mostly it has been made then */
            barrier();
        }
        MTEST_OK(MPIX_Queue_wait(s->queue));
        MTEST_FULL(b, i);
        if (!keeps) {
            MTEST_OK(MPI_Request_free(r));
            mtest_buf_free(b);
        }
    }
    for (int i = 0; i < TIMES && keeps; i++) {
        MTEST_OK(MPI_Request_free(&kept[i]));
        mtest_buf_free(&buf[i]);
    }
}

/* More pairs than there are words, one after the other: they are used again. */
static void test_words(struct side *s)
{
    struct mtest_buf in, out;
    static MPI_Request r[2 * PAIRS_AT_ONCE];

    mtest_buf_make(&in, MPI_BYTE, PAIRS_AT_ONCE);
    mtest_buf_make(&out, MPI_BYTE, PAIRS_AT_ONCE);
    for (int pairs = 0; pairs < ENDS / 2 + 3 * PAIRS_AT_ONCE; pairs += PAIRS_AT_ONCE) {
        mtest_buf_fill(&out, pairs + mtest_rank);
        mtest_buf_clear(&in);
        for (int i = 0; i < PAIRS_AT_ONCE; i++) {
            MTEST_OK(MPI_Recv_init((char *)in.buf + i, 1, MPI_BYTE, peer, TAG + i, MPI_COMM_WORLD,
                                   &r[i]));
            MTEST_OK(MPI_Send_init((char *)out.buf + i, 1, MPI_BYTE, peer, TAG + i, MPI_COMM_WORLD,
                                   &r[PAIRS_AT_ONCE + i]));
        }
        MTEST_OK(MPIX_Matchall(2 * PAIRS_AT_ONCE, r));
        MTEST_OK(MPIX_Enqueue_startall(s->queue, 2 * PAIRS_AT_ONCE, r));
        MTEST_OK(MPIX_Enqueue_waitall(s->queue, 2 * PAIRS_AT_ONCE, r));
        MTEST_OK(MPIX_Queue_wait(s->queue));
        MTEST_FULL(&in, pairs + peer);
        for (int i = 0; i < 2 * PAIRS_AT_ONCE; i++) {
            MTEST_OK(MPI_Request_free(&r[i]));
        }
    }
    mtest_buf_free(&in);
    mtest_buf_free(&out);
}

int main(int argc, char **argv)
{
    static struct side s;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    peer = mtest_size - 1 - mtest_rank;
    if (mtest_gpu_memory() != MTEST_DEVICE) {
        mtest_skip("MTEST_BUFFER is not device");
        return mtest_end();
    }
    *(void **)&calls_of = dlsym(RTLD_DEFAULT, "hip_double_calls");
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    MTEST_OK(MPIX_Queue_init(&s.queue, MPIX_QUEUE_AUTO, NULL));
    test_sizes(&s, MTEST_SEND, peer);
    test_sizes(&s, MTEST_SSEND, peer);
    test_sizes(&s, MTEST_RSEND, peer);
    test_sizes(&s, MTEST_SEND, mtest_rank);
    test_offsets(&s);
    test_second(&s, MTEST_SEND, 5000);
    test_second(&s, MTEST_SSEND, 200000);
    test_orders(&s);
    test_many(&s);
    test_imatch(&s);
    test_elsewhere(&s);
    test_again(&s);
    test_kept(&s, 100);
    test_kept(&s, 5000000);
    test_words(&s);
    expect_ipc(s.queue);
    test_mixed(&s);
    MTEST_OK(MPIX_Queue_free(&s.queue));
    return mtest_end();
}
