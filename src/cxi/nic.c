/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A NIC is opened and closed: one domain and one endpoint of it, for all pairs and queues. */
#include "nic.h"

#include "put_chain.h"
#include "eager.h"
#include "libfabric.h"
#include "locality.h"
#include "peers.h"
#include "puts.h"
#include "shares.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/progress.h"

/* One that writes into the queue. */
static int open_endpoint(struct cxi_nic *nic, size_t entries, struct fid_cq **cq_p,
                         struct fid_ep **ep_p)
{
    struct fi_cq_attr cq = {
        .size = entries, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
    int rc = fi_cq_open(nic->domain, &cq, cq_p, NULL);

    rc = rc ? rc : fi_endpoint(nic->domain, nic->info, ep_p, NULL);
    rc = rc ? rc : fi_ep_bind(*ep_p, &nic->av->fid, 0);
    return rc ? rc
              : fi_ep_bind(*ep_p, &(*cq_p)->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION);
}

static void *close_fid(struct fid *fid)
{
    int rc = fi_close(fid);

    if (rc != 0) {
        mpixq_warn("fabric: an object could not be closed: %s", mpixq_cxi_strerror(rc));
    }
    return NULL;
}
#define CLOSE(object) ((object) = (object) != NULL ? close_fid(&(object)->fid) : NULL)

/* Regions belong to an endpoint, whose lock the provider has while the NIC makes one known or
 * forgets it. So they have one of their own, which posts nothing and whose queue nobody reads. If
 * there is none left, they belong to the one that posts, and posts wait for them. */
static void open_target(struct cxi_nic *nic)
{
    int rc;

    if ((nic->info->domain_attr->mr_mode & FI_MR_ENDPOINT) == 0) {
        return;
    }
    rc = open_endpoint(nic, 1, &nic->target_cq, &nic->target);
    rc = rc ? rc : fi_enable(nic->target);
    if (rc != 0) {
        mpixq_debug("fabric: regions have no endpoint of their own: %s", mpixq_cxi_strerror(rc));
        CLOSE(nic->target);
        CLOSE(nic->target_cq);
    }
}

static int open_endpoints(struct cxi_nic *nic)
{
    struct fi_av_attr av = {.type = nic->info->domain_attr->av_type};
    struct fi_cntr_attr cntr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_NONE};
    int rc = fi_av_open(nic->domain, &av, &nic->av, NULL);

    rc = rc ? rc : fi_cntr_open(nic->domain, &cntr, &nic->unused, NULL);
    rc = rc ? rc : open_endpoint(nic, 4096, &nic->cq, &nic->ep);
    rc = rc ? rc : fi_ep_bind(nic->ep, &nic->unused->fid, FI_READ | FI_WRITE);
    rc = rc ? rc : fi_enable(nic->ep);
    if (rc == 0) {
        open_target(nic);
    }
    return rc;
}

static int name_target(struct cxi_nic *nic)
{
    int rc;

    nic->address_bytes = sizeof nic->address;
    rc = fi_getname(&mpixq_cxi_target(nic)->fid, nic->address, &nic->address_bytes);
    if (rc == 0 && fi_av_insert(nic->av, nic->address, 1, &nic->self, 0, NULL) != 1) {
        rc = -FI_EADDRNOTAVAIL;
    }
    return rc;
}

static void close_all(struct cxi_nic *nic)
{
    mpixq_cxi_words_close(nic);
    CLOSE(nic->probed);
    CLOSE(nic->held);
    mpixq_cxi_puts_release_left(nic);
    CLOSE(nic->target);
    CLOSE(nic->ep);
    mpixq_cxi_put_chains_close(nic);
    mpixq_cxi_supply_close(nic);
    mpixq_cxi_blocks_close(nic);
    CLOSE(nic->unused);
    CLOSE(nic->target_cq);
    CLOSE(nic->cq);
    CLOSE(nic->av);
    CLOSE(nic->domain);
    mpixq_cxi_shares_leave(&nic->shares); /* the NIC has no entries of this process any more */
    CLOSE(nic->fabric);
    mpixq_free(nic->operands);
    nic->operands = NULL;
    if (nic->infos != NULL) {
        mpixq_cxi_free_infos(nic->infos);
        nic->infos = nic->info = NULL;
    }
}

/* Words only grow, one at a time, so that the largest of what was written does as well as a sum. */
static bool choose_atomic(struct cxi_nic *nic)
{
    static const enum fi_op ops[] = {FI_SUM, FI_MAX};
    bool found = false;

    for (int i = 0; i < 2 && !found; i++) {
        size_t count = 0;

        nic->atomic = ops[i];
        found = fi_atomicvalid(nic->ep, FI_UINT64, ops[i], &count) == 0 && count > 0;
    }
    return found;
}

/* Software is one NIC, by whichever interface. */
static struct fi_info *choose(struct cxi_nic *nic, const char *gpu)
{
    if (nic->quirks->software) {
        nic->why_info = "the first";
        return nic->place == 0 ? nic->infos : NULL;
    }
    return mpixq_cxi_choose_nic(nic->infos, nic->place, gpu, &nic->why_info);
}

static const char no_more[] = "there are less NICs";

