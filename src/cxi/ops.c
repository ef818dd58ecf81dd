/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The operations of a start. Of a send: its writes, then, if the sender tells, a write of no bytes
 * to the same buffer that does, then the atomic to its completion word. Of a receive: the
 * clear-to-send, unless the send is ready, then the atomics that release the sends of its chain,
 * then the one to its completion word. Each can be posted as deferred work, or issued by the host
 * when it sees that it is due. */
#include "ahead.h"
#include "chain.h"
#include "check.h"
#include "core/trace_pairs.h"
#include "eager.h"
#include "nic.h"
#include "supply.h"
#include "util/backoff.h"

enum { MAX_FLYING = 256 }; /* plain operations: their completions must fit into the queue */

enum kind { WRITE, TELL, CTS, DONE, RELEASE };
static const char *const names[] = {[WRITE] = "write",
                                    [TELL] = "notice of delivery",
                                    [CTS] = "clear-to-send",
                                    [DONE] = "completion",
                                    [RELEASE] = "release of a later message"};
_Static_assert((int)WRITE == MPIXQ_TRACE_WRITE && (int)TELL == MPIXQ_TRACE_TELL &&
                   (int)CTS == MPIXQ_TRACE_CTS && (int)DONE == MPIXQ_TRACE_COMPLETION &&
                   (int)RELEASE == MPIXQ_TRACE_RELEASE,
               "what traces call them");

uint32_t mpixq_cxi_n_ops(const struct cxi_end *end)
{
    if (end->is_send) {
        return end->pieces + 1 + end->delivered;
    }
    return (uint32_t)!end->ready + end->n_released + 1;
}

static enum kind kind_of(const struct cxi_end *end, uint32_t i)
{
    if (end->is_send) {
        return i < end->pieces ? WRITE : i + 1 < mpixq_cxi_n_ops(end) ? TELL : DONE;
    }
    if (!end->ready && i == 0) {
        return CTS;
    }
    return i + 1 < mpixq_cxi_n_ops(end) ? RELEASE : DONE;
}

static bool is_write(enum kind kind)
{
    return kind == WRITE || kind == TELL;
}

static void trace(const struct cxi_end *end, uint32_t i, unsigned plain)
{
    const struct cxi_queue *cxq = end->queue;

    mpixq_trace_posted(mpixq_cxi_whole(end->pair), (unsigned)kind_of(end, i) + plain,
                       cxq != NULL ? cxq->queue : NULL);
}

static void fill_write(const struct cxi_end *end, struct cxi_entry *entry, uint32_t i)
{
    const struct cxi_nic *nic = end->nic;
    bool tells = i == end->pieces;
    uint64_t offset = tells ? 0 : end->offset + i * end->piece;
    uint64_t left = tells ? 0 : end->offset + end->bytes - offset;
    uint64_t bytes = left < end->piece ? left : end->piece;
    uint64_t flags = end->delivered && !tells ? FI_DELIVERY_COMPLETE : 0;
    bool second = end->eager && entry->epoch % CXI_SLOTS == 0;

    if (bytes == 0 && nic->quirks->flags_small && !nic->nameless) {
        flags |= FI_COMPLETION;
    }
    mpixq_cxi_fill_move(
        nic, entry,
        &(struct cxi_move){.type = FI_OP_WRITE,
                           .peer = end->peer,
                           .key = second ? end->second_key : end->remote_key,
                           .address = (second ? end->second_addr : end->remote_addr) + offset,
                           .local = end->buffer + offset,
                           .bytes = bytes,
                           .flags = flags});
}

/* What an atomic that does not add writes. One that the host issues has a completion anyway. */
static uint64_t *operand_of(const struct cxi_nic *nic, struct cxi_entry *entry)
{
    return nic->nameless && !entry->plain ? &nic->operands[entry - nic->all_atomics]
                                          : &entry->operand;
}

/* Where NICs find the word that a start is completed in, and what it was before the first. */
static uint64_t name_done(const struct cxi_end *end, uint64_t epoch, uint64_t *key_p,
                          uint64_t *address_p)
{
    const struct cxi_ahead *ahead = mpixq_cxi_ahead_of(end, epoch);

    if (ahead == NULL || ahead->done == NULL) {
        mpixq_cxi_word_name(end->nic, end->word, key_p, address_p);
        return end->word_base;
    }
    *key_p = fi_mr_key(ahead->region);
    *address_p = mpixq_cxi_remote_address(end->nic, ahead->done);
    return 0;
}

