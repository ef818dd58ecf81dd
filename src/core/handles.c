/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Chains of records. A writer makes the version odd before it changes a link and even again
 * afterwards. A reader that finds its handle is right whatever happened meanwhile, because a
 * record loses its handle when it is taken out. One that finds nothing may have been led into
 * another chain, by a record that was put there under its feet; it looks again unless the version
 * is still what it was and even. Every link is read with acquire and written with release, which
 * orders them against the version. */
#include "handles.h"

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#include "util/alloc.h"

typedef _Atomic(struct mpixq_request *) link;

struct mpixq_requests mpixq_requests = {
    .lock = MPIXQ_SPIN_INITIALIZER,
    .handles = {
        .current = &mpixq_requests.handles.smallest,
        .smallest = {.mask = MPIXQ_SMALLEST - 1, .first = mpixq_requests.handles.smallest_first}}};

/* What all here is about. */
static struct mpixq_handles *const handles = &mpixq_requests.handles;

/* Handles are short and well spread already: a cheap hash is enough. */
static inline link *chain_of(const struct mpixq_chains *table, MPI_Request handle)
{
    uint64_t hash = ((uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

    return &table->first[hash & table->mask];
}

static inline struct mpixq_request *follow(link *from)
{
    return atomic_load_explicit(from, memory_order_acquire);
}

static inline void lead(link *from, struct mpixq_request *to)
{
    atomic_store_explicit(from, to, memory_order_release);
}

struct mpixq_request *mpixq_handles_find(MPI_Request handle)
{
    for (;;) {
        uint64_t before = atomic_load_explicit(&handles->version, memory_order_acquire);
        const struct mpixq_chains *table =
            atomic_load_explicit(&handles->current, memory_order_acquire);
        struct mpixq_request *req = follow(chain_of(table, handle));

        while (req != NULL && atomic_load_explicit(&req->handle, memory_order_acquire) != handle) {
            req = follow(&req->next_by_handle);
        }
        if (req != NULL ||
            (before % 2 == 0 &&
             atomic_load_explicit(&handles->version, memory_order_relaxed) == before)) {
            return req;
        }
        if (before % 2 != 0) {
            (void)sched_yield(); /* the writer may have lost its core */
        }
    }
}

static void change_begin(void)
{
    atomic_store_explicit(&handles->version,
                          atomic_load_explicit(&handles->version, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static void change_end(void)
{
    atomic_store_explicit(&handles->version,
                          atomic_load_explicit(&handles->version, memory_order_relaxed) + 1,
                          memory_order_release);
}

static void push(const struct mpixq_chains *table, struct mpixq_request *req, MPI_Request handle)
{
    link *chain = chain_of(table, handle);

    lead(&req->next_by_handle, follow(chain));
    lead(chain, req);
}

/* Twice as many chains; without memory they just get longer. In a change. */
static void grow(void)
{
    struct mpixq_chains *old = atomic_load_explicit(&handles->current, memory_order_relaxed);
    uint64_t size = (old->mask + 1) * 2;
    struct mpixq_chains *table = mpixq_alloc(sizeof *table); /* both freed in mpixq_handles_close */
    link *chains = mpixq_alloc(size * sizeof *chains);

    if (table == NULL || chains == NULL) {
        mpixq_free(table);
        mpixq_free(chains);
        return;
    }
    *table = (struct mpixq_chains){.mask = size - 1, .first = chains, .older = old};
    for (uint64_t i = 0; i <= old->mask; i++) {
        struct mpixq_request *req, *next;

        for (req = follow(&old->first[i]); req != NULL; req = next) {
            next = follow(&req->next_by_handle);
            push(table, req, atomic_load_explicit(&req->handle, memory_order_relaxed));
        }
    }
    atomic_store_explicit(&handles->current, table, memory_order_release);
}

void mpixq_handles_add(struct mpixq_request *req, MPI_Request handle)
{
    change_begin();
    if (handles->n_records > atomic_load_explicit(&handles->current, memory_order_relaxed)->mask) {
        grow();
    }
    atomic_store_explicit(&req->handle, handle, memory_order_release);
    push(atomic_load_explicit(&handles->current, memory_order_relaxed), req, handle);
    handles->n_records++;
    change_end();
}

void mpixq_handles_remove(struct mpixq_request *req)
{
    const struct mpixq_chains *table =
        atomic_load_explicit(&handles->current, memory_order_relaxed);
    link *from = chain_of(table, atomic_load_explicit(&req->handle, memory_order_relaxed));

    while (follow(from) != req) {
        from = &follow(from)->next_by_handle;
    }
    change_begin();
    atomic_store_explicit(&req->handle, MPI_REQUEST_NULL, memory_order_release);
    lead(from, follow(&req->next_by_handle));
    handles->n_records--;
    change_end();
}

void mpixq_handles_each(void (*visit)(struct mpixq_request *req, void *arg), void *arg)
{
    const struct mpixq_chains *table =
        atomic_load_explicit(&handles->current, memory_order_relaxed);

    for (uint64_t i = 0; i <= table->mask; i++) {
        struct mpixq_request *req, *next;

        for (req = follow(&table->first[i]); req != NULL; req = next) {
            next = follow(&req->next_by_handle);
            visit(req, arg);
        }
    }
}

void mpixq_handles_close(void)
{
    struct mpixq_chains *table = atomic_exchange(&handles->current, &handles->smallest), *older;

    for (; table != &handles->smallest; table = older) {
        older = table->older;
        mpixq_free(table->first);
        mpixq_free(table);
    }
    for (uint64_t i = 0; i <= handles->smallest.mask; i++) {
        lead(&handles->smallest_first[i], NULL);
    }
    handles->n_records = 0;
}
