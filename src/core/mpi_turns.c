/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "mpi_turns.h"

#include "backoff.h"
#include "lock.h"
#include "thread.h"

atomic_bool mpixq_mpi_closed;

/* Threads that have entered before it was closed. */
static atomic_int inside;
/* Then: held by whoever may call MPI. */
static struct mpixq_lock turn = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_MPI);
/* The thread that ends MPI has it whenever it is not resting, whatever else it takes. It rests
 * where it waits, so nobody waits for it who has something that it wants, and its turn is not
 * counted among the locks that it holds: taken again, it is checked as all. */

static MPIXQ_THREAD_LOCAL bool has_turn; /* the calling thread */
static MPIXQ_THREAD_LOCAL bool ends_mpi; /* likewise: it has closed MPI for the others */

/* Who enters counts itself before it looks, and who closes the other way round: one of the two sees
 * the other. */
void mpixq_mpi_enter(void)
{
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&mpixq_mpi_closed)) {
        atomic_fetch_sub(&inside, 1);
        mpixq_lock_acquire(&turn);
        has_turn = true;
    }
}

void mpixq_mpi_leave(void)
{
    if (has_turn) {
        has_turn = false;
        if (MPIXQ_LOCK_CHECKS && ends_mpi) {
            mpixq_lock_note(&turn, turn.rank);
        }
        mpixq_lock_release(&turn);
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
        mpixq_lock_acquire(&turn);
        has_turn = true;
        if (MPIXQ_LOCK_CHECKS) {
            mpixq_lock_forget(&turn, turn.rank);
        }
    }
}
