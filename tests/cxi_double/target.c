/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * target.c - messages at their target: put together, checked, placed, counted, answered
 *
 * Placing the data, counting the operation and answering it are three events of their own. Only
 * what the documentation promises orders them; the switches choose among the orders that are left.
 */
#include "double.h"

#include <stdlib.h>
#include <string.h>

/* The message that is arriving from each process; its cells come one after the other. */
struct inbound {
    struct nic_header header;
    unsigned char *body;
    uint64_t got;
    bool active;
};

struct delivery {
    struct nic_header header;
    unsigned char *body;
    struct nic_mr *mr;
    /* When its next step is due. Later ones go by it, not by the clock: however late this thread
     * comes to run, an answer that is late comes behind the data. */
    uint64_t due_ns;
    uint64_t cut; /* the data is placed in two parts, up to and from here */
    bool counted, answered;
};

static struct inbound inbounds[NIC_SLOTS];
static uint64_t last_placed_ns[NIC_SLOTS];

/* Takes the body over. */
void nic_answer(const struct nic_header *to, int rc, void *body, uint64_t size)
{
    struct nic_header header = {
        .kind = NIC_M_REPLY,
        .source = nic_my_slot,
        .source_generation = atomic_load(&nic_segment->slots[nic_my_slot].generation),
        .op = to->op,
        .op_generation = to->op_generation,
        .rc = rc,
        .body = size,
    };

    nic_out(to->source, &header, body, body);
}

static void answer_event(void *arg)
{
    struct nic_header *header = arg;

    nic_answer(header, 0, NULL, 0);
    free(header);
}

static void answer_later(const struct nic_header *to)
{
    struct nic_header *copy = malloc(sizeof(*copy));
    uint64_t delay_ns = nic_random_delay();

    if (copy == NULL) {
        nic_die("no memory for an answer");
    }
    *copy = *to;
    if (nic_switches.ack == NIC_ACK_RANDOM) {
        delay_ns = 3 * nic_random_delay();
    } else if (nic_switches.ack == NIC_ACK_LATE) {
        delay_ns += (uint64_t)nic_switches.late_us * 1000;
    }
    nic_at(nic_now() + delay_ns, answer_event, copy);
}

static uint64_t bytes_of(const struct nic_header *header)
{
    return header->kind == NIC_M_AMO
               ? header->count * nic_type_size((enum fi_datatype)header->datatype)
               : header->length;
}

static void delivery_next(struct delivery *delivery, uint64_t delay_ns, nic_event_fn *step)
{
    delivery->due_ns += delay_ns;
    nic_at(delivery->due_ns, step, delivery);
}

static void delivery_end(struct delivery *delivery)
{
    delivery->mr->deliveries--;
    free(delivery->body);
    free(delivery);
}

static void delivery_count(struct delivery *delivery, uint64_t event)
{
    const struct nic_mr *mr = delivery->mr;
    const struct nic_ep *ep = nic.eps[delivery->header.target_ep];

    delivery->counted = true;
    if (nic_is_wrong("region-count") && bytes_of(&delivery->header) == 0) {
        return;
    }
    if (mr->cntr != NULL && event == FI_REMOTE_WRITE) {
        nic_cntr_add(mr->cntr, 1, 0);
    }
    if (ep != NULL && ep->remote_cntr != NULL) {
        nic_cntr_add(ep->remote_cntr, 1, 0);
    }
}

static void count_event(void *arg)
{
    delivery_count(arg, FI_REMOTE_WRITE);
    delivery_end(arg);
}

static void place_rest_event(void *arg)
{
    struct delivery *delivery = arg;
    const struct nic_header *header = &delivery->header;

    if (header->length > delivery->cut) {
        memcpy(delivery->mr->base + header->offset + delivery->cut, delivery->body + delivery->cut,
               header->length - delivery->cut);
    }
    if ((header->flags & NIC_F_DELIVERY) && !nic_is_wrong("data-at-delivery")) {
        nic_answer(header, 0, NULL, 0);
    }
    if (delivery->counted) {
        delivery_end(delivery);
    } else if (header->flags & NIC_F_ORDERED) {
        count_event(delivery);
    } else {
        delivery_next(delivery, nic_random_delay(), count_event);
    }
}

