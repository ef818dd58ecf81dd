/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The starts of ends that a stream of a GPU makes by itself: as few launches as they take, in which
 * those that ask another GPU do not hold up those that need not. */
#include "gpu_submit.h"

/* Bytes of several messages that a block moves. */
#define GROUP_BYTES 8192

static bool is_move(const struct mpixq_op *op)
{
    return op->by_gpu && op->kind == MPIXQ_OP_MOVE && op->gpu.end != NULL;
}

int mpixq_gpu_count_moves(const struct mpixq_op list[], int n)
{
    int moves = 0;

    for (int i = 0; i < n; i++) {
        moves += is_move(&list[i]);
    }
    return moves;
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
        if (is_move(op) && (op->gpu.end->move.blocks == 1) == small && is_far(op->gpu.end) == far) {
            all->blocks += small ? 0 : op->gpu.end->move.blocks;
            add_move(all, op);
        }
    }
}

static void fill_moves(struct mpixq_moves *all, const struct mpixq_op *op,
                       const struct mpixq_op *end)
{
    size_t largest = 1;

    all->n = all->blocks = 0;
    add_moves(all, op, end, true, false);
    all->n_near = all->n;
    add_moves(all, op, end, true, true);
    all->n_small = all->n;
    for (unsigned i = 0; i < all->n_small; i++) {
        largest = all->move[i].bytes > largest ? all->move[i].bytes : largest;
    }
    add_moves(all, op, end, false, false);
    add_moves(all, op, end, false, true);
    all->group = largest * MPIXQ_GROUP <= GROUP_BYTES ? MPIXQ_GROUP : GROUP_BYTES / largest;
    all->group = all->group < 1 ? 1 : all->group;
    all->blocks += groups(all, all->n_near) + groups(all, all->n_small - all->n_near);
}

int mpixq_gpu_move(const struct mpixq_gpu_lane *lane, const struct mpixq_op *op, int moves,
                   uint64_t ticket)
{
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
        fill_moves(&all, op, end);
        op = end;
        all.word = moves == 0 ? lane->reached_at : NULL;
        code = mpixq_gpu_launch(lane->gpu, lane->handle, lane->kernels.move_all,
                                (struct mpixq_grid){.blocks = all.blocks,
                                                    .threads = MPIXQ_BLOCK_OF_MOVES,
                                                    .early = lane->kernels.early},
                                parameters);
    }
    return code;
}
