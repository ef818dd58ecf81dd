/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "puts.h"

#include <stddef.h>
#include <utlist.h>

#include "put_chain.h"
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

bool mpixq_cxi_puts_free(struct cxi_puts *puts)
{
    struct cxi_nic *nic;
    bool is_left, reads;

    if (puts == NULL) {
        return true;
    }
    nic = puts->nic;
    mpixq_lock_acquire(&nic->lock);
    is_left = puts->flying > 0;
    reads = puts->reads > 0;
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
    return !reads;
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

/* The rest under nic.lock. */

/* One that is held is told when it is open. */
static void end(struct cxi_put *put, int error)
{
    struct cxi_puts *puts = put->puts;

    put->error = error;
    if (put->is_held) {
        put->is_over = true;
    } else {
        DL_APPEND(puts->over, put);
        atomic_fetch_add(&puts->n_over, 1);
    }
}

/* The NIC has its read, or has no more. */
static void note_read(struct cxi_put *put, bool is_read)
{
    put->puts->reads += is_read - put->is_read;
    put->is_read = is_read;
}

/* ---- By the NIC ---- */

/* What the chain has counted when all is over: the ring, and the write or read, if something waits
 * for it. */
static uint64_t counts(const struct cxi_put *put)
{
    return mpixq_cxi_put_rings_chain(put) + (put->bytes > 0 && put->tells);
}

static int n_entries(const struct cxi_put *put)
{
    return (put->move != NULL) + (put->atomic != NULL);
}

static void give_entry(struct cxi_put *put, struct cxi_entry **entry_p)
{
    if (*entry_p != NULL) {
        mpixq_cxi_entry_give(put->puts->nic, *entry_p);
        *entry_p = NULL;
    }
}

static void give_chain(struct cxi_put *put)
{
    mpixq_cxi_put_chain_give(put->puts->nic, put->chain, counts(put));
    put->keeps_chain = false;
}

/* What was not posted is not to be any more; what was has to stay, as its end is not known. So has
 * a chain that may still be rung. */
static void give_up(struct cxi_put *put, bool is_rung)
{
    for (int i = n_entries(put) - 1; i >= put->posted; i--) {
        give_entry(put, mpixq_cxi_put_entry(put, i));
    }
    if (put->posted > 0 || is_rung) {
        put->is_stranded = true;
        put->puts->nic->counts.set_aside += (uint64_t)put->posted;
        mpixq_cxi_put_chain_strand(put->puts->nic, put->chain);
    } else {
        mpixq_cxi_put_chain_give(put->puts->nic, put->chain, 0);
    }
}

/* False: the NIC does not take all of it now. */
static bool post_all(struct cxi_put *put)
{
    for (int n = n_entries(put); put->posted < n; put->posted++) {
        bool is_move = *mpixq_cxi_put_entry(put, put->posted) == put->move;
        int rc = mpixq_cxi_put_post(put);

        if (rc == -FI_EAGAIN) {
            return false;
        }
        if (rc != 0) {
            give_up(put, put->ring != NULL);
            end(put, -rc);
            return true;
        }
        put->puts->flying++;
        note_read(put, put->is_read || (is_move && put->is_get));
    }
    return true;
}

/* What is to follow waits for ever, if the NIC has it; or is not to be posted any more. */
static void move_failed(struct cxi_put *put, int error)
{
    struct cxi_puts *puts = put->puts;
    bool is_posted = put->posted == n_entries(put);

    puts->flying--;
    give_entry(put, &put->move);
    if (is_posted) {
        put->is_stranded = true;
        puts->nic->counts.set_aside++;
    } else {
        DL_DELETE(puts->waiting, put);
        give_entry(put, &put->atomic);
    }
    mpixq_cxi_put_chain_strand(puts->nic, put->chain);
    end(put, error);
}

/* The last to end is the atomic, if there is one: then the other has ended before. */
static void deferred_ended(struct cxi_put *put, const struct cxi_entry *entry, int error)
{
    struct cxi_puts *puts = put->puts;

    if (put->is_stranded) {
        return; /* it was told before */
    }
    if (entry == put->move && put->atomic != NULL) {
        if (error != 0) {
            move_failed(put, error);
        }
        return;
    }
    puts->flying -= n_entries(put);
    give_entry(put, &put->move);
    give_entry(put, &put->atomic);
    put->keeps_chain = put->is_held && put->has_bell;
    if (!put->keeps_chain) {
        give_chain(put);
    }
    end(put, error);
}

/* False: there are not as many as it needs. */
static bool take_entries(struct cxi_put *put)
{
    struct cxi_nic *nic = put->puts->nic;
    bool moves = put->bytes > 0;

    put->move = moves ? mpixq_cxi_entry_take_alone(nic, true) : NULL;
    put->atomic = put->tells ? mpixq_cxi_entry_take_alone(nic, false) : NULL;
    if (n_entries(put) == moves + put->tells) {
        return true;
    }
    give_entry(put, &put->move);
    give_entry(put, &put->atomic);
    return false;
}

/* False: something lacks for that. */
static bool take_chain(struct cxi_put *put)
{
    struct cxi_nic *nic = put->puts->nic;

    if (put->is_get && !nic->chains_gets) {
        return false;
    }
    put->chain = mpixq_cxi_put_chain_take(nic, (put->bytes > 0) + put->tells);
    if (put->chain != NULL && !take_entries(put)) {
        mpixq_cxi_put_chain_unreserve(put->chain);
        put->chain = NULL;
    }
    return put->chain != NULL;
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
    rc = mpixq_cxi_held(&nic->issues, mpixq_cxi_put_issue(put));
    if (rc == -FI_EAGAIN) {
        return false;
    }
    if (rc == 0) {
        nic->flying++;
        puts->flying++;
        note_read(put, put->is_get && !put->adds);
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

    note_read(put, false);
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

/* Under nic.lock, one that is spare and has a chain. NULL: there is none. */
static struct cxi_put *take_to_hold(struct cxi_puts *puts, const struct cxi_put *what)
{
    struct cxi_put *put = puts->spare;

    if (put == NULL) {
        return NULL;
    }
    LL_DELETE(puts->spare, put);
    *put = *what;
    put->puts = puts;
    put->has_bell = put->chain != NULL;
    if (!(put->has_bell ? take_entries(put) : take_chain(put))) {
        LL_PREPEND(puts->spare, put);
        return NULL;
    }
    if (put->ring == NULL) {
        put->ring = put->chain->counter;
        put->ring_at = put->ring->base + put->chain->base + 1;
    }
    put->is_held = true;
    return put;
}

struct cxi_put *mpixq_cxi_put_hold(struct cxi_puts *puts, const struct cxi_put *what)
{
    struct cxi_put *put;

    mpixq_lock_acquire(&puts->nic->lock);
    put = take_to_hold(puts, what);
    if (put != NULL) {
        atomic_fetch_add(&puts->n_held, 1);
        issue_in_turn(put);
    }
    mpixq_lock_release(&puts->nic->lock);
    return put;
}

bool mpixq_cxi_put_has_rung(struct cxi_put *put)
{
    const struct cxi_nic *nic = put->puts->nic;
    bool has;

    mpixq_lock_acquire(&put->puts->nic->lock);
    has = put->is_over || mpixq_cxi_counter_look(nic, put->ring) >= put->ring_at;
    mpixq_lock_release(&put->puts->nic->lock);
    return has;
}

/* What is not posted by then is when the NIC takes it. */
void mpixq_cxi_put_open(struct cxi_put *put)
{
    struct cxi_puts *puts = put->puts;

    mpixq_lock_acquire(&puts->nic->lock);
    put->is_held = false;
    atomic_fetch_sub(&puts->n_held, 1);
    atomic_fetch_add(&puts->n_open, 1);
    count(puts->nic, 1);
    if (put->keeps_chain) {
        give_chain(put);
    }
    if (put->is_over) {
        end(put, put->error);
    }
    mpixq_lock_release(&puts->nic->lock);
}

/* What was posted stays with the NIC, and is never rung for; or by a GPU, of which nobody is told.
 */
void mpixq_cxi_put_drop(struct cxi_put *put)
{
    struct cxi_puts *puts = put->puts;

    mpixq_lock_acquire(&puts->nic->lock);
    atomic_fetch_sub(&puts->n_held, 1);
    if (!put->is_over) {
        if (put->posted < n_entries(put)) {
            DL_DELETE(puts->waiting, put);
        }
        give_up(put, put->has_bell);
    } else if (put->keeps_chain) {
        give_chain(put);
    }
    if (!put->is_stranded) {
        LL_PREPEND(puts->spare, put);
    }
    mpixq_lock_release(&puts->nic->lock);
}

bool mpixq_cxi_puts_can_hold(const struct cxi_puts *puts, int n, int chains)
{
    struct cxi_nic *nic = puts->nic;
    const struct cxi_put *put;
    bool can;
    int spare;

    mpixq_lock_acquire(&nic->lock);
    LL_COUNT(puts->spare, put, spare);
    can = spare >= n && mpixq_cxi_put_chains_have(nic, chains, 2 * n);
    mpixq_lock_release(&nic->lock);
    return can;
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
