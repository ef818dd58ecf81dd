/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The progress thread. It drives MPI and the matching while nobody else does: an Imatch is
 * pending, or starts are under way whose stream runs a user's function or has nothing to do. It
 * knows what to drive as the work that it was given. Made at first use, only with
 * MPI_THREAD_MULTIPLE. With nothing under way it sleeps until it is woken; it never calls a GPU
 * runtime.
 */
#ifndef MPIXQ_PROGRESS_H
#define MPIXQ_PROGRESS_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "lock.h"

/* What the thread calls, with no lock. */
struct mpixq_progress_work {
    void (*drive)(void);      /* in each round */
    bool (*is_pending)(void); /* is something under way that is not counted as outstanding? */
    void (*kick)(void);       /* while something is under way, and when it has slept for so long: */
    long (*sleep_ms)(void);   /* with nothing to do; -1: until it is woken */
};

struct mpixq_progress {
    atomic_long outstanding; /* starts executed and not completed that need MPI to be driven */
    atomic_int pollers;      /* threads that are driving MPI in a wait */
    atomic_bool asleep;      /* the thread sleeps until it is woken; only progress.c writes it */
    atomic_bool hurries; /* something was found that is not counted: the next rounds come soon */
    /* The rest is for progress.c alone, and not beside what every start reads. */
    alignas(64) long last_outstanding, rounds; /* of the thread, in which nothing has changed */
    struct mpixq_lock lock;
    pthread_cond_t woken; /* made in setup */
    pthread_t id;
    bool running; /* under lock */
    bool failed;  /* under lock: it could not be made; not tried again */
    atomic_bool stop;
    /* Constant after setup. */
    bool may_exist; /* MPI may be called by several threads */
    const struct mpixq_progress_work *work;
};
extern struct mpixq_progress mpixq_progress
    __attribute__((visibility("hidden"))); /* read at once */

/* The level that MPI provides, and the work, which is kept; before any other function here. */
void mpixq_progress_setup(int thread_level, const struct mpixq_progress_work *work);
bool mpixq_progress_has_threads(void);
/* Something is under way, and was counted. */
void mpixq_progress_wake_slow(void);
static inline void mpixq_progress_wake(void)
{
    if (atomic_load(&mpixq_progress.asleep)) {
        mpixq_progress_wake_slow();
    }
}
/* In MPI_Finalize. */
void mpixq_progress_stop(void);

#endif
