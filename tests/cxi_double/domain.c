/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * domain.c - fabrics, domains and event queues; the first domain starts the NIC
 */
#include "double.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nic_no_bind(struct fid *fid, struct fid *bound, uint64_t flags)
{
    (void)fid;
    (void)bound;
    (void)flags;
    return -FI_ENOSYS;
}

int nic_no_control(struct fid *fid, int command, void *arg)
{
    (void)fid;
    (void)command;
    (void)arg;
    return -FI_ENOSYS;
}

int nic_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
    (void)fid;
    (void)name;
    (void)flags;
    (void)ops;
    (void)context;
    return -FI_ENOSYS;
}

/* The engine's end gives nic.lock up, and nobody may start another one meanwhile. */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;

static struct nic_domain *domain_of(struct fid *fid)
{
    return NIC_CONTAINER(fid, struct nic_domain, fid.fid);
}

/* Under nic.lock. */
static int nic_open(void)
{
    int rc = 0;

    if (nic.users == 0) {
        rc = nic_segment_attach();
        if (rc != 0) {
            return rc;
        }
        rc = nic_bells_open();
        if (rc != 0) {
            goto err_detach;
        }
        rc = nic_engine_start();
        if (rc != 0) {
            goto err_bells;
        }
    }
    nic.users++;
    return 0;

err_bells:
    nic_bells_close();
err_detach:
    nic_segment_detach();
    return rc;
}

static void nic_close(void)
{
    if (--nic.users > 0) {
        return;
    }
    nic_engine_stop();
    nic_out_free_all();
    nic_ops_free_all();
    nic_target_free_all();
    nic_bells_close();
    nic_segment_detach();
}

static int domain_close(struct fid *fid)
{
    struct nic_domain *domain = domain_of(fid);
    struct nic_domain **place = &nic.domains;

    pthread_mutex_lock(&life);
    nic_lock();
    if (domain->refs > 0) {
        pthread_mutex_unlock(&nic.lock);
        pthread_mutex_unlock(&life);
        return -FI_EBUSY;
    }
    if (domain->left > 0 && nic_switches.asserts == NIC_ASSERTS_YES) {
        nic_die("a domain is closed where refused posts have left %d references to mappings",
                domain->left);
    }
    while (*place != domain) {
        place = &(*place)->next;
    }
    *place = domain->next;
    nic_commands_cancel(domain, NULL, NULL);
    nic_pool_give(domain->place, NIC_CNTRS, domain->cntrs_used);
    domain->fabric->refs--;
    nic_close();
    pthread_mutex_unlock(&nic.lock);
    pthread_mutex_unlock(&life);
    free(domain);
    return 0;
}

static int domain_bind(struct fid *fid, struct fid *bound, uint64_t flags)
{
    (void)fid;
    (void)flags;
    return bound->fclass == FI_CLASS_EQ ? 0 : -FI_EINVAL;
}

/* Where the provider keeps count of the entries, those who queue work take turns: here the threads
 * of a process, there all processes. A signal ends the wait for that, and the call. */
static sem_t turn;

static void open_turns(void)
{
    sem_init(&turn, 0, 1);
}

static int take_turn(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int rc;

    pthread_once(&once, open_turns);
    do {
        rc = sem_wait(&turn);
    } while (rc != 0 && nic_is_wrong("work-interrupted"));
    return rc == 0 ? 0 : -FI_EINTR;
}

static int queue_work(struct nic_domain *domain, struct fi_deferred_work *work)
{
    bool in_turn = nic_switches.full == NIC_FULL_REFUSE;
    int rc = in_turn ? take_turn() : 0;

    if (rc != 0) {
        return rc;
    }
    nic_lock();
    rc = nic_dwq_queue(domain, work);
    pthread_mutex_unlock(&nic.lock);
    if (in_turn) {
        sem_post(&turn);
    }
    return rc;
}

