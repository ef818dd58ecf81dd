/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Matching and the end of pairs. What a pair needs was taken before it is matched (end.c); if
 * something cannot be had, the pair goes by the next channel, on both sides. All but the table is
 * under the matching lock. */
#include <stddef.h>
#include <string.h>
#include <utlist.h>

#include "ahead.h"
#include "chain.h"
#include "check.h"
#include "comm/layout.h"
#include "counted.h"
#include "eager.h"
#include "end.h"
#include "match/match.h"
#include "match/wire.h"
#include "nic.h"
#include "peers.h"
#include "process.h"
#include "stripe.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/piece.h"
#include "util/progress.h"
#include "window.h"

enum { VERSION = 6, ROOM = CXI_ADDRESS, READY = 1, DELIVERED = 2, EAGER = 4 };

/* What the two ends tell each other, as it stands in the blobs: no padding. */
struct endpoint {
    uint32_t version, provider;
    uint64_t key, addr; /* of the CTS word, or of the buffer, or of its first slot */
    uint64_t base;      /* of the CTS word */
    uint32_t address_bytes, flags;
    unsigned char address[ROOM];
};
struct offer {
    struct endpoint endpoint;
    uint64_t piece; /* bytes of a write */
    uint64_t pieces;
};
struct answer {
    struct endpoint endpoint;
    uint64_t second_key, second_addr, slots; /* if it is eager: of the other slot; their number */
};
_Static_assert(sizeof(struct endpoint) == 40 + ROOM, "layout");
_Static_assert(sizeof(struct offer) == 56 + ROOM && sizeof(struct answer) == 64 + ROOM, "layout");
_Static_assert(sizeof(struct answer) + sizeof(struct cxi_stripes) <= MPIXQ_WIRE_BLOB_BYTES,
               "room in a blob");

/* Matching. */

static void fill_endpoint(const struct cxi_end *end, struct endpoint *mine, struct fid_mr *region,
                          const void *memory)
{
    const struct cxi_nic *nic = end->nic;
    bool eager = end->is_send ? end->may_be_eager : end->eager;

    *mine = (struct endpoint){.version = VERSION,
                              .provider = nic->quirks->wire,
                              .address_bytes = (uint32_t)nic->address_bytes,
                              .flags = (end->ready ? READY : 0) | (end->delivered ? DELIVERED : 0) |
                                       (eager ? EAGER : 0),
                              .base = end->cts_base};
    memcpy(mine->address, nic->address, nic->address_bytes);
    if (region != NULL) {
        mine->key = fi_mr_key(region);
        mine->addr = mpixq_cxi_remote_address(nic, memory);
    }
}

/* Does it come from the same protocol and kind of network? */
static bool is_compatible(const struct cxi_nic *nic, const struct endpoint *theirs)
{
    return theirs->version == VERSION && theirs->provider == nic->quirks->wire &&
           theirs->address_bytes == nic->address_bytes;
}

static bool meet(struct cxi_end *end, const struct endpoint *theirs)
{
    end->remote_key = theirs->key;
    end->remote_addr = theirs->addr;
    end->remote_base = theirs->base;
    return mpixq_cxi_meet(end, theirs->address, (size_t)theirs->address_bytes);
}

/* Both ends are bound: from now on somebody has to drive a provider that does not by itself. And to
 * the end, for the peer may start a pair that this end has released: then only an answer of this
 * process tells it. */
static void count_pair(struct cxi_end *end)
{
    struct cxi_nic *nic = end->nic;

    if (nic->counts.pairs++ == 0 && nic->quirks->software) {
        atomic_fetch_add(&mpixq_progress.outstanding, 1);
        mpixq_progress_wake();
    }
    nic->counts.direct += end->direct;
    nic->counts.eager += end->eager;
    end->pair->end = end;
}

static void count_shares(struct cxi_end *first)
{
    for (struct cxi_end *end = first; end != NULL; end = end->next_share) {
        count_pair(end);
    }
    if (first->direct) {
        mpixq_pair_unstage(first->pair);
    }
}

