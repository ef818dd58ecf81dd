/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The fabric of the process: one domain and one endpoint, for all queues. Opened when the first
 * pair or queue asks for it.
 *
 * libfabric is loaded then, and not linked: it brings a dozen libraries of other networks, some of
 * which install signal handlers, and most programs do not need it. All of its interface but the
 * six functions below is inline. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "about.h"
#include "core/alloc.h"
#include "core/env.h"
#include "core/lock.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/table.h"
#include "cxi.h"
#include "locality.h"
#include "probe.h"
#include "shares.h"
#include "supply.h"

/* Choices of MPIXQ_FABRIC. */
enum fabric_choice { FABRIC_AUTO, FABRIC_NONE, FABRIC_CXI, FABRIC_SOCKETS };

struct cxi_nic mpixq_cxi_nic = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_CXI_NIC)};
#define nic mpixq_cxi_nic

static struct mpixq_lock open_lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_CXI_OPEN);

/* Peers whose address is in the address vector. Under the matching lock. */
struct peer {
    int rank;
    fi_addr_t address;
    struct cxi_probe probe;
    UT_hash_handle hh;
};
static struct peer *peers;

static struct fid_mr *probed; /* the region with key CXI_PROBE_KEY */
static struct fid_mr *constants;

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

static const char not_loaded[] = "libfabric.so.1 cannot be loaded";

static bool load(void)
{
    lib.handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    return lib.handle != NULL && load_one("fi_getinfo", &lib.getinfo) &&
           load_one("fi_freeinfo", &lib.freeinfo) && load_one("fi_dupinfo", &lib.dupinfo) &&
           load_one("fi_fabric", &lib.fabric) && load_one("fi_strerror", &lib.strerror) &&
           load_one("fi_version", &lib.version);
}

struct fi_info *mpixq_cxi_find_all(char *version_p, size_t room, const char **why_p)
{
    struct fi_info *found = NULL;

    if (!load()) {
        *why_p = not_loaded;
        return NULL;
    }
    (void)snprintf(version_p, room, "%u.%u", (unsigned)FI_MAJOR(lib.version()),
                   (unsigned)FI_MINOR(lib.version()));
    *why_p = "libfabric.so.1 offers no provider";
    return lib.getinfo(FI_VERSION(1, 15), NULL, NULL, 0, NULL, &found) == 0 ? found : NULL;
}

void mpixq_cxi_free_all(struct fi_info *all)
{
    lib.freeinfo(all);
}

const char *mpixq_cxi_strerror(int error)
{
    return lib.strerror != NULL ? lib.strerror(error < 0 ? -error : error) : "";
}

/* Which provider is wanted? To ask libfabric takes some 0.1 s, so where there is no such NIC it is
 * not asked. */
static const struct cxi_quirks *choose(const char **why_p)
{
    switch (mpixq_env.fabric) {
    case FABRIC_SOCKETS:
        return &mpixq_cxi_sockets;
    case FABRIC_CXI:
        return &mpixq_cxi_cxi;
    case FABRIC_AUTO:
        if (access("/sys/class/cxi", F_OK) == 0) {
            return &mpixq_cxi_cxi;
        }
        *why_p = "there is no cxi device in /sys/class/cxi (MPIXQ_FABRIC)";
        return NULL;
    default:
        *why_p = "MPIXQ_FABRIC is none";
        return NULL;
    }
}

static struct fi_info *find(const struct cxi_quirks *quirks, bool hmem)
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

static int open_endpoint(void)
{
    struct fi_cq_attr cq = {.size = 4096, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
    struct fi_av_attr av = {.type = nic.info->domain_attr->av_type};
    struct fi_cntr_attr cntr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_NONE};
    int rc = fi_av_open(nic.domain, &av, &nic.av, NULL);

    rc = rc ? rc : fi_cq_open(nic.domain, &cq, &nic.cq, NULL);
    rc = rc ? rc : fi_cntr_open(nic.domain, &cntr, &nic.unused, NULL);
    rc = rc ? rc : fi_endpoint(nic.domain, nic.info, &nic.ep, NULL);
    rc = rc ? rc : fi_ep_bind(nic.ep, &nic.av->fid, 0);
    rc =
        rc ? rc : fi_ep_bind(nic.ep, &nic.cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION);
    rc = rc ? rc : fi_ep_bind(nic.ep, &nic.unused->fid, FI_READ | FI_WRITE);
    return rc ? rc : fi_enable(nic.ep);
}

static int name_endpoint(void)
{
    int rc;

    nic.address_bytes = sizeof nic.address;
    rc = fi_getname(&nic.ep->fid, nic.address, &nic.address_bytes);
    if (rc == 0 && fi_av_insert(nic.av, nic.address, 1, &nic.self, 0, NULL) != 1) {
        rc = -FI_EADDRNOTAVAIL;
    }
    return rc;
}