static void place_event(void *arg)
{
    struct delivery *delivery = arg;
    const struct nic_header *header = &delivery->header;

    if (header->length > 1 && !(header->flags & NIC_F_ORDERED)) {
        delivery->cut = header->length / 2;
        memcpy(delivery->mr->base + header->offset, delivery->body, delivery->cut);
        delivery_next(delivery, nic_random_delay(), place_rest_event);
    } else {
        place_rest_event(delivery);
    }
}

/* The target counts although data is missing. */
static void count_early_event(void *arg)
{
    struct delivery *delivery = arg;

    delivery_count(delivery, FI_REMOTE_WRITE);
    delivery_next(delivery, (uint64_t)nic_switches.late_us * 1000, place_event);
}

static void amo_event(void *arg)
{
    struct delivery *delivery = arg;
    const struct nic_header *header = &delivery->header;
    size_t size = header->count * nic_type_size((enum fi_datatype)header->datatype);
    void *result = NULL;

    if (header->flags & NIC_F_FETCH) {
        result = malloc(size);
        if (result == NULL) {
            nic_die("no memory for the result of an atomic");
        }
    }
    nic_amo_apply(header, delivery->mr->base + header->offset, delivery->body,
                  delivery->body + size, result);
    if (header->flags & (NIC_F_FETCH | NIC_F_DELIVERY)) {
        nic_answer(header, 0, result, result == NULL ? 0 : size);
    }
    if (header->flags & NIC_F_ORDERED) {
        count_event(delivery);
    } else {
        delivery_next(delivery, nic_random_delay(), count_event);
    }
}

/* The answer takes the data along. */
static void read_answer_event(void *arg)
{
    struct delivery *delivery = arg;

    nic_answer(&delivery->header, 0, delivery->body, delivery->header.length);
    delivery->body = NULL;
    delivery_count(delivery, nic_is_wrong("region-read") ? FI_REMOTE_WRITE : FI_REMOTE_READ);
    delivery_end(delivery);
}

static void read_rest_event(void *arg)
{
    struct delivery *delivery = arg;
    uint64_t late_ns = (uint64_t)nic_switches.late_us * 1000;

    memcpy(delivery->body + delivery->cut,
           delivery->mr->base + delivery->header.offset + delivery->cut,
           delivery->header.length - delivery->cut);
    delivery_next(delivery,
                  nic_switches.ack == NIC_ACK_EARLY    ? 0
                  : nic_switches.ack == NIC_ACK_RANDOM ? 3 * nic_random_delay()
                                                       : late_ns,
                  read_answer_event);
}

/* It came without a body. */
static void read_event(void *arg)
{
    struct delivery *delivery = arg;
    uint64_t size = delivery->header.length;

    free(delivery->body);
    delivery->body = malloc(size > 0 ? size : 1);
    if (delivery->body == NULL) {
        nic_die("no memory for data that is read");
    }
    delivery->cut = size / 2;
    memcpy(delivery->body, delivery->mr->base + delivery->header.offset, delivery->cut);
    delivery_next(delivery, nic_random_delay(), read_rest_event);
}

static bool is_relaxed(const struct nic_header *header, const struct nic_mr *mr)
{
    return nic_switches.data == NIC_DATA_LAST ||
           (nic_switches.hmem_data == NIC_HMEM_DATA_LAST && mr->gpu != NULL && header->length > 0 &&
            !(header->flags & NIC_F_DELIVERY)) ||
           (nic_switches.data == NIC_DATA_RELAXED && mr->pool == NIC_PTLTES &&
            !(header->flags & NIC_F_ORDERED));
}

