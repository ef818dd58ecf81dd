/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * provider.c - what libfabric sees of the double: its entry, and the fi_info that it offers
 *
 * libfabric loads each file in the folders of FI_PROVIDER_PATH whose name ends in "fi.so".
 */
#include "double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_prov.h>

/* Not in a public header: set when a layered provider looks for one to stand on. */
#define CORE_PROVIDERS_ONLY (1ULL << 59)

static const uint64_t caps_offered =
    FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE | FI_SEND | FI_RECV |
    FI_REMOTE_READ | FI_REMOTE_WRITE | FI_DIRECTED_RECV | FI_TRIGGER | FI_LOCAL_COMM |
    FI_REMOTE_COMM | FI_RMA_EVENT | FI_FENCE | FI_HMEM | FI_SOURCE | FI_SOURCE_ERR;
/* Offered only to those who ask for them by name, not to those who leave the choice. */
static const uint64_t caps_named = FI_SOURCE | FI_SOURCE_ERR;

static const uint64_t orders_offered =
    FI_ORDER_SAS | FI_ORDER_WAW | FI_ORDER_RMA_WAW | FI_ORDER_RMA_RAR | FI_ORDER_ATOMIC_WAW |
    FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_RAR;

enum {
    INJECT_SIZE = 192,
    CNTR_COUNT = 16,
    CQ_COUNT = 32,
    EP_COUNT = 128,
    MR_COUNT = 100,
    TX_SIZE_MAX = 16384
};

static int nic_fid_close(struct fid *fid)
{
    struct fid_nic *fid_nic = NIC_CONTAINER(fid, struct fid_nic, fid);

    if (fid_nic->device_attr != NULL) {
        free(fid_nic->device_attr->name);
        free(fid_nic->device_attr);
    }
    free(fid_nic->bus_attr);
    if (fid_nic->link_attr != NULL) {
        free(fid_nic->link_attr->network_type);
        free(fid_nic->link_attr);
    }
    free(fid_nic->prov_attr);
    free(fid_nic);
    return 0;
}

static int nic_fid_control(struct fid *fid, int command, void *arg);

static struct fi_ops nic_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = nic_fid_close,
    .bind = nic_no_bind,
    .control = nic_fid_control,
    .ops_open = nic_no_ops_open,
};

/* NICs of independent programs (CXI_DOUBLE_NAME) are in different places, in none of which a
 * machine has a device. */
static uint16_t pci_domain(void)
{
    const char *name = getenv("CXI_DOUBLE_NAME");
    uint32_t hash = 5381;

    for (const char *c = name == NULL ? "" : name; *c != '\0'; c++) {
        hash = 33 * hash + (unsigned char)*c;
    }
    return (uint16_t)(0x8000 | (hash ^ hash >> 15));
}

/* One NIC per PCI bus; bus numbers leave room for the devices beside which a site has them. */
static struct fid_nic *nic_fid_new(unsigned number)
{
    struct cxi_auth_key key = nic_default_key(number);
    struct cxip_nic_attr attr = {
        .version = 1,
        .addr = number,
        .default_rgroup_id = nic_is_wrong("info-service") ? 0 : key.svc_id,
        .default_vni = key.vni,
    };
    struct fid_nic *fid_nic = calloc(1, sizeof(*fid_nic));
    char name[16];

    if (fid_nic == NULL) {
        return NULL;
    }
    snprintf(name, sizeof(name), "cxi%u", number);
    fid_nic->fid = (struct fid){.fclass = FI_CLASS_NIC, .ops = &nic_fid_ops};
    fid_nic->device_attr = calloc(1, sizeof(*fid_nic->device_attr));
    fid_nic->bus_attr = calloc(1, sizeof(*fid_nic->bus_attr));
    fid_nic->link_attr = calloc(1, sizeof(*fid_nic->link_attr));
    fid_nic->prov_attr = malloc(sizeof(attr));
    if (fid_nic->device_attr == NULL || fid_nic->bus_attr == NULL || fid_nic->link_attr == NULL ||
        fid_nic->prov_attr == NULL) {
        nic_fid_close(&fid_nic->fid);
        return NULL;
    }
    fid_nic->device_attr->name = strdup(name);
    fid_nic->bus_attr->bus_type = FI_BUS_PCI;
    fid_nic->bus_attr->attr.pci.domain_id = pci_domain();
    fid_nic->bus_attr->attr.pci.bus_id = (uint8_t)(0x20 * (number + 1));
    fid_nic->link_attr->network_type = strdup("HPC Ethernet");
    fid_nic->link_attr->state = FI_LINK_UP;
    fid_nic->link_attr->speed = 200000000000;
    fid_nic->link_attr->mtu = 2048;
    memcpy(fid_nic->prov_attr, &attr, sizeof(attr));
    return fid_nic;
}

