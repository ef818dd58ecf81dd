/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "host.h"

#include <stddef.h>

#include "alloc.h"
#include "channel.h"
#include "progress.h"
#include "queue.h"

/* The state of a request for the host: one whose wait has completed is given back by its queue
 * first. */
static enum mpixq_state settled_state(struct mpixq_request *req)
{
    mpixq_queue_settle(req);
    return mpixq_request_state(req);
}

static enum mpixq_error check_one_start(struct mpixq_request *req)
{
    switch (settled_state(req)) {
    case MPIXQ_UNMATCHED:
        return MPIXQ_E_NONE;
    case MPIXQ_MATCHING:
        return MPIXQ_E_MATCHING;
    case MPIXQ_MATCHED:
        return MPIXQ_E_HOST_START;
    case MPIXQ_FAILED:
        return MPIXQ_E_REQUEST_FAILED;
    default:
        return MPIXQ_E_OWNED;
    }
}

static enum mpixq_error check_one_complete(struct mpixq_request *req)
{
    switch (settled_state(req)) {
    case MPIXQ_UNMATCHED:
    case MPIXQ_MATCHED: /* inactive: MPI returns at once */
        return MPIXQ_E_NONE;
    case MPIXQ_MATCHING:
        return MPIXQ_E_MATCHING;
    case MPIXQ_FAILED:
        return MPIXQ_E_REQUEST_FAILED;
    default:
        return MPIXQ_E_OWNED;
    }
}

static enum mpixq_error check_one_cancel(struct mpixq_request *req)
{
    enum mpixq_error error = check_one_start(req);

    return error == MPIXQ_E_HOST_START ? MPIXQ_E_CANCEL : error;
}

static int check_all(int count, MPI_Request requests[],
                     enum mpixq_error (*check)(struct mpixq_request *))
{
    for (int i = 0; requests != NULL && i < count; i++) {
        struct mpixq_request *req =
            requests[i] != MPI_REQUEST_NULL ? mpixq_request_find(requests[i]) : NULL;
        enum mpixq_error error = req != NULL ? check(req) : MPIXQ_E_NONE;

        if (error != MPIXQ_E_NONE) {
            return mpixq_error_raise(mpixq_request_comm(req), mpixq_error_code(error));
        }
    }
    return MPI_SUCCESS;
}

int mpixq_host_check_start(int count, MPI_Request requests[])
{
    return check_all(count, requests, check_one_start);
}

int mpixq_host_check_complete(int count, MPI_Request requests[])
{
    return check_all(count, requests, check_one_complete);
}

int mpixq_host_check_cancel(MPI_Request request)
{
    struct mpixq_match_op *op = mpixq_match_op_find(request);

    if (op != NULL) {
        mpixq_match_op_put(op);
        return mpixq_error_raise(MPI_COMM_NULL, mpixq_error_code(MPIXQ_E_CANCEL));
    }
    return check_all(1, &request, check_one_cancel);
}

/* Watching the requests of Imatch. */

static void watch_end(struct mpixq_watch *watch)
{
    for (int i = 0; i < watch->n; i++) {
        mpixq_match_op_put(watch->items[i].op);
    }
    if (watch->items != watch->few) {
        mpixq_free(watch->items);
    }
}

static bool watch_add(struct mpixq_watch *watch, int count, int index, struct mpixq_match_op *op)
{
    const int n_few = (int)(sizeof watch->few / sizeof watch->few[0]);

    if (watch->n == n_few && watch->items == watch->few) {
        /* Freed in watch_end. */
        struct mpixq_watched *items = mpixq_alloc((size_t)count * sizeof *items);

        if (items == NULL) {
            return false;
        }
        for (int i = 0; i < n_few; i++) {
            items[i] = watch->few[i];
        }
        watch->items = items;
    }
    watch->items[watch->n++] = (struct mpixq_watched){.index = index, .op = op};
    return true;
}

int mpixq_host_begin(struct mpixq_watch *watch, int count, MPI_Request requests[])
{
    int rc = mpixq_host_check_complete(count, requests);

    watch->n = 0;
    watch->items = watch->few;
    mpixq_backoff_begin(&watch->backoff);
    for (int i = 0; rc == MPI_SUCCESS && requests != NULL && i < count; i++) {
        struct mpixq_match_op *op =
            requests[i] != MPI_REQUEST_NULL ? mpixq_match_op_find(requests[i]) : NULL;

        if (op != NULL && !watch_add(watch, count, i, op)) {
            mpixq_match_op_put(op);
            rc = mpixq_error_raise(MPI_COMM_NULL, mpixq_error_code(MPIXQ_E_NO_MEMORY));
        }
    }
    if (rc != MPI_SUCCESS) {
        watch_end(watch);
        return rc;
    }
    mpixq_match_advance();
    return MPI_SUCCESS;
}

