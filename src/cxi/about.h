/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What there is to say of a NIC, for people.
 */
#ifndef MPIXQ_CXI_ABOUT_H
#define MPIXQ_CXI_ABOUT_H

struct cxi_nic;
struct mpixq_facts;

/* For MPIXQ_INFO: when it has been opened, and before it is closed. */
void mpixq_cxi_say(const struct cxi_nic *nic);
void mpixq_cxi_say_counts(const struct cxi_nic *nic);
/* For mpixq_info: what libfabric offers, and a NIC. */
void mpixq_cxi_describe_fabric(struct mpixq_facts *facts);
void mpixq_cxi_describe_nic(struct mpixq_facts *facts, const struct cxi_nic *nic);

#endif
