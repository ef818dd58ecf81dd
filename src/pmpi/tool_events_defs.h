/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * As tool_defs.h: what MPI-4 adds that takes a category.
 */
MPIXQ_NEXT(T_category_get_num_events, (int, int *))
MPIXQ_NEXT(T_category_get_events, (int, int, int[]))
