/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * hooks.h - what a test can ask of the double in its own process
 *
 * The module exports one object, cxi_double_hooks. A test program opens the module that libfabric
 * has loaded (dlopen with RTLD_NOLOAD) and looks it up. Any thread may call.
 */
#ifndef CXI_DOUBLE_HOOKS_H
#define CXI_DOUBLE_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A deferred operation. Counters are told by the numbers of their doorbells, which are never used
 * again. */
enum { CXI_DOUBLE_NO_COUNTER = UINT32_MAX };
struct cxi_double_post {
    const char *what; /* write, read, atomic, send, ... */
    uint32_t trigger, completion;
    uint64_t threshold;
    const void *from; /* data or operand, and how much of it, in bytes or elements */
    size_t count;
    uint64_t key, offset; /* where it goes */
};

struct cxi_double_hooks {
    /* Stores to doorbells so far, fi_cntr_add among them. */
    uint64_t (*stores)(void);
    /* All other calls of the program that reach the NIC's state. */
    uint64_t (*calls)(void);
    /* Events so far of deferred operations that were over. */
    uint64_t (*events)(void);
    /* Calls of fi_cntr_read and fi_cntr_readerr so far. */
    uint64_t (*reads)(void);
    /* From now on as with CXI_DOUBLE_FAULT, _OP (NIC_FAULT_... and NIC_HIT_... of switches.h),
     * _FIRST and _COUNT, counted anew. */
    void (*fault)(int fault, int op, int first, int count);
    /* Operations that were hit since then. */
    int (*hits)(void);
    /* From now on the trigger command queues of this process stand still, as they do while the NIC
     * has no trigger entry, or they go on. */
    void (*stall)(bool stands);
    /* From now on all attempts are refused as by CXI_DOUBLE_REFUSE (NIC_REFUSE_... of switches.h),
     * counted anew, or none is; and how many were refused since. */
    void (*refuse)(int refuse);
    int (*refused)(void);
    /* The same with -FI_EAGAIN, but after so many attempts. */
    void (*refuse_after)(int attempts);
    /* References to mappings that refused posts have left in open domains. */
    int (*left)(void);
    /* From now on as with CXI_DOUBLE_REGION_US; and how many endpoints are held by it just now. */
    void (*regions)(int microseconds);
    int (*holding)(void);
    /* Regions that were enabled so far; and from now on the NIC has no more, or has some again. */
    uint64_t (*made)(void);
    void (*no_regions)(bool none);
    /* From now on these are called: for each deferred operation that was queued, in that order and
     * under the lock of the NIC; and for each store to a doorbell, in the order of its thread,
     * which may be in a signal handler. They may call nothing of the double. NULL: neither is. */
    void (*watch)(void (*post)(const struct cxi_double_post *post),
                  void (*bell)(uint32_t counter, uint32_t offset, uint64_t value));
};

#endif
