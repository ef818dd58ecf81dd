/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Signals. A round of a signal begins when it is set and ends when its word has become 0; armed and
 * fired count beginnings and ends, so that a stream can wait for the end of the round which its
 * program means, whatever the host does meanwhile. */
#include <stdio.h>

#include "queue/queues.h"
#include "rma.h"
#include "signal_word.h"
#include "util/alloc.h"
#include "waiters.h"
#include "window.h"

enum { NOBODY = -1 };

static void describe(const struct mpixq_signal *signal, char text[64])
{
    (void)snprintf(text, 64, "signal %u of window %llu", (unsigned)signal->index,
                   (unsigned long long)signal->window->number);
}

/* What was too much. */
static int surplus(const struct mpixq_signal *signal, int64_t word)
{
    char what[64], why[MPIXQ_ERROR_ROOM], whose[80] = "";
    int peer = atomic_load(&signal->surplus_from);

    describe(signal, what);
    if (peer != NOBODY) {
        (void)snprintf(whose, sizeof whose, " (the first at offset %llu, by rank %d)",
                       (unsigned long long)atomic_load(&signal->surplus_at), peer);
    }
    (void)snprintf(why, sizeof why, "%u events too many%s: %s", mpixq_signal_events(word), whose,
                   mpixq_error_text(MPIXQ_E_SIGNAL_SURPLUS));
    return mpixq_error_cause(MPIXQ_E_SIGNAL_SURPLUS, what, why);
}

static int outstanding(const struct mpixq_signal *signal, int64_t word)
{
    char what[64], why[MPIXQ_ERROR_ROOM];

    describe(signal, what);
    (void)snprintf(why, sizeof why, "%u of %d events outstanding: %s", mpixq_signal_events(word),
                   signal->num_event, mpixq_error_text(MPIXQ_E_SIGNAL_OUTSTANDING));
    return mpixq_error_cause(MPIXQ_E_SIGNAL_OUTSTANDING, what, why);
}

enum mpixq_error mpixq_rma_signal_find(const struct mpixq_window *window, uint32_t index,
                                       uint32_t generation, struct mpixq_signal **signal_p)
{
    *signal_p = NULL;
    if (index == 0) {
        return MPIXQ_E_NONE;
    }
    if (index > window->n_slots || window->slots[index - 1].signal == NULL ||
        window->slots[index - 1].generation != generation) {
        return MPIXQ_E_BLK_STALE;
    }
    *signal_p = window->slots[index - 1].signal;
    return MPIXQ_E_NONE;
}

void mpixq_rma_signal_add(struct mpixq_signal *signal, uint32_t part, uint32_t parts, int peer,
                          uint64_t offset)
{
    int64_t addend, now;
    int nobody = NOBODY;

    if (signal == NULL) {
        return;
    }
    addend = mpixq_signal_addend(part, parts);
    now = atomic_fetch_add(&signal->word, addend) + addend;
    if (now == 0) {
        atomic_fetch_add(&signal->fired, 1);
    } else if (mpixq_signal_has_overflow(now) &&
               atomic_compare_exchange_strong(&signal->surplus_from, &nobody, peer)) {
        atomic_store(&signal->surplus_at, offset);
    }
}

void mpixq_rma_signal_fail(struct mpixq_signal *signal, int code)
{
    int none = MPI_SUCCESS;

    if (signal != NULL) {
        (void)atomic_compare_exchange_strong(&signal->failed, &none, code);
    }
}

int mpixq_rma_signal_look(const struct mpixq_signal *signal, bool *complete_p)
{
    int failed = atomic_load(&signal->failed);
    int64_t word;

    *complete_p = atomic_load(&signal->fired) >= atomic_load(&signal->armed);
    word = atomic_load(&signal->word);
    if (mpixq_signal_has_overflow(word)) {
        return surplus(signal, word);
    }
    if (failed != MPI_SUCCESS) {
        return failed;
    }
    return *complete_p ? MPI_SUCCESS : atomic_load(&signal->window->failed);
}

