/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * counter_open.c - counters are opened, extended and closed
 */
#include "double.h"

#include <stdlib.h>
#include <string.h>

static struct nic_cntr *cntr_of(struct fid *fid)
{
    return NIC_CONTAINER(fid, struct nic_cntr, fid.fid);
}

/* There is no way back to the word of its own. */
static int set_wb_buffer(struct fid *fid, void *buffer, size_t length)
{
    if (buffer == NULL || length < sizeof(uint64_t) || (uintptr_t)buffer % sizeof(uint64_t) != 0) {
        return -FI_EINVAL;
    }
    nic_lock();
    cntr_of(fid)->wb = buffer;
    nic_cntr_write_back(cntr_of(fid));
    pthread_mutex_unlock(&nic.lock);
    return 0;
}

/* The length is that of a pointer, as with the provider, not that of the page. */
static int get_mmio_addr(struct fid *fid, void **addr, size_t *length)
{
    *addr = nic_bell_address(cntr_of(fid));
    if (*addr == NULL || nic_switches.bells == NIC_NO) {
        return -FI_ENOSYS;
    }
    *length = nic_is_wrong("doorbell-length") ? 4096 : sizeof(void *);
    return 0;
}

static int cntr_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
                         void *context)
{
    static struct fi_cxi_cntr_ops cxi_ops = {.set_wb_buffer = set_wb_buffer,
                                             .get_mmio_addr = get_mmio_addr};

    (void)fid;
    (void)flags;
    (void)context;
    if (strcmp(name, FI_CXI_COUNTER_OPS) != 0) {
        return -FI_EINVAL;
    }
    *ops = &cxi_ops;
    return 0;
}

static void unlink_cntr(struct nic_cntr *cntr)
{
    struct nic_cntr **place = &cntr->domain->cntrs;

    while (*place != cntr) {
        place = &(*place)->next;
    }
    *place = cntr->next;
}

void nic_cntr_reaped(struct nic_cntr *cntr)
{
    cntr->unreaped--;
    if (cntr->closed && cntr->unreaped == 0) {
        free(cntr);
    }
}

static int cntr_close(struct fid *fid)
{
    struct nic_cntr *cntr = cntr_of(fid);

    nic_lock();
    nic_bells_run();
    if (cntr->refs > 0) {
        pthread_mutex_unlock(&nic.lock);
        return nic_is_wrong("counter-busy") ? 0 : -FI_EBUSY;
    }
    if (cntr->unreaped > 0 && nic_switches.lifetime == NIC_ABORT) {
        nic_die("a counter is closed that %d requests still count on; read the completion queue",
                cntr->unreaped);
    }
    if (cntr->left > 0 && nic_switches.asserts == NIC_ASSERTS_YES) {
        nic_die("a counter is closed at which %d refused posts are believed to be under way",
                cntr->left);
    }
    nic_commands_cancel(cntr->domain, cntr, NULL);
    nic_triggers_cancel(cntr, NULL);
    nic_bell_close(cntr);
    unlink_cntr(cntr);
    cntr->domain->refs--;
    cntr->closed = cntr->unreaped > 0;
    if (!cntr->closed) {
        free(cntr);
    }
    pthread_mutex_unlock(&nic.lock);
    return 0;
}

static int cntr_control(struct fid *fid, int command, void *arg)
{
    struct nic_cntr *cntr = cntr_of(fid);
    uint64_t *flags = arg;

    if (command == FI_SETOPSFLAG && flags != NULL) {
        cntr->cached = (*flags & FI_CXI_CNTR_CACHED) != 0;
        return 0;
    }
    if (command == FI_GETOPSFLAG && flags != NULL) {
        *flags = cntr->cached ? FI_CXI_CNTR_CACHED : 0;
        return 0;
    }
    return -FI_ENOSYS;
}

static struct fi_ops cntr_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = cntr_close,
    .bind = nic_no_bind,
    .control = cntr_control,
    .ops_open = cntr_ops_open,
};

/* Versions whose reads never wait have no flag to ask for that. */
static bool attr_is_offered(const struct fi_cntr_attr *attr)
{
    uint64_t flags = nic_switches.read == NIC_READ_STALE ? 0 : FI_CXI_CNTR_CACHED;

    return attr->events == FI_CNTR_EVENTS_COMP &&
           (attr->wait_obj == FI_WAIT_NONE || attr->wait_obj == FI_WAIT_UNSPEC ||
            attr->wait_obj == FI_WAIT_YIELD) &&
           (attr->flags & ~flags) == 0;
}

int nic_cntr_open(struct fid_domain *fid, struct fi_cntr_attr *attr, struct fid_cntr **cntr_p,
                  void *context)
{
    struct nic_domain *domain = NIC_CONTAINER(fid, struct nic_domain, fid);
    struct nic_cntr *cntr;
    int rc = -FI_EDOMAIN;

    if (attr != NULL && !attr_is_offered(attr)) {
        return -FI_ENOSYS;
    }
    cntr = calloc(1, sizeof(*cntr));
    if (cntr == NULL) {
        return -FI_ENOMEM;
    }
    *cntr = (struct nic_cntr){
        .fid.fid = {.fclass = FI_CLASS_CNTR, .context = context, .ops = &cntr_fid_ops},
        .fid.ops = &nic_cntr_ops,
        .domain = domain,
        .wb = &cntr->own_wb,
        .cached = attr != NULL && (attr->flags & FI_CXI_CNTR_CACHED) != 0,
        .no_wait = attr != NULL && attr->wait_obj == FI_WAIT_NONE,
    };
    nic_cntr_write_back(cntr);
    nic_lock();
    if (nic_pool_take(domain->place, NIC_CNTRS, 1)) {
        domain->cntrs_used++;
        rc = nic_bell_open(cntr);
    }
    if (rc == 0) {
        cntr->next = domain->cntrs;
        domain->cntrs = cntr;
        domain->refs++;
        *cntr_p = &cntr->fid;
    }
    pthread_mutex_unlock(&nic.lock);
    if (rc != 0) {
        free(cntr);
    }
    return rc;
}
