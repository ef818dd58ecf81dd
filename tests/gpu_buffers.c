/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Buffers of every kind on a stream of a GPU: what the stream writes before a start is sent, and
 * what it reads after a wait is what was received, with nothing but the stream between them; also
 * within a process. Then what cannot be done with memory that MPI does not reach.
 */
#include "mtest.h"

#include <mpix_queue_partitions.h>
#include <string.h>

#include "mtest_gpu.h"

enum { ROUNDS = 5, TAG = 3 };

struct side {
    void *stream;
    MPIX_Queue queue;
    enum mtest_memory memory;
    int peer;
    size_t bytes;
    unsigned char *source, *sink; /* ROUNDS times bytes, pinned */
    unsigned char *out, *in;      /* of the kind that is tested */
};

static const char *const names[] = {"pageable", "pinned", "managed", "device"};

static void run_rounds(struct side *s, MPI_Request r[2])
{
    for (size_t k = 0; k < ROUNDS; k++) {
        mtest_gpu_copy(s->stream, s->out, s->source + k * s->bytes, s->bytes);
        MTEST_OK(MPIX_Enqueue_startall(s->queue, 2, r));
        MTEST_OK(MPIX_Enqueue_waitall(s->queue, 2, r));
        mtest_gpu_copy(s->stream, s->sink + k * s->bytes, s->in, s->bytes);
    }
    MTEST_OK(MPIX_Queue_wait(s->queue));
    mtest_gpu_synchronize(s->stream);
}

static void check_rounds(const struct side *s)
{
    for (size_t k = 0; k < ROUNDS; k++) {
        size_t wrong = 0;

        for (size_t i = 0; i < s->bytes; i++) {
            wrong += s->sink[k * s->bytes + i] != mtest_pattern((int)k + 100 * s->peer, i);
        }
        if (wrong != 0) {
            mtest_fail(__FILE__, __LINE__, "%s memory, %zu bytes, peer %d, round %zu: %zu wrong",
                       names[s->memory], s->bytes, s->peer, k, wrong);
        }
    }
}