bool mpixq_host_again(struct mpixq_watch *watch, int rc, bool done)
{
    if (rc != MPI_SUCCESS || done || (watch->n == 0 && !mpixq_match_is_pending())) {
        return false;
    }
    mpixq_match_kick();
    mpixq_backoff_pause(&watch->backoff);
    return true;
}

static struct mpixq_match_op *failed_op(const struct mpixq_watch *watch, int index)
{
    for (int i = 0; i < watch->n; i++) {
        struct mpixq_match_op *op = watch->items[i].op;

        if (watch->items[i].index == index) {
            return mpixq_match_op_is_complete(op) && op->error != MPIXQ_E_NONE ? op : NULL;
        }
    }
    return NULL;
}

int mpixq_host_end_one(struct mpixq_watch *watch, int rc, int index)
{
    struct mpixq_match_op *op = failed_op(watch, index);

    if (rc == MPI_SUCCESS && op != NULL) {
        rc = mpixq_error_raise(mpixq_match_op_comm(op), mpixq_error_code(op->error));
    }
    watch_end(watch);
    return rc;
}

int mpixq_host_end_some(struct mpixq_watch *watch, int rc, int n, const int indices[],
                        MPI_Status statuses[])
{
    MPI_Comm comm = MPI_COMM_NULL;
    bool failed = false;

    if (watch->n == 0) {
        return rc;
    }
    for (int i = 0; i < n && (rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS); i++) {
        struct mpixq_match_op *op = failed_op(watch, indices != NULL ? indices[i] : i);

        if (op != NULL && !failed) {
            failed = true;
            comm = mpixq_match_op_comm(op);
        }
        if (statuses != MPI_STATUSES_IGNORE && rc == MPI_SUCCESS) {
            statuses[i].MPI_ERROR = MPI_SUCCESS;
        }
        if (statuses != MPI_STATUSES_IGNORE && op != NULL) {
            statuses[i].MPI_ERROR = mpixq_error_code(op->error);
        }
    }
    watch_end(watch);
    return failed && rc == MPI_SUCCESS ? mpixq_error_raise(comm, MPI_ERR_IN_STATUS) : rc;
}

/* Freeing. */

static enum mpixq_error check_one_free(struct mpixq_request *req)
{
    switch (settled_state(req)) {
    case MPIXQ_MATCHING:
        return MPIXQ_E_MATCHING;
    case MPIXQ_STARTED:
    case MPIXQ_WAITING:
        return MPIXQ_E_OWNED;
    default:
        return MPIXQ_E_NONE;
    }
}

int mpixq_host_free(MPI_Request handle, struct mpixq_request *req)
{
    struct mpixq_match_op *op;
    enum mpixq_error error;

    if (req != NULL) {
        error = check_one_free(req);
        if (error != MPIXQ_E_NONE) {
            return mpixq_error_raise(mpixq_request_comm(req), mpixq_error_code(error));
        }
        mpixq_request_forget(req);
        return MPI_SUCCESS;
    }
    op = mpixq_host_must_look() ? mpixq_match_op_find(handle) : NULL;
    if (op != NULL) {
        mpixq_match_op_forget(op);
        mpixq_match_op_put(op);
    }
    return MPI_SUCCESS;
}

void mpixq_host_freed(struct mpixq_request *req)
{
    if (req != NULL) {
        mpixq_match_release(req);
    }
}

/* Status. */

bool mpixq_host_get_status(MPI_Request handle, int *flag, MPI_Status *status)
{
    struct mpixq_request *req = handle != MPI_REQUEST_NULL ? mpixq_request_find(handle) : NULL;

    if (req == NULL || req->epoch == 0 || req->channel == NULL ||
        settled_state(req) == MPIXQ_FAILED) {
        return false;
    }
    *flag = req->channel->poll(req);
    if (*flag && status != MPI_STATUS_IGNORE) {
        status->MPI_SOURCE = req->source;
        status->MPI_TAG = req->source_tag;
        (void)PMPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count)req->bytes);
        (void)PMPI_Status_set_cancelled(status, 0);
    }
    return true;
}
