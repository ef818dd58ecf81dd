/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "gpu_submit.h"

#include "pieces.h"

static int write_reached(const struct mpixq_gpu_lane *lane, uint64_t ticket)
{
    void *reached_at = lane->reached_at;
    void *parameters[] = {&reached_at, &ticket};

    return lane->by_values ? lane->gpu->write(lane->handle, reached_at, ticket)
                           : lane->gpu->launch(lane->handle, lane->kernels.ring, 1, parameters);
}

/* passes: then the ticket has been reached. */
static int wait_for_gate(const struct mpixq_gpu_lane *lane, uint64_t ticket, bool passes)
{
    void *gate_at = lane->gate_at, *reached_at = passes ? lane->reached_at : NULL;
    void *parameters[] = {&gate_at, &ticket, &reached_at, &ticket};

    return lane->by_values ? lane->gpu->wait(lane->handle, gate_at, ticket, reached_at, ticket)
                           : lane->gpu->launch(lane->handle, lane->kernels.wait, 1, parameters);
}

/* What is to be copied for the elements of an array of triggers, or of what is awaited. */
struct copies {
    const struct mpixq_copy *const *first; /* member of the first element */
    size_t stride;                         /* from there to that of the next, in bytes */
    int n;
};

static const struct mpixq_copy *copy_at(const struct copies *copies, int i)
{
    const char *place = (const char *)copies->first + (size_t)i * copies->stride;

    return *(const struct mpixq_copy *const *)(const void *)place;
}

/* Can a kernel copy it, which has to reach both ends? */
static bool is_small(const struct mpixq_gpu_lane *lane, const struct mpixq_copy *copy)
{
    return copy != NULL && lane->kernels.copy != NULL && copy->bytes <= MPIXQ_SMALL &&
           copy->place == lane->place;
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
        const struct mpixq_copy *copy = copy_at(copies, i);

        if (!is_small(lane, copy)) {
            continue;
        }
        pieces.piece[pieces.n++] = (struct mpixq_piece){copy->to, copy->from, copy->bytes};
        largest = copy->bytes > largest ? copy->bytes : largest;
        left--;
        if (pieces.n == MPIXQ_PIECES || left == 0) {
            pieces.word = left == 0 ? word : NULL;
            pieces.each = threads_of_each(pieces.n, largest);
            code = lane->gpu->launch(lane->handle, lane->kernels.copy, pieces.n * pieces.each,
                                     parameters);
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
    int n_small = 0, code = 0;

    for (int i = 0; i < copies->n; i++) {
        n_small += is_small(lane, copy_at(copies, i));
    }
    for (int i = 0; code == 0 && i < copies->n; i++) {
        const struct mpixq_copy *copy = copy_at(copies, i);

        if (copy != NULL && (n_small < MPIXQ_SEVERAL || !is_small(lane, copy))) {
            code = lane->gpu->copy(lane->handle, copy->to, copy->from, copy->bytes);
        }
    }
    if (code == 0 && n_small >= MPIXQ_SEVERAL) {
        return copy_small(lane, copies, n_small, tells ? lane->reached_at : NULL, ticket);
    }
    return code == 0 && tells ? write_reached(lane, ticket) : code;
}

/* A thread for each word, until the gate has reached opened. The last launch tells that the ticket
 * is reached, if that is wanted. */
static int launch_words(const struct mpixq_gpu_lane *lane, void *kernel, void *gate,
                        uint64_t opened, bool tells, uint64_t ticket)
{
    struct mpixq_words all = {.gate = gate, .opened = opened, .value = ticket};
    void *parameters[] = {&all};
    int code = 0;

    for (int i = 0; code == 0 && i < lane->n_words;) {
        for (all.n = 0; all.n < MPIXQ_WORDS && i < lane->n_words; all.n++, i++) {
            all.at[all.n].address = lane->words[i].address;
            all.at[all.n].value = lane->words[i].value;
        }
        all.word = tells && i == lane->n_words ? lane->reached_at : NULL;
        code = lane->gpu->launch(lane->handle, kernel, all.n, parameters);
    }
    return code;
}

int mpixq_gpu_submit_start(const struct mpixq_gpu_lane *lane, const struct mpixq_trigger *triggers,
                           int n, uint64_t ticket)
{
    struct copies copies = {.first = &triggers->copy, .stride = sizeof *triggers, .n = n};
    int code = copy_and_tell(lane, &copies, lane->n_words == 0, ticket);

    return code != 0 || lane->n_words == 0
               ? code
               : launch_words(lane, lane->kernels.ring_all, lane->halt_at, 1, true, ticket);
}

int mpixq_gpu_submit_wait(const struct mpixq_gpu_lane *lane, const struct mpixq_awaited *awaited,
                          int n, uint64_t ticket)
{
    struct copies copies = {.first = &awaited->copy, .stride = sizeof *awaited, .n = n};
    bool any = false;
    int code;

    for (int i = 0; i < n; i++) {
        any = any || awaited[i].copy != NULL;
    }
    /* What is copied afterwards has not been reached yet. The worker opens the gate in any case. */
    code = lane->n_words == n
               ? launch_words(lane, lane->kernels.wait_all, lane->gate_at, ticket, !any, ticket)
               : wait_for_gate(lane, ticket, !any);
    return code != 0 || !any ? code : copy_and_tell(lane, &copies, true, ticket);
}
