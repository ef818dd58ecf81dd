/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * post_msg.c - the calls for messages, with tags and without
 */
#include "post.h"

#include <stdlib.h>

static ssize_t send_post(struct fid_ep *ep, const struct iovec *iov, size_t count, fi_addr_t to,
                         const uint64_t *tag, uint64_t data, void *context, uint64_t flags)
{
    struct nic_op want = {.kind = NIC_SEND, .data = data, .context = context};

    if (count > 1) {
        return -FI_EINVAL;
    }
    want.source = count == 0 ? NULL : iov->iov_base;
    want.length = count == 0 ? 0 : iov->iov_len;
    want.tagged = tag != NULL;
    want.tag = tag == NULL ? 0 : *tag;
    return nic_post(ep, &want, to, flags);
}

static ssize_t receive_post(struct fid_ep *fid, const struct iovec *iov, size_t count,
                            fi_addr_t from, const uint64_t *tag, uint64_t ignore, void *context,
                            uint64_t flags)
{
    uint64_t ep_flags;
    struct nic_ep *ep = nic_ep_of(fid, &ep_flags);
    struct nic_receive *receive;

    if (count > 1 || !ep->enabled) {
        return -FI_EINVAL;
    }
    receive = calloc(1, sizeof(*receive));
    if (receive == NULL) {
        return -FI_ENOMEM;
    }
    *receive = (struct nic_receive){
        .buffer = count == 0 ? NULL : iov->iov_base,
        .length = count == 0 ? 0 : iov->iov_len,
        .tagged = tag != NULL,
        .tag = tag == NULL ? 0 : *tag,
        .ignore = ignore,
        .source = from,
        .context = context,
        .cntr = ep->recv_cntr,
        .report = !ep->rx_selective || (flags & FI_COMPLETION) != 0,
    };
    nic_lock();
    nic_match_post(ep, receive);
    pthread_mutex_unlock(&nic.lock);
    return 0;
}

static struct iovec iov_of(const void *buffer, size_t length)
{
    return (struct iovec){.iov_base = (void *)(uintptr_t)buffer, .iov_len = length};
}

static ssize_t msg_recv(struct fid_ep *ep, void *buffer, size_t length, void *desc, fi_addr_t from,
                        void *context)
{
    struct iovec iov = iov_of(buffer, length);

    (void)desc;
    return receive_post(ep, &iov, 1, from, NULL, 0, context, 0);
}

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                         fi_addr_t from, void *context)
{
    (void)desc;
    return receive_post(ep, iov, count, from, NULL, 0, context, 0);
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    return receive_post(ep, msg->msg_iov, msg->iov_count, msg->addr, NULL, 0, msg->context, flags);
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                         fi_addr_t to, void *context)
{
    (void)desc;
    return send_post(ep, iov, count, to, NULL, 0, context, NIC_EP_FLAGS);
}

static ssize_t msg_send(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                        fi_addr_t to, void *context)
{
    struct iovec iov = iov_of(buffer, length);

    return msg_sendv(ep, &iov, &desc, 1, to, context);
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    return send_post(ep, msg->msg_iov, msg->iov_count, msg->addr, NULL, msg->data, msg->context,
                     flags);
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buffer, size_t length, fi_addr_t to)
{
    struct iovec iov = iov_of(buffer, length);

    return send_post(ep, &iov, 1, to, NULL, 0, NULL, FI_INJECT);
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                            uint64_t data, fi_addr_t to, void *context)
{
    struct iovec iov = iov_of(buffer, length);

    (void)desc;
    return send_post(ep, &iov, 1, to, NULL, data, context, FI_REMOTE_CQ_DATA | FI_COMPLETION);
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buffer, size_t length, uint64_t data,
                              fi_addr_t to)
{
    struct iovec iov = iov_of(buffer, length);

    return send_post(ep, &iov, 1, to, NULL, data, NULL, FI_REMOTE_CQ_DATA | FI_INJECT);
}

struct fi_ops_msg nic_msg_ops = {
    .size = sizeof(struct fi_ops_msg),
    .recv = msg_recv,
    .recvv = msg_recvv,
    .recvmsg = msg_recvmsg,
    .send = msg_send,
    .sendv = msg_sendv,
    .sendmsg = msg_sendmsg,
    .inject = msg_inject,
    .senddata = msg_senddata,
    .injectdata = msg_injectdata,
};

static ssize_t tag_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                         fi_addr_t from, uint64_t tag, uint64_t ignore, void *context)
{
    (void)desc;
    return receive_post(ep, iov, count, from, &tag, ignore, context, 0);
}

static ssize_t tag_recv(struct fid_ep *ep, void *buffer, size_t length, void *desc, fi_addr_t from,
                        uint64_t tag, uint64_t ignore, void *context)
{
    struct iovec iov = iov_of(buffer, length);

    return tag_recvv(ep, &iov, &desc, 1, from, tag, ignore, context);
}

static ssize_t tag_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
    if (flags & (FI_PEEK | FI_CLAIM)) {
        return -FI_ENOSYS;
    }
    return receive_post(ep, msg->msg_iov, msg->iov_count, msg->addr, &msg->tag, msg->ignore,
                        msg->context, flags);
}

static ssize_t tag_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                         fi_addr_t to, uint64_t tag, void *context)
{
    (void)desc;
    return send_post(ep, iov, count, to, &tag, 0, context, NIC_EP_FLAGS);
}

static ssize_t tag_send(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                        fi_addr_t to, uint64_t tag, void *context)
{
    struct iovec iov = iov_of(buffer, length);

    return tag_sendv(ep, &iov, &desc, 1, to, tag, context);
}

static ssize_t tag_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
    return send_post(ep, msg->msg_iov, msg->iov_count, msg->addr, &msg->tag, msg->data,
                     msg->context, flags);
}

static ssize_t tag_inject(struct fid_ep *ep, const void *buffer, size_t length, fi_addr_t to,
                          uint64_t tag)
{
    struct iovec iov = iov_of(buffer, length);

    return send_post(ep, &iov, 1, to, &tag, 0, NULL, FI_INJECT);
}

static ssize_t tag_senddata(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                            uint64_t data, fi_addr_t to, uint64_t tag, void *context)
{
    struct iovec iov = iov_of(buffer, length);

    (void)desc;
    return send_post(ep, &iov, 1, to, &tag, data, context, FI_REMOTE_CQ_DATA | FI_COMPLETION);
}

static ssize_t tag_injectdata(struct fid_ep *ep, const void *buffer, size_t length, uint64_t data,
                              fi_addr_t to, uint64_t tag)
{
    struct iovec iov = iov_of(buffer, length);

    return send_post(ep, &iov, 1, to, &tag, data, NULL, FI_REMOTE_CQ_DATA | FI_INJECT);
}

struct fi_ops_tagged nic_tagged_ops = {
    .size = sizeof(struct fi_ops_tagged),
    .recv = tag_recv,
    .recvv = tag_recvv,
    .recvmsg = tag_recvmsg,
    .send = tag_send,
    .sendv = tag_sendv,
    .sendmsg = tag_sendmsg,
    .inject = tag_inject,
    .senddata = tag_senddata,
    .injectdata = tag_injectdata,
};
