/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * rma_rounds.h - rounds in which two ranks exchange a block, in several puts, and send on what
 * came, one byte further: at the end the block tells whether each round was made once, and in
 * order. What tests of windows in memory of the host and of GPUs have in common; included once by
 * a program.
 */
#ifndef RMA_ROUNDS_H
#define RMA_ROUNDS_H

#include "mtest.h"

#include <mpix_queue_rma.h>

#include "mtest_gpu.h"

enum { MOST = 48 };

/* Two rounds may be under way, each with its part of the window and its signal. */
struct half {
    MPIX_Signal signal;
    MPIX_Blk out[MOST], theirs[MOST];
    MPIX_Plan plan;
    unsigned char *sent, *received;
};

static MPIX_Window window;
static MPIX_Queue queue;
static void *stream;
static int peer; /* the other rank of two, or this one */
static size_t bytes;
static int n_blocks; /* that a round is put in */
static struct half halves[2];

static unsigned char first(int rank, size_t i)
{
    return (unsigned char)(i * 7 + i / 251 + (size_t)rank * 101);
}

/* What stands there when so many rounds are over: each moves all by a byte to the other rank, and
 * the first byte is as it was. */
static unsigned char expected(int rounds, size_t i)
{
    if (i < (size_t)rounds) {
        return first(i % 2 == 0 ? mtest_rank : peer, 0);
    }
    return first(rounds % 2 == 0 ? mtest_rank : peer, i - (size_t)rounds);
}

static void make_queue(void)
{
    stream = mtest_gpu_stream();
    queue = MPIX_QUEUE_NULL;
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
}

static void free_queue(void)
{
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
}

/* The queue fails, what stands behind in it or in its graphs does nothing, and all else goes on. */
static void expect_failed(int kind, const char *text)
{
    mtest_gpu_synchronize(stream);
    MTEST_KIND_TEXT(MPIX_Queue_wait(queue), kind, text);
    free_queue();
    make_queue();
}

/* What is sent stands at one place of the window, and what is received at another. */
static void make_blocks(struct half *half, MPI_Aint out, MPI_Aint in)
{
    MPI_Aint begin = 0;
    MPIX_Blk mine[MOST];

    MTEST_OK(MPIX_Signal_init(window, n_blocks, &half->signal));
    for (int i = 0; i < n_blocks; i++) {
        MPI_Aint end = (MPI_Aint)bytes * (i + 1) / n_blocks;

        MTEST_OK(MPIX_Blk_init(window, out + begin, end - begin, MPIX_SIGNAL_NULL, &half->out[i]));
        MTEST_OK(MPIX_Blk_init(window, in + begin, end - begin, half->signal, &mine[i]));
        begin = end;
    }
    MPI_Sendrecv(mine, n_blocks * (int)sizeof mine[0], MPI_BYTE, peer, 0, half->theirs,
                 n_blocks * (int)sizeof mine[0], MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MTEST_OK(MPIX_Plan_create(n_blocks, half->out, half->theirs, &half->plan));
}

#endif