static bool cxi_offer(struct mpixq_pair *pair, struct mpixq_blob *blob, const char **why_p)
{
    uint64_t piece;
    struct offer offer;
    struct cxi_end *end;
    struct cxi_nic *nic;

    *why_p = mpixq_cxi_obstacle(pair, &nic);
    if (*why_p != NULL) {
        return false;
    }
    piece = mpixq_piece_of(nic->info->ep_attr->max_msg_size);
    if (mpixq_count_pieces(pair->bytes, piece) > INT32_MAX) {
        *why_p = "the message is too large";
        return false;
    }
    end = mpixq_cxi_end_take(pair, pair->message.mode == MPIXQ_MODE_RSEND, false);
    if (end == NULL) {
        *why_p = "no memory, or no counters or regions left";
        return false;
    }
    end->piece = piece;
    end->pieces = (uint32_t)mpixq_count_pieces(pair->bytes, piece);
    memset(&offer, 0, sizeof offer);
    fill_endpoint(end, &offer.endpoint, end->region, end->cts);
    offer.piece = piece;
    offer.pieces = end->pieces;
    blob->length = sizeof offer;
    memcpy(blob->bytes, &offer, sizeof offer);
    mpixq_cxi_stripes_tell(end, blob);
    pair->offered_end = end;
    return true;
}

/* NULL, or why not. */
static const char *read_offer(const struct cxi_nic *nic, const struct mpixq_pair *pair,
                              const struct mpixq_blob *theirs, struct offer *offer_p,
                              struct cxi_stripes *stripes_p)
{
    if (!mpixq_cxi_stripes_hear(theirs, sizeof *offer_p, stripes_p)) {
        return "the peer's fabric is another one";
    }
    memcpy(offer_p, theirs->bytes, sizeof *offer_p);
    if (!is_compatible(nic, &offer_p->endpoint) || offer_p->piece == 0 ||
        offer_p->pieces > INT32_MAX ||
        offer_p->pieces != mpixq_count_pieces(pair->bytes, offer_p->piece)) {
        return "the peer's fabric is another one";
    }
    return NULL;
}

static void fill_answer(const struct cxi_end *end, struct mpixq_blob *mine)
{
    struct answer answer = {.slots = 0};

    if (end->eager) {
        const struct cxi_slots *slots = end->slots;

        fill_endpoint(end, &answer.endpoint, slots->regions[0], slots->memory);
        answer.second_key = fi_mr_key(slots->regions[1]);
        answer.second_addr = mpixq_cxi_remote_address(end->nic, slots->memory + slots->gpu.room);
        answer.slots = CXI_SLOTS;
    } else {
        fill_endpoint(end, &answer.endpoint, end->region, end->buffer);
    }
    mine->length = sizeof answer;
    memcpy(mine->bytes, &answer, sizeof answer);
    mpixq_cxi_stripes_tell(end, mine);
}

static enum mpixq_error cxi_accept(struct mpixq_pair *pair, const struct mpixq_blob *theirs,
                                   struct mpixq_blob *mine, const char **why_p)
{
    struct cxi_stripes stripes;
    struct offer offer;
    struct cxi_end *end;
    struct cxi_nic *nic;

    *why_p = mpixq_cxi_obstacle(pair, &nic);
    *why_p = *why_p != NULL ? *why_p : read_offer(nic, pair, theirs, &offer, &stripes);
    if (*why_p != NULL) {
        return MPIXQ_E_NO_CHANNEL;
    }
    end = mpixq_cxi_end_take(pair, (offer.endpoint.flags & READY) != 0,
                             (offer.endpoint.flags & DELIVERED) != 0);
    if (end != NULL) {
        end->piece = offer.piece;
    }
    if (end == NULL || !meet(end, &offer.endpoint) || !mpixq_cxi_stripes_agree(end, &stripes)) {
        if (end != NULL) {
            mpixq_cxi_end_leave(end);
        }
        *why_p = "no memory, or no counters or regions left";
        return MPIXQ_E_NO_CHANNEL;
    }
    mpixq_cxi_eager_decide(end, (offer.endpoint.flags & EAGER) != 0);
    fill_answer(end, mine);
    count_shares(end);
    return MPIXQ_E_NONE;
}

/* The receiver has decided. False: that makes no sense. */
static bool learn(struct cxi_end *end, const struct answer *answer)
{
    end->delivered = (answer->endpoint.flags & DELIVERED) != 0;
    mpixq_lock_acquire(&end->nic->lock); /* who looks for failures without a name reads it */
    end->eager = (answer->endpoint.flags & EAGER) != 0;
    mpixq_lock_release(&end->nic->lock);
    if (!end->eager) {
        return true;
    }
    end->second_key = answer->second_key;
    end->second_addr = answer->second_addr;
    end->shared = true; /* it is rung for together with others, like a ready send */
    end->pair->is_awaited = true;
    return end->may_be_eager && !end->delivered && answer->slots == CXI_SLOTS;
}

