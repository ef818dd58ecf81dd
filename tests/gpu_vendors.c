/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A process that uses HIP and CUDA, of which the one stands in for the other's absence
 * (other_cuda.c): a queue has to be told whose stream it gets, then all goes on as if there were
 * one vendor; host streams are recognised as ever. A stream that is not what it is said to be is
 * an error of that vendor's.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu_pair.h"

enum { ROUNDS = 3, TAG = 51, BYTES = 5000 };

static int peer;
static void *stream;
/* What is left alone when a queue cannot be made. */
static char untouched;
#define UNTOUCHED ((MPIX_Queue)(void *)&untouched)

static void use_cuda(void)
{
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/tests/.libs/libcuda.so.1", getenv("top_builddir"));
    if (dlopen(path, RTLD_NOW) == NULL) {
        mtest_fail(__FILE__, __LINE__, "%s", dlerror());
    }
}

/* Without a queue if kind cannot be right, else an exchange. */
static void exchange(const char *kind, enum mtest_memory memory)
{
    MPIX_Queue queue = UNTOUCHED;
    struct gpu_pair p;

    if (kind != NULL) {
        MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    } else {
        MTEST_OK(PMPIXQ_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream));
    }
    gpu_pair_make(&p, memory, BYTES, peer, TAG, ROUNDS);
    MTEST_OK(MPIX_Matchall(2, p.r));
    for (size_t round = 0; round < ROUNDS; round++) {
        gpu_pair_exchange(&p, queue, stream, round);
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_synchronize(stream);
    gpu_pair_check(&p, ROUNDS, kind != NULL ? kind : "recognised");
    gpu_pair_free(&p);
    MTEST_OK(MPIX_Queue_free(&queue));
}

static void test_refused(void)
{
    MPIX_Queue queue = UNTOUCHED;
    void *default_stream = NULL;
    MPI_Info info;

    MTEST_KIND_TEXT(PMPIXQ_Queue_init(&queue, MPIX_QUEUE_AUTO, &stream), MPIXQ_ERR_ARG,
                    "stream_address");
    MTEST_KIND_TEXT(PMPIXQ_Queue_init(&queue, MPIX_QUEUE_AUTO, &default_stream), MPIXQ_ERR_ARG,
                    "info key type");
    MTEST_OK(MPI_Info_create(&info));
    MTEST_OK(MPI_Info_set(info, "type", "cudaStream_t"));
    MTEST_KIND_TEXT(PMPIXQ_Queue_init_info(&queue, MPIX_QUEUE_AUTO, &stream, info), MPIXQ_ERR_COMM,
                    "cudaStream_t: nothing is known of that here");
    MTEST_KIND_TEXT(PMPIXQ_Queue_init_info(&queue, MPIX_QUEUE_AUTO, &default_stream, info),
                    MPIXQ_ERR_COMM, "stream_address");
    MTEST_KIND_TEXT(PMPIXQ_Queue_init_info(&queue, MPIX_QUEUE_AUTO, NULL, info), MPIXQ_ERR_COMM,
                    "no device here");
    MTEST_OK(MPI_Info_free(&info));
    MTEST_CHECK(queue == UNTOUCHED);
}

static void test_host_stream(void)
{
    MPIXQ_Host_stream host = MPIX_HOST_STREAM_NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(PMPIXQ_Host_stream_create(&host));
    MTEST_OK(PMPIXQ_Queue_init(&queue, MPIX_QUEUE_AUTO, &host));
    MTEST_OK(MPIX_Queue_wait(queue));
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(PMPIXQ_Host_stream_destroy(&host));
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (mtest_gpu_kind() == NULL || mtest_gpu_symbol("hip_double_calls") == NULL) {
        mtest_skip("not on the double of HIP's runtime");
        return mtest_end();
    }
    peer = mtest_size - 1 - mtest_rank;
    stream = mtest_gpu_stream();
    exchange(NULL, MTEST_DEVICE);
    use_cuda();
    test_refused();
    exchange("hipStream_t", MTEST_DEVICE);
    exchange("hipStream_t", MTEST_PINNED);
    exchange("hipStream_t", MTEST_PAGEABLE);
    test_refused();
    test_host_stream();
    mtest_gpu_stream_end(stream);
    return mtest_end();
}
