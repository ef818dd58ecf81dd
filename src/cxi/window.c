/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Windows. Each NIC of a process has regions of its own of the window and of the words of signals.
 * A NIC of who puts or gets goes to one NIC of the peer, which adds to the words that are its own.
 */
#include "window.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "put_chain.h"
#include "libfabric.h"
#include "nic.h"
#include "peers.h"
#include "process.h"
#include "puts.h"
#include "stripe.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/piece.h"
#include "window_regions.h"

enum { LINE = 64 /* parts begin where a line of a cache does */, PATIENCE_S = 2 };

/* What a process tells others: no padding. */
struct blob {
    uint32_t wire, n;
    uint64_t bytes;
    struct blob_nic {
        unsigned char address[CXI_ADDRESS];
        uint64_t address_bytes, key, addr, word_key, word_addr;
    } of[CXI_NICS];
};
_Static_assert(sizeof(struct blob) <= MPIXQ_NIC_BLOB, "the seam has room for it");

/* What a NIC has of the window. */
struct part_of {
    struct cxi_nic *nic;
    struct cxi_window_regions regions;
    struct cxi_puts *puts;
};

struct mpixq_nic_window {
    struct mpixq_nic_peer *peers;
    atomic_uint turn; /* of NICs, so that all have puts */
    struct blob blob;
    int n;
    struct part_of of[CXI_NICS];
};

struct mpixq_nic_peer {
    struct mpixq_nic_window *window;
    struct mpixq_nic_peer *next;
    uint64_t bytes; /* of its window */
    /* By the NICs of this process. */
    struct cxi_target target[CXI_NICS];
    struct cxi_probe *probe[CXI_NICS];
};

/* False: the window may still be written to, by reads. */
static bool close_part(struct part_of *part)
{
    bool is_over;

    mpixq_cxi_region_close(&part->regions.base);
    mpixq_cxi_region_close(&part->regions.words);
    is_over = mpixq_cxi_puts_free(part->puts);
    mpixq_cxi_region_close(&part->regions.warm);
    *part = (struct part_of){.nic = NULL};
    return is_over;
}

/* What GPUs' libraries are asked of is asked here, as posts come from any thread. */
static const char *open_part(struct part_of *part, const struct mpixq_nic_memory *memory)
{
    struct cxi_nic *nic = part->nic;
    const char *why;

    if (nic->atomic != FI_SUM) {
        return "the NIC has no atomic sum";
    }
    mpixq_cxi_put_chains_open(nic);
    why = mpixq_cxi_window_regions(nic, memory, &part->regions);
    if (why != NULL) {
        return why;
    }
    part->puts = mpixq_cxi_puts_new(nic);
    return part->puts == NULL ? "there is no memory" : NULL;
}

static void describe(struct blob_nic *to, const struct part_of *part,
                     const struct mpixq_nic_memory *memory)
{
    const struct cxi_nic *nic = part->nic;

    memcpy(to->address, nic->address, nic->address_bytes);
    to->address_bytes = nic->address_bytes;
    to->key = fi_mr_key(part->regions.base);
    to->addr = mpixq_cxi_remote_address(nic, memory->base);
    to->word_key = fi_mr_key(part->regions.words);
    to->word_addr = mpixq_cxi_remote_address(nic, memory->words);
}

/* Words are told apart by the NICs' places here. */
static const char *open_parts(struct mpixq_nic_window *window, const struct cxi_nics *nics,
                              const struct mpixq_nic_memory *memory)
{
    const char *why = NULL;

    for (int i = 0; i < nics->n; i++) {
        struct part_of *part = &window->of[window->n];
        const char *lack;

        part->nic = nics->of[i];
        lack = open_part(part, memory);
        if (lack == NULL) {
            describe(&window->blob.of[window->n++], part, memory);
        } else {
            (void)close_part(part); /* nothing was started */
            why = lack;
        }
    }
    window->blob.n = (uint32_t)window->n;
    window->blob.bytes = memory->bytes;
    return window->n > 0 ? NULL : why;
}