static int nic_fid_control(struct fid *fid, int command, void *arg)
{
    struct fid_nic *fid_nic = NIC_CONTAINER(fid, struct fid_nic, fid);
    struct fid_nic **copy_p = arg;

    if (command != FI_DUP) {
        return -FI_ENOSYS;
    }
    *copy_p = nic_fid_new((unsigned)(fid_nic->bus_attr->attr.pci.bus_id / 0x20 - 1));
    return *copy_p == NULL ? -FI_ENOMEM : 0;
}

static bool is_subset(uint64_t wanted, uint64_t offered)
{
    return (wanted & ~offered) == 0;
}

static bool tx_fits(const struct fi_tx_attr *tx)
{
    return tx == NULL ||
           (tx->inject_size <= INJECT_SIZE && tx->size <= TX_SIZE_MAX && tx->iov_limit <= 1 &&
            tx->rma_iov_limit <= 1 && is_subset(tx->msg_order, orders_offered));
}

static bool domain_fits(const struct fi_domain_attr *attr)
{
    if (attr == NULL || nic_switches.rules == NIC_RULES_GENERIC) {
        return true;
    }
    return attr->data_progress != FI_PROGRESS_AUTO && attr->control_progress != FI_PROGRESS_AUTO &&
           attr->cntr_cnt <= CNTR_COUNT && attr->cq_cnt <= CQ_COUNT && attr->ep_cnt <= EP_COUNT &&
           attr->mr_cnt <= MR_COUNT && (attr->mr_mode & FI_MR_ENDPOINT) != 0 &&
           ((attr->mr_mode & FI_MR_ALLOCATED) != 0 || attr->mr_mode == FI_MR_ENDPOINT);
}

static bool hints_fit(const struct fi_info *hints)
{
    if (hints == NULL) {
        return true;
    }
    if (!is_subset(hints->caps,
                   nic_switches.hmem == NIC_HMEM_NO ? caps_offered & ~FI_HMEM : caps_offered) ||
        (hints->addr_format != FI_FORMAT_UNSPEC && hints->addr_format != FI_ADDR_CXI)) {
        return false;
    }
    if (hints->ep_attr != NULL && hints->ep_attr->type != FI_EP_UNSPEC &&
        hints->ep_attr->type != FI_EP_RDM) {
        return false;
    }
    if (hints->ep_attr != NULL && hints->ep_attr->max_msg_size > nic_max_message()) {
        return false;
    }
    return tx_fits(hints->tx_attr) && domain_fits(hints->domain_attr);
}

static int mr_mode_for(const struct fi_info *hints)
{
    int all = FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

    if (hints == NULL || hints->domain_attr == NULL) {
        return all;
    }
    if (nic_switches.rules == NIC_RULES_GENERIC) {
        return hints->domain_attr->mr_mode & all;
    }
    return (hints->domain_attr->mr_mode | FI_MR_ALLOCATED) & all;
}

static void fill_attrs(struct fi_info *info, const struct fi_info *hints)
{
    struct fi_domain_attr *domain = info->domain_attr;
    const struct fi_tx_attr *tx = hints == NULL ? NULL : hints->tx_attr;

    info->ep_attr->type = FI_EP_RDM;
    info->ep_attr->protocol = FI_PROTO_CXI;
    info->ep_attr->protocol_version = 1;
    info->ep_attr->max_msg_size = nic_max_message();
    info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = 1;
    info->tx_attr->caps = info->rx_attr->caps = info->caps;
    info->tx_attr->msg_order = nic_is_wrong("info-order") ? orders_offered
                               : tx == NULL               ? 0
                                                          : tx->msg_order;
    info->tx_attr->op_flags = tx == NULL ? 0 : tx->op_flags;
    info->tx_attr->inject_size = INJECT_SIZE;
    info->tx_attr->size = tx == NULL || tx->size == 0 ? NIC_TX_SIZE : tx->size;
    info->tx_attr->iov_limit = info->tx_attr->rma_iov_limit = 1;
    info->rx_attr->msg_order = orders_offered;
    info->rx_attr->size = NIC_TX_SIZE;
    info->rx_attr->iov_limit = 1;
    domain->threading = hints == NULL || hints->domain_attr == NULL ||
                                hints->domain_attr->threading == FI_THREAD_UNSPEC
                            ? FI_THREAD_SAFE
                            : hints->domain_attr->threading;
    domain->control_progress = domain->data_progress = FI_PROGRESS_MANUAL;
    domain->resource_mgmt = FI_RM_ENABLED;
    domain->av_type = FI_AV_UNSPEC;
    domain->mr_mode = mr_mode_for(hints);
    domain->mr_key_size = (domain->mr_mode & FI_MR_PROV_KEY) != 0 ? 8 : 4;
    domain->cq_data_size = 8;
    domain->cq_cnt = CQ_COUNT;
    domain->ep_cnt = EP_COUNT;
    domain->tx_ctx_cnt = domain->rx_ctx_cnt = EP_COUNT;
    domain->max_ep_tx_ctx = domain->max_ep_rx_ctx = 1;
    domain->cntr_cnt = CNTR_COUNT;
    domain->mr_iov_limit = 1;
    domain->mr_cnt = MR_COUNT;
    domain->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
}

