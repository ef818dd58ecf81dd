/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "puts.h"

#include <stddef.h>
#include <utlist.h>

#include "chain.h"
#include "nic.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/lock.h"
#include "util/progress.h"

enum { PAGE = 4096 };

struct cxi_puts *mpixq_cxi_puts_new(struct cxi_nic *nic)
{
    size_t bytes = (sizeof(struct cxi_puts) + PAGE - 1) / PAGE * PAGE;
    struct cxi_puts *puts =
        mpixq_alloc_aligned(PAGE, bytes); /* freed in puts_free, or _free_left */

    if (puts == NULL) {
        return NULL;
    }
    puts->nic = nic;
    puts->held = mpixq_cxi_warm(nic, puts, bytes);
    if (puts->held == NULL && nic->why_no_hmem == NULL) {
        mpixq_free(puts); /* a post would ask a GPU's library, from any thread */
        return NULL;
    }
    for (int i = 0; i < CXI_PUTS; i++) {
        puts->of[i].puts = puts;
        LL_PREPEND(puts->spare, &puts->of[i]);
    }
    return puts;
}

/* Under nic.lock. The progress thread reads completions while there are any. */
static void count(struct cxi_nic *nic, int n)
{
    int before = atomic_fetch_add(&nic->n_puts, n);

    if ((before == 0) != (before + n == 0)) {
        atomic_fetch_add(&mpixq_progress.outstanding, before == 0 ? 1 : -1);
    }
}

void mpixq_cxi_puts_free(struct cxi_puts *puts)
{
    struct cxi_nic *nic;
    bool is_left;

    if (puts == NULL) {
        return;
    }
    nic = puts->nic;
    mpixq_lock_acquire(&nic->lock);
    is_left = puts->flying > 0;
    if (is_left) {
        LL_PREPEND2(nic->puts_left, puts, next_left);
    }
    count(nic, -atomic_load(&puts->n_open));
    atomic_store(&puts->n_open, 0);
    mpixq_lock_release(&nic->lock);
    if (!is_left) {
        mpixq_cxi_region_close(&puts->held);
        mpixq_free(puts);
    }
}

void mpixq_cxi_puts_release_left(struct cxi_nic *nic)
{
    struct cxi_puts *puts;

    LL_FOREACH2(nic->puts_left, puts, next_left)
    {
        mpixq_cxi_region_close(&puts->held);
    }
}

void mpixq_cxi_puts_free_left(struct cxi_nic *nic)
{
    struct cxi_puts *puts, *next;

    LL_FOREACH_SAFE2(nic->puts_left, puts, next, next_left)
    {
        mpixq_free(puts);
    }
    nic->puts_left = NULL;
}

/* Success says that the data can be seen. Of deferred work only a failure makes an event, unless it
 * is the last of its put. */
static void fill_write(struct cxi_put *put, struct cxi_entry *entry, uint64_t flags)
{
    entry->put = put;
    entry->u.write.local = (struct iovec){.iov_base = put->from, .iov_len = put->bytes};
    entry->u.write.remote =
        (struct fi_rma_iov){.addr = put->target.addr, .len = put->bytes, .key = put->target.key};
    entry->u.write.op = (struct fi_op_rma){.ep = put->puts->nic->ep,
                                           .flags = flags | FI_DELIVERY_COMPLETE,
                                           .msg = {.msg_iov = &entry->u.write.local,
                                                   .iov_count = 1,
                                                   .addr = put->target.peer,
                                                   .rma_iov = &entry->u.write.remote,
                                                   .rma_iov_count = 1,
                                                   .context = &entry->work.context}};
    entry->work.op_type = FI_OP_WRITE;
    entry->work.op.rma = &entry->u.write.op;
}

static void fill_atomic(struct cxi_put *put, struct cxi_entry *entry)
{
    entry->put = put;
    entry->u.atomic.local = (struct fi_ioc){.addr = &put->entry.operand, .count = 1};
    entry->u.atomic.remote =
        (struct fi_rma_ioc){.addr = put->target.word_addr, .count = 1, .key = put->target.word_key};
    entry->u.atomic.op = (struct fi_op_atomic){.ep = put->puts->nic->ep,
                                               .flags = FI_COMPLETION | FI_DELIVERY_COMPLETE,
                                               .msg = {.msg_iov = &entry->u.atomic.local,
                                                       .iov_count = 1,
                                                       .addr = put->target.peer,
                                                       .rma_iov = &entry->u.atomic.remote,
                                                       .rma_iov_count = 1,
                                                       .datatype = FI_UINT64,
                                                       .op = FI_SUM,
                                                       .context = &entry->work.context}};
    entry->work.op_type = FI_OP_ATOMIC;
    entry->work.op.atomic = &entry->u.atomic.op;
}

