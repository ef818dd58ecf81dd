/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The functions of libfabric that are not inline. It is loaded when one of the first two is called.
 */
#ifndef MPIXQ_CXI_LIBFABRIC_H
#define MPIXQ_CXI_LIBFABRIC_H

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>

struct cxi_quirks;

/* NULL: it is loaded; or why not. */
const char *mpixq_cxi_load(void);
/* All that libfabric offers, and its version; or NULL, and why. */
struct fi_info *mpixq_cxi_find_all(char *version_p, size_t room, const char **why_p);
/* What it offers of a provider, with what is needed; hmem: for memory of GPUs too. Or NULL. */
struct fi_info *mpixq_cxi_find(const struct cxi_quirks *quirks, bool hmem);
void mpixq_cxi_free_infos(struct fi_info *infos);
int mpixq_cxi_fabric(const struct fi_info *info, struct fid_fabric **fabric_p);
const char *mpixq_cxi_strerror(int error);

#endif
