/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
/* Handles are short and well spread already: a cheap hash and comparison for the one table here. */
#define HASH_FUNCTION(key, length, hash) (hash) = hash_handle(key)
#define HASH_KEYCMP(a, b, length) compare_handles(a, b)

#include "request.h"

#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "comm.h"
#include "log.h"
#include "thread.h"

atomic_long mpixq_active;
atomic_long mpixq_buffered;

static inline unsigned hash_handle(const void *key)
{
    MPI_Request handle;

    memcpy(&handle, key, sizeof handle);
    return (unsigned)(((uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static inline int compare_handles(const void *a, const void *b)
{
    MPI_Request first, second;

    memcpy(&first, a, sizeof first);
    memcpy(&second, b, sizeof second);
    return first != second;
}

/* Guards the table of handles and the spare records. A leaf: no other lock is taken under it. */
static struct mpixq_spin lock = MPIXQ_SPIN_INITIALIZER;
static struct mpixq_request *table;
/* Always in the table: an empty one would be freed and made again each time. */
static struct mpixq_request anchor = {.handle = MPI_REQUEST_NULL};
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
        req->was_matching = true;
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

/* Under the lock. Returns what is left to be freed. A spare record is as good as a new one:
 * what capture does not write is zero. */
static struct mpixq_request *record_recycle(struct mpixq_request *req)
{
    if (n_spare == MAX_SPARE) {
        return req;
    }
    if (req->was_matching) {
        memset(req, 0, sizeof *req);
    }
    req->next_member = spare;
    spare = req;
    n_spare++;
    return NULL;
}

/* Keep the datatype: a derived one may be freed by the user before the request is. */
static bool hold_type(struct mpixq_type *type)
{
    /* The last predefined type that was seen: those are never freed, and programs use few. */
    static MPIXQ_THREAD_LOCAL MPI_Datatype known = MPI_DATATYPE_NULL;
    int n_ints, n_addresses, n_types, combiner;
    MPI_Datatype users = type->handle;

    if (users == known) {
        return true;
    }
    if (PMPI_Type_get_envelope(users, &n_ints, &n_addresses, &n_types, &combiner) != MPI_SUCCESS) {
        return false;
    }
    if (combiner == MPI_COMBINER_NAMED) {
        known = users;
        return true;
    }
    /* Not MPI_Type_dup, which copies attributes too: the user's callbacks would run here, and for
     * the copy again when we free it. */
    type->is_ours = PMPI_Type_contiguous(1, users, &type->handle) == MPI_SUCCESS;
    return type->is_ours && PMPI_Type_commit(&type->handle) == MPI_SUCCESS;
}

/* A record to be filled, from the spare ones if there is one. Under the lock. */
static struct mpixq_request *record_new(void)
{
    struct mpixq_request *req = spare;

    if (req == NULL) {
        return mpixq_alloc(sizeof *req); /* freed where record_recycle keeps no more */
    }
    spare = req->next_member;
    n_spare--;
    req->next_member = NULL;
    return req;
}

/* Put a new record into the table, under the lock. *old_p is one that had the same handle: it
 * was freed by a call that did not come by us. */
static bool table_add(struct mpixq_request *req, struct mpixq_request **old_p)
{
    if (table == NULL) {
        HASH_ADD(hh, table, handle, sizeof anchor.handle, &anchor);
    }
    HASH_FIND(hh, table, &req->handle, sizeof req->handle, *old_p);
    if (*old_p != NULL) {
        HASH_DEL(table, *old_p);
        (*old_p)->handle = MPI_REQUEST_NULL;
    }
    HASH_ADD(hh, table, handle, sizeof req->handle, req);
    return mpixq_in_table(req->hh);
}

/* What a record holds on to, apart from its memory. */
static void let_go(enum mpixq_mode mode, struct mpixq_comm *comm, struct mpixq_type type)
{
    if (mode == MPIXQ_MODE_BSEND) {
        atomic_fetch_sub(&mpixq_buffered, 1);
    }
    if (type.is_ours) {
        (void)PMPI_Type_free(&type.handle);
    }
    mpixq_comm_put(comm);
}

/* Free a record that has lost its handle, unless it is part of a pair. */
static void give_up(struct mpixq_request *req)
{
    if (req != NULL && mpixq_request_state(req) == MPIXQ_UNMATCHED) {
        mpixq_request_destroy(req);
    }
}

void mpixq_request_capture(const struct mpixq_captured *args, MPI_Comm comm, MPI_Request handle)
{
    struct mpixq_comm *record = mpixq_comm_get(comm);
    struct mpixq_request *req = NULL, *old = NULL;
    struct mpixq_type type = {.handle = args->type.handle};
    bool added = false;

    if (args->mode == MPIXQ_MODE_BSEND) {
        atomic_fetch_add(&mpixq_buffered, 1);
    }
    if (record != NULL && hold_type(&type)) {
        mpixq_spin_lock(&lock);
        req = record_new();
        if (req != NULL) {
            req->handle = handle;
            req->made = *args;
            req->made.type = type;
            req->comm = record;
            added = table_add(req, &old);
        }
        mpixq_spin_unlock(&lock);
    }
    if (!added) {
        let_go(args->mode, record, type);
        mpixq_free(req);
        mpixq_warn("no memory to remember a persistent request: it cannot be matched");
    }
    if (old != NULL) {
        give_up(old);
    }
}

struct mpixq_request *mpixq_request_find(MPI_Request handle)
{
    struct mpixq_request *req;

    if (handle == MPI_REQUEST_NULL) {
        return NULL;
    }
    mpixq_spin_lock(&lock);
    HASH_FIND(hh, table, &handle, sizeof handle, req);
    mpixq_spin_unlock(&lock);
    return req;
}

bool mpixq_request_drop(MPI_Request handle, struct mpixq_request **req_p)
{
    struct mpixq_request *req, *rest = NULL;
    struct mpixq_comm *comm = NULL;
    struct mpixq_type type = {.is_ours = false};
    enum mpixq_mode mode = MPIXQ_MODE_RECV;
    bool dropped = false;

    *req_p = NULL;
    if (handle == MPI_REQUEST_NULL) {
        return false; /* the anchor has this handle */
    }
    mpixq_spin_lock(&lock);
    HASH_FIND(hh, table, &handle, sizeof handle, req);
    if (req != NULL && mpixq_request_state(req) == MPIXQ_UNMATCHED) {
        HASH_DEL(table, req);
        mode = req->made.mode;
        comm = req->comm;
        type = req->made.type;
        rest = record_recycle(req);
        req = NULL;
        dropped = true;
    }
    mpixq_spin_unlock(&lock);
    if (dropped) {
        let_go(mode, comm, type);
        if (rest != NULL) {
            mpixq_free(rest);
        }
    }
    *req_p = req;
    return dropped;
}

void mpixq_request_rename(MPI_Request before, MPI_Request after)
{
    struct mpixq_request *req, *old = NULL;
    bool added = true;

    if (before == MPI_REQUEST_NULL) {
        return;
    }
    mpixq_spin_lock(&lock);
    HASH_FIND(hh, table, &before, sizeof before, req);
    if (req != NULL) {
        HASH_DEL(table, req);
        memset(&req->hh, 0, sizeof req->hh);
        req->handle = after;
        added = table_add(req, &old);
        req->handle = added ? after : MPI_REQUEST_NULL;
    }
    mpixq_spin_unlock(&lock);
    give_up(old);
    if (!added) {
        mpixq_warn("no memory to follow a persistent request to its new handle");
        give_up(req);
    }
}

void mpixq_request_forget(struct mpixq_request *req)
{
    mpixq_spin_lock(&lock);
    if (req->handle != MPI_REQUEST_NULL) {
        HASH_DEL(table, req);
        req->handle = MPI_REQUEST_NULL;
    }
    mpixq_spin_unlock(&lock);
}

void mpixq_request_destroy(struct mpixq_request *req)
{
    if (mpixq_request_state(req) != MPIXQ_UNMATCHED) {
        atomic_fetch_sub(&mpixq_active, 1);
    }
    let_go(req->made.mode, req->comm, req->made.type);
    mpixq_spin_lock(&lock);
    req = record_recycle(req);
    mpixq_spin_unlock(&lock);
    mpixq_free(req);
}

void mpixq_request_each(void (*visit)(struct mpixq_request *req, void *arg), void *arg)
{
    struct mpixq_request *req, *next;

    mpixq_spin_lock(&lock);
    HASH_ITER(hh, table, req, next)
    {
        if (req != &anchor) {
            visit(req, arg);
        }
    }
    mpixq_spin_unlock(&lock);
}

void mpixq_requests_close(void)
{
    struct mpixq_request *req, *next;

    HASH_ITER(hh, table, req, next)
    {
        if (req != &anchor) {
            mpixq_request_forget(req);
            mpixq_request_destroy(req);
        }
    }
    while (spare != NULL) {
        req = spare;
        spare = req->next_member;
        mpixq_free(req);
    }
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

    (void)snprintf(buffer, size, "%s %d tag %d", modes[req->made.mode], req->made.peer,
                   req->made.tag);
    return buffer;
}
