/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * transmit.c - operations at their initiator: admitted, started, sent, answered
 *
 * An operation is read from memory when it is sent, not when it was posted. Its end is counted by
 * the engine; its completion entry and its place in the transmit queue wait for software.
 */
#include "double.h"

#include <stdlib.h>
#include <string.h>

/* By their number, which the answer names. Under nic.lock. */
static struct nic_op **ops;
static uint32_t op_room;
static uint32_t op_generation;
static int faulted, fault_hits;
static uint64_t last_due_ns[NIC_SLOTS];
static uint64_t busy_ns[NIC_PLACES]; /* until then each NIC sends what it was given */

struct nic_op *nic_op_new(struct nic_ep *ep, enum nic_kind kind)
{
    struct nic_op *op = calloc(1, sizeof(*op));

    if (op == NULL) {
        nic_die("no memory for an operation");
    }
    op->kind = kind;
    op->ep = ep;
    op->id = UINT32_MAX;
    return op;
}

static void op_number(struct nic_op *op)
{
    uint32_t id = 0;

    while (id < op_room && ops[id] != NULL) {
        id++;
    }
    if (id == op_room) {
        op_room = op_room == 0 ? 64 : 2 * op_room;
        ops = realloc(ops, op_room * sizeof(struct nic_op *));
        if (ops == NULL) {
            nic_die("no memory for operations");
        }
        memset(ops + id, 0, (op_room - id) * sizeof(struct nic_op *));
    }
    ops[id] = op;
    op->id = id;
    op->generation = ++op_generation;
}

void nic_op_free(struct nic_op *op)
{
    if (op->id != UINT32_MAX) {
        ops[op->id] = NULL;
    }
    free(op->owned);
    free(op);
}

/* 0, or how the attempt to post it fails. */
static int refusal(const struct nic_op *op)
{
    if (nic_switches.refuse == NIC_REFUSE_NONE ||
        (nic_switches.refuse == NIC_REFUSE_INTERRUPT && !op->deferred) ||
        (nic.attempts++ % 2 == 0 && !nic.refuses_all)) {
        return 0;
    }
    if (nic.passes > 0) {
        nic.passes--;
        return 0;
    }
    nic.refused++;
    return nic_switches.refuse == NIC_REFUSE_INTERRUPT ? -FI_EINTR : -FI_EAGAIN;
}

/* Room in the transmit queue. What is not tracked needs none. */
static bool has_room(const struct nic_op *op)
{
    return !nic_events_are_many(op->ep) &&
           (!op->tracked || (size_t)op->ep->outstanding < op->ep->tx_size ||
            nic_is_wrong("work-requests"));
}

int nic_op_admit(struct nic_op *op)
{
    int rc = refusal(op);

    if (rc == 0 && op->length > nic_max_message()) {
        return -FI_EMSGSIZE;
    }
    if (rc == 0) {
        nic_hmem_look(op);
        rc = has_room(op) ? 0 : -FI_EAGAIN;
    }
    if (rc == 0) {
        nic_request_take(op);
    } else if (rc == -FI_EAGAIN) {
        nic_request_leave(op);
    }
    return rc;
}

void nic_faults_reset(void)
{
    faulted = 0;
    fault_hits = 0;
}

int nic_fault_hits(void)
{
    return fault_hits;
}

static bool is_hit(const struct nic_op *op)
{
    switch (nic_switches.fault_op) {
    case NIC_HIT_WRITE:
        return op->kind == NIC_WRITE;
    case NIC_HIT_ATOMIC:
        return op->kind == NIC_AMO || op->kind == NIC_FETCH || op->kind == NIC_COMPARE;
    case NIC_HIT_SEND:
        return op->kind == NIC_SEND;
    case NIC_HIT_READ:
        return op->kind == NIC_READ;
    default:
        return true;
    }
}

/* Returns how much later the operation is sent. */
static uint64_t op_fault(struct nic_op *op)
{
    if (nic_switches.fault == NIC_FAULT_NONE || !is_hit(op)) {
        return 0;
    }
    faulted++;
    if (faulted < nic_switches.fault_first ||
        faulted - nic_switches.fault_first >= nic_switches.fault_count) {
        return 0;
    }
    fault_hits++;
    switch (nic_switches.fault) {
    case NIC_FAULT_FAIL:
        op->fault = NIC_F_FAIL;
        break;
    case NIC_FAULT_LOSE:
        op->lost = true;
        break;
    case NIC_FAULT_DUPLICATE:
        op->twice = true;
        break;
    default:
        return (uint64_t)nic_switches.late_us * 1000;
    }
    return 0;
}

static bool is_ordered(const struct nic_op *op)
{
    uint64_t wanted;

    if (nic_is_wrong("order-asked")) {
        return false;
    }
    if (nic_switches.order == NIC_ORDER_ALWAYS) {
        return true;
    }
    switch (op->kind) {
    case NIC_WRITE:
        wanted = FI_ORDER_WAW | FI_ORDER_RMA_WAW;
        break;
    case NIC_AMO:
    case NIC_FETCH:
    case NIC_COMPARE:
        wanted = FI_ORDER_WAW | FI_ORDER_ATOMIC_WAW;
        break;
    case NIC_SEND:
        wanted = FI_ORDER_SAS;
        break;
    default:
        wanted = FI_ORDER_RAR;
        break;
    }
    return op->ep != NULL && (op->ep->order & wanted) != 0;
}

