/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "opener.h"

#include <pthread.h>
#include <stdbool.h>

#include "backoff.h"
#include "log.h"
#include "match.h"
#include "mpi_turns.h"
#include "progress.h"
#include "thread.h"

/* A thread of the program that is in a call has so long to come first. */
enum { GRACE_US = 500 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
/* Under the lock; failed: the thread could not be made, and is not tried again. */
static bool running, failed, called, stop;

static bool await_call(void)
{
    bool go_on;

    pthread_mutex_lock(&lock);
    while (!called && !stop) {
        (void)pthread_cond_wait(&woken, &lock);
    }
    called = false;
    go_on = !stop;
    pthread_mutex_unlock(&lock);
    return go_on;
}

static void *opener_main(void *arg)
{
    (void)arg;
    while (await_call()) {
        mpixq_sleep_us(GRACE_US);
        mpixq_mpi_enter();
        if (mpixq_match_open()) {
            mpixq_progress_wake(); /* sends what that has led to */
        }
        mpixq_mpi_leave();
    }
    return NULL;
}

void mpixq_opener_wake(void)
{
    if (!mpixq_progress_has_threads()) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (!running && !failed && !stop) {
        running = mpixq_thread_create(&thread, opener_main, NULL, "mpixq-opener");
        failed = !running;
        if (failed) {
            mpixq_warn("no thread could be made that opens memory of peers: pairs of the channel "
                       "ipc are matched only inside calls");
        }
    }
    called = true;
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&lock);
}

void mpixq_opener_stop(void)
{
    bool join;

    pthread_mutex_lock(&lock);
    join = running;
    stop = true;
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&lock);
    if (join) {
        mpixq_mpi_rest();
        (void)pthread_join(thread, NULL);
        mpixq_mpi_resume();
    }
}
