/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Slabs are never given back: a graph may be replayed as long as the process lives, and its kernels
 * touch the words then. */
#include "tally_words.h"

#include <stddef.h>
#include <string.h>
#include <utlist.h>

#include "stream/memory.h"
#include "stream/stream.h"
#include "util/alloc.h"

enum { SLAB_BYTES = 65536, WORDS_OF_SLAB = SLAB_BYTES / sizeof(struct mpixq_tally_words) };

_Static_assert(offsetof(struct mpixq_tally_words, own.started) ==
                   offsetof(struct mpixq_end, started),
               "as kernels have them");
_Static_assert(offsetof(struct mpixq_tally_words, own.closed) == offsetof(struct mpixq_end, closed),
               "as kernels have them");
_Static_assert(offsetof(struct mpixq_tally_words, told.started) -
                       offsetof(struct mpixq_tally_words, told) ==
                   offsetof(struct mpixq_told, started),
               "as kernels have them");
_Static_assert(offsetof(struct mpixq_tally_words, told.halt) -
                       offsetof(struct mpixq_tally_words, told) ==
                   offsetof(struct mpixq_told, halt),
               "as kernels have them");

struct mpixq_tally_slab {
    const struct mpixq_stream_kind *kind; /* these are constant */
    const void *place;
    uint64_t life;
    struct mpixq_staging *memory;
    int n_free;
    uint16_t free[WORDS_OF_SLAB];
    struct mpixq_tally_slab *next;
};

static struct mpixq_tally_words *first_of(const struct mpixq_tally_slab *slab)
{
    return slab->memory->memory.host;
}

bool mpixq_tally_words_suit(const struct mpixq_tally_slab *slab, const struct mpixq_stream *stream)
{
    return slab->kind == stream->kind && slab->place == stream->place &&
           !mpixq_memory_is_over(slab->life);
}

/* Under the lock. NULL: there is none with words left. */
static struct mpixq_tally_slab *find(const struct mpixq_tally_slabs *slabs,
                                     const struct mpixq_stream *stream)
{
    struct mpixq_tally_slab *slab;

    LL_FOREACH(slabs->first, slab)
    {
        if (slab->n_free > 0 && mpixq_tally_words_suit(slab, stream)) {
            break;
        }
    }
    return slab;
}

/* Under the lock. */
static struct mpixq_tally_slab *slab_of(const struct mpixq_tally_slabs *slabs,
                                        const struct mpixq_tally_words *words)
{
    struct mpixq_tally_slab *slab;

    LL_FOREACH(slabs->first, slab)
    {
        if (words >= first_of(slab) && words < first_of(slab) + WORDS_OF_SLAB) {
            break;
        }
    }
    return slab;
}

static struct mpixq_tally_slab *slab_new(const struct mpixq_stream *stream)
{
    struct mpixq_tally_slab *slab = mpixq_alloc(sizeof *slab); /* never freed */
    void *place = (void *)(uintptr_t)stream->place;

    if (slab == NULL) {
        return NULL;
    }
    slab->kind = stream->kind;
    slab->place = stream->place;
    slab->life = mpixq_memory_life(stream->kind->name, place);
    slab->memory = mpixq_staging_take(stream->kind->name, place, slab->life, SLAB_BYTES);
    if (slab->memory == NULL) {
        mpixq_free(slab);
        return NULL;
    }
    for (; slab->n_free < WORDS_OF_SLAB; slab->n_free++) {
        slab->free[slab->n_free] = (uint16_t)(WORDS_OF_SLAB - 1 - slab->n_free);
    }
    return slab;
}

bool mpixq_tally_words_provide(struct mpixq_tally_slabs *slabs, const struct mpixq_stream *stream)
{
    struct mpixq_tally_slab *slab;

    mpixq_lock_acquire(&slabs->lock);
    slab = find(slabs, stream);
    mpixq_lock_release(&slabs->lock);
    if (slab != NULL) {
        return true;
    }
    slab = slab_new(stream);
    if (slab != NULL) {
        mpixq_lock_acquire(&slabs->lock);
        LL_PREPEND(slabs->first, slab);
        mpixq_lock_release(&slabs->lock);
    }
    return slab != NULL;
}

struct mpixq_tally_words *mpixq_tally_words_take(struct mpixq_tally_slabs *slabs,
                                                 const struct mpixq_stream *stream, char **seen_p,
                                                 const struct mpixq_tally_slab **slab_p)
{
    struct mpixq_tally_words *words = NULL;
    struct mpixq_tally_slab *slab;

    mpixq_lock_acquire(&slabs->lock);
    slab = find(slabs, stream);
    if (slab != NULL) {
        int number = slab->free[--slab->n_free];

        words = first_of(slab) + number;
        *slab_p = slab;
        *seen_p = (char *)slab->memory->address + (size_t)number * sizeof *words;
    }
    mpixq_lock_release(&slabs->lock);
    if (words != NULL) {
        memset(words, 0, sizeof *words);
    }
    return words;
}

void mpixq_tally_words_give_back(struct mpixq_tally_slabs *slabs, struct mpixq_tally_words *words)
{
    struct mpixq_tally_slab *slab;

    mpixq_lock_acquire(&slabs->lock);
    slab = slab_of(slabs, words);
    slab->free[slab->n_free++] = (uint16_t)(words - first_of(slab));
    mpixq_lock_release(&slabs->lock);
}
