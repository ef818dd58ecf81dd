/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel that doc/design.md, "Adding a channel", leads to: small messages between processes of
 * one node, by a slot in memory that both have mapped. A send copies its message there once the
 * message before was taken, and is complete then; a receive copies it out. It is built by
 * channel_example.sh alone, and shows what a channel has to have: no more than this file.
 *
 * Its words count starts: sent is n once message n lies in the slot, taken once it was copied out.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm/layout.h"
#include "core/channel.h"
#include "core/failure.h"
#include "core/queue.h"
#include "core/trace_pairs.h"
#include "match/wire.h"
#include "util/alloc.h"
#include "util/progress.h"

enum { SLOT_BYTES = 65536, NODE = 64, NAME = 64 };

struct slot {
    _Atomic uint64_t sent, taken;
    _Alignas(64) char data[];
};

/* What the sender says of its node, and what the receiver says of the slot. */
struct slot_blob {
    char node[NODE], name[NAME];
};

struct slot_end {
    struct slot *slot;
    char name[NAME];
    size_t bytes; /* mapped */
    struct slot_end *next;
    struct mpixq_pair *pair;
};

/* All ends, for the progress thread: also the send whose peer still has the message before drives
 * itself on, if nobody waits for it. The lock is held while a message is copied, so an end moves
 * its messages once. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot_end *ends;

static const char *obstacle(const struct mpixq_pair *pair)
{
    enum mpixq_mode mode = pair->message.mode;

    return pair->bytes > SLOT_BYTES      ? "the message is larger than a slot"
           : pair->in_gpu || pair->moves ? "the buffer is in memory of a GPU"
           : mode == MPIXQ_MODE_SSEND    ? "a synchronous send completes with its receive"
           : mode == MPIXQ_MODE_BSEND    ? "a buffered send completes without its receive"
           : !mpixq_is_contiguous(pair->message.type) ? "the datatype has gaps"
                                                      : NULL;
}

static bool slot_offer(struct mpixq_pair *pair, struct mpixq_blob *blob, const char **why_p)
{
    struct slot_blob mine = {"", ""};

    *why_p = obstacle(pair);
    if (*why_p == NULL && gethostname(mine.node, sizeof mine.node - 1) != 0) {
        *why_p = "the node has no name";
    }
    memcpy(blob->bytes, &mine, sizeof mine);
    blob->length = sizeof mine;
    return *why_p == NULL;
}

/* Map the slot of this name, which is made if it is to be. */
static struct slot_end *end_new(struct mpixq_pair *pair, const char *name, int flags)
{
    struct slot_end *end = mpixq_alloc(sizeof *end); /* freed in slot_retire */
    int file = end != NULL ? shm_open(name, O_RDWR | flags, 0600) : -1;
    void *memory = MAP_FAILED;

    if (file >= 0) {
        end->bytes = sizeof(struct slot) + (size_t)pair->bytes;
        if (flags == 0 || ftruncate(file, (off_t)end->bytes) == 0) {
            memory = mmap(NULL, end->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        }
        (void)close(file);
    }
    if (memory == MAP_FAILED) {
        mpixq_free(end);
        return NULL;
    }
    end->slot = memory;
    (void)snprintf(end->name, sizeof end->name, "%s", name);
    end->pair = pair;
    pair->end = end;
    pthread_mutex_lock(&lock);
    end->next = ends;
    ends = end;
    pthread_mutex_unlock(&lock);
    return end;
}

static enum mpixq_error slot_accept(struct mpixq_pair *pair, const struct mpixq_blob *theirs,
                                    struct mpixq_blob *mine, const char **why_p)
{
    struct slot_blob blob, here = {"", ""};

    if (theirs->length != sizeof blob) {
        return MPIXQ_E_PROTOCOL;
    }
    memcpy(&blob, theirs->bytes, sizeof blob);
    *why_p = obstacle(pair);
    if (*why_p == NULL && (gethostname(here.node, sizeof here.node - 1) != 0 ||
                           strncmp(here.node, blob.node, sizeof here.node) != 0)) {
        *why_p = "the peer is on another node";
    }
    if (*why_p != NULL) {
        return MPIXQ_E_NO_CHANNEL;
    }
    (void)snprintf(here.name, sizeof here.name, "/mpixq-slot-%ld-%llu", (long)getpid(),
                   (unsigned long long)pair->id);
    if (end_new(pair, here.name, O_CREAT | O_EXCL) == NULL) {
        *why_p = "no shared memory";
        return MPIXQ_E_NO_MEMORY;
    }
    memcpy(mine->bytes, &here, sizeof here);
    mine->length = sizeof here;
    return MPIXQ_E_NONE;
}

static enum mpixq_error slot_connect(struct mpixq_pair *pair, const struct mpixq_blob *theirs)
{
    struct slot_blob blob;

