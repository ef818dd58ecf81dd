/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What an exchange with eight neighbours costs on the channel cxi, as doc/cxi.md has it: at most
 * 24 posts with ready sends and 32 with standard ones, and 8 more where the senders tell; a ring
 * with ready and with eager sends, and 9 with others; one launch per startall and one per waitall;
 * and that all of it is posted while the stream has yet to come to it, but eager sends that lack
 * their credit; these keep no other queue from that. On a stream of a GPU the same, with buffers in
 * memory of the host and (MTEST_BUFFER=device) of the GPU.
 */
#include "mtest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mtest_gpu.h"

enum { NEIGHBOURS = 8, ROUNDS = 50 };

/* Do senders tell? They do for buffers that the NIC accesses in memory of a GPU. */
static bool tells(void)
{
    const char *data = getenv("MPIXQ_CXI_DATA"), *gpu = getenv("MPIXQ_CXI_GPU");

    return (data != NULL && strcmp(data, "delivered") == 0) ||
           (gpu != NULL && strcmp(gpu, "direct") == 0 && mtest_gpu_memory() == MTEST_DEVICE);
}

/* Are small standard sends eager? They are where the sender does not tell, unless MPIXQ_EAGER is
 * 0. */
static bool is_eager(void)
{
    const char *bytes = getenv("MPIXQ_EAGER");

    return !tells() && (bytes == NULL || strtol(bytes, NULL, 10) >= (long)sizeof(int));
}

/* The buffers of an exchange, of the kind that MTEST_BUFFER says. */
struct buffers {
    int *in, *out;
    void *copies; /* the stream that copies to and from memory of the GPU; NULL: it is the host's */
};

static void buffers_make(struct buffers *b)
{
    b->in = mtest_gpu_alloc(mtest_gpu_memory(), NEIGHBOURS * sizeof(int));
    b->out = mtest_gpu_alloc(mtest_gpu_memory(), NEIGHBOURS * sizeof(int));
    b->copies = mtest_gpu_memory() == MTEST_DEVICE ? mtest_gpu_stream() : NULL;
}

static void buffers_free(struct buffers *b)
{
    mtest_gpu_free(mtest_gpu_memory(), b->in);
    mtest_gpu_free(mtest_gpu_memory(), b->out);
    if (b->copies != NULL) {
        mtest_gpu_stream_end(b->copies);
    }
}

static void move(const struct buffers *b, void *to, const void *from)
{
    if (b->copies != NULL) {
        mtest_gpu_copy(b->copies, to, from, NEIGHBOURS * sizeof(int));
        mtest_gpu_synchronize(b->copies);
    } else {
        memcpy(to, from, NEIGHBOURS * sizeof(int));
    }
}

static void fill(const struct buffers *b, int round)
{
    int in[NEIGHBOURS], out[NEIGHBOURS];

    for (int i = 0; i < NEIGHBOURS; i++) {
        in[i] = -1;
        out[i] = 1000 * round + 10 * i + mtest_rank;
    }
    move(b, b->in, in);
    move(b, b->out, out);
}

static void compare(const struct buffers *b, int round)
{
    int in[NEIGHBOURS];

    move(b, in, b->in);
    for (int i = 0; i < NEIGHBOURS; i++) {
        MTEST_EQ(in[i], 1000 * round + 10 * i + 1 - mtest_rank);
    }
}