static void op_end(struct nic_op *op, int rc)
{
    bool counts =
        rc == 0 || (op->kind == NIC_READ && nic_is_wrong("work-read-failure")); /* as a success */

    op->rc = rc;
    if (op->cntr != NULL) {
        nic_cntr_add(op->cntr, counts ? 1 : 0, counts ? 0 : 1);
    }
    ops[op->id] = NULL;
    op->id = UINT32_MAX;
    if (op->ep == NULL || (!op->tracked && !op->report && rc == 0)) {
        nic_op_free(op);
        return;
    }
    nic_event_put(op);
}

/* Fills op->operand: the values, and behind them what they are compared with. */
static size_t op_read_operands(struct nic_op *op)
{
    size_t size = op->count * nic_type_size(op->datatype);

    if (!op->captured && op->source != NULL) {
        memcpy(op->operand, op->source, size);
    }
    if (op->kind != NIC_COMPARE) {
        return size;
    }
    if (!op->captured) {
        memcpy(op->operand + size, op->compare, size);
    }
    return 2 * size;
}

static void op_send(struct nic_op *op, struct nic_header *header)
{
    const void *body = op->source;
    void *owned = NULL;

    header->body = op->kind == NIC_READ ? 0 : op->length;
    header->kind = op->kind == NIC_READ   ? NIC_M_READ
                   : op->kind == NIC_SEND ? NIC_M_SEND
                                          : NIC_M_WRITE;
    if (op->kind == NIC_AMO || op->kind == NIC_FETCH || op->kind == NIC_COMPARE) {
        header->kind = NIC_M_AMO;
        header->flags |= op->kind != NIC_AMO ? NIC_F_FETCH : 0;
        header->flags |= op->kind == NIC_COMPARE ? NIC_F_COMPARE : 0;
        header->body = op_read_operands(op);
        body = op->operand;
    }
    if (header->kind == NIC_M_WRITE) {
        owned = nic_hmem_read(op);
        body = owned != NULL ? owned : body;
    }
    nic_out(op->to.slot, header, body, owned);
    if (op->twice) {
        /* The operation may be gone before the second message has left. */
        void *copy = malloc(header->body > 0 ? header->body : 1);

        if (copy == NULL) {
            nic_die("no memory for a duplicate");
        }
        memcpy(copy, body, header->body);
        nic_out(op->to.slot, header, copy, copy);
    }
}

/* The NIC reaches by a region what is in it, while it is open. */
static bool reaches_operands(const struct nic_op *op)
{
    size_t bytes = op->kind == NIC_WRITE || op->kind == NIC_READ
                       ? op->length
                       : op->count * nic_type_size(op->datatype);
    const struct nic_domain *domain = op->ep->domain;

    if (op->result_region != NULL && !nic_mr_holds(domain, op->result_region, op->result, bytes)) {
        return false;
    }
    return op->region == NULL || op->owned != NULL ||
           nic_mr_holds(domain, op->region, op->kind == NIC_READ ? op->result : op->source, bytes);
}

/* Event: the operation leaves. */
static void op_transmit(void *arg)
{
    struct nic_op *op = arg;
    struct nic_header header = {
        .flags = op->fault,
        .source = nic_my_slot,
        .source_generation = atomic_load(&nic_segment->slots[nic_my_slot].generation),
        .source_ep = op->ep == NULL ? 0 : op->ep->index,
        .target_ep = op->to.ep,
        .op = op->id,
        .op_generation = op->generation,
        .datatype = op->datatype,
        .operation = op->operation,
        .count = (uint32_t)op->count,
        .key = op->key,
        .offset = op->offset,
        .length = op->length,
        .tag = op->tag,
        .data = op->data,
    };

    op->sent = true;
    if (op->ep == NULL) {
        op_end(op, FI_ECANCELED);
        return;
    }
    if (!reaches_operands(op)) {
        op_end(op, FI_EIO);
        return;
    }
    if (op->flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)) {
        header.flags |= NIC_F_DELIVERY;
    }
    header.flags |= op->tagged ? NIC_F_TAGGED : 0;
    header.flags |= (op->flags & FI_REMOTE_CQ_DATA) != 0 ? NIC_F_DATA : 0;
    header.flags |= is_ordered(op) ? NIC_F_ORDERED : 0;
    /* To nobody, or lost: nic_ops_check_peers ends it when its time is over. */
    if (!op->lost && nic_slot_is_alive(op->to.slot, op->to.generation)) {
        op_send(op, &header);
    }
}

/* A NIC of limited bandwidth sends one message after the other: when is this one gone? The target
 * takes it whole. */