static void *close_fid(struct fid *fid)
{
    int rc = fi_close(fid);

    if (rc != 0) {
        mpixq_warn("fabric: an object could not be closed: %s", mpixq_cxi_strerror(rc));
    }
    return NULL;
}
#define CLOSE(object) ((object) = (object) != NULL ? close_fid(&(object)->fid) : NULL)

static void close_all(void)
{
    mpixq_cxi_words_close();
    CLOSE(probed);
    CLOSE(constants);
    CLOSE(nic.ep);
    mpixq_cxi_supply_close();
    CLOSE(nic.unused);
    CLOSE(nic.cq);
    CLOSE(nic.av);
    CLOSE(nic.domain);
    mpixq_cxi_shares_leave(); /* the NIC has no entries of this process any more */
    CLOSE(nic.fabric);
    if (nic.infos != NULL) {
        lib.freeinfo(nic.infos);
        nic.infos = nic.info = NULL;
    }
}

/* Words only grow, one at a time, so that the largest of what was written does as well as a sum. */
static bool choose_atomic(void)
{
    static const enum fi_op ops[] = {FI_SUM, FI_MAX};
    bool found = false;

    for (int i = 0; i < 2 && !found; i++) {
        size_t count = 0;

        nic.atomic = ops[i];
        found = fi_atomicvalid(nic.ep, FI_UINT64, ops[i], &count) == 0 && count > 0;
    }
    return found;
}

/* NULL, or why not. */
static const char *open_objects(void)
{
    int rc;

    nic.infos = find(nic.quirks, nic.why_no_hmem == NULL);
    if (nic.infos == NULL) {
        return "libfabric does not offer the provider with what is needed";
    }
    nic.why_info = "the first";
    nic.info = nic.quirks->software ? nic.infos : mpixq_cxi_choose_nic(nic.infos, &nic.why_info);
    if (nic.info == NULL) {
        return "there is no NIC of the number MPIXQ_CXI_NIC";
    }
    rc = lib.fabric(nic.info->fabric_attr, &nic.fabric, NULL);
    rc = rc ? rc : fi_domain(nic.fabric, nic.info, &nic.domain, NULL);
    rc = rc ? rc : open_endpoint();
    rc = rc ? rc : name_endpoint();
    if (rc != 0) {
        return mpixq_cxi_strerror(rc);
    }
    return choose_atomic() ? NULL : "the provider has no atomic sum, nor maximum";
}

/* What keeps memory of GPUs from being registered, or NULL; as found by mpixq_cxi_ask_gpus. */
static const char *_Atomic gpus_lack = "no GPU was asked when it was opened";

void mpixq_cxi_ask_gpus(void)
{
    if (atomic_load_explicit(&nic.state, memory_order_acquire) == CXI_UNTRIED) {
        atomic_store(&gpus_lack,
                     !mpixq_memory_has_gpu() ? "no GPU was used when it was opened"
                     : mpixq_env.cxi_gpu == MPIXQ_CXI_GPU_DIRECT || mpixq_memory_orders()
                         ? NULL
                         : "no GPU's library promises the order that it needs "
                           "(MPIXQ_CXI_GPU)");
    }
}

static const char *no_hmem(void)
{
    return !nic.quirks->has_hmem                      ? "the provider does not take it"
           : mpixq_env.cxi_gpu == MPIXQ_CXI_GPU_TWINS ? "MPIXQ_CXI_GPU is twins"
                                                      : atomic_load(&gpus_lack);
}

/* To post from memory that is not kept mapped, or to register it, would call the GPU's library, and
 * there are threads that do so and may not. So all memory of our own is kept mapped. */
static bool can_do_hmem(void)
{
    if ((nic.info->caps & FI_HMEM) == 0 || (nic.info->domain_attr->mr_mode & FI_MR_HMEM) != 0 ||
        nic.atomic != FI_SUM) {
        return false;
    }
    constants = mpixq_cxi_warm(&mpixq_cxi_constants, sizeof mpixq_cxi_constants);
    return constants != NULL && mpixq_cxi_arena_open();
}