static void check(MPIX_Queue queue, enum mtest_mode mode, long posts, long rings)
{
    MPI_Request r[2 * NEIGHBOURS];
    int peer = 1 - mtest_rank;
    struct buffers b;
    long posts_before = mtest_queue_count(queue, "mpixq_posts");
    long rings_before = mtest_queue_count(queue, "mpixq_rings");
    long launches_before = mtest_queue_count(queue, "mpixq_launches");

    buffers_make(&b);
    for (int i = 0; i < NEIGHBOURS; i++) {
        MTEST_OK(MPI_Recv_init(&b.in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(mtest_init_raw(mode, &b.out[i], sizeof b.out[i], MPI_BYTE, peer, i, MPI_COMM_WORLD,
                                &r[NEIGHBOURS + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * NEIGHBOURS, r));
    for (int k = 0; k < ROUNDS; k++) {
        fill(&b, k);
        /* A ready send may find its buffer still in use otherwise. */
        MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * NEIGHBOURS, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * NEIGHBOURS, r));
        MTEST_OK(MPIX_Queue_wait(queue));
        compare(&b, k);
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_posts") - posts_before, posts * ROUNDS);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_rings") - rings_before, rings * ROUNDS);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_launches") - launches_before, 2 * ROUNDS);
    for (int i = 0; i < 2 * NEIGHBOURS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    buffers_free(&b);
}

/* Rounds that are enqueued behind something else are posted meanwhile, though no call waits. */
static void check_ahead(MPIX_Host_stream stream, MPIX_Queue queue)
{
    enum { AHEAD = 2 }; /* within any budget that the test runs with */
    MPI_Request r[2 * NEIGHBOURS];
    int peer = 1 - mtest_rank;
    struct buffers b;
    struct mtest_gate gate = {0};
    unsigned tries = 0;
    const long posts = (4L + tells()) * NEIGHBOURS * AHEAD;
    /* An eager send waits for the receive before its own. */
    const long ahead = posts - (is_eager() ? 2L * NEIGHBOURS * (AHEAD - 1) : 0);

    buffers_make(&b);
    fill(&b, 0);
    for (int i = 0; i < NEIGHBOURS; i++) {
        MTEST_OK(MPI_Recv_init(&b.in[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[i]));
        MTEST_OK(MPI_Send_init(&b.out[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &r[NEIGHBOURS + i]));
    }
    MTEST_OK(MPIX_Matchall(2 * NEIGHBOURS, r));
    MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
    for (int k = 0; k < AHEAD; k++) {
        MTEST_OK(MPIX_Enqueue_startall(queue, 2 * NEIGHBOURS, r));
        MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * NEIGHBOURS, r));
    }
    while (mtest_queue_count(queue, "mpixq_posts") < ahead) {
        mtest_backoff(&tries);
    }
    MTEST_EQ(mtest_queue_count(queue, "mpixq_rings"), 0);
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_EQ(mtest_queue_count(queue, "mpixq_posts"), posts);
    compare(&b, 0);
    for (int i = 0; i < 2 * NEIGHBOURS; i++) {
        MTEST_OK(MPI_Request_free(&r[i]));
    }
    buffers_free(&b);
}

static void enqueue_many(MPIX_Queue queue, MPI_Request many[NEIGHBOURS], int times)
{
    for (int k = 0; k < times; k++) {
        MTEST_OK(MPIX_Enqueue_startall(queue, NEIGHBOURS, many));
        MTEST_OK(MPIX_Enqueue_waitall(queue, NEIGHBOURS, many));
    }
}

/* Many eager sends lack their credit, as rank 1 receives none of them yet. What another queue has
 * to start is posted all the same, before its stream is there. */
static void check_beside(MPIX_Queue crowded)
{
    enum { MANY = 12 }; /* times NEIGHBOURS: more than are armed at a time */
    MPI_Request many[NEIGHBOURS], one;
    int data[NEIGHBOURS] = {0}, word = 0, peer = 1 - mtest_rank;
    struct mtest_gate gate = {0};
    MPIX_Host_stream stream;
    MPIX_Queue queue;
    unsigned tries = 0;

    for (int i = 0; i < NEIGHBOURS; i++) {
        MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_SEND : MTEST_RECV, &data[i], sizeof data[i],
                                MPI_BYTE, peer, i, MPI_COMM_WORLD, &many[i]));
    }
    MTEST_OK(mtest_init_raw(mtest_rank == 0 ? MTEST_SSEND : MTEST_RECV, &word, sizeof word,
                            MPI_BYTE, peer, NEIGHBOURS, MPI_COMM_WORLD, &one));
    MTEST_OK(MPIX_Matchall(NEIGHBOURS, many));
    MTEST_OK(MPIX_Match(&one));
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, &stream));
    if (mtest_rank == 0) {
        enqueue_many(crowded, many, MANY);
        MTEST_OK(MPIX_Host_stream_launch(stream, mtest_gate_fn, &gate));
        MTEST_OK(MPIX_Enqueue_start(queue, &one));
        MTEST_OK(MPIX_Enqueue_wait(queue, &one));
        while (mtest_queue_count(queue, "mpixq_posts") == 0) {
            mtest_backoff(&tries);
        }
    }
    MTEST_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mtest_rank == 1) { /* in this order, as streams may have one hardware queue */
        enqueue_many(crowded, many, MANY);
        MTEST_OK(MPIX_Enqueue_start(queue, &one));
        MTEST_OK(MPIX_Enqueue_wait(queue, &one));
    }
    mtest_gate_open(&gate);
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Queue_wait(crowded));
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    for (int i = 0; i < NEIGHBOURS; i++) {
        MTEST_OK(MPI_Request_free(&many[i]));
    }
    MTEST_OK(MPI_Request_free(&one));
}

int main(int argc, char **argv)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    MPIX_Host_stream stream;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, NULL));
    check(queue, MTEST_RSEND, (3 + tells()) * NEIGHBOURS, 1);
    check(queue, MTEST_SEND, (4 + tells()) * NEIGHBOURS, is_eager() ? 1 : NEIGHBOURS + 1);
    check(queue, MTEST_SSEND, (4 + tells()) * NEIGHBOURS, NEIGHBOURS + 1);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_cxi"), 3 * 2 * NEIGHBOURS * ROUNDS);
    MTEST_EQ(mtest_queue_count(queue, "mpixq_starts_fallback"), 0);
    if (is_eager()) {
        check_beside(queue);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_create(&stream));
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_CXI, &stream));
    check_ahead(stream, queue);
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Host_stream_destroy(&stream));
    return mtest_end();
}