static int write_data(struct cxi_put *put)
{
    fill_write(put, &put->entry, FI_COMPLETION);
    return (int)fi_writemsg(put->puts->nic->ep, &put->entry.u.write.op.msg,
                            put->entry.u.write.op.flags);
}

static int add(struct cxi_put *put)
{
    fill_atomic(put, &put->entry);
    return (int)fi_atomicmsg(put->puts->nic->ep, &put->entry.u.atomic.op.msg,
                             put->entry.u.atomic.op.flags);
}

/* The rest under nic.lock. */

static void end(struct cxi_put *put, int error)
{
    struct cxi_puts *puts = put->puts;

    put->error = error;
    DL_APPEND(puts->over, put);
    atomic_fetch_add(&puts->n_over, 1);
}

/* ---- By the NIC ---- */

/* What the chain has counted when all is over: the write, if something waits for it. */
static uint64_t counts(const struct cxi_put *put)
{
    return put->bytes > 0 && put->tells;
}

/* The write is the first, if there is one. */
static struct cxi_entry *next_post(const struct cxi_put *put)
{
    return put->posted == 0 && put->write != NULL ? put->write : put->atomic;
}

static int post(struct cxi_put *put)
{
    struct cxi_nic *nic = put->puts->nic;
    struct cxi_entry *entry = next_post(put);
    bool is_behind = entry == put->atomic && put->write != NULL;

    if (entry == put->atomic) {
        fill_atomic(put, entry);
    } else {
        fill_write(put, entry, put->atomic != NULL ? 0 : FI_COMPLETION);
    }
    entry->work.triggering_cntr = put->chain->counter->fid;
    entry->work.threshold = put->chain->counter->base + put->chain->base + is_behind;
    entry->work.completion_cntr =
        entry == put->write && counts(put) > 0 ? put->chain->counter->fid : NULL;
    return mpixq_cxi_defer(nic, &entry->work);
}

static int n_entries(const struct cxi_put *put)
{
    return (put->write != NULL) + (put->atomic != NULL);
}

/* It keeps one, which is with the NIC. */
static void strand(struct cxi_put *put)
{
    put->is_stranded = true;
    mpixq_cxi_chain_strand(put->puts->nic, put->chain);
    put->puts->nic->counts.set_aside++;
}

static void give_entry(struct cxi_put *put, struct cxi_entry **entry_p)
{
    if (*entry_p != NULL) {
        mpixq_cxi_entry_give(put->puts->nic, *entry_p);
        *entry_p = NULL;
    }
}

/* What was not posted cannot be; what was has to stay, as its end is not known by then. */
static void refuse(struct cxi_put *put)
{
    if (put->posted > 0) {
        give_entry(put, &put->atomic);
        strand(put);
    } else {
        give_entry(put, &put->write);
        give_entry(put, &put->atomic);
        mpixq_cxi_chain_give(put->puts->nic, put->chain, 0);
    }
}

/* False: the NIC does not take all of it now. */
static bool post_all(struct cxi_put *put)
{
    for (int n = n_entries(put); put->posted < n; put->posted++) {
        int rc = post(put);

        if (rc == -FI_EAGAIN) {
            return false;
        }
        if (rc != 0) {
            refuse(put);
            end(put, -rc);
            return true;
        }
        put->puts->flying++;
    }
    return true;
}

/* The last to end is the atomic, if there is one: then the write has ended before. If it is the
 * write that has failed, the atomic waits for ever. */
static void deferred_ended(struct cxi_put *put, const struct cxi_entry *entry, int error)
{
    struct cxi_puts *puts = put->puts;

    if (put->is_stranded) {
        return; /* it was told before */
    }
    if (entry == put->write && put->atomic != NULL) {
        if (error != 0) {
            puts->flying--;
            give_entry(put, &put->write);
            strand(put);
            end(put, error);
        }
        return;
    }
    puts->flying -= n_entries(put);
    give_entry(put, &put->write);
    give_entry(put, &put->atomic);
    mpixq_cxi_chain_give(puts->nic, put->chain, counts(put));
    end(put, error);
}