/* Primary capabilities are given to those who ask; who names no direction has all. */
static uint64_t caps_for(const struct fi_info *hints)
{
    uint64_t directions = FI_READ | FI_WRITE | FI_SEND | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE;

    if (hints == NULL || hints->caps == 0) {
        uint64_t all = nic_switches.hmem == NIC_HMEM_NO ? caps_offered & ~FI_HMEM : caps_offered;

        return nic_is_wrong("info-all") ? all & ~FI_RMA_EVENT
                                        : all & ~(caps_named | FI_DIRECTED_RECV);
    }
    return hints->caps | FI_LOCAL_COMM | FI_REMOTE_COMM |
           ((hints->caps & directions) == 0 ? directions : 0);
}

/* Of a domain, if the program names a service. */
static bool copy_key(struct fi_info *info, const struct fi_info *hints)
{
    const struct fi_domain_attr *wanted = hints == NULL ? NULL : hints->domain_attr;

    if (wanted == NULL || wanted->auth_key == NULL) {
        return true;
    }
    info->domain_attr->auth_key = malloc(wanted->auth_key_size);
    if (info->domain_attr->auth_key != NULL) {
        memcpy(info->domain_attr->auth_key, wanted->auth_key, wanted->auth_key_size);
        info->domain_attr->auth_key_size = wanted->auth_key_size;
    }
    return info->domain_attr->auth_key != NULL;
}

static struct fi_info *info_new(unsigned number, const struct fi_info *hints)
{
    struct fi_info *info = fi_allocinfo();
    char name[16];

    if (info == NULL) {
        return NULL;
    }
    snprintf(name, sizeof(name), "cxi%u", number);
    info->caps = caps_for(hints);
    info->mode = 0;
    info->addr_format = FI_ADDR_CXI;
    fill_attrs(info, hints);
    info->fabric_attr->name = strdup("cxi");
    info->domain_attr->name = strdup(name);
    info->nic = nic_fid_new(number);
    if (info->fabric_attr->name == NULL || info->domain_attr->name == NULL || info->nic == NULL ||
        !copy_key(info, hints)) {
        fi_freeinfo(info);
        return NULL;
    }
    return info;
}

/* Nodes are not told apart: there is one. */
static int set_service(struct fi_info *info, const char *service, uint64_t flags)
{
    struct nic_address address = {.slot = NIC_SERVICE};
    struct nic_address *copy;
    char *end;

    if (service == NULL) {
        return 0;
    }
    address.generation = (uint32_t)strtoul(service, &end, 10);
    if (*end != '\0' || address.generation == 0) {
        return -FI_ENODATA;
    }
    copy = malloc(sizeof(*copy));
    if (copy == NULL) {
        return -FI_ENOMEM;
    }
    *copy = address;
    if (flags & FI_SOURCE) {
        info->src_addr = copy;
        info->src_addrlen = sizeof(*copy);
    } else {
        info->dest_addr = copy;
        info->dest_addrlen = sizeof(*copy);
    }
    return 0;
}

static bool is_wanted(unsigned number, const struct fi_info *hints)
{
    char name[16];

    if (hints == NULL || hints->domain_attr == NULL || hints->domain_attr->name == NULL) {
        return true;
    }
    snprintf(name, sizeof(name), "cxi%u", number);
    return strcmp(hints->domain_attr->name, name) == 0;
}

int nic_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                const struct fi_info *hints, struct fi_info **info_p)
{
    struct fi_info *first = NULL, **last = &first;

    (void)version;
    (void)node;
    if ((flags & CORE_PROVIDERS_ONLY) || !hints_fit(hints)) {
        return -FI_ENODATA;
    }
    for (unsigned number = 0; number < (unsigned)nic_switches.nics; number++) {
        if (!is_wanted(number, hints)) {
            continue;
        }
        *last = info_new(number, hints);
        if (*last == NULL || set_service(*last, service, flags) != 0) {
            fi_freeinfo(first);
            return -FI_ENODATA;
        }
        last = &(*last)->next;
    }
    *info_p = first;
    return first == NULL ? -FI_ENODATA : 0;
}

/* libfabric unloads this file next, also when the program ends without closing its domains. */
static void cleanup(void)
{
    nic_lock();
    if (nic.users > 0) {
        nic_engine_halt();
        nic_segment_leave();
    }
    nic_bells_leave();
    pthread_mutex_unlock(&nic.lock);
}

static struct fi_provider provider = {
    .name = "cxi",
    .version = FI_VERSION(0, 1),
    .fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
    .getinfo = nic_getinfo,
    .fabric = nic_fabric_open,
    .cleanup = cleanup,
};

__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void);

struct fi_provider *fi_prov_ini(void)
{
    nic_switches_read();
    return &provider;
}
