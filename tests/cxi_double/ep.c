/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * ep.c - endpoints: opened, bound, enabled, progressed by software, closed
 */
#include "double.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Another view of an endpoint, with operation flags of its own. */
struct alias {
    struct fid_ep fid;
    struct nic_ep *ep;
    uint64_t op_flags;
};

static struct fi_ops ep_fid_ops, alias_fid_ops;

struct nic_ep *nic_ep_of(struct fid_ep *fid, uint64_t *flags_p)
{
    if (fid->fid.ops == &alias_fid_ops) {
        struct alias *alias = NIC_CONTAINER(fid, struct alias, fid);

        *flags_p = alias->op_flags;
        return alias->ep;
    }
    *flags_p = NIC_CONTAINER(fid, struct nic_ep, fid)->op_flags;
    return NIC_CONTAINER(fid, struct nic_ep, fid);
}

static uint64_t flags_of(const struct nic_op *op)
{
    switch (op->kind) {
    case NIC_WRITE:
        return FI_RMA | FI_WRITE;
    case NIC_READ:
        return FI_RMA | FI_READ;
    case NIC_SEND:
        return (op->tagged ? FI_TAGGED : FI_MSG) | FI_SEND;
    case NIC_AMO:
        return FI_ATOMIC | FI_WRITE;
    default:
        return FI_ATOMIC | FI_READ;
    }
}

/* What was not to be reported knows only of its endpoint, unless the provider keeps a request for
 * it because of its data. */
static bool knows_context(const struct nic_op *op)
{
    return op->report || op->kind == NIC_SEND || nic_is_wrong("work-untracked") ||
           (op->tracked && (op->kind == NIC_WRITE || op->kind == NIC_READ));
}

static void report_op(const struct nic_ep *ep, const struct nic_op *op)
{
    struct fi_cq_err_entry entry = {.flags = flags_of(op), .err = op->rc, .prov_errno = op->rc};

    entry.op_context = knows_context(op) ? op->context : ep->fid.fid.context;
    if (nic_is_wrong("work-failure-report")) {
        entry.op_context = NULL;
    }
    if (ep->tx_cq != NULL && (op->report || op->rc != 0)) {
        nic_cq_put(ep->tx_cq, &entry, FI_ADDR_NOTAVAIL);
    }
}

static void reap_op(struct nic_ep *ep, struct nic_op *op)
{
    nic_request_give(op);
    report_op(ep, op);
    nic_op_free(op);
}

static void reap_receive(struct nic_ep *ep, struct nic_receive *receive)
{
    struct fi_cq_err_entry entry = {
        .op_context = receive->context,
        .flags = (receive->tagged ? FI_TAGGED : FI_MSG) | FI_RECV |
                 (receive->has_data ? FI_REMOTE_CQ_DATA : 0),
        .len = receive->got,
        .buf = receive->buffer,
        .data = receive->data,
        .tag = receive->tag,
        .err = receive->rc,
        .prov_errno = receive->rc,
    };

    if (!receive->deferred && receive->cntr != NULL && receive->rc != FI_ECANCELED) {
        nic_cntr_add(receive->cntr, receive->rc == 0 ? 1 : 0, receive->rc == 0 ? 0 : 1);
    }
    if (ep->rx_cq != NULL && (receive->report || receive->rc != 0)) {
        nic_cq_put(ep->rx_cq, &entry, receive->source);
    }
    free(receive);
}

/* What the NIC leaves to software. */
void nic_ep_progress(struct nic_ep *ep)
{
    nic_ep_wait(ep);
    nic_events_check(ep);
    ep->events = 0;
    while (ep->ended != NULL) {
        struct nic_op *op = ep->ended;

        ep->ended = op->next;
        reap_op(ep, op);
    }
    ep->ended_end = &ep->ended;
    while (ep->matched != NULL) {
        struct nic_receive *receive = ep->matched;

        ep->matched = receive->next;
        reap_receive(ep, receive);
    }
    ep->matched_end = &ep->matched;
}

