/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "host.h"

#include <stddef.h>
#include <string.h>

#include "core/channels.h"
#include "core/graphs.h"
#include "host_start.h"
#include "queue/queues.h"
#include "util/alloc.h"

/* The state of a request for the host: one whose wait has completed is given back by its queue
 * first. */
static enum mpixq_state settled_state(struct mpixq_request *req)
{
    if (atomic_load(&req->pair.queue) != NULL) {
        mpixq_queue_settle(req);
    }
    return mpixq_request_state(req);
}

/* One of parts too that is not matched, unless it is a collective that MPI has started by now. */
static bool is_ours(MPI_Request handle)
{
    const struct mpixq_request *req = mpixq_request_find(handle);

    return req != NULL ? mpixq_request_state(req) != MPIXQ_UNMATCHED ||
                             (mpixq_request_is_parted(req) && !req->was_started)
                       : mpixq_match_has_ops();
}

bool mpixq_host_has_any(int count, const MPI_Request requests[])
{
    for (int i = 0; requests != NULL && i < count; i++) {
        if (mpixq_is_noted(requests[i]) && is_ours(requests[i])) {
            return true;
        }
    }
    return false;
}

int mpixq_host_check_cancel(const struct mpixq_call *call, MPI_Request request)
{
    struct mpixq_request *req = mpixq_request_find(request);
    struct mpixq_match_op *op = req == NULL ? mpixq_match_op_find(request) : NULL;
    struct mpixq_fault fault = MPIXQ_FAULT_NONE;
    enum mpixq_error error = MPIXQ_E_NONE;

    if (op != NULL) {
        mpixq_match_op_put(op);
        return mpixq_fault_raise(call, &fault, MPIXQ_E_CANCEL);
    }
    if (req == NULL) {
        return MPI_SUCCESS;
    }
    switch (settled_state(req)) {
    case MPIXQ_UNMATCHED:
        break;
    case MPIXQ_MATCHING:
        error = MPIXQ_E_MATCHING;
        break;
    case MPIXQ_MATCHED:
    case MPIXQ_HOST_STARTED:
        error = MPIXQ_E_CANCEL;
        break;
    case MPIXQ_FAILED:
        error = MPIXQ_E_REQUEST_FAILED;
        break;
    default:
        error = MPIXQ_E_OWNED;
    }
    if (error != MPIXQ_E_NONE) {
        mpixq_fault_at(&fault, 0, req);
    }
    return mpixq_fault_raise(call, &fault, error);
}

/* Watching a call. */

void mpixq_watch_show(struct mpixq_watch *watch)
{
    uint64_t first = 1;

    if (watch->call == 0) {
        watch->call = atomic_fetch_add(&mpixq_host.last_call, 1) + 1;
    }
    for (int i = 0; i < watch->n_ours; i++) {
        bool waits = !watch->ours[i].done && !watch->ours[i].queued;

        atomic_store_explicit(&watch->ours[i].req->host_call, waits ? 2 * watch->call + first : 0,
                              memory_order_release);
        first = waits ? 0 : first;
    }
}

/* The call ends. */
static void hide(struct mpixq_watch *watch)
{
    for (int i = 0; watch->call != 0 && i < watch->n_ours; i++) {
        atomic_store_explicit(&watch->ours[i].req->host_call, 0, memory_order_release);
    }
}

static void watch_end(struct mpixq_watch *watch)
{
    hide(watch);
    for (int i = 0; i < watch->n; i++) {
        mpixq_match_op_put(watch->items[i].op);
    }
    if (watch->items != watch->few) {
        mpixq_free(watch->items);
    }
    if (watch->ours != watch->few_ours) {
        mpixq_free(watch->ours);
    }
    if (watch->rest != watch->few_rest) {
        mpixq_free(watch->rest);
    }
}

/* Room for one more element of size bytes in an array that begins as the few on the stack; count is
 * what it can ever need. NULL without memory. Freed in watch_end. */
static void *make_room(void *array, const void *few, int n, int n_few, int count, size_t size)
{
    void *more;

    if (array != few || n < n_few) {
        return array;
    }
    more = mpixq_alloc((size_t)count * size);
    if (more != NULL) {
        memcpy(more, few, (size_t)n * size);
    }
    return more;
}

#define N_FEW(few) ((int)(sizeof(few) / sizeof(few)[0]))

static enum mpixq_error watch_op(struct mpixq_watch *watch, int count, int index,
                                 struct mpixq_match_op *op)
{
    struct mpixq_watched *items =
        make_room(watch->items, watch->few, watch->n, N_FEW(watch->few), count, sizeof *items);

    if (items == NULL) {
        mpixq_match_op_put(op);
        return MPIXQ_E_NO_MEMORY;
    }
    watch->items = items;
    items[watch->n++] = (struct mpixq_watched){.index = index, .op = op};
    return MPIXQ_E_NONE;
}

static enum mpixq_error watch_ours(struct mpixq_watch *watch, int count, int index,
                                   struct mpixq_request *req, bool queued)
{
    struct mpixq_ours *ours = make_room(watch->ours, watch->few_ours, watch->n_ours,
                                        N_FEW(watch->few_ours), count, sizeof *ours);

