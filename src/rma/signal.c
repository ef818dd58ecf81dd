/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Signals. A round of a signal begins when it is set and ends when the sum of its words has become
 * 0. Nobody is told by a NIC that it was the last to add, so whoever looks at a signal, and each
 * thread that adds, counts the end of the round. Rounds and fired count beginnings and ends, and
 * armed the beginnings that are enqueued as well, so that a stream can wait for the end of the
 * round which its program means, whatever the host does meanwhile. */
#include <stdio.h>

#include "mapped.h"
#include "rma.h"
#include "signal_word.h"
#include "waiters.h"
#include "window.h"

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
    uint64_t at = atomic_load(&signal->surplus_at), by = atomic_load(&signal->words->surplus_by);

    describe(signal, what);
    if (peer == MPIXQ_RMA_NOBODY && by != 0) {
        peer = (int)by - 1;
        at = atomic_load(&signal->words->surplus_at);
    }
    if (peer != MPIXQ_RMA_NOBODY) {
        (void)snprintf(whose, sizeof whose, " (the first at offset %llu, by rank %d)",
                       (unsigned long long)at, peer);
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

static int not_zero(const struct mpixq_signal *signal, int64_t word)
{
    return mpixq_signal_has_overflow(word) ? surplus(signal, word) : outstanding(signal, word);
}

int mpixq_rma_signal_not_zero(const struct mpixq_window *window, uint64_t index, int64_t word)
{
    const struct mpixq_signal *signal =
        index > 0 && index <= window->n_slots ? window->slots[index - 1].signal : NULL;

    return signal != NULL
               ? not_zero(signal, word)
               : mpixq_error_code(mpixq_signal_has_overflow(word) ? MPIXQ_E_SIGNAL_SURPLUS
                                                                  : MPIXQ_E_SIGNAL_OUTSTANDING);
}

enum mpixq_error mpixq_rma_signal_find(const struct mpixq_window *window, uint32_t index,
                                       uint32_t generation, struct mpixq_signal **signal_p)
{
    struct mpixq_rma_slot *slot;

    *signal_p = NULL;
    if (index == 0) {
        return MPIXQ_E_NONE;
    }
    if (index > window->n_slots) {
        return MPIXQ_E_BLK_STALE;
    }
    slot = &window->slots[index - 1];
    if (slot->generation != generation) {
        return MPIXQ_E_BLK_STALE;
    }
    *signal_p = slot->signal;
    return *signal_p != NULL ? MPIXQ_E_NONE : MPIXQ_E_BLK_STALE;
}

/* What all but this process have added. They only add, so it may be read word by word. */
static uint64_t added_by_others(const struct mpixq_signal *signal)
{
    uint64_t sum = 0;

    for (int i = 0; i < signal->window->n_nics; i++) {
        sum += (uint64_t)atomic_load(&signal->words->nic[i]);
    }
    return sum;
}

/* A reset of another thread may come between the words: then the first one has changed. */
int64_t mpixq_rma_signal_sum(const struct mpixq_signal *signal)
{
    int64_t host, sum;

    do {
        host = atomic_load(&signal->words->host);
        sum = (int64_t)((uint64_t)host + added_by_others(signal));
    } while (atomic_load(&signal->words->host) != host);
    return sum;
}

/* If the round is over, have that counted. Returns the sum. */
static int64_t settle(struct mpixq_signal *signal)
{
    uint64_t round = atomic_load(&signal->rounds), fired = atomic_load(&signal->fired);
    int64_t sum = mpixq_rma_signal_sum(signal);

    /* Those before it are over as well: a thread that began this one may not have counted that. */
    while (sum == 0 && fired < round &&
           !atomic_compare_exchange_weak(&signal->fired, &fired, round)) {
    }
    return sum;
}

void mpixq_rma_signal_add(struct mpixq_signal *signal, uint32_t part, uint32_t parts, int peer,
                          uint64_t offset)
{
    int nobody = MPIXQ_RMA_NOBODY;

    if (signal == NULL) {
        return;
    }
    atomic_fetch_add(&signal->words->host, mpixq_signal_addend(part, parts));
    if (mpixq_signal_has_overflow(settle(signal)) &&
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

int mpixq_rma_signal_look(struct mpixq_signal *signal, bool *complete_p)
{
    int failed = atomic_load(&signal->failed);
    int64_t sum;

    if (signal->window->mapped != NULL) {
        int rc = mpixq_rma_mapped_read(signal, &sum);

        if (rc != MPI_SUCCESS) {
            return rc;
        }
        *complete_p = sum == 0;
    } else {
        sum = settle(signal);
        *complete_p = atomic_load(&signal->fired) >= atomic_load(&signal->armed);
    }
    if (mpixq_signal_has_overflow(sum)) {
        return surplus(signal, sum);
    }
    if (failed != MPI_SUCCESS) {
        return failed;
    }
    return *complete_p ? MPI_SUCCESS : atomic_load(&signal->window->failed);
}

/* Let a new round begin, if the one before is over. Returns the sum as it was. */
static int64_t begin_round(struct mpixq_signal *signal)
{
    int64_t host, sum;

    do {
        host = atomic_load(&signal->words->host);
        sum = settle(signal);
    } while (sum == 0 && !atomic_compare_exchange_strong(&signal->words->host, &host,
                                                         host + signal->num_event));
    if (sum == 0) {
        atomic_fetch_add(&signal->rounds, 1);
    }
    return sum;
}

int mpixq_rma_signal_set(struct mpixq_signal *signal, bool was_enqueued)
{
    int failed = atomic_load(&signal->failed);
    int64_t sum;

    if (failed != MPI_SUCCESS) {
        return failed;
    }
    if (signal->window->mapped != NULL) {
        failed = mpixq_rma_mapped_set(signal, &sum);
        atomic_fetch_add(&signal->rounds, failed == MPI_SUCCESS && sum == 0);
        return failed != MPI_SUCCESS || sum == 0 ? failed : not_zero(signal, sum);
    }
    if (!was_enqueued) {
        atomic_fetch_add(&signal->armed, 1);
    }
    sum = begin_round(signal);
    if (sum == 0) {
        return MPI_SUCCESS;
    }
    atomic_fetch_sub(&signal->armed, 1);
    return not_zero(signal, sum);
}

static bool is_waiting(const struct mpixq_rma_waiter *waiter)
{
    return mpixq_rma_is_under_way(waiter->queue, waiter->queue_number, waiter->ticket);
}

/* Without the window's lock, since the submission lock of a queue comes before it. */
bool mpixq_rma_signal_is_busy(struct mpixq_signal *signal)
{
    struct mpixq_rma_waiter *waiter = atomic_load(&signal->waiters);

    for (; waiter != NULL; waiter = waiter->next) {
        if (is_waiting(waiter)) {
            return true;
        }
    }
    return mpixq_rma_graphs_have(&signal->graphs);
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
    signal->words = &signal->own_words; /* those of the window may go */
    mpixq_rma_object_free(signal);
}

void mpixq_rma_signal_begin(struct mpixq_signal *signal)
{
    struct mpixq_window *window = signal->window;
    uint64_t before;

    signal->words = &signal->own_words;
    if (signal->index <= MPIXQ_RMA_PLACES) {
        signal->words = &window->words[signal->index - 1];
    }
    atomic_store(&signal->words->host,
                 (int64_t)((uint64_t)signal->num_event - added_by_others(signal)));
    atomic_store(&signal->words->surplus_by, 0);
    before = atomic_exchange(&signal->rounds, 1);
    atomic_fetch_add(&signal->resets, before > 0 ? before - 1 : 0); /* after that (counts.c) */
    atomic_store(&signal->fired, 0);
    atomic_store(&signal->armed, 1);
}
