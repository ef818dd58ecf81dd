/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * post_rma.c - the calls for reads, writes and atomic operations
 */
#include "post.h"

static const struct nic_mr *region_of(struct fid_ep *fid, void *const *desc)
{
    uint64_t flags;

    return nic_op_region(nic_ep_of(fid, &flags), desc);
}

static void *first_of(void **desc)
{
    return desc == NULL ? NULL : desc[0];
}

static ssize_t rma_post(struct fid_ep *ep, enum nic_kind kind, const struct iovec *iov,
                        void *const *desc, size_t count, fi_addr_t to, uint64_t offset,
                        uint64_t key, void *context, uint64_t flags)
{
    struct nic_op want = {.kind = kind, .offset = offset, .key = key, .context = context};

    if (count > 1) {
        return -FI_EINVAL;
    }
    if (count == 1) {
        want.length = iov->iov_len;
        want.region = region_of(ep, desc);
        want.source = kind == NIC_WRITE ? iov->iov_base : NULL;
        want.result = kind == NIC_READ ? iov->iov_base : NULL;
    }
    return nic_post(ep, &want, to, flags);
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                         fi_addr_t from, uint64_t offset, uint64_t key, void *context)
{
    return rma_post(ep, NIC_READ, iov, desc, count, from, offset, key, context, NIC_EP_FLAGS);
}

static ssize_t rma_read(struct fid_ep *ep, void *buffer, size_t length, void *desc, fi_addr_t from,
                        uint64_t offset, uint64_t key, void *context)
{
    struct iovec iov = {.iov_base = buffer, .iov_len = length};

    return rma_readv(ep, &iov, &desc, 1, from, offset, key, context);
}

static ssize_t message(struct fid_ep *ep, enum nic_kind kind, const struct fi_msg_rma *msg,
                       uint64_t flags)
{
    if (msg->rma_iov_count != 1 || (flags & FI_REMOTE_CQ_DATA)) {
        return -FI_EINVAL;
    }
    return rma_post(ep, kind, msg->msg_iov, msg->desc, msg->iov_count, msg->addr,
                    msg->rma_iov->addr, msg->rma_iov->key, msg->context, flags);
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    const uint64_t allowed = FI_COMPLETION | FI_MORE | FI_FENCE | FI_TRANSMIT_COMPLETE |
                             FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE;

    if ((flags & ~allowed) != 0 && nic_switches.rules != NIC_RULES_GENERIC) {
        return -FI_EBADFLAGS;
    }
    return message(ep, NIC_READ, msg, flags);
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
                          fi_addr_t to, uint64_t offset, uint64_t key, void *context)
{
    return rma_post(ep, NIC_WRITE, iov, desc, count, to, offset, key, context, NIC_EP_FLAGS);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                         fi_addr_t to, uint64_t offset, uint64_t key, void *context)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = length};

    return rma_writev(ep, &iov, &desc, 1, to, offset, key, context);
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    return message(ep, NIC_WRITE, msg, flags);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buffer, size_t length, fi_addr_t to,
                          uint64_t offset, uint64_t key)
{
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buffer, .iov_len = length};

    return rma_post(ep, NIC_WRITE, &iov, NULL, 1, to, offset, key, NULL, FI_INJECT);
}

/* Off by default in the provider, and not in older versions. */
static ssize_t rma_writedata(struct fid_ep *ep, const void *buffer, size_t length, void *desc,
                             uint64_t data, fi_addr_t to, uint64_t offset, uint64_t key,
                             void *context)
{
    (void)ep;
    (void)buffer;
    (void)length;
    (void)desc;
    (void)data;
    (void)to;
    (void)offset;
    (void)key;
    (void)context;
    return -FI_ENOSYS;
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buffer, size_t length, uint64_t data,
                              fi_addr_t to, uint64_t offset, uint64_t key)
{
    return rma_writedata(ep, buffer, length, NULL, data, to, offset, key, NULL);
}

struct fi_ops_rma nic_rma_ops = {
    .size = sizeof(struct fi_ops_rma),
    .read = rma_read,
    .readv = rma_readv,
    .readmsg = rma_readmsg,
    .write = rma_write,
    .writev = rma_writev,
    .writemsg = rma_writemsg,
    .inject = rma_inject,
    .writedata = rma_writedata,
    .injectdata = rma_injectdata,
};

