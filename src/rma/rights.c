/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "rights.h"

#include <utlist.h>

#include "message.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/log.h"

/* ---- Rights, at the owner ---- */

/* Each process tells a peer once; the one that is told first answers by that. */
static void tell_nics(struct mpixq_window *window, struct mpixq_rma_peer *peer)
{
    struct mpixq_rma_direct *direct = window->direct;
    struct mpixq_rma_op *op = mpixq_rma_message_new(window, MPIXQ_RMA_GRANT);

    if (op != NULL) {
        op->header.is_eager = 1;
        op->header.bytes = direct->blob_bytes;
        op->data = (char *)direct->blob;
        peer->has_told = true;
        direct->n_awaited += !peer->has_heard;
        mpixq_rma_send(window, peer, MPIXQ_RMA_ANSWERS, op);
    }
}

static void forget_grantees(struct mpixq_rma_slot *slot)
{
    struct mpixq_rma_grantee *grantee, *next;

    LL_FOREACH_SAFE(slot->grantees, grantee, next)
    {
        mpixq_free(grantee);
    }
    slot->grantees = NULL;
}

static bool is_granted(const struct mpixq_rma_slot *slot, int rank)
{
    const struct mpixq_rma_grantee *grantee = slot->grantees;

    while (grantee != NULL && grantee->rank != rank) {
        grantee = grantee->next;
    }
    return grantee != NULL;
}

void mpixq_rma_rights_grant(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                            const struct mpixq_rma_header *header)
{
    struct mpixq_rma_grantee *grantee;
    struct mpixq_rma_slot *slot;

    if (window->direct == NULL || header->value == 0) {
        return;
    }
    if (!peer->has_told) {
        tell_nics(window, peer);
    }
    if (header->signal == 0 || header->signal > MPIXQ_RMA_PLACES) {
        return;
    }
    slot = &window->slots[header->signal - 1];
    if (is_granted(slot, peer->rank)) {
        return;
    }
    grantee = mpixq_alloc(sizeof *grantee); /* freed in forget_grantees */
    if (grantee != NULL) {                  /* else it goes on by messages */
        grantee->rank = peer->rank;
        LL_PREPEND(slot->grantees, grantee);
        mpixq_rma_answer_signal(window, peer, MPIXQ_RMA_GRANT, header->signal, header->generation);
    }
}

void mpixq_rma_rights_revoke(struct mpixq_window *window, uint32_t index)
{
    struct mpixq_rma_slot *slot = &window->slots[index - 1];
    struct mpixq_rma_grantee *grantee;

    if (window->direct == NULL || atomic_load(&window->failed) != MPI_SUCCESS) {
        return;
    }
    LL_FOREACH(slot->grantees, grantee)
    {
        struct mpixq_rma_peer *peer = mpixq_rma_peer(window, grantee->rank);

        if (peer != NULL) {
            mpixq_rma_answer_signal(window, peer, MPIXQ_RMA_REVOKE, index, slot->generation);
            slot->n_revoking++;
            window->direct->n_awaited++;
        }
    }
    forget_grantees(slot);
}

static void came_revoked(struct mpixq_window *window, const struct mpixq_rma_header *header)
{
    struct mpixq_rma_slot *slot;

    if (header->signal > 0 && header->signal <= window->n_slots) {
        slot = &window->slots[header->signal - 1];
        if (slot->n_revoking > 0) {
            slot->n_revoking--;
            window->direct->n_awaited--;
        }
    }
}

/* ---- Rights, at who puts ---- */

struct mpixq_rma_grant *mpixq_rma_grant_find(const struct mpixq_rma_peer *peer, uint32_t signal,
                                             uint32_t generation)
{
    struct mpixq_rma_grant *grant;

    HASH_FIND(hh, peer->grants, &signal, sizeof signal, grant);
    return grant != NULL && grant->generation == generation ? grant : NULL;
}

static const char *describe_nics(const struct mpixq_rma_direct *direct)
{
    if (!direct->ops->has_chains(direct->nics)) {
        return "NICs write and read, and add to its signals when the host has seen the end of that";
    }
    return direct->ops->chains_gets(direct->nics)
               ? "NICs write and read, and add to its signals behind that"
               : "NICs write and read, and add to its signals behind a write, and when the host "
                 "has seen the end of a read";
}

