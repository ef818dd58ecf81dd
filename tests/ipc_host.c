/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel ipc with starts by the host: many in one call, of small and of large messages; in
 * one array with pairs of another channel and with requests that are MPI's alone; while a wait of
 * the same process is in a stream; ends that are freed before the other one, and starts that lack
 * it; and a GPU that breaks while the host waits, on the double that can be told to. With
 * MTEST_STREAM and MTEST_BUFFER=device.
 */
#include "mtest.h"

#include <dlfcn.h>

#include "mtest_gpu.h"

enum { TAG = 60, MANY = 70, LARGE = 8 << 20, LAUNCH_FAILURE = 719 };

static int peer;
static void (*break_with)(int error); /* of the double; 0: mend */

struct side {
    struct mtest_buf in[MANY], out[MANY];
    MPI_Request r[2 * MANY]; /* receives, then sends */
    int n;
};

static void make(struct side *s, enum mtest_mode mode, int n, int bytes)
{
    s->n = n;
    for (int i = 0; i < n; i++) {
        int size = bytes > 0 ? bytes : i % 7 == 0 ? 100000 + i : 1 + 13 * i;

        mtest_buf_make(&s->in[i], MPI_BYTE, size);
        mtest_buf_make(&s->out[i], MPI_BYTE, size);
        MTEST_OK(mtest_init(MTEST_RECV, &s->in[i], peer, TAG + i, MPI_COMM_WORLD, &s->r[i]));
        MTEST_OK(mtest_init(mode, &s->out[i], peer, TAG + i, MPI_COMM_WORLD, &s->r[n + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * n, s->r));
}

static void fill(struct side *s, int seed)
{
    for (int i = 0; i < s->n; i++) {
        mtest_buf_fill(&s->out[i], seed + 1000 * mtest_rank + i);
        mtest_buf_clear(&s->in[i]);
    }
}

static void check(struct side *s, int seed)
{
    for (int i = 0; i < s->n; i++) {
        MTEST_FULL(&s->in[i], seed + 1000 * peer + i);
        MTEST_FULL(&s->out[i], seed + 1000 * mtest_rank + i);
    }
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

/* By the host at both ends; then on a queue at one of them, in turn. */
static void test_many(struct side *s, enum mtest_mode mode)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    make(s, mode, MANY, 0);
    for (int seed = 1; seed <= 6; seed++) {
        fill(s, seed);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD)); /* a ready send must not be too early */
        if (seed % 3 == 0 || seed % 3 == mtest_rank + 1) {
            MTEST_OK(MPI_Startall(2 * MANY, s->r));
            MTEST_OK(MPI_Waitall(2 * MANY, s->r, MPI_STATUSES_IGNORE));
        } else {
            MTEST_OK(MPIX_Enqueue_startall(queue, 2 * MANY, s->r));
            MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * MANY, s->r));
            MTEST_OK(MPIX_Queue_wait(queue));
        }
        check(s, seed);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_ipc"), 2 * 2 * MANY);
    end(s);
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* One pair of each of several kinds in one array. */
static void test_mixed(struct side *s)
{
    int in[2] = {-1, -1}, out[2] = {7 + mtest_rank, 17 + mtest_rank};
    MPI_Request all[6], both[2];
    MPI_Status status[6];

    make(s, MTEST_SEND, 1, 5000);
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPI_Recv_init(&in[i], 1, MPI_INT, peer, TAG + 90 + i, MPI_COMM_WORLD, &all[i]));
        MTEST_OK(
            MPI_Send_init(&out[i], 1, MPI_INT, peer, TAG + 90 + i, MPI_COMM_WORLD, &all[4 + i]));
    }
    all[2] = s->r[0];
    all[3] = s->r[1];
    both[0] = all[1];
    both[1] = all[5];
    MTEST_OK(MPIX_Matchall(2, both)); /* the others with this tag stay MPI's */
    for (int seed = 1; seed <= 3; seed++) {
        in[0] = in[1] = -1;
        fill(s, seed);
        MTEST_OK(MPI_Startall(6, all));
        MTEST_OK(MPI_Waitall(6, all, status));
        check(s, seed);
        MTEST_EQ(in[0], 7 + peer);
        MTEST_EQ(in[1], 17 + peer);
        MTEST_EQ(status[2].MPI_SOURCE, peer);
        MTEST_EQ(status[2].MPI_TAG, TAG);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    for (int i = 0; i < 2; i++) {
        MTEST_OK(MPI_Request_free(&all[i]));
        MTEST_OK(MPI_Request_free(&all[4 + i]));
    }
    end(s);
}

/* A wait is in a stream until the host has exchanged something else. */
static void test_beside(struct side *s)
{
    static struct side other;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    make(s, MTEST_SEND, 1, 70000);
    make(&other, MTEST_SEND, 2, 300);
    fill(s, 1);
    fill(&other, 2);
    MTEST_OK(MPIX_Enqueue_start(queue, &s->r[0]));
    MTEST_OK(MPIX_Enqueue_wait(queue, &s->r[0]));
    MTEST_OK(MPI_Startall(4, other.r));
    MTEST_OK(MPI_Waitall(4, other.r, MPI_STATUSES_IGNORE));
    MTEST_OK(MPI_Start(&s->r[1])); /* which only now lets that of the peer end */
    MTEST_OK(MPI_Wait(&s->r[1], MPI_STATUS_IGNORE));
    MTEST_OK(MPIX_Queue_wait(queue));
    check(s, 1);
    check(&other, 2);
    end(s);
    end(&other);
    MTEST_OK(MPIX_Queue_free(&queue));
}

