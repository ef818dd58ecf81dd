/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Offers that wait for their receive. There may be as many as a peer has requests, so they are kept
 * as they came, which takes a third of the memory of a decoded record.
 */
#ifndef MPIXQ_OFFER_H
#define MPIXQ_OFFER_H

#include "pairing.h"
#include "wire.h"

struct mpixq_offer;

/* NULL without memory. */
struct mpixq_offer *mpixq_offer_create(const struct mpixq_record *record, int source);
void mpixq_offer_free(struct mpixq_offer *offer);
/* What the pairing keeps of it, and back. */
struct mpixq_offered *mpixq_offer_offered(struct mpixq_offer *offer);
struct mpixq_offer *mpixq_offer_of(struct mpixq_offered *offered);
/* Returns the rank in MPI_COMM_WORLD that sent it. */
int mpixq_offer_read(const struct mpixq_offer *offer, struct mpixq_record *record_p);

#endif
