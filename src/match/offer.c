/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "offer.h"

#include <string.h>

#include "util/alloc.h"

struct mpixq_offer {
    struct mpixq_offered offered;
    int source;
    uint32_t bytes;
    unsigned char message[];
};

struct mpixq_offer *mpixq_offer_create(const struct mpixq_record *record, int source)
{
    unsigned char message[MPIXQ_WIRE_MESSAGE_BYTES];
    size_t bytes = MPIXQ_WIRE_HEADER_BYTES;
    struct mpixq_offer *offer;

    mpixq_wire_begin(message);
    (void)mpixq_wire_append(message, &bytes, record); /* one record always fits */
    offer = mpixq_alloc(sizeof *offer + bytes);       /* freed in mpixq_offer_free */
    if (offer != NULL) {
        offer->offered.ident = record->u.offer.ident;
        offer->offered.source = record->u.offer.source;
        offer->offered.tag = record->u.offer.tag;
        offer->source = source;
        offer->bytes = (uint32_t)bytes;
        memcpy(offer->message, message, bytes);
    }
    return offer;
}

void mpixq_offer_free(struct mpixq_offer *offer)
{
    mpixq_free(offer);
}

struct mpixq_offered *mpixq_offer_offered(struct mpixq_offer *offer)
{
    return &offer->offered;
}

struct mpixq_offer *mpixq_offer_of(struct mpixq_offered *offered)
{
    return (struct mpixq_offer *)((char *)offered - offsetof(struct mpixq_offer, offered));
}

int mpixq_offer_read(const struct mpixq_offer *offer, struct mpixq_record *record_p)
{
    size_t at = MPIXQ_WIRE_HEADER_BYTES;

    /* Encoded above: well formed. */
    (void)mpixq_wire_next(offer->message, offer->bytes, &at, record_p);
    return offer->source;
}