/* NULL, or why not. */
static const char *open_objects(struct cxi_nic *nic, const char *gpu)
{
    int rc;

    nic->infos = mpixq_cxi_find(nic->quirks, nic->why_no_hmem == NULL);
    if (nic->infos == NULL) {
        return "libfabric does not offer the provider with what is needed";
    }
    nic->info = choose(nic, gpu);
    if (nic->info == NULL) {
        return nic->place == 0 ? "there is no NIC of the number MPIXQ_CXI_NIC" : no_more;
    }
    rc = mpixq_cxi_fabric(nic->info, &nic->fabric);
    rc = rc ? rc : fi_domain(nic->fabric, nic->info, &nic->domain, NULL);
    nic->names_operands = rc == 0 && mpixq_cxi_names_operands(nic);
    rc = rc ? rc : open_endpoints(nic);
    rc = rc ? rc : name_target(nic);
    if (rc != 0) {
        return mpixq_cxi_strerror(rc);
    }
    return choose_atomic(nic) ? NULL : "the provider has no atomic sum, nor maximum";
}

static const char *no_hmem(const struct cxi_nic *nic, const char *gpus_lack)
{
    return !nic->quirks->has_hmem                      ? "the provider does not take it"
           : mpixq_env.cxi_gpu == MPIXQ_CXI_GPU_STAGED ? "MPIXQ_CXI_GPU is staged"
                                                       : gpus_lack;
}

/* To post from memory that is not kept mapped, or to register it, would call the GPU's library, and
 * there are threads that do so and may not. So all memory of our own is kept mapped. */
static bool can_do_hmem(struct cxi_nic *nic)
{
    if ((nic->info->caps & FI_HMEM) == 0 || (nic->info->domain_attr->mr_mode & FI_MR_HMEM) != 0 ||
        nic->atomic != FI_SUM) {
        return false;
    }
    nic->held = mpixq_cxi_warm(nic, &nic->constants, sizeof nic->constants);
    return nic->held != NULL && mpixq_cxi_arena_open(nic);
}

/* Not the entries themselves: a region of those would be a hundred times as large. */
static struct fid_mr *open_operands(struct cxi_nic *nic)
{
    size_t bytes = (size_t)(nic->entries + CXI_RESTING) * sizeof *nic->operands;

    nic->operands = mpixq_alloc(bytes); /* freed in close_all */
    return nic->operands != NULL ? mpixq_cxi_warm(nic, nic->operands, bytes) : NULL;
}

/* What deferred atomics add, or write, is in one region, which they can name: then the provider
 * keeps no request for them, and no event comes when they are over. */
static void choose_names(struct cxi_nic *nic)
{
    if (nic->names_operands && nic->held == NULL) {
        nic->held = nic->atomic == FI_SUM
                        ? mpixq_cxi_warm(nic, &nic->constants, sizeof nic->constants)
                        : open_operands(nic);
    }
    nic->nameless = nic->names_operands && nic->held != NULL;
    nic->held_desc = nic->nameless ? fi_mr_desc(nic->held) : NULL;
}

/* NULL, or why not. */
static const char *open_fabric(struct cxi_nic *nic, const struct cxi_wish *wish)
{
    const char *why;

    nic->why_no_hmem = no_hmem(nic, wish->gpus_lack);
    why = open_objects(nic, wish->gpu);
    if (nic->why_no_hmem == NULL && (why != NULL || !can_do_hmem(nic))) {
        nic->why_no_hmem = why != NULL ? why : "the provider does not do what that needs";
        close_all(nic);
        why = open_objects(nic, wish->gpu);
    }
    if (why != NULL) {
        return why;
    }
    nic->next_key = CXI_PROBE_KEY;
    nic->probed =
        mpixq_cxi_region(nic, &nic->constants.nowhere, sizeof nic->constants.nowhere, NULL);
    if (nic->probed != NULL && fi_mr_key(nic->probed) != CXI_PROBE_KEY) {
        return "the key of the probes is taken"; /* peers would see them fail */
    }
    if (nic->probed == NULL || !mpixq_cxi_supply_open(nic) ||
        !mpixq_cxi_queue_open(&nic->host, nic, NULL, 0)) {
        return "no memory, or no counters";
    }
    choose_names(nic);
    return NULL;
}

static void discard(struct cxi_nic *nic)
{
    close_all(nic);
    mpixq_cxi_peers_close(nic);
    mpixq_cxi_puts_free_left(nic);
    mpixq_lock_destroy(&nic->exposure.lock);
    mpixq_lock_destroy(&nic->drive_lock);
    mpixq_lock_destroy(&nic->lock);
    mpixq_free(nic);
}

struct cxi_nic *mpixq_cxi_nic_new(const struct cxi_wish *wish, const char **why_p)
{
    struct cxi_nic *nic = mpixq_alloc(sizeof *nic); /* freed in discard */

    if (nic == NULL) {
        *why_p = "no memory";
        return NULL;
    }
    mpixq_lock_init(&nic->lock, MPIXQ_RANK_CXI_NIC);
    mpixq_lock_init(&nic->drive_lock, MPIXQ_RANK_CXI_DRIVE);
    mpixq_cxi_exposure_open(&nic->exposure);
    nic->quirks = wish->quirks;
    nic->place = wish->place;
    nic->among = wish->among;
    nic->constants.one = 1;
    *why_p = open_fabric(nic, wish);
    if (*why_p != NULL) {
        *why_p = *why_p == no_more ? NULL : *why_p;
        discard(nic);
        return NULL;
    }
    return nic;
}

void mpixq_cxi_nic_free(struct cxi_nic *nic)
{
    if (nic->counts.pairs > 0 && nic->quirks->software) {
        atomic_fetch_sub(&mpixq_progress.outstanding, 1);
    }
    mpixq_cxi_queue_close(&nic->host);
    discard(nic);
}