static int bind_one(struct nic_cntr **slot, struct nic_cntr *cntr, bool wanted)
{
    if (wanted) {
        if (*slot != NULL) {
            return -FI_EINVAL;
        }
        *slot = cntr;
        cntr->refs++;
    }
    return 0;
}

static int bind_cntr(struct nic_ep *ep, struct nic_cntr *cntr, uint64_t flags)
{
    int rc;

    if (cntr->domain != ep->domain || ((flags & FI_SEND) && ep->send_cntr != NULL) ||
        ((flags & FI_READ) && ep->read_cntr != NULL) ||
        ((flags & FI_WRITE) && ep->write_cntr != NULL) ||
        ((flags & FI_RECV) && ep->recv_cntr != NULL)) {
        return -FI_EINVAL;
    }
    rc = bind_one(&ep->send_cntr, cntr, (flags & FI_SEND) != 0);
    rc = rc != 0 ? rc : bind_one(&ep->read_cntr, cntr, (flags & FI_READ) != 0);
    rc = rc != 0 ? rc : bind_one(&ep->write_cntr, cntr, (flags & FI_WRITE) != 0);
    rc = rc != 0 ? rc : bind_one(&ep->recv_cntr, cntr, (flags & FI_RECV) != 0);
    /* The cxi provider takes these flags, and counts nothing. */
    if (nic_switches.rules == NIC_RULES_GENERIC) {
        rc = rc != 0 ? rc
                     : bind_one(&ep->remote_cntr, cntr,
                                (flags & (FI_REMOTE_WRITE | FI_REMOTE_READ)) != 0);
    }
    return rc;
}

static int bind_cq(struct nic_ep *ep, struct nic_cq *cq, uint64_t flags)
{
    if (cq->domain != ep->domain || ((flags & FI_TRANSMIT) && ep->tx_cq != NULL) ||
        ((flags & FI_RECV) && ep->rx_cq != NULL)) {
        return -FI_EINVAL;
    }
    if (flags & FI_TRANSMIT) {
        ep->tx_cq = cq;
        ep->tx_selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
        cq->refs++;
    }
    if (flags & FI_RECV) {
        ep->rx_cq = cq;
        ep->rx_selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
        cq->refs++;
    }
    return 0;
}

static int bind_av(struct nic_ep *ep, struct nic_av *av)
{
    if (av->domain != ep->domain || ep->av != NULL) {
        return -FI_EINVAL;
    }
    ep->av = av;
    av->refs++;
    return 0;
}

static int ep_bind(struct fid *fid, struct fid *bound, uint64_t flags)
{
    struct nic_ep *ep = NIC_CONTAINER(fid, struct nic_ep, fid.fid);
    int rc = -FI_EINVAL;

    nic_lock();
    switch (bound->fclass) {
    case FI_CLASS_CNTR:
        rc = bind_cntr(ep, NIC_CONTAINER(bound, struct nic_cntr, fid.fid), flags);
        break;
    case FI_CLASS_CQ:
        rc = bind_cq(ep, NIC_CONTAINER(bound, struct nic_cq, fid.fid), flags);
        break;
    case FI_CLASS_AV:
        rc = bind_av(ep, NIC_CONTAINER(bound, struct nic_av, fid.fid));
        break;
    case FI_CLASS_EQ:
        rc = 0;
        break;
    default:
        break;
    }
    pthread_mutex_unlock(&nic.lock);
    return rc;
}

static int alias_close(struct fid *fid)
{
    struct alias *alias = NIC_CONTAINER(fid, struct alias, fid.fid);

    nic_lock();
    alias->ep->refs--;
    pthread_mutex_unlock(&nic.lock);
    free(alias);
    return 0;
}

static int alias_open(struct nic_ep *ep, const struct fi_alias *arg)
{
    struct alias *alias = calloc(1, sizeof(*alias));

    if (alias == NULL) {
        return -FI_ENOMEM;
    }
    alias->fid = ep->fid;
    alias->fid.fid.ops = &alias_fid_ops;
    alias->ep = ep;
    alias->op_flags = arg->flags & ~(FI_TRANSMIT | FI_RECV);
    ep->refs++;
    *arg->fid = &alias->fid.fid;
    return 0;
}

