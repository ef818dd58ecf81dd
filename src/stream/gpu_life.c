/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 */
#include "gpu_life.h"

#include <stdatomic.h>
#include <utlist.h>

#include "gpu_share.h"
#include "stream.h"
#include "util/alloc.h"
#include "util/lock.h"
#include "util/log.h"

struct place {
    const struct mpixq_gpu *gpu;
    void *place;
    uint64_t life;   /* changes under both locks */
    void *kept;      /* NULL: nothing could be allocated by now */
    uint64_t number; /* of that allocation */
    struct place *next;
};

static struct {
    /* Held while the GPU's library is asked: nobody whom a GPU may wait for takes it. */
    struct mpixq_lock ask;
    /* Guards the list, and the lives of what is in it. A leaf. */
    struct mpixq_lock lock;
    struct place *first;
    uint64_t last_life;
    atomic_uint n_over;
} places = {.ask = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_GPU_ASK),
            .lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_GPU_LIFE)};

static struct place *find(const struct mpixq_gpu *gpu, const void *where)
{
    struct place *place;

    LL_FOREACH(places.first, place)
    {
        if (place->gpu == gpu && place->place == where) {
            break;
        }
    }
    return place;
}

static struct place *add(const struct mpixq_gpu *gpu, void *where)
{
    struct place *place = mpixq_alloc(sizeof *place); /* freed in close */

    if (place != NULL) {
        place->gpu = gpu;
        place->place = where;
        mpixq_lock_acquire(&places.lock);
        place->life = ++places.last_life;
        LL_PREPEND(places.first, place);
        mpixq_lock_release(&places.lock);
    }
    return place;
}

/* To allocate may mean to wait for a GPU that waits for us. */
static void keep(struct place *place)
{
    bool holds = !place->gpu->at_once;

    if (holds && !mpixq_streams_hold_waits()) {
        return;
    }
    if (place->gpu->words_alloc(sizeof(uint64_t), &place->kept) == 0) {
        place->number = mpixq_gpu_allocation_id(place->gpu, place->kept);
    } else {
        place->kept = NULL;
    }
    if (holds) {
        mpixq_streams_let_waits();
    }
}

static void begin_again(struct place *place)
{
    uint64_t before = place->life;

    mpixq_lock_acquire(&places.lock);
    place->life = ++places.last_life;
    mpixq_lock_release(&places.lock);
    place->kept = NULL;
    atomic_fetch_add(&places.n_over, 1);
    mpixq_gpu_streams_end(before);
    mpixq_debug("%s: a device was reset", place->gpu->name);
}

uint64_t mpixq_gpu_life(const struct mpixq_gpu *gpu, void *where)
{
    struct place *place;
    uint64_t life = 0;

    mpixq_lock_acquire(&places.ask);
    place = find(gpu, where);
    place = place != NULL ? place : add(gpu, where);
    if (place != NULL) {
        if (place->kept != NULL && gpu->is_gone(place->kept, place->number)) {
            begin_again(place);
        }
        if (place->kept == NULL) {
            keep(place);
        }
        life = place->life;
    }
    mpixq_lock_release(&places.ask);
    return life;
}

bool mpixq_gpu_life_is_over(uint64_t life)
{
    const struct place *place;

    mpixq_lock_acquire(&places.lock);
    LL_SEARCH_SCALAR(places.first, place, life, life);
    mpixq_lock_release(&places.lock);
    return place == NULL && life != 0;
}

unsigned mpixq_gpu_lives_over(void)
{
    return atomic_load(&places.n_over);
}

/* A context that is gone cannot be entered, and its memory be asked for. */
static bool is_over(const struct place *place)
{
    void *before;
    bool enters = place->gpu->enter(place->place, &before) == 0;
    bool over = place->kept != NULL && place->gpu->is_gone(place->kept, place->number);

    if (enters) {
        place->gpu->leave(place->place, before);
    }
    return over;
}

void mpixq_gpu_lives_look(void)
{
    struct place *place;

    mpixq_lock_acquire(&places.ask);
    LL_FOREACH(places.first, place)
    {
        if (is_over(place)) {
            begin_again(place);
        }
    }
    mpixq_lock_release(&places.ask);
}

void mpixq_gpu_lives_close(void)
{
    struct place *place;

    while ((place = places.first) != NULL) {
        LL_DELETE(places.first, place);
        if (place->kept != NULL) {
            mpixq_gpu_free(place->gpu, place->kept);
        }
        mpixq_free(place);
    }
}