    if (ours == NULL) {
        return MPIXQ_E_NO_MEMORY;
    }
    watch->ours = ours;
    ours[watch->n_ours++] = (struct mpixq_ours){.index = index, .req = req, .queued = queued};
    watch->n_queued += queued;
    return MPIXQ_E_NONE;
}

/* An element that is not the null handle. *req_p is its record, if it has one. */
static enum mpixq_error watch_add(struct mpixq_watch *watch, bool needs_all, int count, int index,
                                  MPI_Request handle, struct mpixq_request **req_p)
{
    struct mpixq_request *req = mpixq_request_find(handle);
    struct mpixq_match_op *op;

    *req_p = req;
    if (req == NULL) {
        watch->has_rest = true;
        op = mpixq_match_op_find(handle);
        return op != NULL ? watch_op(watch, count, index, op) : MPIXQ_E_NONE;
    }
    switch (settled_state(req)) {
    case MPIXQ_UNMATCHED:
        watch->has_rest = true;
        return MPIXQ_E_NONE;
    case MPIXQ_MATCHED: /* inactive, and MPI returns at once; or a replay has started it */
        watch->has_rest = true;
        watch->n_hidden += req->is_collective;
        return mpixq_graphs_keep_started(&req->pair) ? MPIXQ_E_REPLAY_ACTIVE : MPIXQ_E_NONE;
    case MPIXQ_HOST_STARTED:
        return watch_ours(watch, count, index, req, false);
    case MPIXQ_WAITING: /* its end is on the way */
        return needs_all ? MPIXQ_E_OWNED : watch_ours(watch, count, index, req, true);
    case MPIXQ_MATCHING:
        return MPIXQ_E_MATCHING;
    case MPIXQ_FAILED:
        return MPIXQ_E_REQUEST_FAILED;
    default:
        return MPIXQ_E_OWNED;
    }
}

/* An inactive collective, or one that has failed, which MPI is not to see. */
static bool is_hidden(MPI_Request handle)
{
    struct mpixq_request *req = mpixq_request_find(handle);

    return req != NULL && req->is_collective && !mpixq_graphs_have_started(&req->pair) &&
           (mpixq_request_state(req) == MPIXQ_MATCHED || mpixq_request_state(req) == MPIXQ_FAILED);
}

static bool hide_collectives(struct mpixq_watch *watch)
{
    MPI_Request in_place = mpixq_host_inactive();

    for (int i = 0; watch->n_hidden > 0 && i < watch->count; i++) {
        if (is_hidden(watch->requests[i])) {
            watch->rest[i] = in_place;
        }
    }
    return watch->n_hidden == 0 || in_place != MPI_REQUEST_NULL;
}

/* What MPI gets in place of the array. */
static enum mpixq_error watch_rest(struct mpixq_watch *watch, int count,
                                   const MPI_Request requests[])
{
    if (count > N_FEW(watch->few_rest) && watch->rest == watch->few_rest) {
        watch->rest = mpixq_alloc((size_t)count * sizeof *watch->rest); /* freed in watch_end */
    }
    if (watch->rest == NULL) {
        return MPIXQ_E_NO_MEMORY;
    }
    memcpy(watch->rest, requests, (size_t)count * sizeof *requests);
    for (int i = 0; i < watch->n_ours; i++) {
        watch->rest[watch->ours[i].index] = MPI_REQUEST_NULL;
    }
    return hide_collectives(watch) ? MPIXQ_E_NONE : MPIXQ_E_NO_MEMORY;
}

int mpixq_host_begin(struct mpixq_watch *watch, const struct mpixq_call *call, bool needs_all,
                     int count, MPI_Request requests[])
{
    struct mpixq_fault fault = MPIXQ_FAULT_NONE;
    enum mpixq_error error = MPIXQ_E_NONE;
    struct mpixq_request *req = NULL;

    watch->function = call;
    watch->n = watch->n_ours = watch->n_queued = watch->n_hidden = 0;
    watch->count = count;
    watch->requests = requests;
    watch->call = 0;
    watch->items = watch->few;
    watch->ours = watch->few_ours;
    watch->rest = watch->few_rest;
    watch->failed = watch->has_rest = watch->copies_back = false;
    mpixq_backoff_begin(&watch->backoff);
    for (int i = 0; error == MPIXQ_E_NONE && requests != NULL && i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL) {
            error = watch_add(watch, needs_all, count, i, requests[i], &req);
            if (error != MPIXQ_E_NONE && req != NULL) {
                mpixq_fault_at(&fault, i, req);
            }
        }
    }
    watch->backoff.moves |= watch->n_ours > 0;
    if (error == MPIXQ_E_NONE && watch->n_ours + watch->n_hidden > 0 && watch->has_rest) {
        error = watch_rest(watch, count, requests);
    }
    if (error != MPIXQ_E_NONE) {
        watch_end(watch);
        return mpixq_fault_raise(call, &fault, error);
    }
    mpixq_host_reap();
    mpixq_match_open_in(watch->n > 0);
    mpixq_match_advance();
    mpixq_host_drive();
    return MPI_SUCCESS;
}

