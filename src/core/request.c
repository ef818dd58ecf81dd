/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "request.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "channels.h"
#include "comm/comm.h"
#include "comm/error.h"
#include "comm/types.h"
#include "graphs.h"
#include "handles.h"
#include "stats.h"
#include "util/alloc.h"
#include "util/log.h"
#include "util/noted.h"

#define NEVER (-1)
static const signed char next_state[MPIXQ_N_STATES][MPIXQ_N_EVENTS] = {
    [MPIXQ_UNMATCHED] = {[MPIXQ_MATCH_BEGIN] = MPIXQ_MATCHING,
                         [MPIXQ_MATCH_OK] = NEVER,
                         [MPIXQ_MATCH_FAIL] = NEVER,
                         [MPIXQ_START] = NEVER,
                         [MPIXQ_WAIT] = NEVER,
                         [MPIXQ_DONE] = NEVER,
                         [MPIXQ_FAIL] = NEVER,
                         [MPIXQ_HOST_START] = NEVER},
    [MPIXQ_MATCHING] = {[MPIXQ_MATCH_BEGIN] = NEVER,
                        [MPIXQ_MATCH_OK] = MPIXQ_MATCHED,
                        [MPIXQ_MATCH_FAIL] = MPIXQ_UNMATCHED,
                        [MPIXQ_START] = NEVER,
                        [MPIXQ_WAIT] = NEVER,
                        [MPIXQ_DONE] = NEVER,
                        [MPIXQ_FAIL] = NEVER,
                        [MPIXQ_HOST_START] = NEVER},
    [MPIXQ_MATCHED] = {[MPIXQ_MATCH_BEGIN] = NEVER,
                       [MPIXQ_MATCH_OK] = NEVER,
                       [MPIXQ_MATCH_FAIL] = NEVER,
                       [MPIXQ_START] = MPIXQ_STARTED,
                       [MPIXQ_WAIT] = NEVER,
                       [MPIXQ_DONE] = NEVER,
                       [MPIXQ_FAIL] = MPIXQ_FAILED,
                       [MPIXQ_HOST_START] = MPIXQ_HOST_STARTED},
    [MPIXQ_STARTED] = {[MPIXQ_MATCH_BEGIN] = NEVER,
                       [MPIXQ_MATCH_OK] = NEVER,
                       [MPIXQ_MATCH_FAIL] = NEVER,
                       [MPIXQ_START] = NEVER,
                       [MPIXQ_WAIT] = MPIXQ_WAITING,
                       [MPIXQ_DONE] = NEVER,
                       [MPIXQ_FAIL] = MPIXQ_FAILED,
                       [MPIXQ_HOST_START] = NEVER},
    [MPIXQ_WAITING] = {[MPIXQ_MATCH_BEGIN] = NEVER,
                       [MPIXQ_MATCH_OK] = NEVER,
                       [MPIXQ_MATCH_FAIL] = NEVER,
                       [MPIXQ_START] = MPIXQ_STARTED,
                       [MPIXQ_WAIT] = NEVER,
                       [MPIXQ_DONE] = MPIXQ_MATCHED,
                       [MPIXQ_FAIL] = MPIXQ_FAILED,
                       [MPIXQ_HOST_START] = NEVER},
    [MPIXQ_FAILED] = {[MPIXQ_MATCH_BEGIN] = NEVER,
                      [MPIXQ_MATCH_OK] = NEVER,
                      [MPIXQ_MATCH_FAIL] = NEVER,
                      [MPIXQ_START] = NEVER,
                      [MPIXQ_WAIT] = NEVER,
                      [MPIXQ_DONE] = NEVER,
                      [MPIXQ_FAIL] = MPIXQ_FAILED,
                      [MPIXQ_HOST_START] = NEVER},
    [MPIXQ_HOST_STARTED] = {[MPIXQ_MATCH_BEGIN] = NEVER,
                            [MPIXQ_MATCH_OK] = NEVER,
                            [MPIXQ_MATCH_FAIL] = NEVER,
                            [MPIXQ_START] = NEVER,
                            [MPIXQ_WAIT] = NEVER,
                            [MPIXQ_DONE] = MPIXQ_MATCHED,
                            [MPIXQ_FAIL] = MPIXQ_FAILED,
                            [MPIXQ_HOST_START] = NEVER},
};

