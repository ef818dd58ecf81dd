/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * 128-bit identities, made by hashing (FNV-1a), equal on all processes that hash the same values.
 */
#ifndef MPIXQ_IDENT_H
#define MPIXQ_IDENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: no identity. */
struct mpixq_ident {
    uint64_t high, low;
};

bool mpixq_ident_is_none(struct mpixq_ident id);
bool mpixq_ident_equal(struct mpixq_ident a, struct mpixq_ident b);
/* Hash more bytes into an identity; start from one that says what is being hashed. */
struct mpixq_ident mpixq_ident_add(struct mpixq_ident id, const void *bytes, size_t n);
/* The identity of the n-th child of id; kind keeps different ways of making children apart. */
struct mpixq_ident mpixq_ident_child(struct mpixq_ident id, uint32_t kind, uint64_t n);

#endif
