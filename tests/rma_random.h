/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * rma_random.h - random puts and gets between all ranks, with and without signals at either end,
 * and a model of them that all ranks compute: what the tests of windows in memory of the host and
 * of GPUs have in common. Included once by a test program, which says how large the windows are
 * (RMA_AREA), which sizes there are, and how the host comes to see a window.
 *
 * The first half of a window is what is sent, and the second what is received.
 */
#ifndef RMA_RANDOM_H
#define RMA_RANDOM_H

#include "mtest.h"

#include <mpix_queue_rma.h>

#include <string.h>

enum { AREA = RMA_AREA, GUARD = 0xa5, GAP = 24, MAX_OPS = 80 };

/* How a put is started: by the host, by a plan, or enqueued. */
enum { BY_HOST, BY_PLAN, BY_QUEUE };

/* One of the round, as all ranks know it. */
struct op {
    int is_get, from, to; /* who starts it, and whose block is the remote one */
    int way;
    int local_signal, remote_signal;
    size_t bytes, source, target; /* offsets at the process that has the data, and that gets it */
    MPIX_Blk remote;
};

static struct op ops[MAX_OPS];
static unsigned char *memory, *model; /* the window, as the host sees it, and what is to be there */
static MPIX_Window window;
static MPIX_Signal local_signal, remote_signal;

static size_t random_bytes(unsigned long long *seed);
/* The window as it is now comes into memory. */
static void fetch(void);

static int sender(const struct op *op)
{
    return op->is_get ? op->to : op->from;
}

static int receiver(const struct op *op)
{
    return op->is_get ? op->from : op->to;
}

static unsigned char data_at(int rank, size_t offset)
{
    return (unsigned char)(offset * 7 + offset / 251 + (size_t)rank * 31);
}

static void fill_source(void)
{
    for (size_t i = 0; i < AREA; i++) {
        memory[i] = data_at(mtest_rank, i);
    }
}

/* Puts are started in one of so many ways, of those above. */
static void choose(int n, int ways, unsigned long long *seed)
{
    size_t used[64] = {0};

    for (int i = 0; i < n; i++) {
        struct op *op = &ops[i];
        int to;

        memset(op, 0, sizeof *op);
        op->is_get = mtest_random(seed) % 3 == 0;
        op->from = (int)(mtest_random(seed) % (unsigned)mtest_size);
        op->to = (int)(mtest_random(seed) % (unsigned)mtest_size);
        op->way = op->is_get ? BY_HOST : (int)(mtest_random(seed) % (unsigned)ways);
        op->local_signal = mtest_random(seed) % 4 != 0;
        op->remote_signal = mtest_random(seed) % 4 != 0;
        op->bytes = random_bytes(seed);
        to = receiver(op);
        op->bytes = used[to] + op->bytes + 2 * (size_t)GAP > AREA ? 10 : op->bytes;
        op->target = AREA + used[to] + GAP;
        used[to] += op->bytes + GAP;
        op->source = mtest_random(seed) % (AREA - op->bytes);
    }
}

/* How many events this rank's signals get. */
static int count_events(int n, int is_remote)
{
    int events = 0;

    for (int i = 0; i < n; i++) {
        events += is_remote ? ops[i].to == mtest_rank && ops[i].remote_signal
                            : ops[i].from == mtest_rank && ops[i].local_signal;
    }
    return events;
}

static void make_signal(int events, MPIX_Signal *signal)
{
    *signal = MPIX_SIGNAL_NULL;
    if (events > 0) {
        MTEST_OK(MPIX_Signal_init(window, events, signal));
    }
}

/* Each rank makes the blocks that others name, and all get them as bytes. */
static void exchange_blocks(int n)
{
    MPIX_Blk mine[MAX_OPS], all[MAX_OPS];

    memset(mine, 0, sizeof mine);
    for (int i = 0; i < n; i++) {
        if (ops[i].to == mtest_rank) {
            MTEST_OK(
                MPIX_Blk_init(window, (MPI_Aint)(ops[i].is_get ? ops[i].source : ops[i].target),
                              (MPI_Aint)ops[i].bytes,
                              ops[i].remote_signal ? remote_signal : MPIX_SIGNAL_NULL, &mine[i]));
        }
    }
    MPI_Allreduce(mine, all, (int)(n * sizeof mine[0]), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        ops[i].remote = all[i];
    }
}

