/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What belongs to peers. Ends that were matched, perhaps by the progress thread, wait in a list
 * until a thread of the program opens what they need: at the end of its match. Each thing is opened
 * once, however many ends need it, and closed when the last of them is freed, a buffer also when
 * the peers' ends are: later, if a wait of ours is in a stream by then, since to close it waits
 * until the GPU is idle.
 *
 * A peer that has freed its end may have freed the buffer too. It had completed its starts, or
 * taken them back; so of ours those of the same numbers may be under way still, and all others
 * find nobody. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "core/alloc.h"
#include "core/log.h"
#include "core/match.h"
#include "ipc.h"

enum {
    TOLD_BYTES = MPIXQ_SHARE_ENDS * (int)sizeof(uint64_t),
    ONE_BLOCK = 65536, /* bytes that a block moves sooner than several agree who does */
    PER_BLOCK = 16384, /* bytes that each of several moves */
    BLOCKS = 128       /* that move a message at most: more are no faster */
};

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

/* Held while something is opened or closed: nobody whom a GPU may wait for takes it. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
/* Guards the lists, and how many use an import. A leaf. */
static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ipc_import *imports;
static struct ipc_end *matched;
static struct ipc_end
    *gone; /* their peers have freed their ends, and they may have a buffer open */

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

    pthread_mutex_lock(&lists_lock);
    LL_FOREACH(imports, import)
    {
        if (has_handle(import, wanted)) {
            import->users += import->allocation == wanted->allocation;
            break;
        }
    }
    pthread_mutex_unlock(&lists_lock);
    return import;
}

