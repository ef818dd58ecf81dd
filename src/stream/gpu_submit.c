/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "gpu_submit.h"

#include <string.h>

#include "gpu_slots.h"
#include "op.h"

/* A block. */
static struct mpixq_grid threads(unsigned n)
{
    return (struct mpixq_grid){.blocks = 1, .threads = n};
}

/* passes: then the ticket has been reached. */
static int wait_for_gate(const struct mpixq_gpu_lane *lane, uint64_t ticket, bool passes)
{
    void *gate_at = lane->gate_at, *reached_at = passes ? lane->reached_at : NULL;
    void *parameters[] = {&gate_at, &ticket, &reached_at, &ticket};

    return lane->by_values ? lane->gpu->wait(lane->handle, gate_at, ticket, reached_at, ticket)
                           : mpixq_gpu_launch(lane->gpu, lane->handle, lane->kernels.wait,
                                              threads(1), parameters);
}

void mpixq_gpu_take_starts(const struct mpixq_stream *stream, struct mpixq_op list[], int n)
{
    for (int i = 0; stream->rings && i < n; i++) {
        char *bell = list[i].kind == MPIXQ_OP_RING
                         ? mpixq_exposed_to(list[i].gpu.exposed, stream->kind)
                         : NULL;

        list[i].on_gpu = bell != NULL || list[i].kind == MPIXQ_OP_MOVE;
        list[i].gpu.seen = bell != NULL ? bell : list[i].gpu.seen;
    }
}

void mpixq_gpu_take_waits(const struct mpixq_stream *stream, struct mpixq_op list[], int n)
{
    for (int i = 0; stream->rings && i < n; i++) {
        const struct mpixq_exposed *exposed =
            stream->watches && list[i].kind == MPIXQ_OP_WAIT ? list[i].gpu.exposed : NULL;
        char *seen = mpixq_exposed_to(exposed, stream->kind);

        list[i].on_gpu = seen != NULL || list[i].kind == MPIXQ_OP_TAKE ||
                         list[i].kind == MPIXQ_OP_COMBINE ||
                         (list[i].kind == MPIXQ_OP_DRAIN && stream->watches &&
                          mpixq_gpu_slots_claim(stream, &list[i]));
        if (seen != NULL) {
            list[i].gpu.seen = seen + ((const char *)list[i].u.awaited - exposed->memory);
        }
    }
}

enum how { NOTHING, BY_ENGINE, BY_KERNEL, ONLY_BY_KERNEL };

/* How a copy is made. A kernel has to reach both ends. */
static enum how how_to_copy(const struct mpixq_gpu_lane *lane, const struct mpixq_copy *copy)
{
    if (copy == NULL) {
        return NOTHING;
    }
    if (copy->closed != NULL) {
        return ONLY_BY_KERNEL;
    }
    return lane->kernels.copy != NULL && copy->bytes <= MPIXQ_SMALL && copy->place == lane->place
               ? BY_KERNEL
               : BY_ENGINE;
}

/* Of a block for n pieces, the threads of each: as many as leave it few rounds, in whole warps. */
static unsigned threads_of_each(unsigned n, size_t largest)
{
    enum { WARP = 32, ROUND = 64 }; /* bytes of a thread in a round of the kernel */
    size_t wanted = (largest / ROUND / WARP + 1) * WARP;
    size_t most = (size_t)(MPIXQ_THREADS / n / WARP) * WARP;

    return (unsigned)(wanted < most ? wanted : most);
}

/* So many copies, one at least. The last launch tells that the ticket is reached, if word is not
 * NULL. */
static int copy_small(const struct mpixq_gpu_lane *lane, const struct mpixq_op *op, int left,
                      void *word, uint64_t ticket)
{
    struct mpixq_pieces pieces;
    void *parameters[] = {&pieces};
    size_t largest = 0;
    int code = 0;

    pieces.n = 0;
    pieces.value = ticket;
    for (; code == 0 && left > 0; op++) {
        const struct mpixq_copy *copy = op->copy;

        if (how_to_copy(lane, copy) < BY_KERNEL) {
            continue;
        }
        pieces.piece[pieces.n] =
            (struct mpixq_piece){.to = copy->to, .from = copy->from, .bytes = copy->bytes};
        pieces.closed[pieces.n] = copy->closed;
        largest = copy->bytes > largest ? copy->bytes : largest;
        pieces.n++;
        left--;
        if (pieces.n == MPIXQ_PIECES || left == 0) {
            pieces.word = left == 0 ? word : NULL;
            pieces.each = threads_of_each(pieces.n, largest);
            code = mpixq_gpu_launch(lane->gpu, lane->handle, lane->kernels.copy,
                                    threads(pieces.n * pieces.each), parameters);
            pieces.n = 0;
            largest = 0;
        }
    }
    return code;
}

