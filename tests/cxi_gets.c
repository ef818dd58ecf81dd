/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Gets by NICs, on the double of the cxi provider: how many operations they are, by the NIC alone
 * or step by step; that what comes is what was there after the get was started, and nothing else
 * changes; that none is made without the right to it; rights that are taken back while gets are
 * under way; reads and atomics that fail, which tell no signal; a NIC that refuses, or has no
 * regions; and a window that is freed while gets are under way. Rank r gets from rank r + 1.
 */
#include "cxi_windows.h"

enum {
    HALF = BYTES / 2, /* the first is got from, the second to */
    GUARD = 0xa5
};

/* What is at this place of a rank's first half, in some round. */
static char value(int rank, int round, size_t i)
{
    return (char)(i * 7 + i / 251 + (size_t)rank * 31 + (size_t)round * 101);
}

static void fill(int round)
{
    for (size_t i = 0; i < HALF; i++) {
        memory[i] = value(mtest_rank, round, i);
    }
    memset(memory + HALF, GUARD, HALF);
}

/* A block of the next rank, at this place in the first half, and a signal of this one for so many
 * events; the rank before has got from there once, by a message, and has the right to have NICs do
 * so. */
static MPIX_Blk open_block(size_t offset, size_t bytes, int events, MPIX_Signal *signal)
{
    MPIX_Blk mine, theirs, none;

    MTEST_OK(MPIX_Signal_init(window, events + 1, signal));
    MTEST_OK(MPIX_Blk_init(window, 0, 0, *signal, &mine));
    theirs = of_next(&mine);
    MTEST_OK(MPIX_Blk_init(window, 0, 0, MPIX_SIGNAL_NULL, &none));
    MTEST_OK(MPIX_Get(&none, &theirs));
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Blk_init(window, (MPI_Aint)offset, (MPI_Aint)bytes, *signal, &mine));
    return of_next(&mine);
}

static MPIX_Blk block_here(size_t offset, size_t bytes, MPIX_Signal signal)
{
    MPIX_Blk block;

    MTEST_OK(MPIX_Blk_init(window, (MPI_Aint)offset, (MPI_Aint)bytes, signal, &block));
    return block;
}

/* The second half has this of the next rank, and guards around it. */
static void check(size_t to, size_t from, size_t bytes, int round)
{
    for (size_t i = 0; i < HALF; i++) {
        size_t k = HALF + i - to;
        char expected = (char)GUARD;

        if (HALF + i >= to && k < bytes) {
            expected = value(after(), round, from + k);
        }
        if (memory[HALF + i] != expected) {
            mtest_fail(__FILE__, __LINE__, "byte %zu of the second half is %d, expected %d", i,
                       memory[HALF + i], expected);
            break;
        }
    }
}

/* How many operations of a kind a get is, by being late by nothing. */
static int count_ops(int op, const MPIX_Blk *mine, const MPIX_Blk *theirs)
{
    int hits;

    count(op);
    MTEST_OK(MPIX_Get(mine, theirs));
    MTEST_OK(MPIX_Window_flush(window));
    hits = hooks->hits();
    stop_counting();
    return hits;
}

/* One read and one atomic for each part, and nothing where there is nothing to do; parts are what
 * MPIXQ_STRIPE_KIB, which is 64, makes of it. Both are deferred, if there are both. */
static void test_counts(size_t bytes)
{
    int parts = bytes >= 65536 ? n_nics : 1, reads = bytes > 0 ? parts : 0;
    size_t from = 13, to = HALF + 29;
    MPIX_Signal signal, here;
    MPIX_Blk theirs = open_block(from, bytes, 2, &signal), silent = theirs, mine;
    int flag = 0;

    MTEST_OK(MPIX_Blk_set_signal(&silent, NULL));
    MTEST_OK(MPIX_Signal_init(window, 2, &here));
    mine = block_here(to, bytes, here);
    fill(0);
    MPI_Barrier(MPI_COMM_WORLD);
    atomic_store(&n_deferred, 0);
    hooks->watch(note_post, NULL);
    MTEST_EQ(count_ops(NIC_HIT_READ, &mine, &theirs), reads);
    MTEST_EQ(atomic_load(&n_deferred), is_chained ? 2 * reads : 0);
    hooks->watch(NULL, NULL);
    check(to, from, bytes, 0);
    MTEST_OK(MPIX_Blk_set_signal(&mine, NULL));
    MTEST_EQ(count_ops(NIC_HIT_ATOMIC, &mine, &theirs), parts);
    MTEST_OK(MPIX_Signal_wait(signal)); /* both of the rank before */
    MTEST_EQ(count_ops(NIC_HIT_READ, &mine, &silent), reads);
    MTEST_EQ(count_ops(NIC_HIT_ATOMIC, &mine, &silent), 0);
    MTEST_EQ(count_ops(NIC_HIT_WRITE, &mine, &silent), 0);
    MTEST_OK(MPIX_Signal_test(here, &flag));
    MTEST_EQ(flag, 0);
    MPI_Barrier(MPI_COMM_WORLD); /* the block is written again */
    fill(1);
    MPI_Barrier(MPI_COMM_WORLD);
    mine = block_here(to, bytes, here);
    MTEST_OK(MPIX_Get(&mine, &silent));
    MTEST_OK(MPIX_Signal_wait(here));
    check(to, from, bytes, 1);
    MTEST_OK(MPIX_Signal_free(&here));
    close_signal(&signal);
}

