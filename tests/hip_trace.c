/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * hip_trace.c - what the double of the HIP runtime is given (trace.h)
 */
#include <stdint.h>
#include <string.h>

#include "hip_double/hip_double.h"
#include "mtest_gpu.h"
#include "stream/pieces.h"
#include "trace.h"

static unsigned long number_of(const void *address)
{
    return (unsigned long)(uintptr_t)address;
}

/* Where a kernel stores that the stream has come so far. */
static void add_reached(const void *word, unsigned long value)
{
    if (word != NULL) {
        trace_add(TRACE_CALLS, "    then %lu into " TRACE_WORD, value, number_of(word));
    }
}

static void add_words(const struct mpixq_words *all)
{
    trace_add(TRACE_CALLS,
              "    unless " TRACE_WORD " is %llu or " TRACE_WORD " is set, %u threads each",
              number_of(all->until.gate), all->until.opened, number_of(all->until.halt), all->each);
    for (unsigned i = 0; i < all->n; i++) {
        trace_add(TRACE_CALLS,
                  "    %llu at " TRACE_WORD ", state " TRACE_WORD " at most %lu, slot " TRACE_MEMORY
                  " for %lu bytes to " TRACE_MEMORY,
                  all->at[i].value, number_of(all->at[i].address), number_of(all->at[i].state),
                  all->at[i].state != NULL ? all->at[i].mine : 0, number_of(all->at[i].slot),
                  all->at[i].slot != NULL ? all->at[i].bytes : 0,
                  all->at[i].slot != NULL ? number_of(all->at[i].to) : 0);
    }
    add_reached(all->word, (unsigned long)all->value);
}

static void add_moves(const struct mpixq_moves *all)
{
    trace_add(TRACE_CALLS, "    %u near, %u small, groups of %u", all->n_near, all->n_small,
              all->group);
    for (unsigned i = 0; i < all->n; i++) {
        const struct mpixq_move *m = &all->move[i];

        trace_add(TRACE_CALLS,
                  "    start %lu: %lu bytes from " TRACE_MEMORY " to " TRACE_MEMORY
                  ", slot " TRACE_MEMORY ", %u blocks%s%s%s%s",
                  m->value, m->bytes, number_of(m->from), number_of(m->to), number_of(m->slot),
                  m->blocks, m->is_send ? ", send" : ", receive", m->is_ready ? ", ready" : "",
                  m->is_early ? ", early" : "", m->is_after_host ? ", after host" : "");
        trace_add(
            TRACE_CALLS,
            "        ends " TRACE_WORD " and " TRACE_WORD ", told " TRACE_WORD " and " TRACE_WORD,
            number_of(m->own), number_of(m->peer), number_of(m->own_told), number_of(m->told));
    }
    add_reached(all->word, all->value);
}

static void add_pass(const struct mpixq_moves *all)
{
    add_reached(all->came, all->came_value);
    trace_add(TRACE_CALLS,
              "    unless " TRACE_WORD " is %llu or " TRACE_WORD " is set, %u threads each",
              number_of(all->until.gate), all->until.opened, number_of(all->until.halt), all->each);
    add_moves(all);
}

static void add_pieces(const struct mpixq_pieces *all)
{
    for (unsigned i = 0; i < all->n; i++) {
        trace_add(TRACE_CALLS, "    %llu bytes from " TRACE_MEMORY " to " TRACE_MEMORY,
                  all->piece[i].bytes, number_of(all->piece[i].from), number_of(all->piece[i].to));
    }
    add_reached(all->word, (unsigned long)all->value);
}

static void add_kernel(const struct hip_double_work *work)
{
    const unsigned long *p = work->parameters;

    trace_add(TRACE_CALLS, "%s, %u x %u, in " TRACE_STREAM, work->what, work->blocks, work->threads,
              number_of(work->stream));
    if (strncmp(work->what, "mpixq_move_", 11) == 0) {
        add_moves(work->parameters);
    } else if (strncmp(work->what, "mpixq_pass_", 11) == 0) {
        add_pass(work->parameters);
    } else if (strncmp(work->what, "mpixq_wait_", 11) == 0 || strstr(work->what, "_all") != NULL) {
        add_words(work->parameters);
    } else if (strcmp(work->what, "mpixq_copy") == 0) {
        add_pieces(work->parameters);
    } else if (strcmp(work->what, "mpixq_ring") == 0) {
        add_reached((const void *)p[0], p[1]);
    } else if (strcmp(work->what, "mpixq_wait") == 0) {
        trace_add(TRACE_CALLS, "    until " TRACE_WORD " is %lu", p[0], p[1]);
        add_reached((const void *)p[2], p[3]);
    }
}

static void see_work(const struct hip_double_work *work)
{
    if (work->threads > 0) {
        add_kernel(work);
    } else if (work->from != NULL) {
        trace_add(TRACE_CALLS,
                  "%s %zu bytes from " TRACE_MEMORY " to " TRACE_MEMORY " in " TRACE_STREAM,
                  work->what, work->bytes, number_of(work->from), number_of(work->to),
                  number_of(work->stream));
    } else {
        trace_add(TRACE_CALLS, "%s %lu at " TRACE_WORD " in " TRACE_STREAM, work->what,
                  (unsigned long)work->value, number_of(work->to), number_of(work->stream));
    }
}

void trace_gpu_watch(bool watches)
{
    void (*watch)(void (*)(const struct hip_double_work *)) = NULL;

    if (mtest_gpu_kind() != NULL) {
        *(void **)&watch = mtest_gpu_symbol("hip_double_watch");
        watch(watches ? see_work : NULL);
    }
}
