/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "types.h"

#include "asked.h"
#include "contents.h"

MPIXQ_THREAD_LOCAL struct mpixq_asked mpixq_asked = {.type = MPI_DATATYPE_NULL};

bool mpixq_type_hold(struct mpixq_held_type *type)
{
    struct mpixq_envelope envelope;
    MPI_Datatype users = type->handle;

    if (users == mpixq_asked.type) {
        return true;
    }
    if (mpixq_type_envelope(users, &envelope) != MPI_SUCCESS) {
        return false;
    }
    if (mpixq_type_is_predefined(&envelope)) {
        mpixq_asked.type = users;
        return true;
    }
    /* Not MPI_Type_dup, which copies attributes too: the user's callbacks would run here, and for
     * the copy again when we free it. */
    type->is_ours = PMPI_Type_contiguous(1, users, &type->handle) == MPI_SUCCESS;
    if (type->is_ours && PMPI_Type_commit(&type->handle) == MPI_SUCCESS) {
        return true;
    }
    mpixq_type_let_go(type);
    return false;
}

void mpixq_type_let_go(struct mpixq_held_type *type)
{
    if (type->is_ours) {
        (void)PMPI_Type_free(&type->handle);
        type->is_ours = false;
    }
}
