/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Regions: memory that peers write to, and memory that is only sent from; and the reach of the
 * channel. */
#include <string.h>

#include "comm/layout.h"
#include "end.h"
#include "libfabric.h"
#include "nic.h"
#include "peers.h"
#include "process.h"
#include "supply.h"
#include "util/env.h"
#include "util/log.h"

/* Keys are used one after the other, so that none comes again before all others were used: what
 * comes late for a region that is gone then finds none. Any thread. */
static uint64_t take_key(struct cxi_nic *nic)
{
    uint64_t key = atomic_load_explicit(&nic->next_key, memory_order_relaxed);

    while (!atomic_compare_exchange_weak(&nic->next_key, &key,
                                         key < UINT32_MAX ? key + 1 : CXI_PROBE_KEY + 1)) {
    }
    return key;
}

static int bind_region(const struct cxi_nic *nic, struct fid_mr *region,
                       struct cxi_counter *counter)
{
    bool by_endpoint = (nic->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0;
    int rc = by_endpoint ? fi_mr_bind(region, &nic->ep->fid, 0) : 0;

    if (rc == 0 && counter != NULL) {
        rc = fi_mr_bind(region, &counter->fid->fid, FI_REMOTE_WRITE);
    }
    if (rc == 0 && by_endpoint) {
        rc = fi_mr_enable(region);
    }
    return rc;
}

/* The attribute says what memory, and for what. */
static int register_memory(struct cxi_nic *nic, struct fi_mr_attr *attr, struct fid_mr **region_p)
{
    bool by_peers = (attr->access & FI_REMOTE_WRITE) != 0;
    int rc = -FI_ENOKEY;

    for (uint32_t tries = 0; rc == -FI_ENOKEY && tries < 1u << 20; tries++) {
        attr->requested_key = by_peers ? take_key(nic) : 0;
        rc = fi_mr_regattr(nic->domain, attr, 0, region_p);
    }
    return rc;
}

static struct fid_mr *register_of_host(struct cxi_nic *nic, void *address, size_t bytes,
                                       uint64_t access, int *rc_p)
{
    const struct iovec iov = {.iov_base = address, .iov_len = bytes};
    struct fi_mr_attr attr = {
        .mr_iov = &iov, .iov_count = 1, .access = access, .iface = FI_HMEM_SYSTEM};
    struct fid_mr *region = NULL;

    *rc_p = register_memory(nic, &attr, &region);
    return *rc_p == 0 ? region : NULL;
}

bool mpixq_cxi_bind(struct cxi_nic *nic, struct fid_mr *region, struct cxi_counter *counter)
{
    int rc = bind_region(nic, region, counter);

    if (rc != 0) {
        mpixq_debug("fabric: a region could not be bound: %s", mpixq_cxi_strerror(rc));
    }
    return rc == 0;
}

struct fid_mr *mpixq_cxi_region(struct cxi_nic *nic, void *address, size_t bytes,
                                struct cxi_counter *counter)
{
    int rc;
    struct fid_mr *region =
        register_of_host(nic, bytes > 0 ? address : &nic->constants.nowhere,
                         bytes > 0 ? bytes : sizeof(uint64_t), FI_REMOTE_WRITE, &rc);

    if (region == NULL) {
        mpixq_debug("fabric: %zu bytes could not be registered: %s", bytes, mpixq_cxi_strerror(rc));
    } else if (!mpixq_cxi_bind(nic, region, counter)) {
        (void)fi_close(&region->fid);
        region = NULL;
    }
    return region;
}

struct fid_mr *mpixq_cxi_warm(struct cxi_nic *nic, void *address, size_t bytes)
{
    struct fid_mr *region = NULL;
    int rc;

