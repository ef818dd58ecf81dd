/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * drains.h - who copies messages of the channel cxi, by what the double of HIP is given
 */
#ifndef DRAINS_H
#define DRAINS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Since the last look: messages that kernels which wait copy out of slots, and copies of any other
 * kind. */
extern atomic_long drains, drain_copies;

/* From now on they count what is put into streams, or nothing. */
void drains_watch(bool watches);

#endif
