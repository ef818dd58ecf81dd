/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * hmem.c - memory of GPUs: that of the double of the HIP runtime, if the process has loaded it
 *
 * The NIC reaches it through regions only, by a mapping of its own. In a domain with FI_HMEM an
 * operation whose source no region holds, and the registration of such memory, have its library ask
 * what memory that is, as the provider's does then; to be sent from, memory of a GPU has to be held
 * by a region.
 */
#include "double.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static struct {
    int (*open)(const void *address, size_t bytes, void **alias_p);
    void (*close)(const void *address, size_t bytes, void *alias);
    void (*ask)(void);
    void (*range)(const void *address, const void **base_p, size_t *bytes_p);
} gpu; /* under nic.lock */

static bool find_gpu(void)
{
    void *library;

    if (gpu.open == NULL &&
        (library = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_NOLOAD)) != NULL) {
        void *functions[] = {
            dlsym(library, "hip_double_nic_open"), dlsym(library, "hip_double_nic_close"),
            dlsym(library, "hip_double_nic_ask"), dlsym(library, "hip_double_nic_range")};

        memcpy(&gpu, functions, sizeof(gpu));
    }
    return gpu.open != NULL && gpu.close != NULL && gpu.ask != NULL && gpu.range != NULL;
}

/* The region that holds these bytes, or NULL. */
static const struct nic_mr *holder(const struct nic_domain *domain, const char *memory,
                                   size_t bytes)
{
    const struct nic_mr *mr;

    for (mr = domain->all_mrs; mr != NULL; mr = mr->next_of_all) {
        const char *base = mr->gpu != NULL ? mr->gpu : mr->base;

        if (memory >= base && memory + bytes <= base + mr->length) {
            break;
        }
    }
    return mr;
}

void nic_hmem_ask(const struct nic_domain *domain, const struct fi_mr_attr *attr)
{
    bool is_held;

    nic_lock();
    is_held = !domain->hmem || !find_gpu() ||
              holder(domain, attr->mr_iov->iov_base, attr->mr_iov->iov_len) != NULL;
    pthread_mutex_unlock(&nic.lock);
    if (!is_held) {
        gpu.ask();
    }
}

/* The allocations that regions have mapped, this one too; each is there once. */
static size_t mapped_with(const struct nic_mr *mr)
{
    size_t bytes = mr->allocated;

    for (const struct nic_domain *domain = nic.domains; domain != NULL; domain = domain->next) {
        for (const struct nic_mr *one = domain->all_mrs; one != NULL; one = one->next_of_all) {
            const struct nic_mr *first = domain->all_mrs;

            while (first->allocation != one->allocation) {
                first = first->next_of_all;
            }
            if (first == one && one->allocation != mr->allocation) {
                bytes += one->allocated;
            }
        }
    }
    return bytes;
}

/* Which the provider maps as a whole, whatever the region has of it. */
static int map_allocation(struct nic_mr *mr)
{
    gpu.range(mr->base, &mr->allocation, &mr->allocated);
    return nic_switches.hmem_mib > 0 && mapped_with(mr) > (size_t)nic_switches.hmem_mib << 20
               ? -FI_ENOMEM
               : 0;
}

int nic_hmem_open(struct nic_mr *mr, const struct fi_mr_attr *attr)
{
    void *alias = NULL;
    int found = find_gpu() ? gpu.open(mr->base, mr->length, &alias) : -1;
    int rc = 0;

    if (found < 0) {
        return attr->iface == FI_HMEM_SYSTEM ? 0 : -FI_EINVAL;
    }
    if (found > 0 || !mr->domain->hmem || nic_switches.hmem == NIC_HMEM_REFUSE) {
        rc = -FI_EFAULT;
    } else if (attr->iface != FI_HMEM_ROCR) {
        rc = -FI_EINVAL;
    } else {
        rc = map_allocation(mr);
    }
    if (rc != 0) {
        if (found == 0) {
            gpu.close(mr->base, mr->length, alias);
        }
        return rc;
    }
    mr->gpu = mr->base;
    mr->base = alias;
    return 0;
}

void nic_hmem_close(struct nic_mr *mr)
{
    if (mr->gpu != NULL) {
        gpu.close(mr->gpu, mr->length, mr->base);
        mr->gpu = NULL;
    }
}

static size_t source_bytes(const struct nic_op *op)
{
    return op->kind == NIC_SEND || op->kind <= NIC_READ ? op->length
                                                        : op->count * nic_type_size(op->datatype);
}

/* The region that the source is read by: the one that the caller names, or one that holds it. */
static const struct nic_mr *source_region(const struct nic_op *op)
{
    const struct nic_domain *domain = op->ep->domain;

    if (op->region != NULL && nic_mr_holds(domain, op->region, op->source, source_bytes(op))) {
        return op->region;
    }
    return holder(domain, op->source, source_bytes(op));
}

/* What is read comes to memory that is looked at in the same way. */
void nic_hmem_look(const struct nic_op *op)
{
    const void *local = op->kind == NIC_READ ? op->result : op->source;
    void *alias;

    /* Of what has a description the provider asks nothing. */
    if (local == NULL || !op->ep->domain->hmem || source_bytes(op) == 0 || !find_gpu() ||
        op->region != NULL || holder(op->ep->domain, local, source_bytes(op)) != NULL) {
        return;
    }
    gpu.ask();
    if (gpu.open(local, source_bytes(op), &alias) >= 0) {
        nic_die("%zu bytes in memory of a GPU are to be moved, and no region holds them",
                source_bytes(op));
    }
}

void *nic_hmem_read(const struct nic_op *op)
{
    const struct nic_mr *mr = op->length > 0 && op->ep->domain->hmem ? source_region(op) : NULL;
    void *copy;

    if (mr == NULL || mr->gpu == NULL) {
        return NULL;
    }
    copy = malloc(op->length);
    if (copy == NULL) {
        nic_die("no memory for what is read from a GPU");
    }
    memcpy(copy, mr->base + ((const char *)op->source - mr->gpu), op->length);
    return copy;
}

unsigned char *nic_hmem_result(const struct nic_op *op)
{
    const struct nic_domain *domain = op->ep->domain;
    const struct nic_mr *mr = domain->hmem ? holder(domain, op->result, op->length) : NULL;
    unsigned char *result = op->result;

    return mr == NULL || mr->gpu == NULL ? result
                                         : (unsigned char *)mr->base + ((char *)result - mr->gpu);
}
