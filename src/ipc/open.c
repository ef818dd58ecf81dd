/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What belongs to peers. It is opened in the match, before the pair counts as matched, so that what
 * the GPU's library refuses is a channel that is not taken. Each thing is opened once, however many
 * ends need it, and closed when the last of them is freed, a buffer also when the peers' ends are:
 * later, if a wait of ours is in a stream by then, since to close it waits until the GPU is idle.
 *
 * A peer that has freed its end may have freed the buffer too. It had completed its starts, or
 * taken them back; so of ours those of the same numbers may be under way still, and all others
 * find nobody. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <utlist.h>

#include "core/graphs.h"
#include "match/match.h"
#include "process.h"
#include "util/alloc.h"

enum {
    ONE_BLOCK = 65536, /* bytes that a block moves sooner than several agree who does */
    PER_BLOCK = 16384, /* bytes that each of several moves */
    BLOCKS = 128       /* that move a message at most: more are no faster */
};

#define NO_TOLD "its words for the host are not to be had"

_Static_assert(sizeof(struct mpixq_gpu_owner) == sizeof(struct mpixq_process), "owner");

struct ipc_import {
    struct mpixq_share *share; /* whose GPU sees it, */
    uint64_t life;             /* in this life of it */
    struct mpixq_process process;
    struct mpixq_gpu_ident gpu;     /* that has the memory */
    struct mpixq_gpu_export memory; /* or none: it is a file with words */
    uint64_t allocation; /* of a buffer, or the life of its place; later ones may have its handle */
    int32_t file;        /* or -1 */
    void *host;          /* where the words are mapped */
    char *seen;
    int users;
    struct ipc_import *next;
};

/* Imports. */

static bool has_handle(const struct ipc_import *import, const struct ipc_import *wanted)
{
    return import->share == wanted->share && import->life == wanted->life &&
           import->file == wanted->file &&
           memcmp(&import->process, &wanted->process, sizeof wanted->process) == 0 &&
           memcmp(&import->gpu, &wanted->gpu, sizeof wanted->gpu) == 0 &&
           memcmp(&import->memory, &wanted->memory, sizeof wanted->memory) == 0;
}

/* What is open by this handle, or NULL. Under the open lock, by which alone that changes. */
static struct ipc_import *find_import(const struct ipc_import *wanted)
{
    struct ipc_import *import;

    mpixq_lock_acquire(&mpixq_ipc.opened.lists);
    LL_FOREACH(mpixq_ipc.opened.imports, import)
    {
        if (has_handle(import, wanted)) {
            import->users += import->allocation == wanted->allocation;
            break;
        }
    }
    mpixq_lock_release(&mpixq_ipc.opened.lists);
    return import;
}

static void unmap_file(struct ipc_import *import)
{
    bool is_ours = import->seen == NULL || mpixq_share_unmap(import->share, import->host) ||
                   mpixq_memory_is_over(import->life);

    if (import->host != NULL && is_ours) {
        (void)munmap(import->host, IPC_TOLD_BYTES);
    }
}

static void import_close(struct ipc_import *import)
{
    if (import->file >= 0) {
        unmap_file(import);
    } else if (import->seen != NULL && mpixq_memory_is_over(import->life)) {
        mpixq_share_forget(import->seen);
    } else if (import->seen != NULL) {
        mpixq_share_close(import->share, import->seen);
    }
    mpixq_free(import);
}

/* fd: the peer's file, if its memory has one. */
static bool import_open(struct ipc_import *import, const struct ipc_fd *fd, const char **why_p)
{
    struct mpixq_gpu_owner owner;
    void *host;

    if (import->file < 0) {
        memcpy(&owner, &import->process, sizeof owner);
        import->seen = mpixq_share_open(import->share, &owner, &import->memory,
                                        mpixq_ipc_fd_number(fd), why_p);
        return import->seen != NULL;
    }
    host = mpixq_ipc_map_told(&import->process, import->file, PROT_READ | PROT_WRITE);
    if (host == NULL) {
        *why_p = NO_TOLD;
        return false;
    }
    import->host = host;
    import->seen = mpixq_share_map(import->share, host, IPC_TOLD_BYTES, why_p);
    return import->seen != NULL;
}

