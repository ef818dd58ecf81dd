/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cq.c - completion queues; reading one is what does the software's part of its endpoints
 */
#include "double.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEFAULT_SIZE = 131072 };

static struct nic_cq *cq_of(struct fid_cq *fid)
{
    return NIC_CONTAINER(fid, struct nic_cq, fid);
}

void nic_cq_put(struct nic_cq *cq, const struct fi_cq_err_entry *entry, fi_addr_t source)
{
    struct nic_completion *completion = calloc(1, sizeof(*completion));

    if (completion == NULL) {
        nic_die("no memory for a completion");
    }
    completion->entry = *entry;
    completion->source = source;
    if (cq->first == NULL) {
        cq->last = &cq->first;
    }
    *cq->last = completion;
    cq->last = &completion->next;
}

static void cq_progress(const struct nic_cq *cq)
{
    for (int i = 0; i < NIC_EPS; i++) {
        struct nic_ep *ep = nic.eps[i];

        if (ep != NULL && (ep->tx_cq == cq || ep->rx_cq == cq)) {
            nic_ep_progress(ep);
        }
    }
}

static size_t entry_size(enum fi_cq_format format)
{
    switch (format) {
    case FI_CQ_FORMAT_MSG:
        return sizeof(struct fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA:
        return sizeof(struct fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED:
        return sizeof(struct fi_cq_tagged_entry);
    default:
        return sizeof(struct fi_cq_entry);
    }
}

/* The formats are beginnings of one another, and the error entry begins like the longest. */
static ssize_t cq_take(struct nic_cq *cq, void *buffer, size_t count, fi_addr_t *sources_p)
{
    size_t size = entry_size(cq->format), taken = 0;

    cq_progress(cq);
    if (cq->first != NULL && cq->first->entry.err != 0) {
        return -FI_EAVAIL;
    }
    while (taken < count && cq->first != NULL && cq->first->entry.err == 0) {
        struct nic_completion *completion = cq->first;

        memcpy((char *)buffer + taken * size, &completion->entry, size);
        if (sources_p != NULL) {
            sources_p[taken] = completion->source;
        }
        cq->first = completion->next;
        free(completion);
        taken++;
    }
    return taken == 0 ? -FI_EAGAIN : (ssize_t)taken;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *sources_p)
{
    ssize_t rc;

    nic_lock();
    rc = cq_take(cq_of(fid), buffer, count, sources_p);
    pthread_mutex_unlock(&nic.lock);
    nic_polled(rc != -FI_EAGAIN);
    return rc;
}

static ssize_t cq_read(struct fid_cq *fid, void *buffer, size_t count)
{
    return cq_readfrom(fid, buffer, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry_p, uint64_t flags)
{
    struct nic_cq *cq = cq_of(fid);
    struct nic_completion *completion;
    ssize_t rc = -FI_EAGAIN;

    (void)flags;
    nic_lock();
    cq_progress(cq);
    completion = cq->first;
    if (completion != NULL && completion->entry.err != 0) {
        *entry_p = completion->entry;
        cq->first = completion->next;
        free(completion);
        rc = 1;
    }
    pthread_mutex_unlock(&nic.lock);
    return rc;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *sources_p,
                            const void *cond, int timeout_ms)
{
    uint64_t end_ns = nic_now() + (timeout_ms < 0 ? 0 : (uint64_t)timeout_ms) * 1000000;
    ssize_t rc;

    (void)cond;
    nic_lock();
    for (;;) {
        struct timespec until;

        rc = cq_take(cq_of(fid), buffer, count, sources_p);
        if (rc != -FI_EAGAIN || (timeout_ms >= 0 && nic_now() >= end_ns)) {
            break;
        }
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        if (timeout_ms >= 0 && end_ns - nic_now() < 1000000000) {
            pthread_mutex_unlock(&nic.lock);
            sched_yield();
            nic_lock();
        } else {
            pthread_cond_timedwait(&nic.changed, &nic.lock, &until);
        }
    }
    pthread_mutex_unlock(&nic.lock);
    return rc;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buffer, size_t count, const void *cond,
                        int timeout_ms)
{
    return cq_sreadfrom(fid, buffer, count, NULL, cond, timeout_ms);
}

static int cq_signal(struct fid_cq *fid)
{
    (void)fid;
    return -FI_ENOSYS;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *data, char *text,
                               size_t length)
{
    (void)fid;
    (void)data;
    if (text != NULL && length > 0) {
        snprintf(text, length, "%s", fi_strerror(prov_errno));
        return text;
    }
    return fi_strerror(prov_errno);
}

static struct fi_ops_cq cq_ops = {
    .size = sizeof(struct fi_ops_cq),
    .read = cq_read,
    .readfrom = cq_readfrom,
    .readerr = cq_readerr,
    .sread = cq_sread,
    .sreadfrom = cq_sreadfrom,
    .signal = cq_signal,
    .strerror = cq_strerror,
};

static int cq_close(struct fid *fid)
{
    struct nic_cq *cq = NIC_CONTAINER(fid, struct nic_cq, fid.fid);

    nic_lock();
    if (cq->refs > 0) {
        pthread_mutex_unlock(&nic.lock);
        return -FI_EBUSY;
    }
    cq->domain->refs--;
    pthread_mutex_unlock(&nic.lock);
    while (cq->first != NULL) {
        struct nic_completion *completion = cq->first;

        cq->first = completion->next;
        free(completion);
    }
    free(cq);
    return 0;
}

static struct fi_ops cq_fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = cq_close,
    .bind = nic_no_bind,
    .control = nic_no_control,
    .ops_open = nic_no_ops_open,
};

int nic_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **cq_p,
                void *context)
{
    struct nic_cq *cq;

    if (attr != NULL && attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
        attr->wait_obj != FI_WAIT_YIELD) {
        return -FI_ENOSYS;
    }
    cq = calloc(1, sizeof(*cq));
    if (cq == NULL) {
        return -FI_ENOMEM;
    }
    cq->fid.fid = (struct fid){.fclass = FI_CLASS_CQ, .context = context, .ops = &cq_fid_ops};
    cq->fid.ops = &cq_ops;
    cq->format = attr == NULL ? FI_CQ_FORMAT_CONTEXT : attr->format;
    cq->size = attr == NULL || attr->size == 0 ? DEFAULT_SIZE : attr->size;
    cq->domain = NIC_CONTAINER(fid, struct nic_domain, fid);
    nic_lock();
    cq->domain->refs++;
    pthread_mutex_unlock(&nic.lock);
    *cq_p = &cq->fid;
    return 0;
}
