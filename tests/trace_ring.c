/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * trace_ring.c - what is in the ring of a host stream that a gate holds
 */
#include "mtest_gpu.h"
#include "stream/host_ring.h"
#include "trace.h"

static uint64_t seen; /* positions */

void trace_ring_begin(MPIX_Host_stream stream)
{
    seen = mtest_gpu_kind() == NULL ? atomic_load(&stream->tail) : 0;
}

static void add_trigger(const struct mpixq_trigger *trigger, int more)
{
    if (trigger->call != NULL) {
        trace_add(TRACE_CALLS, "call " TRACE_FUNCTION " for " TRACE_OBJECT ", %d more",
                  (unsigned long)(uintptr_t)trigger->call, (unsigned long)(uintptr_t)trigger->arg,
                  more);
    } else {
        trace_add(TRACE_CALLS, "store %lu into " TRACE_WORD ", %d more",
                  (unsigned long)trigger->value, (unsigned long)(uintptr_t)trigger->word, more);
    }
}

static void add_awaited(const struct mpixq_awaited *awaited, int more)
{
    if (awaited->poll != NULL) {
        trace_add(TRACE_CALLS,
                  "wait until " TRACE_WORD " is %lu, polling " TRACE_FUNCTION " for " TRACE_OBJECT
                  ", %d more",
                  (unsigned long)(uintptr_t)awaited->word, (unsigned long)awaited->value,
                  (unsigned long)(uintptr_t)awaited->poll, (unsigned long)(uintptr_t)awaited->arg,
                  more);
    } else {
        trace_add(TRACE_CALLS, "wait until " TRACE_WORD " is %lu, %d more",
                  (unsigned long)(uintptr_t)awaited->word, (unsigned long)awaited->value, more);
    }
}

/* What this thread has put there since the last call. Only it submits, and the gate is before. */
void trace_ring(MPIX_Host_stream stream)
{
    if (mtest_gpu_kind() != NULL) {
        return;
    }
    for (; seen < atomic_load(&stream->tail); seen++) {
        const struct mpixq_slot *slot = mpixq_slot_at(stream, seen);

        if (slot->operation == MPIXQ_TRIGGER) {
            add_trigger(&slot->u.trigger, slot->more);
        } else if (slot->operation == MPIXQ_AWAIT) {
            add_awaited(&slot->u.awaited, slot->more);
        } else {
            trace_add(TRACE_CALLS, "run a function of the program");
        }
    }
}
