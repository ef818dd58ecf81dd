/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "watch.h"

#include <stdio.h>

#include "mapped.h"
#include "signal_word.h"
#include "util/backoff.h"

enum {
    POLLS = 16, /* before the clock is looked at; of those that sleep each takes some ms at most */
    LOOKS = 8,  /* at least, before something is as old as MPIXQ_WATCHDOG_S */
    ROOM = 160
};

/* Is it time to look at the clock? */
static bool is_time(struct mpixq_rma_watched *watched)
{
    return mpixq_age_limit_ns() > 0 &&
           atomic_fetch_add_explicit(&watched->polls, 1, memory_order_relaxed) % POLLS == POLLS - 1;
}

/* What tells that it gets on is so now. Under the lock of the window. How long, in ns, it has got
 * no further, if that is too long, else 0. Where nobody has looked for a while nobody waited. */
static uint64_t look(struct mpixq_rma_watched *watched, uint64_t progress)
{
    uint64_t now = mpixq_now_ns(), limit = mpixq_age_limit_ns(), before;

    if (now - watched->looked_ns > limit / LOOKS + 1000000000u) {
        watched->age.since_ns = 0;
    }
    watched->looked_ns = now;
    before = mpixq_looks_note(&watched->last, now);
    mpixq_age_note(&watched->age, progress, now);
    return mpixq_age_is_old(watched->age.since_ns, before, now, limit) ? now - watched->age.since_ns
                                                                       : 0;
}

/* Is what is so old to be told now? */
static bool is_due(struct mpixq_rma_watched *watched)
{
    return mpixq_age_is_due(&watched->age, watched->age.since_ns, watched->looked_ns);
}

/* What is missing. */
static void describe(const struct mpixq_signal *signal, int64_t sum, char text[ROOM])
{
    uint32_t events = mpixq_signal_events(sum);

    if (sum == 0) {
        (void)snprintf(text, ROOM, "its reset is enqueued, and no stream has come to it");
    } else if (events == 0) {
        (void)snprintf(text, ROOM, "all events have come, and parts of their data are under way");
    } else {
        (void)snprintf(text, ROOM, "%u of %d events are outstanding", (unsigned)events,
                       signal->num_event);
    }
}

static void tell(const struct mpixq_signal *signal, const struct mpixq_queue *queue, uint64_t ns,
                 const char *missing)
{
    char who[32] = "the host", text[ROOM + 160];

    if (queue != NULL) {
        (void)snprintf(who, sizeof who, "queue %llu", (unsigned long long)queue->number);
    }
    (void)snprintf(text, sizeof text, "%s has waited %.1f s for signal %u of window %llu: %s", who,
                   (double)ns / 1e9, (unsigned)signal->index,
                   (unsigned long long)signal->window->number, missing);
    mpixq_age_tell(text, ". The peers may just need as long");
}

static void end(struct mpixq_signal *signal, const char *missing)
{
    char what[64], why[MPIXQ_ERROR_ROOM];

    (void)snprintf(what, sizeof what, "signal %u of window %llu", (unsigned)signal->index,
                   (unsigned long long)signal->window->number);
    (void)snprintf(why, sizeof why, "waited longer than %ld s: %s", mpixq_env.watchdog_s, missing);
    mpixq_rma_signal_fail(signal, mpixq_error_cause(MPIXQ_E_SIGNAL_TIMEOUT, what, why));
}

void mpixq_rma_watch_signal(struct mpixq_signal *signal, const struct mpixq_queue *queue)
{
    struct mpixq_window *window = signal->window;
    char missing[ROOM];
    uint64_t old;
    bool due;
    int64_t sum;

    if (!is_time(&signal->watched)) {
        return;
    }
    if (window->mapped == NULL) {
        sum = mpixq_rma_signal_sum(signal);
    } else if (mpixq_rma_mapped_read(signal, &sum) != MPI_SUCCESS) {
        return; /* who waits has seen that as well */
    }
    if (!mpixq_lock_try(&window->lock)) {
        return;
    }
    old = look(&signal->watched, (uint64_t)sum ^ atomic_load(&signal->fired) << 32);
    due = old > 0 && is_due(&signal->watched);
    mpixq_lock_release(&window->lock);
    describe(signal, sum, missing);
    if (due) {
        tell(signal, queue, old, missing);
    }
    if (old > 0 && mpixq_watchdog_ends()) {
        end(signal, missing);
    }
}

void mpixq_rma_watch_flush(struct mpixq_window *window)
{
    char text[ROOM];
    uint64_t old;
    bool due;
    long n;

    if (!is_time(&window->watched) || !mpixq_lock_try(&window->lock)) {
        return;
    }
    n = window->n_own;
    old = look(&window->watched, (uint64_t)n);
    due = old > 0 && is_due(&window->watched);
    mpixq_lock_release(&window->lock);
    if (due) {
        (void)snprintf(text, sizeof text,
                       "MPIX_Window_flush of window %llu has waited %.1f s: %ld puts and gets of "
                       "this process are under way",
                       (unsigned long long)window->number, (double)old / 1e9, n);
        mpixq_age_tell(text, ". The peers may just need as long");
    }
}
