/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "share_internal.h"

#include <string.h>
#include <utlist.h>

#include "share_files.h"
#include "share_window.h"
#include "stream/gpu_life.h"
#include "stream/gpu_share.h"
#include "stream/gpu_stream.h"
#include "stream/gpu_submit.h"
#include "stream/gpu_words.h"
#include "stream/stream.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/lock.h"
#include "util/log.h"

enum {
    LINE = 128, /* bytes of the words of an end: no two ends share what is moved at a time */
    TAKEN_BACK = 1
};
enum { ZERO = 1, NEVER, OUTCOME, N_WORDS }; /* words behind moved */
_Static_assert(sizeof(struct mpixq_end) <= LINE, "room for the words of an end");

/* The lock guards the list and what is in it, and is held while the GPU's library is called: nobody
 * whom a GPU may wait for takes it. */
static struct {
    struct mpixq_lock lock;
    struct mpixq_share *first;
} shares = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_SHARE)};

/* Words for the host. Tickets go on from one life of the place to the next. */
static int take_host_words(struct mpixq_share *share)
{
    const struct mpixq_gpu *gpu = share->gpu;
    int code = share->words.gpu != NULL
                   ? mpixq_pinned_renew(&share->words)
                   : mpixq_pinned_take(gpu, N_WORDS * sizeof(uint64_t), &share->words);
    _Atomic uint64_t *words = share->words.host;

    if (code != 0) {
        return code;
    }
    atomic_store(&share->moved, words);
    share->outcome = words + OUTCOME;
    atomic_store(words, share->tickets);
    atomic_store(words + ZERO, 0);
    atomic_store(words + NEVER, UINT64_MAX);
    return mpixq_gpu_address(gpu, words, &share->moved_at);
}

static int take_words(struct mpixq_share *share)
{
    const struct mpixq_gpu *gpu = share->gpu;
    const size_t bytes = (size_t)MPIXQ_SHARE_ENDS * LINE + MPIXQ_SHARE_SLOT_BYTES;
    void *ends;
    int code = gpu->words_alloc(bytes, &ends);

    if (code != 0) {
        return code;
    }
    share->ends = ends;
    code = mpixq_gpu_zero(gpu, share->stream, ends, bytes);
    code = code != 0 ? code : mpixq_gpu_finish(gpu, share->stream);
    code = code != 0 ? code : mpixq_gpu_share(gpu, ends, &share->handle);
    return code != 0 ? code : take_host_words(share);
}

/* In the place. */
static const char *prepare(struct mpixq_share *share)
{
    const struct mpixq_gpu *gpu = share->gpu;
    int code;

    share->kernels = mpixq_gpu_kernels(gpu, share->place, mpixq_share_life(share));
    if (share->kernels.move_all == NULL) {
        return share->kernels.why;
    }
    share->n_peers = mpixq_gpu_peers(gpu, share->peers, MPIXQ_SHARE_PEERS);
    if (share->n_peers == 0) {
        return "the GPU has no name that other processes know";
    }
    code = mpixq_gpu_own_stream(gpu, &share->stream);
    code = code != 0 ? code : take_words(share);
    return code != 0 ? gpu->text(code) : NULL;
}

static bool may_open(const struct mpixq_gpu *gpu)
{
    return gpu->at_once || !mpixq_gpu_any_waits();
}

/* For the first time, or in another life of its place: then what there was is gone. */
static void make(struct mpixq_share *share)
{
    const struct mpixq_gpu *gpu = share->gpu;
    void *before;
    int code = gpu->enter(share->place, &before);

    share->why = code != 0 ? gpu->text(code) : NULL;
    if (code == 0) {
        share->ends = NULL;
        atomic_store(&share->life, mpixq_gpu_life(gpu, share->place));
        share->why = prepare(share);
        gpu->leave(share->place, before);
    }
}

static struct mpixq_share *add(const struct mpixq_gpu *gpu, void *place)
{
    struct mpixq_share *share = mpixq_alloc(sizeof *share); /* freed in mpixq_shares_close */

    if (share != NULL) {
        share->gpu = gpu;
        share->place = place;
        mpixq_lock_init(&share->moves, MPIXQ_RANK_SHARE_MOVES);
        mpixq_lock_init(&share->seating, MPIXQ_RANK_SHARE);
        make(share);
        LL_PREPEND(shares.first, share);
    }
    return share;
}

static bool is_over(const struct mpixq_share *share)
{
    return mpixq_gpu_life_is_over(mpixq_share_life(share));
}

/* Under the lock: the one of this place, of the life that it is in. NULL: *why_p is why. */
static struct mpixq_share *find_or_make(const struct mpixq_gpu *gpu, void *place,
                                        const char **why_p)
{
    struct mpixq_share *share;

    LL_FOREACH(shares.first, share)
    {
        if (share->gpu == gpu && share->place == place) {
            break;
        }
    }
    if (share != NULL && !is_over(share)) {
        return share;
    }
    *why_p = "a wait is pending on a stream, and to share memory might wait for it";
    if (!gpu->at_once && !mpixq_streams_pause_all()) {
        return NULL;
    }
    *why_p = "no memory";
    if (share != NULL) {
        make(share);
    } else {
        share = add(gpu, place);
    }
    if (!gpu->at_once) {
        mpixq_streams_resume_waits();
    }
    return share;
}

