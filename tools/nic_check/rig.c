/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * rig.c - an endpoint that talks to itself, and its parts
 */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_MS = 3000 };

struct rig rig;

struct fi_info *rig_hints(void)
{
    struct fi_info *hints = fi_allocinfo();

    if (hints == NULL) {
        must(-FI_ENOMEM, "fi_allocinfo");
    }
    hints->caps = FI_RMA | FI_ATOMIC | FI_RMA_EVENT | FI_TRIGGER;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED;
    hints->fabric_attr->prov_name = strdup(rig_provider);
    return hints;
}

static void ep_start(bool bind_cntr)
{
    struct fi_cq_attr cq_attr = {
        .size = rig.cq_size != 0 ? rig.cq_size : 1024, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    char name[64];
    size_t length = sizeof(name);

    must(fi_endpoint(rig.domain, rig.info, &rig.ep, NULL), "fi_endpoint");
    must(fi_cq_open(rig.domain, &cq_attr, &rig.cq, NULL), "fi_cq_open");
    must(fi_av_open(rig.domain, &av_attr, &rig.av, NULL), "fi_av_open");
    must(fi_ep_bind(rig.ep, &rig.cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION),
         "fi_ep_bind of a completion queue");
    must(fi_ep_bind(rig.ep, &rig.av->fid, 0), "fi_ep_bind of an address vector");
    if (bind_cntr) {
        rig.bound = cntr_open();
        must(fi_ep_bind(rig.ep, &rig.bound->fid, FI_READ | FI_WRITE), "fi_ep_bind of a counter");
    }
    must(fi_enable(rig.ep), "fi_enable");
    must(fi_getname(&rig.ep->fid, name, &length), "fi_getname");
    if (fi_av_insert(rig.av, name, 1, &rig.self, 0, NULL) != 1) {
        must(-FI_EOTHER, "fi_av_insert");
    }
}

void rig_open_with(struct fi_info *hints, bool bind_cntr)
{
    must(fi_getinfo(FI_VERSION(1, 15), NULL, NULL, 0, hints, &rig.info), "fi_getinfo");
    fi_freeinfo(hints);
    must(fi_fabric(rig.info->fabric_attr, &rig.fabric, NULL), "fi_fabric");
    must(fi_domain(rig.fabric, rig.info, &rig.domain, NULL), "fi_domain");
    ep_start(bind_cntr);
}

void rig_open(void)
{
    rig_open_with(rig_hints(), true);
}

struct fid_cntr *cntr_open(void)
{
    struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
    struct fid_cntr *cntr = NULL;

    must(fi_cntr_open(rig.domain, &attr, &cntr, NULL), "fi_cntr_open");
    return cntr;
}

struct fi_cxi_cntr_ops *cntr_ops(struct fid_cntr *cntr)
{
    struct fi_cxi_cntr_ops *ops = NULL;

    must(fi_open_ops(&cntr->fid, FI_CXI_COUNTER_OPS, 0, (void **)&ops, NULL),
         "fi_open_ops of a counter");
    return ops;
}

void *cntr_bell(struct fid_cntr *cntr)
{
    void *bell = NULL;
    size_t length;

    must(cntr_ops(cntr)->get_mmio_addr(&cntr->fid, &bell, &length), "get_mmio_addr");
    return bell;
}

int mr_register(void *memory, size_t length, uint64_t key, struct fid_mr **mr_p)
{
    return fi_mr_reg(rig.domain, memory, length, FI_REMOTE_WRITE | FI_REMOTE_READ, 0, key,
                     FI_RMA_EVENT, mr_p, NULL);
}

int mr_complete(struct fid_mr *mr, struct fid_cntr *cntr)
{
    int rc = fi_mr_bind(mr, &rig.ep->fid, 0);

    if (rc == 0 && cntr != NULL) {
        rc = fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE);
    }
    return rc != 0 ? rc : fi_mr_enable(mr);
}

struct fid_mr *mr_open(void *memory, size_t length, uint64_t key, struct fid_cntr *cntr)
{
    struct fid_mr *mr = NULL;

    must(mr_register(memory, length, key, &mr), "fi_mr_reg");
    must(mr_complete(mr, cntr), "fi_mr_enable");
    return mr;
}

/* Structures that the provider may look at again stay until the process ends. */
static void *keep(size_t size)
{
    struct kept {
        struct kept *next;
        max_align_t memory[];
    };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct kept *all;
    struct kept *kept = calloc(1, sizeof(*kept) + size);

    if (kept == NULL) {
        must(-FI_ENOMEM, "calloc");
        return NULL;
    }
    pthread_mutex_lock(&lock);
    kept->next = all;
    all = kept;
    pthread_mutex_unlock(&lock);
    return kept->memory;
}

struct work work_of(void *source, size_t length)
{
    struct work work = {.threshold = 1, .key = 200, .source = source, .length = length};

    work.trigger = cntr_open();
    work.counted = cntr_open();
    return work;
}