/* All that this rank starts. The plan is made here, and enqueued if plan_by_queue says so. */
static void start(int n, MPIX_Queue queue, int plan_by_queue, MPIX_Plan *plan)
{
    MPIX_Blk local, locals[MAX_OPS], remotes[MAX_OPS];
    int n_planned = 0;

    for (int i = 0; i < n; i++) {
        struct op *op = &ops[i];

        if (op->from != mtest_rank) {
            continue;
        }
        MTEST_OK(MPIX_Blk_init(window, (MPI_Aint)(op->is_get ? op->target : op->source),
                               (MPI_Aint)op->bytes,
                               op->local_signal ? local_signal : MPIX_SIGNAL_NULL, &local));
        if (op->is_get) {
            MTEST_OK(MPIX_Get(&local, &op->remote));
        } else if (op->way == BY_HOST) {
            MTEST_OK(MPIX_Put(&local, &op->remote));
        } else if (op->way == BY_QUEUE) {
            MTEST_OK(MPIX_Enqueue_put(queue, &local, &op->remote));
        } else {
            locals[n_planned] = local;
            remotes[n_planned++] = op->remote;
        }
    }
    MTEST_OK(MPIX_Plan_create(n_planned, locals, remotes, plan));
    if (plan_by_queue) {
        MTEST_OK(MPIX_Enqueue_plan_start(queue, *plan));
    } else {
        MTEST_OK(MPIX_Plan_start(*plan));
    }
}

/* Queue: MPIX_QUEUE_NULL if the host waits. */
static void wait_for(MPIX_Signal signal, MPIX_Queue queue)
{
    int flag = 0;

    if (signal == MPIX_SIGNAL_NULL) {
        return;
    }
    if (queue != MPIX_QUEUE_NULL) {
        MTEST_OK(MPIX_Enqueue_signal_wait(queue, signal));
        MTEST_OK(MPIX_Queue_wait(queue));
    } else {
        MTEST_OK(MPIX_Signal_wait(signal));
    }
    MTEST_OK(MPIX_Signal_test(signal, &flag));
    MTEST_EQ(flag, 1);
}

static int is_there(const struct op *op)
{
    for (size_t i = 0; i < op->bytes; i++) {
        if (memory[op->target + i] != data_at(sender(op), op->source + i)) {
            return 0;
        }
    }
    return 1;
}

/* The data of which a signal has told. */
static void check_told(int n, int is_get)
{
    fetch();
    for (int i = 0; i < n; i++) {
        const struct op *op = &ops[i];
        int told = is_get ? op->local_signal : op->remote_signal;

        if (told && op->is_get == is_get && receiver(op) == mtest_rank && !is_there(op)) {
            mtest_fail(__FILE__, __LINE__, "%s %d of %zu bytes, %d to %d, is not there",
                       is_get ? "get" : "put", i, op->bytes, op->from, op->to);
        }
    }
}

static void check_all(int n)
{
    memset(model, GUARD, AREA);
    for (int i = 0; i < n; i++) {
        for (size_t k = 0; receiver(&ops[i]) == mtest_rank && k < ops[i].bytes; k++) {
            model[ops[i].target - AREA + k] = data_at(sender(&ops[i]), ops[i].source + k);
        }
    }
    fetch();
    MTEST_CHECK(memcmp(model, memory + AREA, AREA) == 0);
}

/* After the flush and a barrier: all is there, and nothing else has changed. */
static void end_round(int n, MPIX_Plan *plan)
{
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(n);
    MTEST_OK(MPIX_Plan_free(plan));
    MTEST_OK(MPIX_Signal_free(&local_signal));
    MTEST_OK(MPIX_Signal_free(&remote_signal));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* So many puts and gets in this round: few more in some. */
static int ops_of_round(int n, int round)
{
    return n + round % 6 < MAX_OPS ? n + round % 6 : MAX_OPS;
}

#endif
