/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Windows (core/windows.h).
 */
#ifndef MPIXQ_CXI_WINDOW_H
#define MPIXQ_CXI_WINDOW_H

#include "core/windows.h"

extern const struct mpixq_channel_windows mpixq_cxi_windows;

#endif
