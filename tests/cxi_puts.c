/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts by NICs, on the double of the cxi provider: how many operations they are, by the NIC alone
 * or step by step, and that none is made without the right to it; rights that are taken back while
 * puts are under way; operations that fail, at either end; a NIC that refuses, or has no regions.
 * Rank r puts to rank r + 1.
 */
#include "cxi_windows.h"

static MPIX_Blk out; /* the first half of the window, without a signal */

/* A block of the next rank, in the second half, and a signal of this one for so many events; the
 * rank before has put there once, by a message, and has the right to have NICs do so. */
static MPIX_Blk open_block(size_t bytes, int events, MPIX_Signal *signal)
{
    MPIX_Blk mine, theirs, none;

    MTEST_OK(MPIX_Signal_init(window, events, signal));
    MTEST_OK(MPIX_Blk_init(window, BYTES / 2, 0, *signal, &mine));
    theirs = of_next(&mine);
    MTEST_OK(MPIX_Blk_init(window, 0, 0, MPIX_SIGNAL_NULL, &none));
    MTEST_OK(MPIX_Put(&none, &theirs));
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Blk_init(window, BYTES / 2, (MPI_Aint)bytes, *signal, &mine));
    MTEST_OK(MPIX_Blk_init(window, 0, (MPI_Aint)bytes, MPIX_SIGNAL_NULL, &out));
    return of_next(&mine);
}

/* How many operations of a kind puts of so many bytes are, that tell or do not. */
static int count_ops(int op, int n, const MPIX_Blk *theirs)
{
    int hits;

    count(op);
    for (int i = 0; i < n; i++) {
        MTEST_OK(MPIX_Put(&out, theirs));
    }
    MTEST_OK(MPIX_Window_flush(window));
    hits = hooks->hits();
    stop_counting();
    return hits;
}

/* One write and one atomic for each part, and nothing where there is nothing to do. Parts are what
 * MPIXQ_STRIPE_KIB, which is 64, makes of it. Both are deferred, if there are both. */
static void test_counts(size_t bytes)
{
    int parts = bytes >= 65536 ? n_nics : 1;
    MPIX_Signal signal;
    MPIX_Blk theirs = open_block(bytes, 1 + 3 * 2, &signal), silent = theirs;

    memset(memory, 1 + mtest_rank, BYTES / 2);
    memset(memory + BYTES / 2, 0, BYTES / 2);
    MPI_Barrier(MPI_COMM_WORLD);
    atomic_store(&n_deferred, 0);
    hooks->watch(note_post, NULL);
    MTEST_EQ(count_ops(NIC_HIT_WRITE, 3, &theirs), bytes > 0 ? 3 * parts : 0);
    MTEST_EQ(atomic_load(&n_deferred), is_chained && bytes > 0 ? 2 * 3 * parts : 0);
    hooks->watch(NULL, NULL);
    MTEST_EQ(count_ops(NIC_HIT_ATOMIC, 3, &theirs), 3 * parts);
    MTEST_OK(MPIX_Signal_wait(signal));
    for (size_t i = 0; i < bytes; i++) {
        if (memory[BYTES / 2 + i] != 1 + before()) {
            mtest_fail(__FILE__, __LINE__, "byte %zu of %zu is not there", i, bytes);
            break;
        }
    }
    MTEST_OK(MPIX_Blk_set_signal(&silent, NULL));
    MTEST_EQ(count_ops(NIC_HIT_ATOMIC, 3, &silent), 0);
    MTEST_EQ(count_ops(NIC_HIT_WRITE, 3, &silent), bytes > 0 ? 3 * parts : 0);
    close_signal(&signal);
}

static void test_refused(void)
{
    MPIX_Signal signal;
    MPIX_Blk theirs = open_block(64, 5, &signal);

    memset(memory + BYTES / 2, 7, 64);
    expect_refused(MPIXQ_Put, &out, &theirs, &signal);
    for (int i = 0; i < 64; i++) {
        MTEST_EQ(memory[BYTES / 2 + i], 7);
    }
    close_signal(&signal);
}

/* Signals are freed while puts to them are under way. */
static void test_freed(int rounds)
{
    enum { PUTS = 20 };

    for (int round = 0; round < rounds; round++) {
        MPIX_Signal signal;
        MPIX_Blk theirs = open_block(round % 2 == 0 ? 8 : 50000, MANY, &signal);

        for (int i = 0; i < PUTS; i++) {
            MTEST_OK(MPIX_Put(&out, &theirs));
            if (i == PUTS - 4) {
                MTEST_OK(MPIX_Signal_free(&signal));
            }
        }
        expect_untold();
    }
}

