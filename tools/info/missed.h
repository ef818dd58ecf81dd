/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * missed.h - which channels come before the one that serves; for mpixq_info and mpixq_selftest
 */
#ifndef MISSED_H
#define MISSED_H

#include <stdbool.h>
#include <stdint.h>

struct mpixq_request;

/* Best first, where the user says nothing else. */
enum { N_USUAL = 4 };
extern const uint32_t usual[N_USUAL];

/* Does it come before what serves? What the user has left out usually does, or does not. */
bool is_missed(const struct mpixq_request *req, uint32_t id);

#endif
