/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Chains are made, if the NIC stops them at a failure: so that is asked first. */
#include "put_chain.h"

#include <utlist.h>

#include "nic.h"
#include "shares.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/lock.h"
#include "util/log.h"

enum {
    REFERENCES = 8,  /* operations one after the other, in whose time another one would have come */
    ASK_ENTRIES = 3, /* of an attempt to find out */
    PATIENCE_MS = 2000
};

/* An operation that fails adds to its counter's failures. On a NIC that compares thresholds with
 * successes and failures together what waits behind it would be executed, and a signal told of data
 * that is not there. So one write that must fail is made, to this process itself, with an atomic
 * behind it; and then, for gets, a read. Once the failure is shown some operations that nothing
 * keeps back are executed one after the other, each in as many steps as the atomic would take. */

struct question {
    struct cxi_nic *nic;
    enum fi_op_type failing; /* a write, or a read */
    struct cxi_counter *counter;
    struct cxi_word *behind, *beside; /* what waits for that adds to; and what does not */
    uint64_t until_ns;
};

static void fill_atomic(const struct question *q, struct cxi_entry *entry,
                        const struct cxi_word *word)
{
    struct cxi_nic *nic = q->nic;
    uint64_t key, address;

    mpixq_cxi_word_name(nic, word, &key, &address);
    mpixq_cxi_fill_atomic(nic, entry,
                          &(struct cxi_atomic){.peer = nic->self,
                                               .key = key,
                                               .address = address,
                                               .operand = &nic->constants.one,
                                               .flags = FI_COMPLETION});
    entry->work.completion_cntr = NULL;
}

/* No region has this key: they are given out from below, and not as many. */
static void fill_failing(const struct question *q, struct cxi_entry *entry)
{
    struct cxi_nic *nic = q->nic;

    mpixq_cxi_fill_move(
        nic, entry,
        &(struct cxi_move){.type = q->failing,
                           .peer = nic->self,
                           .key = UINT32_MAX,
                           .local = &nic->constants.nowhere,
                           .bytes = sizeof nic->constants.nowhere,
                           .flags = q->failing == FI_OP_WRITE ? FI_DELIVERY_COMPLETE : 0});
    entry->work.completion_cntr = q->counter->fid;
}

static bool goes_on(const struct question *q, struct mpixq_backoff *backoff)
{
    mpixq_cxi_read(q->nic);
    mpixq_backoff_pause(backoff);
    return mpixq_now_ns() < q->until_ns;
}

/* Post it, once the counter has come so far. False: it cannot be. */
static bool post(const struct question *q, struct cxi_entry *entry, uint64_t threshold)
{
    struct cxi_nic *nic = q->nic;
    struct mpixq_backoff backoff;
    int rc;

    entry->work.triggering_cntr = q->counter->fid;
    entry->work.threshold = q->counter->base + threshold;
    mpixq_backoff_begin(&backoff);
    do {
        mpixq_lock_acquire(&nic->lock);
        rc = mpixq_cxi_defer(nic, &entry->work);
        mpixq_lock_release(&nic->lock);
    } while (rc == -FI_EAGAIN && goes_on(q, &backoff));
    return rc == 0;
}

static bool await_word(const struct question *q, const struct cxi_word *word, uint64_t value)
{
    struct mpixq_backoff backoff;

    mpixq_backoff_begin(&backoff);
    while (atomic_load(&word->value) != value && goes_on(q, &backoff)) {
    }
    return atomic_load(&word->value) == value;
}

/* Operations that wait for nothing. */
static bool refer(const struct question *q, struct cxi_entry *entry)
{
    uint64_t before = atomic_load(&q->beside->value);
    bool came = true;

    fill_atomic(q, entry, q->beside);
    for (uint64_t i = 1; came && i <= REFERENCES; i++) {
        came = post(q, entry, 0) && await_word(q, q->beside, before + i);
    }
    return came;
}

/* The first failure of a counter is shown unasked. */
static bool await_failure(const struct question *q)
{
    struct mpixq_backoff backoff;

    mpixq_backoff_begin(&backoff);
    while (fi_cntr_readerr(q->counter->fid) == 0 && goes_on(q, &backoff)) {
    }
    return fi_cntr_readerr(q->counter->fid) > 0;
}

/* *is_over_p: nothing of it is with the NIC any more. */
static bool find_out(const struct question *q, struct cxi_entry *const entries[ASK_ENTRIES],
                     bool *is_over_p)
{
    uint64_t before = atomic_load(&q->behind->value);
    bool stops;

    fill_atomic(q, entries[0], q->behind);
    fill_failing(q, entries[1]);
    if (!post(q, entries[0], 1)) {
        *is_over_p = true;
        return false;
    }
    *is_over_p = false;
    if (!post(q, entries[1], 0) || !await_failure(q) || !refer(q, entries[2])) {
        return false;
    }
    stops = atomic_load(&q->behind->value) == before;
    if (stops) { /* let it go, too */
        (void)fi_cntr_add(q->counter->fid, 1);
    }
    *is_over_p = await_word(q, q->behind, before + 1);
    return stops;
}