/* Copy, and then tell that the ticket is reached, if that is wanted. */
static int copy_and_tell(const struct mpixq_gpu_lane *lane, const struct mpixq_op list[], int n,
                         bool tells, uint64_t ticket)
{
    int n_small = 0, code = 0;
    bool together = false;

    for (int i = 0; i < n; i++) {
        enum how how = how_to_copy(lane, list[i].copy);

        n_small += how >= BY_KERNEL;
        together = together || how == ONLY_BY_KERNEL || n_small >= MPIXQ_SEVERAL;
    }
    for (int i = 0; code == 0 && i < n; i++) {
        const struct mpixq_copy *copy = list[i].copy;
        enum how how = how_to_copy(lane, copy);

        if (how == BY_ENGINE || (how == BY_KERNEL && !together)) {
            code = lane->gpu->copy(lane->handle, copy->to, copy->from, copy->bytes);
        }
    }
    if (code == 0 && together) {
        return copy_small(lane, list, n_small, tells ? lane->reached_at : NULL, ticket);
    }
    return code == 0 && tells ? mpixq_gpu_write_reached(lane, ticket) : code;
}

/* Threads for so many bytes, of which each copies so many words of a slot. */
static size_t threads_wanted(size_t largest)
{
    enum { WARP = 32, ROUNDS = 4 };

    return (largest / MPIXQ_UNIT / ROUNDS / WARP + 1) * WARP;
}

/* The threads of each word, and blocks: one thread, but for messages that are copied from slots.
 * Of one that has nothing but data a thread copies WIDER times as much, and each thread looks at
 * the word for itself. Where many messages want more threads than a block has, several blocks have
 * twice as many, if none of them need know what has come to the others. */
static void divide_words(struct mpixq_words *all, bool all_ends)
{
    enum { WARP = 32, WIDER = 4, COMBINING = 256, BLOCKS = 8, OF_BLOCK = 256 };
    size_t largest = 0, wanted, most = (size_t)(MPIXQ_THREADS / all->n / WARP) * WARP;

    all->blocks = all->each = 1;
    for (unsigned i = 0; i < all->n; i++) {
        size_t bytes = all->at[i].slot == NULL ? 0 : all->at[i].bytes;

        bytes = all->at[i].taken != NULL ? (bytes + WIDER - 1) / WIDER : bytes;
        largest = bytes > largest ? bytes : largest;
    }
    if (largest == 0 && all->combine.n == 0) {
        return;
    }
    wanted = threads_wanted(largest);
    if (all->combine.n > 0 && wanted * all->n < COMBINING) {
        wanted = (COMBINING / all->n / WARP + 1) * WARP;
    }
    if (all_ends && !all->is_combined && wanted > most && all->n >= BLOCKS) {
        all->blocks = BLOCKS;
        most = OF_BLOCK / ((all->n + BLOCKS - 1) / BLOCKS) / WARP * WARP;
    }
    all->each = (unsigned)(wanted < most ? wanted : most);
}

/* A doorbell is rung once in a launch, for all starts that it is rung for. */
static void add_ring(struct mpixq_words *all, const struct mpixq_op *op)
{
    unsigned i = all->n;

    while (i > 0 && all->at[i - 1].address != op->gpu.seen) {
        i--;
    }
    if (i > 0) {
        all->at[i - 1].value++;
        return;
    }
    memset(&all->at[all->n], 0, sizeof all->at[0]);
    all->at[all->n].address = op->gpu.seen;
    all->at[all->n++].value = 1;
}

