/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "window.h"

#include <string.h>

#include "ipc.h"
#include "share_window.h"
#include "util/alloc.h"
#include "util/lock.h"

enum {
    VERSION = 1,
    PER_BLOCK = 16384, /* bytes that a block copies */
    BLOCKS = 128,      /* that copy a put at most: more are no faster */
    WORDS_BYTES =
        (MPIXQ_MAPPED_SIGNALS + MPIXQ_MAPPED_LANES) * (int)sizeof(struct mpixq_mapped_words)
};
_Static_assert((int)MPIXQ_SEAT_LANES == (int)MPIXQ_MAPPED_LANES, "words for each lane");
_Static_assert(sizeof(struct mpixq_mapped_lane) == sizeof(struct mpixq_mapped_words),
               "lanes lie behind signals, aligned as they are");
_Static_assert(offsetof(struct mpixq_mapped_words, tried) == offsetof(struct mpixq_end, tried),
               "GPUs try whether they reach signals as they try it of ends");

/* What another process has mapped here. */
struct peer {
    struct ipc_import *buffer, *words; /* NULL: of this process, and where there are no bytes */
    char *base;
    struct mpixq_mapped_words *signals;
    uint64_t bytes;
};

struct mpixq_mapped {
    const char *kind;
    struct ipc_place *place;
    struct mpixq_share_seat *seat;
    struct mpixq_gpu_export export;
    char *base;
    uint64_t bytes;
    int n;
    struct peer *peers;
    /* One question at a time, as the words for the answer are for one; held until the GPU has
     * answered. Others that ask wait for that GPU, too. */
    struct mpixq_lock asks;
};

struct offer {
    struct ipc_blob blob;
    uint64_t bytes;
    uint32_t version;
};
_Static_assert(sizeof(struct offer) <= sizeof(struct mpixq_mapped_offer), "room in an offer");

/* What has failed is closed by the caller. */
static const char *make(struct mpixq_mapped *mapped, const char *kind, void *where,
                        struct offer *offer)
{
    struct ipc_blob *blob = &offer->blob;
    const char *why = NULL;

    mapped->kind = kind;
    mapped->place = mpixq_ipc_place(kind, where, &why);
    if (mapped->place == NULL) {
        return why;
    }
    why = mpixq_share_export(mapped->place->share, mapped->base, mapped->bytes, &mapped->export,
                             &blob->offset);
    if (why != NULL) {
        mapped->export.file = -1;
        return why;
    }
    mapped->seat = mpixq_share_seat_take(mapped->place->share, WORDS_BYTES, &why);
    if (mapped->seat == NULL) {
        return why;
    }
    blob->process = mpixq_process_self();
    blob->gpu = *mpixq_share_ident(mapped->place->share);
    blob->ends = mapped->seat->handle;
    blob->life = mapped->seat->id;
    blob->buffer = mapped->export;
    blob->mailbox = -1; /* nobody sends files */
    blob->allocation = mpixq_share_allocation_id(mapped->place->share, mapped->base);
    blob->file = mapped->place->file;
    offer->bytes = mapped->bytes;
    offer->version = VERSION;
    return NULL;
}

static void unmake(struct mpixq_mapped *mapped)
{
    for (int i = 0; mapped->peers != NULL && i < mapped->n; i++) {
        mpixq_ipc_import_leave(&mapped->peers[i].buffer);
        mpixq_ipc_import_leave(&mapped->peers[i].words);
    }
    if (mapped->seat != NULL) {
        mpixq_share_seat_give_back(mapped->seat);
    }
    mpixq_share_drop(&mapped->export);
    mpixq_lock_destroy(&mapped->asks);
    mpixq_free(mapped->peers);
    mpixq_free(mapped);
}

const char *mpixq_mapped_offer(const char *kind, void *place, void *base, size_t bytes,
                               struct mpixq_mapped **mapped_p, struct mpixq_mapped_offer *offer_p)
{
    struct mpixq_mapped *mapped = mpixq_alloc(sizeof *mapped); /* freed in unmake */
    struct offer offer;
    const char *why = "no memory";

    *mapped_p = NULL;
    if (mapped == NULL) {
        return why;
    }
    memset(&offer, 0, sizeof offer);
    mapped->base = base;
    mapped->bytes = bytes;
    mapped->export.file = -1;
    mpixq_lock_init(&mapped->asks, MPIXQ_RANK_IPC_WINDOWS);
    why = make(mapped, kind, place, &offer);
    if (why != NULL) {
        unmake(mapped);
        return why;
    }
    memset(offer_p, 0, sizeof *offer_p);
    memcpy(offer_p, &offer, sizeof offer);
    *mapped_p = mapped;
    return NULL;
}

const char *mpixq_mapped_clear(struct mpixq_mapped *mapped)
{
    return mpixq_share_seat_zero(mapped->seat, mapped->base, mapped->bytes);
}