static enum mpixq_error cxi_connect(struct mpixq_pair *pair, const struct mpixq_blob *theirs)
{
    struct cxi_end *end = pair->offered_end;
    struct cxi_stripes stripes;
    struct answer answer;

    pair->offered_end = NULL;
    if (mpixq_cxi_stripes_hear(theirs, sizeof answer, &stripes)) {
        memcpy(&answer, theirs->bytes, sizeof answer);
        if (is_compatible(end->nic, &answer.endpoint) && meet(end, &answer.endpoint) &&
            learn(end, &answer) && mpixq_cxi_stripes_agree(end, &stripes)) {
            count_shares(end);
            return MPIXQ_E_NONE;
        }
    }
    mpixq_cxi_end_leave(end);
    return MPIXQ_E_PROTOCOL;
}

static void cxi_withdraw(struct mpixq_pair *pair)
{
    if (pair->offered_end != NULL) {
        mpixq_cxi_end_leave(pair->offered_end);
        pair->offered_end = NULL;
    }
}

/* The end of a pair. */

static void cxi_release(struct mpixq_pair *pair)
{
    for (struct cxi_end *end = pair->end; end != NULL; end = end->next_share) {
        mpixq_lock_acquire(&end->nic->lock);
        mpixq_cxi_unlog(end);
        mpixq_cxi_ahead_stop(end);
        mpixq_lock_release(&end->nic->lock);
        mpixq_cxi_slots_shut(end);
        /* The user may give the memory back after the next clean-up; who still writes to it gets an
         * error. */
        mpixq_cxi_end_release(end);
    }
}

/* May the NIC be reading the buffer of a send? Then both sides have started, and it is not done. */
static bool is_reading(const struct cxi_end *end)
{
    uint64_t started = mpixq_pair_executed(end->pair);

    started = started < end->perhaps ? end->perhaps : started;
    return end->is_send && !end->failed && mpixq_cxi_done(end) < started &&
           mpixq_cxi_is_clear(end, started);
}

static bool is_busy(struct cxi_end *end)
{
    bool busy;

    mpixq_lock_acquire(&end->nic->lock);
    busy = end->is_leaving || end->flying > 0 || is_reading(end);
    mpixq_lock_release(&end->nic->lock);
    return busy;
}

/* The peer may have sent a clear-to-send more: then T is not what it should be, which is seen. */
static bool is_clean(struct cxi_end *end)
{
    bool clean;

    mpixq_lock_acquire(&end->nic->lock);
    mpixq_cxi_entries_reap(end);
    clean = !end->failed && mpixq_cxi_done(end) == mpixq_pair_started(end->pair);
    mpixq_lock_release(&end->nic->lock);
    return clean;
}

/* What lies in slots may be received yet, with a clear-to-send for each. */
static bool is_awaited(const struct cxi_end *end)
{
    bool awaited;

    mpixq_lock_acquire(&end->nic->lock);
    awaited = end->region != NULL && mpixq_cxi_is_awaited(end) &&
              !mpixq_pair_peer_is_gone(end->pair) && !mpixq_match_has_stopped();
    mpixq_lock_release(&end->nic->lock);
    return awaited;
}

static bool cxi_retire(struct mpixq_pair *pair)
{
    struct cxi_end *end, *next;

    for (end = pair->end; end != NULL; end = end->next_share) {
        if (is_busy(end) || is_awaited(end)) {
            return false;
        }
    }
    for (end = pair->end; end != NULL; end = next) { /* the first one first: see drive.c */
        bool clean = is_clean(end);

        next = end->next_share;
        if (end->region != NULL || end->entries != NULL) {
            mpixq_cxi_end_leave_used(end, clean); /* the matching lock is held */
        } else {
            mpixq_cxi_end_free(end, clean);
        }
    }
    pair->end = NULL;
    return true;
}

