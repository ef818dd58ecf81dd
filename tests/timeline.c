/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What timeline.sh traces: messages in a ring of all ranks, on two queues, one start and one wait
 * at a time and in arrays, and by the host. Each rank prints what it has made. Arguments:
 *
 *     TIMES      turns of each kind (default: 5)
 *     late RANK  this rank enters MPI_Finalize some seconds after the others
 *     none       nothing is matched
 */
#include "mtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAIRS = 3, LATE_S = 8, NUMBER = 2 * PAIRS + 1 };

static struct mtest_buf in[PAIRS], out[PAIRS];
static MPI_Request requests[NUMBER];
static MPIX_Queue queues[2];
static long starts, waits, by_host;

/* From the rank before, to the one behind; and to nobody. */
static void make(void)
{
    int next = (mtest_rank + 1) % mtest_size, before = (mtest_rank + mtest_size - 1) % mtest_size;
    int n = 0;

    for (int i = 0; i < PAIRS; i++) {
        mtest_buf_make(&in[i], MPI_INT, 10 * (i + 1));
        mtest_buf_make(&out[i], MPI_INT, 10 * (i + 1));
        MTEST_OK(mtest_init(MTEST_RECV, &in[i], before, i, MPI_COMM_WORLD, &requests[n++]));
        MTEST_OK(mtest_init(MTEST_SEND, &out[i], next, i, MPI_COMM_WORLD, &requests[n++]));
    }
    MTEST_OK(MPI_Send_init(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[n++]));
    MTEST_EQ(n, NUMBER);
    MTEST_OK(MPIX_Matchall(n, requests));
}

static int seed_of(int rank, int turn, int i)
{
    return 1000 * rank + 10 * turn + i;
}

static void fill(int turn)
{
    for (int i = 0; i < PAIRS; i++) {
        mtest_buf_clear(&in[i]);
        mtest_buf_fill(&out[i], seed_of(mtest_rank, turn, i));
    }
}

static void check(int turn)
{
    int before = (mtest_rank + mtest_size - 1) % mtest_size;

    for (int i = 0; i < PAIRS; i++) {
        MTEST_FULL(&in[i], seed_of(before, turn, i));
        MTEST_FULL(&out[i], seed_of(mtest_rank, turn, i));
    }
}

static void one_by_one(MPIX_Queue queue)
{
    for (int i = 0; i < NUMBER; i++) {
        MTEST_OK(MPIX_Enqueue_start(queue, &requests[i]));
    }
    for (int i = 0; i < NUMBER; i++) {
        MTEST_OK(MPIX_Enqueue_wait(queue, &requests[i]));
    }
    starts += NUMBER;
    waits += NUMBER;
}

static void together(MPIX_Queue queue)
{
    MTEST_OK(MPIX_Enqueue_startall(queue, NUMBER, requests));
    MTEST_OK(MPIX_Enqueue_waitall(queue, NUMBER, requests));
    starts += NUMBER;
    waits += NUMBER;
}

static void exchange(int times)
{
    int turn = 0;

    for (int k = 0; k < 2; k++) {
        for (int t = 0; t < 2 * times; t++, turn++) {
            fill(turn);
            if (t % 2 == 0) {
                one_by_one(queues[k]);
            } else {
                together(queues[k]);
            }
            MTEST_OK(MPIX_Queue_wait(queues[k]));
            check(turn);
        }
    }
    if (getenv("MTEST_STREAM") != NULL) {
        return; /* the host does not start requests with memory of a GPU that MPI does not take */
    }
    for (int t = 0; t < times; t++, turn++) {
        fill(turn);
        MTEST_OK(MPI_Startall(NUMBER, requests));
        MTEST_OK(MPI_Waitall(NUMBER, requests, MPI_STATUSES_IGNORE));
        by_host += NUMBER;
        check(turn);
    }
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "5";
    int late = strcmp(which, "late") == 0 && argc > 2 ? atoi(argv[2]) : -1, code;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (strcmp(which, "none") != 0) {
        make();
        for (int k = 0; k < 2; k++) {
            MTEST_OK(MPIX_Queue_init(&queues[k], MPIX_QUEUE_AUTO, NULL));
        }
        exchange(late < 0 ? atoi(which) : 5);
        for (int k = 0; k < 2; k++) {
            MTEST_OK(MPIX_Queue_free(&queues[k]));
        }
        for (int i = 0; i < NUMBER; i++) {
            MTEST_OK(MPI_Request_free(&requests[i]));
        }
        for (int i = 0; i < PAIRS; i++) {
            mtest_buf_free(&in[i]);
            mtest_buf_free(&out[i]);
        }
    }
    printf("made: rank %d of %d: %ld starts, %ld waits, %ld by the host\n", mtest_rank, mtest_size,
           starts, waits, by_host);
    (void)fflush(stdout);
    code = mtest_verdict();
    if (mtest_rank == late) {
        (void)sleep(LATE_S);
    }
    MPI_Finalize();
    return code;
}