static uint64_t behind_others(const struct nic_op *op, uint64_t due_ns)
{
    uint64_t *busy = &busy_ns[op->ep->domain->place / NIC_GROUPS];

    if (nic_switches.mbps == 0 || (op->kind != NIC_WRITE && op->kind != NIC_SEND)) {
        return due_ns;
    }
    *busy = (due_ns < *busy ? *busy : due_ns) + op->length * 1000 / (uint64_t)nic_switches.mbps;
    return *busy;
}

void nic_op_start(struct nic_op *op)
{
    uint64_t due_ns = behind_others(op, nic_now() + nic_random_delay() + op_fault(op));

    op_number(op);
    op->started_ns = nic_now();
    if (is_ordered(op) && op->to.slot < NIC_SLOTS) {
        uint64_t *last = &last_due_ns[op->to.slot];

        due_ns = due_ns < *last ? *last : due_ns;
        *last = due_ns;
    }
    nic_at(due_ns, op_transmit, op);
    nic_wake();
}

/* What was read comes in two parts, and is over after the second. */
struct arrival {
    uint32_t id, generation;
    unsigned char *result, *body; /* both of the second part */
    size_t size;
};

static struct nic_op *arriving(const struct arrival *arrival)
{
    struct nic_op *op = arrival->id < op_room ? ops[arrival->id] : NULL;

    return op != NULL && op->generation == arrival->generation ? op : NULL;
}

static void arrival_event(void *arg)
{
    struct arrival *arrival = arg;
    struct nic_op *op = arriving(arrival);
    bool is_late = nic_is_wrong("data-at-read"); /* it was over before */

    if (op != NULL && op->ep != NULL) {
        memcpy(nic_hmem_result(op) + op->length - arrival->size, arrival->body, arrival->size);
    } else if (is_late) {
        memcpy(arrival->result, arrival->body, arrival->size);
    }
    if (op != NULL) {
        op_end(op, 0);
    }
    free(arrival->body);
    free(arrival);
}

static void arrive(struct nic_op *op, const unsigned char *body, size_t size)
{
    struct arrival *arrival = malloc(sizeof(*arrival));
    unsigned char *result = op->ep != NULL ? nic_hmem_result(op) : op->result;
    size_t cut = size / 2;
    bool is_late = nic_is_wrong("data-at-read");

    if (arrival == NULL) {
        nic_die("no memory for data that is read");
    }
    *arrival = (struct arrival){.id = op->id,
                                .generation = op->generation,
                                .result = result + cut,
                                .body = malloc(size - cut),
                                .size = size - cut};
    if (arrival->body == NULL) {
        nic_die("no memory for data that is read");
    }
    memcpy(arrival->body, body + cut, size - cut);
    if (op->ep != NULL) {
        memcpy(result, body, cut);
    }
    nic_at(nic_now() + (is_late ? (uint64_t)nic_switches.late_us * 1000 : nic_random_delay()),
           arrival_event, arrival);
    if (is_late) {
        op_end(op, 0);
    }
}

void nic_op_answered(const struct nic_header *header, const void *body)
{
    struct nic_op *op = header->op < op_room ? ops[header->op] : NULL;

    /* The second answer to a message that was duplicated finds nobody. */
    if (op == NULL || op->generation != header->op_generation) {
        return;
    }
    if (header->rc == 0 && op->kind == NIC_READ && header->body > 1) {
        arrive(op, body, header->body);
        return;
    }
    if (header->rc == 0 && header->body > 0 && op->result != NULL && op->ep != NULL) {
        memcpy(op->kind == NIC_READ ? nic_hmem_result(op) : op->result, body, header->body);
    }
    op_end(op, header->rc);
}

/* A lost message and a dead peer are the same: silence, and then an error. */
void nic_ops_check_peers(void)
{
    uint64_t now = nic_now();
    uint64_t limit = (uint64_t)nic_switches.retry_ms * 1000000;

    for (uint32_t id = 0; id < op_room; id++) {
        struct nic_op *op = ops[id];

        if (op != NULL && op->sent && now - op->started_ns > limit &&
            (op->lost || !nic_slot_is_running(op->to.slot, op->to.generation))) {
            op_end(op, FI_EHOSTUNREACH);
        }
    }
}

/* The endpoint is being closed: what it still has under way ends unseen. */
void nic_ops_orphan(const struct nic_ep *ep)
{
    for (uint32_t id = 0; id < op_room; id++) {
        if (ops[id] != NULL && ops[id]->ep == ep) {
            nic_request_give(ops[id]);
            ops[id]->ep = NULL;
            ops[id]->cntr = NULL;
        }
    }
}

void nic_ops_free_all(void)
{
    for (uint32_t id = 0; id < op_room; id++) {
        if (ops[id] != NULL) {
            nic_op_free(ops[id]);
        }
    }
    free(ops);
    ops = NULL;
    op_room = 0;
    memset(last_due_ns, 0, sizeof(last_due_ns));
    memset(busy_ns, 0, sizeof(busy_ns));
}