const char *mpixq_mapped_zero(const char *kind, void *where, void *memory, size_t bytes)
{
    const char *why = NULL;
    struct ipc_place *place = mpixq_ipc_place(kind, where, &why);
    struct mpixq_share_seat *seat =
        place == NULL ? NULL : mpixq_share_seat_take(place->share, WORDS_BYTES, &why);

    if (seat != NULL) {
        why = mpixq_share_seat_zero(seat, memory, bytes);
        mpixq_share_seat_give_back(seat);
    }
    return why;
}

static void use(struct peer *peer, char *base, char *words, uint64_t bytes)
{
    peer->base = base;
    peer->signals = (struct mpixq_mapped_words *)(void *)words;
    peer->bytes = bytes;
}

static const char *open_peer(struct mpixq_mapped *mapped, struct peer *peer,
                             const struct offer *offer, int rank)
{
    struct mpixq_share *share = mapped->place->share;
    const struct ipc_blob *theirs = &offer->blob;
    enum mpixq_share_reach reach;
    const char *why = NULL;

    if (offer->version != VERSION || theirs->buffer.kind > MPIXQ_SHARED_CHUNK) {
        return "the peer has another version";
    }
    if (!mpixq_process_is_seen(&theirs->process)) {
        return "the peer cannot be seen from this process";
    }
    reach = mpixq_share_reaches(share, &theirs->gpu);
    if (reach == MPIXQ_REACHES_NOT) {
        return "the GPU does not reach the peer's, or not by atomic operations";
    }
    peer->words = mpixq_ipc_import(share, theirs, true, &why);
    if (why == NULL) {
        peer->buffer = mpixq_ipc_import(share, theirs, false, &why);
    }
    if (why == NULL && reach == MPIXQ_REACH_HIDDEN) {
        char *place = mpixq_ipc_import_seen(peer->words) +
                      (size_t)(rank % MPIXQ_MAPPED_SIGNALS) * sizeof(struct mpixq_mapped_words);

        why = mpixq_share_try(share, &theirs->gpu, (struct mpixq_end *)(void *)place);
    }
    if (why == NULL) {
        use(peer, mpixq_ipc_import_seen(peer->buffer) + theirs->offset,
            mpixq_ipc_import_seen(peer->words), offer->bytes);
    }
    return why;
}

const char *mpixq_mapped_open(struct mpixq_mapped *mapped, const struct mpixq_mapped_offer offers[],
                              int n, int rank, int *which_p)
{
    const char *why = NULL;
    struct offer offer;

    mapped->peers = mpixq_alloc((size_t)n * sizeof *mapped->peers); /* freed in unmake */
    mapped->n = n;
    *which_p = rank;
    if (mapped->peers == NULL) {
        return "no memory";
    }
    for (int i = 0; why == NULL && i < n; i++) {
        *which_p = i;
        if (i == rank) {
            use(&mapped->peers[i], mapped->base, mapped->seat->words, mapped->bytes);
        } else {
            memcpy(&offer, &offers[i], sizeof offer);
            why = open_peer(mapped, &mapped->peers[i], &offer, rank);
        }
    }
    return why;
}

void mpixq_mapped_close(struct mpixq_mapped *mapped)
{
    if (mapped == NULL) {
        return;
    }
    (void)mpixq_share_finish(mapped->seat); /* of a GPU that is broken nothing goes on */
    unmake(mapped);
    mpixq_ipc_close_unused();
}

char *mpixq_mapped_base(const struct mpixq_mapped *mapped, int rank)
{
    return mapped->peers[rank].base;
}

uint64_t mpixq_mapped_bytes(const struct mpixq_mapped *mapped, int rank)
{
    return mapped->peers[rank].bytes;
}

struct mpixq_mapped_words *mpixq_mapped_signal(const struct mpixq_mapped *mapped, int rank,
                                               uint32_t index)
{
    return &mapped->peers[rank].signals[index - 1];
}

uint64_t *mpixq_mapped_failed(const struct mpixq_mapped *mapped)
{
    return mapped->seat->told_seen + MPIXQ_SEAT_FAILED;
}

void mpixq_mapped_fail(struct mpixq_mapped *mapped)
{
    atomic_store(&mapped->seat->told[MPIXQ_SEAT_FAILED], 1);
}

/* Each has as many blocks as the largest needs. */
void mpixq_mapped_fill(const struct mpixq_mapped *mapped, struct mpixq_puts *all)
{
    uint64_t largest = 1, blocks;

    for (unsigned i = 0; i < all->n; i++) {
        all->put[i].told = mapped->seat->told_seen + MPIXQ_SEAT_STALE;
        largest = all->put[i].bytes > largest ? all->put[i].bytes : largest;
    }
    blocks = (largest + PER_BLOCK - 1) / PER_BLOCK;
    all->blocks = (unsigned)((blocks < BLOCKS ? blocks : BLOCKS) * (uint64_t)all->n);
}

