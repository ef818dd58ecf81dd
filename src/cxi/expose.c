/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Doorbells and words for GPUs. They are made known to a GPU's library when a queue is created and
 * at the end of a match, since that may wait until GPUs go on; and not while one of our waits is in
 * a stream, a replay or a kernel, for that might never end. A start whose doorbells the GPU does
 * not see by then is rung for by the stream's worker, as on streams of the host. */
#include "expose.h"

#include <unistd.h>
#include <utlist.h>

#include "nic.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/lock.h"
#include "util/log.h"

/* Pages of the system that a GPU's library knows: one, on which several doorbells may lie, or those
 * of a block of slots. */
struct cxi_mapped {
    char *page, *seen;
    struct cxi_mapped *next;
};

void mpixq_cxi_hidden(struct cxi_exposure *exposure, struct mpixq_exposed *exposed, void *memory,
                      size_t bytes, bool is_io)
{
    exposed->memory = memory;
    exposed->bytes = bytes;
    exposed->is_io = is_io;
    LL_PREPEND(exposure->hidden, exposed);
}

static struct mpixq_exposed *take_hidden(struct cxi_nic *nic)
{
    struct mpixq_exposed *exposed;

    mpixq_lock_acquire(&nic->lock);
    exposed = nic->exposure.hidden;
    if (exposed != NULL) {
        LL_DELETE(nic->exposure.hidden, exposed);
        LL_PREPEND(nic->exposure.shown, exposed);
    }
    mpixq_lock_release(&nic->lock);
    return exposed;
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static char *show(const struct mpixq_stream_kind *kind, char *page, size_t bytes, bool is_io)
{
    return kind->ops->map(kind, page, bytes, is_io);
}

/* Where GPUs see the pages, or NULL. */
static char *map_pages(struct cxi_exposure *exposure, char *page, size_t bytes, bool is_io)
{
    struct cxi_mapped *mapped;
    char *seen;

    LL_FOREACH(exposure->mapped, mapped)
    {
        if (mapped->page == page) {
            return mapped->seen;
        }
    }
    seen = is_io && exposure->refused ? NULL : show(exposure->mapper, page, bytes, is_io);
    exposure->refused = exposure->refused || (is_io && seen == NULL);
    mapped = seen != NULL ? mpixq_alloc(sizeof *mapped) : NULL; /* freed in the close */
    if (mapped == NULL) {
        if (seen != NULL) {
            exposure->mapper->ops->unmap(exposure->mapper, page);
        }
        return NULL;
    }
    *mapped = (struct cxi_mapped){.page = page, .seen = seen};
    LL_PREPEND(exposure->mapped, mapped);
    return seen;
}

static void expose(struct cxi_exposure *exposure, struct mpixq_exposed *exposed)
{
    size_t offset = (uintptr_t)exposed->memory % page_bytes();
    size_t pages = (offset + exposed->bytes + page_bytes() - 1) / page_bytes();
    char *seen =
        map_pages(exposure, exposed->memory - offset, pages * page_bytes(), exposed->is_io);

    if (seen != NULL) {
        if (exposed->by == NULL) { /* two vendors' GPUs in one process: the host rings for one */
            exposed->by = exposure->mapper;
        }
        atomic_store_explicit(&exposed->seen, seen + offset, memory_order_release);
    }
}

/* A device was reset, by which mappings may be gone: doorbells are the host's until they are made
 * known again. Not every library forgets what was mapped before. */
static void hide_all(struct cxi_nic *nic)
{
    struct mpixq_exposed *exposed;

    mpixq_lock_acquire(&nic->lock);
    while ((exposed = nic->exposure.shown) != NULL) {
        LL_DELETE(nic->exposure.shown, exposed);
        LL_PREPEND(nic->exposure.hidden, exposed);
        atomic_store(&exposed->seen, NULL);
    }
    mpixq_lock_release(&nic->lock);
}

static char *page_of(const struct mpixq_exposed *exposed)
{
    return exposed->memory - (uintptr_t)exposed->memory % page_bytes();
}

/* Under nic.lock. */
static bool is_alone(const struct cxi_exposure *exposure, const struct mpixq_exposed *exposed)
{
    const struct mpixq_exposed *other;

    LL_FOREACH(exposure->shown, other)
    {
        if (other != exposed && page_of(other) == page_of(exposed)) {
            return false;
        }
    }
    return true;
}

/* Another one may come to lie at that address, on another page of the device. */
static bool unmap(struct cxi_exposure *exposure, const struct mpixq_exposed *exposed)
{
    struct cxi_mapped *mapped;

    if (!mpixq_streams_pause_all()) {
        return false;
    }
    LL_SEARCH_SCALAR(exposure->mapped, mapped, page, page_of(exposed));
    if (mapped != NULL) {
        LL_DELETE(exposure->mapped, mapped);
        exposure->mapper->ops->unmap(exposure->mapper, mapped->page);
        mpixq_free(mapped);
    }
    mpixq_streams_resume_waits();
    return true;
}

/* Is in the list; then it is taken out. Under nic.lock. */
static bool take_out(struct mpixq_exposed **list, struct mpixq_exposed *exposed)
{
    struct mpixq_exposed *other;

    LL_FOREACH(*list, other)
    {
        if (other == exposed) {
            LL_DELETE(*list, exposed);
            return true;
        }
    }
    return false;
}

bool mpixq_cxi_hide(struct cxi_nic *nic, struct mpixq_exposed *exposed)
{
    struct cxi_exposure *exposure = &nic->exposure;
    bool may;

    mpixq_lock_acquire(&exposure->lock);
    mpixq_lock_acquire(&nic->lock);
    may = is_alone(exposure, exposed);
    mpixq_lock_release(&nic->lock);
    may = may && (atomic_load(&exposed->seen) == NULL || unmap(exposure, exposed));
    if (may) {
        mpixq_lock_acquire(&nic->lock);
        (void)(take_out(&exposure->hidden, exposed) || take_out(&exposure->shown, exposed));
        mpixq_lock_release(&nic->lock);
    }
    mpixq_lock_release(&exposure->lock);
    return may;
}

static void unmap_all(struct cxi_exposure *exposure)
{
    struct cxi_mapped *mapped;

    while ((mapped = exposure->mapped) != NULL) {
        LL_DELETE(exposure->mapped, mapped);
        exposure->mapper->ops->unmap(exposure->mapper, mapped->page);
        mpixq_free(mapped);
    }
}

static void say(const struct cxi_nic *nic)
{
    const struct cxi_exposure *exposure = &nic->exposure;
    const char *why = nic->why_no_bell != NULL ? nic->why_no_bell
                      : exposure->refused      ? "registers of the NIC cannot be mapped"
                                               : NULL;

    mpixq_print(
        "fabric: for streams of kind %s %s%s", exposure->mapper->name,
        why == NULL ? "the GPU rings by itself" : "the host rings: ", why == NULL ? "" : why);
}

void mpixq_cxi_expose(struct cxi_nic *nic, const struct mpixq_stream_kind *kind)
{
    struct cxi_exposure *exposure = &nic->exposure;
    struct mpixq_exposed *exposed;
    bool is_first;

    if (kind == NULL && exposure->mapper == NULL) {
        return;
    }
    mpixq_lock_acquire(&exposure->lock);
    is_first = exposure->mapper == NULL;
    exposure->mapper = is_first ? kind : exposure->mapper;
    if (exposure->lives_over != mpixq_memory_lives_over()) {
        hide_all(nic);
    }
    if (mpixq_streams_pause_all()) {
        if (exposure->lives_over != mpixq_memory_lives_over()) {
            exposure->lives_over = mpixq_memory_lives_over();
            unmap_all(exposure);
        }
        while ((exposed = take_hidden(nic)) != NULL) {
            expose(exposure, exposed);
        }
        mpixq_streams_resume_waits();
    }
    if (is_first && mpixq_env.info) {
        say(nic);
    }
    mpixq_lock_release(&exposure->lock);
}

void mpixq_cxi_exposure_open(struct cxi_exposure *exposure)
{
    mpixq_lock_init(&exposure->lock, MPIXQ_RANK_CXI_EXPOSE);
}

void mpixq_cxi_exposure_close(struct cxi_exposure *exposure)
{
    unmap_all(exposure);
    exposure->mapper = NULL;
    exposure->hidden = exposure->shown = NULL;
    exposure->refused = false;
}
