/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cxi_trace.c - what the double of the cxi provider is given (trace.h)
 */
#include <stdint.h>
#include <string.h>

#include "cxi_hooks.h"
#include "trace.h"

/* Which counter and which word of a page a pair has, and from where on that counter counts, depends
 * on the order of matches that end at the same time. So thresholds are those of a counter that is
 * new (the library goes on in steps of 65536), and what an atomic operation adds to is told as a
 * whole; where a write goes is told by its region and the place there. */
static void see_post(const struct cxi_double_post *post)
{
    enum { STEP = 65536 };
    bool is_write = strcmp(post->what, "write") == 0;
    unsigned long place = (unsigned long)(post->key << 32 ^ (is_write ? 0 : post->offset));

    trace_add(TRACE_POSTS,
              "%s %zu from " TRACE_MEMORY " to " TRACE_KEY "+%lu when " TRACE_COUNTER
              " is %lu, counted by " TRACE_COUNTER,
              post->what, post->count, (unsigned long)(uintptr_t)post->from, place,
              is_write ? (unsigned long)post->offset : 0, (unsigned long)post->trigger,
              (unsigned long)(post->threshold % STEP), (unsigned long)post->completion);
}

static void see_bell(uint32_t counter, uint32_t offset, uint64_t value)
{
    trace_bell(counter, offset, value);
}

void trace_nic_watch(bool watches)
{
    const struct cxi_double_hooks *hooks = cxi_hooks();

    if (hooks != NULL) {
        hooks->watch(watches ? see_post : NULL, watches ? see_bell : NULL);
    }
}
