/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What match.c and match_end.c share, and nobody else uses. All but enter and destroy is called
 * under the matching lock.
 */
#ifndef MPIXQ_MATCH_INTERNAL_H
#define MPIXQ_MATCH_INTERNAL_H

#include "match.h"

void mpixq_match_enter(void);
/* Leaves the lock, completes the Imatch requests that are done and destroys what is retired. */
void mpixq_match_leave(void);
/* No peer can name the request any more. */
void mpixq_match_id_remove(struct mpixq_request *req);

/* Records that arrive. */
void mpixq_match_record_release(const struct mpixq_record *record, int source);
void mpixq_match_record_failure(const struct mpixq_record *record, int source);

/* Find the released requests of which nothing is left. mpixq_match_leave takes and destroys them once
 * the lock is left: a datatype may go with one, and the user's callbacks for its attributes run
 * then. */
void mpixq_match_retire(void);
struct mpixq_request *mpixq_match_take_retired(void);
void mpixq_match_destroy(struct mpixq_request *list);
/* The process ends: let go of one end, whatever it is doing. False if MPI still reads its buffer. */
bool mpixq_match_let_go(struct mpixq_request *req);

#endif
