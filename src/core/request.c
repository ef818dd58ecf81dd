/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "request.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "comm.h"
#include "log.h"

atomic_long mpixq_active;

/* Guards the table of handles and the spare records. A leaf: no other lock is taken under it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mpixq_request *table;
/* Freed records, linked by next_member, so that a program that makes and frees requests does not
 * allocate each time. */
static struct mpixq_request *spare;
static unsigned n_spare;
enum { MAX_SPARE = 256 };

#define NEVER (-1)
static const signed char next_state[MPIXQ_N_STATES][MPIXQ_N_EVENTS] = {
    [MPIXQ_UNMATCHED] = {[MPIXQ_MATCH_BEGIN] = MPIXQ_MATCHING,
                         [MPIXQ_MATCH_OK] = NEVER,
                         [MPIXQ_MATCH_FAIL] = NEVER,
                         [MPIXQ_START] = NEVER,
                         [MPIXQ_WAIT] = NEVER,
                         [MPIXQ_DONE] = NEVER,
                         [MPIXQ_FAIL] = NEVER},
    [MPIXQ_MATCHING] = {[MPIXQ_MATCH_BEGIN] = NEVER,
                        [MPIXQ_MATCH_OK] = MPIXQ_MATCHED,
                        [MPIXQ_MATCH_FAIL] = MPIXQ_UNMATCHED,
                        [MPIXQ_START] = NEVER,
                        [MPIXQ_WAIT] = NEVER,
                        [MPIXQ_DONE] = NEVER,
                        [MPIXQ_FAIL] = NEVER},
    [MPIXQ_MATCHED] = {[MPIXQ_MATCH_BEGIN] = NEVER,
                       [MPIXQ_MATCH_OK] = NEVER,
                       [MPIXQ_MATCH_FAIL] = NEVER,
                       [MPIXQ_START] = MPIXQ_STARTED,
                       [MPIXQ_WAIT] = NEVER,
                       [MPIXQ_DONE] = NEVER,
                       [MPIXQ_FAIL] = MPIXQ_FAILED},
    [MPIXQ_STARTED] = {[MPIXQ_MATCH_BEGIN] = NEVER,
                       [MPIXQ_MATCH_OK] = NEVER,
                       [MPIXQ_MATCH_FAIL] = NEVER,
                       [MPIXQ_START] = NEVER,
                       [MPIXQ_WAIT] = MPIXQ_WAITING,
                       [MPIXQ_DONE] = NEVER,
                       [MPIXQ_FAIL] = MPIXQ_FAILED},
    [MPIXQ_WAITING] = {[MPIXQ_MATCH_BEGIN] = NEVER,
                       [MPIXQ_MATCH_OK] = NEVER,
                       [MPIXQ_MATCH_FAIL] = NEVER,
                       [MPIXQ_START] = MPIXQ_STARTED,
                       [MPIXQ_WAIT] = NEVER,
                       [MPIXQ_DONE] = MPIXQ_MATCHED,
                       [MPIXQ_FAIL] = MPIXQ_FAILED},
    [MPIXQ_FAILED] = {[MPIXQ_MATCH_BEGIN] = NEVER,
                      [MPIXQ_MATCH_OK] = NEVER,
                      [MPIXQ_MATCH_FAIL] = NEVER,
                      [MPIXQ_START] = NEVER,
                      [MPIXQ_WAIT] = NEVER,
                      [MPIXQ_DONE] = NEVER,
                      [MPIXQ_FAIL] = MPIXQ_FAILED},
};

static const char *const state_names[MPIXQ_N_STATES] = {
    [MPIXQ_UNMATCHED] = "unmatched", [MPIXQ_MATCHING] = "matching", [MPIXQ_MATCHED] = "matched",
    [MPIXQ_STARTED] = "started",     [MPIXQ_WAITING] = "waiting",   [MPIXQ_FAILED] = "failed",
};

bool mpixq_request_step(struct mpixq_request *req, enum mpixq_event event)
{
    int from = atomic_load_explicit(&req->state, memory_order_acquire), to;

    do {
        to = next_state[from][event];
        if (to == NEVER) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&req->state, &from, to));
    if (from == MPIXQ_UNMATCHED) {
        atomic_fetch_add(&mpixq_active, 1);
    } else if (to == MPIXQ_UNMATCHED) {
        atomic_fetch_sub(&mpixq_active, 1);
    }
    return true;
}

enum mpixq_state mpixq_request_state(const struct mpixq_request *req)
{
    return (enum mpixq_state)atomic_load_explicit(&req->state, memory_order_acquire);
}

const char *mpixq_request_state_name(enum mpixq_state state)
{
    return state_names[state];
}

/* A zeroed record, from the spare ones if there is one. */
static struct mpixq_request *record_new(void)
{
    struct mpixq_request *req;

    pthread_mutex_lock(&lock);
    req = spare;
    if (req != NULL) {
        spare = req->next_member;
        n_spare--;
    }
    pthread_mutex_unlock(&lock);
    if (req != NULL) {
        memset(req, 0, sizeof *req);
        return req;
    }
    return mpixq_alloc(sizeof *req); /* freed in record_recycle */
}