int mpixq_host_refuse_queued(const struct mpixq_watch *watch)
{
    struct mpixq_fault fault = MPIXQ_FAULT_NONE;
    int i = 0;

    while (!watch->ours[i].queued) {
        i++;
    }
    mpixq_fault_at(&fault, watch->ours[i].index, watch->ours[i].req);
    return mpixq_fault_raise(watch->function, &fault, MPIXQ_E_OWNED);
}

int mpixq_host_set_apart(struct mpixq_watch *watch, int count, MPI_Request requests[])
{
    return mpixq_fault_raise(watch->function, &MPIXQ_FAULT_NONE,
                             watch_rest(watch, count, requests));
}

bool mpixq_host_again(struct mpixq_watch *watch, int rc, bool done)
{
    if (rc != MPI_SUCCESS || done || (watch->n == 0 && !mpixq_match_is_pending())) {
        return false;
    }
    mpixq_match_open_in(watch->n > 0);
    mpixq_match_kick();
    mpixq_host_drive();
    mpixq_backoff_pause(&watch->backoff);
    return true;
}

MPI_Request *mpixq_host_for_mpi(struct mpixq_watch *watch)
{
    watch->copies_back = watch->n_hidden > 0;
    return watch->copies_back ? watch->rest : watch->requests;
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

/* A match may have left something to this thread. */
static void end_matches(struct mpixq_watch *watch)
{
    bool any = watch->n > 0;

    if (watch->copies_back) {
        MPI_Request in_place = mpixq_host_inactive();

        for (int i = 0; i < watch->count; i++) {
            if (watch->rest[i] != in_place) {
                watch->requests[i] = watch->rest[i];
            }
        }
    }
    watch_end(watch);
    if (any) {
        mpixq_channels_expose(NULL);
    }
}

int mpixq_host_end_one(struct mpixq_watch *watch, int rc, int index)
{
    struct mpixq_match_op *op = failed_op(watch, index);

    if (rc == MPI_SUCCESS && op != NULL) {
        rc = mpixq_error_raise(mpixq_match_op_comm(op), mpixq_match_op_code(op));
    }
    end_matches(watch);
    return rc;
}

int mpixq_host_end_some(struct mpixq_watch *watch, int rc, int n, const int indices[],
                        MPI_Status statuses[])
{
    MPI_Comm comm = MPI_COMM_NULL;
    bool failed = false;

    for (int i = 0; watch->n > 0 && i < n && (rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS); i++) {
        struct mpixq_match_op *op = failed_op(watch, indices != NULL ? indices[i] : i);

        if (op != NULL && statuses != MPI_STATUSES_IGNORE && rc == MPI_ERR_IN_STATUS &&
            statuses[i].MPI_ERROR == MPI_ERR_PENDING) {
            continue; /* another element has failed first */
        }
        if (op != NULL && !failed) {
            failed = true;
            comm = mpixq_match_op_comm(op);
        }
        if (statuses != MPI_STATUSES_IGNORE && rc == MPI_SUCCESS) {
            statuses[i].MPI_ERROR = MPI_SUCCESS;
        }
        if (statuses != MPI_STATUSES_IGNORE && op != NULL) {
            statuses[i].MPI_ERROR = mpixq_match_op_code(op);
        }
    }
    end_matches(watch);
    return failed && rc == MPI_SUCCESS ? mpixq_error_raise(comm, MPI_ERR_IN_STATUS) : rc;
}

/* Status. */

int mpixq_host_get_status(const struct mpixq_call *call, MPI_Request *handle_p, int *flag,
                          MPI_Status *status, bool *ask_p)
{
    struct mpixq_fault fault;
    struct mpixq_request *req = mpixq_request_find(*handle_p);
    enum mpixq_state state = req != NULL ? settled_state(req) : MPIXQ_UNMATCHED;
    int code = MPI_SUCCESS;

    if (req != NULL) {
        mpixq_graphs_refresh(&req->pair);
    }
    /* Completed by the host: it is inactive, as MPI has it. */
    if (is_hidden(*handle_p)) {
        *handle_p = mpixq_host_inactive();
        return MPI_SUCCESS;
    }
    *ask_p = req == NULL || mpixq_pair_started(&req->pair) == 0 || req->pair.channel == NULL ||
             state == MPIXQ_FAILED || (state == MPIXQ_MATCHED && mpixq_pair_is_by_host(&req->pair));
    if (*ask_p) {
        return MPI_SUCCESS;
    }
    if (state == MPIXQ_HOST_STARTED) {
        *flag = mpixq_host_is_done(req);
        code = *flag ? mpixq_host_result(req) : MPI_SUCCESS;
        if (!*flag) {
            mpixq_host_missed();
        }
    } else {
        *flag = req->pair.channel->poll(&req->pair);
    }
    if (*flag && code == MPI_SUCCESS) {
        mpixq_host_write_status(req, status);
    }
    if (code != MPI_SUCCESS) {
        mpixq_fault_at(&fault, 0, req);
        code = mpixq_fault_raise_code(call, &fault, code);
    }
    return code;
}
