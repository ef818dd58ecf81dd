/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Matching and the end of pairs. What only the GPU's library can say of a buffer is asked before it
 * is matched (prepare), since under the matching lock that may not be called. */
#include <stdio.h>
#include <string.h>

#include "comm/layout.h"
#include "core/graphs.h"
#include "ipc.h"
#include "match/match.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/log.h"

enum { VERSION = 8 };

/* Of a pair that has something prepared: its first member. */
static struct ipc_end *prepared_of(const struct mpixq_pair *pair)
{
    return (struct ipc_end *)(void *)pair->prepared;
}

/* What its buffer is a part of, for others. */
static const char *export_buffer(struct ipc_end *end)
{
    const struct mpixq_message *message = &end->pair->message;
    uint64_t bytes = mpixq_type_bytes(message->type, message->count); /* it has no gaps */

    if (bytes == 0) {
        end->allocation.file = -1;
        return NULL;
    }
    return mpixq_share_export(end->place->share, end->buffer, (size_t)bytes, &end->allocation,
                              &end->offset);
}

/* Once its request is freed the program may end the pool of its buffer, and make another one. */
static void hide_buffer(struct ipc_end *end)
{
    mpixq_share_drop(&end->allocation);
    end->allocation = (struct mpixq_gpu_export){.kind = MPIXQ_SHARED_HANDLE, .file = -1};
}

/* Clean: the GPUs of both ends are done with its words. */
static void end_free(struct ipc_end *end, bool clean)
{
    mpixq_ipc_drop(end);
    mpixq_ipc_let_go(end);
    if (end->is_send) { /* no GPU has written there */
        atomic_store(&end->place->told[end->number].done,
                     end->base + (end->has_peer ? mpixq_pair_started(end->pair) : 0));
    } else {
        end->slots.base = end->base + mpixq_pair_started(end->pair);
        mpixq_ipc_slots_give_back(end->place, end->slots, clean);
    }
    mpixq_ipc_end_give_back(end->place, end, clean);
    mpixq_ipc_fd_leave(&end->their_fd);
    hide_buffer(end);
    mpixq_free(end);
}

/* Of a pair that was matched by this channel, retire has done so. */
static void forget(struct mpixq_prepared *prepared)
{
    end_free((struct ipc_end *)(void *)prepared, true);
}

static struct ipc_end *end_create(struct mpixq_pair *pair, const char *kind, void *where,
                                  void *buffer, const char **why_p)
{
    struct ipc_place *place = mpixq_ipc_place(kind, where, why_p);
    struct ipc_end *end = place != NULL ? mpixq_alloc(sizeof *end) : NULL; /* freed in forget */

    if (end == NULL) {
        return NULL;
    }
    end->prepared.forget = forget;
    end->pair = pair;
    end->place = place;
    end->life = place->life;
    end->buffer = buffer;
    end->is_send = mpixq_pair_is_send(pair);
    end->is_ready = pair->message.mode == MPIXQ_MODE_RSEND;
    end->slots.first = -1;
    *why_p = export_buffer(end);
    if (*why_p == NULL && mpixq_ipc_end_take(place, &end->number)) {
        end->allocation_id = mpixq_share_allocation_id(place->share, buffer);
        end->told = &place->told[end->number].done;
        end->base = atomic_load(end->told);
        atomic_store(&place->told[end->number].fault, MPIXQ_NO_FAULT);
        atomic_store(&place->told[end->number].halt, 0);
        return end;
    }
    if (*why_p == NULL) {
        mpixq_share_drop(&end->allocation);
        *why_p = "too many pairs";
    }
    mpixq_free(end);
    return NULL;
}

static void ipc_prepare(struct mpixq_pair *pair, const char *kind, void *place, void *buffer)
{
    const char *why = "no memory";

    if (pair->prepared != NULL && mpixq_memory_is_over(prepared_of(pair)->life)) {
        end_free(prepared_of(pair), false);
        pair->prepared = NULL;
    }
    if (pair->prepared == NULL) {
        struct ipc_end *end = end_create(pair, kind, place, buffer, &why);

        if (end != NULL) {
            pair->prepared = &end->prepared;
        } else {
            pair->unprepared = why;
        }
    }
}

/* Matching. */

static const char *obstacle(const struct mpixq_pair *pair)
{
    if (pair->prepared == NULL) {
        return !pair->in_gpu              ? "the buffer is not in memory of a GPU"
               : pair->unprepared != NULL ? pair->unprepared
                                          : "the datatype is not one piece of memory in its order";
    }
    if (pair->message.mode == MPIXQ_MODE_BSEND) {
        return "a buffered send completes without its receive";
    }
    if (!mpixq_share_may_open(prepared_of(pair)->place->share)) {
        return "a wait is pending on a stream, and to open memory might wait for it";
    }
    return NULL;
}

/* A synchronous send completes with its receive only. */
static uint32_t eager(const struct ipc_end *end)
{
    return end->pair->message.mode == MPIXQ_MODE_SSEND ? 0 : (uint32_t)mpixq_env.eager;
}

