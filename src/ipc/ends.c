/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Words of ends. Their values only grow, from one pair that uses them to the next, so what a GPU
 * wrote late is never more than what is there. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "process.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/log.h"

struct ipc_process mpixq_ipc = {
    .places = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_IPC_PLACES),
               .ends = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_IPC_ENDS)},
    .opened = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_IPC_OPEN),
               .lists = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_IPC_LISTS)},
    .fds = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_IPC_FDS), .mailbox = {-1, -1}},
    .live = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_IPC_LIVE)},
};

static void place_free(struct ipc_place *place)
{
    if (place->told_seen != NULL) {
        (void)mpixq_share_unmap(place->share,
                                (void *)place->told); /* the process is about to end */
    }
    if (place->told != NULL) {
        (void)munmap((void *)place->told, IPC_TOLD_BYTES);
    }
    if (place->file >= 0) {
        (void)close(place->file);
    }
    mpixq_free(place->spare);
    mpixq_free(place->closed);
    for (int i = 0; i < IPC_SIZES; i++) {
        mpixq_free(place->spare_slots[i]);
    }
    mpixq_free(place);
}

/* Again, if the share is in another life: not every library forgets what it had before. */
static const char *show_told(struct ipc_place *place)
{
    void *told = (void *)place->told;
    const char *why;

    if (place->told_seen != NULL) {
        (void)mpixq_share_unmap(place->share, told);
    }
    place->life = mpixq_share_life(place->share);
    place->told_seen = mpixq_share_map(place->share, told, IPC_TOLD_BYTES, &why);
    return place->told_seen == NULL ? "the GPU cannot reach memory of the host" : NULL;
}

/* Memory that peers open by the number of the file, and that goes with its last user. */
static const char *take_told(struct ipc_place *place)
{
    void *told;

    place->file = mpixq_alloc_file("mpix-queue", IPC_TOLD_BYTES);
    if (place->file < 0) {
        return "no memory that processes share";
    }
    told = mmap(NULL, IPC_TOLD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, place->file, 0);
    if (told == MAP_FAILED) {
        return "no memory that processes share";
    }
    place->told = told;
    return show_told(place);
}

/* Of the slots of a receive. */
static size_t slots_bytes(int size)
{
    size_t bytes = MPIXQ_SLOTS * mpixq_slot_bytes(((uint64_t)mpixq_env.eager >> 2 * size) + 1);

    return (bytes + 127) / 128 * 128; /* what is moved at a time */
}

/* Without memory for it a place has no slots. */
static void take_slots(struct ipc_place *place)
{
    for (int i = 0; i < IPC_SIZES; i++) {
        place->spare_slots[i] = mpixq_alloc(MPIXQ_SHARE_SLOT_BYTES / slots_bytes(i) *
                                            sizeof **place->spare_slots); /* freed in place_free */
    }
}

static struct ipc_place *place_make(struct mpixq_share *share, const char **why_p)
{
    struct ipc_place *place = mpixq_alloc(sizeof *place); /* freed in place_free */

    *why_p = "no memory";
    if (place == NULL) {
        return NULL;
    }
    place->share = share;
    place->file = -1;
    place->spare = mpixq_alloc(MPIXQ_SHARE_ENDS * sizeof *place->spare);   /* likewise */
    place->closed = mpixq_alloc(MPIXQ_SHARE_ENDS * sizeof *place->closed); /* likewise */
    if (place->spare != NULL && place->closed != NULL) {
        *why_p = take_told(place);
    }
    if (*why_p != NULL) {
        place_free(place);
        return NULL;
    }
    take_slots(place);
    LL_PREPEND(mpixq_ipc.places.first, place);
    return place;
}

struct ipc_place *mpixq_ipc_place(const char *kind, void *where, const char **why_p)
{
    struct mpixq_share *share = mpixq_share_of(kind, where, why_p);
    struct ipc_place *place;

    if (share == NULL) {
        return NULL;
    }
    mpixq_lock_acquire(&mpixq_ipc.places.lock);
    LL_FOREACH(mpixq_ipc.places.first, place)
    {
        if (place->share == share) {
            break;
        }
    }
    if (place == NULL) {
        place = place_make(share, why_p);
    } else if (place->told_seen == NULL || place->life != mpixq_share_life(share)) {
        *why_p = show_told(place);
        place = *why_p == NULL ? place : NULL;
    }
    mpixq_lock_release(&mpixq_ipc.places.lock);
    return place;
}

/* One that was closed comes last: its GPU has to open it again, which waits for that. */
bool mpixq_ipc_end_take(struct ipc_place *place, unsigned *number_p)
{
    bool is_closed = false, ok = true;

    mpixq_lock_acquire(&mpixq_ipc.places.ends);
    if (place->n_spare > 0) {
        *number_p = place->spare[--place->n_spare];
    } else if (place->n_fresh < MPIXQ_SHARE_ENDS) {
        *number_p = (unsigned)place->n_fresh++;
    } else {
        ok = is_closed = place->n_closed > 0;
        *number_p = ok ? place->closed[--place->n_closed] : 0;
    }
    mpixq_lock_release(&mpixq_ipc.places.ends);
    if (is_closed) {
        mpixq_share_reopen(place->share, mpixq_share_end(place->share, *number_p));
    }
    return ok;
}

void mpixq_ipc_end_give_back(struct ipc_place *place, const struct ipc_end *end, bool clean)
{
    mpixq_lock_acquire(&mpixq_ipc.places.ends);
    if (clean && end->was_closed) {
        place->closed[place->n_closed++] = end->number;
    } else if (clean) {
        place->spare[place->n_spare++] = end->number;
    }
    mpixq_lock_release(&mpixq_ipc.places.ends);
}

struct ipc_slots mpixq_ipc_slots_take(struct ipc_place *place, uint64_t bytes)
{
    struct ipc_slots slots = {.first = -1};
    int size = 0;

    while (size + 1 < IPC_SIZES && bytes <= (uint64_t)mpixq_env.eager >> 2 * (size + 1)) {
        size++;
    }
    if (place->spare_slots[size] == NULL) {
        return slots;
    }
    mpixq_lock_acquire(&mpixq_ipc.places.ends);
    if (place->n_spare_slots[size] > 0) {
        slots = place->spare_slots[size][--place->n_spare_slots[size]];
    } else if (place->slots_used + slots_bytes(size) <= MPIXQ_SHARE_SLOT_BYTES) {
        slots.first = (int32_t)place->slots_used;
        slots.size = size;
        place->slots_used += slots_bytes(size);
    }
    mpixq_lock_release(&mpixq_ipc.places.ends);
    return slots;
}

void mpixq_ipc_slots_give_back(struct ipc_place *place, struct ipc_slots slots, bool clean)
{
    mpixq_lock_acquire(&mpixq_ipc.places.ends);
    if (clean && slots.first >= 0) {
        place->spare_slots[slots.size][place->n_spare_slots[slots.size]++] = slots;
    }
    mpixq_lock_release(&mpixq_ipc.places.ends);
}

void mpixq_ipc_places_close(void)
{
    struct ipc_place *place;

    while ((place = mpixq_ipc.places.first) != NULL) {
        LL_DELETE(mpixq_ipc.places.first, place);
        place_free(place);
    }
}