static ssize_t atomic_write(struct fid_ep *ep, const void *buffer, size_t count, void *desc,
                            fi_addr_t to, uint64_t offset, uint64_t key, enum fi_datatype datatype,
                            enum fi_op op, void *context)
{
    struct nic_op want = {.kind = NIC_AMO,
                          .source = buffer,
                          .count = count,
                          .offset = offset,
                          .key = key,
                          .operation = op,
                          .datatype = datatype,
                          .region = region_of(ep, &desc),
                          .context = context};

    return nic_post(ep, &want, to, NIC_EP_FLAGS);
}

static ssize_t atomic_writev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
                             fi_addr_t to, uint64_t offset, uint64_t key, enum fi_datatype datatype,
                             enum fi_op op, void *context)
{
    return count != 1 ? -FI_EINVAL
                      : atomic_write(ep, iov->addr, iov->count, first_of(desc), to, offset, key,
                                     datatype, op, context);
}

static ssize_t post_message(struct fid_ep *ep, enum nic_kind kind, const struct fi_msg_atomic *msg,
                            const void *compare, void *result, void **result_desc, uint64_t flags)
{
    struct nic_op want = {.kind = kind,
                          .compare = compare,
                          .result = result,
                          .region = region_of(ep, msg->desc),
                          .result_region = region_of(ep, result_desc)};

    if (msg->rma_iov_count != 1 || msg->iov_count > 1) {
        return -FI_EINVAL;
    }
    want.source = msg->iov_count == 0 ? NULL : msg->msg_iov->addr;
    want.count = msg->rma_iov->count;
    want.offset = msg->rma_iov->addr;
    want.key = msg->rma_iov->key;
    want.operation = msg->op;
    want.datatype = msg->datatype;
    want.context = msg->context;
    return nic_post(ep, &want, msg->addr, flags);
}

static ssize_t atomic_writemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
    return post_message(ep, NIC_AMO, msg, NULL, NULL, NULL, flags);
}

static ssize_t atomic_inject(struct fid_ep *ep, const void *buffer, size_t count, fi_addr_t to,
                             uint64_t offset, uint64_t key, enum fi_datatype datatype,
                             enum fi_op op)
{
    struct nic_op want = {.kind = NIC_AMO,
                          .source = buffer,
                          .count = count,
                          .offset = offset,
                          .key = key,
                          .operation = op,
                          .datatype = datatype};

    return nic_post(ep, &want, to, FI_INJECT);
}

static ssize_t atomic_readwrite(struct fid_ep *ep, const void *buffer, size_t count, void *desc,
                                void *result, void *result_desc, fi_addr_t to, uint64_t offset,
                                uint64_t key, enum fi_datatype datatype, enum fi_op op,
                                void *context)
{
    struct nic_op want = {.kind = NIC_FETCH,
                          .source = buffer,
                          .count = count,
                          .result = result,
                          .offset = offset,
                          .key = key,
                          .operation = op,
                          .datatype = datatype,
                          .region = region_of(ep, &desc),
                          .result_region = region_of(ep, &result_desc),
                          .context = context};

    return nic_post(ep, &want, to, NIC_EP_FLAGS);
}

static ssize_t atomic_readwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc,
                                 size_t count, struct fi_ioc *results, void **result_desc,
                                 size_t result_count, fi_addr_t to, uint64_t offset, uint64_t key,
                                 enum fi_datatype datatype, enum fi_op op, void *context)
{
    return count != 1 || result_count != 1
               ? -FI_EINVAL
               : atomic_readwrite(ep, iov->addr, iov->count, first_of(desc), results->addr,
                                  first_of(result_desc), to, offset, key, datatype, op, context);
}

static ssize_t atomic_readwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
                                   struct fi_ioc *results, void **result_desc, size_t result_count,
                                   uint64_t flags)
{
    return result_count != 1
               ? -FI_EINVAL
               : post_message(ep, NIC_FETCH, msg, NULL, results->addr, result_desc, flags);
}

