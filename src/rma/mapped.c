/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "mapped.h"

#include <stdio.h>

#include "util/alloc.h"
#include "util/env.h"
#include "window.h"

/* What a GPU reports of a window. */
static int failed(const struct mpixq_window *window, const char *why)
{
    char what[64];

    if (why == NULL) {
        return MPI_SUCCESS;
    }
    (void)snprintf(what, sizeof what, "window %llu", (unsigned long long)window->number);
    return mpixq_error_cause(MPIXQ_E_GPU, what, why);
}

/* ---- Creation ---- */

static int cannot_map(const struct mpixq_window *window, int peer, const char *why)
{
    char what[64], text[MPIXQ_ERROR_ROOM];

    if (peer == window->rank) {
        (void)snprintf(what, sizeof what, "memory of this process");
    } else {
        (void)snprintf(what, sizeof what, "memory of rank %d", peer);
    }
    (void)snprintf(text, sizeof text, "%s: %s", why, mpixq_error_text(MPIXQ_E_WINDOW_GPU));
    return mpixq_error_cause(MPIXQ_E_WINDOW_GPU, what, text);
}

/* The first process at which it did not work, or -1; all agree. */
static int first_without(const struct mpixq_window *window, bool works, int *first_p)
{
    int mine = works ? window->size : window->rank;
    int rc = PMPI_Allreduce(&mine, first_p, 1, MPI_INT, MPI_MIN, window->comm);

    *first_p = *first_p == window->size ? -1 : *first_p;
    return rc;
}

static const char *offer_mine(struct mpixq_window *window, const struct mpixq_window_spec *spec,
                              struct mpixq_mapped_offer *mine)
{
    const char *why;

    if (!mpixq_channel_set_has(&mpixq_env.channels, MPIXQ_CHANNEL_IPC)) {
        return "the channel ipc is not to be used (MPIXQ_CHANNELS)";
    }
    why = mpixq_mapped_offer(spec->kind, spec->place, window->base, window->bytes, &window->mapped,
                             mine);
    return why == NULL && spec->wants != NULL ? mpixq_mapped_clear(window->mapped) : why;
}

/* Both steps are for all: who cannot go on tells the others. */
static int agree(const struct mpixq_window *window, const char *why, int peer)
{
    int first, rc = first_without(window, why == NULL, &first);

    if (rc == MPI_SUCCESS && why != NULL) {
        return cannot_map(window, peer, why);
    }
    return rc != MPI_SUCCESS || first < 0
               ? rc
               : cannot_map(window, first, "it cannot map the memory of all GPUs of the window");
}

int mpixq_rma_map(struct mpixq_window *window, const struct mpixq_window_spec *spec)
{
    struct mpixq_mapped_offer mine = {{0}};
    struct mpixq_mapped_offer *all = mpixq_alloc((size_t)window->size * sizeof *all);
    const char *why = all == NULL ? "no memory" : offer_mine(window, spec, &mine);
    int which = window->rank, rc = agree(window, why, which);

    rc =
        rc ? rc
           : PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, window->comm);
    if (rc == MPI_SUCCESS) {
        why = mpixq_mapped_open(window->mapped, all, window->size, window->rank, &which);
        rc = agree(window, why, which);
    }
    mpixq_free(all);
    return rc;
}

/* ---- Puts ---- */

static struct mpixq_mapped_words *signal_of(const struct mpixq_window *window,
                                            const struct mpixq_blk *blk)
{
    return blk->signal != 0 ? mpixq_mapped_signal(window->mapped, blk->rank, blk->signal) : NULL;
}

static enum mpixq_error check(const struct mpixq_window *window, const struct mpixq_blk *remote)
{
    return window->mapped == NULL                  ? MPIXQ_E_DEVICE_WINDOW
           : remote->signal > MPIXQ_MAPPED_SIGNALS ? MPIXQ_E_BLK
           : !mpixq_blk_fits(remote->offset, remote->bytes,
                             mpixq_mapped_bytes(window->mapped, remote->rank))
               ? MPIXQ_E_BLK_RANGE
               : MPIXQ_E_NONE;
}

int mpixq_rma_mapped_check(const struct mpixq_transfer *transfer)
{
    const struct mpixq_window *window = transfer->window;
    const struct mpixq_blk *remote = &transfer->remote;
    enum mpixq_error error = check(window, remote);
    char what[96];

    if (error == MPIXQ_E_NONE) {
        return MPI_SUCCESS;
    }
    (void)snprintf(what, sizeof what, "window %llu, offset %llu of rank %d",
                   (unsigned long long)window->number, (unsigned long long)remote->offset,
                   remote->rank);
    return mpixq_error_cause(error, what, mpixq_error_text(error));
}