/* False: less than all, and none is taken. */
static bool take_entries(struct cxi_nic *nic, struct cxi_entry *entries[ASK_ENTRIES])
{
    int n = 0;

    mpixq_lock_acquire(&nic->lock);
    while (n < ASK_ENTRIES && (entries[n] = mpixq_cxi_entry_take_alone(nic, n == 1)) != NULL) {
        n++;
    }
    for (int i = 0; n < ASK_ENTRIES && i < n; i++) {
        mpixq_cxi_entry_give(nic, entries[i]);
    }
    mpixq_lock_release(&nic->lock);
    return n == ASK_ENTRIES;
}

/* What is not over stays where it is, with its entries. A counter that was asked has counted a
 * failure, and so nobody is to have it. */
static void leave(const struct question *q, struct cxi_entry *const entries[], int n, bool is_over)
{
    struct cxi_nic *nic = q->nic;

    mpixq_lock_acquire(&nic->lock);
    for (int i = 0; is_over && i < n; i++) {
        mpixq_cxi_entry_give(nic, entries[i]);
    }
    mpixq_cxi_word_put(nic, q->behind, is_over);
    mpixq_cxi_word_put(nic, q->beside, is_over);
    if (q->counter != NULL && n > 0) {
        q->counter->failures = fi_cntr_readerr(q->counter->fid);
        LL_PREPEND(nic->aside, q->counter);
    } else {
        mpixq_cxi_counter_put(nic, q->counter, true, 0);
    }
    mpixq_lock_release(&nic->lock);
}

/* At a failure of such an operation. */
static bool stops_chains(struct cxi_nic *nic, enum fi_op_type failing)
{
    struct question q = {.nic = nic,
                         .failing = failing,
                         .until_ns = mpixq_now_ns() + (uint64_t)PATIENCE_MS * 1000000,
                         .counter = mpixq_cxi_counter_take(nic),
                         .behind = mpixq_cxi_word_take(nic),
                         .beside = mpixq_cxi_word_take(nic)};
    struct cxi_entry *entries[ASK_ENTRIES];
    bool stops = false, is_over = true, can_ask = false;

    if (q.counter != NULL && q.behind != NULL && q.beside != NULL) {
        can_ask = take_entries(nic, entries);
        stops = can_ask && find_out(&q, entries, &is_over);
    }
    leave(&q, entries, can_ask ? ASK_ENTRIES : 0, is_over);
    return stops;
}

/* ---- Chains ---- */

/* False: the NIC has no counter left. */
static bool add_chain(struct cxi_nic *nic, int place)
{
    struct cxi_put_chain *chain = &nic->chains[place];
    struct cxi_counter *counter = mpixq_cxi_counter_take(nic);

    if (counter == NULL) {
        return false;
    }
    *chain = (struct cxi_put_chain){
        .bell.exposed = &counter->exposed, .nic = nic, .counter = counter, .place = place};
    mpixq_lock_acquire(&nic->lock);
    nic->n_chains++;
    nic->n_opened_chains++;
    mpixq_lock_release(&nic->lock);
    mpixq_cxi_put_chain_unreserve(chain);
    return true;
}

static bool may_ask(struct cxi_nic *nic)
{
    bool may;

    mpixq_lock_acquire(&nic->lock);
    may = !nic->has_asked_chains && nic->quirks->has_ends && nic->atomic == FI_SUM &&
          mpixq_cxi_shares_limit(&nic->shares) >= 2 * ASK_ENTRIES;
    nic->has_asked_chains = nic->has_asked_chains || may;
    mpixq_lock_release(&nic->lock);
    return may;
}

static void ask_about_gets(struct cxi_nic *nic)
{
    bool stops = stops_chains(nic, FI_OP_READ);

    if (!stops) {
        mpixq_debug("fabric: gets are not chained: their NIC goes on behind a read that fails, or "
                    "does not say that it stops");
    }
    mpixq_lock_acquire(&nic->lock);
    nic->chains_gets = stops;
    mpixq_lock_release(&nic->lock);
}

void mpixq_cxi_put_chains_open(struct cxi_nic *nic)
{
    int n = mpixq_cxi_counter_share();

    if (!may_ask(nic)) {
        return;
    }
    if (!stops_chains(nic, FI_OP_WRITE)) {
        mpixq_debug("fabric: puts are not chained: their NIC goes on behind a failure, or does not "
                    "say that it stops");
        return;
    }
    ask_about_gets(nic);
    nic->chains = mpixq_alloc(CXI_PUT_CHAINS * sizeof *nic->chains); /* freed in close */
    n = nic->chains == NULL ? 0 : n < CXI_PUT_CHAINS ? n : CXI_PUT_CHAINS;
    for (int i = 0; i < n && add_chain(nic, i); i++) {
    }
}
