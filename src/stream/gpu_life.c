/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 */
#include "gpu_life.h"

#include <stdatomic.h>
#include <utlist.h>

#include "gpu_kept.h"
#include "gpu_share.h"
#include "stream.h"
#include "util/alloc.h"
#include "util/log.h"

struct mpixq_gpu_place {
    const struct mpixq_gpu *gpu;
    void *place;
    uint64_t life;   /* changes under both locks */
    void *kept;      /* NULL: nothing could be allocated by now */
    uint64_t number; /* of that allocation */
    struct mpixq_gpu_place *next;
};

struct mpixq_gpu_kept mpixq_gpu_kept = {
    .memory = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_STAGING)},
    .words = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_GPU_WORDS)},
    .lives = {.ask = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_GPU_ASK),
              .lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_GPU_LIFE)},
};

static struct mpixq_gpu_place *find(const struct mpixq_gpu *gpu, const void *where)
{
    struct mpixq_gpu_place *place;

    LL_FOREACH(mpixq_gpu_kept.lives.first, place)
    {
        if (place->gpu == gpu && place->place == where) {
            break;
        }
    }
    return place;
}

static struct mpixq_gpu_place *add(const struct mpixq_gpu *gpu, void *where)
{
    struct mpixq_gpu_place *place = mpixq_alloc(sizeof *place); /* freed in close */

    if (place != NULL) {
        place->gpu = gpu;
        place->place = where;
        mpixq_lock_acquire(&mpixq_gpu_kept.lives.lock);
        place->life = ++mpixq_gpu_kept.lives.last_life;
        LL_PREPEND(mpixq_gpu_kept.lives.first, place);
        mpixq_lock_release(&mpixq_gpu_kept.lives.lock);
    }
    return place;
}

/* To allocate may mean to wait for a GPU that waits for us. */
static void keep(struct mpixq_gpu_place *place)
{
    bool holds = !place->gpu->at_once;

    if (holds && !mpixq_streams_pause_waits()) {
        return;
    }
    if (place->gpu->words_alloc(sizeof(uint64_t), &place->kept) == 0) {
        place->number = mpixq_gpu_allocation_id(place->gpu, place->kept);
    } else {
        place->kept = NULL;
    }
    if (holds) {
        mpixq_streams_resume_waits();
    }
}

static void begin_again(struct mpixq_gpu_place *place)
{
    uint64_t before = place->life;

    mpixq_lock_acquire(&mpixq_gpu_kept.lives.lock);
    place->life = ++mpixq_gpu_kept.lives.last_life;
    mpixq_lock_release(&mpixq_gpu_kept.lives.lock);
    place->kept = NULL;
    atomic_fetch_add(&mpixq_gpu_kept.lives.n_over, 1);
    mpixq_gpu_streams_end(before);
    mpixq_debug("%s: a device was reset", place->gpu->name);
}

uint64_t mpixq_gpu_life(const struct mpixq_gpu *gpu, void *where)
{
    struct mpixq_gpu_place *place;
    uint64_t life = 0;

    mpixq_lock_acquire(&mpixq_gpu_kept.lives.ask);
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
    mpixq_lock_release(&mpixq_gpu_kept.lives.ask);
    return life;
}

bool mpixq_gpu_life_is_over(uint64_t life)
{
    const struct mpixq_gpu_place *place;

    mpixq_lock_acquire(&mpixq_gpu_kept.lives.lock);
    LL_SEARCH_SCALAR(mpixq_gpu_kept.lives.first, place, life, life);
    mpixq_lock_release(&mpixq_gpu_kept.lives.lock);
    return place == NULL && life != 0;
}

unsigned mpixq_gpu_lives_over(void)
{
    return atomic_load(&mpixq_gpu_kept.lives.n_over);
}

/* A context that is gone cannot be entered, and its memory be asked for. */
static bool is_over(const struct mpixq_gpu_place *place)
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
    struct mpixq_gpu_place *place;

    mpixq_lock_acquire(&mpixq_gpu_kept.lives.ask);
    LL_FOREACH(mpixq_gpu_kept.lives.first, place)
    {
        if (is_over(place)) {
            begin_again(place);
        }
    }
    mpixq_lock_release(&mpixq_gpu_kept.lives.ask);
}

void mpixq_gpu_lives_close(void)
{
    struct mpixq_gpu_place *place;

    while ((place = mpixq_gpu_kept.lives.first) != NULL) {
        LL_DELETE(mpixq_gpu_kept.lives.first, place);
        if (place->kept != NULL) {
            mpixq_gpu_free(place->gpu, place->kept);
        }
        mpixq_free(place);
    }
}