/* Under the open lock. NULL, and why. */
static struct ipc_import *import_get(const struct ipc_import *wanted, const struct ipc_fd *fd,
                                     const char **why_p)
{
    struct ipc_import *import = find_import(wanted);

    if (import != NULL && import->allocation == wanted->allocation) {
        return import;
    }
    if (import != NULL) {
        /* Opened once more by its handle it would be what is open already. */
        *why_p = "what was at its address before is still open";
        return NULL;
    }
    import = mpixq_alloc(sizeof *import); /* freed in import_close */
    if (import == NULL) {
        *why_p = "no memory";
        return NULL;
    }
    *import = *wanted;
    import->users = 1;
    if (!import_open(import, fd, why_p)) {
        import_close(import);
        return NULL;
    }
    mpixq_lock_acquire(&mpixq_ipc.opened.lists);
    LL_PREPEND(mpixq_ipc.opened.imports, import);
    mpixq_lock_release(&mpixq_ipc.opened.lists);
    return import;
}

/* One that nobody uses, out of the list. */
static struct ipc_import *take_unused(bool all)
{
    struct ipc_import *import;

    mpixq_lock_acquire(&mpixq_ipc.opened.lists);
    LL_FOREACH(mpixq_ipc.opened.imports, import)
    {
        if (all || import->users == 0) {
            LL_DELETE(mpixq_ipc.opened.imports, import);
            break;
        }
    }
    mpixq_lock_release(&mpixq_ipc.opened.lists);
    return import;
}

/* Under the lists' lock. */
static void leave(struct ipc_import **import_p)
{
    if (*import_p != NULL) {
        (*import_p)->users--;
        *import_p = NULL;
    }
}

/* Of windows. */

struct ipc_import *mpixq_ipc_import(struct mpixq_share *share, const struct ipc_blob *theirs,
                                    bool words, const char **why_p)
{
    struct ipc_import wanted = {.share = share,
                                .life = mpixq_share_life(share),
                                .process = theirs->process,
                                .gpu = theirs->gpu,
                                .memory = theirs->buffer,
                                .allocation = words ? theirs->life : theirs->allocation,
                                .file = -1};
    struct ipc_import *import = NULL;
    struct ipc_fd *fd = NULL;
    bool held;

    if (words) {
        wanted.memory = (struct mpixq_gpu_export){.handle = theirs->ends, .file = -1};
    } else if ((*why_p = mpixq_ipc_fd_take(theirs, &fd)) != NULL) {
        return NULL;
    }
    mpixq_ipc_close_unused();
    mpixq_lock_acquire(&mpixq_ipc.opened.lock);
    held = mpixq_streams_pause_waits();
    if (mpixq_share_may_open(share)) {
        import = import_get(&wanted, fd, why_p);
    } else {
        *why_p = "a wait is pending on a stream, and to open memory might wait for it";
    }
    if (held) {
        mpixq_streams_resume_waits();
    }
    mpixq_lock_release(&mpixq_ipc.opened.lock);
    mpixq_ipc_fd_leave(&fd);
    return import;
}

char *mpixq_ipc_import_seen(const struct ipc_import *import)
{
    return import->seen;
}

void mpixq_ipc_import_leave(struct ipc_import **import_p)
{
    mpixq_lock_acquire(&mpixq_ipc.opened.lists);
    leave(import_p);
    mpixq_lock_release(&mpixq_ipc.opened.lists);
}

/* Ends. */

/* A sender's host looks at what the receiver's is told. */
static bool see_told(struct ipc_end *end)
{
    const struct ipc_told *theirs = end->is_send ? mpixq_ipc_told_of(&end->theirs) : NULL;

    if (theirs != NULL) {
        end->told = &theirs->done;
    }
    return theirs != NULL || !end->is_send;
}