static const char *const state_names[MPIXQ_N_STATES] = {
    [MPIXQ_UNMATCHED] = "unmatched",
    [MPIXQ_MATCHING] = "matching",
    [MPIXQ_MATCHED] = "matched",
    [MPIXQ_STARTED] = "started",
    [MPIXQ_WAITING] = "waiting",
    [MPIXQ_FAILED] = "failed",
    [MPIXQ_HOST_STARTED] = "started by the host",
};

static void note(struct mpixq_request *req)
{
    MPI_Request handle = atomic_load_explicit(&req->handle, memory_order_relaxed);

    if (handle != MPI_REQUEST_NULL) { /* a part of a partitioned request has none */
        atomic_store(&req->note, mpixq_noted_add(handle));
    }
}

/* A partitioned one is noted, and looked at, as long as it has a handle: MPI must never be given it
 * to start. A collective is until MPI starts it. */
static bool is_always_noted(const struct mpixq_request *req)
{
    return req->is_partitioned || (req->is_collective && !req->is_part && !req->was_started);
}

/* Once, whether its match fails or it loses its handle. */
static void end_note(struct mpixq_request *req)
{
    uint16_t ended = atomic_exchange(&req->note, 0);

    if (ended != 0) {
        mpixq_noted_remove(ended);
        if (is_always_noted(req)) {
            atomic_fetch_sub(&mpixq_requests.active, 1);
        }
    }
}

bool mpixq_request_step(struct mpixq_request *req, enum mpixq_event event)
{
    int from = atomic_load_explicit(&req->state, memory_order_acquire), to;

    do {
        to = next_state[from][event];
        if (to == NEVER) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&req->state, &from, to));
    if (from > MPIXQ_MATCHING) {
        return true;
    }
    if (from == MPIXQ_UNMATCHED) {
        req->was_matching = true;
        if (!is_always_noted(req)) {
            note(req);
        }
        atomic_fetch_add(&mpixq_requests.active, 1);
    } else if (to == MPIXQ_UNMATCHED) {
        if (!is_always_noted(req)) {
            end_note(req);
        }
        atomic_fetch_sub(&mpixq_requests.active, 1);
    }
    return true;
}

const char *mpixq_request_state_name(enum mpixq_state state)
{
    return state_names[state];
}

/* Under the lock. A spare record is as good as a new one: what capture does not write is zero. */
static void record_recycle(struct mpixq_request *req)
{
    if (req->was_matching) {
        /* But for its place in the table, where a thread may still stand. */
        memset(&req->state, 0, sizeof *req - offsetof(struct mpixq_request, state));
    }
    req->next_member = mpixq_requests.spare;
    mpixq_requests.spare = req;
}

/* A record to be filled, from the spare ones if there is one. Under the lock. */
static struct mpixq_request *record_new(void)
{
    struct mpixq_request *req = mpixq_requests.spare;

    if (req == NULL) {
        return mpixq_alloc(sizeof *req); /* freed in mpixq_requests_close */
    }
    mpixq_requests.spare = req->next_member;
    req->next_member = NULL;
    return req;
}

/* Put a record into the table, under the lock. Returns one that had the same handle, or NULL: it
 * was freed by a call that did not come by us. */
static struct mpixq_request *table_add(struct mpixq_request *req, MPI_Request handle)
{
    struct mpixq_request *old = mpixq_handles_find(handle);

    if (old != NULL) {
        end_note(old);
        mpixq_handles_remove(old);
    }
    mpixq_handles_add(req, handle);
    return old;
}

static struct mpixq_held_type held_type(const struct mpixq_request *req)
{
    return (struct mpixq_held_type){req->pair.message.type, req->holds_type};
}