static ssize_t atomic_compwrite(struct fid_ep *ep, const void *buffer, size_t count, void *desc,
                                const void *compare, void *compare_desc, void *result,
                                void *result_desc, fi_addr_t to, uint64_t offset, uint64_t key,
                                enum fi_datatype datatype, enum fi_op op, void *context)
{
    struct nic_op want = {.kind = NIC_COMPARE,
                          .source = buffer,
                          .count = count,
                          .compare = compare,
                          .result = result,
                          .offset = offset,
                          .key = key,
                          .operation = op,
                          .datatype = datatype,
                          .region = region_of(ep, &desc),
                          .result_region = region_of(ep, &result_desc),
                          .context = context};

    (void)compare_desc; /* it is in the command */
    return nic_post(ep, &want, to, NIC_EP_FLAGS);
}

static ssize_t atomic_compwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc,
                                 size_t count, const struct fi_ioc *compares, void **compare_desc,
                                 size_t compare_count, struct fi_ioc *results, void **result_desc,
                                 size_t result_count, fi_addr_t to, uint64_t offset, uint64_t key,
                                 enum fi_datatype datatype, enum fi_op op, void *context)
{
    (void)compare_desc;
    return count != 1 || compare_count != 1 || result_count != 1
               ? -FI_EINVAL
               : atomic_compwrite(ep, iov->addr, iov->count, first_of(desc), compares->addr, NULL,
                                  results->addr, first_of(result_desc), to, offset, key, datatype,
                                  op, context);
}

static ssize_t atomic_compwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
                                   const struct fi_ioc *compares, void **compare_desc,
                                   size_t compare_count, struct fi_ioc *results, void **result_desc,
                                   size_t result_count, uint64_t flags)
{
    (void)compare_desc;
    return compare_count != 1 || result_count != 1
               ? -FI_EINVAL
               : post_message(ep, NIC_COMPARE, msg, compares->addr, results->addr, result_desc,
                              flags);
}

static int valid(enum nic_kind kind, enum fi_datatype datatype, enum fi_op op, size_t *count_p)
{
    if (!nic_amo_valid(kind, datatype, op)) {
        return -FI_EOPNOTSUPP;
    }
    if (count_p == NULL) {
        return -FI_EINVAL;
    }
    *count_p =
        nic_switches.rules == NIC_RULES_CXI ? 1 : NIC_AMO_BYTES / (2 * nic_type_size(datatype));
    return 0;
}

static int atomic_writevalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
                             size_t *count_p)
{
    (void)ep;
    return valid(NIC_AMO, datatype, op, count_p);
}

static int atomic_readwritevalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
                                 size_t *count_p)
{
    (void)ep;
    return valid(NIC_FETCH, datatype, op, count_p);
}

static int atomic_compwritevalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
                                 size_t *count_p)
{
    (void)ep;
    return valid(NIC_COMPARE, datatype, op, count_p);
}

struct fi_ops_atomic nic_atomic_ops = {
    .size = sizeof(struct fi_ops_atomic),
    .write = atomic_write,
    .writev = atomic_writev,
    .writemsg = atomic_writemsg,
    .inject = atomic_inject,
    .readwrite = atomic_readwrite,
    .readwritev = atomic_readwritev,
    .readwritemsg = atomic_readwritemsg,
    .compwrite = atomic_compwrite,
    .compwritev = atomic_compwritev,
    .compwritemsg = atomic_compwritemsg,
    .writevalid = atomic_writevalid,
    .readwritevalid = atomic_readwritevalid,
    .compwritevalid = atomic_compwritevalid,
};

int nic_query_atomic(struct fid_domain *fid, enum fi_datatype datatype, enum fi_op op,
                     struct fi_atomic_attr *attr, uint64_t flags)
{
    enum nic_kind kind = (flags & FI_COMPARE_ATOMIC) != 0 ? NIC_COMPARE
                         : (flags & FI_FETCH_ATOMIC) != 0 ? NIC_FETCH
                                                          : NIC_AMO;

    (void)fid;
    attr->size = nic_type_size(datatype);
    return valid(kind, datatype, op, &attr->count);
}
