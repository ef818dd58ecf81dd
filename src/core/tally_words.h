/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The words of tallies: memory of the host that GPUs see, taken in slabs.
 */
#ifndef MPIXQ_TALLY_WORDS_H
#define MPIXQ_TALLY_WORDS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/lock.h"

struct mpixq_stream;
struct mpixq_tally_slab;

enum { MPIXQ_TALLY_LINE = 64 };

/* As kernels have them: struct mpixq_end, and struct mpixq_told. */
struct mpixq_tally_words {
    struct {
        alignas(MPIXQ_TALLY_LINE) _Atomic uint64_t done;
        _Atomic uint64_t state, posted, tried, started, waited, come, gone, found, blocks, closed;
    } own;
    struct {
        alignas(MPIXQ_TALLY_LINE) _Atomic uint64_t done;
        alignas(MPIXQ_TALLY_LINE) _Atomic uint64_t started;
        _Atomic uint64_t fault, halt;
    } told;
};

/* All slabs. The lock, a leaf, guards the list and which words are taken. */
struct mpixq_tally_slabs {
    struct mpixq_lock lock;
    struct mpixq_tally_slab *first;
};

/* Have a slab for streams like this one. Threads of the program, with no lock but a queue's; may
 * block until the GPU goes on. False: there is no memory. */
bool mpixq_tally_words_provide(struct mpixq_tally_slabs *slabs, const struct mpixq_stream *stream);
/* All 0, for streams like this one; *seen_p is where these see them, and *slab_p what they are part
 * of, which stays. NULL: none are left of what was provided. */
struct mpixq_tally_words *mpixq_tally_words_take(struct mpixq_tally_slabs *slabs,
                                                 const struct mpixq_stream *stream, char **seen_p,
                                                 const struct mpixq_tally_slab **slab_p);
void mpixq_tally_words_give_back(struct mpixq_tally_slabs *slabs, struct mpixq_tally_words *words);
/* Do streams like this one see words of it, and is it still there? Takes no lock. */
bool mpixq_tally_words_suit(const struct mpixq_tally_slab *slab, const struct mpixq_stream *stream);

#endif
