/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cxi_hooks.h - the hooks of the double of the cxi provider (cxi_double/hooks.h)
 */
#ifndef CXI_HOOKS_H_INCLUDED
#define CXI_HOOKS_H_INCLUDED

#include "cxi_double/hooks.h"

/* Of the double that this process has loaded: once the fabric is open. NULL, and recorded as a
 * failure, if it has not. */
const struct cxi_double_hooks *cxi_hooks(void);

#endif
