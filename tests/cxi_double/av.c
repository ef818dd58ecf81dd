/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * av.c - address vectors: a number for each address
 */
#include "double.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct nic_av *av_of(struct fid_av *fid)
{
    return NIC_CONTAINER(fid, struct nic_av, fid);
}

int nic_av_address(const struct nic_av *av, fi_addr_t addr, struct nic_address *address_p)
{
    if (addr >= av->count || !av->used[addr]) {
        return -FI_EINVAL;
    }
    *address_p = av->addresses[addr];
    if (address_p->slot == NIC_SERVICE) {
        const struct nic_service *service = nic_service_find(address_p->generation);

        if (service == NULL) {
            return -FI_EAGAIN;
        }
        *address_p = (struct nic_address){
            .slot = service->slot, .generation = service->generation, .ep = service->ep};
    }
    return 0;
}

fi_addr_t nic_av_find(const struct nic_av *av, const struct nic_address *address)
{
    for (size_t i = 0; i < av->count; i++) {
        if (av->used[i] && memcmp(&av->addresses[i], address, sizeof(*address)) == 0) {
            return i;
        }
    }
    return FI_ADDR_NOTAVAIL;
}

static fi_addr_t av_add(struct nic_av *av, const struct nic_address *address)
{
    size_t place = 0;

    while (place < av->count && av->used[place]) {
        place++;
    }
    if (place == av->size) {
        av->size = av->size == 0 ? 16 : 2 * av->size;
        av->addresses = realloc(av->addresses, av->size * sizeof(*av->addresses));
        av->used = realloc(av->used, av->size * sizeof(*av->used));
        if (av->addresses == NULL || av->used == NULL) {
            nic_die("no memory for addresses");
        }
    }
    if (place == av->count) {
        av->count++;
    }
    av->addresses[place] = *address;
    av->used[place] = true;
    return place;
}

static int av_insert(struct fid_av *fid, const void *addresses, size_t count, fi_addr_t *addrs_p,
                     uint64_t flags, void *context)
{
    const unsigned char *from = addresses;

    (void)flags;
    (void)context;
    if (addresses == NULL) {
        return -FI_EINVAL;
    }
    nic_lock();
    for (size_t i = 0; i < count; i++) {
        struct nic_address address;
        fi_addr_t addr;

        memcpy(&address, from + i * sizeof(address), sizeof(address));
        addr = av_add(av_of(fid), &address);
        if (addrs_p != NULL) {
            addrs_p[i] = addr;
        }
    }
    pthread_mutex_unlock(&nic.lock);
    return (int)count;
}

static int av_remove(struct fid_av *fid, fi_addr_t *addrs, size_t count, uint64_t flags)
{
    struct nic_av *av = av_of(fid);
    int rc = 0;

    (void)flags;
    nic_lock();
    for (size_t i = 0; i < count; i++) {
        if (addrs[i] >= av->count || !av->used[addrs[i]]) {
            rc = -FI_EINVAL;
        } else {
            av->used[addrs[i]] = false;
        }
    }
    pthread_mutex_unlock(&nic.lock);
    return rc;
}

static int av_lookup(struct fid_av *fid, fi_addr_t addr, void *address_p, size_t *length)
{
    struct nic_address address;
    int rc;

    nic_lock();
    rc = nic_av_address(av_of(fid), addr, &address);
    pthread_mutex_unlock(&nic.lock);
    if (rc == 0) {
        memcpy(address_p, &address, *length < sizeof(address) ? *length : sizeof(address));
        *length = sizeof(address);
    }
    return rc;
}

static const char *av_straddr(struct fid_av *fid, const void *addr, char *text, size_t *length)
{
    struct nic_address address;
    int used;

    (void)fid;
    memcpy(&address, addr, sizeof(address));
    used = snprintf(text, *length, "fi_addr_cxi://%" PRIu32 ".%" PRIu32 ".%" PRIu32, address.slot,
                    address.generation, address.ep);
    *length = (size_t)used + 1;
    return text;
}

static int av_no_service(struct fid_av *fid, const char *node, const char *service,
                         fi_addr_t *addr_p, uint64_t flags, void *context)
{
    (void)fid;
    (void)node;
    (void)service;
    (void)addr_p;
    (void)flags;
    (void)context;
    return -FI_ENOSYS;
}

static struct fi_ops_av av_ops = {
    .size = sizeof(struct fi_ops_av),
    .insert = av_insert,
    .insertsvc = av_no_service,
    .remove = av_remove,
    .lookup = av_lookup,
    .straddr = av_straddr,
};

static int av_close(struct fid *fid)
{
    struct nic_av *av = NIC_CONTAINER(fid, struct nic_av, fid.fid);

    nic_lock();
    if (av->refs > 0) {
        pthread_mutex_unlock(&nic.lock);
        return -FI_EBUSY;
    }
    av->domain->refs--;
    pthread_mutex_unlock(&nic.lock);
    free(av->addresses);
    free(av->used);
    free(av);
    return 0;
}

static struct fi_ops av_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = av_close,
    .bind = nic_no_bind,
    .control = nic_no_control,
    .ops_open = nic_no_ops_open,
};

int nic_av_open(struct fid_domain *fid, struct fi_av_attr *attr, struct fid_av **av_p,
                void *context)
{
    struct nic_av *av = calloc(1, sizeof(*av));

    if (av == NULL) {
        return -FI_ENOMEM;
    }
    if (attr != NULL && attr->type == FI_AV_UNSPEC) {
        attr->type = FI_AV_TABLE;
    }
    av->fid.fid = (struct fid){.fclass = FI_CLASS_AV, .context = context, .ops = &av_fid_ops};
    av->fid.ops = &av_ops;
    av->domain = NIC_CONTAINER(fid, struct nic_domain, fid);
    nic_lock();
    av->domain->refs++;
    pthread_mutex_unlock(&nic.lock);
    *av_p = &av->fid;
    return 0;
}