/* Released: the send that is, if it is an atomic of that kind. */
static void fill_atomic(struct cxi_end *end, struct cxi_entry *entry, enum kind kind,
                        const struct cxi_released *released)
{
    struct cxi_nic *nic = end->nic;
    uint64_t key = end->remote_key, address = end->remote_addr, base = end->remote_base;
    uint64_t *operand;

    if (kind == DONE) {
        base = name_done(end, entry->epoch, &key, &address);
    } else if (kind == RELEASE) {
        key = released->key;
        address = released->address;
    }
    operand = nic->atomic == FI_SUM ? &nic->constants.one : operand_of(nic, entry);
    if (nic->atomic != FI_SUM) {
        *operand = base + entry->epoch;
    }
    mpixq_cxi_fill_atomic(
        nic, entry,
        &(struct cxi_atomic){
            .peer = kind == CTS ? end->peer : nic->self,
            .key = key,
            .address = address,
            .operand = operand,
            .desc = operand != &entry->operand && nic->nameless ? &nic->held_desc : NULL,
            .flags = nic->quirks->flags_small && !nic->nameless ? FI_COMPLETION : 0});
}

static void fill(struct cxi_end *end, struct cxi_entry *entry, uint32_t i, uint64_t epoch)
{
    const struct cxi_nic *nic = end->nic;
    enum kind kind = kind_of(end, i);

    entry->end = end;
    entry->epoch = epoch;
    entry->what = names[kind];
    entry->counts = is_write(kind) || end->own > 0;
    if (is_write(kind)) {
        fill_write(end, entry, i);
    } else {
        fill_atomic(end, entry, kind, kind == RELEASE ? &end->released[i - !end->ready] : NULL);
    }
    entry->work.completion_cntr = entry->counts ? mpixq_cxi_counts_in(end, epoch)->fid
                                  : nic->quirks->wants_completion ? nic->sink->fid
                                                                  : NULL;
}

/* How far W or D has come when such an operation of a start is due. If its own end is counted there
 * as well, then so is that of all atomics before it. (Releases are due together.) */
static uint64_t due(const struct cxi_end *end, enum kind kind, uint64_t epoch)
{
    return mpixq_cxi_counted(end) * mpixq_cxi_ordinal(end, epoch) - (end->own > 0) -
           (kind == TELL) - (kind == RELEASE ? end->n_released : 0);
}

/* What operation i of a start waits for: doc/cxi.md, section 2. */
static void set_trigger(const struct cxi_end *end, struct cxi_entry *entry, uint32_t i,
                        uint64_t epoch, uint64_t ring)
{
    enum kind kind = kind_of(end, i);
    const struct cxi_counter *counter;
    uint64_t threshold;

    if (kind == WRITE && !end->shared) {
        counter = end->trigger;
        threshold = mpixq_cxi_rings_and_clears(end) * epoch;
    } else if (kind == WRITE && mpixq_cxi_is_to_slots(end) && ring == 0) {
        counter = end->trigger; /* the stream is at the start */
        threshold = mpixq_cxi_credits(end, epoch);
    } else if (kind == WRITE || kind == CTS) {
        counter = mpixq_cxi_ring_of(end, epoch);
        counter = counter != NULL ? counter : end->queue->shared;
        threshold = ring;
    } else {
        counter = mpixq_cxi_counts_in(end, epoch);
        threshold = due(end, kind, epoch);
    }
    entry->work.triggering_cntr = counter->fid;
    entry->work.threshold = counter->base + threshold;
    assert(entry->work.threshold <= end->nic->quirks->counter_max);
}

/* Operations that are refused. Each attempt can leave a reference to the mapping of its source with
 * the provider, for ever: so one is not made before completions were read, which makes room, or a
 * while has passed. */

enum { PAUSE_NS = 16000, DOUBLINGS = 9 };

static bool is_refusing(const struct cxi_refusals *refusals)
{
    return refusals->in_a_row > 0 && mpixq_now_ns() < refusals->retry_ns;
}

/* With -FI_EINTR a signal came while we waited for others, as they take turns where the provider
 * counts the entries. Nothing was taken then, and nothing lacks: so we wait again, but not for
 * ever, as signals may come faster than turns. */
static int queue_work(const struct cxi_nic *nic, struct fi_deferred_work *work)
{
    enum { TURNS = 4 };
    int rc = -FI_EINTR;

    for (int i = 0; i < TURNS && rc == -FI_EINTR; i++) {
        rc = fi_control(&nic->domain->fid, FI_QUEUE_WORK, work);
    }
    return rc;
}

/* -FI_EAGAIN if the operation is to be held. With -FI_ENOSPC others have the entries that the NIC
 * should have had for us: so it is with few of them. */