/* NULL, or why that cannot be. */
static const char *get_all(struct ipc_end *end)
{
    struct ipc_import wanted = {.share = end->place->share,
                                .life = end->life,
                                .process = end->theirs.process,
                                .gpu = end->theirs.gpu,
                                .file = -1};
    const char *why = NULL;

    if (end->pair->bytes > 0) {
        wanted.memory = end->theirs.buffer;
        wanted.allocation = end->theirs.allocation;
        end->their_buffer = import_get(&wanted, end->their_fd, &why);
    }
    wanted.allocation = end->theirs.life;
    wanted.memory = (struct mpixq_gpu_export){.handle = end->theirs.ends, .file = -1};
    end->their_ends = why == NULL ? import_get(&wanted, NULL, &why) : NULL;
    wanted.allocation = 0;
    wanted.memory = (struct mpixq_gpu_export){.file = -1};
    wanted.file = end->theirs.file;
    end->their_told = why == NULL && end->is_send ? import_get(&wanted, NULL, &why) : NULL;
    mpixq_ipc_fd_leave(&end->their_fd); /* what is open needs it no more */
    return why != NULL || see_told(end) ? why : NO_TOLD;
}

/* Where the GPU sees what belongs to the other end; and what the receiver's host is told. */
struct other {
    char *buffer, *slots;
    struct mpixq_told *told;
    struct mpixq_end *end;
};

static struct other find_other(const struct ipc_end *end)
{
    const struct ipc_blob *theirs = &end->theirs;
    struct other other = {.buffer = (char *)(uintptr_t)theirs->address,
                          .told = end->place->told_seen + end->number,
                          .slots = mpixq_share_slots(end->place->share),
                          .end = mpixq_share_end(end->place->share, theirs->number)};

    if (end->their_ends != NULL) {
        other.buffer = end->their_buffer != NULL ? end->their_buffer->seen + theirs->offset : NULL;
        other.slots = mpixq_share_slots_of(end->their_ends->seen);
        other.end = mpixq_share_end_of(end->their_ends->seen, theirs->number);
    }
    if (end->is_send) {
        other.told = end->their_told != NULL
                         ? (struct mpixq_told *)(void *)end->their_told->seen + theirs->number
                         : end->place->told_seen + theirs->number;
    }
    return other;
}

static void fill_move(struct ipc_end *end)
{
    struct mpixq_move *move = &end->gpu.move;
    struct other other = find_other(end);
    /* What goes into slots is small. */
    bool small = end->slots.first >= 0 || end->pair->bytes <= ONE_BLOCK;
    uint64_t blocks = small ? 1 : (end->pair->bytes + PER_BLOCK - 1) / PER_BLOCK;

    *move = (struct mpixq_move){.to = end->is_send ? other.buffer : end->buffer,
                                .from = end->is_send ? end->buffer : other.buffer,
                                .bytes = end->pair->bytes,
                                .own = mpixq_share_end(end->place->share, end->number),
                                .peer = other.end,
                                .own_told = end->place->told_seen + end->number,
                                .told = other.told,
                                .blocks = blocks > BLOCKS ? BLOCKS : (unsigned)blocks,
                                .is_send = end->is_send,
                                .is_ready = end->is_ready};
    end->gpu.base = end->base;
    if (end->slots.first >= 0) {
        end->gpu.first_slot = (end->is_send ? other.slots : mpixq_share_slots(end->place->share));
        end->gpu.first_slot += end->slots.first;
    }
    end->gpu.state =
        end->is_send == (end->slots.first >= 0) ? &move->peer->state : &move->own->state;
    /* A ready send waits for nobody, so there is nothing to take back. */
    if (end->is_ready && end->is_send && end->slots.first < 0) {
        end->gpu.state = NULL;
    }
}

void mpixq_ipc_is_open(struct ipc_end *end)
{
    fill_move(end);
    atomic_store_explicit(&end->prepared.place, mpixq_share_place(end->place->share),
                          memory_order_release);
}

/* An end whose request was freed has let go of its buffer, and is not to be in the list: who looks
 * through that asks what graphs have the pair, which another thread may be about to forget. */
void mpixq_ipc_gone(struct ipc_end *end)
{
    mpixq_lock_acquire(&mpixq_ipc.opened.lists);
    if (!atomic_exchange(&end->is_gone, true) && !atomic_load(&end->is_free)) {
        DL_APPEND2(mpixq_ipc.opened.gone, end, prev_gone, next_gone);
    }
    mpixq_lock_release(&mpixq_ipc.opened.lists);
}

