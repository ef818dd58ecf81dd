/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "opener.h"

#include <pthread.h>
#include <stddef.h>

#include "util/backoff.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/mpi_turns.h"
#include "util/progress.h"
#include "util/thread.h"

/* A thread of the program that is in a call has so long to come first. */
enum { GRACE_US = 500 };

typedef bool opening(void);

/* All of it under the lock. */
static struct {
    struct mpixq_lock lock;
    pthread_cond_t woken;
    pthread_t thread;
    bool running, failed; /* failed: it could not be made, and is not tried again */
    bool called, stop;
    opening *called_for;
} opener = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_OPENER), .woken = PTHREAD_COND_INITIALIZER};

/* NULL: stop. */
static opening *await_call(void)
{
    opening *open;

    mpixq_lock_acquire(&opener.lock);
    while (!opener.called && !opener.stop) {
        mpixq_cond_wait(&opener.woken, &opener.lock);
    }
    opener.called = false;
    open = opener.stop ? NULL : opener.called_for;
    mpixq_lock_release(&opener.lock);
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
    mpixq_lock_acquire(&opener.lock);
    if (!opener.running && !opener.failed && !opener.stop) {
        opener.running = mpixq_thread_create(&opener.thread, opener_main, NULL, "mpixq-opener");
        opener.failed = !opener.running;
        if (opener.failed) {
            mpixq_warn("no thread could be made that opens memory of peers: pairs of the channel "
                       "ipc are matched only inside calls");
        }
    }
    opener.called_for = open;
    opener.called = true;
    pthread_cond_signal(&opener.woken);
    mpixq_lock_release(&opener.lock);
}

void mpixq_opener_stop(void)
{
    bool join;

    mpixq_lock_acquire(&opener.lock);
    join = opener.running;
    opener.stop = true;
    pthread_cond_signal(&opener.woken);
    mpixq_lock_release(&opener.lock);
    if (join) {
        mpixq_mpi_rest();
        (void)pthread_join(opener.thread, NULL);
        mpixq_mpi_resume();
    }
}
