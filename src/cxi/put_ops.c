/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The operations of a put, or get. */
#include "put_chain.h"
#include "nic.h"
#include "puts.h"
#include "supply.h"

/* Success is to say that the data can be seen, which of a write has to be asked for. Of deferred
 * work only a failure makes an event, unless it is the last of its put. */
static void fill_move(struct cxi_put *put, struct cxi_entry *entry, uint64_t flags)
{
    entry->put = put;
    mpixq_cxi_fill_move(
        put->puts->nic, entry,
        &(struct cxi_move){.type = put->is_get ? FI_OP_READ : FI_OP_WRITE,
                           .peer = put->target.peer,
                           .key = put->target.key,
                           .address = put->target.addr,
                           .local = put->data,
                           .bytes = put->bytes,
                           .flags = flags | (put->is_get ? 0 : FI_DELIVERY_COMPLETE)});
}

static void fill_atomic(struct cxi_put *put, struct cxi_entry *entry)
{
    entry->put = put;
    mpixq_cxi_fill_atomic(put->puts->nic, entry,
                          &(struct cxi_atomic){.peer = put->target.peer,
                                               .key = put->target.word_key,
                                               .address = put->target.word_addr,
                                               .operand = &put->entry.operand,
                                               .flags = FI_COMPLETION | FI_DELIVERY_COMPLETE});
}

int mpixq_cxi_put_issue(struct cxi_put *put)
{
    struct cxi_entry *entry = &put->entry;
    struct fid_ep *ep = put->puts->nic->ep;

    if (put->adds) {
        fill_atomic(put, entry);
        return (int)fi_atomicmsg(ep, &entry->u.atomic.op.msg, entry->u.atomic.op.flags);
    }
    fill_move(put, entry, FI_COMPLETION);
    return (int)(put->is_get ? fi_readmsg(ep, &entry->u.write.op.msg, entry->u.write.op.flags)
                             : fi_writemsg(ep, &entry->u.write.op.msg, entry->u.write.op.flags));
}

/* A write goes first, as it may go at once. A read goes last: if the atomic is refused for good,
 * the get is over, and nothing may write to its data any more. */
struct cxi_entry **mpixq_cxi_put_entry(struct cxi_put *put, int i)
{
    bool is_move = put->atomic == NULL || (put->move != NULL && (i == 1) == put->is_get);

    return is_move ? &put->move : &put->atomic;
}

int mpixq_cxi_put_post(struct cxi_put *put)
{
    struct cxi_nic *nic = put->puts->nic;
    struct cxi_entry *entry = *mpixq_cxi_put_entry(put, put->posted);
    bool is_behind = entry == put->atomic && put->move != NULL;

    if (entry == put->atomic) {
        fill_atomic(put, entry);
    } else {
        fill_move(put, entry, put->atomic != NULL ? 0 : FI_COMPLETION);
    }
    entry->work.triggering_cntr = put->chain->counter->fid;
    entry->work.threshold =
        put->chain->counter->base + put->chain->base + mpixq_cxi_put_rings_chain(put) + is_behind;
    if (put->ring != NULL && !is_behind) {
        entry->work.triggering_cntr = put->ring->fid;
        entry->work.threshold = put->ring_at;
    }
    entry->work.completion_cntr =
        entry == put->move && put->atomic != NULL ? put->chain->counter->fid : NULL;
    return mpixq_cxi_defer(nic, &entry->work);
}
