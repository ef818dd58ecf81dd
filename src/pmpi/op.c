/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What ends operations of reductions: while persistent reductions need one, it is kept. */
#include <stddef.h>

#include "comm/ops.h"
#include "lib/lib.h"
#include "next.h"
#include "pull.h"

void mpixq_pull_op(void)
{
}

MPIXQ_INTERPOSE int MPI_Op_free(MPI_Op *op)
{
    if (mpixq_lib_is_up() && op != NULL && mpixq_op_free_later(*op)) {
        *op = MPI_OP_NULL;
        return MPI_SUCCESS;
    }
    return mpixq_next.Op_free(op);
}
MPIXQ_OWN(Op_free);
