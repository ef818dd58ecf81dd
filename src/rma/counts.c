/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What this process has put and got (core/stats.h). A window has the counts of all lives of its
 * memory, which is kept and used again, so those of windows that were freed are among them; a
 * signal likewise. They are read in any thread, at any time, under no lock. */
#include "message.h"
#include "rma.h"

/* One writer at a time: nothing has to be locked for that. */
static void add_to(_Atomic uint64_t *count, uint64_t n)
{
    uint64_t before = atomic_load_explicit(count, memory_order_relaxed);

    atomic_store_explicit(count, before + n, memory_order_relaxed);
}

static void add(struct mpixq_rma_moved *to, uint64_t transfers, uint64_t bytes)
{
    add_to(&to->transfers, transfers);
    add_to(&to->bytes, bytes);
}

void mpixq_rma_count(struct mpixq_window *window, enum mpixq_stats_way way,
                     enum mpixq_rma_call call, uint64_t bytes)
{
    add(&window->counts.by[way][call], 1, bytes);
}

void mpixq_rma_count_by_gpus(struct mpixq_window *window, enum mpixq_rma_call call,
                             uint64_t transfers, uint64_t bytes)
{
    struct mpixq_rma_moved *to = &window->counts.by[MPIXQ_WAY_GPUS][call];

    atomic_fetch_add_explicit(&to->transfers, transfers, memory_order_relaxed);
    atomic_fetch_add_explicit(&to->bytes, bytes, memory_order_relaxed);
}

void mpixq_rma_count_of_graph(struct mpixq_window *window, uint64_t puts)
{
    add_to(&window->counts.of_graphs, puts);
}

struct mpixq_rma_op *mpixq_rma_was_read(struct mpixq_window *window, struct mpixq_rma_op *op)
{
    if (op != NULL && op->is_own) {
        add(&window->counts.by[MPIXQ_WAY_READ][MPIXQ_CALL_PUT], op->header.part == 0,
            op->header.bytes);
    }
    return op;
}

static void add_window(struct mpixq_stats_rma *sum, const struct mpixq_window *window)
{
    const struct mpixq_rma_counts *counts = &window->counts;

    sum->windows += atomic_load_explicit(&counts->lives, memory_order_relaxed);
    sum->of_graphs += atomic_load_explicit(&counts->of_graphs, memory_order_relaxed);
    for (int way = 0; way < MPIXQ_N_WAYS; way++) {
        for (int call = 0; call < MPIXQ_N_CALLS; call++) {
            const struct mpixq_rma_moved *moved = &counts->by[way][call];
            uint64_t n = atomic_load_explicit(&moved->transfers, memory_order_relaxed);
            uint64_t bytes = atomic_load_explicit(&moved->bytes, memory_order_relaxed);

            sum->by[way].transfers += n;
            sum->by[way].bytes += bytes;
            if (way != MPIXQ_WAY_READ) { /* which are among those by messages */
                *(call == MPIXQ_CALL_GET ? &sum->gets : &sum->puts) += n;
                *(call == MPIXQ_CALL_GET ? &sum->bytes_got : &sum->bytes_put) += bytes;
                sum->by_host += call == MPIXQ_CALL_PUT ? n : 0;
            }
        }
    }
}

/* In this order: those before a life are added once it has begun anew, so none is found twice. */
static uint64_t resets_of(const struct mpixq_signal *signal)
{
    uint64_t before = atomic_load(&signal->resets), rounds = atomic_load(&signal->rounds);

    return before + (rounds > 0 ? rounds - 1 : 0);
}

void mpixq_rma_stats(struct mpixq_stats_rma *stats_p)
{
    const struct mpixq_rma_object *object = mpixq_rma_objects(MPIXQ_RMA_WINDOW);
    struct mpixq_stats_rma sum = {0};

    for (; object != NULL; object = object->next_made) {
        add_window(&sum, (const struct mpixq_window *)object);
    }
    for (object = mpixq_rma_objects(MPIXQ_RMA_SIGNAL); object != NULL; object = object->next_made) {
        const struct mpixq_signal *signal = (const struct mpixq_signal *)object;

        sum.waits += atomic_load_explicit(&signal->waits, memory_order_relaxed);
        sum.resets += resets_of(signal);
    }
    *stats_p = sum;
}
