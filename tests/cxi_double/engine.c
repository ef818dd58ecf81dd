/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * engine.c - the one thread per process that is the NIC, and its agenda
 *
 * It sleeps on the process's bell, which other processes, doorbell stores and calls raise.
 */
#include "double.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct nic nic = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct event {
    uint64_t due_ns, number;
    nic_event_fn *fn;
    void *arg;
};

/* A heap, the next event first. Under nic.lock. */
static struct event *events;
static size_t event_count, event_room;
static uint64_t event_number;
static uint64_t random_state;
static pthread_t engine_thread;
static bool engine_stop;

enum { IDLE_NS = 100000000, STALLED_NS = 200000 };

void nic_die(const char *format, ...)
{
    va_list args;

    fputs("cxi double: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs("\n", stderr);
    abort();
}

uint64_t nic_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A delay of one step; xorshift is enough for that. */
uint64_t nic_random_delay(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % ((uint64_t)nic_switches.delay_us * 1000 + 1);
}

static bool is_before(const struct event *a, const struct event *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

void nic_at(uint64_t due_ns, nic_event_fn *fn, void *arg)
{
    struct event event = {.due_ns = due_ns, .number = event_number++, .fn = fn, .arg = arg};
    size_t place = event_count;

    if (event_count == event_room) {
        event_room = event_room == 0 ? 256 : 2 * event_room;
        events = realloc(events, event_room * sizeof(*events));
        if (events == NULL) {
            nic_die("no memory for events");
        }
    }
    event_count++;
    while (place > 0 && is_before(&event, &events[(place - 1) / 2])) {
        events[place] = events[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    events[place] = event;
}

static struct event event_take(void)
{
    struct event first = events[0];
    struct event last = events[--event_count];
    size_t place = 0;

    for (;;) {
        size_t child = 2 * place + 1;

        if (child + 1 < event_count && is_before(&events[child + 1], &events[child])) {
            child++;
        }
        if (child >= event_count || is_before(&last, &events[child])) {
            break;
        }
        events[place] = events[child];
        place = child;
    }
    events[place] = last;
    return first;
}

static bool events_run(void)
{
    bool any = false;
    uint64_t now = nic_now();

    while (event_count > 0 && events[0].due_ns <= now) {
        struct event event = event_take();

        event.fn(event.arg);
        any = true;
    }
    return any;
}

static bool inbox_run(struct nic_cell *cell)
{
    bool any = false;

    for (int i = 0; i < NIC_CELLS && nic_inbox_take(cell); i++) {
        nic_target_cell(cell);
        any = true;
    }
    return any;
}

/* One turn; returns how long nothing will be due. */
static uint64_t engine_turn(struct nic_cell *cell)
{
    uint64_t sleep_ns = IDLE_NS, now;
    bool any = nic_bells_run();

    any |= inbox_run(cell);
    for (struct nic_domain *domain = nic.domains; domain != NULL; domain = domain->next) {
        any |= nic_commands_run(domain);
        if (nic_commands_stalled(domain)) {
            /* The entry that it waits for may be freed by another process. */
            sleep_ns = STALLED_NS;
        }
    }
    any |= events_run();
    if (nic_out_run()) {
        sleep_ns = STALLED_NS;
    }
    if (any) {
        pthread_cond_broadcast(&nic.changed);
        return 0;
    }
    now = nic_now();
    if (event_count > 0 && events[0].due_ns < now + sleep_ns) {
        sleep_ns = events[0].due_ns > now ? events[0].due_ns - now : 0;
    }
    return sleep_ns;
}

/* A program that polls takes the lock again as soon as it has given it up; the engine comes
 * first. */
static _Atomic bool engine_waits;

static void engine_lock(void)
{
    atomic_store(&engine_waits, true);
    pthread_mutex_lock(&nic.lock);
    atomic_store(&engine_waits, false);
}

static _Atomic uint64_t lock_calls;

uint64_t nic_lock_calls(void)
{
    return atomic_load(&lock_calls);
}

void nic_lock(void)
{
    atomic_fetch_add(&lock_calls, 1);
    while (atomic_load(&engine_waits)) {
        sched_yield();
    }
    pthread_mutex_lock(&nic.lock);
}

/* A poll of the caller found nothing, or something. Who polls in vain leaves the processor to the
 * engine, which a NIC would not need. Without nic.lock. */
void nic_polled(bool found)
{
    static _Thread_local unsigned misses;
    struct timespec pause = {.tv_nsec = 50000};

    misses = found ? 0 : misses + 1;
    if (misses >= 64) {
        nanosleep(&pause, NULL);
    } else if (misses >= 8) {
        sched_yield();
    }
}

static void *engine_main(void *arg)
{
    struct nic_cell *cell = arg;
    uint64_t checked_ns = 0;

    engine_lock();
    while (!engine_stop) {
        uint32_t bell = nic_bell_read();
        uint64_t sleep_ns = engine_turn(cell);
        uint64_t now = nic_now();

        if (now - checked_ns > IDLE_NS) {
            nic_ops_check_peers();
            checked_ns = now;
        }
        pthread_mutex_unlock(&nic.lock);
        if (sleep_ns > 0) {
            nic_bell_wait(bell, sleep_ns);
        }
        engine_lock();
    }
    pthread_mutex_unlock(&nic.lock);
    free(cell);
    return NULL;
}

int nic_engine_start(void)
{
    struct nic_cell *cell = malloc(sizeof(*cell));
    sigset_t all, old;
    int rc;

    if (cell == NULL) {
        return -FI_ENOMEM;
    }
    engine_stop = false;
    random_state =
        0x9e3779b97f4a7c15ULL * ((uint64_t)nic_switches.seed * NIC_SLOTS + nic_my_slot + 1);
    /* The application's signals are its threads' business. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    rc = pthread_create(&engine_thread, NULL, engine_main, cell);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        free(cell);
        return -rc;
    }
    pthread_setname_np(engine_thread, "cxi_double");
    return 0;
}

/* Called with nic.lock; gives it up meanwhile. */
void nic_engine_halt(void)
{
    engine_stop = true;
    nic_bell_ring(nic_my_slot);
    pthread_mutex_unlock(&nic.lock);
    pthread_join(engine_thread, NULL);
    nic_lock();
}

void nic_engine_stop(void)
{
    nic_engine_halt();
    /* Events hold pieces of work; run all of them, whatever their time, so that these are freed. */
    while (event_count > 0) {
        struct event event = event_take();

        event.fn(event.arg);
    }
    free(events);
    events = NULL;
    event_room = 0;
}

void nic_wake(void)
{
    nic_bell_ring(nic_my_slot);
}