static struct mpixq_nic_window *window_open(const struct mpixq_nic_memory *memory,
                                            const char **why_p)
{
    struct mpixq_nic_window *window;
    const struct cxi_nics *nics;

    mpixq_cxi_ask_gpus(memory->kind, memory->kind != NULL ? memory->base : NULL, NULL);
    nics = mpixq_cxi_open(why_p);
    if (nics == NULL) {
        return NULL;
    }
    window = mpixq_alloc(sizeof *window); /* freed in close, or here */
    if (window == NULL) {
        *why_p = "no memory";
        return NULL;
    }
    *why_p = open_parts(window, nics, memory);
    if (*why_p != NULL) {
        mpixq_free(window);
        return NULL;
    }
    window->blob.wire = nics->of[0]->quirks->wire;
    for (int i = 0; i < window->n; i++) { /* the chains' doorbells, if there are queues of GPUs */
        mpixq_cxi_expose(window->of[i].nic, NULL);
    }
    return window;
}

static bool is_open(const struct mpixq_nic_window *window)
{
    int n = 0;

    for (int i = 0; i < window->n; i++) {
        n += atomic_load(&window->of[i].puts->n_open) - atomic_load(&window->of[i].puts->n_over);
    }
    return n > 0;
}

/* Only of a window that has failed something is under way still. */
static bool window_close(struct mpixq_nic_window *window)
{
    uint64_t until_ns = mpixq_now_ns() + (uint64_t)PATIENCE_S * 1000000000;
    struct mpixq_nic_peer *peer, *next;
    struct mpixq_backoff backoff;
    bool is_over = true;

    mpixq_backoff_begin(&backoff);
    while (is_open(window) && mpixq_now_ns() < until_ns) {
        for (int i = 0; i < window->n; i++) {
            mpixq_cxi_read(window->of[i].nic);
            mpixq_cxi_puts_go(window->of[i].puts);
        }
        mpixq_backoff_pause(&backoff);
    }
    for (int i = 0; i < window->n; i++) {
        is_over = close_part(&window->of[i]) && is_over;
    }
    LL_FOREACH_SAFE(window->peers, peer, next)
    {
        mpixq_free(peer);
    }
    mpixq_free(window);
    return is_over;
}

static int window_nics(const struct mpixq_nic_window *window)
{
    return window->n;
}

/* Where there are none on one, the host has to make the additions of that. */
static bool window_has_chains(const struct mpixq_nic_window *window)
{
    bool has_all = true;

    for (int i = 0; i < window->n; i++) {
        struct cxi_nic *nic = window->of[i].nic;

        mpixq_lock_acquire(&nic->lock);
        has_all = has_all && nic->n_chains > 0;
        mpixq_lock_release(&nic->lock);
    }
    return has_all;
}

static bool window_chains_gets(const struct mpixq_nic_window *window)
{
    bool all_do = true;

    for (int i = 0; i < window->n; i++) {
        struct cxi_nic *nic = window->of[i].nic;

        mpixq_lock_acquire(&nic->lock);
        all_do = all_do && nic->chains_gets;
        mpixq_lock_release(&nic->lock);
    }
    return all_do;
}

static size_t window_tell(const struct mpixq_nic_window *window, unsigned char blob[MPIXQ_NIC_BLOB])
{
    memcpy(blob, &window->blob, sizeof window->blob);
    return sizeof window->blob;
}

/* The peer's NIC that one of this process goes to. */
static bool aim(struct mpixq_nic_peer *peer, int i, const struct blob *blob)
{
    const struct blob_nic *theirs = &blob->of[(uint32_t)i % blob->n];
    struct cxi_target *target = &peer->target[i];

    target->key = theirs->key;
    target->addr = theirs->addr;
    target->word_key = theirs->word_key;
    target->word_addr = theirs->word_addr + (uint32_t)i % blob->n * sizeof(uint64_t);
    return theirs->address_bytes <= CXI_ADDRESS &&
           mpixq_cxi_find_peer(peer->window->of[i].nic, theirs->address, theirs->address_bytes,
                               &target->peer, &peer->probe[i]);
}