    if (theirs->length != sizeof blob) {
        return MPIXQ_E_PROTOCOL;
    }
    memcpy(&blob, theirs->bytes, sizeof blob);
    blob.name[sizeof blob.name - 1] = '\0';
    return end_new(pair, blob.name, 0) != NULL ? MPIXQ_E_NONE : MPIXQ_E_PROTOCOL;
}

/* Under the lock: move the message of the start that is under way, if the other end lets it. */
static void move(struct slot_end *end)
{
    struct mpixq_pair *pair = end->pair;
    struct slot *slot = end->slot;
    uint64_t n = mpixq_pair_executed(pair);

    if (!mpixq_pair_is_in_flight(pair)) {
        return;
    }
    if (mpixq_pair_is_send(pair)) {
        if (atomic_load(&slot->taken) != n - 1) {
            return;
        }
        memcpy(slot->data, mpixq_pair_buffer(pair), (size_t)pair->bytes);
        atomic_store(&slot->sent, n);
    } else {
        if (atomic_load(&slot->sent) != n) {
            return;
        }
        memcpy((void *)mpixq_pair_buffer(pair), slot->data, (size_t)pair->bytes);
        atomic_store(&slot->taken, n);
    }
    mpixq_trace_completed(pair);
    mpixq_pair_raise_done(pair, n);
    atomic_fetch_sub(&mpixq_progress.outstanding, 1);
}

static bool slot_poll(struct mpixq_pair *pair)
{
    pthread_mutex_lock(&lock);
    move(pair->end);
    pthread_mutex_unlock(&lock);
    return mpixq_pair_is_complete(pair);
}

static void poll_args(void *const args[], int n)
{
    for (int i = 0; i < n; i++) {
        (void)slot_poll(args[i]);
    }
}

static void slot_drive(void)
{
    pthread_mutex_lock(&lock);
    for (struct slot_end *end = ends; end != NULL; end = end->next) {
        move(end);
    }
    pthread_mutex_unlock(&lock);
}

static void clean_up_nothing(void)
{
}

/* The stream has come to the starts, or the host makes them. */
static void run_starts(void *const args[], int n, bool on_gpu)
{
    (void)on_gpu;
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = args[i];
        struct mpixq_queue *queue = atomic_load(&pair->queue);

        if (queue != NULL && mpixq_queue_has_failed(queue)) {
            mpixq_failure_abandon(pair);
            continue;
        }
        mpixq_trace_start_executed(pair);
        atomic_fetch_add(&mpixq_progress.outstanding, 1); /* the progress thread drives it */
        atomic_fetch_add(&pair->executed, 1);
        (void)slot_poll(pair);
    }
    mpixq_progress_wake();
}

static int slot_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                      struct mpixq_op list[])
{
    (void)queue;
    for (int i = 0; i < n; i++) {
        mpixq_op_call(&list[i], MPIXQ_OP_CALL, run_starts, pairs[i]);
    }
    return n;
}

static int slot_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op *op)
{
    mpixq_op_wait(op, MPIXQ_OP_WAIT, pair, mpixq_pair_done_word(pair), mpixq_pair_started(pair),
                  &queue->failed);
    op->poll = poll_args;
    return 1;
}

/* A message that was sent stays in the slot, of which the receive has a mapping of its own. */
static bool slot_retire(struct mpixq_pair *pair)
{
    struct slot_end *end = pair->end, **place = &ends;

    pthread_mutex_lock(&lock);
    while (*place != end) {
        place = &(*place)->next;
    }
    *place = end->next;
    pthread_mutex_unlock(&lock);
    if (mpixq_pair_is_in_flight(pair)) { /* it has failed */
        atomic_fetch_sub(&mpixq_progress.outstanding, 1);
    }
    if (!mpixq_pair_is_send(pair)) {
        (void)shm_unlink(end->name);
    }
    (void)munmap(end->slot, end->bytes);
    mpixq_free(end);
    pair->end = NULL;
    return true;
}

static const char *slot_what_is_missing(const struct mpixq_pair *pair)
{
    return mpixq_pair_is_send(pair) ? "the receive has not taken the message before"
                                    : "the message has not come";
}

static const struct mpixq_channel_upkeep upkeep = {.drive = slot_drive,
                                                   .clean_up = clean_up_nothing};
static const struct mpixq_channel_report report = {.what_is_missing = slot_what_is_missing};

const struct mpixq_channel mpixq_channel_slot = {
    .name = "slot",
    .id = MPIXQ_CHANNEL_SLOT,
    .upkeep = &upkeep,
    .report = &report,
    .offer = slot_offer,
    .accept = slot_accept,
    .connect = slot_connect,
    .start = slot_start,
    .wait = slot_wait,
    .poll = slot_poll,
    .retire = slot_retire,
};
