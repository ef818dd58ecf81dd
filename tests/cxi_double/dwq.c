/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * dwq.c - deferred work: checked, read into a command, queued; and flushed
 */
#include "double.h"
#include "hooks.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COMPLETION_FLAGS                                                                           \
    (FI_COMPLETION | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)

static bool is_generic(void)
{
    return nic_switches.rules == NIC_RULES_GENERIC;
}

static bool flags_are_offered(uint64_t flags)
{
    uint64_t offered = FI_MORE | COMPLETION_FLAGS | FI_CXI_CNTR_WB;

    return is_generic() || (flags & ~offered) == 0;
}

static int op_make(struct fid_ep *fid, enum nic_kind kind, fi_addr_t addr, uint64_t flags,
                   void *context, struct nic_op **op_p)
{
    struct nic_ep *ep;
    struct nic_op *op;
    uint64_t ep_flags;
    int rc;

    if (fid == NULL || !flags_are_offered(flags)) {
        return -FI_EINVAL;
    }
    ep = nic_ep_of(fid, &ep_flags);
    if (!ep->enabled || ep->av == NULL) {
        return -FI_EOPBADSTATE;
    }
    op = nic_op_new(ep, kind);
    rc = nic_av_address(ep->av, addr, &op->to);
    if (rc != 0) {
        nic_op_free(op);
        return rc;
    }
    op->flags = flags;
    op->context = context;
    op->report = (flags & FI_COMPLETION) != 0;
    op->deferred = true;
    *op_p = op;
    return 0;
}

static int build_rma(const struct fi_deferred_work *work, struct nic_op **op_p)
{
    const struct fi_op_rma *rma = work->op.rma;
    enum nic_kind kind = work->op_type == FI_OP_READ ? NIC_READ : NIC_WRITE;
    struct nic_op *op;
    int rc;

    if (kind == NIC_READ && nic_is_wrong("work-read")) {
        return -FI_EINVAL;
    }
    if (rma->msg.msg_iov == NULL || rma->msg.iov_count > 1 || rma->msg.rma_iov == NULL ||
        rma->msg.rma_iov_count != 1) {
        return -FI_EINVAL;
    }
    rc = op_make(rma->ep, kind, rma->msg.addr, rma->flags, rma->msg.context, &op);
    if (rc != 0) {
        return rc;
    }
    op->length = rma->msg.iov_count == 0 ? 0 : rma->msg.msg_iov->iov_len;
    if (kind == NIC_READ) {
        op->result = rma->msg.msg_iov->iov_base;
    } else {
        op->source = rma->msg.msg_iov->iov_base;
    }
    op->key = rma->msg.rma_iov->key;
    op->offset = rma->msg.rma_iov->addr;
    /* The provider does not hand on what the caller names for writes and reads. */
    op->region = nic_is_wrong("work-write-named") ? nic_op_region(op->ep, rma->msg.desc) : NULL;
    op->tracked = nic_op_is_tracked(op);
    *op_p = op;
    return 0;
}

/* The NIC has the values of a write, and those of a comparison, in its command. */
static void capture_operands(struct nic_op *op)
{
    size_t size = op->count * nic_type_size(op->datatype);

    if ((op->operation == FI_ATOMIC_WRITE && !nic_is_wrong("work-atomic-write")) ||
        op->kind == NIC_COMPARE) {
        memcpy(op->operand, op->source, size);
        if (op->kind == NIC_COMPARE) {
            memcpy(op->operand + size, op->compare, size);
        }
        op->captured = true;
    }
}

static int check_atomic(enum nic_kind kind, const struct fi_msg_atomic *msg)
{
    size_t size;

    if (msg->msg_iov == NULL || msg->iov_count != 1 || msg->rma_iov == NULL ||
        msg->rma_iov_count != 1 || msg->msg_iov->count != msg->rma_iov->count) {
        return -FI_EINVAL;
    }
    if (!nic_amo_valid(kind, msg->datatype, msg->op)) {
        return -FI_EOPNOTSUPP;
    }
    size = msg->msg_iov->count * nic_type_size(msg->datatype);
    if (size == 0 || 2 * size > NIC_AMO_BYTES || (msg->msg_iov->count != 1 && !is_generic())) {
        return -FI_EINVAL;
    }
    return 0;
}

