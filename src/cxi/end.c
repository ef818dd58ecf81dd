/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Ends of pairs come and go. To make a region known to the NIC, or to have it forgotten, and to
 * open a counter, takes an answer of the NIC: 50 us and more. So a thread of the program makes an
 * end before it takes the matching lock, and closes its regions when it has left that; all other
 * matches and frees of the process go on meanwhile. */
#include <stddef.h>
#include <utlist.h>

#include "ahead.h"
#include "chain.h"
#include "check.h"
#include "comm/layout.h"
#include "eager.h"
#include "end.h"
#include "nic.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/env.h"
#include "util/lock.h"
#include "util/thread.h"

/* Those that this thread has released: it closes their regions before it lets their user go on. */
static MPIXQ_THREAD_LOCAL struct cxi_end *own;
static void close_regions(struct cxi_end *end)
{
    mpixq_cxi_region_close(&end->region);
    mpixq_cxi_region_close(&end->warm);
    mpixq_cxi_slots_unreach(end->slots);
}

void mpixq_cxi_end_free(struct cxi_end *end, bool clean)
{
    struct cxi_nic *nic = end->nic;
    /* A send that never ended outlives its pair, and is not clean. */
    uint64_t starts = !clean ? 0 : end->pair != NULL ? mpixq_pair_started(end->pair) : end->starts;
    uint64_t first = mpixq_cxi_has_slots(end) ? starts - starts / CXI_SLOTS : starts;
    bool is_over, left;

    close_regions(end);
    is_over = clean && mpixq_cxi_disarm(end, starts);
    mpixq_lock_acquire(&nic->lock);
    clean = clean && end->entries == NULL;
    mpixq_cxi_unlog(end);
    mpixq_cxi_drop(end);
    assert(!end->is_live && end->over == 0);
    left = end->entries != NULL;
    mpixq_cxi_entries_forget(end);
    /* T of an eager send counts clear-to-sends only, and those only that came. */
    mpixq_cxi_counter_put(nic, end->trigger, clean,
                          mpixq_cxi_is_to_slots(end) ? mpixq_cxi_cts(end)
                                                     : mpixq_cxi_rings_and_clears(end) * starts);
    mpixq_cxi_ahead_put(end, clean, starts);
    mpixq_cxi_counter_put(nic, end->written, clean,
                          mpixq_cxi_counted(end) * starts + mpixq_cxi_extra(end, 1));
    mpixq_cxi_counter_put(nic, end->arrived, clean,
                          mpixq_cxi_counted(end) * first + mpixq_cxi_extra(end, 1));
    mpixq_cxi_word_put(nic, end->word, clean || is_over);
    mpixq_cxi_word_put(nic, end->cts, clean || is_over);
    DL_DELETE(nic->ends, end);
    atomic_fetch_sub(&nic->n_ends[end->is_send], 1);
    mpixq_lock_release(&nic->lock);
    mpixq_cxi_slots_free(nic, end->slots, clean,
                         mpixq_cxi_counted(end) * (starts - first) + mpixq_cxi_extra(end, 0));
    mpixq_cxi_ahead_free(end, left);
    mpixq_free(end->own_pair);
    mpixq_free(end->released);
    mpixq_free(end);
}

void mpixq_cxi_end_release(struct cxi_end *end)
{
    mpixq_lock_acquire(&end->nic->lock);
    end->is_leaving = true;
    mpixq_lock_release(&end->nic->lock);
    LL_PREPEND2(own, end, next_leaving);
}

/* Under nic.lock. */
static void leave(struct cxi_end *end)
{
    end->pair = NULL;
    LL_PREPEND2(end->nic->gone, end, next_leaving);
    atomic_fetch_add(&end->nic->n_gone, 1);
}

void mpixq_cxi_end_leave(struct cxi_end *end)
{
    while (end != NULL) {
        struct cxi_end *next = end->next_share;
        struct cxi_nic *nic = end->nic;

        mpixq_lock_acquire(&nic->lock);
        leave(end);
        mpixq_lock_release(&nic->lock);
        end = next;
    }
}

