/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * check.h - the behaviours of a NIC that are looked at, and what the checks share
 *
 * Each check runs in a process of its own, with one endpoint that talks to itself, and says what
 * it found in a few words. Only public libfabric calls are used.
 */
#ifndef NIC_CHECK_CHECK_H
#define NIC_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>

#include "cxi/cxi_ext.h"

struct behaviour {
    const char *name;
    void (*run)(void);
    const char *expected; /* what run says on the NIC that our double is */
    bool risky;           /* may disturb other programs that use the NIC */
};

extern const struct behaviour counter_behaviours[], work_behaviours[], region_behaviours[],
    resource_behaviours[], refusal_behaviours[], limit_behaviours[], transport_behaviours[];

/* What the process works with; open for all checks. */
struct rig {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_ep *ep;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_cntr *bound; /* to the endpoint, for FI_READ and FI_WRITE */
    fi_addr_t self;
    size_t cq_size; /* 0: a usual one; to be set before */
};
extern struct rig rig;
extern const char *rig_provider;

/* Ends the process. found() is the result of the check. */
void found(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Here is nothing that it could be looked at with. */
void left_out(const char *why) __attribute__((noreturn));
/* An error that the check cannot do without. */
void must(long rc, const char *what);

struct fi_info *rig_hints(void);
/* Takes the hints over. */
void rig_open_with(struct fi_info *hints, bool bind_cntr);
void rig_open(void);

struct fid_cntr *cntr_open(void);
struct fi_cxi_cntr_ops *cntr_ops(struct fid_cntr *cntr);
void *cntr_bell(struct fid_cntr *cntr);
struct fid_mr *mr_open(void *memory, size_t length, uint64_t key, struct fid_cntr *cntr);
/* The same in steps, which may fail. */
int mr_register(void *memory, size_t length, uint64_t key, struct fid_mr **mr_p);
int mr_complete(struct fid_mr *mr, struct fid_cntr *cntr);

/* Deferred work to the endpoint itself; these return what fi_control returns. */
struct work {
    struct fid_cntr *trigger, *counted;
    uint64_t threshold, key, offset, flags;
    void *source;
    size_t length;
    void *context;
    void *desc; /* of a region that has the source, or NULL */
};
/* A write by key 200 at threshold 1, with new counters. */
struct work work_of(void *source, size_t length);
int queue_write(const struct work *work);
/* The other way: source is where it goes to. */
int queue_read(const struct work *work);
int queue_atomic(const struct work *work, enum fi_op op);
int queue_change(struct fid_cntr *trigger, uint64_t threshold, enum fi_op_type type,
                 struct fid_cntr *changed, uint64_t value, struct fid_cntr *counted);

/* Reads the counter, and the completion queue with it, until it has the value or 3 s are over. */
bool await(struct fid_cntr *cntr, uint64_t value);
bool await_failure(struct fid_cntr *cntr);
bool await_error(struct fi_cq_err_entry *error_p);
/* Of an operation that asks for it. */
bool await_completion(void);
/* With these bytes in it. */
void *gpu_memory(const void *data, size_t bytes, enum fi_hmem_iface *iface_p);
bool await_word(const uint64_t *word, uint64_t value);
void pause_ms(int milliseconds);
uint64_t now_ms(void);

#endif
