/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "shared.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "rma.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/env.h"
#include "util/ident.h"
#include "util/process.h"
#include "window.h"

/* What is put or got is copied in pieces, between which others get the lock of the window. */
enum { PAGE = 4096, PIECE = 1 << 20, MOST_PARTS = 1 << 20 };

/* The first page, by which a peer sees that it has opened what it was told of. */
struct head {
    uint64_t mark, bytes, words_bytes;
};

struct peer {
    struct mpixq_rma_shared *shared;
    char *memory;
    struct head head;
    struct peer *next;
};

struct mpixq_rma_shared {
    int file;
    char *memory;
    struct head head;
    struct peer *peers;
    int rank;       /* in the window */
    void *over;     /* the part that was copied last, until that is told; NULL: none */
    uint64_t moved; /* bytes since all was told */
};

/* What others are told. No padding. */
struct blob {
    uint64_t form;
    struct mpixq_process process;
    uint64_t file;
    struct head head;
};
#define FORM 0x6d71776e64313031ull /* no other channel's */
#define MOST_BYTES ((uint64_t)1 << 60)
_Static_assert(sizeof(struct blob) <= MPIXQ_NIC_BLOB, "it can be told");

static uint64_t pages(uint64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static uint64_t room_of(const struct head *head)
{
    return PAGE + pages(head->words_bytes) + pages(head->bytes);
}

static char *words_of(char *memory)
{
    return memory + PAGE;
}

static char *base_of(char *memory, uint64_t words_bytes)
{
    return memory + PAGE + pages(words_bytes);
}

/* ---- The memory of this process ---- */

static uint64_t new_mark(const void *memory)
{
    struct mpixq_ident mark = {.low = 2};
    const uint64_t mine[] = {mpixq_now_ns(), (uint64_t)getpid(), (uint64_t)(uintptr_t)memory};

    return mpixq_ident_add(mark, mine, sizeof mine).low | 1;
}

static struct mpixq_rma_shared *shared_new(uint64_t bytes, uint64_t words_bytes)
{
    struct mpixq_rma_shared *shared;

    if (mpixq_env.shared_windows == MPIXQ_SHARED_WINDOWS_NO || bytes > MOST_BYTES) {
        return NULL;
    }
    shared = mpixq_alloc(sizeof *shared); /* freed in give, or here */
    if (shared == NULL) {
        return NULL;
    }
    shared->head = (struct head){.bytes = bytes, .words_bytes = words_bytes};
    shared->memory = MAP_FAILED;
    shared->file = mpixq_alloc_file("mpix-queue window", room_of(&shared->head));
    if (shared->file >= 0) {
        shared->memory =
            mmap(NULL, room_of(&shared->head), PROT_READ | PROT_WRITE, MAP_SHARED, shared->file, 0);
    }
    if (shared->memory == MAP_FAILED) {
        if (shared->file >= 0) {
            (void)close(shared->file);
        }
        mpixq_free(shared);
        return NULL;
    }
    (void)madvise(shared->memory, room_of(&shared->head), MADV_HUGEPAGE);
    shared->head.mark = new_mark(shared->memory);
    memcpy(shared->memory, &shared->head, sizeof shared->head);
    return shared;
}

void mpixq_rma_memory_take(struct mpixq_window *window, const struct mpixq_window_spec *spec)
{
    uint64_t words_bytes = MPIXQ_RMA_PLACES * sizeof *window->words;
    bool is_made = window->owns_base && spec->wants == NULL;

    window->shared = is_made ? shared_new(spec->bytes, words_bytes) : NULL;
    if (window->shared != NULL) {
        window->words = (struct mpixq_signal_words *)(void *)words_of(window->shared->memory);
        window->base = base_of(window->shared->memory, words_bytes);
        return;
    }
    window->words = mpixq_alloc_aligned(PAGE, words_bytes);
    if (is_made) {
        window->base = mpixq_alloc_aligned(PAGE, pages(spec->bytes));
    }
}

void mpixq_rma_memory_give(struct mpixq_window *window)
{
    struct mpixq_rma_shared *shared = window->shared;

    if (shared != NULL && !window->in_use) {
        (void)munmap(shared->memory, room_of(&shared->head));
    }
    if (shared != NULL) {
        (void)close(shared->file);
        mpixq_free(shared);
        window->shared = NULL;
        return;
    }
    if (!window->in_use && window->owns_base && window->made.gpu == NULL) {
        mpixq_free(window->base);
    }
    mpixq_free(window->words);
}

/* ---- That of others ---- */

static struct mpixq_rma_shared *shared_of(const struct mpixq_nic_window *window)
{
    return (struct mpixq_rma_shared *)(uintptr_t)window;
}

struct mpixq_nic_window *mpixq_rma_shared_open(struct mpixq_rma_shared *shared, int rank)
{
    shared->rank = rank;
    return (struct mpixq_nic_window *)(uintptr_t)shared;
}

/* Copies are made by who calls. */
static bool shared_close(struct mpixq_nic_window *window)
{
    struct mpixq_rma_shared *shared = shared_of(window);
    struct peer *peer, *next;

    LL_FOREACH_SAFE(shared->peers, peer, next)
    {
        (void)munmap(peer->memory, room_of(&peer->head));
        mpixq_free(peer);
    }
    shared->peers = NULL;
    return true;
}

/* They add to the word that the first NIC would add to. */
static int shared_nics(const struct mpixq_nic_window *window)
{
    (void)window;
    return 1;
}

static size_t shared_tell(const struct mpixq_nic_window *window,
                          unsigned char bytes[MPIXQ_NIC_BLOB])
{
    const struct mpixq_rma_shared *shared = shared_of(window);
    const struct blob blob = {.form = FORM,
                              .process = mpixq_process_self(),
                              .file = (uint64_t)shared->file,
                              .head = shared->head};

    memcpy(bytes, &blob, sizeof blob);
    return sizeof blob;
}

/* Why it cannot be, or NULL. What was opened may be of another process, or another file by now. */
static const char *map_file(int file, const struct head *told, struct peer *peer)
{
    off_t end = lseek(file, 0, SEEK_END);

    if (end < 0 || (uint64_t)end != room_of(told)) {
        return "its memory is another one by now";
    }
    peer->memory = mmap(NULL, room_of(told), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (peer->memory == MAP_FAILED) {
        return "its memory cannot be mapped";
    }
    memcpy(&peer->head, peer->memory, sizeof peer->head);
    if (memcmp(&peer->head, told, sizeof *told) != 0) {
        (void)munmap(peer->memory, room_of(told));
        return "its memory is another one by now";
    }
    return NULL;
}

static const char *map_peer(const struct blob *blob, struct peer *peer)
{
    const char *why = "its memory cannot be opened";
    char path[64];
    int file;

    if (!mpixq_process_is_seen(&blob->process)) {
        return "it is on another node, or in another container";
    }
    (void)snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)blob->process.pid,
                   (unsigned long long)blob->file);
    file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* whatever it is by now */
    if (file >= 0) {
        why = map_file(file, &blob->head, peer);
        (void)close(file);
    }
    return why;
}

