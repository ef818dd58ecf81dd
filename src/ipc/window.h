/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Windows in memory of GPUs that reach each other (src/rma/): each process has the windows and the
 * signals of all others mapped, so that its GPU copies, and adds to signals, by itself. No pairs
 * and no messages are needed, so this stands beside the channel.
 *
 * Threads of the program, under no lock, unless said otherwise: the GPU's library is called. What
 * returns a text returns NULL, or why that cannot be.
 */
#ifndef MPIXQ_IPC_WINDOW_H
#define MPIXQ_IPC_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/pieces.h"

struct mpixq_stream;

enum {
    MPIXQ_MAPPED_SIGNALS = 1024, /* of a window */
    MPIXQ_MAPPED_LANES = 64      /* of queues that have something to do with it at a time */
};

/* A window of this process, and what it has mapped of the others. */
struct mpixq_mapped;
/* What a process tells the others of its own, as bytes. */
struct mpixq_mapped_offer {
    uint64_t words[48];
};

/* Memory of this kind, at this place (stream/memory.h). */
const char *mpixq_mapped_offer(const char *kind, void *place, void *base, size_t bytes,
                               struct mpixq_mapped **mapped_p, struct mpixq_mapped_offer *offer_p);
/* Zero the memory of this process, which no other has mapped yet. */
const char *mpixq_mapped_clear(struct mpixq_mapped *mapped);
/* Zero memory of a GPU that is not to be mapped. */
const char *mpixq_mapped_zero(const char *kind, void *place, void *memory, size_t bytes);
/* All n offers are there, that of this process at rank. *which_p: with whom it cannot be. */
const char *mpixq_mapped_open(struct mpixq_mapped *mapped, const struct mpixq_mapped_offer offers[],
                              int n, int rank, int *which_p);
/* Waits for puts by the host; nothing else is under way. NULL: nothing happens. */
void mpixq_mapped_close(struct mpixq_mapped *mapped);

/* Where GPUs of this process see it; any thread. */
char *mpixq_mapped_base(const struct mpixq_mapped *mapped, int rank);
uint64_t mpixq_mapped_bytes(const struct mpixq_mapped *mapped, int rank);
struct mpixq_mapped_words *mpixq_mapped_signal(const struct mpixq_mapped *mapped, int rank,
                                               uint32_t index);
/* A word in memory of the host that is not 0 once the window has failed; and make it so. */
uint64_t *mpixq_mapped_failed(const struct mpixq_mapped *mapped);
void mpixq_mapped_fail(struct mpixq_mapped *mapped);

/* Have the GPU make these puts, on no queue; the next one is called by this. May block while there
 * is no room in the stream. */
const char *mpixq_mapped_put(struct mpixq_mapped *mapped, struct mpixq_puts *all);
/* What a launch of n puts that are in all lacks: told, and how many blocks. */
void mpixq_mapped_fill(const struct mpixq_mapped *mapped, struct mpixq_puts *all);
/* Until all of them are complete. *stale_p: of one whose remote signal was gone, or 0; told
 * once. */
const char *mpixq_mapped_finish(struct mpixq_mapped *mapped, uint64_t *stale_p);

/* A signal of this process: what it is now; make it another one, set to so many events; set it
 * again, if it is 0: *before_p is what it was. */
const char *mpixq_mapped_read(struct mpixq_mapped *mapped, uint32_t index, uint64_t *word_p);
const char *mpixq_mapped_begin(struct mpixq_mapped *mapped, uint32_t index, uint64_t events,
                               uint64_t generation);
const char *mpixq_mapped_set(struct mpixq_mapped *mapped, uint32_t index, uint64_t events,
                             uint64_t *before_p);

/* Kernels of queues. Has the stream kernels where the window is? What those of a queue with this
 * number, which is not 0, and this lane have in common, but for what its stream fills. */
bool mpixq_mapped_suits(const struct mpixq_mapped *mapped, const struct mpixq_stream *stream);
struct mpixq_behind mpixq_mapped_behind(const struct mpixq_mapped *mapped, unsigned lane,
                                        uint64_t queue);
/* Any thread. Another queue has the lane from now on, and the kernels of the one before have ended;
 * and why the first of its kernels failed, which stays so. */
void mpixq_mapped_lane_begin(const struct mpixq_mapped *mapped, unsigned lane);
bool mpixq_mapped_find_fault(const struct mpixq_mapped *mapped, unsigned lane,
                             struct mpixq_mapped_fault *fault_p);

#endif
