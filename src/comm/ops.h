/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Operations of reductions that requests need. MPI frees one whose persistent reductions are not
 * complete only with these; Open MPI 4.1 frees it at once. So what the program frees meanwhile is
 * kept until nobody needs it. Any thread; MPI's predefined operations cost nothing.
 */
#ifndef MPIXQ_OPS_H
#define MPIXQ_OPS_H

#include <mpi.h>
#include <stdbool.h>

/* One of MPI's own, which nobody frees. */
bool mpixq_op_is_predefined(MPI_Op op);
/* A request needs the operation. False: there is no memory, and it may be freed any time. */
bool mpixq_op_hold(MPI_Op op);
/* It does so no more, after mpixq_op_hold has returned true. May call MPI. */
void mpixq_op_put(MPI_Op op);
/* The program frees the operation: is it needed still? Then it is freed when it is not. */
bool mpixq_op_free_later(MPI_Op op);
/* In MPI_Finalize, when no more requests start: what is held is let go of. */
void mpixq_ops_close(void);

#endif