static struct mpixq_nic_peer *window_meet(struct mpixq_nic_window *window, const void *bytes,
                                          size_t n, const char **why_p)
{
    struct mpixq_nic_peer *peer;
    struct blob blob;
    bool met = true;

    if (n != sizeof blob) {
        *why_p = "what it says of its NICs makes no sense";
        return NULL;
    }
    memcpy(&blob, bytes, sizeof blob);
    if (blob.wire != window->blob.wire || blob.n == 0 || blob.n > CXI_NICS) {
        *why_p = blob.wire != window->blob.wire ? "its NICs are of another provider"
                                                : "what it says of its NICs makes no sense";
        return NULL;
    }
    peer = mpixq_alloc(sizeof *peer); /* freed in close, or here */
    if (peer != NULL) {
        peer->window = window;
        peer->bytes = blob.bytes;
    }
    for (int i = 0; peer != NULL && met && i < window->n; i++) {
        met = aim(peer, i, &blob);
    }
    if (peer == NULL || !met) {
        mpixq_free(peer);
        *why_p = "no memory, or no such address";
        return NULL;
    }
    LL_PREPEND(window->peers, peer);
    return peer;
}

static uint64_t window_bytes(const struct mpixq_nic_peer *peer)
{
    return peer->bytes;
}

static uint64_t window_parts(const struct mpixq_nic_window *window, uint64_t bytes,
                             uint64_t *piece_p)
{
    uint64_t most = UINT64_MAX, share = bytes;

    for (int i = 0; i < window->n; i++) {
        uint64_t piece = mpixq_piece_of(window->of[i].nic->info->ep_attr->max_msg_size);

        most = piece < most ? piece : most;
    }
    if (window->n > 1 && mpixq_cxi_is_large(bytes)) {
        share = (bytes - 1) / (unsigned)window->n + 1;
        share = (share + LINE - 1) / LINE * LINE;
    }
    *piece_p = share < most ? share : most;
    return (bytes - 1) / *piece_p + 1;
}

/* By the NIC in this place. */
static struct cxi_put describe_put(const struct mpixq_nic_part *part, unsigned place)
{
    struct cxi_put put = {.is_get = part->is_get,
                          .data = part->data,
                          .bytes = part->bytes,
                          .target = part->peer->target[place],
                          .tells = part->tells,
                          .arg = part->arg};

    put.entry.operand = part->addend;
    put.target.addr += part->offset;
    put.target.word_addr += part->word;
    return put;
}

static unsigned take_turn(struct mpixq_nic_window *window)
{
    return atomic_fetch_add_explicit(&window->turn, 1, memory_order_relaxed) % (unsigned)window->n;
}

static bool window_start(const struct mpixq_nic_part *part)
{
    struct mpixq_nic_window *window = part->peer->window;
    bool started = false;

    for (int i = 0; !started && i < window->n; i++) {
        unsigned turn = take_turn(window);
        struct cxi_put put = describe_put(part, turn);

        started = mpixq_cxi_put(window->of[turn].puts, &put);
    }
    return started;
}

/* By the NIC whose bell it is. */
static struct cxi_put *hold_by_bell(const struct mpixq_nic_part *part)
{
    const struct mpixq_nic_window *window = part->peer->window;
    struct cxi_put_chain *chain = (struct cxi_put_chain *)part->bell;
    struct cxi_put put;
    unsigned place = 0;

    while (window->of[place].nic != chain->nic) {
        place++;
    }
    put = describe_put(part, place);
    if (part->ring > 0) {
        put.ring = chain->counter;
        put.ring_at = chain->counter->base + chain->base + part->ring;
    } else {
        put.chain = chain;
    }
    return mpixq_cxi_put_hold(window->of[place].puts, &put);
}

static struct mpixq_nic_held *window_hold(const struct mpixq_nic_part *part)
{
    struct mpixq_nic_window *window = part->peer->window;
    struct cxi_put *held = NULL;

    if (part->bell != NULL) {
        return (struct mpixq_nic_held *)hold_by_bell(part);
    }
    for (int i = 0; held == NULL && i < window->n; i++) {
        unsigned turn = take_turn(window);
        struct cxi_put put = describe_put(part, turn);

        held = mpixq_cxi_put_hold(window->of[turn].puts, &put);
    }
    return (struct mpixq_nic_held *)held;
}

