/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Eager pairs: slots, and the copies out of them. What a receive is told by its completion word is
 * that a message lies in its slot, and that it was started. Who waits for it, or asks whether it is
 * complete, copies that. */
#include "eager.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "nic.h"
#include "stripe.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/lock.h"
#include "util/log.h"

enum {
    RECEIVES = 64, /* of a process that have slots of a NIC: each costs one of its counters */
    LINE = 64      /* a slot begins on a line of the cache of its own */
};

/* Before the match. */

/* Not one that may be in a chain, or is large enough to be divided, or whose sender tells. So no
 * receive that the NIC writes to memory of a GPU is: the host that waits for it could not copy
 * there. */
static bool may_be_eager(const struct cxi_end *end, size_t bytes)
{
    enum mpixq_mode mode = end->pair->message.mode;

    return (mode == MPIXQ_MODE_SEND || mode == MPIXQ_MODE_RECV) && !end->pair->may_chain &&
           mpixq_env.eager > 0 && bytes <= (uint64_t)mpixq_env.eager &&
           !mpixq_cxi_is_large(bytes) && !end->delivered;
}

/* Memory for the slots of one receive, of whatever size, that GPUs are to see. It stays known to
 * them when it is given back, and is all of one size so that any receive can have it. */
struct cxi_block {
    char *memory;
    struct mpixq_exposed exposed;
    bool is_taken; /* under nic.lock */
    struct cxi_block *next;
};

static uint64_t in_lines(uint64_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

/* What the slots take, and behind them the word that says how many messages were copied. */
static uint64_t bytes_for(uint64_t room)
{
    return CXI_SLOTS * room + LINE;
}

static struct cxi_block *take_spare(struct cxi_nic *nic)
{
    struct cxi_block *block;

    mpixq_lock_acquire(&nic->lock);
    LL_SEARCH_SCALAR(nic->blocks, block, is_taken, false);
    if (block != NULL) {
        block->is_taken = true;
    }
    mpixq_lock_release(&nic->lock);
    return block;
}

static struct cxi_block *block_new(struct cxi_nic *nic)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = (bytes_for(in_lines((uint64_t)mpixq_env.eager)) + page - 1) / page * page;
    struct cxi_block *block = mpixq_alloc(sizeof *block); /* freed in mpixq_cxi_blocks_close */
    char *memory = block != NULL ? mpixq_alloc_aligned(page, bytes) : NULL; /* likewise */

    if (memory == NULL) {
        mpixq_free(block);
        return NULL;
    }
    block->memory = memory;
    block->is_taken = true;
    mpixq_lock_acquire(&nic->lock);
    mpixq_cxi_hidden(&nic->exposure, &block->exposed, memory, bytes, false);
    LL_PREPEND(nic->blocks, block);
    mpixq_lock_release(&nic->lock);
    return block;
}

void mpixq_cxi_blocks_close(struct cxi_nic *nic)
{
    struct cxi_block *block;

    while ((block = nic->blocks) != NULL) {
        LL_DELETE(nic->blocks, block);
        mpixq_free(block->memory);
        mpixq_free(block);
    }
}

/* In a process that uses no GPU just as much as they take. */
static bool find_memory(struct cxi_nic *nic, struct cxi_slots *slots)
{
    if (mpixq_memory_has_gpu()) {
        slots->block = take_spare(nic);
        slots->block = slots->block != NULL ? slots->block : block_new(nic);
        slots->memory = slots->block != NULL ? slots->block->memory : NULL;
    } else {
        slots->memory = mpixq_alloc_aligned(LINE, bytes_for(slots->gpu.room)); /* freed with them */
    }
    if (slots->memory == NULL) {
        return false;
    }
    slots->gpu.block = slots->block != NULL ? &slots->block->exposed : NULL;
    slots->gpu.first = slots->memory;
    slots->gpu.n = CXI_SLOTS;
    slots->gpu.taken = (_Atomic uint64_t *)(void *)(slots->memory + CXI_SLOTS * slots->gpu.room);
    atomic_init(slots->gpu.taken, 0);
    return true;
}

static bool open_slots(struct cxi_nic *nic, struct cxi_slots *slots, struct cxi_counter *first)
{
    struct cxi_counter *counters[CXI_SLOTS] = {first, mpixq_cxi_counter_take(nic)};

    slots->second = counters[1];
    if (slots->second == NULL || !find_memory(nic, slots)) {
        return false;
    }
    for (int i = 0; i < CXI_SLOTS; i++) {
        slots->regions[i] = mpixq_cxi_region(nic, slots->memory + (uint64_t)i * slots->gpu.room,
                                             slots->gpu.room, counters[i]);
        if (slots->regions[i] == NULL) {
            return false;
        }
    }
    return true;
}

static int most_receives(void)
{
    int share = mpixq_cxi_counter_share();

    return share < RECEIVES ? share : RECEIVES;
}

static struct cxi_slots *slots_new(struct cxi_nic *nic, size_t bytes, struct cxi_counter *first)
{
    struct cxi_slots *slots = NULL;
    int most = most_receives();

