/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "gpu_submit.h"

#include "pieces.h"

/* Bytes of several messages that a block moves. */
#define GROUP_BYTES 8192

/* A block. */
static struct mpixq_grid threads(unsigned n)
{
    return (struct mpixq_grid){.blocks = 1, .threads = n};
}

static int write_reached(const struct mpixq_gpu_lane *lane, uint64_t ticket)
{
    void *reached_at = lane->reached_at;
    void *parameters[] = {&reached_at, &ticket};

    return lane->by_values
               ? lane->gpu->write(lane->handle, reached_at, ticket)
               : lane->gpu->launch(lane->handle, lane->kernels.ring, threads(1), parameters);
}

/* passes: then the ticket has been reached. */
static int wait_for_gate(const struct mpixq_gpu_lane *lane, uint64_t ticket, bool passes)
{
    void *gate_at = lane->gate_at, *reached_at = passes ? lane->reached_at : NULL;
    void *parameters[] = {&gate_at, &ticket, &reached_at, &ticket};

    return lane->by_values
               ? lane->gpu->wait(lane->handle, gate_at, ticket, reached_at, ticket)
               : lane->gpu->launch(lane->handle, lane->kernels.wait, threads(1), parameters);
}

/* What is to be copied for the elements of an array of triggers, or of what is awaited. */
struct copies {
    const struct mpixq_copy *const *first; /* member of the first element */
    size_t stride;                         /* from there to that of the next, in bytes */
    int n, step;
    int (*part_at)(const struct mpixq_copy *copy, int step);
};

int mpixq_gpu_steps(const struct mpixq_copy *const *first, size_t stride, int n)
{
    const char *where = (const char *)first;
    int steps = 1;

    for (int i = 0; i < n; i++, where += stride) {
        int parts = mpixq_copy_parts(*(const struct mpixq_copy *const *)(const void *)where);

        steps = parts > steps ? parts : steps;
    }
    return steps;
}

int mpixq_gpu_part_at_start(const struct mpixq_copy *copy, int step)
{
    return step < mpixq_copy_parts(copy) ? step : -1;
}

int mpixq_gpu_part_at_wait(const struct mpixq_copy *copy, int step)
{
    return mpixq_copy_parts(copy) - 1 - step;
}

enum how { NOTHING, BY_ENGINE, BY_KERNEL };

/* What of a copy is made in this step, and how. A kernel has to reach both ends. */
static enum how piece_at(const struct mpixq_gpu_lane *lane, const struct copies *copies, int i,
                         struct mpixq_piece *piece_p)
{
    const char *where = (const char *)copies->first + (size_t)i * copies->stride;
    const struct mpixq_copy *copy = *(const struct mpixq_copy *const *)(const void *)where;
    size_t before;
    int part;

