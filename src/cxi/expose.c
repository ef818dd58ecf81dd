/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Doorbells and words for GPUs. They are made known to a GPU's library when a queue is created and
 * at the end of a match, since that may wait until GPUs go on; and not while one of our waits is in
 * a stream, for that might never end. A start whose doorbells the GPU does not see by then is rung
 * for by the stream's worker, as on streams of the host. */
#include "expose.h"

#include <unistd.h>
#include <utlist.h>

#include "core/alloc.h"
#include "core/env.h"
#include "core/lock.h"
#include "core/log.h"
#include "cxi.h"
#include "supply.h"

#define nic mpixq_cxi_nic

/* One page of the system that a GPU's library knows: several doorbells may lie on one. */
struct mapped {
    char *page, *seen;
    struct mapped *next;
};

/* Guards what follows, and is held while a GPU's library is called: nobody whom a GPU may wait for
 * takes it. */
static struct mpixq_lock expose_lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_CXI_EXPOSE);
static const struct mpixq_stream_ops *_Atomic mapper; /* written once */
static struct mapped *all_mapped;
static bool refused; /* registers: then the GPU's library is not asked again */

static struct mpixq_exposed *hidden, *shown; /* under nic.lock; shown: made known, or in vain */
static unsigned lives_over;                  /* when that was done: what is known of devices */

void mpixq_cxi_hidden(struct mpixq_exposed *exposed, void *memory, size_t bytes, bool is_io)
{
    exposed->memory = memory;
    exposed->bytes = bytes;
    exposed->is_io = is_io;
    LL_PREPEND(hidden, exposed);
}

static struct mpixq_exposed *take_hidden(void)
{
    struct mpixq_exposed *exposed;

    mpixq_lock_acquire(&nic.lock);
    exposed = hidden;
    if (exposed != NULL) {
        LL_DELETE(hidden, exposed);
        LL_PREPEND(shown, exposed);
    }
    mpixq_lock_release(&nic.lock);
    return exposed;
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Where GPUs see the page, or NULL. */
static char *map_page(char *page, bool is_io)
{
    struct mapped *mapped;
    char *seen;

    LL_FOREACH(all_mapped, mapped)
    {
        if (mapped->page == page) {
            return mapped->seen;
        }
    }
    seen = is_io && refused ? NULL : mapper->map(page, page_bytes(), is_io);
    refused = refused || (is_io && seen == NULL);
    mapped = seen != NULL ? mpixq_alloc(sizeof *mapped) : NULL; /* freed in the close */
    if (mapped == NULL) {
        if (seen != NULL) {
            mapper->unmap(page);
        }
        return NULL;
    }
    *mapped = (struct mapped){.page = page, .seen = seen};
    LL_PREPEND(all_mapped, mapped);
    return seen;
}

static void expose(struct mpixq_exposed *exposed)
{
    size_t offset = (uintptr_t)exposed->memory % page_bytes();
    char *seen = NULL;

    if (offset + exposed->bytes <= page_bytes()) {
        seen = map_page(exposed->memory - offset, exposed->is_io);
    }
    if (seen != NULL) {
        if (exposed->by == NULL) { /* two vendors' GPUs in one process: the host rings for one */
            exposed->by = mapper;
        }
        atomic_store_explicit(&exposed->seen, seen + offset, memory_order_release);
    }
}

/* A device was reset, by which mappings may be gone: doorbells are the host's until they are made
 * known again. Not every library forgets what was mapped before. */
static void hide_all(void)
{
    struct mpixq_exposed *exposed;

    mpixq_lock_acquire(&nic.lock);
    while ((exposed = shown) != NULL) {
        LL_DELETE(shown, exposed);
        LL_PREPEND(hidden, exposed);
        atomic_store(&exposed->seen, NULL);
    }
    mpixq_lock_release(&nic.lock);
}

static void unmap_all(void)
{
    struct mapped *mapped;

    while ((mapped = all_mapped) != NULL) {
        LL_DELETE(all_mapped, mapped);
        mapper->unmap(mapped->page);
        mpixq_free(mapped);
    }
}

static void say(void)
{
    const char *why = nic.why_no_bell != NULL ? nic.why_no_bell
                      : refused               ? "registers of the NIC cannot be mapped"
                                              : NULL;

    mpixq_print(
        "fabric: for streams of kind %s %s%s", mapper->kind,
        why == NULL ? "the GPU rings by itself" : "the host rings: ", why == NULL ? "" : why);
}

void mpixq_cxi_expose(const struct mpixq_stream_ops *ops)
{
    struct mpixq_exposed *exposed;
    bool is_first;

    if (atomic_load_explicit(&nic.state, memory_order_acquire) != CXI_OPEN ||
        (ops == NULL && mapper == NULL)) {
        return;
    }
    mpixq_lock_acquire(&expose_lock);
    is_first = mapper == NULL;
    mapper = is_first ? ops : mapper;
    if (lives_over != mpixq_memory_lives_over()) {
        hide_all();
    }
    if (mpixq_streams_hold_waits()) {
        if (lives_over != mpixq_memory_lives_over()) {
            lives_over = mpixq_memory_lives_over();
            unmap_all();
        }
        while ((exposed = take_hidden()) != NULL) {
            expose(exposed);
        }
        mpixq_streams_let_waits();
    }
    if (is_first && mpixq_env.info) {
        say();
    }
    mpixq_lock_release(&expose_lock);
}

void mpixq_cxi_expose_close(void)
{
    unmap_all();
    mapper = NULL;
    hidden = shown = NULL;
    refused = false;
}
