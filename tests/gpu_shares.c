/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Reductions in shares (MPIXQ_DIRECT_KIB), several at a time, on a queue on a stream of a GPU: the
 * ranks wait for all of them by one call, each with another order of the requests, and the host
 * starts and completes them so too; every element, several starts with new data. Argument
 * "crossed", with the watchdog: they wait for two of them one by one, in different orders; then
 * their second rounds wait for each other, and queues fail, and say in which. A rank that comes
 * last may have all that it waits for by then, as what stands behind in the others' streams may
 * run before their GPUs know of the failure: its sums are right. */
#include "mtest.h"

#include <stdlib.h>

#include "collective_names.h"
#include "mtest_gpu.h"

enum { SUMS = 4, N = 5000, ROUNDS = 3 };

static void *stream;
static MPIX_Queue queue;
static int ranks;
static int *from[SUMS], *to[SUMS], *copy;
static MPI_Request sums[SUMS];

static void make(int n)
{
    for (int k = 0; k < n; k++) {
        from[k] = mtest_gpu_alloc(MTEST_DEVICE, N * sizeof(int));
        to[k] = mtest_gpu_alloc(MTEST_DEVICE, N * sizeof(int));
        MTEST_OK(COLLECTIVE(Allreduce_init)(from[k], to[k], N, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                            MPI_INFO_NULL, &sums[k]));
    }
    MTEST_OK(MPIX_Matchall(n, sums));
}

static void unmake(int n)
{
    for (int k = 0; k < n; k++) {
        MTEST_OK(MPI_Request_free(&sums[k]));
        mtest_gpu_free(MTEST_DEVICE, from[k]);
        mtest_gpu_free(MTEST_DEVICE, to[k]);
    }
}

static int number(int sum, int round, int rank, int i)
{
    return 100000 * sum + 10000 * round + 7 * rank + i;
}

static void fill(int n, int round)
{
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < N; i++) {
            copy[i] = number(k, round, mtest_rank, i);
        }
        mtest_gpu_copy(stream, from[k], copy, N * sizeof(int));
        mtest_gpu_synchronize(stream);
    }
}

static void check(int n, int round)
{
    for (int k = 0; k < n; k++) {
        mtest_gpu_copy(stream, copy, to[k], N * sizeof(int));
        mtest_gpu_synchronize(stream);
        for (int i = 0; i < N; i++) {
            int right = ranks * number(k, round, 0, i) + 7 * (ranks * (ranks - 1) / 2);

            if (copy[i] != right) {
                mtest_fail(__FILE__, __LINE__, "sum %d, start %d: element %d is %d, expected %d", k,
                           round, i, copy[i], right);
                break;
            }
        }
    }
}

/* Another order on each rank. */
static void turn(MPI_Request turned[])
{
    for (int k = 0; k < SUMS; k++) {
        turned[k] = sums[(k + mtest_rank) % SUMS];
    }
}

static void at_once(void)
{
    MPI_Request turned[SUMS];

    make(SUMS);
    turn(turned);
    for (int round = 0; round < 3 * ROUNDS; round++) {
        fill(SUMS, round);
        if (round % 3 == 0) {
            MTEST_OK(MPI_Startall(SUMS, turned));
            MTEST_OK(MPI_Waitall(SUMS, turned, MPI_STATUSES_IGNORE));
        } else if (round % 3 == 1) {
            MTEST_OK(MPIX_Enqueue_startall(queue, SUMS, sums));
            MTEST_OK(MPIX_Enqueue_waitall(queue, SUMS, turned));
        } else {
            MTEST_OK(MPIX_Enqueue_startwaitall(queue, SUMS, turned));
        }
        check(SUMS, round);
        MTEST_OK(MPIX_Queue_wait(queue));
    }
    unmake(SUMS);
}

static void crossed(void)
{
    int first = mtest_rank == 0, fails, any = 0;

    make(2);
    fill(2, 0);
    MTEST_OK(MPIX_Enqueue_startall(queue, 2, sums));
    MTEST_OK(MPIX_Enqueue_wait(queue, &sums[first]));
    mtest_forgive(MPIX_Enqueue_wait(queue, &sums[!first]) != MPI_SUCCESS);
    mtest_gpu_synchronize(stream);
    fails = MPIX_Queue_wait(queue) != MPI_SUCCESS;
    mtest_forgive(fails);
    if (!fails) {
        check(2, 0);
    }
    MTEST_OK(MPI_Allreduce(&fails, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD));
    MTEST_EQ(any, 1);
    unmake(2);
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!HAVE_COLLECTIVES || mtest_gpu_kind() == NULL) {
        mtest_skip("this MPI has no persistent collectives, or MTEST_STREAM names no GPU");
        return mtest_end();
    }
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    stream = mtest_gpu_stream();
    copy = malloc(N * sizeof *copy);
    MTEST_CHECK(copy != NULL);
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    if (argc > 1) {
        crossed();
    } else {
        at_once();
    }
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
    free(copy);
    return mtest_end();
}
