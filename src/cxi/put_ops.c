/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The operations of a put. */
#include "put_chain.h"
#include "nic.h"
#include "puts.h"
#include "supply.h"

/* Success says that the data can be seen. Of deferred work only a failure makes an event, unless it
 * is the last of its put. */
static void fill_write(struct cxi_put *put, struct cxi_entry *entry, uint64_t flags)
{
    entry->put = put;
    mpixq_cxi_fill_move(put->puts->nic, entry,
                        &(struct cxi_move){.type = FI_OP_WRITE,
                                           .peer = put->target.peer,
                                           .key = put->target.key,
                                           .address = put->target.addr,
                                           .local = put->from,
                                           .bytes = put->bytes,
                                           .flags = flags | FI_DELIVERY_COMPLETE});
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
    fill_write(put, entry, FI_COMPLETION);
    return (int)fi_writemsg(ep, &entry->u.write.op.msg, entry->u.write.op.flags);
}

/* The write is the first, if there is one. */
static struct cxi_entry *next_post(const struct cxi_put *put)
{
    return put->posted == 0 && put->write != NULL ? put->write : put->atomic;
}

int mpixq_cxi_put_post(struct cxi_put *put)
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
    entry->work.threshold =
        put->chain->counter->base + put->chain->base + (put->ring != NULL) + is_behind;
    entry->work.completion_cntr =
        entry == put->write && put->atomic != NULL ? put->chain->counter->fid : NULL;
    return mpixq_cxi_defer(nic, &entry->work);
}