static void *map_file(const struct mpixq_process *process, int file)
{
    char path[64];
    void *host;
    int own;

    (void)snprintf(path, sizeof path, "/proc/%llu/fd/%d", (unsigned long long)process->pid, file);
    own = open(path, O_RDWR | O_CLOEXEC);
    if (own < 0) {
        return MAP_FAILED;
    }
    host = mmap(NULL, TOLD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
    (void)close(own);
    return host;
}

static void unmap_file(struct ipc_import *import)
{
    bool is_ours = import->seen == NULL || mpixq_share_unmap(import->share, import->host) ||
                   mpixq_memory_is_over(import->life);

    if (import->host != NULL && is_ours) {
        (void)munmap(import->host, TOLD_BYTES);
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
static bool import_open(struct ipc_import *import, const struct ipc_fd *fd)
{
    struct mpixq_gpu_owner owner;
    void *host;

    if (import->file < 0) {
        memcpy(&owner, &import->process, sizeof owner);
        import->seen =
            mpixq_share_open(import->share, &owner, &import->memory, mpixq_ipc_fd_number(fd));
        return import->seen != NULL;
    }
    host = map_file(&import->process, import->file);
    if (host == MAP_FAILED) {
        mpixq_err("words of process %llu cannot be opened",
                  (unsigned long long)import->process.pid);
        return false;
    }
    import->host = host;
    import->seen = mpixq_share_map(import->share, host, TOLD_BYTES);
    return import->seen != NULL;
}

/* Under the open lock. */
static struct ipc_import *import_get(const struct ipc_import *wanted, const struct ipc_fd *fd)
{
    struct ipc_import *import = find_import(wanted);

    if (import != NULL && import->allocation == wanted->allocation) {
        return import;
    }
    if (import != NULL) {
        /* Opened once more by its handle it would be what is open already. */
        mpixq_err("memory of process %llu cannot be opened: what was at its address before is "
                  "still open",
                  (unsigned long long)wanted->process.pid);
        return NULL;
    }
    import = mpixq_alloc(sizeof *import); /* freed in import_close */
    if (import == NULL) {
        return NULL;
    }
    *import = *wanted;
    import->users = 1;
    if (!import_open(import, fd)) {
        import_close(import);
        return NULL;
    }
    pthread_mutex_lock(&lists_lock);
    LL_PREPEND(imports, import);
    pthread_mutex_unlock(&lists_lock);
    return import;
}

/* One that nobody uses, out of the list. */
static struct ipc_import *take_unused(bool all)
{
    struct ipc_import *import;

    pthread_mutex_lock(&lists_lock);
    LL_FOREACH(imports, import)
    {
        if (all || import->users == 0) {
            LL_DELETE(imports, import);
            break;
        }
    }
    pthread_mutex_unlock(&lists_lock);
    return import;
}

/* Ends. */

/* Does it need no buffer? */
static bool needs_none(const struct ipc_end *end)
{
    return end->req->bytes == 0 || atomic_load(&end->is_gone);
}

static bool get_all(struct ipc_end *end)
{
    struct ipc_import wanted = {.share = end->place->share,
                                .life = end->life,
                                .process = end->theirs.process,
                                .gpu = end->theirs.gpu,
                                .file = -1};

    if (!needs_none(end)) {
        wanted.memory = end->theirs.buffer;
        wanted.allocation = end->theirs.allocation;
        end->their_buffer = import_get(&wanted, end->their_fd);
    }
    wanted.allocation = end->theirs.life;
    wanted.memory = (struct mpixq_gpu_export){.handle = end->theirs.ends, .file = -1};
    end->their_ends = import_get(&wanted, NULL);
    wanted.allocation = 0;
    wanted.memory = (struct mpixq_gpu_export){.file = -1};
    wanted.file = end->theirs.file;
    end->their_told = import_get(&wanted, NULL);
    mpixq_ipc_fd_leave(&end->their_fd); /* what is open needs it no more */
    return (end->their_buffer != NULL || needs_none(end)) && end->their_ends != NULL &&
           end->their_told != NULL;
}

/* Where the GPU sees what belongs to the other end. */
struct other {
    char *buffer, *told, *slots;
    struct mpixq_end *end;
};

static struct other find_other(const struct ipc_end *end)
{
    const struct ipc_blob *theirs = &end->theirs;
    struct other other = {.buffer = (char *)(uintptr_t)theirs->address,
                          .told = end->place->told_seen,
                          .slots = mpixq_share_slots(end->place->share),
                          .end = mpixq_share_end(end->place->share, theirs->number)};

    if (end->their_ends != NULL) {
        other.buffer = end->their_buffer != NULL ? end->their_buffer->seen + theirs->offset : NULL;
        other.told = end->their_told->seen;
        other.slots = mpixq_share_slots_of(end->their_ends->seen);
        other.end = mpixq_share_end_of(end->their_ends->seen, theirs->number);
    }
    other.told += theirs->number * sizeof(uint64_t);
    return other;
}

static void fill_move(struct ipc_end *end)
{
    struct mpixq_move *move = &end->move;
    struct other other = find_other(end);
    /* What goes into slots is small. */
    bool small = end->slots.first >= 0 || end->req->bytes <= ONE_BLOCK;
    uint64_t blocks = small ? 1 : (end->req->bytes + PER_BLOCK - 1) / PER_BLOCK;

    *move = (struct mpixq_move){.to = end->is_send ? other.buffer : end->buffer,
                                .from = end->is_send ? end->buffer : other.buffer,
                                .bytes = end->req->bytes,
                                .own = mpixq_share_end(end->place->share, end->number),
                                .peer = other.end,
                                .own_told = end->place->told_seen + end->number * sizeof(uint64_t),
                                .peer_told = other.told,
                                .blocks = blocks > BLOCKS ? BLOCKS : (unsigned)blocks,
                                .is_send = end->is_send,
                                .is_ready = end->is_ready};
    if (end->slots.first >= 0) {
        end->first_slot = (end->is_send ? other.slots : mpixq_share_slots(end->place->share));
        end->first_slot += end->slots.first;
    }
    /* A ready send waits for nobody, so there is nothing to take back; without slots its receive
     * never starts. */
    if (end->is_ready && end->slots.first < 0) {
        end->state = end->is_send ? NULL : &move->peer->state;
    } else {
        end->state = end->is_send ? &move->peer->state : &move->own->state;
    }
}

/* Who matches, or starts it first, is told. */
static void fail_one(struct mpixq_request *req)
{
    char what[64], text[256];

    (void)snprintf(text, sizeof text, "%s (rank %d of MPI_COMM_WORLD): %s",
                   mpixq_request_describe(req, what, sizeof what), req->peer_world,
                   mpixq_error_text(MPIXQ_E_PEER_MEMORY));
    mpixq_err("%s", text);
    mpixq_match_fail(req->id, mpixq_error_code_saying(MPIXQ_E_PEER_MEMORY, text),
                     "opening of memory");
}

static void open_one(struct ipc_end *end)
{
    struct mpixq_request *req = end->req;

    if (mpixq_ipc_is_own(&end->theirs) || get_all(end)) {
        fill_move(end);
        atomic_store_explicit(&req->prepared->place, mpixq_share_place(end->place->share),
                              memory_order_release);
    } else {
        fail_one(req);
    }
}

static struct ipc_end *take_matched(void)
{
    struct ipc_end *end;

    pthread_mutex_lock(&lists_lock);
    end = matched;
    if (end != NULL) {
        LL_DELETE2(matched, end, next_matched);
    }
    pthread_mutex_unlock(&lists_lock);
    return end;
}

void mpixq_ipc_matched(struct ipc_end *end)
{
    pthread_mutex_lock(&lists_lock);
    LL_PREPEND2(matched, end, next_matched);
    pthread_mutex_unlock(&lists_lock);
}

static void leave(struct ipc_import **import_p)
{
    if (*import_p != NULL) {
        (*import_p)->users--;
        *import_p = NULL;
    }
}

void mpixq_ipc_gone(struct ipc_end *end)
{
    pthread_mutex_lock(&lists_lock);
    if (!atomic_exchange(&end->is_gone, true)) {
        DL_APPEND2(gone, end, prev_gone, next_gone);
    }
    pthread_mutex_unlock(&lists_lock);
}

/* Are all starts over that can touch the peer's buffer? Of a pair that has failed, or whose sends
 * do not ask for their receives, that may be any. */
static bool is_over(const struct ipc_end *end)
{
    uint64_t started = atomic_load(&end->req->epoch), theirs = atomic_load(&end->req->peer_end) - 1;
    bool any = end->is_ready || atomic_load(&end->req->failed);

    return ipc_done(end) >= (any || started < theirs ? started : theirs);
}

/* Under the lists' lock. */
static void take_from_gone(struct ipc_end *end)
{
    if (end->prev_gone != NULL) {
        DL_DELETE2(gone, end, prev_gone, next_gone);
        end->prev_gone = NULL;
    }
}

/* Under the open lock, as an end may be about to get its buffer. */
static void let_go_of_gone(void)
{
    struct ipc_end *end, *next;

    pthread_mutex_lock(&lists_lock);
    DL_FOREACH_SAFE2(gone, end, next, next_gone)
    {
        if (is_over(end)) {
            leave(&end->their_buffer);
            take_from_gone(end);
        }
    }
    pthread_mutex_unlock(&lists_lock);
}

void mpixq_ipc_let_go(struct ipc_end *end)
{
    pthread_mutex_lock(&lists_lock);
    take_from_gone(end);
    leave(&end->their_buffer);
    leave(&end->their_ends);
    leave(&end->their_told);
    pthread_mutex_unlock(&lists_lock);
}

void mpixq_ipc_settle(struct ipc_end *end)
{
    struct ipc_end *other;

    pthread_mutex_lock(&open_lock);
    pthread_mutex_lock(&lists_lock);
    LL_FOREACH2(matched, other, next_matched)
    {
        if (other == end) {
            LL_DELETE2(matched, end, next_matched);
            break;
        }
    }
    pthread_mutex_unlock(&lists_lock);
    pthread_mutex_unlock(&open_lock);
}

/* Under the open lock. */
static void close_unused(void)
{
    struct ipc_import *import;

    let_go_of_gone();
    if (!mpixq_streams_hold_waits()) {
        return;
    }
    while ((import = take_unused(false)) != NULL) {
        import_close(import);
    }
    mpixq_streams_let_waits();
}

/* There may be waits by now that had not been there when the pair was offered. */
void mpixq_ipc_open_matched(void)
{
    struct ipc_end *end;
    bool held;

    pthread_mutex_lock(&open_lock);
    close_unused(); /* first: what is opened may have the same handle */
    held = mpixq_streams_hold_waits();
    while ((end = take_matched()) != NULL) {
        open_one(end);
    }
    if (held) {
        mpixq_streams_let_waits();
    }
    pthread_mutex_unlock(&open_lock);
    mpixq_share_tidy();
}

static bool any_open(void)
{
    bool any;

    pthread_mutex_lock(&lists_lock);
    any = imports != NULL;
    pthread_mutex_unlock(&lists_lock);
    return any;
}

void mpixq_ipc_tidy(void)
{
    if (any_open()) {
        mpixq_match_kick(); /* peers may have said that they have freed something */
        pthread_mutex_lock(&open_lock);
        close_unused();
        pthread_mutex_unlock(&open_lock);
    }
    mpixq_share_tidy();
}

void mpixq_ipc_imports_close(void)
{
    struct ipc_import *import;

    matched = NULL;
    while ((import = take_unused(true)) != NULL) {
        import_close(import);
    }
}