/* What a record holds on to, apart from its memory. */
static void let_go(enum mpixq_mode mode, struct mpixq_comm *comm, struct mpixq_held_type type)
{
    if (mode == MPIXQ_MODE_BSEND) {
        atomic_fetch_sub(&mpixq_requests.buffered, 1);
    }
    mpixq_type_let_go(&type);
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
    struct mpixq_held_type type = {.handle = args->message.type};

    if (args->message.mode == MPIXQ_MODE_BSEND) {
        atomic_fetch_add(&mpixq_requests.buffered, 1);
    }
    if (record != NULL && mpixq_type_hold(&type)) {
        mpixq_spin_lock(&mpixq_requests.lock);
        req = record_new();
        if (req != NULL) {
            req->peer = args->peer;
            req->tag = args->tag;
            req->holds_type = type.is_ours;
            req->comm = record;
            req->pair.owner = req;
            req->pair.message = args->message;
            req->pair.message.type = type.handle;
            old = table_add(req, handle);
        }
        mpixq_spin_unlock(&mpixq_requests.lock);
    }
    if (req == NULL) {
        let_go(args->message.mode, record, type);
        mpixq_warn("no memory to remember a persistent request: it cannot be matched");
    }
    if (old != NULL) {
        give_up(old);
    }
}

struct mpixq_request *mpixq_request_capture_parts(const struct mpixq_captured *args, MPI_Comm comm,
                                                  MPI_Request handle,
                                                  struct mpixq_parts_base *parts)
{
    struct mpixq_request *req;

    mpixq_request_capture(args, comm, handle);
    req = mpixq_request_find(handle);
    if (req != NULL) {
        req->was_matching = true; /* what follows is written to */
        req->is_collective = args->message.mode > MPIXQ_MODE_RECV;
        req->is_partitioned = !req->is_collective;
        req->pair.end = parts;
        note(req);
        atomic_fetch_add(&mpixq_requests.active, 1);
    }
    return req;
}

void mpixq_request_is_mpis(struct mpixq_request *req)
{
    end_note(req);
    req->was_started = true;
}

struct mpixq_request *mpixq_request_make_part(const struct mpixq_request *req, MPI_Datatype of)
{
    struct mpixq_held_type type = {.handle = of}; /* which is the whole's to free */
    struct mpixq_request *part = NULL;

    if (mpixq_type_hold(&type)) {
        mpixq_spin_lock(&mpixq_requests.lock);
        part = record_new();
        mpixq_spin_unlock(&mpixq_requests.lock);
    }
    if (part == NULL) {
        let_go(req->pair.message.mode, NULL, type);
        return NULL;
    }
    part->was_matching = part->is_part = true;
    part->is_collective = req->is_collective;
    part->peer = req->peer;
    part->tag = req->tag;
    part->holds_type = type.is_ours;
    part->comm = mpixq_comm_hold(req->comm);
    part->pair.owner = part;
    part->pair.message = req->pair.message;
    part->pair.message.type = type.handle;
    atomic_store(&part->handle, MPI_REQUEST_NULL);
    return part;
}

struct mpixq_request *mpixq_request_find(MPI_Request handle)
{
    return handle != MPI_REQUEST_NULL ? mpixq_handles_find(handle) : NULL;
}

/* What belongs to the record, and is not given back under the lock of the records. */
static void forget_parts(struct mpixq_request *req)
{
    if (mpixq_request_is_parted(req)) {
        struct mpixq_parts_base *parts = req->pair.end;

        parts->forget(parts);
        req->is_partitioned = req->is_collective = false;
    }
}

static void forget_prepared(struct mpixq_request *req)
{
    if (req->pair.prepared != NULL) {
        req->pair.prepared->forget(req->pair.prepared);
        req->pair.prepared = NULL;
    }
}