static void add_wait(struct mpixq_words *all, const struct mpixq_op *op)
{
    const struct mpixq_gpu_end *end = op->gpu.end;
    unsigned i = all->n++;

    memset(&all->at[i], 0, sizeof all->at[i]);
    if (op->kind == MPIXQ_OP_DRAIN) {
        mpixq_gpu_slots_add(all, i, op);
        return;
    }
    all->at[i].value = op->value;
    if (op->kind == MPIXQ_OP_WAIT) {
        all->at[i].address = op->gpu.seen;
        return;
    }
    all->at[i].address = &end->move.own->done;
    all->at[i].state = end->state;
    all->at[i].go = end->go;
    all->at[i].to = end->move.to;
    all->at[i].bytes = end->move.bytes;
    if (end->is_counted) {
        all->at[i].counted = end->move.own_told;
        all->at[i].value = end->floor;
        all->at[i].mine = end->move.is_send ? MPIXQ_STATE_SEND(0) : MPIXQ_STATE_RECEIVE(0);
        all->at[i].slot = end->move.is_send ? NULL : end->first_slot;
        return;
    }
    /* What the state is at most while a start waits for the other end. */
    all->at[i].mine =
        end->move.is_send ? MPIXQ_STATE_SEND(op->value) : MPIXQ_STATE_RECEIVE(op->value);
    all->at[i].slot = end->move.is_send ? NULL : mpixq_gpu_slot_of(end, op->value);
}

static bool is_word(const struct mpixq_op *op)
{
    return op->on_gpu && op->kind != MPIXQ_OP_MOVE && op->kind != MPIXQ_OP_COMBINE;
}

static int count_words(const struct mpixq_op list[], int n)
{
    int words = 0;

    for (int i = 0; i < n; i++) {
        words += is_word(&list[i]);
    }
    return words;
}

/* Whether words are of what is combined, and which is the first that is combined here. */
static void find_combined(struct mpixq_words *all)
{
    if (all->combine.n == 0 && all->combine.go != NULL) {
        all->at[0].go = all->combine.go; /* as no end has it */
    }
    all->is_combined = 0;
    all->first = all->n;
    for (unsigned i = 0; i < all->n; i++) {
        if (all->at[i].go != NULL) {
            all->is_combined = 1;
            all->first = all->at[i].go == all->combine.go ? i : all->first;
        }
    }
    all->is_combined = all->is_combined || all->combine.n > 0;
}

static void *kernel_of(const struct mpixq_gpu_lane *lane, const struct mpixq_words *all, bool rings)
{
    if (rings) {
        return lane->kernels.ring_all;
    }
    if (all->combine.n > 0) {
        return lane->kernels.wait_combine;
    }
    for (unsigned i = 0; i < all->n; i++) {
        if (all->at[i].counted != NULL) {
            return lane->kernels.wait_all;
        }
    }
    return lane->kernels.wait_plain;
}

/* Doorbells are rung, or words waited for until the gate has reached opened. The last launch tells
 * that the ticket is reached, if that is wanted. There are so many words in the list, one at
 * least. */
static int launch_words(const struct mpixq_gpu_lane *lane, bool rings, struct mpixq_words *all,
                        const struct mpixq_op *op, int words, bool tells, uint64_t ticket)
{
    void (*add)(struct mpixq_words *, const struct mpixq_op *) = rings ? add_ring : add_wait;
    struct mpixq_grid grid = {.blocks = 1};
    void *parameters[] = {all};
    int code = 0;

    all->value = ticket;
    grid.early = lane->kernels.early && !rings;
    while (code == 0 && words > 0) {
        bool all_ends = true;

        all->n = all->n_whole = 0;
        for (; all->n < MPIXQ_WORDS && words > 0; op++) {
            if (is_word(op)) {
                add(all, op);
                all_ends = all_ends && op->kind == MPIXQ_OP_TAKE;
                words--;
            }
        }
        find_combined(all);
        divide_words(all, all_ends);
        all->word = tells && words == 0 ? lane->reached_at : NULL;
        grid.blocks = all->blocks;
        grid.threads = (all->n + all->blocks - 1) / all->blocks * all->each;
        code = mpixq_gpu_launch(lane->gpu, lane->handle, kernel_of(lane, all, rings), grid,
                                parameters);
    }
    return code;
}

static int ring(const struct mpixq_gpu_lane *lane, const struct mpixq_op list[], int words,
                bool tells, uint64_t ticket)
{
    struct mpixq_words all = {.until = {.gate = lane->halt_at, .opened = 1}};

    return launch_words(lane, true, &all, list, words, tells, ticket);
}

static int submit_starts(const struct mpixq_gpu_lane *lane, const struct mpixq_op list[], int n,
                         uint64_t ticket)
{
    int words = count_words(list, n), moves = mpixq_gpu_count_moves(list, n);
    int code = copy_and_tell(lane, list, n, words == 0 && moves == 0, ticket);

    code = code != 0 || words == 0 ? code : ring(lane, list, words, moves == 0, ticket);
    return code != 0 || moves == 0 ? code : mpixq_gpu_move(lane, list, moves, ticket);
}

