/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The starts of ends that a stream of a GPU makes by itself: as few launches as they take, in which
 * those that ask another GPU do not hold up those that need not. */
#include "gpu_submit.h"

/* Bytes of several messages that a block moves; and if it waits for them too: other blocks would
 * have to hear of its end. */
#define GROUP_BYTES 8192
#define GROUP_BYTES_WAITED 16384

/* Every GPU takes so many bytes of parameters. */
_Static_assert(sizeof(struct mpixq_moves) <= 4096 && sizeof(struct mpixq_words) <= 4096,
               "parameters of a launch");

static bool is_move(const struct mpixq_op *op)
{
    return op->on_gpu && op->kind == MPIXQ_OP_MOVE && op->gpu.end != NULL;
}

int mpixq_gpu_count_moves(const struct mpixq_op list[], int n)
{
    int moves = 0;

    for (int i = 0; i < n; i++) {
        moves += is_move(&list[i]);
    }
    return moves;
}

/* A receive of a ready send without slots counts, and no more. */
static bool moves_nothing(const struct mpixq_gpu_end *end)
{
    return !end->move.is_send && end->move.is_ready && end->first_slot == NULL;
}

static unsigned blocks_of(const struct mpixq_gpu_end *end)
{
    return moves_nothing(end) ? 1 : end->move.blocks;
}

static unsigned groups(const struct mpixq_moves *all, unsigned n)
{
    return (n + all->group - 1) / all->group;
}

/* Whoever starts it has to ask another GPU whether the other end has come. */
static bool is_far(const struct mpixq_gpu_end *end)
{
    return !end->move.is_send && !end->move.is_ready && end->first_slot == NULL;
}

static void add_move(struct mpixq_moves *all, const struct mpixq_op *op)
{
    const struct mpixq_gpu_end *end = op->gpu.end;
    struct mpixq_move *move = &all->move[all->n++];

    *move = end->move;
    move->blocks = blocks_of(end);
    if (end->is_counted) { /* by whom the start before is made is not known */
        move->value = end->floor;
        move->slot = end->first_slot;
        move->is_early = end->floor == end->base;
        move->is_counted = move->is_after_host = true;
        return;
    }
    move->value = op->value;
    move->slot = mpixq_gpu_slot_of(end, op->value);
    move->is_early = op->value - end->base < MPIXQ_SLOTS;
    move->is_after_host = op->is_after_host;
}

/* Add the moves before end that one block can do, or not, that are far or not. */
static void add_moves(struct mpixq_moves *all, const struct mpixq_op *op,
                      const struct mpixq_op *end, bool small, bool far)
{
    for (; op < end; op++) {
        if (is_move(op) && (blocks_of(op->gpu.end) == 1) == small && is_far(op->gpu.end) == far) {
            all->blocks += small ? 0 : blocks_of(op->gpu.end);
            add_move(all, op);
        }
    }
}

static void fill_moves(struct mpixq_moves *all, const struct mpixq_op *op,
                       const struct mpixq_op *end, size_t group_bytes)
{
    size_t largest = 1;

    all->n = all->blocks = 0;
    add_moves(all, op, end, true, false);
    all->n_near = all->n;
    add_moves(all, op, end, true, true);
    all->n_small = all->n;
    for (const struct mpixq_op *one = op; one < end; one++) {
        if (is_move(one) && blocks_of(one->gpu.end) == 1 && !moves_nothing(one->gpu.end)) {
            largest = one->gpu.end->move.bytes > largest ? one->gpu.end->move.bytes : largest;
        }
    }
    add_moves(all, op, end, false, false);
    add_moves(all, op, end, false, true);
    all->group = largest * MPIXQ_GROUP <= group_bytes ? MPIXQ_GROUP : group_bytes / largest;
    all->group = all->group < 1 ? 1 : all->group;
    all->blocks += groups(all, all->n_near) + groups(all, all->n_small - all->n_near);
}

static bool any_is_counted(const struct mpixq_moves *all)
{
    for (unsigned i = 0; i < all->n; i++) {
        if (all->move[i].is_counted) {
            return true;
        }
    }
    return false;
}

int mpixq_gpu_move(const struct mpixq_gpu_lane *lane, const struct mpixq_op *op, int moves,
                   uint64_t ticket)
{
    const struct mpixq_gpu_kernels *k = &lane->kernels;
    struct mpixq_moves all;
    void *parameters[] = {&all};
    int code = 0;

    all.value = ticket;
    while (code == 0 && moves > 0) {
        const struct mpixq_op *end = op;

        for (int n = 0; n < MPIXQ_MOVES && moves > 0; end++) {
            n += is_move(end);
            moves -= is_move(end);
        }
        fill_moves(&all, op, end, GROUP_BYTES);
        op = end;
        all.word = moves == 0 ? lane->reached_at : NULL;
        code = mpixq_gpu_launch(
            lane->gpu, lane->handle, any_is_counted(&all) ? k->move_all : k->move_plain,
            (struct mpixq_grid){
                .blocks = all.blocks, .threads = MPIXQ_BLOCK_OF_MOVES, .early = k->early},
            parameters);
    }
    return code;
}

/* Threads of a block of moves for each of n that it waits for: whole warps, if there are as
 * many. */
static unsigned threads_of_each(unsigned n)
{
    enum { WARP = 32 };
    unsigned each = MPIXQ_BLOCK_OF_MOVES / n;

    return each >= WARP ? each / WARP * WARP : each;
}