static void fill(const struct ipc_end *end, struct mpixq_blob *mine)
{
    struct ipc_blob blob = {.version = VERSION,
                            .number = end->number,
                            .process = mpixq_process_self(),
                            .gpu = *mpixq_share_ident(end->place->share),
                            .ends = *mpixq_share_ends(end->place->share),
                            .buffer = end->allocation,
                            .mailbox = mpixq_ipc_mailbox(),
                            .allocation = end->allocation_id,
                            .offset = end->offset,
                            .address = (uintptr_t)end->buffer,
                            .base = end->base,
                            .file = end->place->file,
                            .is_ready = end->is_ready,
                            .eager = eager(end),
                            .slots = end->slots.first,
                            .life = end->life};

    mine->length = sizeof blob;
    memcpy(mine->bytes, &blob, sizeof blob);
}

static bool ipc_offer(struct mpixq_pair *pair, struct mpixq_blob *blob, const char **why_p)
{
    *why_p = obstacle(pair);
    if (*why_p == NULL) {
        fill(prepared_of(pair), blob);
    }
    return *why_p == NULL;
}

/* What the other end says, if this one can reach it; else why not. */
static const char *meet(struct ipc_end *end, const struct mpixq_blob *theirs)
{
    struct ipc_blob *blob = &end->theirs;
    enum mpixq_share_reach reach;

    if (theirs->length != sizeof *blob) {
        return "the peer has another version";
    }
    memcpy(blob, theirs->bytes, sizeof *blob);
    if (blob->version != VERSION || blob->number >= MPIXQ_SHARE_ENDS ||
        blob->buffer.kind > MPIXQ_SHARED_CHUNK) {
        return "the peer has another version";
    }
    if (!mpixq_process_is_seen(&blob->process)) {
        return "the peer cannot be seen from this process";
    }
    if (mpixq_ipc_is_own(blob) &&
        memcmp(&blob->ends, mpixq_share_ends(end->place->share), sizeof blob->ends) != 0) {
        return "the other buffer is in memory of another GPU of this process";
    }
    reach = mpixq_share_reaches(end->place->share, &blob->gpu);
    end->is_hidden = reach == MPIXQ_REACH_HIDDEN;
    return reach != MPIXQ_REACHES_NOT
               ? NULL
               : "the GPU does not reach the peer's, or not by atomic operations";
}

