/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What match.c and match_end.c share, and nobody else uses. All but enter is called under the
 * matching lock.
 */
#ifndef MPIXQ_MATCH_INTERNAL_H
#define MPIXQ_MATCH_INTERNAL_H

#include "match.h"

void mpixq_match_enter(void);
/* Leaves the lock, and completes the Imatch requests that are done. */
void mpixq_match_leave(void);
/* No peer can name the request any more. */
void mpixq_match_id_remove(struct mpixq_request *req);

/* Records that arrive. */
void mpixq_match_record_release(const struct mpixq_record *record, int source);
void mpixq_match_record_failure(const struct mpixq_record *record, int source);

/* Destroy released requests of which nothing is left. */
void mpixq_match_retire(void);
/* The process ends: let go of one end, whatever it is doing. False if MPI still reads its buffer. */
bool mpixq_match_let_go(struct mpixq_request *req);

#endif
