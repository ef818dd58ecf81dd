/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "window_regions.h"

#include "libfabric.h"
#include "nic.h"
#include "supply.h"

static struct fid_mr *register_base(struct cxi_nic *nic, const struct mpixq_nic_memory *memory,
                                    struct fi_mr_attr attr, uint64_t access)
{
    const struct iovec iov = {.iov_base = memory->base, .iov_len = memory->bytes};
    struct fid_mr *region = NULL;

    attr.mr_iov = &iov;
    attr.iov_count = 1;
    attr.access = access;
    return mpixq_cxi_register(nic, &attr, &region) == 0 ? region : NULL;
}

/* In memory of a GPU. */
static const char *open_base_of_gpu(struct cxi_nic *nic, const struct mpixq_nic_memory *memory,
                                    struct cxi_window_regions *regions)
{
    struct fi_mr_attr attr = {.iface = FI_HMEM_SYSTEM};
    const char *why = nic->why_no_hmem;

    why = why != NULL ? why : mpixq_cxi_find_gpu(memory->kind, memory->base, true, &attr);
    if (why != NULL) {
        return why;
    }
    regions->base = register_base(nic, memory, attr, FI_REMOTE_WRITE | FI_REMOTE_READ);
    regions->warm = register_base(nic, memory, attr, FI_WRITE | FI_READ);
    if (regions->warm == NULL || regions->base == NULL ||
        !mpixq_cxi_bind(nic, regions->base, NULL)) {
        return "the memory of the GPU cannot be registered";
    }
    return mpixq_memory_held(memory->kind, memory->base)
               ? NULL
               : "the program's copies of the memory cannot be made synchronous";
}

static const char *open_base(struct cxi_nic *nic, const struct mpixq_nic_memory *memory,
                             struct cxi_window_regions *regions)
{
    if (memory->kind != NULL) {
        return open_base_of_gpu(nic, memory, regions);
    }
    regions->base = mpixq_cxi_region_to_read(nic, memory->base, memory->bytes);
    regions->warm = mpixq_cxi_warm(nic, memory->base, memory->bytes);
    return regions->base == NULL ? "the NIC has no regions left, or there is no memory"
           : regions->warm == NULL && memory->bytes > 0 && nic->why_no_hmem == NULL
               ? "the window cannot be kept mapped"
               : NULL;
}

const char *mpixq_cxi_window_regions(struct cxi_nic *nic, const struct mpixq_nic_memory *memory,
                                     struct cxi_window_regions *regions)
{
    const char *why = open_base(nic, memory, regions);

    if (why == NULL) {
        regions->words = mpixq_cxi_region(nic, memory->words, memory->words_bytes, NULL);
        why = regions->words == NULL ? "the NIC has no regions left" : NULL;
    }
    return why;
}
