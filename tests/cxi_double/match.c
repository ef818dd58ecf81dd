/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * match.c - messages and receives find each other, in the order of both
 *
 * The engine matches; software counts and reports, when it next reads (nic_ep_progress).
 */
#include "double.h"

#include <stdlib.h>
#include <string.h>

struct nic_unexpected {
    struct nic_unexpected *next;
    struct nic_header header;
    void *body;
};

static fi_addr_t source_of(const struct nic_ep *ep, const struct nic_header *header)
{
    struct nic_address address = {
        .slot = header->source, .generation = header->source_generation, .ep = header->source_ep};

    return ep->av == NULL ? FI_ADDR_NOTAVAIL : nic_av_find(ep->av, &address);
}

static bool fits(const struct nic_ep *ep, const struct nic_receive *receive,
                 const struct nic_header *header)
{
    bool tagged = (header->flags & NIC_F_TAGGED) != 0;

    if (tagged != receive->tagged || ((header->tag ^ receive->tag) & ~receive->ignore) != 0) {
        return false;
    }
    return !(ep->caps & FI_DIRECTED_RECV) || receive->source == FI_ADDR_UNSPEC ||
           receive->source == source_of(ep, header);
}

/* Takes the body over. */
static void complete(struct nic_ep *ep, struct nic_receive *receive,
                     const struct nic_header *header, void *body)
{
    receive->got = header->length < receive->length ? header->length : receive->length;
    if (receive->got > 0) {
        memcpy(receive->buffer, body, receive->got);
    }
    free(body);
    receive->rc = header->length > receive->length ? FI_ETRUNC : 0;
    receive->data = header->data;
    receive->has_data = (header->flags & NIC_F_DATA) != 0;
    receive->tag = header->tag;
    receive->source = source_of(ep, header);
    if (receive->deferred && receive->cntr != NULL) {
        nic_cntr_add(receive->cntr, receive->rc == 0 ? 1 : 0, receive->rc == 0 ? 0 : 1);
    }
    receive->next = NULL;
    *ep->matched_end = receive;
    ep->matched_end = &receive->next;
}

void nic_match_message(struct nic_ep *ep, const struct nic_header *header, void *body)
{
    struct nic_receive **place = &ep->posted;
    struct nic_unexpected **end = &ep->unexpected, *unexpected;

    while (*place != NULL && !fits(ep, *place, header)) {
        place = &(*place)->next;
    }
    if (*place != NULL) {
        struct nic_receive *receive = *place;

        *place = receive->next;
        complete(ep, receive, header, body);
        return;
    }
    unexpected = calloc(1, sizeof(*unexpected));
    if (unexpected == NULL) {
        nic_die("no memory for an unexpected message");
    }
    unexpected->header = *header;
    unexpected->body = body;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = unexpected;
}

/* Takes the receive over. */
int nic_match_post(struct nic_ep *ep, struct nic_receive *receive)
{
    struct nic_unexpected **place = &ep->unexpected;
    struct nic_receive **end = &ep->posted;

    while (*place != NULL && !fits(ep, receive, &(*place)->header)) {
        place = &(*place)->next;
    }
    if (*place != NULL) {
        struct nic_unexpected *unexpected = *place;

        *place = unexpected->next;
        complete(ep, receive, &unexpected->header, unexpected->body);
        free(unexpected);
        return 0;
    }
    receive->next = NULL;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = receive;
    return 0;
}

int nic_match_cancel(struct nic_ep *ep, void *context)
{
    struct nic_receive **place = &ep->posted;

    while (*place != NULL && (*place)->context != context) {
        place = &(*place)->next;
    }
    if (*place == NULL) {
        return -FI_ENOENT;
    }
    struct nic_receive *receive = *place;

    *place = receive->next;
    receive->rc = FI_ECANCELED;
    receive->next = NULL;
    *ep->matched_end = receive;
    ep->matched_end = &receive->next;
    return 0;
}

void nic_match_free_all(struct nic_ep *ep)
{
    while (ep->posted != NULL) {
        struct nic_receive *receive = ep->posted;

        ep->posted = receive->next;
        free(receive);
    }
    while (ep->matched != NULL) {
        struct nic_receive *receive = ep->matched;

        ep->matched = receive->next;
        free(receive);
    }
    while (ep->unexpected != NULL) {
        struct nic_unexpected *unexpected = ep->unexpected;

        ep->unexpected = unexpected->next;
        free(unexpected->body);
        free(unexpected);
    }
}