struct mpixq_share *mpixq_share_of(const char *kind, void *place, const char **why_p)
{
    struct mpixq_share *share;

    if (mpixq_env.gpu_ops == MPIXQ_GPU_OPS_VALUES) {
        *why_p = "kernels are not to be used (MPIXQ_GPU_OPS)";
        return NULL;
    }
    if (!mpixq_gpu_may_start_at(place)) {
        *why_p = "there are queues, but none on a stream of that GPU";
        return NULL;
    }
    mpixq_lock_acquire(&shares.lock);
    share = find_or_make(mpixq_gpu_of(kind), place, why_p);
    mpixq_lock_release(&shares.lock);
    if (share != NULL && share->why != NULL) {
        *why_p = share->why;
        return NULL;
    }
    return share;
}

void mpixq_shares_close(void)
{
    struct mpixq_share *share;

    mpixq_files_end();
    while ((share = shares.first) != NULL) {
        bool over = is_over(share);

        LL_DELETE(shares.first, share);
        mpixq_share_seats_free(share);
        if (share->ends != NULL && !over) {
            mpixq_gpu_free(share->gpu, share->ends);
        }
        mpixq_pinned_give_up(&share->words, over);
        mpixq_lock_destroy(&share->moves);
        mpixq_lock_destroy(&share->seating);
        mpixq_free(share);
    }
}

const void *mpixq_share_place(const struct mpixq_share *share)
{
    return share->place;
}

const struct mpixq_gpu_ident *mpixq_share_ident(const struct mpixq_share *share)
{
    return &share->peers[0].ident;
}

uint64_t mpixq_share_life(const struct mpixq_share *share)
{
    return atomic_load(&share->life);
}

enum mpixq_share_reach mpixq_share_reaches(const struct mpixq_share *share,
                                           const struct mpixq_gpu_ident *other)
{
    for (int i = 0; i < share->n_peers; i++) {
        if (memcmp(&share->peers[i].ident, other, sizeof *other) == 0) {
            return share->peers[i].is_reached ? MPIXQ_REACHES : MPIXQ_REACHES_NOT;
        }
    }
    return MPIXQ_REACH_HIDDEN;
}

bool mpixq_share_may_open(const struct mpixq_share *share)
{
    return may_open(share->gpu);
}

struct mpixq_end *mpixq_share_end_of(void *ends, unsigned number)
{
    return (struct mpixq_end *)(void *)((char *)ends + (size_t)number * LINE);
}

struct mpixq_end *mpixq_share_end(const struct mpixq_share *share, unsigned number)
{
    return mpixq_share_end_of(share->ends, number);
}

void *mpixq_share_slots_of(void *ends)
{
    return (char *)ends + (size_t)MPIXQ_SHARE_ENDS * LINE;
}

void *mpixq_share_slots(const struct mpixq_share *share)
{
    return mpixq_share_slots_of(share->ends);
}

const struct mpixq_gpu_handle *mpixq_share_ends(const struct mpixq_share *share)
{
    return &share->handle;
}

/* Into the stream of our own, of which the GPU does everything. Words are waited for as those are
 * whose gate is open. */
uint64_t mpixq_share_submit(struct mpixq_share *share, struct mpixq_op list[], int n)
{
    char *words = share->moved_at;
    const struct mpixq_gpu_lane lane = {.gpu = share->gpu,
                                        .handle = share->stream,
                                        .place = share->place,
                                        .reached_at = words,
                                        .gate_at = words + NEVER * sizeof(uint64_t),
                                        .halt_at = words + ZERO * sizeof(uint64_t),
                                        .kernels = share->kernels};
    uint64_t ticket;
    int code;

    for (int i = 0; i < n; i++) {
        list[i].on_gpu = true;
    }
    mpixq_lock_acquire(&share->moves);
    ticket = ++share->tickets;
    code = mpixq_op_is_wait(list) ? mpixq_gpu_submit_waits(&lane, list, n, ticket)
                                  : mpixq_gpu_submit_starts(&lane, list, n, ticket);
    mpixq_lock_release(&share->moves);
    if (code != 0) {
        mpixq_err("%s cannot move data: %s", share->gpu->name, share->gpu->text(code));
    }
    return code == 0 ? ticket : 0;
}

bool mpixq_share_has_moved(const struct mpixq_share *share, uint64_t ticket)
{
    return atomic_load_explicit(atomic_load(&share->moved), memory_order_acquire) >= ticket;
}

const char *mpixq_share_broken(const struct mpixq_share *share)
{
    const char *why = NULL;
    void *before;

    if (share->gpu->enter(share->place, &before) == 0) {
        why = mpixq_gpu_broken(share->gpu, share->stream);
        share->gpu->leave(share->place, before);
    } else {
        why = "it cannot be used";
    }
    return why;
}