static void record_recycle(struct mpixq_request *req)
{
    pthread_mutex_lock(&lock);
    if (n_spare < MAX_SPARE) {
        req->next_member = spare;
        spare = req;
        n_spare++;
        req = NULL;
    }
    pthread_mutex_unlock(&lock);
    mpixq_free(req);
}

/* Keep the datatype: a derived one may be freed by the user before the request is. */
static bool hold_type(struct mpixq_request *req, MPI_Datatype type)
{
    int n_ints, n_addresses, n_types, combiner;

    if (PMPI_Type_get_envelope(type, &n_ints, &n_addresses, &n_types, &combiner) != MPI_SUCCESS) {
        return false;
    }
    if (combiner == MPI_COMBINER_NAMED) {
        req->type = type;
        return true;
    }
    req->owns_type = PMPI_Type_dup(type, &req->type) == MPI_SUCCESS;
    return req->owns_type;
}

static bool table_add(struct mpixq_request *req)
{
    struct mpixq_request *old;
    bool added;

    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, &req->handle, sizeof req->handle, old);
    if (old != NULL) {
        /* Freed by a call that did not come by us; the handle is a new request's now. */
        HASH_DEL(table, old);
        old->handle = MPI_REQUEST_NULL;
    }
    HASH_ADD(hh, table, handle, sizeof req->handle, req);
    added = mpixq_in_table(req->hh);
    pthread_mutex_unlock(&lock);
    if (old != NULL && mpixq_request_state(old) == MPIXQ_UNMATCHED) {
        mpixq_request_destroy(old);
    }
    return added;
}

void mpixq_request_capture(enum mpixq_mode mode, const void *buffer, MPI_Count count,
                           MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request handle)
{
    struct mpixq_request *req = record_new();

    if (req != NULL) {
        req->handle = handle;
        req->mode = mode;
        req->buffer = buffer;
        req->count = count;
        req->peer = peer;
        req->tag = tag;
        req->comm = mpixq_comm_get(comm);
        if (req->comm != NULL && hold_type(req, type) && table_add(req)) {
            return;
        }
        mpixq_request_destroy(req);
    }
    mpixq_warn("no memory to remember a persistent request: it cannot be matched");
}

struct mpixq_request *mpixq_request_find(MPI_Request handle)
{
    struct mpixq_request *req;

    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, &handle, sizeof handle, req);
    pthread_mutex_unlock(&lock);
    return req;
}

bool mpixq_request_take(MPI_Request handle, struct mpixq_request **req_p)
{
    struct mpixq_request *req;
    bool taken = false;

    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, &handle, sizeof handle, req);
    if (req != NULL && mpixq_request_state(req) == MPIXQ_UNMATCHED) {
        HASH_DEL(table, req);
        req->handle = MPI_REQUEST_NULL;
        taken = true;
    }
    pthread_mutex_unlock(&lock);
    *req_p = req;
    return taken;
}

void mpixq_request_rename(MPI_Request before, MPI_Request after)
{
    struct mpixq_request *req;

    pthread_mutex_lock(&lock);
    HASH_FIND(hh, table, &before, sizeof before, req);
    if (req != NULL) {
        HASH_DEL(table, req);
        memset(&req->hh, 0, sizeof req->hh);
        req->handle = after;
        HASH_ADD(hh, table, handle, sizeof req->handle, req);
    }
    pthread_mutex_unlock(&lock);
}

void mpixq_request_forget(struct mpixq_request *req)
{
    pthread_mutex_lock(&lock);
    if (req->handle != MPI_REQUEST_NULL) {
        HASH_DEL(table, req);
        req->handle = MPI_REQUEST_NULL;
    }
    pthread_mutex_unlock(&lock);
}

void mpixq_request_destroy(struct mpixq_request *req)
{
    if (mpixq_request_state(req) != MPIXQ_UNMATCHED) {
        atomic_fetch_sub(&mpixq_active, 1);
    }
    if (req->owns_type) {
        (void)PMPI_Type_free(&req->type);
    }
    mpixq_comm_put(req->comm);
    record_recycle(req);
}

void mpixq_request_each(void (*visit)(struct mpixq_request *req, void *arg), void *arg)
{
    struct mpixq_request *req, *next;

    pthread_mutex_lock(&lock);
    HASH_ITER(hh, table, req, next)
    {
        visit(req, arg);
    }
    pthread_mutex_unlock(&lock);
}

MPI_Comm mpixq_request_comm(const struct mpixq_request *req)
{
    return mpixq_comm_handle(req->comm);
}

const char *mpixq_request_describe(const struct mpixq_request *req, char *buffer, size_t size)
{
    static const char *const modes[] = {
        [MPIXQ_MODE_SEND] = "send to",
        [MPIXQ_MODE_BSEND] = "buffered send to",
        [MPIXQ_MODE_SSEND] = "synchronous send to",
        [MPIXQ_MODE_RSEND] = "ready send to",
        [MPIXQ_MODE_RECV] = "receive from",
    };

    (void)snprintf(buffer, size, "%s %d tag %d", modes[req->mode], req->peer, req->tag);
    return buffer;
}
