/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * post.c - operations that are posted at once
 */
#include "post.h"

#include <stdlib.h>
#include <string.h>

static struct nic_cntr *cntr_of(const struct nic_ep *ep, enum nic_kind kind)
{
    switch (kind) {
    case NIC_WRITE:
    case NIC_AMO:
        return ep->write_cntr;
    case NIC_SEND:
        return ep->send_cntr;
    default:
        return ep->read_cntr;
    }
}

static int check(const struct nic_ep *ep, const struct nic_op *want, uint64_t flags)
{
    bool generic = nic_switches.rules == NIC_RULES_GENERIC;

    if (!ep->enabled) {
        return -FI_EOPBADSTATE;
    }
    if ((flags & FI_FENCE) || ((flags & FI_TRIGGER) && !generic)) {
        return -FI_EINVAL;
    }
    if (want->kind == NIC_WRITE || want->kind == NIC_READ || want->kind == NIC_SEND) {
        return 0;
    }
    if (!nic_amo_valid(want->kind, want->datatype, want->operation)) {
        return -FI_EOPNOTSUPP;
    }
    if (want->count == 0 || (want->count != 1 && !generic) ||
        2 * want->count * nic_type_size(want->datatype) > NIC_AMO_BYTES) {
        return -FI_EINVAL;
    }
    return 0;
}

const struct nic_mr *nic_op_region(const struct nic_ep *ep, void *const *desc)
{
    return ep->domain->hybrid && desc != NULL ? desc[0] : NULL;
}

bool nic_op_is_tracked(const struct nic_op *op)
{
    bool is_flushed = (op->flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)) != 0;

    if (op->report || nic_is_wrong("work-registered")) {
        return op->report || op->length > 0 || op->kind >= NIC_AMO;
    }
    switch (op->kind) {
    case NIC_WRITE:
    case NIC_READ:
        return op->length > 0 && (op->region == NULL || (op->flags & FI_INJECT) != 0);
    case NIC_AMO:
        return op->region == NULL || (op->flags & FI_INJECT) != 0;
    case NIC_FETCH:
    case NIC_COMPARE:
        return op->region == NULL || op->result_region == NULL || is_flushed ||
               op->operation == FI_ATOMIC_READ || op->operation == FI_MSWAP;
    default:
        return op->length > 0;
    }
}

static size_t source_size(const struct nic_op *op)
{
    return op->kind == NIC_SEND || op->kind == NIC_WRITE ? op->length
                                                         : op->count * nic_type_size(op->datatype);
}

static void keep_source(struct nic_op *op)
{
    size_t size = source_size(op);

    op->owned = malloc(size > 0 ? size : 1);
    if (op->owned == NULL) {
        nic_die("no memory for injected data");
    }
    if (size > 0) {
        memcpy(op->owned, op->source, size);
    }
    op->source = op->owned;
}

/* The older interface for a threshold: the context of the call holds it. */
static int post_triggered(struct nic_op *op)
{
    const struct fi_triggered_context *context = op->context;
    struct nic_command command = {.kind = NIC_C_OP, .op = op, .ep = op->ep};

    if (context == NULL || context->event_type != FI_TRIGGER_THRESHOLD) {
        return -FI_EINVAL;
    }
    command.cntr = NIC_CONTAINER(context->trigger.threshold.cntr, struct nic_cntr, fid);
    command.threshold = context->trigger.threshold.threshold;
    return nic_command_put(op->ep->domain, &command);
}

static ssize_t post_locked(struct nic_ep *ep, const struct nic_op *want, fi_addr_t to,
                           uint64_t flags)
{
    struct nic_op *op = nic_op_new(ep, want->kind);
    uint32_t id = op->id;
    int rc;

    *op = *want;
    op->id = id;
    op->ep = ep;
    op->flags = flags;
    op->cntr = cntr_of(ep, op->kind);
    op->report = !(flags & FI_INJECT) && (!ep->tx_selective || (flags & FI_COMPLETION) != 0);
    op->tracked = nic_op_is_tracked(op);
    rc = nic_av_address(ep->av, to, &op->to);
    if (rc == 0) {
        rc = nic_op_admit(op);
    }
    if (rc != 0) {
        nic_op_free(op);
        return rc;
    }
    if ((flags & FI_INJECT) && op->source != NULL) {
        keep_source(op);
    }
    if (!(flags & FI_TRIGGER)) {
        nic_op_start(op);
        return 0;
    }
    rc = post_triggered(op);
    if (rc != 0) {
        nic_request_give(op);
        nic_op_free(op);
    }
    return rc;
}

ssize_t nic_post(struct fid_ep *fid, const struct nic_op *want, fi_addr_t to, uint64_t flags)
{
    uint64_t ep_flags;
    struct nic_ep *ep = nic_ep_of(fid, &ep_flags);
    ssize_t rc;

    if (flags == NIC_EP_FLAGS) {
        flags = ep_flags;
    }
    rc = check(ep, want, flags);
    if (rc == 0) {
        nic_lock();
        nic_ep_wait(ep);
        rc = post_locked(ep, want, to, flags);
        pthread_mutex_unlock(&nic.lock);
    }
    return rc;
}