/* False: something lacks for that. */
static bool take_chain(struct cxi_put *put)
{
    struct cxi_nic *nic = put->puts->nic;
    bool writes = put->bytes > 0, is_whole;

    put->chain = mpixq_cxi_chain_take(nic, writes + put->tells);
    if (put->chain == NULL) {
        return false;
    }
    put->write = writes ? mpixq_cxi_entry_take_alone(nic, true) : NULL;
    put->atomic = put->tells ? mpixq_cxi_entry_take_alone(nic, false) : NULL;
    is_whole = n_entries(put) == writes + put->tells;
    if (!is_whole) {
        refuse(put);
        put->chain = NULL;
    }
    return is_whole;
}

/* ---- By the host ---- */

/* False: the NIC does not take it now. */
static bool issue(struct cxi_put *put)
{
    struct cxi_puts *puts = put->puts;
    struct cxi_nic *nic = puts->nic;
    int rc;

    if (put->chain != NULL) {
        return post_all(put);
    }
    if (!mpixq_cxi_may_issue(nic)) {
        return false;
    }
    rc = mpixq_cxi_held(&nic->issues, put->adds ? add(put) : write_data(put));
    if (rc == -FI_EAGAIN) {
        return false;
    }
    if (rc == 0) {
        nic->flying++;
        puts->flying++;
    } else {
        end(put, -rc);
    }
    return true;
}

/* Those before it go first. */
static void issue_in_turn(struct cxi_put *put)
{
    struct cxi_puts *puts = put->puts;

    if (puts->waiting != NULL || !issue(put)) {
        DL_APPEND(puts->waiting, put);
    }
}

void mpixq_cxi_put_ended(struct cxi_entry *entry, int error)
{
    struct cxi_put *put = entry->put;

    if (put->chain != NULL) {
        deferred_ended(put, entry, error);
        return;
    }
    put->puts->flying--;
    put->puts->nic->flying--;
    if (error == 0 && put->tells && !put->adds) {
        put->adds = true;
        issue_in_turn(put);
    } else {
        end(put, error);
    }
}

/* ---- Without it ---- */

bool mpixq_cxi_put(struct cxi_puts *puts, const struct cxi_put *what)
{
    struct cxi_nic *nic = puts->nic;
    struct cxi_put *put;

    mpixq_lock_acquire(&nic->lock);
    put = puts->spare;
    if (put != NULL) {
        LL_DELETE(puts->spare, put);
        *put = *what;
        put->puts = puts;
        put->adds = put->bytes == 0;
        if (put->tells && !put->adds) {
            (void)take_chain(put);
        }
        atomic_fetch_add(&puts->n_open, 1);
        count(nic, 1);
        issue_in_turn(put);
    }
    mpixq_lock_release(&nic->lock);
    if (put != NULL) {
        mpixq_progress_wake();
    }
    return put != NULL;
}

void mpixq_cxi_puts_go(struct cxi_puts *puts)
{
    struct cxi_nic *nic = puts->nic;
    struct cxi_put *put, *next;

    mpixq_lock_acquire(&nic->lock);
    DL_FOREACH_SAFE(puts->waiting, put, next)
    {
        DL_DELETE(puts->waiting, put);
        if (!issue(put)) {
            DL_PREPEND(puts->waiting, put);
            break;
        }
    }
    mpixq_lock_release(&nic->lock);
}

bool mpixq_cxi_puts_take(struct cxi_puts *puts, void **arg_p, int *error_p)
{
    struct cxi_put *put;

    if (atomic_load(&puts->n_over) == 0) {
        return false;
    }
    mpixq_lock_acquire(&puts->nic->lock);
    put = puts->over;
    DL_DELETE(puts->over, put);
    *arg_p = put->arg;
    *error_p = put->error;
    if (!put->is_stranded) {
        LL_PREPEND(puts->spare, put);
    }
    atomic_fetch_sub(&puts->n_over, 1);
    atomic_fetch_sub(&puts->n_open, 1);
    count(puts->nic, -1);
    mpixq_lock_release(&puts->nic->lock);
    return true;
}
