/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Windows go on: messages, and whether all of their processes still live. A process that has ended
 * will tell no signal, and nobody knows which ones it was to tell; so all that wait for signals of
 * the window fail, at the look after the one that has seen it: what it sent before has come by
 * then. */
#include <stdio.h>

#include "protocol.h"
#include "rma.h"
#include "util/backoff.h"
#include "util/env.h"
#include "util/log.h"
#include "window.h"

enum { LOOKS = 2 /* in MPIXQ_LIVENESS_S */ };

static void lose(struct mpixq_window *window, const struct mpixq_rma_neighbour *lost)
{
    char what[64], why[MPIXQ_ERROR_ROOM];

    (void)snprintf(what, sizeof what, "window %llu", (unsigned long long)window->number);
    (void)snprintf(why, sizeof why, "rank %d of it has ended: its process %llu is gone", lost->rank,
                   (unsigned long long)lost->process.pid);
    mpixq_rma_window_fail(window, mpixq_error_cause(MPIXQ_E_PEER_GONE, what, why));
}

static void look_for_lost(struct mpixq_window *window)
{
    uint64_t limit = (uint64_t)mpixq_env.liveness_s * 1000000000U, now;

    if (limit == 0 || window->n_neighbours == 0 || atomic_load(&window->failed) != MPI_SUCCESS) {
        return;
    }
    now = mpixq_now_ns();
    if (now - window->looked_ns < limit / LOOKS) {
        return;
    }
    window->looked_ns = now;
    for (int i = 0; i < window->n_neighbours; i++) {
        if (mpixq_process_has_ended(&window->neighbours[i].process)) {
            if (window->lost_ns != 0) {
                lose(window, &window->neighbours[i]);
            }
            window->lost_ns = now;
            return;
        }
    }
}

void mpixq_rma_progress(struct mpixq_window *window)
{
    if (window->size == 1) {
        return;
    }
    if (!mpixq_lock_try(&window->lock)) {
        mpixq_backoff_busy();
        return;
    }
    if (mpixq_rma_object_is_live(window, MPIXQ_RMA_WINDOW)) {
        mpixq_rma_protocol_go(window);
        look_for_lost(window);
    }
    mpixq_lock_release(&window->lock);
}

void mpixq_rma_drive(void)
{
    struct mpixq_rma_object *object = mpixq_rma_objects(MPIXQ_RMA_WINDOW);

    for (; object != NULL; object = object->next_made) {
        if (mpixq_rma_object_is_live(object, MPIXQ_RMA_WINDOW)) {
            mpixq_rma_progress((struct mpixq_window *)object);
        }
    }
}

bool mpixq_rma_is_needed(void)
{
    struct mpixq_rma_object *object = mpixq_rma_objects(MPIXQ_RMA_WINDOW);

    while (object != NULL && (!mpixq_rma_object_is_live(object, MPIXQ_RMA_WINDOW) ||
                              ((struct mpixq_window *)object)->size == 1)) {
        object = object->next_made;
    }
    return object != NULL;
}