static int queue_move(const struct work *work, enum fi_op_type type)
{
    struct {
        struct fi_deferred_work work;
        struct fi_op_rma rma;
        struct iovec iov;
        struct fi_rma_iov rma_iov;
        void *desc;
    } *all = keep(sizeof(*all));

    all->iov = (struct iovec){.iov_base = work->source, .iov_len = work->length};
    all->rma_iov = (struct fi_rma_iov){.addr = work->offset, .len = work->length, .key = work->key};
    all->rma = (struct fi_op_rma){.ep = rig.ep, .flags = work->flags};
    all->desc = work->desc;
    all->rma.msg = (struct fi_msg_rma){.msg_iov = &all->iov,
                                       .desc = &all->desc,
                                       .iov_count = 1,
                                       .addr = rig.self,
                                       .rma_iov = &all->rma_iov,
                                       .rma_iov_count = 1,
                                       .context = work->context};
    all->work.threshold = work->threshold;
    all->work.triggering_cntr = work->trigger;
    all->work.completion_cntr = work->counted;
    all->work.op_type = type;
    all->work.op.rma = &all->rma;
    return fi_control(&rig.domain->fid, FI_QUEUE_WORK, &all->work);
}

int queue_write(const struct work *work)
{
    return queue_move(work, FI_OP_WRITE);
}

int queue_read(const struct work *work)
{
    return queue_move(work, FI_OP_READ);
}

int queue_atomic(const struct work *work, enum fi_op op)
{
    struct {
        struct fi_deferred_work work;
        struct fi_op_atomic atomic;
        struct fi_ioc ioc;
        struct fi_rma_ioc rma_ioc;
        void *desc;
    } *all = keep(sizeof(*all));

    all->ioc = (struct fi_ioc){.addr = work->source, .count = 1};
    all->rma_ioc = (struct fi_rma_ioc){.addr = work->offset, .count = 1, .key = work->key};
    all->atomic = (struct fi_op_atomic){.ep = rig.ep, .flags = work->flags};
    all->desc = work->desc;
    all->atomic.msg = (struct fi_msg_atomic){.msg_iov = &all->ioc,
                                             .desc = &all->desc,
                                             .iov_count = 1,
                                             .addr = rig.self,
                                             .rma_iov = &all->rma_ioc,
                                             .rma_iov_count = 1,
                                             .datatype = FI_UINT64,
                                             .op = op,
                                             .context = work->context};
    all->work.threshold = work->threshold;
    all->work.triggering_cntr = work->trigger;
    all->work.completion_cntr = work->counted;
    all->work.op_type = FI_OP_ATOMIC;
    all->work.op.atomic = &all->atomic;
    return fi_control(&rig.domain->fid, FI_QUEUE_WORK, &all->work);
}

int queue_change(struct fid_cntr *trigger, uint64_t threshold, enum fi_op_type type,
                 struct fid_cntr *changed, uint64_t value, struct fid_cntr *counted)
{
    struct {
        struct fi_deferred_work work;
        struct fi_op_cntr change;
    } *all = keep(sizeof(*all));

    all->change = (struct fi_op_cntr){.cntr = changed, .value = value};
    all->work.threshold = threshold;
    all->work.triggering_cntr = trigger;
    all->work.completion_cntr = counted;
    all->work.op_type = type;
    all->work.op.cntr = &all->change;
    return fi_control(&rig.domain->fid, FI_QUEUE_WORK, &all->work);
}

uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void pause_ms(int milliseconds)
{
    struct timespec pause = {.tv_sec = milliseconds / 1000,
                             .tv_nsec = milliseconds % 1000 * 1000000L};

    nanosleep(&pause, NULL);
}

/* What is read is of no interest here; the reading is what gives requests back. */
static void progress(void)
{
    struct fi_cq_entry entry;

    (void)fi_cq_read(rig.cq, &entry, 1);
}

bool await(struct fid_cntr *cntr, uint64_t value)
{
    uint64_t end = now_ms() + PATIENCE_MS;

    while (fi_cntr_read(cntr) < value) {
        progress();
        if (now_ms() > end) {
            return false;
        }
    }
    return true;
}

bool await_failure(struct fid_cntr *cntr)
{
    uint64_t end = now_ms() + PATIENCE_MS;

    while (fi_cntr_readerr(cntr) == 0) {
        if (now_ms() > end) {
            return false;
        }
    }
    return true;
}

bool await_word(const uint64_t *word, uint64_t value)
{
    uint64_t end = now_ms() + PATIENCE_MS;

    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
        progress();
        if (now_ms() > end) {
            return false;
        }
    }
    return true;
}

bool await_error(struct fi_cq_err_entry *error_p)
{
    uint64_t end = now_ms() + 3000;
    struct fi_cq_entry entry;
    ssize_t rc;

    do {
        rc = fi_cq_read(rig.cq, &entry, 1);
    } while (rc == -FI_EAGAIN && now_ms() < end);
    return rc == -FI_EAVAIL && fi_cq_readerr(rig.cq, error_p, 0) == 1;
}

bool await_completion(void)
{
    uint64_t end = now_ms() + PATIENCE_MS;
    struct fi_cq_entry entry;
    ssize_t rc;

    do {
        rc = fi_cq_read(rig.cq, &entry, 1);
    } while (rc == -FI_EAGAIN && now_ms() < end);
    return rc == 1;
}
