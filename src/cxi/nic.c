/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A NIC is opened and closed: one domain and one endpoint of it, for all pairs and queues. */
#include "nic.h"

#include "libfabric.h"
#include "locality.h"
#include "peers.h"
#include "shares.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/progress.h"

static int open_endpoint(struct cxi_nic *nic)
{
    struct fi_cq_attr cq = {.size = 4096, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
    struct fi_av_attr av = {.type = nic->info->domain_attr->av_type};
    struct fi_cntr_attr cntr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_NONE};
    int rc = fi_av_open(nic->domain, &av, &nic->av, NULL);

    rc = rc ? rc : fi_cq_open(nic->domain, &cq, &nic->cq, NULL);
    rc = rc ? rc : fi_cntr_open(nic->domain, &cntr, &nic->unused, NULL);
    rc = rc ? rc : fi_endpoint(nic->domain, nic->info, &nic->ep, NULL);
    rc = rc ? rc : fi_ep_bind(nic->ep, &nic->av->fid, 0);
    rc = rc ? rc
            : fi_ep_bind(nic->ep, &nic->cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION);
    rc = rc ? rc : fi_ep_bind(nic->ep, &nic->unused->fid, FI_READ | FI_WRITE);
    return rc ? rc : fi_enable(nic->ep);
}

static int name_endpoint(struct cxi_nic *nic)
{
    int rc;

    nic->address_bytes = sizeof nic->address;
    rc = fi_getname(&nic->ep->fid, nic->address, &nic->address_bytes);
    if (rc == 0 && fi_av_insert(nic->av, nic->address, 1, &nic->self, 0, NULL) != 1) {
        rc = -FI_EADDRNOTAVAIL;
    }
    return rc;
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

static void close_all(struct cxi_nic *nic)
{
    mpixq_cxi_words_close(nic);
    CLOSE(nic->probed);
    CLOSE(nic->held);
    CLOSE(nic->ep);
    mpixq_cxi_supply_close(nic);
    CLOSE(nic->unused);
    CLOSE(nic->cq);
    CLOSE(nic->av);
    CLOSE(nic->domain);
    mpixq_cxi_shares_leave(&nic->shares); /* the NIC has no entries of this process any more */
    CLOSE(nic->fabric);
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

/* NULL, or why not. */
static const char *open_objects(struct cxi_nic *nic)
{
    int rc;

    nic->infos = mpixq_cxi_find(nic->quirks, nic->why_no_hmem == NULL);
    if (nic->infos == NULL) {
        return "libfabric does not offer the provider with what is needed";
    }
    nic->why_info = "the first";
    nic->info =
        nic->quirks->software ? nic->infos : mpixq_cxi_choose_nic(nic->infos, &nic->why_info);
    if (nic->info == NULL) {
        return "there is no NIC of the number MPIXQ_CXI_NIC";
    }
    rc = mpixq_cxi_fabric(nic->info, &nic->fabric);
    rc = rc ? rc : fi_domain(nic->fabric, nic->info, &nic->domain, NULL);
    nic->names_operands = rc == 0 && mpixq_cxi_names_operands(nic);
    rc = rc ? rc : open_endpoint(nic);
    rc = rc ? rc : name_endpoint(nic);
    if (rc != 0) {
        return mpixq_cxi_strerror(rc);
    }
    return choose_atomic(nic) ? NULL : "the provider has no atomic sum, nor maximum";
}

static const char *no_hmem(const struct cxi_nic *nic, const char *gpus_lack)
{
    return !nic->quirks->has_hmem                     ? "the provider does not take it"
           : mpixq_env.cxi_gpu == MPIXQ_CXI_GPU_TWINS ? "MPIXQ_CXI_GPU is twins"
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

/* What atomics add is one word, in a region that they can name: then the provider keeps no request
 * for them, and no event comes when they are over. */
static void choose_names(struct cxi_nic *nic)
{
    if (nic->names_operands && nic->atomic == FI_SUM) {
        nic->held = nic->held != NULL ? nic->held
                                      : mpixq_cxi_warm(nic, &nic->constants, sizeof nic->constants);
        nic->nameless = nic->held != NULL;
        nic->held_desc = nic->nameless ? fi_mr_desc(nic->held) : NULL;
    }
}

/* NULL, or why not. */
static const char *open_fabric(struct cxi_nic *nic, const char *gpus_lack)
{
    const char *why;

    nic->why_no_hmem = no_hmem(nic, gpus_lack);
    why = open_objects(nic);
    if (nic->why_no_hmem == NULL && (why != NULL || !can_do_hmem(nic))) {
        nic->why_no_hmem = why != NULL ? why : "the provider does not do what that needs";
        close_all(nic);
        why = open_objects(nic);
    }
    if (why != NULL) {
        return why;
    }
    choose_names(nic);
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
    return NULL;
}

static void discard(struct cxi_nic *nic)
{
    close_all(nic);
    mpixq_cxi_peers_close(nic);
    mpixq_lock_destroy(&nic->exposure.lock);
    mpixq_lock_destroy(&nic->drive_lock);
    mpixq_lock_destroy(&nic->lock);
    mpixq_free(nic);
}

struct cxi_nic *mpixq_cxi_nic_new(const struct cxi_quirks *quirks, const char *gpus_lack,
                                  const char **why_p)
{
    struct cxi_nic *nic = mpixq_alloc(sizeof *nic); /* freed in discard */

    if (nic == NULL) {
        *why_p = "no memory";
        return NULL;
    }
    mpixq_lock_init(&nic->lock, MPIXQ_RANK_CXI_NIC);
    mpixq_lock_init(&nic->drive_lock, MPIXQ_RANK_CXI_DRIVE);
    mpixq_cxi_exposure_open(&nic->exposure);
    nic->quirks = quirks;
    nic->constants.one = 1;
    *why_p = open_fabric(nic, gpus_lack);
    if (*why_p != NULL) {
        discard(nic);
        return NULL;
    }
    return nic;
}

void mpixq_cxi_nic_free(struct cxi_nic *nic)
{
    if (nic->counts.pairs > 0 && nic->quirks->software) {
        atomic_fetch_sub(&mpixq_outstanding, 1);
    }
    mpixq_cxi_queue_close(&nic->host);
    discard(nic);
}