/* NULL, or why not. */
static const char *open_fabric(void)
{
    static uint64_t nothing; /* that probes write to, without bytes */
    const char *why;

    nic.why_no_hmem = no_hmem();
    why = open_objects();
    if (nic.why_no_hmem == NULL && (why != NULL || !can_do_hmem())) {
        nic.why_no_hmem = why != NULL ? why : "the provider does not do what that needs";
        close_all();
        why = open_objects();
    }
    if (why != NULL) {
        return why;
    }
    nic.next_key = CXI_PROBE_KEY;
    probed = mpixq_cxi_region(&nothing, sizeof nothing, NULL);
    if (probed != NULL && fi_mr_key(probed) != CXI_PROBE_KEY) {
        return "the key of the probes is taken"; /* peers would see them fail */
    }
    if (probed == NULL || !mpixq_cxi_supply_open() || !mpixq_cxi_queue_open(&nic.host, NULL, 0)) {
        return "no memory, or no counters";
    }
    return NULL;
}

static void try_open(void)
{
    nic.quirks = choose(&nic.why);
    if (nic.quirks != NULL) {
        nic.why = load() ? open_fabric() : not_loaded;
    }
    if (nic.why != NULL) {
        close_all();
        if (mpixq_env.info && nic.quirks != NULL) { /* else that was said in MPI_Init */
            mpixq_print("channel cxi: not available: %s", nic.why);
        }
        mpixq_info("fabric not usable: %s", nic.why);
    } else if (mpixq_env.info) {
        mpixq_cxi_say();
    }
}

bool mpixq_cxi_open(void)
{
    bool is_open;

    mpixq_lock_acquire(&open_lock);
    if (atomic_load_explicit(&nic.state, memory_order_relaxed) == CXI_UNTRIED) {
        try_open();
        atomic_store_explicit(&nic.state, nic.why == NULL ? CXI_OPEN : CXI_UNUSABLE,
                              memory_order_release);
    }
    is_open = atomic_load_explicit(&nic.state, memory_order_relaxed) == CXI_OPEN;
    mpixq_lock_release(&open_lock);
    return is_open;
}

const char *mpixq_cxi_outlook(void)
{
    static char text[160]; /* under open_lock; the reason does not change any more */
    int state;

    mpixq_lock_acquire(&open_lock);
    state = atomic_load_explicit(&nic.state, memory_order_relaxed);
    if (state == CXI_UNTRIED && choose(&nic.why) != NULL) {
        nic.why = NULL;
    }
    if (state != CXI_OPEN && nic.why != NULL) {
        (void)snprintf(text, sizeof text, "not available: %s", nic.why);
    }
    mpixq_lock_release(&open_lock);
    return state == CXI_OPEN ? "available"
           : nic.why != NULL ? text
                             : "available if the fabric can be opened, when it is first needed";
}

void mpixq_cxi_close(void)
{
    struct peer *peer, *next;

    if (atomic_load_explicit(&nic.state, memory_order_relaxed) == CXI_OPEN) {
        if (mpixq_env.info) {
            mpixq_print(
                "fabric: %llu pairs, %llu ends in memory of GPUs, %llu starts armed, %llu "
                "taken over, %llu objects set aside, at most %d triggered operations at a time",
                (unsigned long long)nic.counts.pairs, (unsigned long long)nic.counts.direct,
                (unsigned long long)nic.counts.armed, (unsigned long long)nic.counts.taken_over,
                (unsigned long long)nic.counts.set_aside, nic.counts.most_in_use);
        }
        if (nic.counts.pairs > 0 && nic.quirks->software) {
            atomic_fetch_sub(&mpixq_outstanding, 1);
        }
        mpixq_cxi_queue_close(&nic.host);
        close_all();
    }
    HASH_ITER(hh, peers, peer, next)
    {
        HASH_DEL(peers, peer);
        mpixq_free(peer);
    }
    atomic_store_explicit(&nic.state, CXI_UNUSABLE, memory_order_relaxed);
    nic.why = "MPI is finalized";
}

/* Peers and memory. */

fi_addr_t mpixq_cxi_peer(int rank, const unsigned char *address, size_t bytes)
{
    struct peer *peer;

    HASH_FIND_INT(peers, &rank, peer);
    if (peer != NULL) {
        return peer->address;
    }
    peer = bytes == nic.address_bytes ? mpixq_alloc(sizeof *peer) : NULL; /* freed in close */
    if (peer == NULL) {
        return FI_ADDR_NOTAVAIL;
    }
    peer->rank = rank;
    if (fi_av_insert(nic.av, address, 1, &peer->address, 0, NULL) == 1) {
        HASH_ADD_INT(peers, rank, peer);
    }
    if (!mpixq_in_table(peer->hh)) {
        mpixq_free(peer);
        return FI_ADDR_NOTAVAIL;
    }
    return peer->address;
}

struct cxi_probe *mpixq_cxi_probe_of(int rank)
{
    struct peer *peer;

    HASH_FIND_INT(peers, &rank, peer);
    return peer != NULL ? &peer->probe : NULL;
}
