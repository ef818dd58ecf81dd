/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * libfabric is loaded when it is needed, and not linked: it brings a dozen libraries of other
 * networks, some of which install signal handlers, and most programs do not need it. All of its
 * interface but the six functions below is inline. */
#include "libfabric.h"

#include <dlfcn.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdio.h>
#include <string.h>

#include "quirks.h"

static struct {
    void *handle;
    int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
                   struct fi_info **);
    void (*freeinfo)(struct fi_info *);
    struct fi_info *(*dupinfo)(const struct fi_info *);
    int (*fabric)(struct fi_fabric_attr *, struct fid_fabric **, void *);
    const char *(*strerror)(int);
    uint32_t (*version)(void);
} lib;

static bool load_one(const char *name, void *function_p)
{
    void *symbol = dlsym(lib.handle, name);

    memcpy(function_p, &symbol, sizeof symbol); /* ISO C has no cast from object to function */
    return symbol != NULL;
}

const char *mpixq_cxi_load(void)
{
    bool ok;

    lib.handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    ok = lib.handle != NULL && load_one("fi_getinfo", &lib.getinfo) &&
         load_one("fi_freeinfo", &lib.freeinfo) && load_one("fi_dupinfo", &lib.dupinfo) &&
         load_one("fi_fabric", &lib.fabric) && load_one("fi_strerror", &lib.strerror) &&
         load_one("fi_version", &lib.version);
    return ok ? NULL : "libfabric.so.1 cannot be loaded";
}

struct fi_info *mpixq_cxi_find_all(char *version_p, size_t room, const char **why_p)
{
    struct fi_info *found = NULL;

    *why_p = mpixq_cxi_load();
    if (*why_p != NULL) {
        return NULL;
    }
    (void)snprintf(version_p, room, "%u.%u", (unsigned)FI_MAJOR(lib.version()),
                   (unsigned)FI_MINOR(lib.version()));
    *why_p = "libfabric.so.1 offers no provider";
    return lib.getinfo(FI_VERSION(1, 15), NULL, NULL, 0, NULL, &found) == 0 ? found : NULL;
}

struct fi_info *mpixq_cxi_find(const struct cxi_quirks *quirks, bool hmem)
{
    struct fi_info *hints = lib.dupinfo(NULL), *found = NULL;

    if (hints == NULL) {
        return NULL;
    }
    hints->caps = FI_RMA | FI_ATOMIC | FI_RMA_EVENT | FI_TRIGGER;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED;
    if (hmem) {
        hints->caps |= FI_HMEM;
        hints->domain_attr->mr_mode |= FI_MR_HMEM;
    }
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->fabric_attr->prov_name = strdup(quirks->provider); /* freed with hints */
    if (lib.getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &found) != 0) {
        found = NULL;
    }
    lib.freeinfo(hints);
    return found;
}

void mpixq_cxi_free_infos(struct fi_info *infos)
{
    lib.freeinfo(infos);
}

int mpixq_cxi_fabric(const struct fi_info *info, struct fid_fabric **fabric_p)
{
    return lib.fabric(info->fabric_attr, fabric_p, NULL);
}

const char *mpixq_cxi_strerror(int error)
{
    return lib.strerror != NULL ? lib.strerror(error < 0 ? -error : error) : "";
}
