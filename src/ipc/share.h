/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What GPUs of several processes share: buffers, and words by which they agree. One object for each
 * place where buffers are, made when it is first asked for and kept until the process ends.
 *
 * Threads of the program, under no lock, unless said otherwise: the GPU's library is called.
 */
#ifndef MPIXQ_SHARE_H
#define MPIXQ_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream/gpu.h"
#include "stream/pieces.h"
#include "stream/stream.h"

enum {
    MPIXQ_SHARE_ENDS = 16384,         /* that have words in a place */
    MPIXQ_SHARE_SLOT_BYTES = 24 << 20 /* of all slots there */
};

struct mpixq_share;

/* That of a place of this kind, or NULL, and why. */
struct mpixq_share *mpixq_share_of(const char *kind, void *place, const char **why_p);
/* In MPI_Finalize, once nothing of them is open any more. */
void mpixq_shares_close(void);

const void *mpixq_share_place(const struct mpixq_share *share);
/* The life of the place (gpu_life.h) from which it has what follows: another one once it was asked
 * for after the end of that. Any thread. */
uint64_t mpixq_share_life(const struct mpixq_share *share);
/* The GPU that it is. Any thread. */
const struct mpixq_gpu_ident *mpixq_share_ident(const struct mpixq_share *share);
/* Can kernels there reach memory of this GPU, by atomic operations too? Any thread. HIDDEN: this
 * process does not see that GPU, so nobody but a try can tell. */
enum mpixq_share_reach { MPIXQ_REACHES, MPIXQ_REACHES_NOT, MPIXQ_REACH_HIDDEN };
enum mpixq_share_reach mpixq_share_reaches(const struct mpixq_share *share,
                                           const struct mpixq_gpu_ident *other);
/* Try, by atomic operations on words of an end that nobody uses, which is open here: NULL, or why
 * kernels there do not reach it. Only the first time that it is asked of that GPU; may block until
 * our GPU has come to it, and so not while one of our waits is in a stream. */
const char *mpixq_share_try(struct mpixq_share *share, const struct mpixq_gpu_ident *other,
                            struct mpixq_end *end);
/* May something be opened just now? Not while one of our waits might be waited for. */
bool mpixq_share_may_open(const struct mpixq_share *share);

/* The words of an end, where its own GPU sees them; and all, for others to open. Any thread. */
struct mpixq_end *mpixq_share_end(const struct mpixq_share *share, unsigned number);
/* The same, of what somebody has opened. */
struct mpixq_end *mpixq_share_end_of(void *ends, unsigned number);
const struct mpixq_gpu_handle *mpixq_share_ends(const struct mpixq_share *share);
/* Likewise the memory for slots, which lies behind all words. */
void *mpixq_share_slots(const struct mpixq_share *share);
void *mpixq_share_slots_of(void *ends);

/* The allocation that holds a buffer of so many bytes, for others to open, and how far into it the
 * buffer begins. NULL, or why it cannot be shared. Kept until it is dropped, by any thread; what
 * that leaves behind goes with tidy, which others of the program's threads may do too. */
const char *mpixq_share_export(const struct mpixq_share *share, const void *buffer, size_t bytes,
                               struct mpixq_gpu_export *export_p, uint64_t *offset_p);
void mpixq_share_drop(const struct mpixq_gpu_export *export);
void mpixq_share_tidy(void);
/* Which allocation of this process it is, of all that there have been; 0: not known. */
uint64_t mpixq_share_allocation_id(const struct mpixq_share *share, const void *buffer);
/* What others have exported, where GPUs see it, or NULL, and why. One at a time; file: that of the
 * export, as this process has it, which it may close then. */
void *mpixq_share_open(const struct mpixq_share *share, const struct mpixq_gpu_owner *owner,
                       const struct mpixq_gpu_export *export, int file, const char **why_p);
void mpixq_share_close(const struct mpixq_share *share, void *address);
/* The same of what is closed by now, as its place is in another life. */
void mpixq_share_forget(void *address);
/* The same of memory of the host. */
void *mpixq_share_map(const struct mpixq_share *share, void *memory, size_t bytes,
                      const char **why_p);
/* False: the GPU's library has it still, so that nothing else may come to that address. */
bool mpixq_share_unmap(const struct mpixq_share *share, void *memory);

/* Have the GPU make these starts, all MOVEs, or TAKE what is in the slot of an end or is about to
 * be, by a stream of our own, which waits for no other one; returns a ticket, or 0: the GPU reports
 * an error. May wait for room in the stream, but for no peer. */
uint64_t mpixq_share_submit(struct mpixq_share *share, struct mpixq_op list[], int n);
/* Have the kernels ended by which that was done? Any thread; never blocks. */
bool mpixq_share_has_moved(const struct mpixq_share *share, uint64_t ticket);
/* NULL, or what the GPU reports: then it moves nothing more. */
const char *mpixq_share_broken(const struct mpixq_share *share);

/* Store a value in a word of an end, and, of one that was closed, make all words 0 that are to be
 * so while nothing is under way. Either blocks until the GPU has done so. */
void mpixq_share_store(struct mpixq_share *share, mpixq_word_t *word, uint64_t value);
void mpixq_share_reopen(struct mpixq_share *share, struct mpixq_end *end);

/* Take a start back, which blocks until the GPU has seen to it: false if the other end has come,
 * and its data may still be on its way. */
bool mpixq_share_recall(struct mpixq_share *share, struct mpixq_recall *recall);

#endif
