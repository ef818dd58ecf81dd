/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Large messages in shares. Counters do not join across domains, and a word that two NICs add to
 * would not have the sum: so nothing is made of the shares but by who starts them and waits. */
#include "stripe.h"

#include <string.h>

#include "comm/layout.h"
#include "end.h"
#include "match/wire.h"
#include "nic.h"
#include "peers.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/log.h"
#include "util/piece.h"

enum { LINE = 64 }; /* shares begin where a line of a cache does, if the buffer does */

int mpixq_cxi_stripes_wanted(const struct mpixq_pair *pair, int nics)
{
    const struct mpixq_message *message = &pair->message;
    int most = nics < MPIXQ_PAIR_OPS ? nics : MPIXQ_PAIR_OPS;

    return mpixq_cxi_is_large((uint64_t)mpixq_type_bytes(message->type, message->count)) ? most : 1;
}

bool mpixq_cxi_stripe_add(struct cxi_end *first, struct cxi_end *end)
{
    struct mpixq_pair *own = NULL;
    struct cxi_end *last = first;

    if (end->nic->address_bytes <= CXI_SHORT_ADDRESS) {
        own = mpixq_alloc(sizeof *own); /* freed with the end */
    }
    if (own == NULL) {
        mpixq_cxi_end_leave(end);
        return false;
    }
    own->is_share = true;
    own->whole = first->pair;
    own->message = first->pair->message;
    end->own_pair = end->pair = own;
    while (last->next_share != NULL) {
        last = last->next_share;
    }
    last->next_share = end;
    return true;
}

static int count_others(const struct cxi_end *first)
{
    int n = 0;

    for (const struct cxi_end *end = first->next_share; end != NULL; end = end->next_share) {
        n++;
    }
    return n;
}

/* Why a message is not divided as it could be; each is told once of a NIC. */
enum reason { NO_END, HERE_FEWER, THERE_FEWER };

static void say(const struct cxi_end *first, enum reason reason, const char *text)
{
    unsigned bit = 1U << reason;
    char what[64];

    if (mpixq_env.info && (atomic_fetch_or(&first->nic->told, bit) & bit) == 0) {
        mpixq_print("fabric: domain %s: the message of %s, and maybe others, is not divided among "
                    "all NICs: %s",
                    first->nic->info->domain_attr->name,
                    mpixq_pair_describe(first->pair, what, sizeof what), text);
    }
}

void mpixq_cxi_stripes_lack(const struct cxi_end *first, int lacking)
{
    if (lacking > 0) {
        say(first, NO_END,
            "there is no end on another: no memory, counters or regions left, an "
            "address that is too long, or a buffer that it does not reach");
    }
}

/* Both have it for large, and so one has less NICs, or less room on them. */
static void say_fewer(const struct cxi_end *first, uint64_t mine, uint64_t theirs)
{
    if (mpixq_cxi_is_large(first->pair->bytes) && mine < theirs) {
        say(first, HERE_FEWER, "its peer has more for it (MPIXQ_NICS)");
    } else if (mpixq_cxi_is_large(first->pair->bytes) && mine > theirs) {
        say(first, THERE_FEWER,
            "its peer has less for it, or divides none of its size (MPIXQ_NICS, MPIXQ_STRIPE_KIB)");
    }
}

/* What has a region is what the peer writes to: the buffer of a receive, or the CTS word. */
static void fill(const struct cxi_end *end, struct cxi_stripe *mine)
{
    const struct cxi_nic *nic = end->nic;

    *mine = (struct cxi_stripe){.base = end->cts_base};
    memcpy(mine->address, nic->address, nic->address_bytes);
    if (end->region != NULL) {
        mine->key = fi_mr_key(end->region);
        mine->addr = mpixq_cxi_remote_address(nic, end->is_send ? (void *)end->cts : end->buffer);
    }
}

void mpixq_cxi_stripes_tell(const struct cxi_end *first, struct mpixq_blob *blob)
{
    struct cxi_stripes mine = {.n = (uint64_t)count_others(first)};
    size_t bytes = offsetof(struct cxi_stripes, of) + (size_t)mine.n * sizeof mine.of[0];
    const struct cxi_end *end = first->next_share;

    if (mine.n == 0) {
        return;
    }
    for (uint64_t i = 0; i < mine.n; i++, end = end->next_share) {
        fill(end, &mine.of[i]);
    }
    memcpy(blob->bytes + blob->length, &mine, bytes);
    blob->length += (uint32_t)bytes;
}

bool mpixq_cxi_stripes_hear(const struct mpixq_blob *blob, size_t used,
                            struct cxi_stripes *theirs_p)
{
    size_t head = offsetof(struct cxi_stripes, of), bytes = blob->length - used;

    *theirs_p = (struct cxi_stripes){.n = 0};
    if (blob->length == used) {
        return true;
    }
    if (blob->length < used || bytes < head || bytes > sizeof *theirs_p) {
        return false;
    }
    memcpy(theirs_p, blob->bytes + used, bytes);
    return theirs_p->n > 0 && theirs_p->n <= CXI_OTHER_SHARES &&
           bytes == head + theirs_p->n * sizeof theirs_p->of[0];
}

static bool meet(struct cxi_end *end, const struct cxi_stripe *theirs)
{
    end->remote_key = theirs->key;
    end->remote_addr = theirs->addr;
    end->remote_base = theirs->base;
    return mpixq_cxi_meet(end, theirs->address, end->nic->address_bytes);
}

/* The first n others stay. */
static void keep(struct cxi_end *first, int n)
{
    struct cxi_end *last = first;

    for (; n > 0; n--) {
        last = last->next_share;
    }
    if (last->next_share != NULL) {
        mpixq_cxi_end_leave(last->next_share);
        last->next_share = NULL;
    }
}

/* Both ends divide it in the same way. */
static void divide(struct cxi_end *first, uint64_t n)
{
    uint64_t bytes = first->pair->bytes, offset = 0;
    uint64_t each = n > 1 ? (bytes / n + LINE) / LINE * LINE : bytes;

    for (struct cxi_end *end = first; end != NULL; end = end->next_share) {
        end->offset = offset;
        end->bytes = end->next_share != NULL ? each : bytes - offset;
        end->piece = first->piece;
        end->pieces = (uint32_t)mpixq_count_pieces(end->bytes, end->piece);
        offset += end->bytes;
        if (end->own_pair != NULL) {
            end->own_pair->bytes = end->bytes;
            end->own_pair->peer_world = first->pair->peer_world;
            end->delivered = first->delivered;
        }
    }
}

bool mpixq_cxi_stripes_agree(struct cxi_end *first, const struct cxi_stripes *theirs)
{
    struct cxi_end *end = first->next_share;
    int n = count_others(first);

    if (first->is_send && (uint64_t)n < theirs->n) {
        return false;
    }
    say_fewer(first, (uint64_t)n, theirs->n);
    n = (uint64_t)n > theirs->n ? (int)theirs->n : n;
    n = !first->is_send && !mpixq_cxi_is_large(first->pair->bytes) ? 0 : n;
    for (int i = 0; i < n; i++, end = end->next_share) {
        if (!meet(end, &theirs->of[i])) {
            return false;
        }
    }
    keep(first, n);
    divide(first, (uint64_t)n + 1);
    return true;
}