int mpixq_cxi_held(struct cxi_refusals *refusals, int rc)
{
    if (rc != -FI_EAGAIN && rc != -FI_ENOSPC && rc != -FI_EINTR) {
        refusals->in_a_row = 0;
        return rc;
    }
    refusals->in_a_row += refusals->in_a_row <= DOUBLINGS;
    refusals->retry_ns = mpixq_now_ns() + ((uint64_t)PAUSE_NS << (refusals->in_a_row - 1));
    return -FI_EAGAIN;
}

int mpixq_cxi_defer(struct cxi_nic *nic, struct fi_deferred_work *work)
{
    return is_refusing(&nic->posts) ? -FI_EAGAIN
                                    : mpixq_cxi_held(&nic->posts, queue_work(nic, work));
}

int mpixq_cxi_post(struct cxi_end *end, uint32_t i, uint64_t epoch, uint64_t ring)
{
    struct cxi_nic *nic = end->nic;
    bool writes = is_write(kind_of(end, i));
    struct cxi_entry *entry = is_refusing(&nic->posts) ? NULL : mpixq_cxi_entry_take(end, writes);
    int rc;

    if (entry == NULL) {
        return -FI_EAGAIN;
    }
    entry->plain = false;
    fill(end, entry, i, epoch);
    set_trigger(end, entry, i, epoch, ring);
    /* The next start may be armed while the host is at this one. */
    assert(epoch == end->over || mpixq_cxi_is_last(end, ring == 0));
    rc = queue_work(nic, &entry->work);
    if (rc != 0) {
        mpixq_cxi_entry_undo(end);
    } else {
        trace(end, i, 0);
    }
    return mpixq_cxi_held(&nic->posts, rc);
}

static bool has_counted(const struct cxi_end *end, struct cxi_counter *counter, uint64_t n)
{
    return mpixq_cxi_counter_look(end->nic, counter) - counter->base >= n;
}

static bool is_due(const struct cxi_end *end, uint32_t i, uint64_t epoch)
{
    enum kind kind = kind_of(end, i);

    if (kind == WRITE) {
        return mpixq_cxi_is_clear(end, epoch);
    }
    if (kind == CTS) {
        return true; /* the stream has executed the start */
    }
    return has_counted(end, mpixq_cxi_counts_in(end, epoch), due(end, kind, epoch));
}

/* Of one that asks for no completion. The counter is shown as it was at the failure, or later: if
 * a NIC counts failures towards thresholds, what comes behind the one that failed may have been
 * executed by then, which the word shows. */
const char *mpixq_cxi_nameless(const struct cxi_end *end)
{
    uint64_t epoch = mpixq_cxi_done(end) + 1;
    const struct cxi_counter *counter = mpixq_cxi_counts_in(end, epoch);
    uint64_t counted = fi_cntr_read(counter->fid) - counter->base;

    if (counted >= due(end, DONE, epoch)) {
        return names[DONE];
    }
    if (end->n_released > 0 && counted >= due(end, RELEASE, epoch)) {
        return names[RELEASE];
    }
    return !end->is_send ? names[CTS] : end->delivered ? names[TELL] : names[WRITE];
}

bool mpixq_cxi_may_issue(const struct cxi_nic *nic)
{
    return nic->flying < MAX_FLYING && !is_refusing(&nic->issues);
}

int mpixq_cxi_issue(struct cxi_end *end, uint32_t i, uint64_t epoch)
{
    struct cxi_nic *nic = end->nic;
    bool writes = is_write(kind_of(end, i));
    struct cxi_entry *entry = writes ? &end->plain_write : mpixq_cxi_plain_atomic(end, epoch);
    int rc;

    assert(end->over == epoch && end->step == i);
    if (!is_due(end, i, epoch) || !mpixq_cxi_may_issue(nic)) {
        return 0;
    }
    entry->plain = true;
    entry->is_write = writes;
    fill(end, entry, i, epoch);
    rc = (int)(writes ? fi_writemsg(nic->ep, &entry->u.write.op.msg,
                                    FI_COMPLETION | entry->u.write.op.flags)
                      : fi_atomicmsg(nic->ep, &entry->u.atomic.op.msg, FI_COMPLETION));
    rc = mpixq_cxi_held(&nic->issues, rc);
    if (rc == -FI_EAGAIN) {
        return 0;
    }
    if (rc == 0) {
        end->flying++;
        nic->flying++;
        trace(end, i, MPIXQ_TRACE_PLAIN);
    }
    return rc == 0 ? 1 : rc;
}