static int build_atomic(const struct fi_deferred_work *work, struct nic_op **op_p)
{
    /* The three structures begin alike, which build_extra relies on no further. */
    const struct fi_op_atomic *atomic = work->op.atomic;
    enum nic_kind kind = work->op_type == FI_OP_ATOMIC         ? NIC_AMO
                         : work->op_type == FI_OP_FETCH_ATOMIC ? NIC_FETCH
                                                               : NIC_COMPARE;
    const struct fi_msg_atomic *msg = &atomic->msg;
    uint64_t flags = kind == NIC_AMO     ? atomic->flags
                     : kind == NIC_FETCH ? work->op.fetch_atomic->flags
                                         : work->op.compare_atomic->flags;
    struct nic_op *op;
    int rc = check_atomic(kind, msg);

    if (rc == 0) {
        rc = op_make(atomic->ep, kind, msg->addr, flags, msg->context, &op);
    }
    if (rc != 0) {
        return rc;
    }
    op->source = msg->msg_iov->addr;
    op->count = msg->msg_iov->count;
    op->datatype = msg->datatype;
    op->operation = msg->op;
    op->key = msg->rma_iov->key;
    op->offset = msg->rma_iov->addr;
    if (kind != NIC_AMO) {
        op->result = work->op.fetch_atomic->fetch.msg_iov->addr;
    }
    if (kind == NIC_COMPARE) {
        op->compare = work->op.compare_atomic->compare.msg_iov->addr;
    }
    op->region = nic_op_region(op->ep, msg->desc);
    if (kind != NIC_AMO) {
        op->result_region = nic_op_region(op->ep, work->op.fetch_atomic->fetch.desc);
    }
    op->tracked = nic_op_is_tracked(op);
    capture_operands(op);
    *op_p = op;
    return 0;
}

static int build_send(const struct fi_deferred_work *work, struct nic_op **op_p)
{
    bool tagged = work->op_type == FI_OP_TSEND;
    const struct fi_op_tagged *t = work->op.tagged;
    const struct fi_op_msg *m = work->op.msg;
    const struct iovec *iov = tagged ? t->msg.msg_iov : m->msg.msg_iov;
    size_t count = tagged ? t->msg.iov_count : m->msg.iov_count;
    struct nic_op *op;
    int rc;

    if (count > 1 || (count == 1 && iov == NULL)) {
        return -FI_EINVAL;
    }
    rc = op_make(tagged ? t->ep : m->ep, NIC_SEND, tagged ? t->msg.addr : m->msg.addr,
                 tagged ? t->flags : m->flags, tagged ? t->msg.context : m->msg.context, &op);
    if (rc != 0) {
        return rc;
    }
    op->tagged = tagged;
    op->tag = tagged ? t->msg.tag : 0;
    op->source = count == 0 ? NULL : iov->iov_base;
    op->length = count == 0 ? 0 : iov->iov_len;
    op->tracked = true;
    *op_p = op;
    return 0;
}

static int build_receive(const struct fi_deferred_work *work, struct nic_command *command)
{
    bool tagged = work->op_type == FI_OP_TRECV;
    const struct fi_op_tagged *t = work->op.tagged;
    const struct fi_op_msg *m = work->op.msg;
    const struct iovec *iov = tagged ? t->msg.msg_iov : m->msg.msg_iov;
    size_t count = tagged ? t->msg.iov_count : m->msg.iov_count;
    struct nic_receive *receive;
    uint64_t ep_flags;

    if (count > 1 || (work->threshold != 0 && !is_generic())) {
        return -FI_EINVAL;
    }
    receive = calloc(1, sizeof(*receive));
    if (receive == NULL) {
        return -FI_ENOMEM;
    }
    *receive = (struct nic_receive){
        .buffer = count == 0 ? NULL : iov->iov_base,
        .length = count == 0 ? 0 : iov->iov_len,
        .tagged = tagged,
        .tag = tagged ? t->msg.tag : 0,
        .ignore = tagged ? t->msg.ignore : 0,
        .source = tagged ? t->msg.addr : m->msg.addr,
        .context = tagged ? t->msg.context : m->msg.context,
        .cntr = work->completion_cntr == NULL
                    ? NULL
                    : NIC_CONTAINER(work->completion_cntr, struct nic_cntr, fid),
        .report = ((tagged ? t->flags : m->flags) & FI_COMPLETION) != 0,
        .deferred = true,
    };
    command->ep = nic_ep_of(tagged ? t->ep : m->ep, &ep_flags);
    command->receive = receive;
    return 0;
}