bool mpixq_request_drop(MPI_Request handle, struct mpixq_request **req_p)
{
    struct mpixq_request *req = mpixq_request_find(handle);
    struct mpixq_comm *comm;
    struct mpixq_held_type type;
    enum mpixq_mode mode;
    bool was_matching;

    *req_p = req;
    if (req == NULL || mpixq_request_state(req) != MPIXQ_UNMATCHED) {
        return false;
    }
    mode = req->pair.message.mode;
    comm = req->comm;
    type = held_type(req);
    was_matching = req->was_matching;
    if (was_matching) { /* else it has none of these */
        mpixq_graphs_forget(&req->pair);
        mpixq_staging_give_back(req->pair.staging);
        forget_prepared(req);
        end_note(req);
        forget_parts(req);
    }
    mpixq_spin_lock(&mpixq_requests.lock);
    mpixq_handles_remove(req);
    record_recycle(req);
    mpixq_spin_unlock(&mpixq_requests.lock);
    let_go(mode, comm, type);
    if (was_matching) {
        mpixq_channels_clean_up(); /* its match came to nothing */
    }
    *req_p = NULL;
    return true;
}

void mpixq_request_rename(MPI_Request before, MPI_Request after)
{
    struct mpixq_request *req, *old = NULL;

    mpixq_spin_lock(&mpixq_requests.lock);
    req = mpixq_request_find(before);
    if (req != NULL) {
        mpixq_handles_remove(req);
        old = table_add(req, after);
    }
    mpixq_spin_unlock(&mpixq_requests.lock);
    give_up(old);
}

void mpixq_request_forget(struct mpixq_request *req)
{
    mpixq_spin_lock(&mpixq_requests.lock);
    if (atomic_load(&req->handle) != MPI_REQUEST_NULL) {
        end_note(req);
        mpixq_handles_remove(req);
    }
    mpixq_spin_unlock(&mpixq_requests.lock);
}

void mpixq_request_release(struct mpixq_request *req)
{
    req->released = true;
    mpixq_stats_pair(&req->pair);
    /* The record may have to wait for its peer for as long as the program runs. */
    atomic_fetch_sub(&mpixq_requests.active, 1);
}

void mpixq_request_destroy(struct mpixq_request *req)
{
    if (!req->released && mpixq_request_state(req) != MPIXQ_UNMATCHED) {
        atomic_fetch_sub(&mpixq_requests.active, 1);
    }
    end_note(req);
    let_go(req->pair.message.mode, req->comm, held_type(req));
    mpixq_graphs_forget(&req->pair);
    mpixq_staging_give_back(req->pair.staging);
    forget_prepared(req);
    forget_parts(req);
    mpixq_spin_lock(&mpixq_requests.lock);
    record_recycle(req);
    mpixq_spin_unlock(&mpixq_requests.lock);
}

void mpixq_request_each(void (*visit)(struct mpixq_request *req, void *arg), void *arg)
{
    mpixq_spin_lock(&mpixq_requests.lock);
    mpixq_handles_each(visit, arg);
    mpixq_spin_unlock(&mpixq_requests.lock);
}

static void forget_and_destroy(struct mpixq_request *req, void *arg)
{
    (void)arg;
    mpixq_request_forget(req);
    mpixq_request_destroy(req);
}

void mpixq_requests_close(void)
{
    struct mpixq_request *req;

    mpixq_handles_each(forget_and_destroy, NULL);
    mpixq_handles_close();
    while (mpixq_requests.spare != NULL) {
        req = mpixq_requests.spare;
        mpixq_requests.spare = req->next_member;
        mpixq_free(req);
    }
}

MPI_Comm mpixq_request_comm(const struct mpixq_request *req)
{
    return mpixq_comm_handle(req->comm);
}

int mpixq_request_failure(const struct mpixq_request *req)
{
    int code = atomic_load(&req->pair.error);

    if (mpixq_request_state(req) != MPIXQ_MATCHED) {
        return mpixq_error_code(MPIXQ_E_REQUEST_FAILED);
    }
    return code != MPI_SUCCESS ? code : mpixq_pair_peer_failed(&req->pair);
}