static void exchange(struct side *s)
{
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

    s->source = mtest_gpu_alloc(MTEST_PINNED, ROUNDS * s->bytes);
    s->sink = mtest_gpu_alloc(MTEST_PINNED, ROUNDS * s->bytes);
    s->out = mtest_gpu_alloc(s->memory, s->bytes);
    s->in = mtest_gpu_alloc(s->memory, s->bytes);
    for (size_t k = 0; k < ROUNDS; k++) {
        for (size_t i = 0; i < s->bytes; i++) {
            s->source[k * s->bytes + i] = mtest_pattern((int)k + 100 * mtest_rank, i);
        }
    }
    MTEST_OK(MPI_Recv_init(s->in, (int)s->bytes, MPI_BYTE, s->peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(s->out, (int)s->bytes, MPI_BYTE, s->peer, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
    run_rounds(s, r);
    check_rounds(s);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    mtest_gpu_free(MTEST_PINNED, s->source);
    mtest_gpu_free(MTEST_PINNED, s->sink);
    mtest_gpu_free(s->memory, s->out);
    mtest_gpu_free(s->memory, s->in);
}

/* Where the buffers of the messages are shows late, and the error is the same. */
static void test_limit_of_parts(int *block, MPI_Datatype gaps)
{
    int out[2] = {1, 2};
    MPI_Request both[2];

    MTEST_OK(MPIX_Precv_init(block, 1, 1, gaps, mtest_rank, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &both[0]));
    MTEST_OK(MPIX_Psend_init(out, 2, 1, MPI_INT, mtest_rank, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &both[1]));
    MTEST_KIND_TEXT(MPIX_Matchall(2, both), MPIXQ_ERR_UNSUPPORTED, "gaps");
    MTEST_OK(MPI_Request_free(&both[0]));
    MTEST_OK(MPI_Request_free(&both[1]));
}

/* MPIXQ_GPU_AWARE is no here. */
static void test_limits(struct side *s)
{
    MPI_Request r = MPI_REQUEST_NULL, self[2];
    MPIX_Queue on_host = MPIX_QUEUE_NULL;
    MPI_Datatype gaps;
    int *block = mtest_gpu_alloc(MTEST_DEVICE, 8 * sizeof(int));
    int in = -1;

    MPI_Type_vector(2, 1, 3, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    MTEST_OK(MPI_Recv_init(block, 1, gaps, mtest_rank, TAG, MPI_COMM_WORLD, &r));
    MTEST_KIND_TEXT(MPIX_Match(&r), MPIXQ_ERR_UNSUPPORTED, "gaps");
    MTEST_OK(MPI_Request_free(&r));
    test_limit_of_parts(block, gaps);

    MTEST_OK(PMPIXQ_Queue_init(&on_host, MPIX_QUEUE_AUTO, NULL));
    MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, mtest_rank, TAG, MPI_COMM_WORLD, &self[0]));
    MTEST_OK(MPI_Send_init(block, 1, MPI_INT, mtest_rank, TAG, MPI_COMM_WORLD, &self[1]));
    MTEST_OK(MPIX_Matchall(2, self));
    MTEST_KIND_TEXT(MPIX_Enqueue_start(on_host, &self[1]), MPIXQ_ERR_UNSUPPORTED, "GPU");
    MTEST_KIND_TEXT(MPI_Start(&self[1]), MPIXQ_ERR_UNSUPPORTED, "GPU");
    /* One end by the stream of the GPU, the other by the host. */
    mtest_gpu_copy(s->stream, block, &(int){4711}, sizeof(int));
    MTEST_OK(MPIX_Enqueue_startall(s->queue, 1, &self[1]));
    MTEST_OK(MPIX_Enqueue_startall(on_host, 1, &self[0]));
    MTEST_OK(MPIX_Enqueue_waitall(s->queue, 1, &self[1]));
    MTEST_OK(MPIX_Enqueue_waitall(on_host, 1, &self[0]));
    MTEST_OK(MPIX_Queue_wait(s->queue));
    MTEST_OK(MPIX_Queue_wait(on_host));
    MTEST_EQ(in, 4711);
    MTEST_OK(MPI_Request_free(&self[0]));
    MTEST_OK(MPI_Request_free(&self[1]));
    MTEST_OK(MPIX_Queue_free(&on_host));
    MPI_Type_free(&gaps);
    mtest_gpu_free(MTEST_DEVICE, block);
}

/* An array that cannot be matched leaves nothing behind that a later request, at another buffer,
 * would use: records of requests that are freed come again. */
static void test_after_failure(struct side *s)
{
    int *block = mtest_gpu_alloc(MTEST_DEVICE, 4 * sizeof(int)), in = 0;
    MPI_Datatype gaps;
    MPI_Request r[2];

    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    mtest_gpu_copy(s->stream, block, (int[4]){1, 2, 3, 4}, 4 * sizeof(int));
    mtest_gpu_synchronize(s->stream);
    for (int i = 0; i < 3; i++) {
        MTEST_OK(MPI_Send_init(block, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &r[0]));
        MTEST_OK(MPI_Recv_init(block, 1, gaps, 0, TAG, MPI_COMM_SELF, &r[1]));
        MTEST_KIND(MPIX_Matchall(2, r), MPIXQ_ERR_UNSUPPORTED);
        MTEST_OK(MPI_Request_free(&r[1]));
        MTEST_OK(MPI_Request_free(&r[0]));
        MTEST_OK(MPI_Send_init(block + 3, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &r[0]));
        MTEST_OK(MPI_Recv_init(&in, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &r[1]));
        MTEST_OK(MPIX_Matchall(2, r));
        MTEST_OK(MPIX_Enqueue_startall(s->queue, 2, r));
        MTEST_OK(MPIX_Enqueue_waitall(s->queue, 2, r));
        MTEST_OK(MPIX_Queue_wait(s->queue));
        MTEST_EQ(in, 4);
        MTEST_OK(MPI_Request_free(&r[0]));
        MTEST_OK(MPI_Request_free(&r[1]));
    }
    MPI_Type_free(&gaps);
    mtest_gpu_free(MTEST_DEVICE, block);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1, 4096, 300001};
    struct side s = {.stream = NULL};

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() == NULL) {
        mtest_skip("MTEST_STREAM names no GPU");
        return mtest_end();
    }
    s.stream = mtest_gpu_stream();
    MTEST_OK(mtest_gpu_queue(&s.queue, MPIX_QUEUE_AUTO, &s.stream));
    for (int memory = MTEST_PAGEABLE; memory <= MTEST_DEVICE; memory++) {
        for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
            s.memory = (enum mtest_memory)memory;
            s.bytes = sizes[i / 2];
            s.peer = i % 2 == 0 ? mtest_rank : mtest_size - 1 - mtest_rank;
            exchange(&s);
        }
    }
    test_limits(&s);
    test_after_failure(&s);
    MTEST_OK(MPIX_Queue_free(&s.queue));
    mtest_gpu_stream_end(s.stream);
    return mtest_end();
}