/* A ready send of rank 0 to rank 1. */
static void make_ready(struct mtest_buf *buf, MPI_Request *r)
{
    mtest_buf_make(buf, MPI_BYTE, LARGE);
    MTEST_OK(
        mtest_init(mtest_rank == 0 ? MTEST_RSEND : MTEST_RECV, buf, peer, TAG, MPI_COMM_WORLD, r));
    MTEST_OK(MPIX_Match(r));
    if (mtest_rank == 0) {
        mtest_buf_fill(buf, 1);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPI_Start(r));
        MTEST_OK(MPI_Wait(r, MPI_STATUS_IGNORE));
    } else {
        MTEST_OK(MPI_Start(r));
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPI_Wait(r, MPI_STATUS_IGNORE));
        MTEST_FULL(buf, 1);
    }
}

/* Each end has what the other one has told it so far. */
static void hear(void)
{
    MPI_Request r[2];
    int in, out;

    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, peer, TAG + 99, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(&out, 1, MPI_INT, peer, TAG + 99, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
}

/* Words of senders that are freed before their receivers are used again: there are not so many. */
static void test_freed_first(void)
{
    enum { AT_ONCE = 1000, ROUNDS = 17 };
    static MPI_Request r[AT_ONCE];
    struct mtest_buf buf;

    mtest_buf_make(&buf, MPI_BYTE, 1);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++) {
            MTEST_OK(mtest_init(mtest_rank == 0 ? MTEST_SEND : MTEST_RECV, &buf, peer, TAG,
                                MPI_COMM_WORLD, &r[i]));
        }
        MTEST_OK(MPIX_Matchall(AT_ONCE, r));
        for (int first = 0; first < 2; first++) {
            for (int i = 0; i < AT_ONCE && mtest_rank == first; i++) {
                MTEST_OK(MPI_Request_free(&r[i]));
            }
            hear();
        }
    }
    mtest_buf_free(&buf);
}

/* A receive lacks its sender and is taken back: the next pair of these ends does not find it so. */
static void test_without_sender(void)
{
    struct mtest_buf buf;
    MPI_Request r;

    for (int round = 0; round < 3; round++) {
        make_ready(&buf, &r);
        if (mtest_rank == 0) {
            MTEST_OK(MPI_Request_free(&r));
        } else {
            MTEST_OK(MPI_Start(&r));
            MTEST_KIND(MPI_Wait(&r, MPI_STATUS_IGNORE), MPIXQ_ERR_COMM);
            MTEST_OK(MPI_Request_free(&r));
        }
        hear();
        mtest_buf_free(&buf);
    }
}

/* A ready send moves its data though its receiver is gone, unless it has heard of that; once the
 * host is told so, it has. Until then the data is what the receiver had before. */
static void test_without_receiver(void)
{
    struct mtest_buf buf;
    MPI_Request r;
    int rc;

    make_ready(&buf, &r);
    if (mtest_rank == 1) {
        MTEST_OK(MPI_Request_free(&r));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        MTEST_OK(MPI_Start(&r));
        rc = MPI_Wait(&r, MPI_STATUS_IGNORE); /* unless it is over before that was looked at */
        mtest_forgive(rc != MPI_SUCCESS);
        mtest_buf_fill(&buf, 2);
        MTEST_OK(MPI_Request_free(&r));
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1) {
        MTEST_FULL(&buf, 1);
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    mtest_buf_free(&buf);
}

/* It breaks at rank 0, which waits for what rank 1 does not start; rank 1 is told. */
static void test_broken(struct side *s)
{
    int rc, flag = 0;

    make(s, MTEST_SEND, 1, 500);
    MTEST_OK(MPI_Start(&s->r[0]));
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 0) {
        break_with(LAUNCH_FAILURE);
        MTEST_KIND(MPI_Wait(&s->r[0], MPI_STATUS_IGNORE), MPIXQ_ERR_COMM);
        MTEST_KIND(MPI_Start(&s->r[1]), MPIXQ_ERR_COMM);
        break_with(0);
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    } else {
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        do { /* both requests of the peer have failed; it says so for each */
            rc = MPI_Test(&s->r[0], &flag, MPI_STATUS_IGNORE);
        } while (rc == MPI_SUCCESS && !flag);
        mtest_forgive(1);
        MTEST_EQ(mtest_kind_of(rc), MPIXQ_ERR_COMM);
    }
    end(s);
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    test_mixed(s);
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
    *(void **)&break_with = dlsym(RTLD_DEFAULT, "hip_double_break");
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    test_many(&s, MTEST_SEND);
    test_many(&s, MTEST_SSEND);
    test_mixed(&s);
    test_beside(&s);
    test_freed_first();
    test_mixed(&s);
    test_without_sender();
    test_without_receiver();
    if (break_with != NULL) {
        test_broken(&s);
    }
    return mtest_end();
}
