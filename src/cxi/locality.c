/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which NIC: the one that the user names, else one that is near. */
#include "locality.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cxi_ext.h"
#include "util/env.h"
#include "util/near.h"
#include "util/node.h"

enum { MAX_NICS = 64 };

/* "cxi3" is 3; -1 if there is no number at the end. */
static long number_of(const struct fi_info *info)
{
    const char *name = info->domain_attr->name;
    size_t length = name != NULL ? strlen(name) : 0, digits = 0;

    while (digits < length && strchr("0123456789", name[length - digits - 1]) != NULL) {
        digits++;
    }
    return digits > 0 ? strtol(name + length - digits, NULL, 10) : -1;
}

static void pci_name(const struct fi_info *info, char name[MPIXQ_PCI_ROOM])
{
    const struct fi_pci_attr *pci;

    name[0] = '\0';
    if (info->nic != NULL && info->nic->bus_attr != NULL &&
        info->nic->bus_attr->bus_type == FI_BUS_PCI) {
        pci = &info->nic->bus_attr->attr.pci;
        (void)snprintf(name, MPIXQ_PCI_ROOM, "%04x:%02x:%02x.%x", pci->domain_id, pci->bus_id,
                       pci->device_id, pci->function_id);
    }
}

static struct fi_info *at(struct fi_info *list, int i)
{
    for (; i > 0; i--) {
        list = list->next;
    }
    return list;
}

/* Returns how many there are. */
static int put_in_order(const struct fi_info *list, const char *gpu, int order[MAX_NICS],
                        const char **why_p)
{
    char names[MAX_NICS][MPIXQ_PCI_ROOM];
    struct mpixq_cpus own = {.words = {0}};
    struct mpixq_near to = {
        .folder = MPIXQ_PCI_DEVICES, .gpu = gpu, .own = &own, .turn = mpixq_node_rank()};
    int n = 0;

    for (const struct fi_info *i = list; i != NULL && n < MAX_NICS; i = i->next) {
        pci_name(i, names[n++]);
    }
    /* Of the main thread, which the launcher has bound; others may be bound otherwise by now. */
    (void)sched_getaffinity(getpid(), sizeof own, (cpu_set_t *)&own);
    mpixq_near_order(names, n, &to, order, why_p);
    return n;
}

/* The one that the user names is the first, and the others follow in their order. */
struct fi_info *mpixq_cxi_choose_nic(struct fi_info *list, int place, const char *gpu,
                                     const char **why_p)
{
    int order[MAX_NICS], n;
    struct fi_info *named = list;

    while (mpixq_env.cxi_nic >= 0 && named != NULL && number_of(named) != mpixq_env.cxi_nic) {
        named = named->next;
    }
    if (mpixq_env.cxi_nic >= 0 && (named == NULL || place == 0)) {
        *why_p = "MPIXQ_CXI_NIC";
        return named;
    }
    n = put_in_order(list, gpu, order, why_p);
    place -= mpixq_env.cxi_nic >= 0;
    for (int i = 0; i < n; i++) {
        struct fi_info *info = at(list, order[i]);

        if ((mpixq_env.cxi_nic < 0 || info != named) && place-- == 0) {
            return info;
        }
    }
    return NULL;
}

/* Of Slingshot's on the NIC, the one that the domain is of: the launcher has one for each job step,
 * or all have the same. 0: not known. */
static unsigned service_of(const struct fi_info *info)
{
    const char *provider = info->fabric_attr->prov_name;
    const struct cxip_nic_attr *attr = info->nic != NULL ? info->nic->prov_attr : NULL;

    return provider != NULL && strcmp(provider, "cxi") == 0 && attr != NULL && attr->version > 0
               ? attr->default_rgroup_id
               : 0;
}

/* By its place on the bus, if that is known: a container may give it a name of its own. */
struct mpixq_ident mpixq_cxi_nic_ident(const struct fi_info *info)
{
    const char *name = info->domain_attr->name != NULL ? info->domain_attr->name : "";
    struct mpixq_ident ident = {.low = 3};
    unsigned service = service_of(info);
    char bus[MPIXQ_PCI_ROOM];

    pci_name(info, bus);
    name = bus[0] != '\0' ? bus : name;
    ident = mpixq_ident_add(ident, name, strlen(name));
    return mpixq_ident_add(ident, &service, sizeof service);
}