/* For MPIXQ_INFO. */
static void say(const struct mpixq_window *window, const struct mpixq_rma_peer *peer,
                const char *why)
{
    if (mpixq_env.info && why == NULL && window->direct->way == MPIXQ_WAY_SHARED) {
        mpixq_print("window %llu: level 4 to rank %d of it (shared: the process that puts or "
                    "gets copies, and adds to its signals)",
                    (unsigned long long)window->number, peer->rank);
    } else if (mpixq_env.info && why == NULL) {
        mpixq_print("window %llu: level %d to rank %d of it (cxi: %s)",
                    (unsigned long long)window->number, mpixq_rma_direct_level(window->direct),
                    peer->rank, describe_nics(window->direct));
    } else if (mpixq_env.info) {
        mpixq_print("window %llu: level 0 to rank %d of it: %s", (unsigned long long)window->number,
                    peer->rank, why);
    }
}

static void hear_nics(struct mpixq_window *window, struct mpixq_rma_peer *peer, const void *blob,
                      size_t bytes)
{
    struct mpixq_rma_direct *direct = window->direct;
    const char *why = NULL;

    if (peer->has_heard) {
        return;
    }
    peer->has_heard = true;
    peer->nics = direct->ops->meet(direct->nics, blob, bytes, &why);
    direct->n_peers += peer->nics != NULL;
    say(window, peer, why);
    if (peer->has_told) {
        direct->n_awaited--;
    } else {
        tell_nics(window, peer);
    }
}

static void came_grant(struct mpixq_window *window, const struct mpixq_rma_header *header,
                       const void *data, struct mpixq_rma_peer *peer)
{
    struct mpixq_rma_grant *grant;

    if (header->bytes > 0) {
        hear_nics(window, peer, data, header->bytes);
        return;
    }
    HASH_FIND(hh, peer->grants, &header->signal, sizeof header->signal, grant);
    if (peer->nics == NULL || grant != NULL || header->signal == 0 ||
        header->signal > MPIXQ_RMA_PLACES) {
        return;
    }
    grant = mpixq_alloc(sizeof *grant); /* freed when it is revoked, or in forget_grants */
    if (grant != NULL) {
        grant->signal = header->signal;
        grant->generation = header->generation;
        HASH_ADD(hh, peer->grants, signal, sizeof grant->signal, grant);
        if (!mpixq_in_table(grant->hh)) {
            mpixq_free(grant);
        }
    }
}

void mpixq_rma_grant_give_back(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                               struct mpixq_rma_grant *grant)
{
    mpixq_rma_answer_signal(window, peer, MPIXQ_RMA_REVOKED, grant->signal, grant->generation);
    HASH_DEL(peer->grants, grant);
    mpixq_free(grant);
}

static void came_revoke(struct mpixq_window *window, const struct mpixq_rma_header *header,
                        struct mpixq_rma_peer *peer)
{
    struct mpixq_rma_grant *grant = mpixq_rma_grant_find(peer, header->signal, header->generation);

    if (grant == NULL) {
        mpixq_rma_answer_signal(window, peer, MPIXQ_RMA_REVOKED, header->signal,
                                header->generation);
    } else if (grant->flying == 0) {
        mpixq_rma_grant_give_back(window, peer, grant);
    } else {
        grant->is_revoked = true;
    }
}

void mpixq_rma_rights_came(struct mpixq_window *window, const struct mpixq_rma_header *header,
                           const void *data, struct mpixq_rma_peer *peer)
{
    bool is_ours = header->message == MPIXQ_RMA_GRANT || header->message == MPIXQ_RMA_REVOKE ||
                   header->message == MPIXQ_RMA_REVOKED;

    if (window->direct == NULL || !is_ours) {
        mpixq_rma_mpi_failed(window, MPI_ERR_OTHER, "understand a message");
    } else if (header->message == MPIXQ_RMA_GRANT) {
        came_grant(window, header, data, peer);
    } else if (header->message == MPIXQ_RMA_REVOKE) {
        came_revoke(window, header, peer);
    } else {
        came_revoked(window, header);
    }
}

/* ---- The end ---- */

static void forget_grants(struct mpixq_rma_peer *peer)
{
    struct mpixq_rma_grant *grant, *next;

    HASH_ITER(hh, peer->grants, grant, next)
    {
        HASH_DEL(peer->grants, grant);
        mpixq_free(grant);
    }
}

void mpixq_rma_rights_close(struct mpixq_window *window)
{
    struct mpixq_rma_peer *peer, *next;

    HASH_ITER(hh, window->peers, peer, next)
    {
        forget_grants(peer);
    }
    for (uint32_t i = 0; i < window->n_slots; i++) {
        forget_grantees(&window->slots[i]);
    }
}
