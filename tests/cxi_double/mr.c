/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mr.c - memory regions: registered, bound to one endpoint and one counter, enabled
 */
#include "double.h"

#include <stdlib.h>

enum { OPTIMIZED_KEYS = 100 };

/* A key of the provider: these bits, a number, and whether the region has events. */
static const uint64_t prov_key_bit = 1ULL << 63;
static const uint64_t events_bit = 1ULL << 62;

static struct nic_mr *mr_of(struct fid *fid)
{
    return NIC_CONTAINER(fid, struct nic_mr, fid.fid);
}

static bool is_remote(const struct nic_mr *mr)
{
    return (mr->access & (FI_REMOTE_READ | FI_REMOTE_WRITE)) != 0;
}

static struct nic_mr **bucket_of(struct nic_domain *domain, uint64_t key)
{
    return &domain->mrs[(key ^ key >> 32) % NIC_MR_BUCKETS];
}

struct nic_mr *nic_mr_find(const struct nic_ep *ep, uint64_t key)
{
    struct nic_mr *mr = *bucket_of(ep->domain, key);

    while (mr != NULL && (mr->fid.key != key || (mr->ep != NULL && mr->ep != ep) || !mr->enabled)) {
        mr = mr->next;
    }
    return mr;
}

static int mr_close(struct fid *fid)
{
    struct nic_mr *mr = mr_of(fid);
    struct nic_mr **place;

    if (nic_is_wrong("target-closed")) {
        return 0;
    }
    nic_lock();
    if (mr->enabled && is_remote(mr) && nic_switches.region_close == NIC_CLOSE_ABORT) {
        nic_die("the command that has the NIC forget a region cannot be queued");
    }
    /* No longer found from here on; what found it before has its end. */
    if (mr->has_key) {
        for (place = bucket_of(mr->domain, mr->fid.key); *place != mr; place = &(*place)->next) {
        }
        *place = mr->next;
    }
    if (mr->enabled && is_remote(mr) && mr->ep != NULL) {
        nic_ep_hold(mr->ep);
    }
    while (mr->deliveries > 0) {
        pthread_cond_wait(&nic.changed, &nic.lock);
    }
    for (place = &mr->domain->all_mrs; *place != mr; place = &(*place)->next_of_all) {
    }
    *place = mr->next_of_all;
    nic_hmem_close(mr);
    if (mr->enabled && is_remote(mr)) {
        nic_pool_give(mr->domain->place, mr->pool, 1);
    }
    if (mr->ep != NULL) {
        mr->ep->refs--;
    }
    if (mr->cntr != NULL) {
        mr->cntr->refs--;
    }
    mr->domain->refs--;
    pthread_mutex_unlock(&nic.lock);
    free(mr);
    return 0;
}

static int bind_ep(struct nic_mr *mr, struct nic_ep *ep)
{
    if (ep->domain != mr->domain || mr->ep != NULL ||
        (!ep->enabled && !nic_is_wrong("region-endpoint"))) {
        return -FI_EINVAL;
    }
    if ((mr->flags & FI_RMA_EVENT) && !(ep->caps & FI_RMA_EVENT)) {
        return -FI_EINVAL;
    }
    mr->ep = ep;
    ep->refs++;
    return 0;
}

static int bind_cntr(struct nic_mr *mr, struct nic_cntr *cntr, uint64_t flags)
{
    if (cntr->domain != mr->domain || mr->cntr != NULL ||
        (!(flags & FI_REMOTE_WRITE) && !nic_is_wrong("region-counter"))) {
        return -FI_EINVAL;
    }
    mr->cntr = cntr;
    cntr->refs++;
    return 0;
}

static int mr_bind(struct fid *fid, struct fid *bound, uint64_t flags)
{
    struct nic_mr *mr = mr_of(fid);
    uint64_t ep_flags;
    int rc = -FI_EINVAL;

    nic_lock();
    if (!mr->enabled && bound->fclass == FI_CLASS_EP) {
        rc = bind_ep(mr, nic_ep_of(NIC_CONTAINER(bound, struct fid_ep, fid), &ep_flags));
    } else if (!mr->enabled && bound->fclass == FI_CLASS_CNTR) {
        rc = bind_cntr(mr, NIC_CONTAINER(bound, struct nic_cntr, fid.fid), flags);
    }
    pthread_mutex_unlock(&nic.lock);
    return rc;
}

bool nic_mr_holds(const struct nic_domain *domain, const struct nic_mr *mr, const void *memory,
                  size_t bytes)
{
    const struct nic_mr *open = domain->all_mrs;
    const char *base;
    size_t length;

    while (open != NULL && open != mr) {
        open = open->next_of_all;
    }
    if (open == NULL) {
        return false;
    }
    base = mr->gpu != NULL ? mr->allocation : mr->base;
    length = mr->gpu != NULL ? mr->allocated : mr->length;
    if (mr->gpu != NULL && nic_is_wrong("region-allocation")) {
        base = mr->gpu;
        length = mr->length;
    }
    return (const char *)memory >= base && (const char *)memory + bytes <= base + length;
}

