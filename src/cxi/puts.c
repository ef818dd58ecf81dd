/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "puts.h"

#include <stddef.h>
#include <utlist.h>

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

/* Success says that the data can be seen. */
static ssize_t write_data(struct cxi_put *put)
{
    struct cxi_entry *entry = &put->entry;
    struct fid_ep *ep = put->puts->nic->ep;

    entry->u.write.local = (struct iovec){.iov_base = put->from, .iov_len = put->bytes};
    entry->u.write.remote =
        (struct fi_rma_iov){.addr = put->target.addr, .len = put->bytes, .key = put->target.key};
    entry->u.write.op.msg = (struct fi_msg_rma){.msg_iov = &entry->u.write.local,
                                                .iov_count = 1,
                                                .addr = put->target.peer,
                                                .rma_iov = &entry->u.write.remote,
                                                .rma_iov_count = 1,
                                                .context = &entry->work.context};
    return fi_writemsg(ep, &entry->u.write.op.msg, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

static ssize_t add(struct cxi_put *put)
{
    struct cxi_entry *entry = &put->entry;
    struct fid_ep *ep = put->puts->nic->ep;

    entry->u.atomic.local = (struct fi_ioc){.addr = &entry->operand, .count = 1};
    entry->u.atomic.remote =
        (struct fi_rma_ioc){.addr = put->target.word_addr, .count = 1, .key = put->target.word_key};
    entry->u.atomic.op.msg = (struct fi_msg_atomic){.msg_iov = &entry->u.atomic.local,
                                                    .iov_count = 1,
                                                    .addr = put->target.peer,
                                                    .rma_iov = &entry->u.atomic.remote,
                                                    .rma_iov_count = 1,
                                                    .datatype = FI_UINT64,
                                                    .op = FI_SUM,
                                                    .context = &entry->work.context};
    return fi_atomicmsg(ep, &entry->u.atomic.op.msg, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

/* The rest under nic.lock. */

static void end(struct cxi_put *put, int error)
{
    struct cxi_puts *puts = put->puts;

    put->error = error;
    DL_APPEND(puts->over, put);
    atomic_fetch_add(&puts->n_over, 1);
}

/* False: the NIC does not take it now. */
static bool issue(struct cxi_put *put)
{
    struct cxi_puts *puts = put->puts;
    struct cxi_nic *nic = puts->nic;
    int rc;

    if (!mpixq_cxi_may_issue(nic)) {
        return false;
    }
    rc = mpixq_cxi_held(&nic->issues, (int)(put->adds ? add(put) : write_data(put)));
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

void mpixq_cxi_put_ended(struct cxi_put *put, int error)
{
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
        put->entry.is_put = true;
        put->adds = put->bytes == 0;
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
    LL_PREPEND(puts->spare, put);
    atomic_fetch_sub(&puts->n_over, 1);
    atomic_fetch_sub(&puts->n_open, 1);
    count(puts->nic, -1);
    mpixq_lock_release(&puts->nic->lock);
    return true;
}
