/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "mpi_turns.h"

#include <pthread.h>

#include "backoff.h"
#include "thread.h"

atomic_bool mpixq_mpi_closed;

/* Threads that have entered before it was closed. */
static atomic_int inside;
/* Then: held by whoever may call MPI. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static MPIXQ_THREAD_LOCAL bool has_turn; /* the calling thread */
static MPIXQ_THREAD_LOCAL bool ends_mpi; /* likewise: it has closed MPI for the others */

/* Who enters counts itself before it looks, and who closes the other way round: one of the two sees
 * the other. */
void mpixq_mpi_enter(void)
{
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&mpixq_mpi_closed)) {
        atomic_fetch_sub(&inside, 1);
        pthread_mutex_lock(&turn);
        has_turn = true;
    }
}

void mpixq_mpi_leave(void)
{
    if (has_turn) {
        has_turn = false;
        pthread_mutex_unlock(&turn);
    } else {
        atomic_fetch_sub(&inside, 1);
    }
}

void mpixq_mpi_pause(struct mpixq_backoff *backoff)
{
    if (!atomic_load_explicit(&mpixq_mpi_closed, memory_order_relaxed)) {
        mpixq_backoff_pause(backoff);
        return;
    }
    mpixq_mpi_leave();
    mpixq_backoff_pause(backoff);
    mpixq_mpi_enter();
}

void mpixq_mpi_close(void)
{
    struct mpixq_backoff backoff;

    mpixq_backoff_begin(&backoff);
    atomic_store(&mpixq_mpi_closed, true);
    while (atomic_load(&inside) > 0) {
        mpixq_backoff_pause(&backoff);
    }
    ends_mpi = true;
    mpixq_mpi_resume();
}

void mpixq_mpi_rest(void)
{
    if (ends_mpi && has_turn) {
        mpixq_mpi_leave();
    }
}

void mpixq_mpi_resume(void)
{
    if (ends_mpi && !has_turn) {
        pthread_mutex_lock(&turn);
        has_turn = true;
    }
}
