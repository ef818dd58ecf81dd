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

#include <stdint.h>

struct cxi_double_hooks {
    /* Stores to doorbells so far, fi_cntr_add among them. */
    uint64_t (*stores)(void);
    /* All other calls of the program that reach the NIC's state. */
    uint64_t (*calls)(void);
    /* From now on as with CXI_DOUBLE_FAULT, _OP (NIC_FAULT_... and NIC_HIT_... of switches.h),
     * _FIRST and _COUNT, counted anew. */
    void (*fault)(int fault, int op, int first, int count);
    /* Operations that were hit since then. */
    int (*hits)(void);
};

#endif
