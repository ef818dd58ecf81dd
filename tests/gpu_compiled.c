/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A GPU of a kind for which the library has no kernels gets some compiled when a queue is made;
 * where that fails, a queue on it does without kernels, which is said once, or cannot be made.
 *
 *     gpu_compiled kernels|values|error   what drives a queue, or that it cannot be made
 *
 * On the double of HIP's runtime, by its switches.
 */
#include <dlfcn.h>
#include <string.h>

#include "capture.h"
#include "gpu_pair.h"

enum { ROUNDS = 3, BYTES = 3000, TAG = 70, QUEUES = 2 };

static void exchange(MPIX_Queue queue, void *stream)
{
    struct gpu_pair p;

    gpu_pair_make(&p, MTEST_DEVICE, BYTES, mtest_rank, TAG, ROUNDS);
    MTEST_OK(MPIX_Matchall(2, p.r));
    for (size_t round = 0; round < ROUNDS; round++) {
        gpu_pair_exchange(&p, queue, stream, round);
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_synchronize(stream);
    gpu_pair_check(&p, ROUNDS, "whatever drives the queue");
    gpu_pair_free(&p);
}

static void use(const char *wanted, void *stream)
{
    char found[MPI_MAX_INFO_VAL + 1] = "";
    MPIX_Queue queue = MPIX_QUEUE_NULL;

    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    MTEST_CHECK(mtest_queue_info(queue, "mpixq_stream_by", found));
    if (strcmp(found, wanted) != 0) {
        mtest_fail(__FILE__, __LINE__, "the queue is driven by %s, not by %s", found, wanted);
    }
    exchange(queue, stream);
    MTEST_OK(MPIX_Queue_free(&queue));
}

int main(int argc, char **argv)
{
    long (*calls_of)(const char *) = NULL;
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    void *stream;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (argc != 2 || mtest_gpu_kind() == NULL) {
        mtest_skip("no GPU is asked for (MTEST_STREAM)");
        return mtest_end();
    }
    capture_begin();
    *(void **)&calls_of = dlsym(RTLD_DEFAULT, "hip_double_calls");
    stream = mtest_gpu_stream();
    for (int i = 0; i < QUEUES; i++) {
        if (strcmp(argv[1], "error") == 0) {
            MTEST_KIND(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream), MPIXQ_ERR_UNSUPPORTED);
        } else {
            use(argv[1], stream);
        }
    }
    /* Once for all queues, whether it works or not. */
    MTEST_CHECK(calls_of != NULL);
    if (calls_of != NULL) {
        MTEST_EQ(calls_of("hiprtcCreateProgram"), 1);
        MTEST_EQ(calls_of("hiprtcDestroyProgram"), calls_of("hiprtcCompileProgram"));
    }
    MTEST_EQ(CAPTURE_COUNT(mtest_rank, "warning: no kernels for HIP: ", "stream memory operations"),
             strcmp(argv[1], "values") == 0);
    capture_end();
    mtest_gpu_stream_end(stream);
    return mtest_end();
}
