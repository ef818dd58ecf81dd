/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * post.h - the way of all calls that post an operation at once
 */
#ifndef CXI_DOUBLE_POST_H
#define CXI_DOUBLE_POST_H

#include "double.h"

/* Posts what want describes. flags: of the message call, or NIC_EP_FLAGS for those of the
 * endpoint. FI_INJECT copies the source and reports nothing. */
#define NIC_EP_FLAGS UINT64_MAX
ssize_t nic_post(struct fid_ep *fid, const struct nic_op *want, fi_addr_t to, uint64_t flags);

#endif
