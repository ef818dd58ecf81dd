/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cxi_ext.h - the extensions of libfabric's cxi provider that we use
 *
 * rdma/fi_cxi_ext.h comes with libfabric 1.21 and later, and not with every build of it. Where it
 * is missing, the part of the documented interface (fi_cxi(7), "Counters" and "Domain operations")
 * that we use is declared here: names, values and the order of members are the interface. Where it
 * is there, it is used, and what we rely on is compared with it at compile time.
 */
#ifndef MPIXQ_CXI_EXT_H
#define MPIXQ_CXI_EXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_trigger.h>

#ifdef HAVE_RDMA_FI_CXI_EXT_H /* of configure, in the flags for libfabric */
#include <rdma/fi_cxi_ext.h>
#else

#define FI_CXI_COUNTER_OPS "cxi_counter_ops"
#define FI_CXI_DOM_OPS_1 "dom_ops_v1"
#define FI_CXI_DOM_OPS_2 "dom_ops_v2"
#define FI_CXI_DOM_OPS_3 "dom_ops_v3"
#define FI_CXI_DOM_OPS_4 "dom_ops_v4"
#define FI_CXI_DOM_OPS_5 "dom_ops_v5"
#define FI_CXI_DOM_OPS_6 "dom_ops_v6"

/* A counter whose fi_cntr_read may return what was last written back. */
#define FI_CXI_CNTR_CACHED (1ULL << 32)
/* Of a deferred operation: write the triggering counter back when it has fired. */
#define FI_CXI_CNTR_WB (1ULL << 62)

/* The two halves of a counter: bits 0 to 47 and 48 to 54 of the word that is written back. */
#define FI_CXI_CNTR_SUCCESS_MAX ((1ULL << 48) - 1)
#define FI_CXI_CNTR_FAILURE_MAX ((1ULL << 7) - 1)

struct fi_cxi_cntr_ops {
    int (*set_wb_buffer)(struct fid *fid, void *buf, size_t len);
    int (*get_mmio_addr)(struct fid *fid, void **addr, size_t *len);
};

/* Later versions of the table only have more members. */
struct fi_cxi_dom_ops {
    int (*cntr_read)(struct fid *fid, unsigned int cntr, uint64_t *value, struct timespec *ts);
    int (*topology)(struct fid *fid, unsigned int *group_id, unsigned int *switch_id,
                    unsigned int *port_id);
    int (*enable_hybrid_mr_desc)(struct fid *fid, bool enable);
    size_t (*ep_get_unexp_msgs)(struct fid_ep *ep, struct fi_cq_tagged_entry *entry, size_t count,
                                fi_addr_t *src_addr, size_t *ux_count);
    int (*get_dwq_depth)(struct fid *fid, size_t *depth);
    int (*enable_mr_match_events)(struct fid *fid, bool enable);
    int (*enable_optimized_mrs)(struct fid *fid, bool enable);
};

/* fi_info::nic::prov_attr */
struct cxip_nic_attr {
    uint32_t version;
    const unsigned int addr;
    const unsigned int default_rgroup_id;
    const unsigned int default_vni;
};

/* Of a domain: the service of Slingshot whose part of the NIC it has. */
struct cxi_auth_key {
    uint32_t svc_id;
    uint16_t vni;
};

#endif

/* Words of a counter's doorbell page, in bytes: a 64-bit store of n adds n to a half; a store of 0
 * to one of the latter two sets a half to 0. */
enum {
    MPIXQ_CXI_BELL_ADD = 0,
    MPIXQ_CXI_BELL_ADD_FAILURE = 64,
    MPIXQ_CXI_BELL_RESET = 128,
    MPIXQ_CXI_BELL_RESET_FAILURE = 192
};

/* The word that is written back has this bit set by the NIC. */
#define MPIXQ_CXI_WRITTEN_BACK (1ULL << 63)

_Static_assert(FI_CXI_CNTR_WB == 1ULL << 62, "flag of deferred work");
_Static_assert(FI_CXI_CNTR_CACHED == 1ULL << 32, "flag of counters");
_Static_assert(FI_CXI_CNTR_SUCCESS_MAX == 0xffffffffffffULL, "successes have 48 bits");
_Static_assert(FI_CXI_CNTR_FAILURE_MAX == 0x7fULL, "failures have 7 bits");
_Static_assert(sizeof(FI_CXI_COUNTER_OPS) == 16 && sizeof(FI_CXI_DOM_OPS_6) == 11, "names");
_Static_assert(offsetof(struct fi_cxi_cntr_ops, get_mmio_addr) == sizeof(void *), "counters");
_Static_assert(offsetof(struct fi_cxi_dom_ops, get_dwq_depth) == 4 * sizeof(void *), "domains");
_Static_assert(offsetof(struct cxip_nic_attr, default_rgroup_id) == 8, "NICs");
_Static_assert(offsetof(struct fi_cxi_dom_ops, enable_hybrid_mr_desc) == 2 * sizeof(void *),
               "domains");
/* A member that is missing, or of another type, does not compile. */
_Static_assert(_Generic(((struct fi_cxi_cntr_ops *)0)->get_mmio_addr,
                        int (*)(struct fid *, void **, size_t *) : 1, default : 0),
               "counters");
_Static_assert(_Generic(((struct fi_cxi_cntr_ops *)0)->set_wb_buffer,
                        int (*)(struct fid *, void *, size_t) : 1, default : 0),
               "counters");
_Static_assert(_Generic(((struct fi_cxi_dom_ops *)0)->get_dwq_depth,
                        int (*)(struct fid *, size_t *) : 1, default : 0),
               "domains");

#endif
