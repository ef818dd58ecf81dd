/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "tally.h"

#include <stddef.h>
#include <utlist.h>

#include "channel.h"
#include "failure.h"
#include "queue.h"
#include "stream/stream.h"
#include "tally_words.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/lock.h"
#include "util/progress.h"

#define MPIX_QUEUE_DEVICE_ONLY
#include "mpix_queue_device.h"

/* Rounds of the progress thread, of 0.2 ms, after the last start that it has found. */
enum { EXPECTED_ROUNDS = 50 };

static struct {
    /* Guards the list, which of its tallies a thread drives, and nothing else. */
    struct mpixq_lock lock;
    struct mpixq_tally *first;
    atomic_uint n;
    atomic_int expected; /* rounds that are left */
    struct mpixq_tally_slabs slabs;
} all = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_TALLIES),
         .slabs = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_TALLY_WORDS)}};

/* Starts that were made since those before the first capture, or these. */
static uint64_t count_of(const struct mpixq_tally *tally)
{
    uint64_t started = atomic_load_explicit(&tally->words->told.started, memory_order_acquire);

    return started > tally->gpu.floor ? started : tally->gpu.floor;
}

/* The life of a tally. */

void mpixq_tallies_provide(const struct mpixq_stream *stream)
{
    if (stream->ops->graphs != NULL && stream->rings) {
        (void)mpixq_tally_words_provide(&all.slabs, stream);
    }
}

/* What a kernel does of a start: as of a receive that has nothing to do but to count. */
static void fill_end(struct mpixq_gpu_end *gpu, char *seen)
{
    gpu->move.own = (struct mpixq_end *)(void *)seen;
    gpu->move.own_told =
        (struct mpixq_told *)(void *)(seen + offsetof(struct mpixq_tally_words, told));
    gpu->move.peer = gpu->move.own; /* so all is there that a kernel might look at */
    gpu->move.told = gpu->move.own_told;
    gpu->move.blocks = 1;
    gpu->move.is_ready = true;
    gpu->move.is_host = true;
    gpu->is_counted = true;
}

/* What is staged is copied in graphs unless the request was freed. */
static void fill_copy(const struct mpixq_tally *tally, int which, const struct mpixq_copy *copy)
{
    struct mpixq_copy *captured = &tally->pair->staging->captured[which];

    if (copy != NULL) {
        *captured = *copy;
        captured->closed = &tally->gpu.move.own->closed;
    }
}

/* The words of most were provided, but their number is not known. */
static struct mpixq_tally_words *take_words(struct mpixq_queue *queue, char **seen_p,
                                            const struct mpixq_tally_slab **slab_p)
{
    struct mpixq_tally_words *words =
        mpixq_tally_words_take(&all.slabs, queue->stream, seen_p, slab_p);
    bool provided;

    if (words != NULL) {
        return words;
    }
    mpixq_submission_lend(&queue->submission);
    provided = mpixq_tally_words_provide(&all.slabs, queue->stream);
    mpixq_submission_reclaim(&queue->submission);
    return provided ? mpixq_tally_words_take(&all.slabs, queue->stream, seen_p, slab_p) : NULL;
}

struct mpixq_tally *mpixq_tally_create(struct mpixq_pair *pair, struct mpixq_queue *queue)
{
    struct mpixq_tally *tally = mpixq_alloc(sizeof *tally); /* freed in mpixq_tally_free */
    char *seen = NULL;

    if (tally == NULL) {
        return NULL;
    }
    tally->words = take_words(queue, &seen, &tally->slab);
    if (tally->words == NULL) {
        mpixq_free(tally);
        return NULL;
    }
    tally->pair = pair;
    fill_end(&tally->gpu, seen);
    tally->gpu.floor = mpixq_pair_started(pair);
    atomic_store(&tally->begun, tally->gpu.floor);
    if (pair->channel->graphs->equip != NULL) {
        pair->channel->graphs->equip(pair, queue, tally);
    }
    if (pair->staging != NULL) {
        fill_copy(tally, 0, pair->staging->before);
        fill_copy(tally, 1, pair->staging->after);
    }
    tally->gpu.move.to = tally->bell;
    return tally;
}