/* What the kernel that waits combines by itself: one thing, behind all waits, if a block is enough
 * for it. */
static const struct mpixq_combine *find_fused(const struct mpixq_op list[], int n, int words)
{
    const struct mpixq_combine *found = NULL;

    for (int i = 0; i < n; i++) {
        if (list[i].copy != NULL || (found != NULL && list[i].kind == MPIXQ_OP_COMBINE)) {
            return NULL;
        }
        found = list[i].kind == MPIXQ_OP_COMBINE ? list[i].gpu.combine : found;
    }
    return found != NULL && words > 0 && words <= MPIXQ_WORDS && found->blocks == 1 ? found : NULL;
}

/* The word by which what combines behind a launch of waits hears whether all have come, which none
 * of them has by itself; NULL: there is none, or there are several launches, or other waits. */
static void *find_go(const struct mpixq_op list[], int n, int words)
{
    const struct mpixq_combine *last = list[n - 1].gpu.combine;

    return list[n - 1].kind == MPIXQ_OP_COMBINE && words > 0 && words == n - 1 &&
                   words <= MPIXQ_WORDS && last->closed == NULL
               ? last->go
               : NULL;
}

/* Does the GPU copy out of slots? */
static bool any_drain(const struct mpixq_op list[], int n)
{
    for (int i = 0; i < n; i++) {
        if (list[i].kind == MPIXQ_OP_DRAIN && list[i].on_gpu) {
            return true;
        }
    }
    return false;
}

static int submit_waits(const struct mpixq_gpu_lane *lane, const struct mpixq_op list[], int n,
                        uint64_t ticket)
{
    struct mpixq_words all = {.until = mpixq_gpu_until(lane, ticket)};
    int words = count_words(list, n), combines = 0, code = 0;
    /* Nobody waits for the ticket of a list behind which the wait goes on. */
    bool any = false, tells = !list->goes_on && lane->reached_at != NULL, gate, is_last;
    const struct mpixq_combine *fused = find_fused(list, n, words);

    all.combine.go = find_go(list, n, words);
    for (int i = 0; i < n; i++) {
        any = any || list[i].copy != NULL;
        combines += list[i].kind == MPIXQ_OP_COMBINE;
    }
    gate = lane->by_values || words + combines < n;
    is_last = gate && words > 0 && any_drain(list, n);
    /* What is copied afterwards has not been reached yet. The worker opens the gate in any case.
     * Behind it the kernel waits no more, but closes pairs whose wait is given up. */
    if (gate && !is_last) {
        code = wait_for_gate(lane, ticket, !any && words + combines == 0);
    }
    if (fused != NULL && !is_last) {
        all.combine = *fused;
        combines = 0;
    }
    if (code == 0 && words > 0) {
        code =
            launch_words(lane, false, &all, list, words, !any && !is_last && combines == 0, ticket);
    }
    /* It opens it once the GPU has copied, which therefore comes first. */
    if (code == 0 && is_last) {
        code = wait_for_gate(lane, ticket, !any && combines == 0);
    }
    if (code == 0 && any) {
        code = copy_and_tell(lane, list, n, tells && combines == 0, ticket);
    }
    return code != 0 || combines == 0
               ? code
               : mpixq_gpu_combine(lane, list, combines, all.combine.go != NULL, tells, ticket);
}

int mpixq_gpu_submit_starts(const struct mpixq_gpu_lane *lane, const struct mpixq_op list[], int n,
                            uint64_t ticket)
{
    void *before;
    int code = lane->gpu->enter(lane->place, &before);

    if (code == 0) {
        code = mpixq_op_is_launch(list) ? mpixq_gpu_submit_launch(lane, list->gpu.launch, ticket)
                                        : submit_starts(lane, list, n, ticket);
        lane->gpu->leave(lane->place, before);
    }
    return code;
}

int mpixq_gpu_submit_waits(const struct mpixq_gpu_lane *lane, const struct mpixq_op list[], int n,
                           uint64_t ticket)
{
    void *before;
    int code = lane->gpu->enter(lane->place, &before);

    if (code == 0) {
        code = mpixq_op_is_launch(list) ? mpixq_gpu_submit_launch(lane, list->gpu.launch, ticket)
                                        : submit_waits(lane, list, n, ticket);
        lane->gpu->leave(lane->place, before);
    }
    return code;
}