int mpixq_rma_signal_set(struct mpixq_signal *signal, bool was_enqueued)
{
    int64_t word = 0;
    int failed = atomic_load(&signal->failed);

    if (failed != MPI_SUCCESS) {
        return failed;
    }
    if (!was_enqueued) {
        atomic_fetch_add(&signal->armed, 1);
    }
    if (atomic_compare_exchange_strong(&signal->word, &word, signal->num_event)) {
        return MPI_SUCCESS;
    }
    atomic_fetch_sub(&signal->armed, 1);
    return mpixq_signal_has_overflow(word) ? surplus(signal, word) : outstanding(signal, word);
}

static bool is_waiting(const struct mpixq_rma_waiter *waiter)
{
    return mpixq_rma_is_under_way(waiter->queue, waiter->queue_number, waiter->ticket);
}

/* Without the window's lock, since a queue's turn comes before it. */
bool mpixq_rma_signal_is_busy(struct mpixq_signal *signal)
{
    struct mpixq_rma_waiter *waiter = atomic_load(&signal->waiters);

    for (; waiter != NULL; waiter = waiter->next) {
        if (is_waiting(waiter)) {
            return true;
        }
    }
    return false;
}

void mpixq_rma_signal_drop(struct mpixq_signal *signal)
{
    struct mpixq_rma_waiter *waiter = atomic_load(&signal->waiters);

    signal->window->slots[signal->index - 1].signal = NULL;
    signal->window->slots[signal->index - 1].generation++;
    while (waiter != NULL) {
        struct mpixq_rma_waiter *next = waiter->next;

        waiter->next = signal->leftover;
        signal->leftover = waiter;
        waiter = next;
    }
    atomic_store(&signal->waiters, NULL);
    mpixq_rma_object_free(signal);
}

/* A place in the table; under the lock. 0 without memory, else the place from 1 on. */
static uint32_t take_slot(struct mpixq_window *window)
{
    enum { MORE = 16 };
    struct mpixq_rma_slot *slots;
    uint32_t i = 0;

    while (i < window->n_slots && window->slots[i].signal != NULL) {
        i++;
    }
    if (i == window->n_slots) {
        slots = mpixq_realloc(window->slots, (window->n_slots + MORE) * sizeof *slots);
        if (slots == NULL) {
            return 0;
        }
        window->slots = slots;
        for (int k = 0; k < MORE; k++) {
            slots[window->n_slots++] = (struct mpixq_rma_slot){.generation = 1};
        }
    }
    return i + 1;
}

enum mpixq_error mpixq_rma_signal_create(struct mpixq_window *window, int num_event,
                                         struct mpixq_signal **signal_p)
{
    struct mpixq_signal *signal = mpixq_rma_object_new(MPIXQ_RMA_SIGNAL, sizeof *signal);

    if (signal == NULL) {
        return MPIXQ_E_NO_MEMORY;
    }
    mpixq_lock_acquire(&window->lock);
    signal->index = take_slot(window);
    if (signal->index != 0) {
        signal->window = window;
        signal->generation = window->slots[signal->index - 1].generation;
        signal->num_event = num_event;
        atomic_store(&signal->word, num_event);
        atomic_store(&signal->fired, 0);
        atomic_store(&signal->armed, 1);
        atomic_store(&signal->failed, MPI_SUCCESS);
        atomic_store(&signal->surplus_from, NOBODY);
        window->slots[signal->index - 1].signal = signal;
        mpixq_rma_object_live(signal, MPIXQ_RMA_SIGNAL);
    }
    mpixq_lock_release(&window->lock);
    if (signal->index == 0) {
        mpixq_rma_object_free(signal);
        return MPIXQ_E_NO_MEMORY;
    }
    *signal_p = signal;
    return MPIXQ_E_NONE;
}

enum mpixq_error mpixq_rma_signal_destroy(struct mpixq_signal *signal)
{
    struct mpixq_window *window = signal->window;

    if (mpixq_rma_signal_is_busy(signal)) {
        return MPIXQ_E_SIGNAL_BUSY;
    }
    mpixq_lock_acquire(&window->lock);
    mpixq_rma_signal_drop(signal);
    mpixq_lock_release(&window->lock);
    return MPIXQ_E_NONE;
}

bool mpixq_rma_signal_is_live(const struct mpixq_signal *signal)
{
    return mpixq_rma_object_is_live(signal, MPIXQ_RMA_SIGNAL);
}