static int delivery_check(struct nic_header *header, const struct nic_ep *ep, struct nic_mr **mr_p)
{
    uint64_t need = header->kind == NIC_M_READ ? FI_REMOTE_READ : FI_REMOTE_WRITE;
    uint64_t size = bytes_of(header);
    struct nic_mr *mr;

    if (ep == NULL || !ep->enabled) {
        return FI_EHOSTUNREACH;
    }
    mr = nic_mr_find(ep, header->key);
    if (mr != NULL && nic_is_wrong("target-offset")) {
        header->offset -= (uintptr_t)mr->base;
    }
    if (mr != NULL && mr->cntr != NULL && nic_is_wrong("region-failure")) {
        nic_cntr_add(mr->cntr, 1, 0);
    }
    if (mr == NULL || (header->flags & NIC_F_FAIL) || !(mr->access & need) ||
        header->offset > mr->length || size > mr->length - header->offset) {
        return FI_EIO;
    }
    if (header->kind == NIC_M_AMO && size > 0 &&
        ((uintptr_t)(mr->base + header->offset) %
         nic_type_size((enum fi_datatype)header->datatype)) != 0) {
        return FI_EIO;
    }
    *mr_p = mr;
    return 0;
}

static void deliver(const struct nic_header *header, unsigned char *body, struct nic_mr *mr)
{
    struct delivery *delivery = calloc(1, sizeof(*delivery));
    uint64_t due_ns = nic_now() + nic_random_delay();

    if (delivery == NULL) {
        nic_die("no memory for a delivery");
    }
    *delivery = (struct delivery){.header = *header, .body = body, .mr = mr};
    mr->deliveries++;
    if (header->flags & NIC_F_ORDERED) {
        uint64_t *last = &last_placed_ns[header->source];

        due_ns = due_ns < *last ? *last : due_ns;
        *last = due_ns;
    }
    delivery->due_ns = due_ns;
    if (header->kind == NIC_M_READ) {
        delivery_next(delivery, 0, read_event);
        return;
    }
    if (!(header->flags & (NIC_F_FETCH | NIC_F_DELIVERY)) || nic_is_wrong("data-at-delivery")) {
        answer_later(header);
    }
    if (header->kind == NIC_M_AMO) {
        delivery_next(delivery, 0, amo_event);
    } else if (is_relaxed(header, mr)) {
        delivery_next(delivery, 0, count_early_event);
    } else {
        delivery_next(delivery, 0, place_event);
    }
}

/* Takes the body over. */
static void message_arrived(struct nic_header *header, unsigned char *body)
{
    struct nic_ep *ep = header->target_ep < NIC_EPS ? nic.eps[header->target_ep] : NULL;
    struct nic_mr *mr = NULL;
    int rc;

    if (header->kind == NIC_M_REPLY) {
        nic_op_answered(header, body);
        free(body);
        return;
    }
    if (header->kind == NIC_M_SEND && ep != NULL && ep->enabled && !(header->flags & NIC_F_FAIL)) {
        nic_match_message(ep, header, body);
        answer_later(header);
        return;
    }
    rc = delivery_check(header, ep, &mr);
    if (rc != 0) {
        nic_answer(header, rc, NULL, 0);
        free(body);
        return;
    }
    deliver(header, body, mr);
}

void nic_target_cell(const struct nic_cell *cell)
{
    struct inbound *inbound = &inbounds[cell->header.source];

    if (inbound->active && inbound->header.source_generation != cell->header.source_generation) {
        /* The sender died in the middle of a message. */
        free(inbound->body);
        inbound->active = false;
    }
    if (!inbound->active) {
        *inbound = (struct inbound){.header = cell->header, .active = true};
        inbound->body = malloc(cell->header.body > 0 ? cell->header.body : 1);
        if (inbound->body == NULL) {
            nic_die("no memory for a message of %llu bytes", (unsigned long long)cell->header.body);
        }
    }
    memcpy(inbound->body + inbound->got, cell->payload, cell->used);
    inbound->got += cell->used;
    if (inbound->got >= inbound->header.body) {
        inbound->active = false;
        message_arrived(&inbound->header, inbound->body);
    }
}

void nic_target_free_all(void)
{
    for (int slot = 0; slot < NIC_SLOTS; slot++) {
        if (inbounds[slot].active) {
            free(inbounds[slot].body);
            inbounds[slot].active = false;
        }
        last_placed_ns[slot] = 0;
    }
}