static int domain_control(struct fid *fid, int command, void *arg)
{
    int rc = -FI_EINVAL;

    if (command == FI_QUEUE_WORK && arg != NULL) {
        return queue_work(domain_of(fid), arg);
    }
    nic_lock();
    if (command == FI_CANCEL_WORK && nic_is_wrong("work-cancel")) {
        rc = 0;
    } else if (command == FI_FLUSH_WORK) {
        rc = nic_dwq_flush(domain_of(fid));
    }
    pthread_mutex_unlock(&nic.lock);
    return rc;
}

/* The difference wraps where nothing is reserved, as the provider's does. */
static int get_dwq_depth(struct fid *fid, size_t *depth_p)
{
    bool is_bare = (int)(domain_of(fid)->place / NIC_GROUPS) == nic_switches.bare;
    int depth = (is_bare ? 0 : nic_switches.tles) - NIC_KEPT_TLES;

    *depth_p = (size_t)depth;
    return 0;
}

static int enable_hybrid_mr_desc(struct fid *fid, bool enable)
{
    nic_lock();
    domain_of(fid)->hybrid = enable;
    pthread_mutex_unlock(&nic.lock);
    return 0;
}

static int dom_cntr_read(struct fid *fid, unsigned int cntr, uint64_t *value, struct timespec *ts)
{
    (void)fid;
    (void)cntr;
    (void)value;
    (void)ts;
    return -FI_ENOSYS;
}

static int dom_topology(struct fid *fid, unsigned int *group, unsigned int *sw, unsigned int *port)
{
    (void)fid;
    (void)group;
    (void)sw;
    (void)port;
    return -FI_ENOSYS;
}

static size_t dom_unexpected(struct fid_ep *ep, struct fi_cq_tagged_entry *entry, size_t count,
                             fi_addr_t *source, size_t *unexpected)
{
    (void)ep;
    (void)entry;
    (void)count;
    (void)source;
    *unexpected = 0;
    return 0;
}

static int dom_no_switch(struct fid *fid, bool enable)
{
    (void)fid;
    (void)enable;
    return -FI_ENOSYS;
}

static int domain_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
                           void *context)
{
    static struct fi_cxi_dom_ops dom_ops = {
        .cntr_read = dom_cntr_read,
        .topology = dom_topology,
        .enable_hybrid_mr_desc = enable_hybrid_mr_desc,
        .ep_get_unexp_msgs = dom_unexpected,
        .get_dwq_depth = get_dwq_depth,
        .enable_mr_match_events = dom_no_switch,
        .enable_optimized_mrs = dom_no_switch,
    };
    static const char *const names[] = {FI_CXI_DOM_OPS_1, FI_CXI_DOM_OPS_2, FI_CXI_DOM_OPS_3,
                                        FI_CXI_DOM_OPS_4, FI_CXI_DOM_OPS_5, FI_CXI_DOM_OPS_6};

    (void)fid;
    (void)flags;
    (void)context;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            *ops = &dom_ops;
            return 0;
        }
    }
    return -FI_EINVAL;
}

static struct fi_ops domain_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = domain_close,
    .bind = domain_bind,
    .control = domain_control,
    .ops_open = domain_ops_open,
};

static struct fi_ops_domain domain_ops = {
    .size = sizeof(struct fi_ops_domain),
    .av_open = nic_av_open,
    .cq_open = nic_cq_open,
    .endpoint = nic_ep_open,
    .cntr_open = nic_cntr_open,
    .query_atomic = nic_query_atomic,
};

/* Of the name that provider.c has given it. */
static unsigned number_of(const struct fi_info *info)
{
    unsigned number = 0;

    return sscanf(info->domain_attr->name, "cxi%u", &number) == 1 && number < NIC_NICS ? number : 0;
}

