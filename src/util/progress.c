/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "progress.h"

#include <mpi.h>
#include <pthread.h>

#include "affinity.h"
#include "backoff.h"
#include "lock.h"
#include "log.h"
#include "mpi_turns.h"
#include "ranges.h"
#include "thread.h"

enum {
    IDLE_TICKS = 10, /* ticks with nothing to do before the thread sleeps */
    TICK_US = 1000,
    DRIVE_US = 200, /* between two rounds while nobody else drives MPI, at first: drive_us */
    SLOWER_US = 2   /* more after each round in which nothing was started or completed */
};

struct mpixq_progress mpixq_progress = {.asleep = true,
                                        .lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_PROGRESS)};

void mpixq_progress_setup(int thread_level, const struct mpixq_progress_work *what)
{
    mpixq_progress.work = what;
    mpixq_cond_init(&mpixq_progress.woken);
    mpixq_progress.may_exist = thread_level >= MPI_THREAD_MULTIPLE;
}

bool mpixq_progress_has_threads(void)
{
    return mpixq_progress.may_exist;
}

/* Where ranks outnumber CPUs, the round of one rank takes the time of another. */
static long drive_us(void)
{
    long us = (long)DRIVE_US * mpixq_backoff_crowding();

    return us < TICK_US ? us : TICK_US;
}

/* One round. Returns how long to sleep afterwards, or 0 if there was nothing to do. */
static long round_us(void)
{
    bool started = atomic_load(&mpixq_progress.outstanding) > 0;

    mpixq_progress.work->drive();
    if (mpixq_progress.work->is_pending()) {
        mpixq_progress.work->kick();
        return drive_us();
    }
    if (!started) {
        return 0;
    }
    /* Also when others poll: a peer's report of a failure comes by the control messages. */
    mpixq_progress.work->kick();
    return atomic_load(&mpixq_progress.pollers) > 0 ? TICK_US : drive_us();
}

/* What is under way for long may be so for ever: then 1 ms, which is about 2 % of a core. */
static long slow_down(long us)
{
    long outstanding = atomic_load(&mpixq_progress.outstanding);

    if (us == 0 || outstanding != mpixq_progress.last_outstanding ||
        atomic_exchange_explicit(&mpixq_progress.hurries, false, memory_order_relaxed)) {
        mpixq_progress.rounds = 0;
    } else {
        us += ++mpixq_progress.rounds * SLOWER_US;
    }
    mpixq_progress.last_outstanding = outstanding;
    return us < TICK_US ? us : TICK_US;
}

/* Under the lock: sleep until woken, or at most for ms if that is not negative. False: all of
 * it. */
static bool doze(long ms)
{
    if (ms < 0) {
        mpixq_cond_wait(&mpixq_progress.woken, &mpixq_progress.lock);
        return true;
    }
    return mpixq_cond_wait_ns(&mpixq_progress.woken, &mpixq_progress.lock, (uint64_t)ms * 1000000);
}

/* Whoever puts something under way counts it first and looks at mpixq_progress.asleep then; here
 * the order is the other way round, so one of the two sees the other. */
static void fall_asleep(void)
{
    mpixq_affinity_look_again();
    mpixq_lock_acquire(&mpixq_progress.lock);
    atomic_store(&mpixq_progress.asleep, true);
    if (atomic_load(&mpixq_progress.outstanding) > 0 || mpixq_progress.work->is_pending()) {
        atomic_store(&mpixq_progress.asleep, false);
    }
    mpixq_lock_release(&mpixq_progress.lock);
    mpixq_mpi_enter();
    /* What was put there before anybody could see that this one sleeps. */
    mpixq_progress.work->drive();
    mpixq_mpi_leave();
    mpixq_lock_acquire(&mpixq_progress.lock);
    while (atomic_load(&mpixq_progress.asleep) && !atomic_load(&mpixq_progress.stop)) {
        if (!doze(mpixq_progress.work->sleep_ms())) {
            mpixq_lock_release(&mpixq_progress.lock);
            mpixq_mpi_enter();
            mpixq_progress.work->kick(); /* which lets the watchdog look */
            mpixq_mpi_leave();
            mpixq_lock_acquire(&mpixq_progress.lock);
            atomic_store(&mpixq_progress.asleep,
                         atomic_load(&mpixq_progress.asleep) && !mpixq_progress.work->is_pending());
        }
    }
    mpixq_lock_release(&mpixq_progress.lock);
}

static void *progress_main(void *arg)
{
    static const char range[] = "progress"; /* while it is awake */
    int idle = 0;

    (void)arg;
    mpixq_range_push(range, 0);
    while (!atomic_load(&mpixq_progress.stop)) {
        long us;

        mpixq_mpi_enter();
        us = slow_down(round_us());
        mpixq_mpi_leave();
        idle = us == 0 ? idle + 1 : 0;
        mpixq_affinity_look_again();
        if (idle > IDLE_TICKS) {
            idle = 0;
            mpixq_range_pop();
            fall_asleep();
            mpixq_range_push(range, 0);
        } else {
            mpixq_sleep_us(us > 0 ? us : TICK_US);
        }
    }
    mpixq_range_pop();
    return NULL;
}

void mpixq_progress_wake_slow(void)
{
    if (!mpixq_progress.may_exist) {
        return;
    }
    mpixq_lock_acquire(&mpixq_progress.lock);
    if (!mpixq_progress.running && !mpixq_progress.failed) {
        mpixq_progress.running =
            mpixq_thread_create(&mpixq_progress.id, progress_main, NULL, "mpixq-progress");
        mpixq_progress.failed = !mpixq_progress.running;
        if (mpixq_progress.failed) {
            mpixq_warn(
                "no progress thread could be made: Imatch and started requests progress only "
                "inside calls");
        }
    }
    atomic_store(&mpixq_progress.asleep, false);
    pthread_cond_signal(&mpixq_progress.woken);
    mpixq_lock_release(&mpixq_progress.lock);
}

void mpixq_progress_stop(void)
{
    bool join;

    mpixq_lock_acquire(&mpixq_progress.lock);
    join = mpixq_progress.running;
    atomic_store(&mpixq_progress.stop, true);
    if (join) {
        pthread_cond_signal(&mpixq_progress.woken);
    }
    mpixq_lock_release(&mpixq_progress.lock);
    if (join) {
        mpixq_mpi_rest();
        (void)pthread_join(mpixq_progress.id, NULL);
        mpixq_mpi_resume();
    }
}
