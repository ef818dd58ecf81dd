/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Counters and words. What a NIC may still touch is never given out again: it is set aside, and
 * closed after the endpoint. */
#include <sched.h>
#include <utlist.h>

#include "check.h"
#include "cxi_ext.h"
#include "locality.h"
#include "nic.h"
#include "shares.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/node.h"

enum { WORDS = 512 }; /* on a page */

enum {
    MARK = 1 << 16,   /* far more than can have been counted too much */
    OF_NODE = 512,    /* counters of all its ranks for one purpose */
    FORGOTTEN = 256,  /* looks without news after which the provider may have forgotten to ask */
    QUESTIONS = 10000 /* until a counter that was given back is taken for lost, for now */
};

/* Words side by side, in one region, so that one wait looks at few cache lines. It lies at a
 * multiple of its size. */
enum { PAGE = 8192 };
struct cxi_page {
    struct cxi_word words[WORDS];
    struct mpixq_exposed exposed; /* the words */
    struct fid_mr *region;
    int n_free;
    uint16_t free[WORDS]; /* the next one to give out is the last */
    struct cxi_page *next;
};
enum { ARENA = 256 }; /* pages */

/* Counters. */

/* One whose reads do not wait for the NIC, which may never answer: its commands, reads among them,
 * stand in one queue. Provider cxi before 2.0 refuses the flag: there no read waits. */
static int open_fid(const struct cxi_nic *nic, struct fid_cntr **fid_p)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_NONE};
    int rc;

    attr.flags = nic->quirks->reads_late ? FI_CXI_CNTR_CACHED : 0;
    rc = fi_cntr_open(nic->domain, &attr, fid_p, NULL);
    if (rc == -FI_ENOSYS && attr.flags != 0) {
        attr.flags = 0;
        rc = fi_cntr_open(nic->domain, &attr, fid_p, NULL);
    }
    return rc;
}

/* Without nic.lock: the provider asks the NIC for it, which may take its time. */
static struct cxi_counter *counter_open(struct cxi_nic *nic)
{
    struct cxi_counter *counter = mpixq_alloc(sizeof *counter); /* freed in counters_close */

    if (counter == NULL) {
        return NULL;
    }
    if (open_fid(nic, &counter->fid) != 0) {
        mpixq_debug("fabric: no counter is left");
        mpixq_free(counter);
        return NULL;
    }
    mpixq_lock_acquire(&nic->lock);
    counter->bell = mpixq_cxi_bell(nic, counter->fid, &nic->why_no_bell);
    if (counter->bell != NULL) {
        mpixq_cxi_hidden(&nic->exposure, &counter->exposed, (void *)counter->bell,
                         sizeof *counter->bell, true);
    }
    mpixq_lock_release(&nic->lock);
    return counter;
}

uint64_t mpixq_cxi_counter_look(const struct cxi_nic *nic, struct cxi_counter *counter)
{
    uint64_t value = fi_cntr_read(counter->fid);

    counter->looks = value == counter->shown ? counter->looks + 1 : 0;
    counter->shown = value;
    /* The provider asks once for each answer, and forgets that it could not if the NIC's queue of
     * commands was full. To reset the failures has the NIC show the counter without that queue. The
     * first one is shown unasked, and then its pair has failed, and needs no more news. */
    if (nic->quirks->reads_late && counter->looks >= FORGOTTEN) {
        counter->looks = 0;
        if (fi_cntr_readerr(counter->fid) == 0) {
            (void)fi_cntr_seterr(counter->fid, 0);
        }
    }
    return value;
}

static void set_aside(struct cxi_nic *nic, struct cxi_counter *counter)
{
    LL_PREPEND(nic->aside, counter);
    nic->counts.set_aside++;
}

/* Those that show what they have to by now can be used again. They are asked, not waited for. */
static void settle_doubts(struct cxi_nic *nic)
{
    struct cxi_counter *counter, *next;

    LL_FOREACH_SAFE(nic->doubtful, counter, next)
    {
        uint64_t value = mpixq_cxi_counter_look(nic, counter);

        if (value < counter->due) {
            continue;
        }
        LL_DELETE(nic->doubtful, counter);
        if (value == counter->due) {
            counter->base = value;
            LL_PREPEND(nic->counters, counter);
        } else {
            set_aside(nic, counter);
        }
    }
}

/* One that was given back. None, and *others_p: there may be one later. */
static struct cxi_counter *take_used(struct cxi_nic *nic, bool *others_p)
{
    struct cxi_counter *counter;

