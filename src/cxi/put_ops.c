/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The operations of a put. */
#include "put_chain.h"
#include "nic.h"
#include "puts.h"

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
