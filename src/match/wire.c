/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "wire.h"

#include <string.h>

#include "comm/error.h"
#include "core/request.h"

/* "MPXQ" and the version; a peer of other byte order or version is told apart by it. */
#define WIRE_MAGIC (UINT32_C(0x5158504d) + (uint32_t)MPIXQ_WIRE_VERSION)

struct header {
    uint32_t magic, refusal;
};

/* The same in both byte orders. */
#define REFUSAL UINT32_C(0x6e6f6f6e)

struct record_header {
    uint16_t kind, n_blobs;
    uint32_t length; /* of the record with this header */
};

struct blob_header {
    uint32_t channel, length;
};

/* The structs travel as they stand, so they must have no padding. */
_Static_assert(sizeof(struct header) == MPIXQ_WIRE_HEADER_BYTES, "layout");
_Static_assert(sizeof(struct record_header) == 8, "layout");
_Static_assert(sizeof(struct mpixq_wire_offer) == 64, "layout");
_Static_assert(sizeof(struct mpixq_wire_answer) == 40, "layout");
_Static_assert(sizeof(struct mpixq_wire_release) == 16, "layout");
_Static_assert(sizeof(struct mpixq_wire_failure) == 8, "layout");
_Static_assert(sizeof(struct mpixq_wire_withdraw) == 32, "layout");
_Static_assert(sizeof(struct mpixq_wire_hello) == 32, "layout");
_Static_assert(sizeof(struct mpixq_wire_reason) == 104, "layout");
_Static_assert(sizeof(struct mpixq_wire_verdict) == 32, "layout");
_Static_assert(sizeof(struct mpixq_stats) == (17 + 4 * MPIXQ_N_CHANNELS + 2 * MPIXQ_N_WAYS) * 8,
               "layout");
_Static_assert(sizeof(struct mpixq_wire_missed) == 16, "layout");
_Static_assert(sizeof(struct mpixq_wire_trace) == 32, "layout");
_Static_assert(MPIXQ_E_COUNT <= UINT8_MAX, "an error in a byte");
_Static_assert(MPIXQ_N_CHANNELS <= MPIXQ_WIRE_CHANNEL_IDS, "room for a channel");

static size_t body_bytes(unsigned kind)
{
    switch (kind) {
    case MPIXQ_WIRE_OFFER:
        return sizeof(struct mpixq_wire_offer);
    case MPIXQ_WIRE_ANSWER:
        return sizeof(struct mpixq_wire_answer);
    case MPIXQ_WIRE_RELEASE:
        return sizeof(struct mpixq_wire_release);
    case MPIXQ_WIRE_FAILURE:
        return sizeof(struct mpixq_wire_failure);
    case MPIXQ_WIRE_WITHDRAW:
        return sizeof(struct mpixq_wire_withdraw);
    case MPIXQ_WIRE_HELLO:
        return sizeof(struct mpixq_wire_hello);
    case MPIXQ_WIRE_REASON:
        return sizeof(struct mpixq_wire_reason);
    case MPIXQ_WIRE_VERDICT:
        return sizeof(struct mpixq_wire_verdict);
    case MPIXQ_WIRE_STATS:
        return sizeof(struct mpixq_stats);
    case MPIXQ_WIRE_MISSED:
        return sizeof(struct mpixq_wire_missed);
    case MPIXQ_WIRE_TRACE:
        return sizeof(struct mpixq_wire_trace);
    default:
        return 0;
    }
}

static size_t round_up(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

void mpixq_wire_begin(unsigned char *message)
{
    struct header header = {.magic = WIRE_MAGIC};

    memcpy(message, &header, sizeof header);
}

void mpixq_wire_refuse(unsigned char *message)
{
    struct header header = {.magic = WIRE_MAGIC, .refusal = REFUSAL};

    memcpy(message, &header, sizeof header);
}

bool mpixq_wire_append(unsigned char *message, size_t *used_p, const struct mpixq_record *record)
{
    struct record_header head = {.kind = (uint16_t)record->kind,
                                 .n_blobs = (uint16_t)record->n_blobs};
    size_t body = body_bytes(record->kind), length = sizeof head + body;
    unsigned char *to = message + *used_p;

    for (uint32_t i = 0; i < record->n_blobs; i++) {
        length += sizeof(struct blob_header) + round_up(record->blobs[i].length);
    }
    if (*used_p + length > MPIXQ_WIRE_MESSAGE_BYTES) {
        return false;
    }
    head.length = (uint32_t)length;
    memset(to, 0, length);
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, &record->u, body);
    to += sizeof head + body;
    for (uint32_t i = 0; i < record->n_blobs; i++) {
        const struct mpixq_blob *blob = &record->blobs[i];
        struct blob_header blob_head = {.channel = blob->channel, .length = blob->length};

        memcpy(to, &blob_head, sizeof blob_head);
        memcpy(to + sizeof blob_head, blob->bytes, blob->length);
        to += sizeof blob_head + round_up(blob->length);
    }
    *used_p += length;
    return true;
}

