/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "trace_read.h"

#include "alloc.h"

/* The first chunk of a thread from this one on. */
static uint32_t find_chunk(const struct mpixq_trace_all *all, uint32_t thread, uint32_t from)
{
    while (from < all->n_chunks && all->chunks[from].thread != thread) {
        from++;
    }
    return from;
}

bool mpixq_trace_reader_open(struct mpixq_trace_reader *reader)
{
    reader->all = mpixq_trace_all();
    /* Freed in mpixq_trace_reader_close. */
    reader->places = mpixq_alloc((reader->all.n_threads + 1) * sizeof *reader->places);
    if (reader->places == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < reader->all.n_threads; i++) {
        reader->places[i].chunk = find_chunk(&reader->all, i, 0);
    }
    return true;
}

void mpixq_trace_reader_close(struct mpixq_trace_reader *reader)
{
    mpixq_free(reader->places);
    reader->places = NULL;
}

/* The next record of a thread, or NULL. */
static const struct mpixq_trace_record *peek(const struct mpixq_trace_reader *reader,
                                             uint32_t thread)
{
    const struct mpixq_trace_place *place = &reader->places[thread];
    const struct mpixq_trace_record *record;

    if (place->chunk >= reader->all.n_chunks) {
        return NULL;
    }
    record = &reader->all.chunks[place->chunk].slots[place->slot];
    return record->ticks < reader->all.end_ticks ? record : NULL;
}

/* Is there a record? */
static bool holds(const struct mpixq_trace_chunk *chunk, uint32_t slot)
{
    return slot < MPIXQ_TRACE_SLOTS && chunk->slots[slot].kind != 0;
}

static void advance(struct mpixq_trace_reader *reader, uint32_t thread, uint32_t slots)
{
    struct mpixq_trace_place *place = &reader->places[thread];

    place->slot += slots;
    if (!holds(&reader->all.chunks[place->chunk], place->slot)) {
        place->chunk = find_chunk(&reader->all, thread, place->chunk + 1);
        place->slot = 0;
    }
}

const struct mpixq_trace_record *mpixq_trace_next(struct mpixq_trace_reader *reader,
                                                  const struct mpixq_trace_chunk **chunk_p)
{
    const struct mpixq_trace_record *first = NULL;
    uint32_t thread = 0;

    for (uint32_t i = 0; i < reader->all.n_threads; i++) {
        const struct mpixq_trace_record *record = peek(reader, i);

        if (record != NULL && (first == NULL || record->ticks < first->ticks)) {
            first = record;
            thread = i;
        }
    }
    if (first != NULL) {
        *chunk_p = &reader->all.chunks[reader->places[thread].chunk];
        advance(reader, thread, first->slots + 1u);
    }
    return first;
}

uint64_t mpixq_trace_cut(const struct mpixq_trace_all *all)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < all->n_chunks; i++) {
        const struct mpixq_trace_record *slots = all->chunks[i].slots;

        for (uint32_t k = 0; holds(&all->chunks[i], k); k += slots[k].slots + 1u) {
            n += slots[k].ticks >= all->end_ticks;
        }
    }
    return n;
}
