/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "mpi_turns.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "backoff.h"
#include "lock.h"
#include "thread.h"

/* The thread that ends MPI has the turn unless it rests. Where it is in no function of ours, nobody
 * can tell whether it is in MPI. It is not while it waits, outside of MPI, for a thread of the
 * program that is in a function of ours: so such a guest lets our threads in, too, but only once
 * the one that ends MPI has been in no wait of ours for a while. */
enum { GUEST_NS = 100000000, LOOK_NS = 10000000 };

static struct {
    atomic_bool is_closed; /* MPI is being ended */
    atomic_int inside;     /* threads that have entered before */
    /* Then. Under the lock. */
    struct mpixq_lock lock;
    pthread_cond_t changed;
    bool is_taken;     /* a thread of ours is in MPI */
    bool rests;        /* the thread that ends MPI does */
    int guests;        /* other threads of the program that do */
    uint64_t ender_ns; /* when the one that ends MPI was last seen */
} turn = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_MPI)};

/* The calling thread. */
static MPIXQ_THREAD_LOCAL struct {
    enum { PROGRAMS, ENDS_MPI, OURS } role;
    bool is_noted; /* one of ours has the turn, another one rests */
} own;

static bool may_take(void)
{
    return !turn.is_taken &&
           (turn.rests || (turn.guests > 0 && mpixq_now_ns() - turn.ender_ns >= GUEST_NS));
}

static void take(void)
{
    mpixq_lock_acquire(&turn.lock);
    while (!may_take()) {
        (void)mpixq_cond_wait_ns(&turn.changed, &turn.lock, LOOK_NS);
    }
    turn.is_taken = true;
    mpixq_lock_release(&turn.lock);
    own.is_noted = true;
}

/* Who enters counts itself before it looks, and who closes the other way round: one of the two sees
 * the other. */
void mpixq_mpi_enter(void)
{
    own.role = OURS;
    atomic_fetch_add(&turn.inside, 1);
    if (atomic_load(&turn.is_closed)) {
        atomic_fetch_sub(&turn.inside, 1);
        take();
    }
}

void mpixq_mpi_leave(void)
{
    if (!own.is_noted) {
        atomic_fetch_sub(&turn.inside, 1);
        return;
    }
    own.is_noted = false;
    mpixq_lock_acquire(&turn.lock);
    turn.is_taken = false;
    (void)pthread_cond_broadcast(&turn.changed);
    mpixq_lock_release(&turn.lock);
}

void mpixq_mpi_pause(struct mpixq_backoff *backoff)
{
    if (!atomic_load_explicit(&turn.is_closed, memory_order_relaxed)) {
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

    mpixq_cond_init(&turn.changed);
    turn.ender_ns = mpixq_now_ns();
    own.role = ENDS_MPI;
    mpixq_backoff_begin(&backoff);
    atomic_store(&turn.is_closed, true);
    while (atomic_load(&turn.inside) > 0) {
        mpixq_backoff_pause(&backoff);
    }
}

/* What the calling thread does is to be known to who waits for a turn. */
static void note(bool rests)
{
    own.is_noted = rests;
    if (own.role == ENDS_MPI) {
        turn.rests = rests;
        turn.ender_ns = mpixq_now_ns();
    } else {
        turn.guests += rests ? 1 : -1;
    }
    (void)pthread_cond_broadcast(&turn.changed);
}

void mpixq_mpi_rest(void)
{
    if (own.role != OURS && !own.is_noted && atomic_load(&turn.is_closed)) {
        mpixq_lock_acquire(&turn.lock);
        note(true);
        mpixq_lock_release(&turn.lock);
    }
}

void mpixq_mpi_resume(void)
{
    if (own.role == OURS || !own.is_noted) {
        return;
    }
    mpixq_lock_acquire(&turn.lock);
    note(false);
    while (turn.is_taken) {
        mpixq_cond_wait(&turn.changed, &turn.lock);
    }
    mpixq_lock_release(&turn.lock);
}