static int build_change(const struct fi_deferred_work *work, struct nic_command *command)
{
    if (work->completion_cntr != NULL && !is_generic()) {
        return -FI_EINVAL;
    }
    command->kind = work->op_type == FI_OP_CNTR_ADD ? NIC_C_ADD : NIC_C_SET;
    command->counted = NIC_CONTAINER(work->op.cntr->cntr, struct nic_cntr, fid);
    command->value = work->op.cntr->value;
    return 0;
}

/* Fills in what the work says; with an error nothing is left behind. */
int nic_dwq_build(const struct fi_deferred_work *work, struct nic_command *command)
{
    int rc;

    switch (work->op_type) {
    case FI_OP_READ:
    case FI_OP_WRITE:
        rc = build_rma(work, &command->op);
        break;
    case FI_OP_ATOMIC:
    case FI_OP_FETCH_ATOMIC:
    case FI_OP_COMPARE_ATOMIC:
        rc = build_atomic(work, &command->op);
        break;
    case FI_OP_SEND:
    case FI_OP_TSEND:
        rc = build_send(work, &command->op);
        break;
    case FI_OP_RECV:
    case FI_OP_TRECV:
        return build_receive(work, command);
    case FI_OP_CNTR_SET:
    case FI_OP_CNTR_ADD:
        return build_change(work, command);
    default:
        return -FI_EINVAL;
    }
    if (rc == 0) {
        command->ep = command->op->ep;
        if (work->completion_cntr != NULL) {
            command->op->cntr = NIC_CONTAINER(work->completion_cntr, struct nic_cntr, fid);
        }
    }
    return rc;
}

/* A defect of versions 2.3 and later; whoever runs into it there gets a null pointer. */
static void check_amo_cntr(const struct nic_op *op)
{
    const struct nic_cntr *needed;

    if (nic_switches.amo_cntr != NIC_ABORT || op->cntr == NULL || !op->tracked) {
        return;
    }
    needed = op->kind == NIC_AMO ? op->ep->write_cntr : op->ep->read_cntr;
    if ((op->kind == NIC_AMO || op->kind == NIC_FETCH || op->kind == NIC_COMPARE) &&
        needed == NULL) {
        nic_die("deferred atomic with a completion counter, but the endpoint has no counter for "
                "%s: the provider reads through a null pointer here",
                op->kind == NIC_AMO ? "FI_WRITE" : "FI_READ");
    }
}

/* Only to be wrong. */
static void copy_source_early(struct nic_op *op)
{
    if (nic_is_wrong("work-source") && op->kind == NIC_WRITE && op->length > 0) {
        op->owned = malloc(op->length);
        if (op->owned == NULL) {
            nic_die("no memory for a copy");
        }
        memcpy(op->owned, op->source, op->length);
        op->source = op->owned;
    }
}

/* admitted: and then refused with rc. */
static void undo_build(struct nic_command *command, bool admitted, int rc)
{
    if (command->op != NULL && admitted) {
        nic_request_give(command->op);
        if (rc == -FI_EAGAIN) {
            nic_request_leave(command->op);
        }
    }
    if (command->op != NULL) {
        nic_op_free(command->op);
    }
    free(command->receive);
}

static uint64_t work_flags(const struct nic_command *command)
{
    return command->op == NULL ? 0 : command->op->flags;
}

/* The entries that the pool must have, where its end is not a standstill; the provider keeps
 * some. */
static int reserve_entries(const struct nic_domain *domain, int count)
{
    int kept = nic_is_wrong("work-limit") ? 0 : NIC_KEPT_TLES;

    if (nic_switches.full != NIC_FULL_REFUSE) {
        return 0;
    }
    if (!nic_pool_take(domain->place, NIC_TLES, count + kept)) {
        return -FI_ENOSPC;
    }
    nic_pool_give(domain->place, NIC_TLES, kept);
    return 0;
}

static int put_reserved(struct nic_domain *domain, struct nic_command *command, bool again)
{
    /* One more than the threshold: written back after this operation, not before. */
    struct nic_command event = {
        .kind = NIC_C_EVENT, .cntr = command->cntr, .threshold = command->threshold + 1};
    int rc = reserve_entries(domain, again ? 2 : 1);

    if (rc != 0) {
        return rc;
    }
    event.threshold -= nic_is_wrong("work-write-back") ? 1 : 0;
    command->reserved = nic_switches.full == NIC_FULL_REFUSE;
    event.reserved = command->reserved;
    rc = nic_command_put(domain, command);
    if (rc != 0) {
        if (command->reserved) {
            nic_pool_give(domain->place, NIC_TLES, again ? 2 : 1);
        }
        /* A change of a counter that finds the queue full is dropped, and called a success. */
        return command->kind == NIC_C_OP || nic_is_wrong("work-change-lost") ? rc : 0;
    }
    if (again) {
        (void)nic_command_put(domain, &event); /* Dropped like those. */
    }
    return 0;
}