int nic_domain_open(struct fid_fabric *fid, struct fi_info *info, struct fid_domain **domain_p,
                    void *context)
{
    struct nic_domain *domain = calloc(1, sizeof(*domain));
    int rc;

    if (domain == NULL) {
        return -FI_ENOMEM;
    }
    if ((int)number_of(info) == nic_switches.broken) {
        free(domain);
        return -FI_ENODEV;
    }
    *domain = (struct nic_domain){
        .fid.fid = {.fclass = FI_CLASS_DOMAIN, .context = context, .ops = &domain_fid_ops},
        .fid.ops = &domain_ops,
        .fid.mr = &nic_mr_ops,
        .fabric = NIC_CONTAINER(fid, struct nic_fabric, fid),
        .mr_mode = (uint64_t)info->domain_attr->mr_mode,
        .prov_key = (info->domain_attr->mr_mode & FI_MR_PROV_KEY) != 0,
        .hmem = (info->caps & FI_HMEM) != 0,
        .next_key = 1,
    };
    pthread_mutex_lock(&life);
    nic_lock();
    rc = nic_open();
    if (rc == 0) {
        rc = nic_domain_place(info, number_of(info), &domain->place);
        if (rc != 0) {
            nic_close();
        }
    }
    if (rc == 0) {
        domain->next = nic.domains;
        nic.domains = domain;
        domain->fabric->refs++;
        *domain_p = &domain->fid;
    }
    pthread_mutex_unlock(&nic.lock);
    pthread_mutex_unlock(&life);
    if (rc != 0) {
        free(domain);
    }
    return rc;
}

/* Nothing ever happens that an event queue would report. */
static ssize_t eq_read(struct fid_eq *eq, uint32_t *event, void *buffer, size_t length,
                       uint64_t flags)
{
    (void)eq;
    (void)event;
    (void)buffer;
    (void)length;
    (void)flags;
    return -FI_EAGAIN;
}

static ssize_t eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *entry, uint64_t flags)
{
    (void)eq;
    (void)entry;
    (void)flags;
    return -FI_EAGAIN;
}

static struct fi_ops_eq eq_ops = {
    .size = sizeof(struct fi_ops_eq), .read = eq_read, .readerr = eq_readerr};

static int eq_close(struct fid *fid)
{
    free(NIC_CONTAINER(fid, struct fid_eq, fid));
    return 0;
}

static struct fi_ops eq_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = eq_close,
    .bind = nic_no_bind,
    .control = nic_no_control,
    .ops_open = nic_no_ops_open,
};

static int eq_open(struct fid_fabric *fid, struct fi_eq_attr *attr, struct fid_eq **eq_p,
                   void *context)
{
    struct fid_eq *eq = calloc(1, sizeof(*eq));

    (void)fid;
    (void)attr;
    if (eq == NULL) {
        return -FI_ENOMEM;
    }
    eq->fid = (struct fid){.fclass = FI_CLASS_EQ, .context = context, .ops = &eq_fid_ops};
    eq->ops = &eq_ops;
    *eq_p = eq;
    return 0;
}

static int fabric_close(struct fid *fid)
{
    struct nic_fabric *fabric = NIC_CONTAINER(fid, struct nic_fabric, fid.fid);
    bool busy;

    nic_lock();
    busy = fabric->refs > 0;
    pthread_mutex_unlock(&nic.lock);
    if (busy) {
        return -FI_EBUSY;
    }
    free(fabric);
    return 0;
}

static struct fi_ops fabric_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = fabric_close,
    .bind = nic_no_bind,
    .control = nic_no_control,
    .ops_open = nic_no_ops_open,
};

static int fabric_trywait(struct fid_fabric *fid, struct fid **fids, int count)
{
    (void)fid;
    (void)fids;
    (void)count;
    return 0;
}

static struct fi_ops_fabric fabric_ops = {
    .size = sizeof(struct fi_ops_fabric),
    .domain = nic_domain_open,
    .eq_open = eq_open,
    .trywait = fabric_trywait,
};

int nic_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric_p, void *context)
{
    struct nic_fabric *fabric;

    if (attr->name != NULL && strcmp(attr->name, "cxi") != 0) {
        return -FI_ENODATA;
    }
    fabric = calloc(1, sizeof(*fabric));
    if (fabric == NULL) {
        return -FI_ENOMEM;
    }
    fabric->fid.fid =
        (struct fid){.fclass = FI_CLASS_FABRIC, .context = context, .ops = &fabric_fid_ops};
    fabric->fid.ops = &fabric_ops;
    *fabric_p = &fabric->fid;
    return 0;
}
