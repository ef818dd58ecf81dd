/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "share_window.h"

#include <utlist.h>

#include "share_internal.h"
#include "stream/gpu_life.h"
#include "stream/gpu_share.h"
#include "util/alloc.h"

static bool is_over(const struct mpixq_share_seat *seat)
{
    return mpixq_gpu_life_is_over(seat->life);
}

/* In the place. */
static int make(struct mpixq_share_seat *seat)
{
    const struct mpixq_gpu *gpu = seat->share->gpu;
    struct mpixq_pinned *told = seat->memory;
    void *words = NULL, *seen = NULL;
    int code = mpixq_gpu_own_stream(gpu, &seat->moves);

    code = code != 0 ? code : mpixq_gpu_own_stream(gpu, &seat->looks);
    code = code != 0 ? code : mpixq_pinned_take(gpu, MPIXQ_SEAT_WORDS * sizeof(uint64_t), told);
    code = code != 0 ? code : mpixq_gpu_address(gpu, told->host, &seen);
    code = code != 0 ? code : gpu->words_alloc(seat->bytes, &words);
    seat->told = told->host;
    seat->told_seen = seen;
    seat->words = words;
    code = code != 0 ? code : mpixq_gpu_zero(gpu, seat->looks, words, seat->bytes);
    code = code != 0 ? code : mpixq_gpu_finish(gpu, seat->looks);
    code = code != 0 ? code : mpixq_gpu_share(gpu, words, &seat->handle);
    seat->id = code == 0 ? mpixq_gpu_allocation_id(gpu, words) : 0;
    return code;
}

static void seat_free(struct mpixq_share_seat *seat)
{
    if (seat->words != NULL && !is_over(seat)) {
        mpixq_gpu_free(seat->share->gpu, seat->words);
    }
    mpixq_pinned_give_up(seat->memory, is_over(seat));
    mpixq_free(seat->memory);
    mpixq_free(seat);
}

static struct mpixq_share_seat *seat_new(struct mpixq_share *share, size_t bytes,
                                         const char **why_p)
{
    const struct mpixq_gpu *gpu = share->gpu;
    struct mpixq_share_seat *seat = mpixq_alloc(sizeof *seat); /* freed in seat_free */
    void *before;
    int code;

    *why_p = "no memory";
    if (seat == NULL) {
        return NULL;
    }
    seat->share = share;
    seat->life = mpixq_share_life(share);
    seat->bytes = bytes;
    seat->memory = mpixq_alloc(sizeof(struct mpixq_pinned)); /* likewise */
    if (seat->memory == NULL) {
        mpixq_free(seat);
        return NULL;
    }
    code = gpu->enter(share->place, &before);
    if (code == 0) {
        code = make(seat);
        if (code != 0) {
            seat_free(seat);
        }
        gpu->leave(share->place, before);
    } else {
        seat_free(seat);
    }
    *why_p = code != 0 ? gpu->text(code) : NULL;
    return code == 0 ? seat : NULL;
}

/* Under the lock. */
static struct mpixq_share_seat *seat_add(struct mpixq_share *share, size_t bytes,
                                         const char **why_p)
{
    struct mpixq_share_seat *seat;

    *why_p = "a wait is pending on a stream, and to allocate memory might wait for it";
    if (!share->gpu->at_once && !mpixq_streams_pause_waits()) {
        return NULL;
    }
    seat = seat_new(share, bytes, why_p);
    if (!share->gpu->at_once) {
        mpixq_streams_resume_waits();
    }
    if (seat != NULL) {
        LL_PREPEND(share->seats, seat);
    }
    return seat;
}