/* They take turns; of what is kept, those whose bells it has. */
static bool window_has_room(const struct mpixq_nic_window *window, uint64_t parts,
                            const struct mpixq_nic_bell *bells, bool are_kept)
{
    int n = window->n, each, chains;
    const struct mpixq_nic_bell *bell;
    bool has = true;

    if (are_kept) {
        LL_COUNT(bells, bell, n);
    }
    each = (int)((parts - 1) / (unsigned)n + 1);
    for (int i = 0; has && i < window->n; i++) {
        const struct cxi_nic *nic = window->of[i].nic;

        if (!are_kept || mpixq_cxi_bells_of(bells, nic) != NULL) {
            chains = are_kept ? mpixq_cxi_bells_need(nic, each) : bells != NULL ? 0 : each;
            has = mpixq_cxi_puts_can_hold(window->of[i].puts, each, chains);
        }
    }
    return has;
}

static struct mpixq_nic_bell *window_take_bells(struct mpixq_nic_window *window, int parts,
                                                bool are_kept)
{
    unsigned first = take_turn(window);
    struct cxi_nic *nics[CXI_NICS];

    for (int i = 0; i < window->n; i++) {
        nics[i] = window->of[(first + (unsigned)i) % (unsigned)window->n].nic;
    }
    return are_kept ? mpixq_cxi_bells_keep(nics, window->n, parts)
                    : mpixq_cxi_bells_take(nics, window->n, parts);
}

static bool window_has_rung(struct mpixq_nic_held *held)
{
    return mpixq_cxi_put_has_rung((struct cxi_put *)held);
}

static void window_ring(struct mpixq_nic_held *held)
{
    const struct cxi_counter *counter = ((const struct cxi_put *)held)->ring;

    /* What the program wrote comes before what the NIC is told to read. */
    __sync_synchronize();
    mpixq_cxi_ring(counter, 1);
}

static void window_open_held(struct mpixq_nic_held *held)
{
    mpixq_cxi_put_open((struct cxi_put *)held);
}

static void window_drop(struct mpixq_nic_held *held)
{
    mpixq_cxi_put_drop((struct cxi_put *)held);
}

static bool window_take(struct mpixq_nic_window *window, void **arg_p, const char **why_p)
{
    bool taken = false;
    int error = 0;

    for (int i = 0; !taken && i < window->n; i++) {
        struct cxi_puts *puts = window->of[i].puts;

        taken = mpixq_cxi_puts_take(puts, arg_p, &error);
        if (!taken && atomic_load(&puts->n_open) + atomic_load(&puts->n_held) > 0) {
            mpixq_cxi_puts_go(puts);
        }
    }
    *why_p = error != 0 ? mpixq_cxi_strerror(error) : NULL;
    return taken;
}

static bool window_has_lost(struct mpixq_nic_peer *peer)
{
    const struct mpixq_nic_window *window = peer->window;
    bool is_lost = false;

    for (int i = 0; i < window->n; i++) {
        is_lost =
            mpixq_cxi_is_lost(window->of[i].nic, peer->probe[i], peer->target[i].peer) || is_lost;
    }
    return is_lost;
}

const struct mpixq_channel_windows mpixq_cxi_windows = {
    .has_gets = true,
    .open = window_open,
    .close = window_close,
    .nics = window_nics,
    .has_chains = window_has_chains,
    .chains_gets = window_chains_gets,
    .tell = window_tell,
    .meet = window_meet,
    .bytes = window_bytes,
    .parts = window_parts,
    .start = window_start,
    .hold = window_hold,
    .has_room = window_has_room,
    .take_bells = window_take_bells,
    .untake_bells = mpixq_cxi_bells_untake,
    .give_bell = mpixq_cxi_bell_give,
    .has_rung = window_has_rung,
    .ring = window_ring,
    .open_held = window_open_held,
    .drop = window_drop,
    .take = window_take,
    .has_lost = window_has_lost,
    .read = mpixq_cxi_read_windows,
};
