/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Windows go on: messages, and whether all of their processes still live. A process that has ended
 * will tell no signal, and nobody knows which ones it was to tell; so all that wait for signals of
 * the window fail, at the look after the one that has seen it: what it sent before has come by
 * then. */
#include <stdio.h>

#include "core/channels.h"
#include "core/windows.h"
#include "direct.h"
#include "protocol.h"
#include "queued.h"
#include "rma.h"
#include "util/backoff.h"
#include "util/env.h"
#include "util/log.h"
#include "window.h"

enum {
    LOOKS = 2,  /* in MPIXQ_LIVENESS_S */
    POLLS = 16, /* before the clock is looked at; of those that sleep each takes some ms at most */
};

static void lose(struct mpixq_window *window, int rank, const char *how)
{
    char what[64], why[MPIXQ_ERROR_ROOM];

    (void)snprintf(what, sizeof what, "window %llu", (unsigned long long)window->number);
    (void)snprintf(why, sizeof why, "rank %d of it has ended: %s", rank, how);
    mpixq_rma_window_fail(window, mpixq_error_cause(MPIXQ_E_PEER_GONE, what, why));
}

static void look_at_neighbours(struct mpixq_window *window, uint64_t now)
{
    char how[64];

    for (int i = 0; i < window->n_neighbours; i++) {
        const struct mpixq_rma_neighbour *neighbour = &window->neighbours[i];

        if (mpixq_process_has_ended(&neighbour->process)) {
            if (window->lost_ns != 0) {
                (void)snprintf(how, sizeof how, "its process %llu is gone",
                               (unsigned long long)neighbour->process.pid);
                lose(window, neighbour->rank, how);
            }
            window->lost_ns = now;
            return;
        }
    }
}

/* Those that NICs reach are asked by NICs, too, which they need not be seen for. */
void mpixq_rma_look_for_lost(struct mpixq_window *window)
{
    uint64_t limit = (uint64_t)mpixq_env.liveness_s * 1000000000U, now;
    int rank;

    if (++window->polls % POLLS != 0 || limit == 0 ||
        (window->n_neighbours == 0 && !mpixq_rma_direct_reaches(window)) ||
        atomic_load(&window->failed) != MPI_SUCCESS) {
        return;
    }
    now = mpixq_now_ns();
    if (now - window->looked_ns < limit / LOOKS) {
        return;
    }
    window->looked_ns = now;
    rank = mpixq_rma_direct_lost(window);
    if (rank >= 0) {
        lose(window, rank, "its NIC does not answer for it");
    } else {
        look_at_neighbours(window, now);
    }
}

void mpixq_rma_progress(struct mpixq_window *window)
{
    const struct mpixq_channel_windows *nics = mpixq_channels_windows();

    if (!mpixq_rma_has_peers(window)) {
        return;
    }
    if (nics != NULL) {
        nics->read();
    }
    if (!mpixq_lock_try(&window->lock)) {
        mpixq_backoff_busy();
        return;
    }
    if (mpixq_rma_object_is_live(window, MPIXQ_RMA_WINDOW)) {
        mpixq_rma_protocol_go(window);
        mpixq_rma_look_for_lost(window);
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

void mpixq_rma_look(void)
{
    struct mpixq_rma_object *object = mpixq_rma_objects(MPIXQ_RMA_WINDOW);

    for (; object != NULL; object = object->next_made) {
        if (mpixq_rma_object_is_live(object, MPIXQ_RMA_WINDOW)) {
            mpixq_rma_queued_look((struct mpixq_window *)object);
            mpixq_rma_replays_drive((struct mpixq_window *)object, true);
        }
    }
}

bool mpixq_rma_any_replay(void)
{
    struct mpixq_rma_object *object = mpixq_rma_objects(MPIXQ_RMA_WINDOW);

    while (object != NULL && (!mpixq_rma_object_is_live(object, MPIXQ_RMA_WINDOW) ||
                              !mpixq_rma_replays_any((struct mpixq_window *)object))) {
        object = object->next_made;
    }
    return object != NULL;
}

bool mpixq_rma_is_needed(void)
{
    struct mpixq_rma_object *object = mpixq_rma_objects(MPIXQ_RMA_WINDOW);

    while (object != NULL && (!mpixq_rma_object_is_live(object, MPIXQ_RMA_WINDOW) ||
                              (!mpixq_rma_has_peers((struct mpixq_window *)object) &&
                               atomic_load(&((struct mpixq_window *)object)->graphs) == 0))) {
        object = object->next_made;
    }
    return object != NULL;
}
