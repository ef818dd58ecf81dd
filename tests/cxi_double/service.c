/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * service.c - services of Slingshot: which one a domain is of
 *
 * A launcher names those of its job step in variables, one for each NIC; a program may name another
 * one by the authorization key of a domain. fi_getinfo shows what a domain without a key gets.
 */
#include "double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The item of a list with commas in it, or NULL. */
static const char *item_of(const char *list, int item)
{
    for (; list != NULL && item > 0; item--) {
        list = strchr(list, ',');
        list = list == NULL ? NULL : list + 1;
    }
    return list;
}

/* The place of a NIC in the launcher's list, or -1. */
static int place_of(unsigned nic_number)
{
    const char *list = getenv("SLINGSHOT_DEVICES");
    char name[16];
    size_t length;

    snprintf(name, sizeof(name), "cxi%u", nic_number);
    length = strlen(name);
    for (int place = 0; list != NULL && item_of(list, place) != NULL; place++) {
        const char *item = item_of(list, place);

        if (strncmp(item, name, length) == 0 && (item[length] == ',' || item[length] == '\0')) {
            return place;
        }
    }
    return -1;
}

struct cxi_auth_key nic_default_key(unsigned nic_number)
{
    const char *vnis = getenv("SLINGSHOT_VNIS"), *services = getenv("SLINGSHOT_SVC_IDS");
    int place = place_of(nic_number);
    struct cxi_auth_key key = {.svc_id = (uint32_t)nic_switches.service, .vni = 1};

    services = place < 0 ? NULL : item_of(services, place);
    if (vnis != NULL && services != NULL && atoi(services) > 0) {
        key.svc_id = (uint32_t)atoi(services);
        key.vni = (uint16_t)atoi(vnis); /* the first one is the job step's */
    }
    return key;
}

int nic_domain_place(const struct fi_info *info, unsigned nic_number, unsigned *place_p)
{
    struct cxi_auth_key key = nic_default_key(nic_number);

    if (info->domain_attr->auth_key != NULL) {
        if (info->domain_attr->auth_key_size != sizeof(key)) {
            return -FI_EINVAL;
        }
        memcpy(&key, info->domain_attr->auth_key, sizeof(key));
    }
    return key.svc_id == 0 ? -FI_EINVAL : nic_place_find(nic_number, key.svc_id, place_p);
}