/* In one hold of the lock: whoever reads completions finds its pair, or that it has none. */
void mpixq_cxi_end_leave_used(struct cxi_end *end, bool clean)
{
    struct cxi_nic *nic = end->nic;

    mpixq_lock_acquire(&nic->lock);
    end->starts = mpixq_pair_started(end->pair);
    end->is_unclean = !clean;
    mpixq_cxi_drop(end); /* which is the last to look at the pair */
    leave(end);
    mpixq_lock_release(&nic->lock);
}

static struct cxi_end *take_gone(struct cxi_nic *nic)
{
    struct cxi_end *end;

    mpixq_lock_acquire(&nic->lock);
    end = nic->gone;
    if (end != NULL) {
        LL_DELETE2(nic->gone, end, next_leaving);
    }
    mpixq_lock_release(&nic->lock);
    return end;
}

/* One of them may be of memory that the caller is about to give back: so those are waited for that
 * another thread has taken. */
static void free_gone(struct cxi_nic *nic)
{
    struct mpixq_backoff backoff;
    struct cxi_slots *slots;
    struct cxi_end *end;

    mpixq_backoff_begin(&backoff);
    while (atomic_load(&nic->n_gone) > 0) {
        end = take_gone(nic);
        slots = end == NULL ? mpixq_cxi_slots_take_gone(nic) : NULL;
        if (end != NULL) {
            mpixq_cxi_end_free(end, !end->is_unclean);
            atomic_fetch_sub(&nic->n_gone, 1);
        } else if (slots != NULL) {
            mpixq_cxi_slots_free(nic, slots, true, 0);
            atomic_fetch_sub(&nic->n_gone, 1);
        } else {
            mpixq_backoff_pause(&backoff);
        }
    }
}

void mpixq_cxi_clean_up(struct cxi_nic *nic)
{
    struct cxi_end *end;

    while ((end = own) != NULL) {
        bool is_awaited;

        LL_DELETE2(own, end, next_leaving);
        mpixq_lock_acquire(&end->nic->lock);
        is_awaited = mpixq_cxi_is_awaited(end);
        mpixq_lock_release(&end->nic->lock);
        if (is_awaited) {
            /* Clear-to-sends for what lies in slots come until the receive is freed. */
            mpixq_cxi_region_close(&end->warm);
        } else {
            close_regions(end);
        }
        mpixq_lock_acquire(&end->nic->lock);
        end->is_leaving = false; /* it may go at once */
        mpixq_lock_release(&end->nic->lock);
    }
    free_gone(nic);
}

/* Take counters and words. */
static bool supply(struct cxi_end *end)
{
    struct cxi_nic *nic = end->nic;
    bool ok;

    end->word = mpixq_cxi_word_take(nic);
    ok = end->word != NULL;
    if (end->is_send) {
        end->written = ok ? mpixq_cxi_counter_take(nic) : NULL;
        ok = end->written != NULL;
    } else {
        end->arrived = ok ? mpixq_cxi_counter_take(nic) : NULL;
        ok = end->arrived != NULL;
    }
    if (end->is_send && !end->ready) {
        end->trigger = ok ? mpixq_cxi_counter_take(nic) : NULL;
        end->cts = ok ? mpixq_cxi_word_take(nic) : NULL;
        ok = end->trigger != NULL && end->cts != NULL;
    }
    if (ok) {
        end->page = mpixq_cxi_page_of_word(end->word);
        end->bell = end->trigger != NULL ? &end->trigger->exposed : NULL;
        end->word_base = atomic_load(&end->word->value);
        end->cts_base = end->cts != NULL ? atomic_load(&end->cts->value) : 0;
    }
    /* Who looks for failures without a name reads the counters of all that are there. */
    mpixq_lock_acquire(&nic->lock);
    DL_APPEND(nic->ends, end);
    atomic_fetch_add(&nic->n_ends[end->is_send], 1);
    mpixq_lock_release(&nic->lock);
    return ok;
}