enum mpixq_wire_header mpixq_wire_check(const unsigned char *message, size_t bytes)
{
    struct header header;

    if (bytes < sizeof header) {
        return MPIXQ_WIRE_STRANGE;
    }
    memcpy(&header, message, sizeof header);
    if (header.refusal == REFUSAL) {
        return MPIXQ_WIRE_REFUSED;
    }
    return header.magic == WIRE_MAGIC ? MPIXQ_WIRE_READ : MPIXQ_WIRE_STRANGE;
}

/* Decode the blobs, which must fill the record exactly. */
static bool read_blobs(const unsigned char *from, size_t bytes, struct mpixq_record *record)
{
    for (uint32_t i = 0; i < record->n_blobs; i++) {
        struct mpixq_blob *blob = &record->blobs[i];
        struct blob_header head;

        if (bytes < sizeof head) {
            return false;
        }
        memcpy(&head, from, sizeof head);
        bytes -= sizeof head;
        if (head.length > MPIXQ_WIRE_BLOB_BYTES || round_up(head.length) > bytes) {
            return false;
        }
        blob->channel = head.channel;
        blob->length = head.length;
        memcpy(blob->bytes, from + sizeof head, head.length);
        from += sizeof head + round_up(head.length);
        bytes -= round_up(head.length);
    }
    return bytes == 0;
}

static bool is_sane(const struct mpixq_record *record)
{
    const struct mpixq_wire_offer *offer = &record->u.offer;

    switch (record->kind) {
    case MPIXQ_WIRE_OFFER:
        return offer->source >= 0 && offer->source < offer->own_size && offer->dest >= 0 &&
               offer->dest < offer->size && offer->tag >= 0 && offer->mode < MPIXQ_MODE_RECV;
    case MPIXQ_WIRE_ANSWER:
        return record->u.answer.error < MPIXQ_E_COUNT;
    case MPIXQ_WIRE_VERDICT:
        return record->u.verdict.error < MPIXQ_E_COUNT;
    case MPIXQ_WIRE_REASON:
        return record->u.reason.number < MPIXQ_N_REASONS &&
               record->u.reason.length <= MPIXQ_REASON_BYTES;
    case MPIXQ_WIRE_MISSED:
        return record->u.missed.missed.served < MPIXQ_N_CHANNELS &&
               record->u.missed.missed.better < MPIXQ_N_CHANNELS &&
               record->u.missed.missed.reason < MPIXQ_N_REASONS;
    default:
        return true;
    }
}

int mpixq_wire_next(const unsigned char *message, size_t bytes, size_t *at_p,
                    struct mpixq_record *record_p)
{
    struct record_header head;
    size_t left = bytes - *at_p, body;

    if (left == 0) {
        return 0;
    }
    if (left < sizeof head) {
        return -1;
    }
    memcpy(&head, message + *at_p, sizeof head);
    body = body_bytes(head.kind);
    if (body == 0 || head.length > left || head.length < sizeof head + body ||
        head.n_blobs > MPIXQ_WIRE_MAX_CHANNELS) {
        return -1;
    }
    record_p->kind = (enum mpixq_wire_kind)head.kind;
    record_p->n_blobs = head.n_blobs;
    memcpy(&record_p->u, message + *at_p + sizeof head, body);
    if (!read_blobs(message + *at_p + sizeof head + body, head.length - sizeof head - body,
                    record_p) ||
        !is_sane(record_p)) {
        return -1;
    }
    *at_p += head.length;
    return 1;
}
