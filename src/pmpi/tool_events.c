/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The events of a category, of which ours has none. Built only where MPI has them. */
#include <stddef.h>

#include "next.h"
#include "tool.h"

__attribute__((constructor)) static void find_all(void)
{
#define MPIXQ_NEXT(name, parameters)                                                               \
    mpixq_tool.next.name = PMPI_##name;                                                            \
    mpixq_next_find("MPI_" #name, &mpixq_tool.next.name);
#include "tool_events_defs.h"
#undef MPIXQ_NEXT
}

static int none(void)
{
    return mpixq_tool_is_up() ? MPI_SUCCESS : MPI_T_ERR_NOT_INITIALIZED;
}

MPIXQ_INTERPOSE int MPI_T_category_get_num_events(int cat_index, int *num_events)
{
    if (!mpixq_tool_takes(&mpixq_tool.categories, &cat_index)) {
        return mpixq_tool.next.T_category_get_num_events(cat_index, num_events);
    }
    if (num_events != NULL) {
        *num_events = 0;
    }
    return none();
}
MPIXQ_OWN(T_category_get_num_events);

MPIXQ_INTERPOSE int MPI_T_category_get_events(int cat_index, int len, int indices[])
{
    return mpixq_tool_takes(&mpixq_tool.categories, &cat_index)
               ? none()
               : mpixq_tool.next.T_category_get_events(cat_index, len, indices);
}
MPIXQ_OWN(T_category_get_events);