/* Are all starts over that can touch the peer's buffer? Of a pair that has failed, or whose sends
 * do not ask for their receives, that may be any. */
static bool is_over(struct ipc_end *end)
{
    uint64_t started, theirs = mpixq_pair_peer_starts(end->pair);
    bool any = end->is_ready || mpixq_pair_has_failed(end->pair);

    if (mpixq_graphs_have(end->pair)) {
        return false;
    }
    mpixq_ipc_count(end);
    started = mpixq_pair_started(end->pair);
    return ipc_done(end) >= (any || started < theirs ? started : theirs);
}

/* Under the lists' lock. */
static void take_from_gone(struct ipc_end *end)
{
    if (end->prev_gone != NULL) {
        DL_DELETE2(mpixq_ipc.opened.gone, end, prev_gone, next_gone);
        end->prev_gone = NULL;
    }
}

/* Under the open lock, as an end may be about to get its buffer. */
static void let_go_of_gone(void)
{
    struct ipc_end *end, *next;

    mpixq_lock_acquire(&mpixq_ipc.opened.lists);
    DL_FOREACH_SAFE2(mpixq_ipc.opened.gone, end, next, next_gone)
    {
        if (is_over(end)) {
            leave(&end->their_buffer);
            take_from_gone(end);
        }
    }
    mpixq_lock_release(&mpixq_ipc.opened.lists);
}

void mpixq_ipc_let_go(struct ipc_end *end)
{
    mpixq_lock_acquire(&mpixq_ipc.opened.lists);
    take_from_gone(end);
    leave(&end->their_buffer);
    leave(&end->their_ends);
    leave(&end->their_told);
    mpixq_lock_release(&mpixq_ipc.opened.lists);
}

/* Under the open lock. */
static void close_unused(void)
{
    struct ipc_import *import;

    let_go_of_gone();
    if (!mpixq_streams_pause_all()) {
        return;
    }
    while ((import = take_unused(false)) != NULL) {
        import_close(import);
    }
    mpixq_streams_resume_waits();
}

static bool any_open(void)
{
    bool any;

    mpixq_lock_acquire(&mpixq_ipc.opened.lists);
    any = mpixq_ipc.opened.imports != NULL;
    mpixq_lock_release(&mpixq_ipc.opened.lists);
    return any;
}

void mpixq_ipc_close_unused(void)
{
    if (any_open()) {
        mpixq_lock_acquire(&mpixq_ipc.opened.lock);
        close_unused();
        mpixq_lock_release(&mpixq_ipc.opened.lock);
    }
    mpixq_share_tidy();
}

void mpixq_ipc_clean_up(void)
{
    if (any_open()) {
        mpixq_match_kick(); /* peers may have said that they have freed something */
    }
    mpixq_ipc_close_unused();
}

/* Opening. Under the open lock; NULL, or why not. */
static const char *open_all(struct ipc_end *end)
{
    struct mpixq_share *share = end->place->share;
    const char *why;

    close_unused(); /* first: what is opened may have the same handle */
    if (!mpixq_share_may_open(share)) {
        return "a wait is pending on a stream, and to open memory might wait for it";
    }
    why = get_all(end);
    if (why == NULL && end->is_hidden) {
        struct mpixq_end *words = mpixq_share_end_of(end->their_ends->seen, end->theirs.number);

        why = mpixq_share_try(share, &end->theirs.gpu, words);
    }
    return why;
}

bool mpixq_ipc_open(struct ipc_end *end, char *why_p, size_t room)
{
    const char *why;
    bool held;

    mpixq_lock_acquire(&mpixq_ipc.opened.lock);
    held = mpixq_streams_pause_waits();
    why = open_all(end);
    if (held) {
        mpixq_streams_resume_waits();
    }
    mpixq_lock_release(&mpixq_ipc.opened.lock);
    mpixq_share_tidy();
    if (why == NULL) {
        mpixq_ipc_is_open(end);
    } else {
        (void)snprintf(why_p, room, "memory of the peer cannot be opened: %s", why);
    }
    return why == NULL;
}

void mpixq_ipc_imports_close(void)
{
    struct ipc_import *import;

    while ((import = take_unused(true)) != NULL) {
        import_close(import);
    }
    mpixq_ipc_pages_close();
}
