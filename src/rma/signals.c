/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Signals come and go: their places in the table of their window. */
#include <utlist.h>

#include "mapped.h"
#include "protocol.h"
#include "rights.h"
#include "rma.h"
#include "util/alloc.h"
#include "window.h"

/* A table of twice as many, at the beginning of which is what is in this one. */
static bool more_slots(struct mpixq_window *window)
{
    uint32_t n = window->n_slots, n_more = n > 0 ? 2 * n : 16;
    struct mpixq_rma_slots *table = mpixq_alloc(sizeof *table + n_more * sizeof table->slots[0]);

    if (table == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < n_more; i++) {
        atomic_init(&table->slots[i].signal, i < n ? window->slots[i].signal : NULL);
        atomic_init(&table->slots[i].generation, i < n ? window->slots[i].generation : 1);
        table->slots[i].grantees = i < n ? window->slots[i].grantees : NULL;
        table->slots[i].n_revoking = i < n ? window->slots[i].n_revoking : 0;
    }
    LL_PREPEND(window->tables, table);
    window->slots = table->slots;
    window->n_slots = n_more;
    return true;
}

/* A place in the table; under the lock. 0 without memory, else the place from 1 on. */
static uint32_t take_slot(struct mpixq_window *window)
{
    uint32_t i = 0;

    while (i < window->n_slots &&
           (window->slots[i].signal != NULL || window->slots[i].n_revoking > 0)) {
        i++;
    }
    if (i == window->n_slots && !more_slots(window)) {
        return 0;
    }
    return i + 1;
}

/* In its place, under the lock. False: no memory. */
static bool take_place(struct mpixq_window *window, struct mpixq_signal *signal)
{
    signal->index = take_slot(window);
    if (signal->index == 0) {
        return false;
    }
    signal->generation = window->slots[signal->index - 1].generation;
    mpixq_rma_signal_begin(signal);
    window->slots[signal->index - 1].signal = signal;
    return true;
}

/* GPUs know it before any block names it; or NICs can add to it. */
static int show(struct mpixq_signal *signal)
{
    if (signal->window->gpu_kind != NULL && signal->index > MPIXQ_RMA_PLACES) {
        return mpixq_error_code(MPIXQ_E_SIGNALS_NICS);
    }
    return signal->window->mapped == NULL         ? MPI_SUCCESS
           : signal->index > MPIXQ_MAPPED_SIGNALS ? mpixq_error_code(MPIXQ_E_SIGNALS_MAPPED)
                                                  : mpixq_rma_mapped_begin(signal);
}

int mpixq_rma_signal_create(struct mpixq_window *window, int num_event,
                            struct mpixq_signal **signal_p)
{
    struct mpixq_signal *signal = mpixq_rma_object_new(MPIXQ_RMA_SIGNAL, sizeof *signal);
    bool has_place;
    int rc;

    if (signal == NULL) {
        return mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    signal->window = window;
    signal->num_event = num_event;
    atomic_store(&signal->failed, MPI_SUCCESS);
    atomic_store(&signal->held, 0);
    atomic_store(&signal->had_graphs, false);
    atomic_store(&signal->surplus_from, MPIXQ_RMA_NOBODY);
    signal->watched.age = (struct mpixq_age){.since_ns = 0};
    mpixq_lock_acquire(&window->lock);
    has_place = take_place(window, signal);
    mpixq_lock_release(&window->lock);
    rc = has_place ? show(signal) : mpixq_error_code(MPIXQ_E_NO_MEMORY);
    if (rc != MPI_SUCCESS) {
        mpixq_lock_acquire(&window->lock);
        if (has_place) {
            window->slots[signal->index - 1].signal = NULL;
        }
        mpixq_lock_release(&window->lock);
        mpixq_rma_object_free(signal);
        return rc;
    }
    mpixq_rma_object_live(signal, MPIXQ_RMA_SIGNAL);
    *signal_p = signal;
    return MPI_SUCCESS;
}

enum mpixq_error mpixq_rma_signal_destroy(struct mpixq_signal *signal)
{
    struct mpixq_window *window = signal->window;

    if (mpixq_rma_signal_is_busy(signal)) {
        return MPIXQ_E_SIGNAL_BUSY;
    }
    if (window->mapped != NULL) {
        mpixq_rma_mapped_forget(signal);
    }
    mpixq_lock_acquire(&window->lock);
    mpixq_rma_rights_revoke(window, signal->index);
    mpixq_rma_signal_drop(signal);
    if (window->n_queued > 0) {
        mpixq_rma_protocol_go(window); /* peers hear of it before the program tells them */
    }
    mpixq_lock_release(&window->lock);
    return MPIXQ_E_NONE;
}

bool mpixq_rma_signal_is_live(const struct mpixq_signal *signal)
{
    return mpixq_rma_object_is_live(signal, MPIXQ_RMA_SIGNAL);
}