void mpixq_tally_drive_from_now_on(struct mpixq_tally *tally)
{
    mpixq_lock_acquire(&all.lock);
    DL_APPEND(all.first, tally);
    mpixq_lock_release(&all.lock);
    atomic_fetch_add(&all.n, 1);
}

bool mpixq_tallies_any(void)
{
    return atomic_load(&all.n) > 0;
}

void mpixq_tally_free(struct mpixq_tally *tally)
{
    mpixq_lock_acquire(&all.lock);
    DL_DELETE(all.first, tally);
    mpixq_lock_release(&all.lock);
    atomic_fetch_sub(&all.n, 1);
    if (!tally->is_done_by_nic) {
        mpixq_tally_words_give_back(&all.slabs, tally->words);
    }
    mpixq_free(tally);
}

_Atomic uint64_t *mpixq_tally_done_word(const struct mpixq_tally *tally)
{
    return &tally->words->own.done;
}

struct mpixq_tally_words *mpixq_tally_take(struct mpixq_queue *queue, struct mpixq_gpu_end *gpu)
{
    const struct mpixq_tally_slab *slab;
    char *seen = NULL;
    struct mpixq_tally_words *words = take_words(queue, &seen, &slab);

    *gpu = (struct mpixq_gpu_end){.state = NULL};
    if (words != NULL) {
        fill_end(gpu, seen);
    }
    return words;
}

void mpixq_tally_return(struct mpixq_tally_words *words)
{
    mpixq_tally_words_give_back(&all.slabs, words);
}

bool mpixq_tally_suits(const struct mpixq_tally *tally, const struct mpixq_stream *stream)
{
    return stream->rings && mpixq_tally_words_suit(tally->slab, stream);
}

bool mpixq_tally_can_count(const struct mpixq_pair *pair, const struct mpixq_stream *stream)
{
    const struct mpixq_tally *tally = mpixq_tally_of(pair);

    return stream->rings && (tally == NULL || mpixq_tally_suits(tally, stream)) &&
           (pair->staging == NULL || pair->staging->place == stream->place);
}

/* Of graphs (graphs.h). */

bool mpixq_tally_is_under_way(const struct mpixq_tally *tally)
{
    return count_of(tally) > mpixq_pair_done(tally->pair);
}

const _Atomic uint64_t *mpixq_tally_mirror(const struct mpixq_tally *tally)
{
    return &tally->words->told.started;
}

/* What the channel is given is counted as executed by the channel. */
static void raise_started(struct mpixq_pair *pair, uint64_t started)
{
    (void)mpixq_pair_raise(&pair->started, started);
}

enum mpixq_error mpixq_tally_refresh(struct mpixq_pair *pair)
{
    struct mpixq_tally *tally = mpixq_tally_of(pair);

    raise_started(pair, count_of(tally));
    return mpixq_graphs_error(
        atomic_load_explicit(&tally->words->told.fault, memory_order_acquire));
}

/* The kernels copy what is staged, as the kernels of a graph do: nobody else comes in between. */
void mpixq_tally_describe(const struct mpixq_pair *pair, struct mpixq_device_request *device)
{
    const struct mpixq_tally *tally = mpixq_tally_of(pair);
    const struct mpixq_move *move = &tally->gpu.move;
    const struct mpixq_copy *before = mpixq_pair_copy_before(pair);
    const struct mpixq_copy *copy = before != NULL ? before : mpixq_pair_copy_after(pair);

    *device = (struct mpixq_device_request){.bytes = pair->bytes,
                                            .own = (struct mpixq_device_end *)(void *)move->own,
                                            .peer = (struct mpixq_device_end *)(void *)move->peer,
                                            .own_told =
                                                (struct mpixq_device_told *)(void *)move->own_told,
                                            .told = (struct mpixq_device_told *)(void *)move->told,
                                            .bell = (mpixq_dev_word *)(void *)tally->bell,
                                            .floor = tally->gpu.floor,
                                            .pair = pair->id,
                                            .is_send = mpixq_pair_is_send(pair) || before != NULL,
                                            .is_host = 1,
                                            .abi = MPIXQ_DEVICE_ABI};
    if (copy != NULL) {
        device->to = copy->to;
        device->from = copy->from;
        device->bytes = copy->bytes;
    }
}

