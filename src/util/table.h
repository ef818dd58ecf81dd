/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Hash tables: uthash, told to use the library's heap, and not to end the program when memory is
 * short. After HASH_ADD of a zeroed element, mpixq_in_table says whether it went in.
 */
#ifndef MPIXQ_TABLE_H
#define MPIXQ_TABLE_H

#include "alloc.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(bytes) mpixq_alloc(bytes)
#define uthash_free(block, bytes) mpixq_free(block)
#include <uthash.h>

#define mpixq_in_table(hash_handle) ((hash_handle).tbl != NULL)

#endif
