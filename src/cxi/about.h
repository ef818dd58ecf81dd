/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What there is to say of the fabric, for people.
 */
#ifndef MPIXQ_CXI_ABOUT_H
#define MPIXQ_CXI_ABOUT_H

#include <rdma/fabric.h>
#include <stddef.h>

struct mpixq_facts;

/* For MPIXQ_INFO, of the fabric that is open. */
void mpixq_cxi_say(void);
/* The entry of the channel's table. */
void mpixq_cxi_tell(struct mpixq_facts *facts);

/* nic.c. All that libfabric offers, and its version; or NULL, and why. */
struct fi_info *mpixq_cxi_find_all(char *version_p, size_t room, const char **why_p);
void mpixq_cxi_free_all(struct fi_info *all);

#endif