void mpixq_tally_halt(struct mpixq_pair *pair)
{
    atomic_store(&mpixq_tally_of(pair)->words->told.halt, 1);
}

/* Have the right to drive it, which one thread has at a time. */
static void begin_drive(struct mpixq_tally *tally)
{
    struct mpixq_backoff backoff;
    bool was_driven;

    mpixq_backoff_begin(&backoff);
    do {
        mpixq_lock_acquire(&all.lock);
        was_driven = tally->is_driven;
        tally->is_driven = true;
        mpixq_lock_release(&all.lock);
        if (was_driven) {
            mpixq_backoff_pause(&backoff);
        }
    } while (was_driven);
}

static void end_drive(struct mpixq_tally *tally)
{
    mpixq_lock_acquire(&all.lock);
    tally->is_driven = false;
    mpixq_lock_release(&all.lock);
}

void mpixq_tally_shut(struct mpixq_tally *tally)
{
    atomic_store(&tally->words->own.closed, 1);
    begin_drive(tally);
    atomic_store(&tally->is_closed, true);
    end_drive(tally);
}

/* A kernel may have waited for what a NIC has done, and no thread has followed yet. */
void mpixq_tally_close(struct mpixq_pair *pair)
{
    struct mpixq_tally *tally = mpixq_tally_of(pair);

    atomic_store(&tally->words->own.closed, 1);
    if (tally->is_rung || tally->is_done_by_nic) {
        begin_drive(tally);
        pair->channel->graphs->go_on(pair);
        end_drive(tally);
    }
    mpixq_tally_shut(tally);
}

/* Driving. */

/* Under the lock. */
static bool needs_channel(const struct mpixq_tally *tally)
{
    return !tally->is_driven && !atomic_load(&tally->is_closed) &&
           (count_of(tally) > atomic_load(&tally->begun) || mpixq_tally_is_under_way(tally));
}

/* Under the lock, which is released meanwhile. While a thread drives it the tally stays. */
static void drive(struct mpixq_tally *tally)
{
    uint64_t begun = atomic_load(&tally->begun);

    tally->is_driven = true;
    mpixq_lock_release(&all.lock);
    tally->pair->channel->graphs->go_on(tally->pair);
    if (atomic_load(&tally->begun) != begun) {
        atomic_store(&all.expected, EXPECTED_ROUNDS);
    }
    mpixq_lock_acquire(&all.lock);
    tally->is_driven = false;
}

void mpixq_tallies_drive(void)
{
    struct mpixq_tally *tally;

    if (!mpixq_tallies_any()) {
        return;
    }
    mpixq_lock_acquire(&all.lock);
    DL_FOREACH(all.first, tally)
    {
        if (needs_channel(tally)) {
            drive(tally);
        }
    }
    mpixq_lock_release(&all.lock);
}

bool mpixq_tallies_expect(void)
{
    int left = atomic_load(&all.expected);

    if (left > 0) {
        atomic_store(&all.expected, left - 1);
    }
    return left > 0;
}

/* The stream's worker is as far as its GPU, which has counted the starts, and need not wait for the
 * progress thread. */
static void follow(void *const args[], int n, bool on_gpu)
{
    (void)on_gpu;
    mpixq_lock_acquire(&all.lock);
    for (int i = 0; i < n; i++) {
        struct mpixq_tally *tally = mpixq_tally_of(args[i]);

        if (tally != NULL && needs_channel(tally)) {
            drive(tally);
        }
    }
    mpixq_lock_release(&all.lock);
    mpixq_progress_wake();
}

