/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The table of request records by MPI handle. Looking up takes no lock: each start, wait and
 * interposed call does it, on any thread. So a record may be looked at by a thread that walks
 * past while another takes it out; its memory must stay a record's until the process ends.
 *
 * Adding and removing need the exclusion of the caller.
 */
#ifndef MPIXQ_HANDLES_H
#define MPIXQ_HANDLES_H

#include "request.h"

/* Any thread, without a lock. The record with this handle, or NULL. */
struct mpixq_request *mpixq_handles_find(MPI_Request handle);
/* Does this record, which may be in the table or not, have the handle? Then it is the one. */
static inline bool mpixq_handles_is(const struct mpixq_request *req, MPI_Request handle)
{
    return atomic_load_explicit(&req->handle, memory_order_acquire) == handle;
}
/* No record in the table has this one's handle. */
void mpixq_handles_add(struct mpixq_request *req, MPI_Request handle);
/* The record is in the table; its handle is MPI_REQUEST_NULL then. */
void mpixq_handles_remove(struct mpixq_request *req);
/* Call visit for each record; it may remove the record it is given. */
void mpixq_handles_each(void (*visit)(struct mpixq_request *req, void *arg), void *arg);
/* When no other thread looks anything up any more: back to an empty table. */
void mpixq_handles_close(void);

#endif