const char *mpixq_mapped_put(struct mpixq_mapped *mapped, struct mpixq_puts *all)
{
    mpixq_mapped_fill(mapped, all);
    return mpixq_share_put(mapped->seat, all);
}

const char *mpixq_mapped_finish(struct mpixq_mapped *mapped, uint64_t *stale_p)
{
    const char *why = mpixq_share_finish(mapped->seat);

    *stale_p = atomic_exchange(&mapped->seat->told[MPIXQ_SEAT_STALE], 0);
    return why;
}

/* Signals of this process. */

static struct mpixq_mapped_words *own(const struct mpixq_mapped *mapped, uint32_t index)
{
    return (struct mpixq_mapped_words *)(void *)mapped->seat->words + (index - 1);
}

const char *mpixq_mapped_read(struct mpixq_mapped *mapped, uint32_t index, uint64_t *word_p)
{
    const char *why;

    mpixq_lock_acquire(&mapped->asks);
    why = mpixq_share_copy(mapped->seat, mapped->seat->told_seen + MPIXQ_SEAT_FOUND,
                           &own(mapped, index)->word, sizeof(uint64_t));
    *word_p = atomic_load(&mapped->seat->told[MPIXQ_SEAT_FOUND]);
    mpixq_lock_release(&mapped->asks);
    return why;
}

const char *mpixq_mapped_begin(struct mpixq_mapped *mapped, uint32_t index, uint64_t events,
                               uint64_t generation)
{
    const char *why;

    mpixq_lock_acquire(&mapped->asks);
    atomic_store(&mapped->seat->told[MPIXQ_SEAT_VALUE], events);
    atomic_store(&mapped->seat->told[MPIXQ_SEAT_VALUE + 1], generation);
    why = mpixq_share_copy(mapped->seat, own(mapped, index),
                           mapped->seat->told_seen + MPIXQ_SEAT_VALUE, 2 * sizeof(uint64_t));
    mpixq_lock_release(&mapped->asks);
    return why;
}

const char *mpixq_mapped_set(struct mpixq_mapped *mapped, uint32_t index, uint64_t events,
                             uint64_t *before_p)
{
    struct mpixq_set one = {.signal = own(mapped, index),
                            .events = events,
                            .told = mapped->seat->told_seen + MPIXQ_SEAT_FOUND};
    const char *why;

    mpixq_lock_acquire(&mapped->asks);
    why = mpixq_share_set(mapped->seat, &one);
    *before_p = atomic_load(&mapped->seat->told[MPIXQ_SEAT_FOUND]);
    mpixq_lock_release(&mapped->asks);
    return why;
}

/* Kernels of queues. */

bool mpixq_mapped_suits(const struct mpixq_mapped *mapped, const struct mpixq_stream *stream)
{
    return stream->kind->gpu != NULL && strcmp(stream->kind->name, mapped->kind) == 0 &&
           stream->place == mpixq_share_place(mapped->place->share);
}

static struct mpixq_mapped_lane *lane_at(const struct mpixq_mapped *mapped, unsigned lane)
{
    return (struct mpixq_mapped_lane *)(void *)mapped->seat->words + MPIXQ_MAPPED_SIGNALS + lane;
}

/* The words of its fault begin here. */
static size_t fault_at(unsigned lane)
{
    return MPIXQ_SEAT_FAULTS + lane * sizeof(struct mpixq_mapped_fault) / sizeof(uint64_t);
}

struct mpixq_behind mpixq_mapped_behind(const struct mpixq_mapped *mapped, unsigned lane,
                                        uint64_t queue)
{
    uint64_t *fault = mapped->seat->told_seen + fault_at(lane);

    return (struct mpixq_behind){.lane = lane_at(mapped, lane),
                                 .number = queue,
                                 .fault = (struct mpixq_mapped_fault *)(void *)fault};
}

void mpixq_mapped_lane_begin(const struct mpixq_mapped *mapped, unsigned lane)
{
    atomic_store(&mapped->seat->told[fault_at(lane)], MPIXQ_MAPPED_NO_FAULT);
}

bool mpixq_mapped_find_fault(const struct mpixq_mapped *mapped, unsigned lane,
                             struct mpixq_mapped_fault *fault_p)
{
    const _Atomic uint64_t *at = &mapped->seat->told[fault_at(lane)];

    *fault_p = (struct mpixq_mapped_fault){.kind = atomic_load(at)};
    if (fault_p->kind == MPIXQ_MAPPED_NO_FAULT) {
        return false;
    }
    fault_p->index = atomic_load(&at[1]);
    fault_p->found = atomic_load(&at[2]);
    return true;
}