static int described(const struct mpixq_transfer *transfer, bool is_get, struct mpixq_put *put)
{
    const struct mpixq_window *window = transfer->window;
    const struct mpixq_blk *local = &transfer->local, *remote = &transfer->remote;
    int rc = mpixq_rma_mapped_check(transfer);
    char *here, *there;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    here = mpixq_mapped_base(window->mapped, window->rank) + local->offset;
    there = mpixq_mapped_base(window->mapped, remote->rank) + remote->offset;
    *put = (struct mpixq_put){.to = is_get ? here : there,
                              .from = is_get ? there : here,
                              .bytes = local->bytes,
                              .local = signal_of(window, local),
                              .remote = signal_of(window, remote),
                              .generation = remote->generation,
                              .stale = (uint64_t)remote->rank + 1,
                              .local_generation = local->generation};
    return MPI_SUCCESS;
}

int mpixq_rma_mapped_describe(const struct mpixq_transfer *transfer, struct mpixq_put *put)
{
    return described(transfer, false, put);
}

void mpixq_rma_mapped_count(struct mpixq_window *window, enum mpixq_rma_call call,
                            const struct mpixq_puts *puts)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < puts->n; i++) {
        bytes += puts->put[i].bytes;
    }
    mpixq_rma_count_by_gpus(window, call, puts->n, bytes);
}

int mpixq_rma_mapped_start(const struct mpixq_transfer transfers[], int n, enum mpixq_rma_call call,
                           void (*refuse)(const struct mpixq_transfer *transfer, int code))
{
    struct mpixq_window *window = NULL;
    struct mpixq_puts all;
    const char *why = NULL;

    all.n = 0;
    all.behind = (struct mpixq_behind){.lane = NULL};
    for (int i = 0; why == NULL && i < n; i++) {
        if (transfers[i].window != NULL) {
            int code = described(&transfers[i], call == MPIXQ_CALL_GET, &all.put[all.n]);

            if (code == MPI_SUCCESS) {
                window = transfers[i].window;
                all.n++;
            } else {
                refuse(&transfers[i], code);
            }
        }
        if (all.n == MPIXQ_PUTS || (all.n > 0 && i == n - 1)) {
            why = mpixq_mapped_put(window->mapped, &all);
            all.n = why == NULL ? all.n : 0;
            mpixq_rma_mapped_count(window, call, &all);
            all.n = 0;
        }
    }
    return why != NULL ? failed(window, why) : MPI_SUCCESS;
}

int mpixq_rma_mapped_flush(struct mpixq_window *window)
{
    uint64_t stale;
    int rc = failed(window, mpixq_mapped_finish(window->mapped, &stale));
    char what[96];

    if (rc == MPI_SUCCESS && stale != 0) {
        (void)snprintf(what, sizeof what, "window %llu, put or get of a block of rank %d",
                       (unsigned long long)window->number, (int)(stale - 1));
        rc = mpixq_error_cause(MPIXQ_E_BLK_STALE, what, mpixq_error_text(MPIXQ_E_BLK_STALE));
    }
    return rc ? rc : atomic_load(&window->failed); /* nobody knows what was put where then */
}

/* ---- Signals ---- */

int mpixq_rma_mapped_read(const struct mpixq_signal *signal, int64_t *word_p)
{
    uint64_t word = 0;
    const char *why = mpixq_mapped_read(signal->window->mapped, signal->index, &word);

    *word_p = (int64_t)word;
    return failed(signal->window, why);
}

int mpixq_rma_mapped_begin(const struct mpixq_signal *signal)
{
    return failed(signal->window,
                  mpixq_mapped_begin(signal->window->mapped, signal->index,
                                     (uint64_t)signal->num_event, signal->generation));
}

/* Where the GPU reports an error nothing will tell it any more. */
void mpixq_rma_mapped_forget(const struct mpixq_signal *signal)
{
    (void)mpixq_mapped_begin(signal->window->mapped, signal->index, 0, 0);
}

int mpixq_rma_mapped_set(const struct mpixq_signal *signal, int64_t *before_p)
{
    uint64_t before = 0;
    const char *why = mpixq_mapped_set(signal->window->mapped, signal->index,
                                       (uint64_t)signal->num_event, &before);

    *before_p = (int64_t)before;
    return failed(signal->window, why);
}
