/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * By which a graph says that it has come to something captured, and waits for that (replays.h): for
 * each doorbell that its kernel rings for it words as a tally has them (core/tally.h), so that
 * what is counted was rung for; and where none is rung, one.
 */
#ifndef MPIXQ_RMA_REPLAY_WORDS_H
#define MPIXQ_RMA_REPLAY_WORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/windows.h"
#include "stream/op.h"

struct mpixq_queue;
struct mpixq_tally_words;

struct mpixq_replay_words {
    int n;
    struct mpixq_tally_words *of[MPIXQ_NIC_BELLS];
};

/* In a capture, under the submission lock: for so many doorbells, which are there. False: there is
 * no memory. */
bool mpixq_replay_words_take(struct mpixq_replay_words *words, struct mpixq_queue *queue,
                             char *const bell_at[], int n, struct mpixq_gpu_end ends[]);
/* Nobody touches them any more. */
void mpixq_replay_words_return(struct mpixq_replay_words *words);
/* Put it into the graph: a kernel waits for all of them, another one rings and counts. */
int mpixq_replay_words_put_in(const struct mpixq_replay_words *words, struct mpixq_queue *queue,
                              const struct mpixq_gpu_end ends[], void *arg, bool waits_first);

/* How often the stream has come there, and has rung them all. */
uint64_t mpixq_replay_words_announced(const struct mpixq_replay_words *words);
/* Could a kernel not announce it? */
bool mpixq_replay_words_fault(const struct mpixq_replay_words *words);
/* So often it was made, and the stream goes on. */
void mpixq_replay_words_done(const struct mpixq_replay_words *words, uint64_t made);
/* No kernel rings and counts from here on, but one that is at it; and none waits. */
void mpixq_replay_words_close(const struct mpixq_replay_words *words);
void mpixq_replay_words_halt(const struct mpixq_replay_words *words);

#endif
