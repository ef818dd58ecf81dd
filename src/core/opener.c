/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "opener.h"

#include <pthread.h>
#include <stddef.h>

#include "backoff.h"
#include "lock.h"
#include "log.h"
#include "mpi_turns.h"
#include "progress.h"
#include "thread.h"

/* A thread of the program that is in a call has so long to come first. */
enum { GRACE_US = 500 };

typedef bool opening(void);

static struct mpixq_lock lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_OPENER);
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
/* Under the lock; failed: the thread could not be made, and is not tried again. */
static bool running, failed, called, stop;
static opening *called_for;

/* NULL: stop. */
static opening *await_call(void)
{
    opening *open;

    mpixq_lock_acquire(&lock);
    while (!called && !stop) {
        mpixq_cond_wait(&woken, &lock);
    }
    called = false;
    open = stop ? NULL : called_for;
    mpixq_lock_release(&lock);
    return open;
}

static void *opener_main(void *arg)
{
    opening *open;

    (void)arg;
    while ((open = await_call()) != NULL) {
        mpixq_sleep_us(GRACE_US);
        mpixq_mpi_enter();
        if (open()) {
            mpixq_progress_wake(); /* sends what that has led to */
        }
        mpixq_mpi_leave();
    }
    return NULL;
}

void mpixq_opener_wake(bool (*open)(void))
{
    if (!mpixq_progress_has_threads()) {
        return;
    }
    mpixq_lock_acquire(&lock);
    if (!running && !failed && !stop) {
        running = mpixq_thread_create(&thread, opener_main, NULL, "mpixq-opener");
        failed = !running;
        if (failed) {
            mpixq_warn("no thread could be made that opens memory of peers: pairs of the channel "
                       "ipc are matched only inside calls");
        }
    }
    called_for = open;
    called = true;
    pthread_cond_signal(&woken);
    mpixq_lock_release(&lock);
}

void mpixq_opener_stop(void)
{
    bool join;

    mpixq_lock_acquire(&lock);
    join = running;
    stop = true;
    pthread_cond_signal(&woken);
    mpixq_lock_release(&lock);
    if (join) {
        mpixq_mpi_rest();
        (void)pthread_join(thread, NULL);
        mpixq_mpi_resume();
    }
}
