/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the host waits for: a signal, or all that it has started. */
#include "ahead.h"
#include "mapped.h"
#include "match/match.h"
#include "protocol.h"
#include "rma.h"
#include "util/backoff.h"
#include "util/progress.h"
#include "watch.h"
#include "window.h"

/* Of a thread of the program: it drives the window, so the progress thread need not hurry. */
static void wait_begin(struct mpixq_backoff *backoff)
{
    mpixq_backoff_begin(backoff);
    backoff->moves = true;
    atomic_fetch_add_explicit(&mpixq_progress.pollers, 1, memory_order_relaxed);
}

static void wait_on(struct mpixq_window *window, struct mpixq_backoff *backoff)
{
    mpixq_rma_progress(window);
    mpixq_rma_replays_drive(window, false);
    mpixq_match_advance();
    mpixq_backoff_pause(backoff);
}

static void wait_end(void)
{
    atomic_fetch_sub_explicit(&mpixq_progress.pollers, 1, memory_order_relaxed);
}

int mpixq_rma_signal_test(struct mpixq_signal *signal, bool *complete_p)
{
    int rc = mpixq_rma_signal_look(signal, complete_p);

    if (rc == MPI_SUCCESS && !*complete_p) {
        mpixq_rma_progress(signal->window);
        rc = mpixq_rma_signal_look(signal, complete_p);
    }
    return rc;
}

int mpixq_rma_signal_wait(struct mpixq_signal *signal)
{
    struct mpixq_backoff backoff;
    bool complete;
    int rc = mpixq_rma_signal_test(signal, &complete);

    atomic_fetch_add_explicit(&signal->waits, 1, memory_order_relaxed);
    if (rc != MPI_SUCCESS || complete) {
        return rc;
    }
    wait_begin(&backoff);
    while (rc == MPI_SUCCESS && !complete) {
        wait_on(signal->window, &backoff);
        mpixq_rma_watch_signal(signal, NULL);
        rc = mpixq_rma_signal_look(signal, &complete);
    }
    wait_end();
    return rc;
}

int mpixq_rma_signal_reset(struct mpixq_signal *signal)
{
    mpixq_rma_progress(signal->window); /* what came too early is seen now, if it is there */
    return mpixq_rma_signal_set(signal, false);
}

int mpixq_rma_signal_wait_reset(struct mpixq_signal *signal)
{
    int rc = mpixq_rma_signal_wait(signal);

    return rc ? rc : mpixq_rma_signal_reset(signal);
}

/* A refusal is told once. */
static int take_refusal(struct mpixq_window *window)
{
    int code = window->refused;

    window->refused = MPI_SUCCESS;
    return code;
}

int mpixq_rma_flush(struct mpixq_window *window)
{
    struct mpixq_backoff backoff;
    int rc = MPI_SUCCESS;
    bool done = false;

    if (window->mapped != NULL) {
        rc = mpixq_rma_mapped_flush(window);
    }
    mpixq_rma_replays_drive(window, true); /* puts of graphs that the program has waited for */
    wait_begin(&backoff);
    while (rc == MPI_SUCCESS && !done) {
        mpixq_lock_acquire(&window->lock);
        mpixq_rma_look_for_lost(window); /* copies into shared memory need no answer of anybody */
        mpixq_rma_ahead_look(window);
        done = mpixq_rma_is_flushed(window) && !mpixq_rma_ahead_doubts(window) &&
               atomic_load(&window->failed) == MPI_SUCCESS;
        rc = done ? take_refusal(window) : atomic_load(&window->failed);
        mpixq_lock_release(&window->lock);
        if (rc == MPI_SUCCESS && !done) {
            wait_on(window, &backoff);
            mpixq_rma_watch_flush(window);
        }
    }
    wait_end();
    return rc;
}
