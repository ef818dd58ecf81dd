/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Windows, signals, blocks and plans with arguments that are wrong, blocks that are stale or
 * forged, events that come early, late or too often, and what frees do with what is under way.
 */
#include "mtest.h"
#include "rma_forge.h"

#include <mpix_queue_rma.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };

static char *memory;
static MPIX_Window window;
static int by_nics; /* puts go by NICs, once a peer has given the right */

static int next(void)
{
    return (mtest_rank + 1) % mtest_size;
}

/* The block of the next rank that it makes as this one makes its own. */
static MPIX_Blk of_next(const MPIX_Blk *mine)
{
    int before = (mtest_rank + mtest_size - 1) % mtest_size;
    MPIX_Blk theirs;

    MPI_Sendrecv(mine, sizeof *mine, MPI_BYTE, before, 1, &theirs, sizeof theirs, MPI_BYTE, next(),
                 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return theirs;
}

static void test_windows(void)
{
    MPIX_Window w = MPIX_WINDOW_NULL, dead, garbage = (MPIX_Window)&garbage;
    MPIX_Window bad[] = {MPIX_WINDOW_NULL, NULL, garbage};
    MPIX_Signal signal = MPIX_SIGNAL_NULL;
    MPIX_Blk blk;
    char *base = &memory[0];

    MTEST_KIND_TEXT(MPIX_Window_create(NULL, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &w), MPIXQ_ERR_ARG,
                    "base");
    MTEST_KIND_TEXT(MPIX_Window_create(base, -1, MPI_COMM_WORLD, MPI_INFO_NULL, &w), MPIXQ_ERR_ARG,
                    "bytes");
    MTEST_KIND_TEXT(MPIX_Window_create(base, 8, MPI_COMM_NULL, MPI_INFO_NULL, &w), MPIXQ_ERR_ARG,
                    "comm");
    MTEST_KIND_TEXT(MPIX_Window_create(base, 8, MPI_COMM_WORLD, MPI_INFO_NULL, NULL), MPIXQ_ERR_ARG,
                    "win");
    MTEST_KIND_TEXT(MPIX_Window_allocate(8, MPI_COMM_WORLD, MPI_INFO_NULL, NULL, &w), MPIXQ_ERR_ARG,
                    "base");
    if (mtest_size > 1) {
        MTEST_KIND_TEXT(
            MPIX_Window_allocate(8 + mtest_rank, MPI_COMM_WORLD, MPI_INFO_NULL, &base, &w),
            MPIXQ_ERR_ARG, "not the same at all");
    }
    MTEST_CHECK(w == MPIX_WINDOW_NULL);
    MTEST_OK(MPIX_Window_create(NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &w));
    MTEST_OK(MPIX_Blk_init(w, 0, 0, MPIX_SIGNAL_NULL, &blk));
    MTEST_KIND_TEXT(MPIX_Blk_init(w, 0, 1, MPIX_SIGNAL_NULL, &blk), MPIXQ_ERR_ARG, "beyond");
    dead = w;
    MTEST_OK(MPIX_Window_free(&w));
    MTEST_CHECK(w == MPIX_WINDOW_NULL);
    MTEST_OK(MPIX_Window_free(&w));
    MTEST_KIND_TEXT(MPIX_Put(&blk, &blk), MPIXQ_ERR_STATE, "window");
    MTEST_KIND_TEXT(MPIX_Window_free(NULL), MPIXQ_ERR_ARG, "win");
    bad[1] = dead;
    for (int i = 0; i < 3; i++) {
        MTEST_KIND_TEXT(MPIX_Window_flush(bad[i]), MPIXQ_ERR_ARG, "win");
        MTEST_KIND_TEXT(MPIX_Signal_init(bad[i], 1, &signal), MPIXQ_ERR_ARG, "win");
        MTEST_KIND_TEXT(MPIX_Blk_init(bad[i], 0, 0, signal, &blk), MPIXQ_ERR_ARG, "win");
    }
    MTEST_KIND_TEXT(MPIX_Window_free(&bad[1]), MPIXQ_ERR_ARG, "win");
    MTEST_KIND_TEXT(MPIX_Window_free(&bad[2]), MPIXQ_ERR_ARG, "win");
}

static void test_signals(void)
{
    MPIX_Signal s = MPIX_SIGNAL_NULL, dead, garbage = (MPIX_Signal)&garbage;
    int flag = -7;

    MTEST_KIND_TEXT(MPIX_Signal_init(window, 0, &s), MPIXQ_ERR_ARG, "num_event");
    MTEST_KIND_TEXT(MPIX_Signal_init(window, -5, &s), MPIXQ_ERR_ARG, "num_event");
    MTEST_KIND_TEXT(MPIX_Signal_init(window, 1, NULL), MPIXQ_ERR_ARG, "sig");
    MTEST_OK(MPIX_Signal_init(window, 2147483647, &s));
    MTEST_KIND_TEXT(MPIX_Signal_test(s, NULL), MPIXQ_ERR_ARG, "flag");
    MTEST_OK(MPIX_Signal_test(s, &flag));
    MTEST_EQ(flag, 0);
    MTEST_KIND_TEXT(MPIX_Signal_reset(s), MPIXQ_ERR_STATE, "2147483647 of 2147483647 events");
    dead = s;
    MTEST_OK(MPIX_Signal_free(&s));
    MTEST_CHECK(s == MPIX_SIGNAL_NULL);
    MTEST_OK(MPIX_Signal_free(&s));
    MTEST_KIND_TEXT(MPIX_Signal_free(NULL), MPIXQ_ERR_ARG, "sig");

    MPIX_Signal bad[] = {MPIX_SIGNAL_NULL, dead, garbage};
    for (int i = 0; i < 3; i++) {
        MTEST_KIND_TEXT(MPIX_Signal_wait(bad[i]), MPIXQ_ERR_ARG, "sig");
        MTEST_KIND_TEXT(MPIX_Signal_test(bad[i], &flag), MPIXQ_ERR_ARG, "sig");
        MTEST_KIND_TEXT(MPIX_Signal_reset(bad[i]), MPIXQ_ERR_ARG, "sig");
        MTEST_KIND_TEXT(MPIX_Signal_wait_reset(bad[i]), MPIXQ_ERR_ARG, "sig");
    }
    MTEST_KIND_TEXT(MPIX_Signal_free(&bad[1]), MPIXQ_ERR_ARG, "sig");
}

static void test_blocks(void)
{
    MPIX_Blk good, small, other, changed, null, away;
    MPIX_Signal signal, elsewhere;
    MPIX_Window second;
    MPIX_Plan plan = MPIX_PLAN_NULL;

    memset(&null, 0, sizeof null);
    MTEST_OK(MPIX_Window_create(memory, 64, MPI_COMM_WORLD, MPI_INFO_NULL, &second));
    MTEST_OK(MPIX_Signal_init(second, 1, &elsewhere));
    MTEST_OK(MPIX_Signal_init(window, 1, &signal));
    MTEST_KIND_TEXT(MPIX_Blk_init(window, -1, 1, signal, &good), MPIXQ_ERR_ARG, "offset");
    MTEST_KIND_TEXT(MPIX_Blk_init(window, 0, -1, signal, &good), MPIXQ_ERR_ARG, "bytes");
    MTEST_KIND_TEXT(MPIX_Blk_init(window, 1, BYTES, signal, &good), MPIXQ_ERR_ARG, "beyond");
    MTEST_KIND_TEXT(MPIX_Blk_init(window, 0, 1, elsewhere, &good), MPIXQ_ERR_ARG, "another window");
    MTEST_KIND_TEXT(MPIX_Blk_init(window, 0, 1, signal, NULL), MPIXQ_ERR_ARG, "blk");
    MTEST_OK(MPIX_Blk_init(window, 0, 8, MPIX_SIGNAL_NULL, &good));
    MTEST_OK(MPIX_Blk_init(window, 8, 4, MPIX_SIGNAL_NULL, &small));
    MTEST_OK(MPIX_Blk_init(second, 0, 8, elsewhere, &other));
    changed = good;
    changed.words[3] += 8;
    away = of_next(&good);
    MTEST_KIND_TEXT(MPIX_Put(NULL, &good), MPIXQ_ERR_ARG, "NULL");
    MTEST_KIND_TEXT(MPIX_Get(&good, NULL), MPIXQ_ERR_ARG, "NULL");
    MTEST_KIND_TEXT(MPIX_Put(&changed, &good), MPIXQ_ERR_ARG, "argument local: no block");
    MTEST_KIND_TEXT(MPIX_Put(&good, &changed), MPIXQ_ERR_ARG, "argument remote: no block");
    MTEST_KIND_TEXT(MPIX_Put(&good, &other), MPIXQ_ERR_ARG, "another window");
    MTEST_KIND_TEXT(MPIX_Put(&good, &small), MPIXQ_ERR_ARG, "more or less bytes");
    MTEST_KIND_TEXT(MPIX_Blk_set_signal(NULL, &good), MPIXQ_ERR_ARG, "blk");
    MTEST_KIND_TEXT(MPIX_Blk_set_signal(&changed, &good), MPIXQ_ERR_ARG, "argument blk");
    MTEST_KIND_TEXT(MPIX_Blk_set_signal(&good, &changed), MPIXQ_ERR_ARG, "argument from");
    MTEST_KIND_TEXT(MPIX_Blk_set_signal(&good, &other), MPIXQ_ERR_ARG, "argument from");
    MTEST_KIND_TEXT(MPIX_Plan_create(-1, &good, &good, &plan), MPIXQ_ERR_ARG, "count");
    MTEST_KIND_TEXT(MPIX_Plan_create(1, NULL, &good, &plan), MPIXQ_ERR_ARG, "NULL");
    MTEST_KIND_TEXT(MPIX_Plan_create(1, &good, &good, NULL), MPIXQ_ERR_ARG, "plan");
    MTEST_KIND_TEXT(MPIX_Plan_create(1, &good, &changed, &plan), MPIXQ_ERR_ARG, "remote");
    MTEST_KIND_TEXT(MPIX_Plan_start(plan), MPIXQ_ERR_ARG, "plan");
    if (mtest_size > 1) {
        MTEST_KIND_TEXT(MPIX_Put(&away, &good), MPIXQ_ERR_ARG, "another process");
        MTEST_KIND_TEXT(MPIX_Blk_set_signal(&away, &good), MPIXQ_ERR_ARG, "argument from");
    }
    /* That of MPI_PROC_NULL: nothing happens, and nothing of the other block is looked at. */
    MTEST_OK(MPIX_Put(&good, &null));
    MTEST_OK(MPIX_Get(&good, &null));
    MTEST_OK(MPIX_Plan_create(1, &good, &null, &plan));
    MTEST_OK(MPIX_Plan_start(plan));
    MTEST_OK(MPIX_Plan_free(&plan));
    /* A plan of a window that is gone. */
    MTEST_OK(MPIX_Plan_create(1, &other, &other, &plan));
    MTEST_OK(MPIX_Window_free(&second));
    MTEST_KIND_TEXT(MPIX_Plan_start(plan), MPIXQ_ERR_STATE, "window was freed");
    MTEST_OK(MPIX_Plan_free(&plan));
    MTEST_KIND_TEXT(MPIX_Signal_test(elsewhere, &(int){0}), MPIXQ_ERR_ARG, "sig");
    MTEST_OK(MPIX_Signal_free(&signal));
}

/* What the owner of a block refuses: of small data, which goes along, and of large. */
static void test_refused(MPI_Aint bytes)
{
    MPIX_Blk mine, theirs, out, forged;
    MPIX_Signal signal, told;
    int kind = mtest_size == 1 ? MPIXQ_ERR_NONE : MPIXQ_ERR_STATE, rc, flag;

    MTEST_OK(MPIX_Signal_init(window, 1, &signal));
    MTEST_OK(MPIX_Signal_init(window, 1, &told));
    MTEST_OK(MPIX_Blk_init(window, 0, bytes, told, &out));
    MTEST_OK(MPIX_Blk_init(window, BYTES / 2, bytes, signal, &mine));
    theirs = of_next(&mine);
    memset(memory, 1, BYTES / 2);
    memset(memory + BYTES / 2, 2, BYTES / 2);
    MTEST_OK(MPIX_Signal_free(&signal));
    /* Its place is taken by another signal. */
    MTEST_OK(MPIX_Signal_init(window, 1, &signal));
    MPI_Barrier(MPI_COMM_WORLD);
    if (kind == MPIXQ_ERR_NONE) {
        MTEST_KIND_TEXT(MPIX_Put(&out, &theirs), MPIXQ_ERR_STATE, "signal of the block was freed");
        MTEST_KIND_TEXT(MPIX_Get(&out, &theirs), MPIXQ_ERR_STATE, "signal of the block was freed");
    } else {
        MTEST_OK(MPIX_Put(&out, &theirs));
        MTEST_KIND_TEXT(MPIX_Window_flush(window), MPIXQ_ERR_STATE, "refused by rank");
        MTEST_OK(MPIX_Window_flush(window));
        /* Small data has left its block; large never will. */
        rc = MPIX_Signal_wait(told);
        MTEST_EQ(mtest_kind_of(rc), bytes <= 4096 ? MPIXQ_ERR_NONE : MPIXQ_ERR_STATE);
        mtest_forgive(rc != MPI_SUCCESS);
        MTEST_OK(MPIX_Signal_free(&told));
        MTEST_OK(MPIX_Signal_init(window, 1, &told));
        MTEST_OK(MPIX_Blk_init(window, 0, bytes, told, &out));
        MTEST_OK(MPIX_Get(&out, &theirs));
        MTEST_KIND_TEXT(MPIX_Signal_wait(told), MPIXQ_ERR_STATE, "refused by rank");
        MTEST_KIND(MPIX_Signal_reset(told), MPIXQ_ERR_STATE);
        MTEST_KIND(MPIX_Window_flush(window), MPIXQ_ERR_STATE);
    }
    /* Beyond the end of the window. */
    MTEST_OK(MPIX_Blk_set_signal(&theirs, NULL));
    MTEST_OK(MPIX_Blk_init(window, 0, bytes, MPIX_SIGNAL_NULL, &out));
    forged = theirs;
    rma_forge(&forged, 3, BYTES - (uint64_t)bytes + 1);
    rc = MPIX_Put(&out, &forged);
    rc = rc != MPI_SUCCESS ? rc : MPIX_Window_flush(window);
    MTEST_EQ(mtest_kind_of(rc), MPIXQ_ERR_ARG);
    rma_forge(&forged, 3, UINT64_MAX - 1);
    rc = MPIX_Get(&out, &forged);
    rc = rc != MPI_SUCCESS ? rc : MPIX_Window_flush(window);
    MTEST_EQ(mtest_kind_of(rc), MPIXQ_ERR_ARG);
    mtest_forgive(2);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < BYTES; i++) {
        if (memory[i] != (i < BYTES / 2 ? 1 : 2)) {
            mtest_fail(__FILE__, __LINE__, "byte %d was written", i);
            break;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* The other signal has heard of nothing, and all goes on. */
    MTEST_OK(MPIX_Signal_test(signal, &flag));
    MTEST_EQ(flag, 0);
    MTEST_OK(MPIX_Put(&out, &theirs));
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_EQ(memory[BYTES / 2], bytes > 0 ? 1 : 2);
    MTEST_OK(MPIX_Signal_free(&signal));
    MTEST_OK(MPIX_Signal_free(&told));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Events that come before the reset for them, and more than were expected. */
static void test_early(void)
{
    MPIX_Signal signal;
    MPIX_Blk out, mine, theirs;
    int flag = 0;
    char text[48];

    MTEST_OK(MPIX_Signal_init(window, 2, &signal));
    MTEST_OK(MPIX_Blk_init(window, 0, 4, MPIX_SIGNAL_NULL, &out));
    MTEST_OK(MPIX_Blk_init(window, 512, 4, signal, &mine));
    theirs = of_next(&mine);
    MTEST_OK(MPIX_Put(&out, &theirs));
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Signal_test(signal, &flag));
    MTEST_EQ(flag, 0);
    MTEST_KIND_TEXT(MPIX_Signal_reset(signal), MPIXQ_ERR_STATE, "1 of 2 events outstanding");
    MPI_Barrier(MPI_COMM_WORLD);
    MTEST_OK(MPIX_Put(&out, &theirs));
    MTEST_OK(MPIX_Signal_wait_reset(signal));
    MTEST_OK(MPIX_Signal_test(signal, &flag));
    MTEST_EQ(flag, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 5; i++) {
        MTEST_OK(MPIX_Put(&out, &theirs));
    }
    MTEST_OK(MPIX_Window_flush(window));
    MPI_Barrier(MPI_COMM_WORLD);
    /* NICs do not say whose event it was. */
    if (by_nics) {
        snprintf(text, sizeof text, "3 events too many: ");
    } else {
        snprintf(text, sizeof text, "offset 512, by rank %d",
                 (mtest_rank + mtest_size - 1) % mtest_size);
    }
    MTEST_KIND_TEXT(MPIX_Signal_wait(signal), MPIXQ_ERR_STATE, text);
    MTEST_KIND_TEXT(MPIX_Signal_wait_reset(signal), MPIXQ_ERR_STATE, text);
    MTEST_KIND_TEXT(MPIX_Signal_reset(signal), MPIXQ_ERR_STATE, "3 events too many");
    MTEST_KIND_TEXT(MPIX_Signal_test(signal, &flag), MPIXQ_ERR_STATE, "window");
    MTEST_OK(MPIX_Signal_free(&signal));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A window is freed while much is under way: all of it arrives first, and in time to be seen. */
static void test_free(void)
{
    enum { PUTS = 40, LARGE = 100000 };
    char *block = malloc((size_t)PUTS * LARGE);
    MPIX_Window w;
    MPIX_Blk out, mine, theirs;

    memset(block, 0, (size_t)PUTS * LARGE);
    memset(block, mtest_rank + 1, LARGE);
    MTEST_OK(MPIX_Window_create(block, (MPI_Aint)PUTS * LARGE, MPI_COMM_WORLD, MPI_INFO_NULL, &w));
    MTEST_OK(MPIX_Blk_init(w, 0, LARGE, MPIX_SIGNAL_NULL, &out));
    for (int i = 1; i < PUTS; i++) {
        MTEST_OK(MPIX_Blk_init(w, (MPI_Aint)i * LARGE, LARGE, MPIX_SIGNAL_NULL, &mine));
        theirs = of_next(&mine);
        MTEST_OK(MPIX_Put(&out, &theirs));
    }
    MTEST_OK(MPIX_Window_free(&w));
    for (int i = 1; i < PUTS; i++) {
        int before = (mtest_rank + mtest_size - 1) % mtest_size;

        MTEST_EQ(block[(size_t)i * LARGE], before + 1);
        MTEST_EQ(block[(size_t)(i + 1) * LARGE - 1], before + 1);
    }
    free(block);
}

/* Of how many ranks, which are all on this node, can this one read the memory? */
static int count_readable(void)
{
    static char byte = 7;
    struct {
        long pid;
        void *at;
    } mine = {getpid(), &byte}, all[64];
    int n = 0;

    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < mtest_size; i++) {
        char read = 0;
        const struct iovec here = {&read, 1}, there = {all[i].at, 1};

        n += i != mtest_rank && process_vm_readv((pid_t)all[i].pid, &here, 1, &there, 1, 0) == 1 &&
             read == 7;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return n;
}

/* With MPIXQ_INFO a window says how its peers are reached, and why so. */
static void test_print(void)
{
    static char text[4096];
    char readable[96];
    MPIX_Window w;

    mtest_capture();
    MTEST_OK(MPIX_Window_create(NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &w));
    mtest_captured(text, sizeof text);
    MTEST_CHECK(strstr(text, "level 4 to itself (memory of the process)") != NULL);
    MTEST_EQ(strstr(text, "peers (fallback: signals travel in messages of MPI") != NULL,
             mtest_size > 1);
    (void)snprintf(readable, sizeof readable, "more than 4096 bytes are read from memory of %d of",
                   count_readable());
    MTEST_EQ(strstr(text, readable) != NULL, mtest_size > 1 && !by_nics);
    MTEST_EQ(strstr(text, "rights to their NICs") != NULL, mtest_size > 1 && by_nics);
    MTEST_EQ(strstr(text, "no NICs: ") != NULL, mtest_size > 1 && !by_nics);
    MTEST_OK(MPIX_Window_free(&w));
}

/* Argument "info": MPIXQ_INFO is set. "left": the window is left to MPI_Finalize. And "nics": there
 * is a fabric. */
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    by_nics = argc > 2 || strcmp(how, "nics") == 0;
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MTEST_OK(MPIX_Window_allocate(BYTES, MPI_COMM_WORLD, MPI_INFO_NULL, &memory, &window));
    if (strcmp(how, "info") == 0) {
        test_print();
    }
    test_windows();
    test_signals();
    test_blocks();
    test_refused(16);
    test_refused(0);
    test_refused(BYTES / 4);
    test_early();
    test_free();
    if (strcmp(how, "left") != 0) {
        MTEST_OK(MPIX_Window_free(&window));
    }
    return mtest_end();
}
