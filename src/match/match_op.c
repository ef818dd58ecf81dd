/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What comes before and around matching proper: the checks of its arguments, and the ops that
 * stand for a call of Match or Imatch. */
#include "match.h"

#include <string.h>

#include "comm/comm.h"
#include "stream/stream.h"
#include "util/alloc.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/noted.h"

/* Handles of Imatch. The lock, which is a leaf, guards the table. */
static struct {
    struct mpixq_lock lock;
    struct mpixq_match_op *table;
    atomic_long n;              /* written under the lock */
    _Atomic uint64_t last_mark; /* of a check; without the lock */
} ops = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_MATCH_OPS)};

/* MPI cannot be asked whether a persistent request is active. Its status tells: flag 0 while it
 * is under way, and afterwards anything but the empty status that an inactive request has;
 * where MPI leaves the status of a send alone, the source that was put there first is still
 * there. */
static bool is_active(MPI_Request handle)
{
    enum { UNTOUCHED = -4711 };
    MPI_Status status = {.MPI_SOURCE = UNTOUCHED};
    int flag = 0;

    if (PMPI_Request_get_status(handle, &flag, &status) != MPI_SUCCESS || !flag) {
        return true;
    }
    return status.MPI_SOURCE != MPI_ANY_SOURCE;
}

static enum mpixq_error check_state(const struct mpixq_request *req)
{
    switch (mpixq_request_state(req)) {
    case MPIXQ_UNMATCHED:
        /* Of a collective that was never started MPICH says what it says of an active one. */
        return (!req->is_collective || req->was_started) && is_active(req->handle) ? MPIXQ_E_ACTIVE
                                                                                   : MPIXQ_E_NONE;
    case MPIXQ_MATCHING:
        return MPIXQ_E_MATCHING;
    default:
        return MPIXQ_E_ALREADY_MATCHED;
    }
}

static enum mpixq_error check_one(const struct mpixq_request *req)
{
    struct mpixq_comm_view view;
    enum mpixq_error error = check_state(req);

    if (error != MPIXQ_E_NONE || (req->peer == MPI_PROC_NULL && !req->is_collective)) {
        return error;
    }
    mpixq_comm_view(req->comm, &view);
    if (mpixq_ident_is_none(view.ident)) {
        return MPIXQ_E_NO_IDENTITY;
    }
    if (req->peer != MPI_ANY_SOURCE && !req->is_collective &&
        mpixq_comm_world_rank(req->comm, req->peer) == MPI_UNDEFINED) {
        return MPIXQ_E_FOREIGN_PEER;
    }
    return MPIXQ_E_NONE;
}

enum mpixq_error mpixq_match_check(int count, MPI_Request requests[],
                                   struct mpixq_request **records, int *n_p,
                                   struct mpixq_fault *fault_p)
{
    uint64_t mark = atomic_fetch_add(&ops.last_mark, 1) + 1;

    *n_p = 0;
    for (int i = 0; i < count; i++) {
        struct mpixq_request *req;
        enum mpixq_error error;

        if (requests[i] == MPI_REQUEST_NULL) {
            continue;
        }
        req = mpixq_request_find(requests[i]);
        if (req == NULL) {
            mpixq_fault_at(fault_p, i, NULL);
            return MPIXQ_E_UNKNOWN_REQUEST;
        }
        error = check_one(req);
        if (error == MPIXQ_E_NONE && req->match_mark == mark) {
            error = MPIXQ_E_TWICE;
        }
        if (error != MPIXQ_E_NONE) {
            mpixq_fault_at(fault_p, i, req);
            return error;
        }
        req->match_mark = mark;
        req->op_index = i;
        records[(*n_p)++] = req;
    }
    return MPIXQ_E_NONE;
}

/* Ops. */

void mpixq_match_op_init(struct mpixq_match_op *op, const struct mpixq_call *call)
{
    memset(op, 0, sizeof *op);
    op->call = call;
    op->handle = MPI_REQUEST_NULL;
}

void mpixq_match_op_end(struct mpixq_match_op *op)
{
    mpixq_comm_put(op->error_comm);
    op->error_comm = NULL;
    mpixq_streams_look_again();
}

MPI_Comm mpixq_match_op_comm(const struct mpixq_match_op *op)
{
    return mpixq_comm_handle(op->error_comm);
}

int mpixq_match_op_code(const struct mpixq_match_op *op)
{
    struct mpixq_fault fault = op->fault;

    fault.comm = mpixq_match_op_comm(op);
    return op->error != MPIXQ_E_NONE ? mpixq_fault_code(op->call, &fault, op->error) : MPI_SUCCESS;
}

static int grequest_query(void *state, MPI_Status *status)
{
    (void)state;
    (void)PMPI_Status_set_elements(status, MPI_BYTE, 0);
    (void)PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    /* Never an error: MPI would give it to the handler of MPI_COMM_WORLD. The interposed Wait and
     * Test functions report a match that failed. */
    return MPI_SUCCESS;
}

static int grequest_free(void *state)
{
    mpixq_match_op_forget(state);
    mpixq_match_op_put(state);
    return MPI_SUCCESS;
}

static int grequest_cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

struct mpixq_match_op *mpixq_match_op_create(const struct mpixq_call *call, int *rc_p)
{
    struct mpixq_match_op *op = mpixq_alloc(sizeof *op); /* freed in mpixq_match_op_put */

    if (op == NULL) {
        *rc_p = mpixq_fault_raise(call, &MPIXQ_FAULT_NONE, MPIXQ_E_NO_MEMORY);
        return NULL;
    }
    mpixq_match_op_init(op, call);
    /* One reference for the handle, one for whoever completes it. */
    atomic_init(&op->references, 2);
    op->has_handle = true;
    *rc_p = PMPI_Grequest_start(grequest_query, grequest_free, grequest_cancel, op, &op->handle);
    if (*rc_p != MPI_SUCCESS) {
        mpixq_free(op);
        return NULL;
    }
    mpixq_lock_acquire(&ops.lock);
    HASH_ADD(hh, ops.table, handle, sizeof op->handle, op);
    op->note = mpixq_noted_add(op->handle);
    atomic_fetch_add(&ops.n, 1);
    mpixq_lock_release(&ops.lock);
    atomic_fetch_add(&mpixq_requests.active, 1);
    return op;
}

bool mpixq_match_has_ops(void)
{
    return atomic_load(&ops.n) != 0;
}

struct mpixq_match_op *mpixq_match_op_find(MPI_Request handle)
{
    struct mpixq_match_op *op;

    if (!mpixq_match_has_ops()) {
        return NULL;
    }
    mpixq_lock_acquire(&ops.lock);
    HASH_FIND(hh, ops.table, &handle, sizeof handle, op);
    if (op != NULL) {
        atomic_fetch_add(&op->references, 1);
    }
    mpixq_lock_release(&ops.lock);
    return op;
}

void mpixq_match_op_forget(struct mpixq_match_op *op)
{
    mpixq_lock_acquire(&ops.lock);
    if (mpixq_in_table(op->hh)) {
        HASH_DEL(ops.table, op);
        mpixq_noted_remove(op->note);
        atomic_fetch_sub(&ops.n, 1);
        memset(&op->hh, 0, sizeof op->hh);
    }
    mpixq_lock_release(&ops.lock);
}

void mpixq_match_op_put(struct mpixq_match_op *op)
{
    if (atomic_fetch_sub(&op->references, 1) == 1) {
        atomic_fetch_sub(&mpixq_requests.active, 1);
        mpixq_match_op_end(op);
        mpixq_free(op);
    }
}