    mpixq_lock_acquire(&nic->lock);
    if (nic->counters == NULL) {
        settle_doubts(nic);
    }
    counter = nic->counters;
    if (counter != NULL) {
        LL_DELETE(nic->counters, counter);
        assert(!mpixq_cxi_is_free(nic, counter) && counter->base < nic->quirks->counter_max / 2);
    }
    *others_p = nic->doubtful != NULL;
    mpixq_lock_release(&nic->lock);
    return counter;
}

int mpixq_cxi_counter_share(void)
{
    return OF_NODE / mpixq_node_ranks();
}

struct cxi_counter *mpixq_cxi_counter_take(struct cxi_nic *nic)
{
    bool others;
    struct cxi_counter *counter = take_used(nic, &others);

    counter = counter != NULL ? counter : counter_open(nic);
    /* There are no others than those given back. A NIC that works answers in microseconds. */
    for (int i = 0; counter == NULL && others && i < QUESTIONS; i++) {
        (void)sched_yield();
        counter = take_used(nic, &others);
    }
    return counter;
}

void mpixq_cxi_ring(const struct cxi_counter *counter, uint64_t n)
{
    if (counter->bell != NULL) {
        /* One store of 64 bits, and never a load: the page is not memory. An atomic exchange, which
         * is what a sequentially consistent store becomes, would load. Several threads may store at
         * once: the NIC adds up what comes. */
        atomic_store_explicit(counter->bell, n, memory_order_relaxed);
    } else {
        (void)fi_cntr_add(counter->fid, n);
    }
}

void mpixq_cxi_counter_put(struct cxi_nic *nic, struct cxi_counter *counter, bool clean,
                           uint64_t value)
{
    if (counter == NULL) {
        return;
    }
    assert(!mpixq_cxi_is_free(nic, counter));
    /* What it shows may be behind what it has: a ring is on its way, or the provider answers from
     * memory. Nothing waits for it any more, so a mark can be added: what it shows from the mark on
     * has all in it that was counted before. */
    value += counter->base + (nic->quirks->reads_late ? MARK : 0);
    /* Half of the range is left for its next user. */
    if (clean && value < nic->quirks->counter_max / 2) {
        counter->due = value;
        LL_APPEND(nic->doubtful, counter);
        if (nic->quirks->reads_late) {
            (void)fi_cntr_add(counter->fid, MARK);
            (void)mpixq_cxi_counter_look(nic, counter); /* asks: the answer is there when needed */
        }
    } else {
        set_aside(nic, counter);
    }
}

bool mpixq_cxi_counter_close(struct cxi_nic *nic, struct cxi_counter *counter)
{
    if (counter == NULL) {
        return true;
    }
    if (counter->bell != NULL && !mpixq_cxi_hide(nic, &counter->exposed)) {
        mpixq_lock_acquire(&nic->lock);
        set_aside(nic, counter);
        mpixq_lock_release(&nic->lock);
        return false;
    }
    (void)fi_close(&counter->fid->fid);
    mpixq_free(counter);
    return true;
}

static void counters_close(struct cxi_counter *list)
{
    struct cxi_counter *counter, *next;

    LL_FOREACH_SAFE(list, counter, next)
    {
        (void)fi_close(&counter->fid->fid);
        mpixq_free(counter);
    }
}

/* Words. */

bool mpixq_cxi_arena_open(struct cxi_nic *nic)
{
    nic->arena.memory = mpixq_alloc_aligned(PAGE, (size_t)ARENA * PAGE); /* freed in supply_close */
    nic->arena.held = nic->arena.memory != NULL
                          ? mpixq_cxi_warm(nic, nic->arena.memory, (size_t)ARENA * PAGE)
                          : NULL;
    return nic->arena.held != NULL;
}

static struct cxi_page *page_alloc(struct cxi_nic *nic)
{
    int i;

    if (nic->arena.memory == NULL) {
        return mpixq_alloc_aligned(PAGE, PAGE);
    }
    mpixq_lock_acquire(&nic->lock);
    i = nic->arena.used < ARENA ? nic->arena.used++ : -1;
    mpixq_lock_release(&nic->lock);
    return i >= 0 ? (struct cxi_page *)(void *)(nic->arena.memory + (size_t)i * PAGE) : NULL;
}

static void page_free(const struct cxi_nic *nic, struct cxi_page *page)
{
    if (nic->arena.memory == NULL) {
        mpixq_free(page);
    }
}

static struct cxi_page *page_open(struct cxi_nic *nic)
{
    struct cxi_page *page = page_alloc(nic);