    part = copy != NULL ? copies->part_at(copy, copies->step) : -1;
    if (part < 0) {
        return NOTHING;
    }
    before = (size_t)part * copy->part;
    *piece_p = (struct mpixq_piece){
        .to = (char *)copy->to + before,
        .from = (const char *)copy->from + before,
        .bytes = part == mpixq_copy_parts(copy) - 1 ? copy->bytes - before : copy->part};
    return lane->kernels.copy != NULL && piece_p->bytes <= MPIXQ_SMALL && copy->place == lane->place
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

/* The last launch tells that the ticket is reached, if word is not NULL. */
static int copy_small(const struct mpixq_gpu_lane *lane, const struct copies *copies, int left,
                      void *word, uint64_t ticket)
{
    struct mpixq_pieces pieces;
    void *parameters[] = {&pieces};
    size_t largest = 0;
    int code = 0;

    pieces.n = 0;
    pieces.value = ticket;
    for (int i = 0; code == 0 && left > 0; i++) {
        struct mpixq_piece *piece = &pieces.piece[pieces.n];

        if (piece_at(lane, copies, i, piece) != BY_KERNEL) {
            continue;
        }
        largest = piece->bytes > largest ? piece->bytes : largest;
        pieces.n++;
        left--;
        if (pieces.n == MPIXQ_PIECES || left == 0) {
            pieces.word = left == 0 ? word : NULL;
            pieces.each = threads_of_each(pieces.n, largest);
            code = lane->gpu->launch(lane->handle, lane->kernels.copy,
                                     threads(pieces.n * pieces.each), parameters);
            pieces.n = 0;
            largest = 0;
        }
    }
    return code;
}

/* Copy, and then tell that the ticket is reached, if that is wanted. */
static int copy_and_tell(const struct mpixq_gpu_lane *lane, const struct copies *copies, bool tells,
                         uint64_t ticket)
{
    struct mpixq_piece piece;
    int n_small = 0, code = 0;

    for (int i = 0; i < copies->n; i++) {
        n_small += piece_at(lane, copies, i, &piece) == BY_KERNEL;
    }
    for (int i = 0; code == 0 && i < copies->n; i++) {
        enum how how = piece_at(lane, copies, i, &piece);

        if (how == BY_ENGINE || (how == BY_KERNEL && n_small < MPIXQ_SEVERAL)) {
            code = lane->gpu->copy(lane->handle, piece.to, piece.from, piece.bytes);
        }
    }
    if (code == 0 && n_small >= MPIXQ_SEVERAL) {
        return copy_small(lane, copies, n_small, tells ? lane->reached_at : NULL, ticket);
    }
    return code == 0 && tells ? write_reached(lane, ticket) : code;
}

/* Of a block for n words, the threads of each: one, but for messages that are copied from slots. */
static unsigned threads_of_word(const struct mpixq_words *all)
{
    enum { WARP = 32, ROUNDS = 4 }; /* words of a slot that a thread copies */
    size_t largest = 0, wanted, most = (size_t)(MPIXQ_THREADS / all->n / WARP) * WARP;

    for (unsigned i = 0; i < all->n; i++) {
        if (all->at[i].slot != NULL && all->at[i].bytes > largest) {
            largest = all->at[i].bytes;
        }
    }
    if (largest == 0) {
        return 1;
    }
    wanted = (largest / MPIXQ_UNIT / ROUNDS / WARP + 1) * WARP;
    return (unsigned)(wanted < most ? wanted : most);
}

static void add_word(struct mpixq_words *all, const struct mpixq_gpu_word *word)
{
    unsigned i = all->n++;

    all->at[i].address = word->address;
    all->at[i].value = word->value;
    all->at[i].state = word->state;
    all->at[i].mine = word->mine;
    all->at[i].slot = word->slot;
    all->at[i].to = word->to;
    all->at[i].bytes = word->bytes;
}

/* Until the gate has reached opened. The last launch tells that the ticket is reached, if that is
 * wanted. */
static int launch_words(const struct mpixq_gpu_lane *lane, void *kernel, struct mpixq_words *all,
                        bool tells, uint64_t ticket)
{
    const struct mpixq_by_gpu *work = &lane->work;
    struct mpixq_grid grid = {.blocks = 1};
    void *parameters[] = {all};
    int code = 0;

    all->value = ticket;
    grid.early = lane->kernels.early && kernel == lane->kernels.wait_all;
    for (int i = 0; code == 0 && i < work->n_words;) {
        all->n = 0;
        while (all->n < MPIXQ_WORDS && i < work->n_words) {
            add_word(all, &work->words[i++]);
        }
        all->each = threads_of_word(all);
        all->word = tells && i == work->n_words ? lane->reached_at : NULL;
        grid.threads = all->n * all->each;
        code = lane->gpu->launch(lane->handle, kernel, grid, parameters);
    }
    return code;
}

static int ring(const struct mpixq_gpu_lane *lane, bool tells, uint64_t ticket)
{
    struct mpixq_words all = {.gate = lane->halt_at, .opened = 1};

    return launch_words(lane, lane->kernels.ring_all, &all, tells, ticket);
}

static unsigned groups(const struct mpixq_moves *all, unsigned n)
{
    return (n + all->group - 1) / all->group;
}

/* Whoever starts it has to ask another GPU whether the other end has come. */
static bool is_far(const struct mpixq_move *move)
{
    return move->is_send && !move->is_ready && move->slot == NULL;
}

/* Add those of n moves that one block can do, or not, that are far or not. */
static void add_moves(struct mpixq_moves *all, const struct mpixq_move moves[], unsigned n,
                      bool small, bool far)
{
    for (unsigned i = 0; i < n; i++) {
        if ((moves[i].blocks == 1) == small && is_far(&moves[i]) == far) {
            all->move[all->n++] = moves[i];
            all->blocks += small ? 0 : moves[i].blocks;
        }
    }
}

static void fill_moves(struct mpixq_moves *all, const struct mpixq_move moves[], unsigned n)
{
    size_t largest = 1;

    all->n = all->blocks = 0;
    add_moves(all, moves, n, true, false);
    all->n_near = all->n;
    add_moves(all, moves, n, true, true);
    all->n_small = all->n;
    for (unsigned i = 0; i < all->n_small; i++) {
        largest = all->move[i].bytes > largest ? all->move[i].bytes : largest;
    }
    add_moves(all, moves, n, false, true);
    add_moves(all, moves, n, false, false);
    all->group = largest * MPIXQ_GROUP <= GROUP_BYTES ? MPIXQ_GROUP : GROUP_BYTES / largest;
    all->group = all->group < 1 ? 1 : all->group;
    all->blocks += groups(all, all->n_near) + groups(all, all->n_small - all->n_near);
}

static int move(const struct mpixq_gpu_lane *lane, bool tells, uint64_t ticket)
{
    const struct mpixq_by_gpu *work = &lane->work;
    struct mpixq_moves all;
    void *parameters[] = {&all};
    int code = 0, left = work->n_moves;

    all.value = ticket;
    for (const struct mpixq_move *next = work->moves; code == 0 && left > 0; next += all.n) {
        fill_moves(&all, next, left < MPIXQ_MOVES ? (unsigned)left : MPIXQ_MOVES);
        left -= (int)all.n;
        all.word = tells && left == 0 ? lane->reached_at : NULL;
        code = lane->gpu->launch(lane->handle, lane->kernels.move_all,
                                 (struct mpixq_grid){.blocks = all.blocks,
                                                     .threads = MPIXQ_BLOCK_OF_MOVES,
                                                     .early = lane->kernels.early},
                                 parameters);
    }
    return code;
}

static int submit_start(const struct mpixq_gpu_lane *lane, const struct mpixq_trigger *triggers,
                        int n, int step, uint64_t ticket)
{
    struct copies copies = {.first = &triggers->copy,
                            .stride = sizeof *triggers,
                            .n = n,
                            .step = step,
                            .part_at = mpixq_gpu_part_at_start};
    bool rings = lane->work.n_words > 0, moves = lane->work.n_moves > 0;
    int code = copy_and_tell(lane, &copies, !rings && !moves, ticket);

    code = code != 0 || !rings ? code : ring(lane, !moves, ticket);
    return code != 0 || !moves ? code : move(lane, true, ticket);
}

static int submit_wait(const struct mpixq_gpu_lane *lane, const struct mpixq_awaited *awaited,
                       int n, int step, uint64_t ticket)
{
    struct copies copies = {.first = &awaited->copy,
                            .stride = sizeof *awaited,
                            .n = n,
                            .step = step,
                            .part_at = mpixq_gpu_part_at_wait};
    struct mpixq_words all = {.gate = lane->gate_at, .opened = ticket, .halt = lane->halt_at};
    bool any = false, words = lane->work.n_words > 0;
    int code = 0;

    for (int i = 0; i < n; i++) {
        any = any || awaited[i].copy != NULL;
    }
    /* What is copied afterwards has not been reached yet. The worker opens the gate in any case.
     * Behind it the kernel waits no more, but closes pairs whose wait is given up. */
    if (lane->by_values || lane->work.n_words < n) {
        code = wait_for_gate(lane, ticket, !any && !words);
    }
    if (code == 0 && words) {
        code = launch_words(lane, lane->kernels.wait_all, &all, !any, ticket);
    }
    return code != 0 || !any ? code : copy_and_tell(lane, &copies, step == 0, ticket);
}

int mpixq_gpu_submit_start(const struct mpixq_gpu_lane *lane, const struct mpixq_trigger *triggers,
                           int n, int step, uint64_t ticket)
{
    void *before;
    int code = lane->gpu->enter(lane->place, &before);

    if (code == 0) {
        code = submit_start(lane, triggers, n, step, ticket);
        lane->gpu->leave(lane->place, before);
    }
    return code;
}

int mpixq_gpu_submit_wait(const struct mpixq_gpu_lane *lane, const struct mpixq_awaited *awaited,
                          int n, int step, uint64_t ticket)
{
    void *before;
    int code = lane->gpu->enter(lane->place, &before);

    if (code == 0) {
        code = submit_wait(lane, awaited, n, step, ticket);
        lane->gpu->leave(lane->place, before);
    }
    return code;
}