/* A rank's own memory is copied. */
static void test_own(void)
{
    MPIX_Signal signal;
    MPIX_Blk mine, from;

    fill(0);
    MTEST_OK(MPIX_Signal_init(window, 2, &signal));
    mine = block_here(HALF + 1, 5000, signal);
    from = block_here(77, 5000, signal);
    MTEST_EQ(count_ops(NIC_HIT_ANY, &mine, &from), 0);
    MTEST_OK(MPIX_Signal_wait(signal));
    for (size_t i = 0; i < 5000; i++) {
        MTEST_EQ(memory[HALF + 1 + i], value(mtest_rank, 0, 77 + i));
    }
    close_signal(&signal);
}

/* Each time the owner has written something else before it says so. */
static void test_fresh(int rounds)
{
    enum { SIZE = 70000 };
    MPIX_Signal signal, here;
    MPIX_Blk theirs = open_block(0, SIZE, rounds, &signal), silent = theirs, mine;
    int before = (mtest_rank + mtest_size - 1) % mtest_size, token = 0;

    MTEST_OK(MPIX_Blk_set_signal(&silent, NULL));
    MTEST_OK(MPIX_Signal_init(window, 1, &here));
    mine = block_here(HALF, SIZE, here);
    for (int round = 0; round < rounds; round++) {
        fill(round);
        MPI_Sendrecv(&round, 1, MPI_INT, before, 2, &token, 1, MPI_INT, after(), 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MTEST_OK(MPIX_Get(&mine, round % 2 == 0 ? &theirs : &silent));
        MTEST_OK(MPIX_Signal_wait(here));
        check(HALF, 0, SIZE, round);
        MTEST_OK(MPIX_Signal_reset(here));
        MPI_Sendrecv(&round, 1, MPI_INT, after(), 3, &token, 1, MPI_INT, before, 3, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    MTEST_OK(MPIX_Window_flush(window));
    MTEST_OK(MPIX_Signal_free(&here));
    close_signal(&signal);
}

/* The remote signal says that the block was read: it is written to again at once. */
static void test_told(int rounds)
{
    enum { SIZE = 100000 };
    MPIX_Signal signal;
    MPIX_Blk theirs = open_block(0, SIZE, 1, &signal), mine;

    mine = block_here(HALF, SIZE, MPIX_SIGNAL_NULL);
    fill(0);
    for (int round = 0; round < rounds; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = round == 0; i < 2; i++) { /* the other event is of open_block */
            MTEST_OK(MPIX_Get(&mine, &theirs));
        }
        MTEST_OK(MPIX_Signal_wait(signal));
        for (size_t i = 0; i < HALF; i++) {
            memory[i] = value(mtest_rank, round + 1, i);
        }
        MTEST_OK(MPIX_Window_flush(window));
        check(HALF, 0, SIZE, round);
        MPI_Barrier(MPI_COMM_WORLD);
        MTEST_OK(MPIX_Signal_reset(signal));
    }
    close_signal(&signal);
}

static void test_refused(void)
{
    MPIX_Signal signal;
    MPIX_Blk theirs = open_block(0, 64, 5, &signal);
    MPIX_Blk mine = block_here(HALF, 64, MPIX_SIGNAL_NULL);

    fill(0);
    expect_refused(MPIXQ_Get, &mine, &theirs, &signal);
    check(HALF, 0, 0, 0);
    close_signal(&signal);
}

/* Signals are freed while gets that tell them are under way. */
static void test_freed(int rounds)
{
    enum { GETS = 20 };

    for (int round = 0; round < rounds; round++) {
        size_t bytes = round % 2 == 0 ? 8 : 50000;
        MPIX_Signal signal;
        MPIX_Blk theirs = open_block(0, bytes, MANY, &signal);
        MPIX_Blk mine = block_here(HALF, bytes, MPIX_SIGNAL_NULL);

        for (int i = 0; i < GETS; i++) {
            MTEST_OK(MPIX_Get(&mine, &theirs));
            if (i == GETS - 4) {
                MTEST_OK(MPIX_Signal_free(&signal));
            }
        }
        expect_untold();
    }
}

/* An operation fails: a flush says so, the signals at both ends fail, and nothing else does. What
 * is deferred behind a read that failed is not executed. Then others go on. */
static void test_failed(int op, size_t bytes)
{
    MPIX_Signal signal, told;
    MPIX_Blk theirs = open_block(0, bytes, 1, &signal), mine;
    uint64_t ended = hooks->events();

    fill(0);
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Signal_init(window, 1, &told));
    mine = block_here(HALF, bytes, told);
    if (mtest_rank == 0) {
        hooks->fault(NIC_FAULT_FAIL, op, 1, 1);
        MTEST_OK(MPIX_Get(&mine, &theirs));
        MTEST_KIND_TEXT(MPIX_Window_flush(window), MPIXQ_ERR_COMM, "get from rank 1 of window");
        MTEST_EQ(hooks->hits(), 1);
        stop_counting();
        (void)usleep(PAUSE_US);
        MTEST_CHECK(op != NIC_HIT_READ || bytes > 4096 || hooks->events() - ended <= 1);
        MTEST_KIND_TEXT(MPIX_Signal_wait(told), MPIXQ_ERR_COMM, "get from rank 1");
        MTEST_OK(MPIX_Window_flush(window));
    } else if (mtest_rank == 1) {
        MTEST_KIND_TEXT(MPIX_Signal_wait(signal), MPIXQ_ERR_COMM, "get by rank 0");
    }
    MTEST_OK(MPIX_Signal_free(&told));
    close_signal(&signal);
    test_counts(100);
}

/* The NIC takes the atomic, and not yet the read that it waits for. */
static void test_half_taken(void)
{
    MPIX_Signal signal;
    MPIX_Blk theirs = open_block(0, 4096, 1, &signal), mine;
    int flag = 0;

    fill(0);
    mine = block_here(HALF, 4096, MPIX_SIGNAL_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    hooks->refuse_after(1);
    MTEST_OK(MPIX_Get(&mine, &theirs));
    MPI_Barrier(MPI_COMM_WORLD);
    (void)usleep(PAUSE_US);
    if (is_chained) {
        MTEST_OK(MPIX_Signal_test(signal, &flag));
        MTEST_EQ(flag, 0);
        check(HALF, 0, 0, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    hooks->refuse(NIC_REFUSE_NONE);
    MTEST_OK(MPIX_Signal_wait(signal));
    MTEST_OK(MPIX_Window_flush(window));
    check(HALF, 0, 4096, 0);
    close_signal(&signal);
}

/* What the NIC does not take now it takes later; more are started than it has room for. */
static void test_busy(void)
{
    enum { GETS = 300, SIZE = 512, APART = SIZE + 7 };
    MPIX_Signal signal;
    MPIX_Blk theirs = open_block(0, SIZE, GETS, &signal), mine;
    int flag;

    fill(0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < GETS; i++) {
        if (i == 100) {
            hooks->refuse(NIC_REFUSE_AGAIN);
        }
        mine = block_here(HALF + (size_t)i * APART, SIZE, MPIX_SIGNAL_NULL);
        MTEST_OK(MPIX_Get(&mine, &theirs));
    }
    while (hooks->refused() == 0) {
        MTEST_OK(MPIX_Signal_test(signal, &flag));
    }
    hooks->refuse(NIC_REFUSE_NONE);
    MTEST_OK(MPIX_Signal_wait(signal));
    MTEST_OK(MPIX_Window_flush(window));
    for (size_t i = 0; i < HALF; i++) {
        size_t k = i % APART;
        char expected = i / APART < GETS && k < SIZE ? value(after(), 0, k) : (char)GUARD;

        if (memory[HALF + i] != expected) {
            mtest_fail(__FILE__, __LINE__, "byte %zu of get %zu is wrong", k, i / APART);
            break;
        }
    }
    close_signal(&signal);
}

/* A window of another test's own; this one's comes back. */
static void with_window(bool has_regions, void (*test)(void))
{
    MPIX_Window other, first = window;
    char *own = memory;

    hooks->no_regions(!has_regions && mtest_rank == 0);
    MTEST_OK(MPIX_Window_allocate(BYTES, MPI_COMM_WORLD, MPI_INFO_NULL, &memory, &other));
    hooks->no_regions(false);
    window = other;
    test();
    MTEST_OK(MPIX_Window_free(&window));
    window = first;
    memory = own;
}

/* To rank 0 and from there they go by messages. */
static void get_without_nics(void)
{
    MPIX_Signal signal;
    MPIX_Blk theirs = open_block(0, LARGE, 1, &signal), mine;

    fill(0);
    mine = block_here(HALF, LARGE, MPIX_SIGNAL_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_EQ(count_ops(NIC_HIT_ANY, &mine, &theirs) > 0, mtest_rank != 0 && after() != 0);
    check(HALF, 0, LARGE, 0);
    MTEST_OK(MPIX_Signal_wait(signal));
    close_signal(&signal);
}

/* The free waits for them, and takes the signal along. */
static void leave_under_way(void)
{
    MPIX_Signal signal;
    MPIX_Blk theirs = open_block(0, LARGE, MANY, &signal), mine;

    fill(0);
    mine = block_here(HALF, LARGE, MPIX_SIGNAL_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 20; i++) {
        MTEST_OK(MPIX_Get(&mine, &theirs));
    }
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
        test_own();
        test_fresh(20);
        test_told(10);
        test_refused();
        test_freed(6);
        test_failed(NIC_HIT_READ, 4096);
        test_failed(NIC_HIT_READ, LARGE);
        test_failed(NIC_HIT_ATOMIC, 4096);
        test_half_taken();
        test_busy();
        with_window(false, get_without_nics);
        with_window(true, leave_under_way);
    }
    MTEST_OK(MPIX_Window_free(&window));
    return mtest_end();
}