static int put_commands(struct nic_domain *domain, struct nic_command *command, bool again)
{
    int rc = put_reserved(domain, command, again);

    /* Who has the limit kept waits until the NIC has read the queue. */
    if (rc == 0 && nic_switches.full == NIC_FULL_REFUSE) {
        nic_commands_run(domain);
    }
    return rc;
}

static void (*watcher)(const struct cxi_double_post *post); /* under nic.lock */

void nic_dwq_watch(void (*watch)(const struct cxi_double_post *post))
{
    watcher = watch;
}

/* Before it is queued, as it may be over then. */
static struct cxi_double_post describe(const struct nic_command *command)
{
    static const char *const names[] = {
        [NIC_WRITE] = "write", [NIC_READ] = "read",       [NIC_AMO] = "atomic",
        [NIC_FETCH] = "fetch", [NIC_COMPARE] = "compare", [NIC_SEND] = "send"};
    const struct nic_op *op = command->op;

    return (struct cxi_double_post){.what = names[op->kind],
                                    .trigger = command->cntr->bell,
                                    .completion =
                                        op->cntr != NULL ? op->cntr->bell : CXI_DOUBLE_NO_COUNTER,
                                    .threshold = command->threshold,
                                    .from = op->source,
                                    .count = op->length > 0 ? op->length : op->count,
                                    .key = op->key,
                                    .offset = op->offset};
}

static int put_and_tell(struct nic_domain *domain, struct nic_command *command, bool again)
{
    bool is_watched = watcher != NULL && command->op != NULL;
    struct cxi_double_post post = {.what = ""};
    int rc;

    if (is_watched) {
        post = describe(command);
    }
    rc = put_commands(domain, command, again);
    if (rc == 0 && is_watched) {
        watcher(&post);
    }
    return rc;
}

int nic_dwq_queue(struct nic_domain *domain, struct fi_deferred_work *work)
{
    struct nic_command command = {.kind = NIC_C_OP, .threshold = work->threshold};
    bool admitted;
    int rc;

    if (work->triggering_cntr == NULL) {
        return nic_is_wrong("work-no-trigger") ? 0 : -FI_EINVAL;
    }
    if (work->completion_cntr == NULL && nic_is_wrong("work-no-completion")) {
        return -FI_EINVAL;
    }
    command.cntr = NIC_CONTAINER(work->triggering_cntr, struct nic_cntr, fid);
    rc = nic_dwq_build(work, &command);
    if (rc != 0) {
        return rc;
    }
    if (command.ep != NULL) {
        nic_ep_wait(command.ep);
    }
    if (command.receive != NULL && work->threshold == 0) {
        return nic_match_post(command.ep, command.receive);
    }
    if (command.op != NULL) {
        copy_source_early(command.op);
        check_amo_cntr(command.op);
        rc = nic_op_admit(command.op);
    }
    admitted = rc == 0;
    if (rc == 0) {
        command.work = nic_switches.capture == NIC_CAPTURE_FIRE ? work : NULL;
        rc = put_and_tell(domain, &command, (work_flags(&command) & FI_CXI_CNTR_WB) != 0);
    }
    if (rc != 0) {
        undo_build(&command, admitted, rc);
    } else if (nic_switches.capture == NIC_CAPTURE_QUEUE) {
        /* The provider's own part of the structure, which no caller may rely on. */
        memset(&work->context, 0xa5, sizeof(work->context));
    }
    return rc;
}

/* Cancels all that waits at any counter of the domain, and takes its time. */
int nic_dwq_flush(struct nic_domain *domain)
{
    struct timespec pause = {.tv_sec = nic_switches.flush_ms / 1000,
                             .tv_nsec = nic_switches.flush_ms % 1000 * 1000000L};

    nic_bells_run();
    nic_commands_cancel(domain, NULL, NULL);
    for (struct nic_cntr *cntr = domain->cntrs; cntr != NULL; cntr = cntr->next) {
        nic_triggers_cancel(cntr, NULL);
    }
    pthread_mutex_unlock(&nic.lock);
    nanosleep(&pause, NULL);
    nic_lock();
    for (int i = 0; i < NIC_EPS; i++) {
        if (nic.eps[i] != NULL && nic.eps[i]->domain == domain) {
            nic_ep_progress(nic.eps[i]);
        }
    }
    return 0;
}