static void mr_publish(struct nic_mr *mr)
{
    struct nic_mr **bucket = bucket_of(mr->domain, mr->fid.key);

    mr->next = *bucket;
    *bucket = mr;
    mr->has_key = true;
}

static int mr_enable(struct nic_mr *mr)
{
    struct nic_domain *domain = mr->domain;

    if (mr->enabled || (mr->ep == NULL && (domain->mr_mode & FI_MR_ENDPOINT))) {
        return -FI_EINVAL;
    }
    if (is_remote(mr)) {
        if (nic.no_regions || !nic_pool_take(domain->place, mr->pool, 1)) {
            return -FI_ENOSPC;
        }
        if (domain->prov_key) {
            mr->fid.key = prov_key_bit | (mr->cntr != NULL ? events_bit : 0) | domain->next_key++;
            mr_publish(mr);
        }
        if (mr->ep != NULL) {
            nic_ep_hold(mr->ep);
        }
    }
    mr->enabled = true;
    nic.regions_made += is_remote(mr);
    return 0;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
    int rc;

    (void)arg;
    if (command != FI_ENABLE) {
        return -FI_ENOSYS;
    }
    nic_lock();
    rc = mr_enable(mr_of(fid));
    pthread_mutex_unlock(&nic.lock);
    return rc;
}

static struct fi_ops mr_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = mr_close,
    .bind = mr_bind,
    .control = mr_control,
    .ops_open = nic_no_ops_open,
};

/* A key of the client's choice is taken from the start. */
static int take_key(struct nic_mr *mr, uint64_t key)
{
    struct nic_mr *other = *bucket_of(mr->domain, key);

    if (!is_remote(mr) || mr->domain->prov_key) {
        mr->fid.key = nic_is_wrong("key-provider") ? prov_key_bit : FI_KEY_NOTAVAIL;
        return 0;
    }
    if (key > UINT32_MAX && !nic_is_wrong("key-wide")) {
        return -FI_EKEYREJECTED;
    }
    while (other != NULL && other->fid.key != key) {
        other = other->next;
    }
    if (other != NULL && !nic_is_wrong("key-duplicate")) {
        return -FI_ENOKEY;
    }
    mr->fid.key = key;
    if (key < OPTIMIZED_KEYS && nic_switches.optimized == NIC_YES) {
        mr->pool = NIC_PTLTES;
    }
    mr_publish(mr);
    return 0;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                      struct fid_mr **mr_p)
{
    struct nic_domain *domain = NIC_CONTAINER(fid, struct nic_domain, fid.fid);
    struct nic_mr *mr;
    bool listed;
    int rc;

    if (attr == NULL || attr->iov_count != 1 || (flags & FI_DIRECTED_RECV)) {
        return -FI_EINVAL;
    }
    mr = calloc(1, sizeof(*mr));
    if (mr == NULL) {
        return -FI_ENOMEM;
    }
    *mr = (struct nic_mr){
        .fid.fid = {.fclass = FI_CLASS_MR, .context = attr->context, .ops = &mr_fid_ops},
        .domain = domain,
        .base = attr->mr_iov->iov_base,
        .length = attr->mr_iov->iov_len,
        .access = attr->access,
        .flags = flags,
        .pool = NIC_LES,
    };
    mr->fid.mem_desc = mr;
    nic_hmem_ask(domain, attr);
    nic_lock();
    rc = nic_hmem_open(mr, attr);
    if (rc == 0) {
        rc = take_key(mr, attr->requested_key);
    }
    listed = rc == 0;
    if (listed) {
        domain->refs++;
        mr->next_of_all = domain->all_mrs;
        domain->all_mrs = mr;
    } else {
        nic_hmem_close(mr);
    }
    if (listed && !(domain->mr_mode & FI_MR_ENDPOINT)) {
        rc = mr_enable(mr);
    }
    pthread_mutex_unlock(&nic.lock);
    if (rc == 0) {
        *mr_p = &mr->fid;
    } else if (listed) {
        mr_close(&mr->fid.fid);
    } else {
        free(mr);
    }
    return rc;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
                   uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr_p,
                   void *context)
{
    struct fi_mr_attr attr = {.mr_iov = iov,
                              .iov_count = count,
                              .access = access,
                              .offset = offset,
                              .requested_key = key,
                              .context = context};

    return mr_regattr(fid, &attr, flags, mr_p);
}

static int mr_reg(struct fid *fid, const void *buffer, size_t length, uint64_t access,
                  uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr_p,
                  void *context)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = length};

    return mr_regv(fid, &iov, 1, access, offset, key, flags, mr_p, context);
}

struct fi_ops_mr nic_mr_ops = {
    .size = sizeof(struct fi_ops_mr),
    .reg = mr_reg,
    .regv = mr_regv,
    .regattr = mr_regattr,
};
