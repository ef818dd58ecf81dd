/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A GPU breaks: every call of its library fails from then on, and what is queued is dropped. The
 * queue tells of it, and queue and requests can be freed, whatever was going on. Once the GPU is
 * mended, new ones work. On the double of HIP's runtime, which can be told to break.
 */
#include "mtest.h"

#include <dlfcn.h>
#include <string.h>

#include "mtest_gpu.h"

enum { TAG = 5, BYTES = 5000, LAUNCH_FAILURE = 719 };

/* When it breaks: while a wait is pending; between calls; before the queue is freed, which is the
 * first to see it. */
enum moment { PENDING, IDLE, UNSEEN, MOMENTS };

static void (*break_with)(int error); /* 0: mend */
static unsigned char *in, *out;       /* of the device, so that there are copies too */

static void make_requests(MPI_Request r[2])
{
    int peer = 1 - mtest_rank;

    MTEST_OK(MPI_Recv_init(in, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &r[0]));
    MTEST_OK(MPI_Send_init(out, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &r[1]));
    MTEST_OK(MPIX_Matchall(2, r));
}

static void exchange(MPIX_Queue queue, MPI_Request r[2], int round)
{
    unsigned char sent[BYTES], got[BYTES];
    void *stream = mtest_gpu_stream();
    size_t wrong = 0;

    memset(sent, 16 * round + mtest_rank, BYTES);
    mtest_gpu_copy(stream, out, sent, BYTES);
    mtest_gpu_synchronize(stream);
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2, r));
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_copy(stream, got, in, BYTES);
    mtest_gpu_synchronize(stream);
    mtest_gpu_stream_end(stream);
    for (size_t i = 0; i < BYTES; i++) {
        wrong += got[i] != 16 * round + 1 - mtest_rank;
    }
    MTEST_EQ(wrong, 0);
}

/* One rank is the first to notice, and then the other may hear of it before it looks itself. */
static void expect_told(MPIX_Queue queue, MPI_Request *request)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int rc = MPI_SUCCESS, length, flag, by_gpu;

    MTEST_KIND(rc = MPIX_Queue_wait(queue), MPIXQ_ERR_COMM);
    MTEST_KIND(MPIX_Queue_test(queue, &flag), MPIXQ_ERR_COMM);
    MTEST_KIND(MPIX_Enqueue_start(queue, request), MPIXQ_ERR_COMM);
    MPI_Error_string(rc, text, &length);
    by_gpu = strstr(text, "GPU") != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &by_gpu, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MTEST_EQ(by_gpu, 1);
}

static void break_at(enum moment moment)
{
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    void *stream = mtest_gpu_stream();
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    make_requests(r);
    exchange(queue, r, (int)moment);
    if (moment == PENDING) {
        /* For a message that never comes. */
        MTEST_OK(MPIX_Enqueue_start(queue, &r[0]));
        MTEST_OK(MPIX_Enqueue_wait(queue, &r[0]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    break_with(LAUNCH_FAILURE);
    if (moment == IDLE) {
        /* The submission fails, and the next call tells, unless the peer has told before. */
        if (MPIX_Enqueue_start(queue, &r[0]) != MPI_SUCCESS) {
            mtest_forgive(1);
        }
    }
    if (moment != UNSEEN) {
        expect_told(queue, &r[1]);
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    break_with(0);
    mtest_gpu_synchronize(stream);
    mtest_gpu_stream_end(stream);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void work_again(void)
{
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    void *stream = mtest_gpu_stream();
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    make_requests(r);
    exchange(queue, r, MOMENTS);
    MTEST_OK(MPI_Request_free(&r[0]));
    MTEST_OK(MPI_Request_free(&r[1]));
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() != NULL) {
        *(void **)&break_with = dlsym(RTLD_DEFAULT, "hip_double_break");
    }
    if (break_with == NULL || mtest_size != 2) {
        mtest_skip("MTEST_STREAM is not the double of HIP's runtime, or there are not two ranks");
        return mtest_end();
    }
    in = mtest_gpu_alloc(MTEST_DEVICE, BYTES);
    out = mtest_gpu_alloc(MTEST_DEVICE, BYTES);
    for (int moment = PENDING; moment < MOMENTS; moment++) {
        break_at((enum moment)moment);
    }
    work_again();
    mtest_gpu_free(MTEST_DEVICE, in);
    mtest_gpu_free(MTEST_DEVICE, out);
    return mtest_end();
}
