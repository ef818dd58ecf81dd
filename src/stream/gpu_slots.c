/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "gpu_slots.h"

#include "gpu_life.h"

/* Where kernels of the stream find the buffer of a message that is not empty, or NULL. */
static char *find_buffer(const struct mpixq_stream *stream, const struct mpixq_op *op)
{
    const struct mpixq_gpu_slots *slots = op->gpu.slots;

    if (op->copy != NULL) {
        return op->copy->place == stream->place ? op->copy->to : NULL;
    }
    return slots->to != NULL && slots->place == stream->place &&
                   !mpixq_gpu_life_is_over(slots->life)
               ? slots->to
               : NULL;
}

/* A thread that asked whether the start is complete may be copying just now; it is busy before it
 * looks at what is claimed. What was claimed before may not have come yet, and stays so. */
static bool claim(struct mpixq_gpu_slots *slots, uint64_t start)
{
    uint64_t before = atomic_load(&slots->claimed);

    atomic_store(&slots->claimed, start);
    if (atomic_load(&slots->busy)) {
        atomic_store(&slots->claimed, before);
        return false;
    }
    return true;
}

/* What kernels of the stream copy from and to. */
static bool find_all(const struct mpixq_stream *stream, const struct mpixq_op *op)
{
    struct mpixq_gpu_slots *slots = op->gpu.slots;
    char *page = mpixq_exposed_to(slots->page, stream->kind);
    char *block = mpixq_exposed_to(slots->block, stream->kind), *to = NULL;

    if (page == NULL || block == NULL) {
        return false;
    }
    if (slots->bytes > 0) {
        to = find_buffer(stream, op);
        if (to == NULL) {
            return false;
        }
    }
    slots->seen.word = page + ((const char *)slots->word - slots->page->memory);
    slots->seen.slot =
        block + (slots->first - slots->block->memory) + (op->value - 1) % slots->n * slots->room;
    slots->seen.taken = block + ((const char *)slots->taken - slots->block->memory);
    slots->seen.to = to;
    return true;
}

bool mpixq_gpu_slots_claim(const struct mpixq_stream *stream, struct mpixq_op *op)
{
    struct mpixq_gpu_slots *slots = op->gpu.slots;

    /* No thread copies what is below a claim. So while one is to copy a start, none behind it is
     * claimed: it would never be copied. */
    if (atomic_load(slots->taken) < slots->left || !find_all(stream, op) ||
        !claim(slots, op->value)) {
        slots->left = op->value;
        return false;
    }
    op->copy = NULL;
    return true;
}

void mpixq_gpu_slots_add(struct mpixq_words *all, unsigned i, const struct mpixq_op *op)
{
    const struct mpixq_gpu_slots *slots = op->gpu.slots;

    all->at[i].address = slots->seen.word;
    all->at[i].value = slots->base + op->value;
    all->at[i].mine = op->value;
    all->at[i].slot = slots->seen.slot;
    all->at[i].to = slots->seen.to;
    all->at[i].bytes = slots->bytes;
    all->at[i].taken = slots->seen.taken;
    all->n_whole++;
}
