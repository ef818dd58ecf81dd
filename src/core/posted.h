/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A receive that is being matched, as the pairing of offers with receives keeps it; embedded in its
 * request.
 */
#ifndef MPIXQ_POSTED_H
#define MPIXQ_POSTED_H

#include <stdint.h>

#include "util/ident.h"

struct mpixq_bucket;

/* Whoever posts it sets the first block; the rest belongs to the pairing (pairing.h). */
struct mpixq_posted {
    struct mpixq_ident ident;
    int source, tag; /* MPI_ANY_SOURCE, MPI_ANY_TAG allowed */

    uint64_t sequence;
    struct mpixq_bucket *bucket;
    struct mpixq_posted *next, *prev;
};

#endif