/* What a send is sent from, or a receive is received in. In a domain for memory of GPUs it must
 * have been registered before the match: see mpixq_cxi_reach. */
static bool open_buffer(struct cxi_end *end, size_t bytes, struct fid_mr *buffer)
{
    struct cxi_nic *nic = end->nic;

    if (nic->why_no_hmem == NULL && buffer == NULL && bytes > 0) {
        return false;
    }
    if (end->is_send) {
        end->warm = buffer != NULL ? buffer : mpixq_cxi_warm(nic, end->buffer, bytes);
        return true;
    }
    end->region = buffer != NULL ? buffer : mpixq_cxi_region(nic, end->buffer, bytes, end->arrived);
    return end->region != NULL && (buffer == NULL || mpixq_cxi_bind(nic, buffer, end->arrived));
}

/* What peers write to: of a receive its buffer, of a send the CTS word. */
static bool open_regions(struct cxi_end *end, size_t bytes, struct fid_mr *buffer)
{
    bool ok = open_buffer(end, bytes, buffer);

    if (!ok && end->region == NULL && end->warm == NULL) {
        mpixq_cxi_region_close(&buffer);
    }
    if (ok && end->is_send && !end->ready) {
        end->region = mpixq_cxi_region(end->nic, end->cts, sizeof *end->cts, end->trigger);
        ok = end->region != NULL;
    }
    return ok;
}

static struct cxi_end *end_new(struct cxi_nic *nic, struct mpixq_pair *pair)
{
    struct cxi_end *end = mpixq_alloc(sizeof *end); /* freed in mpixq_cxi_end_free */

    if (end != NULL) {
        end->pair = pair;
        end->nic = nic;
        end->is_send = mpixq_pair_is_send(pair);
        end->buffer = (char *)mpixq_pair_buffer(pair);
        end->peer = FI_ADDR_NOTAVAIL;
        end->ready = pair->message.mode == MPIXQ_MODE_RSEND;
        end->delivered = mpixq_env.cxi_data == MPIXQ_CXI_DATA_DELIVERED;
    }
    return end;
}

struct cxi_end *mpixq_cxi_end_prepare(struct cxi_nic *nic, struct mpixq_pair *pair,
                                      struct fid_mr *buffer)
{
    struct cxi_end *end = end_new(nic, pair);
    size_t bytes;
    bool ok;

    if (end == NULL) {
        mpixq_cxi_region_close(&buffer);
        return NULL;
    }
    if (buffer != NULL && pair->in_place) {
        end->direct = true;
        end->buffer = (char *)pair->message.buffer;
        /* What the count in the memory of the host says of data in another memory is promised
         * nowhere: the sender tells. */
        end->delivered = end->delivered || !end->is_send;
    }
    bytes = (size_t)mpixq_type_bytes(pair->message.type, pair->message.count);
    ok = supply(end);
    if (!ok) {
        mpixq_cxi_region_close(&buffer);
    }
    if (!ok || !open_regions(end, bytes, buffer)) {
        mpixq_cxi_end_free(end, true);
        return NULL;
    }
    mpixq_cxi_eager_prepare(end, bytes);
    return end;
}

struct cxi_end *mpixq_cxi_end_take(struct mpixq_pair *pair, bool ready, bool delivered)
{
    struct cxi_end *end = pair->reached;

    if (end == NULL) {
        return NULL;
    }
    pair->reached = NULL;
    for (struct cxi_end *share = end; share != NULL; share = share->next_share) {
        share->ready = ready;
        share->delivered = share->delivered || delivered;
        share->shared = share->is_send == ready;
        share->own = !share->nic->nameless ? 0 : share->is_send ? 1 : (uint32_t)!ready + 1;
    }
    return end;
}