/* Operations. */

bool mpixq_tally_start(struct mpixq_tally *tally, const struct mpixq_queue *queue,
                       struct mpixq_op *op)
{
    if (!mpixq_tally_suits(tally, queue->stream)) {
        tally->enqueued++;
        return false;
    }
    mpixq_op_call(op, MPIXQ_OP_MOVE, follow, tally->pair);
    op->is_after_host = false;
    op->value = mpixq_pair_started(tally->pair);
    op->gpu.end = &tally->gpu;
    op->copy = NULL;
    return true;
}

void mpixq_tally_wait_slow(const struct mpixq_queue *queue, struct mpixq_tally *tally,
                           mpixq_op_poll_fn *poll, struct mpixq_op *op)
{
    struct mpixq_pair *pair = tally->pair;

    if (mpixq_tally_suits(tally, queue->stream)) {
        mpixq_op_wait(op, MPIXQ_OP_TAKE, pair, mpixq_pair_done_word(pair), mpixq_pair_started(pair),
                      &queue->halted);
        op->gpu.end = &tally->gpu;
        return;
    }
    mpixq_op_wait(op, MPIXQ_OP_WAIT, pair, &tally->done, tally->enqueued, &queue->halted);
    op->poll = poll;
}

/* Of channels. */

static bool has_failed(const struct mpixq_tally *tally)
{
    const struct mpixq_queue *queue = mpixq_graphs_queue(tally->pair);

    return mpixq_pair_has_failed(tally->pair) || (queue != NULL && mpixq_queue_has_failed(queue));
}

enum mpixq_tally_next mpixq_tally_next(struct mpixq_tally *tally)
{
    uint64_t number = atomic_load(&tally->begun) + 1;

    if (atomic_load(&tally->is_closed) || number > count_of(tally)) {
        return MPIXQ_TALLY_NONE;
    }
    raise_started(tally->pair, number);
    tally->by = MPIXQ_BY_GPU;
    atomic_store(&tally->begun, number);
    return has_failed(tally) ? MPIXQ_TALLY_DROP : MPIXQ_TALLY_START;
}

void mpixq_tally_dropped(struct mpixq_tally *tally)
{
    mpixq_failure_abandon(tally->pair);
    mpixq_tally_halt(tally->pair);
}

bool mpixq_tally_is_older(const struct mpixq_tally *tally)
{
    return mpixq_pair_executed(tally->pair) < tally->gpu.floor;
}

/* The words say that it is started, and not waited for, once the channel has begun it. */
void mpixq_tally_begin(struct mpixq_tally *tally, const struct mpixq_queue *queue)
{
    uint64_t number = count_of(tally) + 1;

    tally->by = queue != NULL ? MPIXQ_BY_STREAM : MPIXQ_BY_HOST;
    tally->given += queue != NULL;
    atomic_store(&tally->begun, number);
    atomic_store(&tally->words->own.started, number);
    atomic_store(&tally->words->told.started, number);
}

/* A start of a thread is waited for by threads alone, unless a graph waits for it by now. Whoever
 * sees it done may replay a graph with the next one at once, whose kernel wants it waited for. */
void mpixq_tally_completes(struct mpixq_tally *tally, uint64_t done)
{
    if (tally->by != MPIXQ_BY_GPU) {
        (void)mpixq_pair_raise(&tally->words->own.waited, done);
    }
}

void mpixq_tally_completed(struct mpixq_tally *tally)
{
    if (!tally->is_done_by_nic) {
        atomic_store(&tally->words->own.done, mpixq_pair_done(tally->pair));
    }
    if (tally->by == MPIXQ_BY_GPU) {
        return;
    }
    if (tally->by == MPIXQ_BY_STREAM) {
        atomic_store_explicit(&tally->done, tally->given, memory_order_release);
    }
    tally->by = MPIXQ_BY_GPU;
}