/* Signals for which NICs have no words go by messages, and count as others. */
static void test_many(void)
{
    enum { SIGNALS = 600 };
    MPIX_Signal *signals = calloc(SIGNALS, sizeof *signals);
    MPIX_Blk mine, theirs;

    MTEST_OK(MPIX_Blk_init(window, 0, 8, MPIX_SIGNAL_NULL, &out));
    for (int i = 0; i < SIGNALS; i++) {
        MTEST_OK(MPIX_Signal_init(window, 3, &signals[i]));
    }
    for (int i = 0; i < SIGNALS; i += 50) {
        MTEST_OK(MPIX_Blk_init(window, BYTES / 2, 8, signals[i], &mine));
        theirs = of_next(&mine);
        for (int k = 0; k < 3; k++) {
            MTEST_OK(MPIX_Put(&out, &theirs));
            MTEST_OK(MPIX_Window_flush(window));
        }
        MTEST_OK(MPIX_Signal_wait(signals[i]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < SIGNALS; i++) {
        MTEST_OK(MPIX_Signal_free(&signals[i]));
    }
    free(signals);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* An operation fails: a flush says so, the signals at both ends fail, and nothing else does. What
 * is deferred behind a write that failed is not executed: of all that is deferred only that write
 * may have ended. */
static void test_failed(int op)
{
    MPIX_Signal signal, told;
    MPIX_Blk theirs = open_block(4096, 2, &signal), mine; /* the other event is of open_block */
    uint64_t ended = hooks->events();

    MTEST_OK(MPIX_Signal_init(window, 1, &told));
    MTEST_OK(MPIX_Blk_init(window, 0, 4096, told, &mine));
    if (mtest_rank == 0) {
        hooks->fault(NIC_FAULT_FAIL, op, 1, 1);
        MTEST_OK(MPIX_Put(&mine, &theirs));
        MTEST_KIND_TEXT(MPIX_Window_flush(window), MPIXQ_ERR_COMM, "put to rank 1 of window");
        MTEST_EQ(hooks->hits(), 1);
        stop_counting();
        (void)usleep(PAUSE_US);
        MTEST_CHECK(op != NIC_HIT_WRITE || hooks->events() - ended <= 1);
        MTEST_KIND_TEXT(MPIX_Signal_wait(told), MPIXQ_ERR_COMM, "offset 524288");
        MTEST_OK(MPIX_Window_flush(window));
    } else if (mtest_rank == 1) {
        MTEST_KIND_TEXT(MPIX_Signal_wait(signal), MPIXQ_ERR_COMM, "put by rank 0");
    }
    MTEST_OK(MPIX_Signal_free(&told));
    close_signal(&signal);
    test_counts(100);
}

/* A write fails while what is to follow waits for the NIC to take it: that is not made any more,
 * and others that wait are. */
static void test_half_taken(void)
{
    MPIX_Signal signal;
    MPIX_Blk theirs = open_block(4096, 4, &signal);

    if (mtest_rank == 0) {
        hooks->fault(NIC_FAULT_FAIL, NIC_HIT_WRITE, 1, 1);
        hooks->refuse_after(1);
        for (int i = 0; i < 3; i++) {
            MTEST_OK(MPIX_Put(&out, &theirs));
        }
        (void)usleep(PAUSE_US);
        MTEST_EQ(hooks->hits(), 1);
        stop_counting();
        hooks->refuse(NIC_REFUSE_NONE);
        MTEST_KIND_TEXT(MPIX_Window_flush(window), MPIXQ_ERR_COMM, "put to rank 1 of window");
    } else if (mtest_rank == 1) {
        MTEST_KIND_TEXT(MPIX_Signal_wait(signal), MPIXQ_ERR_COMM, "put by rank 0");
    }
    close_signal(&signal);
    test_counts(100);
}

/* What the NIC does not take now it takes later; more are started than it has room for. */
static void test_busy(void)
{
    enum { PUTS = 300 };
    MPIX_Signal signal;
    MPIX_Blk theirs = open_block(512, 1 + PUTS, &signal);
    int flag;

    for (int i = 0; i < PUTS; i++) {
        if (i == 100) {
            hooks->refuse(NIC_REFUSE_AGAIN);
        }
        MTEST_OK(MPIX_Put(&out, &theirs));
    }
    while (hooks->refused() == 0) {
        MTEST_OK(MPIX_Signal_test(signal, &flag));
    }
    hooks->refuse(NIC_REFUSE_NONE);
    MTEST_OK(MPIX_Signal_wait(signal));
    MTEST_OK(MPIX_Window_flush(window));
    close_signal(&signal);
}

/* Without a region a window's puts go by messages. */
static void test_no_regions(void)
{
    MPIX_Window other, first = window;
    MPIX_Signal signal;
    MPIX_Blk theirs;
    char *own = memory;

    if (mtest_rank == 0) {
        hooks->no_regions(true);
    }
    MTEST_OK(MPIX_Window_allocate(BYTES, MPI_COMM_WORLD, MPI_INFO_NULL, &memory, &other));
    hooks->no_regions(false);
    window = other;
    theirs = open_block(LARGE, 4, &signal);
    /* To rank 0 or from there. */
    MTEST_EQ(count_ops(NIC_HIT_WRITE, 3, &theirs) > 0,
             mtest_rank != 0 && mtest_rank + 1 != mtest_size);
    MTEST_OK(MPIX_Signal_wait(signal));
    close_signal(&signal);
    MTEST_OK(MPIX_Window_free(&window));
    window = first;
    memory = own;
}

/* Arguments: NICs; and "stepwise": the host starts the additions. */
int main(int argc, char **argv)
{
    n_nics = argc > 1 ? atoi(argv[1]) : 1;
    is_chained = argc <= 2;
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Window_allocate(BYTES, MPI_COMM_WORLD, MPI_INFO_NULL, &memory, &window));
    hooks = cxi_hooks();
    if (hooks != NULL) {
        test_counts(0);
        test_counts(8);
        test_counts(LARGE);
        test_refused();
        test_freed(6);
        test_many();
        test_failed(NIC_HIT_WRITE);
        test_failed(NIC_HIT_ATOMIC);
        test_half_taken();
        test_busy();
        test_no_regions();
    }
    MTEST_OK(MPIX_Window_free(&window));
    return mtest_end();
}
