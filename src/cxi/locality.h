/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The choice of a NIC.
 */
#ifndef MPIXQ_CXI_LOCALITY_H
#define MPIXQ_CXI_LOCALITY_H

#include <rdma/fabric.h>

#include "util/ident.h"

/* One of the list that libfabric gave, and why that: the one that this process takes in this place,
 * from 0. GPU: where that of the process is on the bus; or empty. NULL: there are less, or (place
 * 0) none is the one that was asked for. */
struct fi_info *mpixq_cxi_choose_nic(struct fi_info *list, int place, const char *gpu,
                                     const char **why_p);

/* The same for all processes that use the NIC by the same service of it, which is what entries are
 * reserved for. */
struct mpixq_ident mpixq_cxi_nic_ident(const struct fi_info *info);

#endif
