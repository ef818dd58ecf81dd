/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Regions: memory that peers write to, or read, and memory that only this process uses. */
#include <string.h>

#include "libfabric.h"
#include "nic.h"
#include "peers.h"
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
    int rc = by_endpoint ? fi_mr_bind(region, &mpixq_cxi_target(nic)->fid, 0) : 0;

    if (rc == 0 && counter != NULL) {
        rc = fi_mr_bind(region, &counter->fid->fid, FI_REMOTE_WRITE);
    }
    if (rc == 0 && by_endpoint) {
        rc = fi_mr_enable(region);
    }
    return rc;
}

int mpixq_cxi_register(struct cxi_nic *nic, struct fi_mr_attr *attr, struct fid_mr **region_p)
{
    bool by_peers = (attr->access & FI_REMOTE_WRITE) != 0;
    int rc = -FI_ENOKEY;

    for (uint32_t tries = 0; rc == -FI_ENOKEY && tries < 1u << 20; tries++) {
        attr->requested_key = by_peers ? take_key(nic) : 0;
        rc = fi_mr_regattr(nic->domain, attr, 0, region_p);
    }
    return rc;
}

const char *mpixq_cxi_find_gpu(const char *kind, const void *address, bool written,
                               struct fi_mr_attr *attr)
{
    bool trusts = mpixq_env.cxi_gpu == MPIXQ_CXI_GPU_DIRECT;
    int device = 0;
    const char *why = mpixq_memory_for_nic(kind, address, written, trusts, &device);

    attr->iface = FI_HMEM_ROCR;
    if (strcmp(kind, "cudaStream_t") == 0) {
        attr->iface = FI_HMEM_CUDA;
        attr->device.cuda = device;
    }
    return why;
}

static struct fid_mr *register_of_host(struct cxi_nic *nic, void *address, size_t bytes,
                                       uint64_t access, int *rc_p)
{
    const struct iovec iov = {.iov_base = address, .iov_len = bytes};
    struct fi_mr_attr attr = {
        .mr_iov = &iov, .iov_count = 1, .access = access, .iface = FI_HMEM_SYSTEM};
    struct fid_mr *region = NULL;

    *rc_p = mpixq_cxi_register(nic, &attr, &region);
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

void mpixq_cxi_region_close(struct fid_mr **region_p)
{
    if (*region_p != NULL) {
        (void)fi_close(&(*region_p)->fid);
        *region_p = NULL;
    }
}

static struct fid_mr *region_for(struct cxi_nic *nic, void *address, size_t bytes, uint64_t access,
                                 struct cxi_counter *counter)
{
    int rc;
    struct fid_mr *region = register_of_host(nic, bytes > 0 ? address : &nic->constants.nowhere,
                                             bytes > 0 ? bytes : sizeof(uint64_t), access, &rc);

    if (region == NULL) {
        mpixq_debug("fabric: %zu bytes could not be registered: %s", bytes, mpixq_cxi_strerror(rc));
    } else if (!mpixq_cxi_bind(nic, region, counter)) {
        mpixq_cxi_region_close(&region);
    }
    return region;
}

struct fid_mr *mpixq_cxi_region(struct cxi_nic *nic, void *address, size_t bytes,
                                struct cxi_counter *counter)
{
    return region_for(nic, address, bytes, FI_REMOTE_WRITE, counter);
}

struct fid_mr *mpixq_cxi_region_to_read(struct cxi_nic *nic, void *address, size_t bytes)
{
    return region_for(nic, address, bytes, FI_REMOTE_WRITE | FI_REMOTE_READ, NULL);
}

struct fid_mr *mpixq_cxi_warm(struct cxi_nic *nic, void *address, size_t bytes)
{
    struct fid_mr *region = NULL;
    int rc;

    if (nic->quirks->warms && bytes > 0) {
        region = register_of_host(nic, address, bytes, FI_WRITE | FI_READ, &rc);
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