    if (atomic_fetch_add(&nic->n_slots, 1) < most) {
        slots = mpixq_alloc(sizeof *slots); /* freed in mpixq_cxi_slots_free */
    }
    if (slots == NULL) {
        atomic_fetch_sub(&nic->n_slots, 1);
        mpixq_debug("fabric: no slots for a receive: %d may have some, or there is no memory",
                    most);
        return NULL;
    }
    slots->gpu.room = bytes > 0 ? in_lines(bytes) : LINE;
    if (!open_slots(nic, slots, first)) {
        mpixq_debug("fabric: no slots for a receive of %zu bytes", bytes);
        mpixq_cxi_slots_free(nic, slots, true, 0);
        return NULL;
    }
    return slots;
}

/* What a GPU has to see to copy a message by itself. Of a buffer in its own memory, which has a
 * staging buffer, the stream knows where it is. */
static void find_buffer(const struct cxi_end *end, size_t bytes, struct mpixq_gpu_slots *gpu)
{
    gpu->page = end->page;
    gpu->word = &end->word->value;
    gpu->base = end->word_base;
    if (gpu->block != NULL && end->pair->staging == NULL && !end->pair->in_gpu) {
        gpu->to = mpixq_memory_seen(end->buffer, bytes, &gpu->place, &gpu->life);
    }
}

void mpixq_cxi_eager_prepare(struct cxi_end *end, size_t bytes)
{
    if (!may_be_eager(end, bytes)) {
        if (end->delivered && bytes <= (uint64_t)mpixq_env.eager) {
            mpixq_debug("fabric: %zu bytes are not eager: the sender tells when they are there%s",
                        bytes, end->direct ? ", in memory of a GPU" : "");
        }
        return;
    }
    if (!end->is_send) {
        end->slots = slots_new(end->nic, bytes, end->arrived);
    }
    end->may_be_eager = end->is_send || end->slots != NULL;
    if (end->slots != NULL) {
        find_buffer(end, bytes, &end->slots->gpu);
    }
}

void mpixq_cxi_eager_decide(struct cxi_end *end, bool would)
{
    struct cxi_nic *nic = end->nic;

    /* Who looks for failures without a name looks at this end, too. */
    mpixq_lock_acquire(&nic->lock);
    end->eager = would && end->slots != NULL && !end->ready && !end->delivered &&
                 end->pair->bytes <= end->slots->gpu.room;
    if (!end->eager && end->slots != NULL) {
        LL_PREPEND2(nic->gone_slots, end->slots, next_gone);
        atomic_fetch_add(&nic->n_gone, 1);
        end->slots = NULL;
    }
    mpixq_lock_release(&nic->lock);
    end->pair->is_awaited = end->eager;
    if (end->eager) {
        end->slots->gpu.bytes = end->pair->bytes;
        /* Both of its atomics count in D: the last step but one is then that of a start which was
         * rung for, whatever has come before that. */
        end->own = 2;
    }
}

/* The end. */

void mpixq_cxi_slots_unreach(struct cxi_slots *slots)
{
    for (int i = 0; slots != NULL && i < CXI_SLOTS; i++) {
        mpixq_cxi_region_close(&slots->regions[i]);
    }
}

void mpixq_cxi_slots_free(struct cxi_nic *nic, struct cxi_slots *slots, bool clean, uint64_t value)
{
    if (slots == NULL) {
        return;
    }
    mpixq_cxi_slots_unreach(slots);
    mpixq_lock_acquire(&nic->lock);
    mpixq_cxi_counter_put(nic, slots->second, clean, value);
    if (slots->block != NULL) {
        slots->block->is_taken = false;
    }
    mpixq_lock_release(&nic->lock);
    atomic_fetch_sub(&nic->n_slots, 1);
    if (slots->block == NULL) {
        mpixq_free(slots->memory);
    }
    mpixq_free(slots);
}

struct cxi_slots *mpixq_cxi_slots_take_gone(struct cxi_nic *nic)
{
    struct cxi_slots *slots;

    mpixq_lock_acquire(&nic->lock);
    slots = nic->gone_slots;
    if (slots != NULL) {
        LL_DELETE2(nic->gone_slots, slots, next_gone);
    }
    mpixq_lock_release(&nic->lock);
    return slots;
}

void mpixq_cxi_slots_shut(struct cxi_end *end)
{
    while (mpixq_cxi_has_slots(end) && atomic_exchange(&end->slots->gpu.busy, true)) {
        (void)sched_yield(); /* a copy of some microseconds is under way */
    }
}

/* Messages. */

static bool is_there(const struct cxi_end *end, uint64_t taken)
{
    return mpixq_cxi_done(end) > taken && mpixq_pair_executed(end->pair) > taken &&
           !mpixq_pair_has_failed(end->pair);
}

/* And what a GPU has been told to copy it does copy, or its queue fails. */
void mpixq_cxi_take(struct cxi_end *end)
{
    struct mpixq_gpu_slots *gpu;
    uint64_t taken;

    if (!mpixq_cxi_has_slots(end) || !is_there(end, mpixq_cxi_complete(end))) {
        return;
    }
    gpu = &end->slots->gpu;
    if (atomic_exchange(&gpu->busy, true)) {
        return;
    }
    taken = mpixq_cxi_complete(end); /* another thread may have copied it meanwhile */
    if (is_there(end, taken) && atomic_load(&gpu->claimed) <= taken) {
        if (gpu->bytes > 0) {
            memcpy(end->buffer, gpu->first + taken % gpu->n * gpu->room, gpu->bytes);
        }
        atomic_store_explicit(gpu->taken, taken + 1, memory_order_release);
    }
    atomic_store(&gpu->busy, false);
}