/* One block copies out of slots: more than this of each message, and two launches are faster, as
 * the second has more threads. In a graph a launch takes so little that several blocks, of which
 * the last one waits for all, are slower too, but for few messages. */
static bool is_small_enough(const struct mpixq_gpu_lane *lane, const struct mpixq_gpu_end *end,
                            unsigned n)
{
    enum { UNITS = 8 /* of a slot, that a thread copies */, FEW = 4 };
    bool by_one = end->move.is_send || end->first_slot == NULL ||
                  end->move.bytes <= (size_t)UNITS * MPIXQ_UNIT * threads_of_each(n);

    return by_one && (lane->reached_at != NULL || n <= FEW || moves_nothing(end) ||
                      end->move.bytes * n <= GROUP_BYTES);
}

/* Is the next wait that for this start? A start that only counts has none. */
static bool waits_for(const struct mpixq_op *wait, const struct mpixq_op *end,
                      const struct mpixq_op *start)
{
    return wait < end && wait->kind == MPIXQ_OP_TAKE &&
           (start->gpu.end != NULL ? wait->gpu.end == start->gpu.end : wait->arg == start->arg);
}

/* The GPU does it, and nothing is copied. */
static bool is_plain(const struct mpixq_op *op, enum mpixq_op_kind kind)
{
    return op->kind == kind && op->on_gpu && op->copy == NULL;
}

/* What has come is combined by the same block. */
static bool can_combine(const struct mpixq_op *op)
{
    return is_plain(op, MPIXQ_OP_COMBINE) && op->gpu.combine->blocks == 1;
}

/* All of the waits but one that combines are for these starts; returns their number, or 0. */
static int count_passes(const struct mpixq_both *both)
{
    const struct mpixq_op *wait = both->waits, *end = wait + both->n_waits;
    int n = 0, n_combined = 0;
    bool is_combined = false;

    for (int i = 0; i < both->n_starts; i++) {
        bool is_its = waits_for(wait, end, &both->starts[i]);

        if (!is_plain(&both->starts[i], MPIXQ_OP_MOVE) ||
            (is_its && (!is_plain(wait, MPIXQ_OP_TAKE) || wait->gpu.end->move.is_host))) {
            return 0;
        }
        is_combined = is_combined || (is_its && wait->gpu.end->go != NULL);
        n += is_its;
        wait += is_its;
        if (wait < end && wait->kind == MPIXQ_OP_COMBINE) {
            n_combined += can_combine(wait) ? 1 : 2;
            wait++;
        }
    }
    return wait == end && n_combined <= 1 && is_combined == (n_combined == 1) ? n : 0;
}

bool mpixq_gpu_can_pass(const struct mpixq_gpu_lane *lane, const struct mpixq_both *both)
{
    int n = count_passes(both);

    if (lane->kernels.pass_all == NULL || lane->by_values || n == 0 || n > MPIXQ_MOVES) {
        return false;
    }
    for (int i = 0; i < both->n_waits; i++) {
        const struct mpixq_op *wait = &both->waits[i];

        /* In a graph a kernel that waits is there early, and combines sooner by itself. */
        if (wait->kind == MPIXQ_OP_TAKE ? !is_small_enough(lane, wait->gpu.end, (unsigned)n)
                                        : lane->reached_at == NULL) {
            return false;
        }
    }
    return true;
}

/* A start that moves nothing is waited for all the same. Returns what is combined, or NULL. */
static const struct mpixq_combine *prepare_passes(const struct mpixq_both *both)
{
    const struct mpixq_op *wait = both->waits, *end = wait + both->n_waits;
    const struct mpixq_combine *combine = NULL;

    for (int i = 0; i < both->n_starts; i++) {
        struct mpixq_op *start = &both->starts[i];
        bool is_its = waits_for(wait, end, start);

        if (is_its && start->gpu.end == NULL) {
            start->gpu.end = wait->gpu.end;
            start->value = wait->value;
            start->is_after_host = false;
        }
        wait += is_its;
        if (wait < end && wait->kind == MPIXQ_OP_COMBINE) {
            combine = wait++->gpu.combine;
        }
    }
    return combine;
}

int mpixq_gpu_pass(const struct mpixq_gpu_lane *lane, const struct mpixq_both *both,
                   uint64_t started, uint64_t ticket)
{
    const struct mpixq_combine *combine = prepare_passes(both);
    const struct mpixq_gpu_kernels *k = &lane->kernels;
    struct mpixq_moves all;
    void *parameters[] = {&all}, *before;
    int code;

    fill_moves(&all, both->starts, both->starts + both->n_starts, GROUP_BYTES_WAITED);
    all.each = threads_of_each(all.n);
    all.came = lane->reached_at;
    all.came_value = started;
    all.word = lane->reached_at;
    all.value = ticket;
    all.until = mpixq_gpu_until(lane, ticket);
    if (combine != NULL) {
        all.combine = *combine;
    }
    code = lane->gpu->enter(lane->place, &before);
    if (code == 0) {
        code = mpixq_gpu_launch(lane->gpu, lane->handle,
                                combine != NULL        ? k->pass_combine
                                : any_is_counted(&all) ? k->pass_all
                                                       : k->pass_plain,
                                (struct mpixq_grid){.blocks = all.blocks,
                                                    .threads = MPIXQ_BLOCK_OF_MOVES,
                                                    .early = k->early},
                                parameters);
        lane->gpu->leave(lane->place, before);
    }
    return code;
}
