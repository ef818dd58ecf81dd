/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * request.c - what the provider keeps of an operation until software has read of its end, and what
 * it leaves behind of one that it refuses
 *
 * It looks for room last, when it has mapped the source and has the counter know of the request.
 * Without room it gives the request back, and neither of the other two: so the mapping stays until
 * the domain is closed, and reads of the counter look at the endpoint's events from then on, as if
 * something were under way.
 */
#include "double.h"

/* The counter that knows of it: of a deferred atomic the endpoint's, and not that which counts. */
static struct nic_cntr *knowing(const struct nic_op *op)
{
    bool is_atomic = op->kind == NIC_AMO || op->kind == NIC_FETCH || op->kind == NIC_COMPARE;

    if (op->cntr == NULL || !op->deferred || !is_atomic) {
        return op->cntr;
    }
    return op->kind == NIC_AMO ? op->ep->write_cntr : op->ep->read_cntr;
}

void nic_request_take(const struct nic_op *op)
{
    if (!op->tracked) {
        return;
    }
    op->ep->outstanding++;
    if (knowing(op) != NULL) {
        knowing(op)->requests++;
    }
    if (op->deferred && op->cntr != NULL) {
        op->cntr->unreaped++;
    }
}

void nic_request_give(const struct nic_op *op)
{
    if (!op->tracked) {
        return;
    }
    op->ep->outstanding--;
    if (knowing(op) != NULL) {
        knowing(op)->requests--;
    }
    if (op->deferred && op->cntr != NULL) {
        nic_cntr_reaped(op->cntr);
    }
}

/* A source or result that the provider maps for the operation itself. Atomics give theirs back. */
static bool has_mapping(const struct nic_op *op)
{
    return (op->kind == NIC_WRITE || op->kind == NIC_READ) && op->length > 0 &&
           op->region == NULL && (op->flags & FI_INJECT) == 0;
}

void nic_request_leave(const struct nic_op *op)
{
    if (!op->tracked || op->kind == NIC_SEND || nic_is_wrong("work-refused")) {
        return;
    }
    if (knowing(op) != NULL) {
        knowing(op)->left++;
    }
    op->ep->domain->left += has_mapping(op) ? 1 : 0;
}