    _Static_assert(sizeof *page <= PAGE, "it lies on one page");
    if (page == NULL) {
        return NULL;
    }
    page->region = mpixq_cxi_region(nic, page->words, sizeof page->words, NULL);
    if (page->region == NULL) {
        page_free(nic, page);
        return NULL;
    }
    for (int i = 0; i < WORDS; i++) {
        page->free[page->n_free++] = (uint16_t)(WORDS - 1 - i);
    }
    return page;
}

static struct cxi_page *page_of(const void *word)
{
    return (struct cxi_page *)((uintptr_t)word & ~(uintptr_t)(PAGE - 1));
}

const struct mpixq_exposed *mpixq_cxi_page_of_word(const void *word)
{
    return &page_of(word)->exposed;
}

/* NULL: all are taken. Under nic.lock. */
static struct cxi_word *take_word(struct cxi_nic *nic)
{
    struct cxi_page *page;

    LL_FOREACH(nic->pages, page)
    {
        if (page->n_free > 0) {
            break;
        }
    }
    return page != NULL ? &page->words[page->free[--page->n_free]] : NULL;
}

struct cxi_word *mpixq_cxi_word_take(struct cxi_nic *nic)
{
    struct cxi_word *word;
    struct cxi_page *page;

    mpixq_lock_acquire(&nic->lock);
    word = take_word(nic);
    mpixq_lock_release(&nic->lock);
    /* The provider waits for the NIC when it makes the region of a page known. */
    page = word == NULL ? page_open(nic) : NULL;
    if (page != NULL) {
        mpixq_lock_acquire(&nic->lock);
        mpixq_cxi_hidden(&nic->exposure, &page->exposed, page->words, sizeof page->words, false);
        LL_PREPEND(nic->pages, page); /* freed in mpixq_cxi_supply_close */
        word = take_word(nic);
        mpixq_lock_release(&nic->lock);
    }
    return word;
}

void mpixq_cxi_word_put(struct cxi_nic *nic, struct cxi_word *word, bool clean)
{
    struct cxi_page *page = page_of(word);

    assert(word == NULL || page->n_free < WORDS);
    if (word != NULL && clean) {
        page->free[page->n_free++] = (uint16_t)(word - page->words);
    } else if (word != NULL) {
        nic->counts.set_aside++;
    }
}

void mpixq_cxi_word_name(const struct cxi_nic *nic, const struct cxi_word *word, uint64_t *key_p,
                         uint64_t *addr_p)
{
    const struct cxi_page *page = page_of(word);

    *key_p = fi_mr_key(page->region);
    *addr_p = mpixq_cxi_remote_address(nic, page->words) +
              (uint64_t)((const char *)word - (const char *)page->words);
}

/* All. */

bool mpixq_cxi_supply_open(struct cxi_nic *nic)
{
    mpixq_cxi_budget_open(nic);
    nic->reads = nic->reads_done = 1;
    nic->all_writes = mpixq_cxi_entries_open(nic, &nic->free_writes);
    nic->all_atomics = mpixq_cxi_entries_open(nic, &nic->free_atomics);
    nic->sink = mpixq_cxi_counter_take(nic);
    return nic->all_writes != NULL && nic->all_atomics != NULL && nic->sink != NULL;
}

void mpixq_cxi_words_close(struct cxi_nic *nic)
{
    struct cxi_page *page;

    mpixq_cxi_exposure_close(&nic->exposure);
    LL_FOREACH(nic->pages, page)
    {
        (void)fi_close(&page->region->fid);
    }
    if (nic->arena.held != NULL) {
        (void)fi_close(&nic->arena.held->fid);
        nic->arena.held = NULL;
    }
}

void mpixq_cxi_supply_close(struct cxi_nic *nic)
{
    struct cxi_page *page, *next;

    LL_FOREACH_SAFE(nic->pages, page, next)
    {
        page_free(nic, page);
    }
    nic->pages = NULL;
    mpixq_free(nic->arena.memory);
    nic->arena.memory = NULL;
    nic->arena.used = 0;
    counters_close(nic->counters);
    counters_close(nic->doubtful);
    counters_close(nic->aside);
    counters_close(nic->sink);
    nic->counters = nic->doubtful = nic->aside = nic->sink = NULL;
    assert(nic->all_writes == NULL || nic->all_atomics == NULL ||
           mpixq_cxi_entries_add_up(nic, 2 * (nic->entries + CXI_RESTING)));
    mpixq_free(nic->all_writes);
    mpixq_free(nic->all_atomics);
    nic->all_writes = nic->all_atomics = nic->free_writes = nic->free_atomics = NULL;
}
