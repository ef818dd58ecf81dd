/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A match asks for a vendor's library only what is in memory: to ask the loader for one that is not
 * there means to look for it in every folder where a library may be. One that the program loads
 * later is found all the same, by then and once.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "gpu_pair.h"

enum { PAIRS = 20, ROUNDS = 3, BYTES = 3000, TAG = 30 };

static atomic_int asked, asked_for_cuda;

/* Stands in front of the C library's. */
void *dlopen(const char *file, int mode)
{
    static void *(*_Atomic next)(const char *, int);
    void *(*function)(const char *, int) = next;

    if (function == NULL) {
        *(void **)&function = dlsym(RTLD_NEXT, "dlopen");
        next = function;
    }
    if (file != NULL) {
        asked_for_cuda += strstr(file, "libcuda") != NULL;
        asked += strstr(file, "libcuda") != NULL || strstr(file, "libamdhip64") != NULL;
    }
    return function(file, mode);
}

/* Each request by a call of its own, and then all by one. */
static void match_all(void)
{
    MPI_Request r[2 * PAIRS], matches[2 * PAIRS];
    int in[PAIRS], out[PAIRS];

    for (int all = 0; all < 2; all++) {
        for (int i = 0; i < PAIRS; i++) {
            MTEST_OK(MPI_Recv_init(&in[i], 1, MPI_INT, mtest_rank, i, MPI_COMM_WORLD, &r[2 * i]));
            MTEST_OK(
                MPI_Send_init(&out[i], 1, MPI_INT, mtest_rank, i, MPI_COMM_WORLD, &r[2 * i + 1]));
        }
        for (int i = 0; !all && i < 2 * PAIRS; i++) {
            MTEST_OK(MPIX_Imatch(&r[i], &matches[i]));
        }
        if (all) {
            MTEST_OK(MPIX_Matchall(2 * PAIRS, r));
        } else {
            MTEST_OK(MPI_Waitall(2 * PAIRS, matches, MPI_STATUSES_IGNORE));
        }
        for (int i = 0; i < 2 * PAIRS; i++) {
            MTEST_OK(MPI_Request_free(&r[i]));
        }
    }
}

static void exchange(void)
{
    MPIX_Queue queue = MPIX_QUEUE_NULL;
    void *stream = mtest_gpu_stream();
    struct gpu_pair p;

    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    gpu_pair_make(&p, MTEST_DEVICE, BYTES, mtest_rank, TAG, ROUNDS);
    MTEST_OK(MPIX_Matchall(2, p.r));
    for (size_t round = 0; round < ROUNDS; round++) {
        gpu_pair_exchange(&p, queue, stream, round);
    }
    MTEST_OK(MPIX_Queue_wait(queue));
    mtest_gpu_synchronize(stream);
    gpu_pair_check(&p, ROUNDS, "a library that was loaded later");
    gpu_pair_free(&p);
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    asked = asked_for_cuda = 0; /* an MPI that knows GPUs has asked in MPI_Init */
    match_all();
    MTEST_EQ(asked, 0);
    if (mtest_gpu_kind() == NULL) {
        mtest_skip("no GPU is asked for (MTEST_STREAM)");
        return mtest_end();
    }
    asked = asked_for_cuda = 0;
    match_all();
    MTEST_EQ(asked, 1);
    exchange();
    match_all();
    MTEST_EQ(asked, 1);
    MTEST_EQ(asked_for_cuda, strcmp(mtest_gpu_kind(), "cudaStream_t") == 0);
    return mtest_end();
}
