/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "opener.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#include "util/backoff.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/mpi_turns.h"
#include "util/progress.h"
#include "util/thread.h"

enum {
    GRACE_US = 500, /* that a thread of the program which is in a call has to come first */
    MOST_WORKS = 2  /* functions that it can be called for */
};

typedef bool work(void);

/* All of it under the lock. */
static struct {
    struct mpixq_lock lock;
    pthread_cond_t woken;
    pthread_t thread;
    bool running, failed; /* failed: it could not be made, and is not tried again */
    bool stop;
    work *called_for[MOST_WORKS]; /* NULL: nothing more */
} opener = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_OPENER), .woken = PTHREAD_COND_INITIALIZER};

/* Under the lock. The first that it was called for, and no longer is, or NULL. */
static work *take_work(void)
{
    work *first = opener.called_for[0];

    for (int i = 0; i < MOST_WORKS; i++) {
        opener.called_for[i] = i + 1 < MOST_WORKS ? opener.called_for[i + 1] : NULL;
    }
    return first;
}

/* NULL: stop. */
static work *await_work(void)
{
    work *next = NULL;

    mpixq_lock_acquire(&opener.lock);
    while (!opener.stop && (next = take_work()) == NULL) {
        mpixq_cond_wait(&opener.woken, &opener.lock);
    }
    mpixq_lock_release(&opener.lock);
    return next;
}

static void *opener_main(void *arg)
{
    work *next;

    (void)arg;
    while ((next = await_work()) != NULL) {
        mpixq_sleep_us(GRACE_US);
        mpixq_mpi_enter();
        if (next()) {
            mpixq_progress_wake(); /* sends what that has led to */
        }
        mpixq_mpi_leave();
    }
    return NULL;
}

/* Under the lock. */
static void note_work(work *wanted)
{
    int i = 0;

    while (opener.called_for[i] != NULL && opener.called_for[i] != wanted) {
        i++;
        assert(i < MOST_WORKS);
    }
    opener.called_for[i] = wanted;
}

void mpixq_opener_wake(bool (*wanted)(void))
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
                       "ipc are matched, and requests freed while active let go of, only inside "
                       "calls");
        }
    }
    note_work(wanted);
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
