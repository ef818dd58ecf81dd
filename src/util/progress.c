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

atomic_long mpixq_outstanding;
atomic_int mpixq_pollers;
atomic_bool mpixq_progress_asleep = true;

static struct {
    struct mpixq_lock lock;
    pthread_cond_t woken; /* made in setup */
    pthread_t id;
    bool running; /* under lock */
    bool failed;  /* under lock: it could not be made; not tried again */
    atomic_bool stop;
    /* Constant after setup. */
    bool may_exist; /* MPI may be called by several threads */
    const struct mpixq_progress_work *work;
} thread = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_PROGRESS)};

void mpixq_progress_setup(int thread_level, const struct mpixq_progress_work *what)
{
    thread.work = what;
    mpixq_cond_init(&thread.woken);
    thread.may_exist = thread_level >= MPI_THREAD_MULTIPLE;
}

bool mpixq_progress_has_threads(void)
{
    return thread.may_exist;
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
    bool started = atomic_load(&mpixq_outstanding) > 0;

    thread.work->drive();
    if (thread.work->is_pending()) {
        thread.work->kick();
        return drive_us();
    }
    if (!started) {
        return 0;
    }
    /* Also when others poll: a peer's report of a failure comes by the control messages. */
    thread.work->kick();
    return atomic_load(&mpixq_pollers) > 0 ? TICK_US : drive_us();
}

/* What is under way for long may be so for ever: then 1 ms, which is about 2 % of a core. */
static long slow_down(long us)
{
    static long last_outstanding, rounds; /* of the progress thread */
    long outstanding = atomic_load(&mpixq_outstanding);

    rounds = us == 0 || outstanding != last_outstanding ? 0 : rounds + 1;
    last_outstanding = outstanding;
    us += us > 0 ? rounds * SLOWER_US : 0;
    return us < TICK_US ? us : TICK_US;
}

/* Under the lock: sleep until woken, or at most for ms if that is not negative. False: all of
 * it. */
static bool doze(long ms)
{
    if (ms < 0) {
        mpixq_cond_wait(&thread.woken, &thread.lock);
        return true;
    }
    return mpixq_cond_wait_ns(&thread.woken, &thread.lock, (uint64_t)ms * 1000000);
}

/* Whoever puts something under way counts it first and looks at mpixq_progress_asleep then; here
 * the order is the other way round, so one of the two sees the other. */
static void fall_asleep(void)
{
    mpixq_affinity_look_again();
    mpixq_lock_acquire(&thread.lock);
    atomic_store(&mpixq_progress_asleep, true);
    if (atomic_load(&mpixq_outstanding) > 0 || thread.work->is_pending()) {
        atomic_store(&mpixq_progress_asleep, false);
    }
    mpixq_lock_release(&thread.lock);
    mpixq_mpi_enter();
    thread.work->drive(); /* what was put there before anybody could see that this one sleeps */
    mpixq_mpi_leave();
    mpixq_lock_acquire(&thread.lock);
    while (atomic_load(&mpixq_progress_asleep) && !atomic_load(&thread.stop)) {
        if (!doze(thread.work->sleep_ms())) {
            mpixq_lock_release(&thread.lock);
            mpixq_mpi_enter();
            thread.work->kick(); /* which lets the watchdog look */
            mpixq_mpi_leave();
            mpixq_lock_acquire(&thread.lock);
            atomic_store(&mpixq_progress_asleep,
                         atomic_load(&mpixq_progress_asleep) && !thread.work->is_pending());
        }
    }
    mpixq_lock_release(&thread.lock);
}

static void *progress_main(void *arg)
{
    static const char range[] = "progress"; /* while it is awake */
    int idle = 0;

    (void)arg;
    mpixq_range_push(range, 0);
    while (!atomic_load(&thread.stop)) {
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
    if (!thread.may_exist) {
        return;
    }
    mpixq_lock_acquire(&thread.lock);
    if (!thread.running && !thread.failed) {
        thread.running = mpixq_thread_create(&thread.id, progress_main, NULL, "mpixq-progress");
        thread.failed = !thread.running;
        if (thread.failed) {
            mpixq_warn(
                "no progress thread could be made: Imatch and started requests progress only "
                "inside calls");
        }
    }
    atomic_store(&mpixq_progress_asleep, false);
    pthread_cond_signal(&thread.woken);
    mpixq_lock_release(&thread.lock);
}

void mpixq_progress_stop(void)
{
    bool join;

    mpixq_lock_acquire(&thread.lock);
    join = thread.running;
    atomic_store(&thread.stop, true);
    if (join) {
        pthread_cond_signal(&thread.woken);
    }
    mpixq_lock_release(&thread.lock);
    if (join) {
        mpixq_mpi_rest();
        (void)pthread_join(thread.id, NULL);
        mpixq_mpi_resume();
    }
}