/* In the place. */
static int call_back(struct mpixq_share *share, struct mpixq_recall *recall)
{
    const struct mpixq_gpu *gpu = share->gpu;
    void *parameters[] = {recall};
    int code = mpixq_gpu_address(gpu, share->outcome, &recall->outcome);

    code = code != 0 ? code
                     : mpixq_gpu_launch(gpu, share->stream, share->kernels.call_back,
                                        (struct mpixq_grid){.blocks = 1, .threads = 1}, parameters);
    return code != 0 ? code : mpixq_gpu_finish(gpu, share->stream);
}

/* A GPU that is broken starts nothing any more. */
void mpixq_share_store(struct mpixq_share *share, mpixq_word_t *word, uint64_t value)
{
    const struct mpixq_gpu *gpu = share->gpu;
    void *parameters[] = {&word, &value}, *before;

    if (gpu->enter(share->place, &before) == 0) {
        if (mpixq_gpu_launch(gpu, share->stream, share->kernels.ring,
                             (struct mpixq_grid){.blocks = 1, .threads = 1}, parameters) == 0) {
            (void)mpixq_gpu_finish(gpu, share->stream);
        }
        gpu->leave(share->place, before);
    }
}

void mpixq_share_reopen(struct mpixq_share *share, struct mpixq_end *end)
{
    const size_t from = offsetof(struct mpixq_end, come);
    void *before;

    if (share->gpu->enter(share->place, &before) == 0) {
        if (mpixq_gpu_zero(share->gpu, share->stream, (char *)end + from, sizeof *end - from) ==
            0) {
            (void)mpixq_gpu_finish(share->gpu, share->stream);
        }
        share->gpu->leave(share->place, before);
    }
}

bool mpixq_share_recall(struct mpixq_share *share, struct mpixq_recall *recall)
{
    _Atomic uint64_t *outcome = share->outcome;
    bool taken_back;
    void *before;

    mpixq_lock_acquire(&shares.lock);
    atomic_store(outcome, 0);
    if (share->gpu->enter(share->place, &before) == 0) {
        (void)call_back(share, recall); /* a GPU that is broken moves nothing any more */
        share->gpu->leave(share->place, before);
    }
    taken_back = atomic_load(outcome) == TAKEN_BACK;
    mpixq_lock_release(&shares.lock);
    return taken_back;
}

/* In the place. What the kernel has found is what the one before has left there, or 0: it has not
 * seen its own changes. */
static int try_once(struct mpixq_share *share, struct mpixq_end *end, uint64_t *found_p)
{
    const struct mpixq_gpu *gpu = share->gpu;
    _Atomic uint64_t *outcome = share->outcome;
    void *word = &end->tried, *at = NULL;
    void *parameters[] = {&word, &at};
    int code = mpixq_gpu_address(gpu, share->outcome, &at);

    atomic_store(outcome, 0);
    code = code != 0 ? code
                     : mpixq_gpu_launch(gpu, share->stream, share->kernels.try_end,
                                        (struct mpixq_grid){.blocks = 1, .threads = 1}, parameters);
    code = code != 0 ? code : mpixq_gpu_finish(gpu, share->stream);
    *found_p = atomic_load(outcome);
    return code;
}

/* Twice: what the first one has changed must have reached the memory itself. */
static bool try_twice(struct mpixq_share *share, struct mpixq_end *end)
{
    uint64_t first = 0, second = 0;
    void *before;
    int code = share->gpu->enter(share->place, &before);

    if (code == 0) {
        code = try_once(share, end, &first);
        code = code != 0 ? code : try_once(share, end, &second);
        share->gpu->leave(share->place, before);
    }
    return code == 0 && first != 0 && second == first + MPIXQ_TRY_CHANGES;
}

static const struct tried *find_tried(const struct mpixq_share *share,
                                      const struct mpixq_gpu_ident *other)
{
    for (int i = 0; i < share->n_tried; i++) {
        if (memcmp(&share->tried[i].gpu, other, sizeof *other) == 0) {
            return &share->tried[i];
        }
    }
    return NULL;
}

static bool has_no_atomics(const struct mpixq_share *share, const struct mpixq_gpu_ident *other)
{
    return share->gpu->has_no_atomics != NULL &&
           share->gpu->has_no_atomics(&share->peers[0].ident, other);
}

const char *mpixq_share_try(struct mpixq_share *share, const struct mpixq_gpu_ident *other,
                            struct mpixq_end *end)
{
    const struct tried *known;
    bool works;

    mpixq_lock_acquire(&shares.lock);
    known = find_tried(share, other);
    if (known == NULL && !mpixq_streams_pause_all()) {
        mpixq_lock_release(&shares.lock);
        return "a wait is pending on a stream, for which a first try of the peer's GPU might wait";
    }
    if (known == NULL) {
        works = !has_no_atomics(share, other) && try_twice(share, end);
        mpixq_streams_resume_waits();
        if (share->n_tried < MPIXQ_SHARE_PEERS) {
            share->tried[share->n_tried++] = (struct tried){.gpu = *other, .works = works};
        }
    } else {
        works = known->works;
    }
    mpixq_lock_release(&shares.lock);
    return works ? NULL : "the GPU does not reach the peer's by atomic operations";
}
