/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Handles of performance variables, of which each has a value of its own: what the process has
 * counted, less what it had when this handle was last reset. Nothing has to be started or stopped.
 * Built only where MPI has a tool interface. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "next.h"
#include "tool.h"
#include "util/alloc.h"
#include "util/lock.h"

enum { N_HANDLES = 64 };

struct handle {
    bool is_live;
    MPI_T_pvar_session session;
    int pvar;
    unsigned long long base;
};

/* Kept until the process ends, so that an address in it is no other handle's. */
struct block {
    struct handle of[N_HANDLES];
    struct block *next;
};

/* All handles. The lock guards all of it; also while a value is read, so that no count is lost
 * before a reset. */
static struct {
    struct mpixq_lock lock;
    struct block first, *last;
} handles = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_TOOL_HANDLES), .last = &handles.first};

/* The handle of ours at an address, or NULL. Under the lock. */
static struct handle *find(MPI_T_pvar_handle handle)
{
    uintptr_t at = (uintptr_t)handle;

    for (struct block *block = &handles.first; block != NULL; block = block->next) {
        uintptr_t begin = (uintptr_t)block->of;

        if (at >= begin && at < begin + sizeof block->of) {
            return &block->of[(at - begin) / sizeof block->of[0]];
        }
    }
    return NULL;
}

/* A handle that is not live; NULL without memory. Under the lock. */
static struct handle *find_free(void)
{
    for (struct block *block = &handles.first; block != NULL; block = block->next) {
        for (int i = 0; i < N_HANDLES; i++) {
            if (!block->of[i].is_live) {
                return &block->of[i];
            }
        }
    }
    handles.last->next = mpixq_alloc(sizeof *handles.last->next);
    if (handles.last->next == NULL) {
        return NULL;
    }
    handles.last = handles.last->next;
    return &handles.last->of[0];
}

bool mpixq_tool_has_handle(MPI_T_pvar_handle handle)
{
    bool has;

    mpixq_lock_acquire(&handles.lock);
    has = find(handle) != NULL;
    mpixq_lock_release(&handles.lock);
    return has;
}

/* Call visit for each live handle of a session. Under the lock. */
static void each(MPI_T_pvar_session session, void (*visit)(struct handle *handle))
{
    for (struct block *block = &handles.first; block != NULL; block = block->next) {
        for (int i = 0; i < N_HANDLES; i++) {
            struct handle *handle = &block->of[i];

            if (handle->is_live &&
                (session == MPI_T_PVAR_SESSION_NULL || handle->session == session)) {
                visit(handle);
            }
        }
    }
}

static void end(struct handle *handle)
{
    handle->is_live = false;
}

static void reset(struct handle *handle)
{
    handle->base = mpixq_tool_value(handle->pvar);
}

void mpixq_tool_end_session(MPI_T_pvar_session session)
{
    mpixq_lock_acquire(&handles.lock);
    each(session, end);
    mpixq_lock_release(&handles.lock);
}

/* The handle of ours, with the lock; otherwise *rc_p is why it cannot be used. */
static struct handle *enter(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int *rc_p)
{
    struct handle *found;

    if (!mpixq_tool_is_up()) {
        *rc_p = MPI_T_ERR_NOT_INITIALIZED;
        return NULL;
    }
    if (session == MPI_T_PVAR_SESSION_NULL) {
        *rc_p = MPI_T_ERR_INVALID_SESSION;
        return NULL;
    }
    mpixq_lock_acquire(&handles.lock);
    found = find(handle);
    if (found != NULL && (MPI_T_pvar_handle)(void *)found == handle && found->is_live &&
        found->session == session) {
        *rc_p = MPI_SUCCESS;
        return found;
    }
    mpixq_lock_release(&handles.lock);
    *rc_p = MPI_T_ERR_INVALID_HANDLE;
    return NULL;
}

MPIXQ_INTERPOSE int MPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
    MPI_T_pvar_session ended = session != NULL ? *session : MPI_T_PVAR_SESSION_NULL;
    int rc = mpixq_tool.next.T_pvar_session_free(session);

    if (rc == MPI_SUCCESS && ended != MPI_T_PVAR_SESSION_NULL) {
        mpixq_tool_end_session(ended);
    }
    return rc;
}
MPIXQ_OWN(T_pvar_session_free);