/* Three buffers of 12 MiB, which the NIC has mapped, so that they are there. */
static int take_overflow(struct nic_ep *ep)
{
    enum { BYTES = 3 * 12 << 20 };

    if ((ep->caps & (FI_MSG | FI_TAGGED)) == 0 || nic_switches.receives == NIC_RECEIVES_NO) {
        return 0;
    }
    if (nic_switches.receives == NIC_RECEIVES_ABORT) {
        nic_die("an endpoint asks for FI_MSG or FI_TAGGED, and has receive buffers then");
    }
    ep->overflow = malloc(BYTES);
    if (ep->overflow == NULL) {
        return -FI_ENOMEM;
    }
    memset(ep->overflow, 0xa5, BYTES);
    return 0;
}

static int ep_enable(struct nic_ep *ep)
{
    int rc;

    if (ep->av == NULL) {
        return -FI_ENOAV;
    }
    if (ep->tx_cq == NULL || ep->rx_cq == NULL) {
        return -FI_ENOCQ;
    }
    if (ep->enabled) {
        return 0;
    }
    rc = nic_events_open(ep);
    rc = rc == 0 ? take_overflow(ep) : rc;
    ep->enabled = rc == 0;
    return rc;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
    struct nic_ep *ep = NIC_CONTAINER(fid, struct nic_ep, fid.fid);
    int rc = -FI_ENOSYS;

    nic_lock();
    if (command == FI_ENABLE) {
        rc = ep_enable(ep);
    } else if (command == FI_ALIAS) {
        rc = alias_open(ep, arg);
    }
    pthread_mutex_unlock(&nic.lock);
    return rc;
}

static void unref_all(struct nic_ep *ep)
{
    struct nic_cntr *cntrs[] = {ep->send_cntr, ep->recv_cntr, ep->read_cntr, ep->write_cntr,
                                ep->remote_cntr};

    for (size_t i = 0; i < sizeof(cntrs) / sizeof(cntrs[0]); i++) {
        if (cntrs[i] != NULL) {
            cntrs[i]->refs--;
        }
    }
    if (ep->tx_cq != NULL) {
        ep->tx_cq->refs--;
    }
    if (ep->rx_cq != NULL) {
        ep->rx_cq->refs--;
    }
    if (ep->av != NULL) {
        ep->av->refs--;
    }
    ep->domain->refs--;
}

/* As the provider does, for work that has not ended: some seconds, and then without it. */
static void wait_for_work(struct nic_ep *ep)
{
    uint64_t end_ns = nic_now() + (uint64_t)nic_switches.close_ms * 1000000;
    struct timespec pause = {.tv_nsec = 200000};

    nic_ep_progress(ep);
    while ((ep->outstanding > 0 || ep->unfired > 0) && nic_now() < end_ns) {
        pthread_mutex_unlock(&nic.lock);
        nanosleep(&pause, NULL);
        nic_lock();
        nic_ep_progress(ep);
    }
}

static int ep_close(struct fid *fid)
{
    struct nic_ep *ep = NIC_CONTAINER(fid, struct nic_ep, fid.fid);

    nic_lock();
    if (ep->refs > 0) {
        pthread_mutex_unlock(&nic.lock);
        return -FI_EBUSY;
    }
    wait_for_work(ep);
    nic_commands_cancel(ep->domain, NULL, ep);
    for (struct nic_cntr *cntr = ep->domain->cntrs; cntr != NULL; cntr = cntr->next) {
        nic_triggers_cancel(cntr, ep);
    }
    nic_ops_orphan(ep);
    nic_ep_progress(ep);
    nic_match_free_all(ep);
    nic_service_remove(ep->index);
    nic.eps[ep->index] = NULL;
    unref_all(ep);
    pthread_mutex_unlock(&nic.lock);
    free(ep->overflow);
    free(ep);
    return 0;
}

static struct fi_ops ep_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = ep_close,
    .bind = ep_bind,
    .control = ep_control,
    .ops_open = nic_no_ops_open,
};

