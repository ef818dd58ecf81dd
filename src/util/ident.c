/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "ident.h"

__extension__ typedef unsigned __int128 u128;

bool mpixq_ident_is_none(struct mpixq_ident id)
{
    return id.high == 0 && id.low == 0;
}

bool mpixq_ident_equal(struct mpixq_ident a, struct mpixq_ident b)
{
    return a.high == b.high && a.low == b.low;
}

struct mpixq_ident mpixq_ident_add(struct mpixq_ident id, const void *bytes, size_t n)
{
    const u128 prime = ((u128)1 << 88) + 0x13b; /* of 128-bit FNV */
    u128 hash = ((u128)id.high << 64) | id.low;
    const unsigned char *b = bytes;

    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ b[i]) * prime;
    }
    return (struct mpixq_ident){.high = (uint64_t)(hash >> 64), .low = (uint64_t)hash};
}

struct mpixq_ident mpixq_ident_child(struct mpixq_ident id, uint32_t kind, uint64_t n)
{
    /* FNV's offset basis in front, so that a parent of few bits spreads over all of them. */
    struct mpixq_ident hash = {.high = 0x6c62272e07bb0142, .low = 0x62b821756295c58d};

    hash = mpixq_ident_add(hash, &id, sizeof id);
    hash = mpixq_ident_add(hash, &kind, sizeof kind);
    return mpixq_ident_add(hash, &n, sizeof n);
}