struct mpixq_share_seat *mpixq_share_seat_take(struct mpixq_share *share, size_t bytes,
                                               const char **why_p)
{
    struct mpixq_share_seat *seat;

    mpixq_lock_acquire(&share->seating);
    LL_FOREACH(share->seats, seat)
    {
        if (!seat->is_taken && seat->bytes == bytes && seat->life == mpixq_share_life(share)) {
            break;
        }
    }
    seat = seat != NULL ? seat : seat_add(share, bytes, why_p);
    if (seat != NULL) {
        seat->is_taken = true;
    }
    mpixq_lock_release(&share->seating);
    for (int i = 0; seat != NULL && i < MPIXQ_SEAT_WORDS; i++) {
        atomic_store(&seat->told[i], 0);
    }
    return seat;
}

void mpixq_share_seat_give_back(struct mpixq_share_seat *seat)
{
    mpixq_lock_acquire(&seat->share->seating);
    seat->is_taken = false;
    mpixq_lock_release(&seat->share->seating);
}

void mpixq_share_seats_free(struct mpixq_share *share)
{
    struct mpixq_share_seat *seat;

    while ((seat = share->seats) != NULL) {
        LL_DELETE(share->seats, seat);
        seat_free(seat);
    }
}

/* NULL: in the place, to be left. */
static const char *enter(const struct mpixq_share_seat *seat, void **before_p)
{
    const struct mpixq_gpu *gpu = seat->share->gpu;
    int code;

    if (is_over(seat)) {
        return "the GPU was reset";
    }
    code = gpu->enter(seat->share->place, before_p);
    return code != 0 ? gpu->text(code) : NULL;
}

static const char *leave(const struct mpixq_share_seat *seat, void *before, int code)
{
    const struct mpixq_gpu *gpu = seat->share->gpu;

    gpu->leave(seat->share->place, before);
    return code != 0 ? gpu->text(code) : NULL;
}

const char *mpixq_share_put(struct mpixq_share_seat *seat, struct mpixq_puts *all)
{
    void *before, *parameters[] = {all};
    const char *why = enter(seat, &before);

    return why != NULL
               ? why
               : leave(seat, before,
                       mpixq_gpu_launch(seat->share->gpu, seat->moves, seat->share->kernels.put_all,
                                        (struct mpixq_grid){.blocks = all->blocks,
                                                            .threads = MPIXQ_BLOCK_OF_MOVES},
                                        parameters));
}

const char *mpixq_share_finish(struct mpixq_share_seat *seat)
{
    void *before;
    const char *why = enter(seat, &before);

    return why != NULL ? why : leave(seat, before, mpixq_gpu_finish(seat->share->gpu, seat->moves));
}

const char *mpixq_share_seat_zero(struct mpixq_share_seat *seat, void *memory, size_t bytes)
{
    const struct mpixq_gpu *gpu = seat->share->gpu;
    void *before;
    const char *why = enter(seat, &before);
    int code;

    if (why != NULL) {
        return why;
    }
    code = mpixq_gpu_zero(gpu, seat->looks, memory, bytes);
    code = code != 0 ? code : mpixq_gpu_finish(gpu, seat->looks);
    return leave(seat, before, code);
}

const char *mpixq_share_copy(struct mpixq_share_seat *seat, void *to, const void *from,
                             size_t bytes)
{
    const struct mpixq_gpu *gpu = seat->share->gpu;
    void *before;
    const char *why = enter(seat, &before);
    int code;

    if (why != NULL) {
        return why;
    }
    code = gpu->copy(seat->looks, to, from, bytes);
    code = code != 0 ? code : mpixq_gpu_finish(gpu, seat->looks);
    return leave(seat, before, code);
}

const char *mpixq_share_set(struct mpixq_share_seat *seat, struct mpixq_set *one)
{
    const struct mpixq_gpu *gpu = seat->share->gpu;
    void *before, *parameters[] = {one};
    const char *why = enter(seat, &before);
    int code;

    if (why != NULL) {
        return why;
    }
    code = mpixq_gpu_launch(gpu, seat->looks, seat->share->kernels.set_signal,
                            (struct mpixq_grid){.blocks = 1, .threads = 1}, parameters);
    code = code != 0 ? code : mpixq_gpu_finish(gpu, seat->looks);
    return leave(seat, before, code);
}
