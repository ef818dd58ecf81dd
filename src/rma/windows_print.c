/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What MPIXQ_INFO tells of a new window. */
#include <stdio.h>

#include "direct.h"
#include "rights.h"
#include "transport.h"
#include "util/log.h"
#include "window.h"

static int count_readable(const struct mpixq_window *window)
{
    int n = 0;

    for (int i = 0; i < window->n_neighbours; i++) {
        n += window->neighbours[i].can_read;
    }
    return n;
}

/* What others are reached by, as far as it is known before they are. */
static void describe_others(const struct mpixq_window *window, char *text, size_t room)
{
    if (window->gpu_kind != NULL) {
        (void)snprintf(
            text, room,
            "level %d to %d peers, once they have given rights to their NICs (cxi, of %d "
            "here), ",
            mpixq_rma_direct_level(window->direct), window->size - 1, window->n_nics);
    } else if (window->mapped != NULL) {
        (void)snprintf(text, room, "level 4 to %d peers (ipc: GPUs copy and add to signals), ",
                       window->size - 1);
    } else if (mpixq_rma_direct_is_shared(window)) {
        (void)snprintf(text, room,
                       "level 0 to %d peers (fallback: signals travel in messages of MPI) until "
                       "they have given rights to their memory (shared by %d of them: level 4), ",
                       window->size - 1, window->n_neighbours);
    } else if (window->direct != NULL) {
        (void)snprintf(text, room,
                       "level 0 to %d peers (fallback: signals travel in messages of MPI) until "
                       "they have given rights to their NICs (cxi, of %d here: level %d), ",
                       window->size - 1, window->n_nics, mpixq_rma_direct_level(window->direct));
    } else {
        (void)snprintf(text, room,
                       "level 0 to %d peers (fallback: signals travel in messages of MPI, and more "
                       "than %d bytes are read from memory of %d of them; no NICs: %.100s), ",
                       window->size - 1, MPIXQ_RMA_EAGER, count_readable(window),
                       window->why_not_direct);
    }
}

void mpixq_rma_window_print(const struct mpixq_window *window)
{
    int own = window->gpu_kind != NULL ? mpixq_rma_direct_level(window->direct) : 4;
    char others[320] = "";

    if (window->size > 1) {
        describe_others(window, others, sizeof others);
    }
    mpixq_print("window %llu: %llu bytes, rank %d of %d: %slevel %d to itself (memory of %s)",
                (unsigned long long)window->number, (unsigned long long)window->bytes, window->rank,
                window->size, others, own,
                window->gpu_kind != NULL ? "a GPU, by its NICs"
                : window->mapped != NULL ? "its GPU"
                                         : "the process");
}
