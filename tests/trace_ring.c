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

static void add_start(const struct mpixq_op *op, int more)
{
    if (op->kind != MPIXQ_OP_STORE) {
        trace_add(TRACE_CALLS, "call " TRACE_FUNCTION " for " TRACE_OBJECT ", %d more",
                  (unsigned long)(uintptr_t)op->u.call, (unsigned long)(uintptr_t)op->arg, more);
    } else {
        trace_add(TRACE_CALLS, "store %lu into " TRACE_WORD ", %d more", (unsigned long)op->value,
                  (unsigned long)(uintptr_t)op->u.word, more);
    }
}

static void add_wait(const struct mpixq_op *op, int more)
{
    if (op->poll != NULL) {
        trace_add(TRACE_CALLS,
                  "wait until " TRACE_WORD " is %lu, polling " TRACE_FUNCTION " for " TRACE_OBJECT
                  ", %d more",
                  (unsigned long)(uintptr_t)op->u.awaited, (unsigned long)op->value,
                  (unsigned long)(uintptr_t)op->poll, (unsigned long)(uintptr_t)op->arg, more);
    } else {
        trace_add(TRACE_CALLS, "wait until " TRACE_WORD " is %lu, %d more",
                  (unsigned long)(uintptr_t)op->u.awaited, (unsigned long)op->value, more);
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

        if (mpixq_op_is_wait(&slot->op)) {
            add_wait(&slot->op, slot->more);
        } else if (slot->op.kind != MPIXQ_OP_RUN) {
            add_start(&slot->op, slot->more);
        } else {
            trace_add(TRACE_CALLS, "run a function of the program");
        }
    }
}