static const char *cxi_what_is_missing(const struct mpixq_pair *pair)
{
    const struct cxi_end *end = pair->end;

    while (end->next_share != NULL && mpixq_cxi_done(end) >= mpixq_pair_executed(end->pair)) {
        end = end->next_share;
    }
    if (mpixq_cxi_has_slots(end) && mpixq_cxi_done(end) >= mpixq_pair_executed(end->pair)) {
        return "its message lies in a slot, from where whoever waits has not copied it yet";
    }
    if (!end->is_send) {
        return "it is started here and lacks the data: the peer has not started its send, or the "
               "write is under way";
    }
    if (mpixq_cxi_lacks_credit(end, mpixq_pair_executed(end->pair))) {
        return "it is started here and finds no free slot: the peer has not started the receive "
               "before it";
    }
    if (end->awaits > 0 && !mpixq_cxi_is_clear(end, mpixq_pair_executed(end->pair))) {
        return "it is started here and lacks the clear-to-send, or data that it passes on: some "
               "process has not started its part of the collective";
    }
    return mpixq_cxi_is_clear(end, mpixq_pair_executed(end->pair))
               ? "both ends have started, and the write is under way"
               : "it is started here and lacks the clear-to-send: the peer has not started its "
                 "receive";
}

static void cxi_clean_up(void)
{
    const struct cxi_nics *nics = mpixq_cxi_opened();

    for (int i = 0; i < nics->n; i++) {
        mpixq_cxi_clean_up(nics->of[i]);
    }
}

static void close_nic(struct cxi_nic *nic)
{
    struct cxi_end *end, *next;

    mpixq_cxi_clean_up(nic);
    DL_FOREACH_SAFE(nic->ends, end, next)
    {
        mpixq_cxi_end_free(end, false); /* of a send that never ended */
    }
    mpixq_cxi_ahead_close(nic);
}

static void cxi_channel_close(void)
{
    const struct cxi_nics *nics = mpixq_cxi_opened();

    for (int i = 0; i < nics->n; i++) {
        close_nic(nics->of[i]);
    }
    mpixq_cxi_close();
}

static void cxi_drive(void)
{
    const struct cxi_nics *nics = mpixq_cxi_opened();

    for (int i = 0; i < nics->n; i++) {
        mpixq_cxi_drive(nics->of[i], true);
    }
}

static void cxi_report_failures(void)
{
    const struct cxi_nics *nics = mpixq_cxi_opened();

    for (int i = 0; i < nics->n; i++) {
        mpixq_cxi_report_failures(nics->of[i]);
    }
}

/* Of a match that has ended, some ends may not be needed. */
static void cxi_expose(const struct mpixq_stream_kind *kind)
{
    const struct cxi_nics *nics = mpixq_cxi_opened();

    for (int i = 0; i < nics->n; i++) {
        mpixq_cxi_clean_up(nics->of[i]);
        mpixq_cxi_expose(nics->of[i], kind);
    }
}

static const struct mpixq_channel_gpus cxi_gpus = {.expose = cxi_expose,
                                                   .reach = mpixq_cxi_reach,
                                                   .unreach = mpixq_cxi_unreach,
                                                   .writes = mpixq_cxi_writes};

static const struct mpixq_channel_queues cxi_queues = {.attach = mpixq_cxi_attach,
                                                       .detach = mpixq_cxi_detach};

static const struct mpixq_channel_upkeep cxi_upkeep = {.drive = cxi_drive,
                                                       .clean_up = cxi_clean_up,
                                                       .report_failures = cxi_report_failures,
                                                       .has_lost = mpixq_cxi_has_lost};

static const struct mpixq_channel_report cxi_report = {.what_is_missing = cxi_what_is_missing,
                                                       .availability = mpixq_cxi_availability,
                                                       .describe = mpixq_cxi_describe};

/* The fabric is opened when it is first asked for. */
const struct mpixq_channel mpixq_channel_cxi = {
    .name = "cxi",
    .id = MPIXQ_CHANNEL_CXI,
    .gpus = &cxi_gpus,
    .queues = &cxi_queues,
    .upkeep = &cxi_upkeep,
    .report = &cxi_report,
    .graphs = &mpixq_cxi_graphs,
    .windows = &mpixq_cxi_windows,
    .chains = &mpixq_cxi_chains,
    .close = cxi_channel_close,
    .offer = cxi_offer,
    .accept = cxi_accept,
    .connect = cxi_connect,
    .withdraw = cxi_withdraw,
    .start = mpixq_cxi_start,
    .wait = mpixq_cxi_wait,
    .poll = mpixq_cxi_poll,
    .release = cxi_release,
    .retire = cxi_retire,
};
