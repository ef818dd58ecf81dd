/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Threads that put to another rank on one window at the same time, each with a signal of its
 * own, while all of them add to another one, and while one of them makes and frees signals.
 * Argument "single": one thread, where MPI has no more.
 */
#include "mtest.h"

#include <mpix_queue_rma.h>

#include <pthread.h>
#include <string.h>

enum { THREADS = 3, ROUNDS = 40, BYTES = 9000 };

static MPIX_Window window;
static unsigned char *memory;
static MPIX_Signal common;
static MPIX_Blk count_at[64];       /* of each rank: what adds to its common signal */
static int threads = THREADS, peer; /* the other rank of two, or this one */

struct worker {
    pthread_t thread;
    int number;
    MPIX_Signal signal[2]; /* of rounds that may overlap */
    MPIX_Blk out[2], theirs[2];
    size_t at;
};

static void make(struct worker *w, int number)
{
    w->number = number;
    w->at = (size_t)number * 4 * BYTES;
    for (int h = 0; h < 2; h++) {
        MPI_Aint at = (MPI_Aint)w->at + 2 * h * BYTES;
        MPIX_Blk mine;

        MTEST_OK(MPIX_Signal_init(window, 1, &w->signal[h]));
        MTEST_OK(MPIX_Blk_init(window, at, BYTES, MPIX_SIGNAL_NULL, &w->out[h]));
        MTEST_OK(MPIX_Blk_init(window, at + BYTES, BYTES, w->signal[h], &mine));
        MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, peer, number, &w->theirs[h], sizeof mine,
                     MPI_BYTE, peer, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;
    MPIX_Blk none;

    MTEST_OK(MPIX_Blk_init(window, 0, 0, MPIX_SIGNAL_NULL, &none));
    for (int round = 0; round < ROUNDS; round++) {
        int h = round % 2;
        unsigned char *out = memory + w->at + 2 * (size_t)h * BYTES, *in = out + BYTES;
        MPIX_Signal other;

        memset(out, (mtest_rank * 50 + w->number * 10 + round) & 255, BYTES);
        MTEST_OK(MPIX_Put(&w->out[h], &w->theirs[h]));
        MTEST_OK(MPIX_Put(&none, &count_at[(mtest_rank + w->number) % mtest_size]));
        MTEST_OK(MPIX_Signal_wait(w->signal[h]));
        for (int i = 0; i < BYTES; i++) {
            if (in[i] != ((peer * 50 + w->number * 10 + round) & 255)) {
                mtest_fail(__FILE__, __LINE__, "thread %d, round %d, byte %d", w->number, round, i);
                break;
            }
        }
        MTEST_OK(MPIX_Signal_reset(w->signal[h]));
        MTEST_OK(MPIX_Signal_init(window, 5, &other));
        MTEST_OK(MPIX_Signal_free(&other));
        /* The block is written anew in the round after the next. */
        MTEST_OK(MPIX_Window_flush(window));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct worker workers[THREADS];
    MPIX_Blk mine;

    if (argc > 1 && strcmp(argv[1], "single") == 0) {
        threads = 1;
        mtest_begin(&argc, &argv, MPI_THREAD_SINGLE);
    } else {
        mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    }
    peer = (mtest_rank ^ 1) < mtest_size ? mtest_rank ^ 1 : mtest_rank;
    MTEST_OK(
        MPIX_Window_allocate(THREADS * 4 * BYTES, MPI_COMM_WORLD, MPI_INFO_NULL, &memory, &window));
    MTEST_OK(MPIX_Signal_init(window, ROUNDS * threads, &common));
    MTEST_OK(MPIX_Blk_init(window, 0, 0, common, &mine));
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, count_at, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < threads; i++) {
        make(&workers[i], i);
    }
    if (threads == 1) {
        (void)work(&workers[0]);
    } else {
        for (int i = 0; i < threads; i++) {
            pthread_create(&workers[i].thread, NULL, work, &workers[i]);
        }
        for (int i = 0; i < threads; i++) {
            pthread_join(workers[i].thread, NULL);
        }
    }
    MTEST_OK(MPIX_Signal_wait(common));
    MTEST_OK(MPIX_Window_free(&window));
    return mtest_end();
}