static void use(struct mpixq_pair *pair, struct ipc_end *end)
{
    end->has_peer = true;
    pair->end = end;
    if (mpixq_ipc_is_own(&end->theirs)) {
        end->told = &end->place->told[end->is_send ? end->theirs.number : end->number].done;
        mpixq_ipc_is_open(end);
    }
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Data in a slot tells by itself that it is there; no data would not. */
static bool takes_slots(const struct mpixq_pair *pair, const struct ipc_end *end)
{
    return pair->bytes > 0 && pair->bytes <= end->theirs.eager && pair->bytes <= eager(end);
}

static enum mpixq_error ipc_accept(struct mpixq_pair *pair, const struct mpixq_blob *theirs,
                                   struct mpixq_blob *mine, const char **why_p)
{
    struct ipc_end *end = prepared_of(pair);

    *why_p = obstacle(pair);
    *why_p = *why_p != NULL ? *why_p : meet(end, theirs);
    if (*why_p == NULL && !mpixq_ipc_is_own(&end->theirs)) {
        *why_p = mpixq_ipc_fd_take(&end->theirs, &end->their_fd);
    }
    if (*why_p != NULL) {
        return MPIXQ_E_NO_CHANNEL;
    }
    end->is_ready = end->theirs.is_ready != 0;
    if (end->slots.first < 0 && takes_slots(pair, end)) {
        end->slots = mpixq_ipc_slots_take(end->place, pair->bytes);
    }
    end->base = larger(larger(end->base, end->theirs.base), end->slots.base);
    fill(end, mine);
    use(pair, end);
    return MPIXQ_E_NONE;
}

static enum mpixq_error ipc_connect(struct mpixq_pair *pair, const struct mpixq_blob *theirs)
{
    struct ipc_end *end = prepared_of(pair);
    const char *why = meet(end, theirs);

    if (why != NULL || end->theirs.base < end->base) {
        mpixq_err("channel ipc: %s", why != NULL ? why : "the peer's words do not fit");
        return MPIXQ_E_PROTOCOL;
    }
    end->base = end->theirs.base;
    end->slots.first = end->theirs.slots;
    use(pair, end);
    return MPIXQ_E_NONE;
}

static bool ipc_must_open(const struct mpixq_pair *pair)
{
    return !mpixq_ipc_is_own(&prepared_of(pair)->theirs);
}

/* The receiver comes first, and so the sender finds its file. */
static bool ipc_open_peer(struct mpixq_pair *pair, char *why_p, size_t room)
{
    struct ipc_end *end = prepared_of(pair);
    const char *why = NULL;

    if (end->is_send && end->theirs.buffer.kind != MPIXQ_SHARED_HANDLE) {
        end->their_fd = mpixq_ipc_fd_receive(&end->theirs);
        why =
            end->their_fd == NULL ? "a file of the peer has not come, or too many are open" : NULL;
    }
    if (why == NULL && !mpixq_ipc_open(end, why_p, room)) {
        return false;
    }
    if (why == NULL && !end->is_send) {
        why = mpixq_ipc_fd_give(&end->theirs, &end->allocation);
    }
    if (why != NULL) {
        (void)snprintf(why_p, room, "%s", why);
    }
    return why == NULL;
}

/* No GPU has moved anything by it. */
static void ipc_undo(struct mpixq_pair *pair)
{
    struct ipc_end *end = prepared_of(pair);

    mpixq_ipc_let_go(end);
    mpixq_ipc_fd_leave(&end->their_fd);
    if (!end->is_send) {
        mpixq_ipc_slots_give_back(end->place, end->slots, true);
        end->is_ready = false;
    }
    end->slots = (struct ipc_slots){.first = -1};
    end->gpu.first_slot = NULL;
    end->gpu.state = NULL;
    end->told = &end->place->told[end->number].done;
    end->has_peer = false;
    atomic_store(&end->prepared.place, NULL);
    pair->end = NULL;
}

/* The end of a pair. */

static void ipc_ended(struct mpixq_pair *pair)
{
    mpixq_ipc_gone(pair->end);
}

/* Kernels of graphs have the addresses of what is open, but this end was closed by now: they touch
 * nothing but its own words. */
static void ipc_release(struct mpixq_pair *pair)
{
    struct ipc_end *end = pair->end;

    atomic_store(&end->is_free, true);
    mpixq_ipc_let_go(end);
    hide_buffer(end);
}

/* The peer's starts change the words of a sender, whose end so stays until the peer has freed its
 * own; the record of a receive does so anyway. That neither has come further than the other then is
 * known unless something has failed, or a message was left in a slot. */
static bool ipc_retire(struct mpixq_pair *pair)
{
    struct ipc_end *end = pair->end;
    bool peer_is_gone = mpixq_pair_peer_is_gone(pair);
    bool clean = !mpixq_pair_has_failed(pair) && ipc_done(end) == mpixq_pair_started(pair);

    if (((end->is_send && !peer_is_gone) || mpixq_graphs_have(pair)) &&
        !mpixq_match_has_stopped()) {
        return false;
    }
    end_free(end,
             clean && peer_is_gone && mpixq_pair_peer_starts(pair) == mpixq_pair_started(pair));
    pair->end = NULL;
    pair->prepared = NULL;
    return true;
}

/* The channel. */

static const char *ipc_availability(void)
{
    return mpixq_memory_has_gpu()
               ? "available between buffers in memory of GPUs that reach each other's"
               : "not available by now: the process uses no library of a GPU (CUDA, HIP)";
}

static void ipc_close(void)
{
    unsigned used = mpixq_memory_kinds();

    mpixq_ipc_imports_close();
    mpixq_ipc_fds_close();
    mpixq_ipc_places_close();
    mpixq_memory_relax(used);
    mpixq_shares_close();
    mpixq_memory_restore(used);
}

static void ipc_expose(const struct mpixq_stream_kind *kind)
{
    (void)kind;
    mpixq_ipc_close_unused();
}

static const struct mpixq_channel_gpus ipc_gpus = {.expose = ipc_expose,
                                                   .prepare = ipc_prepare,
                                                   .progress_wait = mpixq_ipc_progress_wait,
                                                   .execute = mpixq_ipc_execute,
                                                   .has_executed = mpixq_ipc_has_executed,
                                                   .end = mpixq_ipc_gpu_end,
                                                   .recall = mpixq_ipc_recall};

static const struct mpixq_channel_peers ipc_peers = {
    .must_open = ipc_must_open, .open_peer = ipc_open_peer, .undo = ipc_undo, .ended = ipc_ended};

static const struct mpixq_channel_queues ipc_queues = {.is_broken = mpixq_ipc_is_broken};

static const struct mpixq_channel_upkeep ipc_upkeep = {.drive = mpixq_ipc_drive,
                                                       .clean_up = mpixq_ipc_clean_up};

static const struct mpixq_channel_report ipc_report = {.what_is_missing = mpixq_ipc_what_is_missing,
                                                       .availability = ipc_availability};

/* Each place is opened when a buffer in it is first matched. What was prepared for an offer stays
 * with the pair. */
const struct mpixq_channel mpixq_channel_ipc = {
    .name = "ipc",
    .id = MPIXQ_CHANNEL_IPC,
    .of_gpus = true,
    .gpus = &ipc_gpus,
    .peers = &ipc_peers,
    .queues = &ipc_queues,
    .upkeep = &ipc_upkeep,
    .report = &ipc_report,
    .graphs = &mpixq_ipc_graphs,
    .close = ipc_close,
    .offer = ipc_offer,
    .accept = ipc_accept,
    .connect = ipc_connect,
    .start = mpixq_ipc_start,
    .wait = mpixq_ipc_wait,
    .poll = mpixq_ipc_poll,
    .release = ipc_release,
    .retire = ipc_retire,
};
