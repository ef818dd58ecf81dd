/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Hash tables: uthash, told not to end the program when memory is short. After HASH_ADD of a
 * zeroed element, mpixq_in_table says whether it went in.
 */
#ifndef MPIXQ_TABLE_H
#define MPIXQ_TABLE_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define mpixq_in_table(hash_handle) ((hash_handle).tbl != NULL)

#endif