static int alloc(MPI_T_pvar_session session, int pvar, MPI_T_pvar_handle *handle, int *count)
{
    struct handle *made;

    if (!mpixq_tool_is_up()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    if (session == MPI_T_PVAR_SESSION_NULL) {
        return MPI_T_ERR_INVALID_SESSION;
    }
    if (handle == NULL) {
        return MPI_T_ERR_INVALID;
    }
    mpixq_lock_acquire(&handles.lock);
    made = find_free();
    if (made != NULL) {
        *made = (struct handle){.is_live = true, .session = session, .pvar = pvar};
    }
    mpixq_lock_release(&handles.lock);
    if (made == NULL) {
        return MPI_T_ERR_OUT_OF_HANDLES;
    }
    *handle = (MPI_T_pvar_handle)(void *)made;
    if (count != NULL) {
        *count = 1;
    }
    return MPI_SUCCESS;
}

MPIXQ_INTERPOSE int MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index,
                                            void *obj_handle, MPI_T_pvar_handle *handle, int *count)
{
    if (mpixq_tool_takes(&mpixq_tool.pvars, &pvar_index)) {
        return alloc(session, pvar_index - mpixq_tool.pvars.first, handle, count);
    }
    return mpixq_tool.next.T_pvar_handle_alloc(session, pvar_index, obj_handle, handle, count);
}
MPIXQ_OWN(T_pvar_handle_alloc);

MPIXQ_INTERPOSE int MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    struct handle *own;
    int rc;

    if (handle == NULL || !mpixq_tool_has_handle(*handle)) {
        return mpixq_tool.next.T_pvar_handle_free(session, handle);
    }
    own = enter(session, *handle, &rc);
    if (own != NULL) {
        own->is_live = false;
        mpixq_lock_release(&handles.lock);
        *handle = MPI_T_PVAR_HANDLE_NULL;
    }
    return rc;
}
MPIXQ_OWN(T_pvar_handle_free);

/* Start or stop one of ours, which goes on all the time. */
static int refuse(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    int rc;

    if (enter(session, handle, &rc) != NULL) {
        mpixq_lock_release(&handles.lock);
        rc = MPI_T_ERR_PVAR_NO_STARTSTOP;
    }
    return rc;
}

/* All handles: those of ours are passed over, as all that goes on by itself. */
MPIXQ_INTERPOSE int MPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return mpixq_tool_has_handle(handle) ? refuse(session, handle)
                                         : mpixq_tool.next.T_pvar_start(session, handle);
}
MPIXQ_OWN(T_pvar_start);

MPIXQ_INTERPOSE int MPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return mpixq_tool_has_handle(handle) ? refuse(session, handle)
                                         : mpixq_tool.next.T_pvar_stop(session, handle);
}
MPIXQ_OWN(T_pvar_stop);

/* What there is to do with the value of a handle. */
struct access {
    void *to;         /* read it into this */
    const void *from; /* write it from there */
    bool resets;      /* afterwards it is 0 */
};

static int access_value(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                        const struct access *how)
{
    unsigned long long now, value;
    struct handle *own;
    int rc;

    if (how->to == NULL && how->from == NULL && !how->resets) {
        return MPI_T_ERR_INVALID;
    }
    own = enter(session, handle, &rc);
    if (own == NULL) {
        return rc;
    }
    now = mpixq_tool_value(own->pvar);
    if (how->to != NULL) {
        value = now - own->base;
        memcpy(how->to, &value, sizeof value);
    }
    if (how->from != NULL) {
        memcpy(&value, how->from, sizeof value);
        own->base = now - value;
    }
    if (how->resets) {
        own->base = now;
    }
    mpixq_lock_release(&handles.lock);
    return MPI_SUCCESS;
}

MPIXQ_INTERPOSE int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    const struct access how = {.to = buf};

    return mpixq_tool_has_handle(handle) ? access_value(session, handle, &how)
                                         : mpixq_tool.next.T_pvar_read(session, handle, buf);
}
MPIXQ_OWN(T_pvar_read);

MPIXQ_INTERPOSE int MPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                                     const void *buf)
{
    const struct access how = {.from = buf};

    return mpixq_tool_has_handle(handle) ? access_value(session, handle, &how)
                                         : mpixq_tool.next.T_pvar_write(session, handle, buf);
}
MPIXQ_OWN(T_pvar_write);

MPIXQ_INTERPOSE int MPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                                         void *buf)
{
    const struct access how = {.to = buf, .resets = buf != NULL};

    return mpixq_tool_has_handle(handle) ? access_value(session, handle, &how)
                                         : mpixq_tool.next.T_pvar_readreset(session, handle, buf);
}
MPIXQ_OWN(T_pvar_readreset);

/* All handles of a session: MPI's, and ours if MPI finds that it is one. */
static int reset_all(MPI_T_pvar_session session)
{
    int rc = mpixq_tool.next.T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES);

    if (rc == MPI_SUCCESS && session != MPI_T_PVAR_SESSION_NULL) {
        mpixq_lock_acquire(&handles.lock);
        each(session, reset);
        mpixq_lock_release(&handles.lock);
    }
    return rc;
}

MPIXQ_INTERPOSE int MPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    const struct access how = {.resets = true};

    if (handle == MPI_T_PVAR_ALL_HANDLES) {
        return reset_all(session);
    }
    return mpixq_tool_has_handle(handle) ? access_value(session, handle, &how)
                                         : mpixq_tool.next.T_pvar_reset(session, handle);
}
MPIXQ_OWN(T_pvar_reset);