static struct mpixq_nic_peer *shared_meet(struct mpixq_nic_window *window, const void *bytes,
                                          size_t n, const char **why_p)
{
    struct mpixq_rma_shared *shared = shared_of(window);
    struct peer *peer;
    struct blob blob;

    *why_p = "what it says of its memory makes no sense";
    if (n != sizeof blob) {
        return NULL;
    }
    memcpy(&blob, bytes, sizeof blob);
    if (blob.form != FORM || blob.head.words_bytes != shared->head.words_bytes ||
        blob.head.bytes > MOST_BYTES) {
        return NULL;
    }
    peer = mpixq_alloc(sizeof *peer); /* freed in close, or here */
    *why_p = peer == NULL ? "no memory" : map_peer(&blob, peer);
    if (*why_p != NULL) {
        mpixq_free(peer);
        return NULL;
    }
    peer->shared = shared;
    LL_PREPEND(shared->peers, peer);
    return (struct mpixq_nic_peer *)(void *)peer;
}

static const struct peer *peer_of(const struct mpixq_nic_peer *peer)
{
    return (const struct peer *)(const void *)peer;
}

static uint64_t shared_bytes(const struct mpixq_nic_peer *peer)
{
    return peer_of(peer)->head.bytes;
}

static uint64_t shared_parts(const struct mpixq_nic_window *window, uint64_t bytes,
                             uint64_t *piece_p)
{
    uint64_t piece = (bytes - 1) / MOST_PARTS + 1;

    (void)window;
    piece = piece > PIECE ? piece : PIECE;
    *piece_p = piece;
    return (bytes - 1) / piece + 1;
}

/* Count a part, and leave a note if it was one too many. */
static void add(const struct peer *peer, const struct mpixq_nic_part *part)
{
    struct mpixq_signal_words *words =
        (struct mpixq_signal_words *)(void *)(words_of(peer->memory) + part->word -
                                              offsetof(struct mpixq_signal_words, nic));
    uint64_t nobody = 0, word;

    word = (uint64_t)atomic_fetch_add(&words->nic[0], (int64_t)part->addend) + part->addend;
    word += (uint64_t)atomic_load(&words->host);
    if (mpixq_signal_has_overflow((int64_t)word) &&
        atomic_compare_exchange_strong(&words->surplus_by, &nobody,
                                       (uint64_t)peer->shared->rank + 1)) {
        atomic_store(&words->surplus_at, part->offset);
    }
}

/* Copied at once, and told when it is taken. */
static bool shared_start(const struct mpixq_nic_part *part)
{
    const struct peer *peer = peer_of(part->peer);
    struct mpixq_rma_shared *shared = peer->shared;
    char *theirs;

    if (shared->over != NULL || shared->moved >= PIECE) {
        return false;
    }
    theirs = base_of(peer->memory, peer->head.words_bytes) + part->offset;
    memcpy(part->is_get ? part->data : theirs, part->is_get ? theirs : part->data, part->bytes);
    if (part->tells) {
        add(peer, part);
    }
    shared->over = part->arg;
    shared->moved += part->bytes;
    return true;
}

static bool shared_take(struct mpixq_nic_window *window, void **arg_p, const char **why_p)
{
    struct mpixq_rma_shared *shared = shared_of(window);

    *arg_p = shared->over;
    *why_p = NULL;
    shared->over = NULL;
    if (*arg_p == NULL) {
        shared->moved = 0;
    }
    return *arg_p != NULL;
}

/* Who sees a process sees it end, too. */
static bool shared_has_lost(struct mpixq_nic_peer *peer)
{
    (void)peer;
    return false;
}

const struct mpixq_channel_windows *mpixq_rma_shared_windows(void)
{
    static const struct mpixq_channel_windows ops = {.has_gets = true,
                                                     .close = shared_close,
                                                     .nics = shared_nics,
                                                     .tell = shared_tell,
                                                     .meet = shared_meet,
                                                     .bytes = shared_bytes,
                                                     .parts = shared_parts,
                                                     .start = shared_start,
                                                     .take = shared_take,
                                                     .has_lost = shared_has_lost};

    return &ops;
}
