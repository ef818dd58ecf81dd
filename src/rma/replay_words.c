/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "replay_words.h"

#include "core/graphs.h"
#include "core/tally.h"
#include "core/tally_words.h"
#include "stream/stream.h"

bool mpixq_replay_words_take(struct mpixq_replay_words *words, struct mpixq_queue *queue,
                             char *const bell_at[], int n, struct mpixq_gpu_end ends[])
{
    int wanted = n > 0 ? n : 1;

    for (words->n = 0; words->n < wanted; words->n++) {
        int i = words->n;

        words->of[i] = mpixq_tally_take(queue, &ends[i]);
        if (words->of[i] == NULL) {
            mpixq_replay_words_return(words);
            return false;
        }
        ends[i].move.to = n > 0 ? bell_at[i] : NULL;
    }
    return true;
}

void mpixq_replay_words_return(struct mpixq_replay_words *words)
{
    while (words->n > 0) {
        mpixq_tally_return(words->of[--words->n]);
    }
}

/* In one launch each. */
int mpixq_replay_words_put_in(const struct mpixq_replay_words *words, struct mpixq_queue *queue,
                              const struct mpixq_gpu_end ends[], void *arg, bool waits_first)
{
    const struct mpixq_stream_graphs *graphs = queue->stream->ops->graphs;
    struct mpixq_branches *branches = mpixq_graphs_branches(queue);
    struct mpixq_op starts[MPIXQ_NIC_BELLS], waits[MPIXQ_NIC_BELLS];
    struct mpixq_op *first = waits_first ? waits : starts, *second = waits_first ? starts : waits;
    int rc;

    if (branches == NULL) {
        return mpixq_error_code(MPIXQ_E_CAPTURE);
    }
    for (int i = 0; i < words->n; i++) {
        starts[i] = (struct mpixq_op){.copy = NULL};
        mpixq_op_call(&starts[i], MPIXQ_OP_MOVE, NULL, arg);
        starts[i].gpu.end = &ends[i];
        mpixq_op_wait(&waits[i], MPIXQ_OP_TAKE, arg, &words->of[i]->own.done, 0, &queue->halted);
        waits[i].gpu.end = &ends[i];
    }
    rc = graphs->submit(queue->stream, first, words->n, branches, &queue->submission);
    return rc != MPI_SUCCESS
               ? rc
               : graphs->submit(queue->stream, second, words->n, branches, &queue->submission);
}

uint64_t mpixq_replay_words_announced(const struct mpixq_replay_words *words)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < words->n; i++) {
        uint64_t started = atomic_load_explicit(&words->of[i]->told.started, memory_order_acquire);

        least = started < least ? started : least;
    }
    return least;
}

bool mpixq_replay_words_fault(const struct mpixq_replay_words *words)
{
    bool any = false;

    for (int i = 0; i < words->n; i++) {
        any = any || atomic_load(&words->of[i]->told.fault) != MPIXQ_NO_FAULT;
    }
    return any;
}

void mpixq_replay_words_done(const struct mpixq_replay_words *words, uint64_t made)
{
    for (int i = 0; i < words->n; i++) {
        atomic_store(&words->of[i]->own.done, made);
    }
}

void mpixq_replay_words_close(const struct mpixq_replay_words *words)
{
    for (int i = 0; i < words->n; i++) {
        atomic_store(&words->of[i]->own.closed, 1);
    }
}

void mpixq_replay_words_halt(const struct mpixq_replay_words *words)
{
    for (int i = 0; i < words->n; i++) {
        atomic_store(&words->of[i]->told.halt, 1);
    }
}