    if (nic->quirks->warms && bytes > 0) {
        region = register_of_host(nic, address, bytes, FI_WRITE, &rc);
        if (region == NULL) {
            mpixq_debug("fabric: %zu bytes are not kept mapped: %s", bytes, mpixq_cxi_strerror(rc));
        }
    }
    return region;
}

uint64_t mpixq_cxi_remote_address(const struct cxi_nic *nic, const void *address)
{
    /* Otherwise addresses are offsets in the region. */
    return (nic->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0 ? (uint64_t)(uintptr_t)address
                                                                    : 0;
}

/* Before a match. */

/* NULL: the NIC has the whole buffer now; or why not. */
static const char *register_buffer(struct cxi_nic *nic, const struct mpixq_pair *pair,
                                   const void *buffer, struct fi_mr_attr *attr,
                                   struct fid_mr **region_p)
{
    const struct mpixq_message *message = &pair->message;
    struct iovec iov = {.iov_base = (void *)buffer,
                        .iov_len = (size_t)mpixq_type_bytes(message->type, message->count)};
    struct fid_mr *region = NULL;
    int rc;

    attr->mr_iov = &iov;
    attr->iov_count = 1;
    attr->access = mpixq_pair_is_send(pair) ? FI_WRITE : FI_REMOTE_WRITE;
    rc = register_memory(nic, attr, &region);
    *region_p = rc == 0 ? region : NULL;
    return rc == 0 ? NULL : mpixq_cxi_strerror(rc);
}

static const char *register_of_gpu(struct cxi_nic *nic, struct mpixq_pair *pair, const char *kind,
                                   struct fid_mr **region_p)
{
    bool trusts = mpixq_env.cxi_gpu == MPIXQ_CXI_GPU_DIRECT;
    struct fi_mr_attr attr = {.iface = FI_HMEM_ROCR};
    int device = 0;
    const char *why = mpixq_memory_for_nic(kind, pair->message.buffer, !mpixq_pair_is_send(pair),
                                           trusts, &device);

    if (strcmp(kind, "cudaStream_t") == 0) {
        attr.iface = FI_HMEM_CUDA;
        attr.device.cuda = device;
    }
    why = why != NULL ? why : register_buffer(nic, pair, pair->message.buffer, &attr, region_p);
    if (why == NULL && !mpixq_memory_held(kind, pair->message.buffer)) {
        (void)fi_close(&(*region_p)->fid);
        *region_p = NULL;
        why = "the program's copies of the memory cannot be made synchronous";
    }
    return why;
}

/* The buffer as it is, if NICs reach it in memory of a GPU. */
static struct fid_mr *region_of_gpu(struct cxi_nic *nic, struct mpixq_pair *pair, const char *kind,
                                    const char *why)
{
    struct fid_mr *region = NULL;
    char text[64];

    why = why != NULL ? why : register_of_gpu(nic, pair, kind, &region);
    mpixq_debug("%s: the NIC %s%s", mpixq_pair_describe(pair, text, sizeof text),
                why == NULL ? "can access its buffer itself" : "needs a twin of its buffer: ",
                why == NULL ? "" : why);
    return region;
}

/* In a domain for memory of GPUs any registration asks the GPU's library what memory that is, and
 * so those of the host's are made here too: a match may be made by the progress thread. */
void mpixq_cxi_reach(struct mpixq_pair *pair, const char *kind)
{
    struct fi_mr_attr attr = {.iface = FI_HMEM_SYSTEM};
    struct fid_mr *region = NULL;
    struct cxi_nic *nic = NULL;
    const char *why;

    pair->in_place = false;
    mpixq_cxi_ask_gpus();
    why = mpixq_cxi_obstacle(pair, &nic);
    if (kind != NULL) {
        region = region_of_gpu(nic, pair, kind, why != NULL ? why : nic->why_no_hmem);
        pair->in_place = region != NULL;
    }
    if (why != NULL || (kind != NULL && region == NULL && pair->staging == NULL)) {
        return;
    }
    if (region == NULL && nic->why_no_hmem == NULL && pair->message.count > 0) {
        (void)register_buffer(nic, pair, mpixq_pair_buffer(pair), &attr, &region);
    }
    if (!mpixq_cxi_end_prepare(nic, pair, region)) {
        pair->in_place = false;
    }
}

void mpixq_cxi_unreach(struct mpixq_pair *pair)
{
    struct cxi_end *end = pair->reached;

    pair->reached = NULL;
    if (end != NULL) {
        mpixq_cxi_end_leave(end);
    }
}
