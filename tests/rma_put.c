/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Random puts and gets of any size between all ranks, by the host, by plans and enqueued, with and
 * without signals at either end, against a model that all ranks compute. What a signal counted is
 * there when the wait for it returns; all is there after a flush, and nothing else has changed.
 * Arguments: rounds, puts and gets in each, first seed; and "nics": all puts but one to each signal
 * go by NICs; or "unequal": odd ranks have MPIXQ_CMA=no.
 */
#define RMA_AREA (24 << 20)
#include "rma_random.h"

#include <stdlib.h>
#include <string.h>

static int by_nics;

static void fetch(void)
{
}

static size_t random_bytes(unsigned long long *seed)
{
    static const size_t sizes[] = {0, 1, 7, 100, 4095, 4096, 4097, 60000, 300000};

    if (mtest_random(seed) % 16 == 0) {
        return (5U << 20) + mtest_random(seed) % 1000; /* several parts */
    }
    return sizes[mtest_random(seed) % (sizeof sizes / sizeof sizes[0])];
}

/* The signals of all ranks have heard of this one, which has the right to have NICs tell them. */
static void tell_all_once(int events)
{
    MPIX_Blk mine, all[64], out;

    MTEST_OK(MPIX_Blk_init(window, 0, 0, events > 0 ? remote_signal : MPIX_SIGNAL_NULL, &mine));
    MTEST_OK(MPIX_Blk_init(window, 0, 0, MPIX_SIGNAL_NULL, &out));
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < mtest_size; i++) {
        MTEST_OK(MPIX_Put(&out, &all[i]));
    }
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void run_round(int n, unsigned long long seed, MPIX_Queue queue)
{
    MPIX_Plan plan = MPIX_PLAN_NULL;
    int events;

    choose(n, BY_QUEUE + 1, &seed);
    events = count_events(n, 1) + (by_nics ? mtest_size : 0);
    memset(memory + AREA, GUARD, AREA);
    make_signal(count_events(n, 0), &local_signal);
    make_signal(events, &remote_signal);
    exchange_blocks(n);
    if (by_nics) {
        tell_all_once(events);
    }
    start(n, queue, n % 2 != 0, &plan);
    wait_for(remote_signal, n % 3 == 0 ? queue : MPIX_QUEUE_NULL);
    check_told(n, 0);
    wait_for(local_signal, n % 3 == 1 ? queue : MPIX_QUEUE_NULL);
    check_told(n, 1);
    MTEST_OK(MPIX_Queue_wait(queue));
    end_round(n, &plan);
}

/* All to the next rank, which looks at what has come now and then only. */
static void test_many(void)
{
    enum { MANY = 300, BYTES = 5000 };
    int next = (mtest_rank + 1) % mtest_size, previous = (mtest_rank + mtest_size - 1) % mtest_size;
    MPIX_Blk mine[MANY], theirs[MANY], out;

    memset(memory + AREA, GUARD, AREA);
    make_signal(MANY, &remote_signal);
    for (int i = 0; i < MANY; i++) {
        MTEST_OK(MPIX_Blk_init(window, AREA + (MPI_Aint)i * (BYTES + GAP), BYTES, remote_signal,
                               &mine[i]));
    }
    MPI_Sendrecv(mine, sizeof mine, MPI_BYTE, previous, 0, theirs, sizeof theirs, MPI_BYTE, next, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < MANY; i++) {
        MTEST_OK(MPIX_Blk_init(window, i, BYTES, MPIX_SIGNAL_NULL, &out));
        MTEST_OK(MPIX_Put(&out, &theirs[i]));
    }
    MTEST_OK(MPIX_Signal_wait(remote_signal));
    for (size_t at = AREA; at < 2 * (size_t)AREA; at++) {
        size_t i = (at - AREA) / (BYTES + GAP), in = (at - AREA) % (BYTES + GAP);
        int expected = i < MANY && in < BYTES ? data_at(previous, i + in) : GUARD;

        if (memory[at] != expected) {
            mtest_fail(__FILE__, __LINE__, "byte %zu of put %zu is %d, expected %d", in, i,
                       memory[at], expected);
            break;
        }
    }
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Signal_free(&remote_signal));
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 8, n = argc > 2 ? atoi(argv[2]) : 20;
    unsigned long long seed = argc > 3 ? (unsigned long long)atoi(argv[3]) : 1;
    MPIX_Queue queue;

    by_nics = argc > 4 && strcmp(argv[4], "nics") == 0;
    if (argc > 4 && strcmp(argv[4], "unequal") == 0 && mtest_early_rank() % 2 == 1) {
        (void)setenv("MPIXQ_CMA", "no", 1);
    }
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    model = malloc(AREA);
    MTEST_OK(
        MPIX_Window_allocate(2 * (MPI_Aint)AREA, MPI_COMM_WORLD, MPI_INFO_NULL, &memory, &window));
    fill_source();
    MTEST_OK(MPIX_Queue_init(&queue, MPIX_QUEUE_AUTO, NULL));
    for (int round = 0; round < rounds; round++) {
        run_round(ops_of_round(n, round), seed + (unsigned long long)round, queue);
    }
    test_many();
    MTEST_OK(MPIX_Queue_free(&queue));
    MTEST_OK(MPIX_Window_free(&window));
    MTEST_CHECK(window == MPIX_WINDOW_NULL);
    free(model);
    return mtest_end();
}