static struct fi_ops alias_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = alias_close,
    .bind = nic_no_bind,
    .control = nic_no_control,
    .ops_open = nic_no_ops_open,
};

static ssize_t ep_cancel(fid_t fid, void *context)
{
    uint64_t flags;
    struct nic_ep *ep = nic_ep_of(NIC_CONTAINER(fid, struct fid_ep, fid), &flags);
    int rc;

    nic_lock();
    rc = nic_match_cancel(ep, context);
    pthread_mutex_unlock(&nic.lock);
    return rc;
}

static int ep_getopt(fid_t fid, int level, int name, void *value, size_t *length)
{
    (void)fid;
    (void)level;
    (void)name;
    (void)value;
    (void)length;
    return -FI_ENOPROTOOPT;
}

static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t length)
{
    (void)fid;
    (void)level;
    (void)name;
    (void)value;
    (void)length;
    return -FI_ENOPROTOOPT;
}

static struct fi_ops_ep ep_ops = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = ep_cancel,
    .getopt = ep_getopt,
    .setopt = ep_setopt,
};

static int ep_getname(fid_t fid, void *addr, size_t *length)
{
    uint64_t flags;
    struct nic_ep *ep = nic_ep_of(NIC_CONTAINER(fid, struct fid_ep, fid), &flags);
    struct nic_address address = {
        .slot = nic_my_slot,
        .generation = atomic_load(&nic_segment->slots[nic_my_slot].generation),
        .ep = ep->index,
    };
    size_t room = *length;

    *length = sizeof(address);
    if (room < sizeof(address)) {
        return -FI_ETOOSMALL;
    }
    memcpy(addr, &address, sizeof(address));
    return 0;
}

static struct fi_ops_cm cm_ops = {.size = sizeof(struct fi_ops_cm), .getname = ep_getname};

static int ep_index(uint32_t *index_p)
{
    for (uint32_t i = 0; i < NIC_EPS; i++) {
        if (nic.eps[i] == NULL) {
            *index_p = i;
            return 0;
        }
    }
    return -FI_ENOSPC;
}

static int name_service(const struct nic_ep *ep, const struct fi_info *info)
{
    const struct nic_address *address = info->src_addr;

    if (address == NULL || info->src_addrlen != sizeof(*address) || address->slot != NIC_SERVICE) {
        return 0;
    }
    return nic_service_add(address->generation, ep->index);
}

int nic_ep_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **ep_p, void *context)
{
    struct nic_domain *domain = NIC_CONTAINER(fid, struct nic_domain, fid);
    struct nic_ep *ep;
    int rc;

    if (info == NULL || info->ep_attr == NULL || info->ep_attr->type != FI_EP_RDM) {
        return -FI_EINVAL;
    }
    ep = calloc(1, sizeof(*ep));
    if (ep == NULL) {
        return -FI_ENOMEM;
    }
    *ep = (struct nic_ep){
        .fid.fid = {.fclass = FI_CLASS_EP, .context = context, .ops = &ep_fid_ops},
        .fid.ops = &ep_ops,
        .fid.cm = &cm_ops,
        .fid.msg = &nic_msg_ops,
        .fid.rma = &nic_rma_ops,
        .fid.tagged = &nic_tagged_ops,
        .fid.atomic = &nic_atomic_ops,
        .domain = domain,
        .caps = info->caps,
        .op_flags = info->tx_attr == NULL ? 0 : info->tx_attr->op_flags,
        .order = info->tx_attr == NULL ? 0 : info->tx_attr->msg_order,
        .tx_size =
            info->tx_attr == NULL || info->tx_attr->size == 0 ? NIC_TX_SIZE : info->tx_attr->size,
        .ended_end = &ep->ended,
        .matched_end = &ep->matched,
    };
    nic_lock();
    rc = ep_index(&ep->index);
    if (rc == 0) {
        rc = name_service(ep, info);
    }
    if (rc == 0) {
        nic.eps[ep->index] = ep;
        domain->refs++;
        *ep_p = &ep->fid;
    }
    pthread_mutex_unlock(&nic.lock);
    if (rc != 0) {
        free(ep);
    }
    return rc;
}
