/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Completing calls that hold matched requests which the host has started: those are polled by
 * their channels, and MPI is called with the rest. The blocking forms poll both, and do not block
 * in MPI, where nobody would hear of a peer that has failed.
 *
 * Between mpixq_host_begin and its end; watch->n_ours is not 0 where not said otherwise. Each
 * returns what the MPI function of that form returns, with its handler invoked.
 */
#ifndef MPIXQ_MIXED_H
#define MPIXQ_MIXED_H

#include "host/host.h"

/* Is this an error that says nothing of single elements? */
static inline bool mpixq_is_ended(int rc)
{
    return rc != MPI_SUCCESS && rc != MPI_ERR_IN_STATUS;
}

/* Wait, Test, Waitany, Testany. */
int mpixq_mixed_any(struct mpixq_watch *watch, int count, MPI_Request requests[], bool block,
                    int *index, int *flag, MPI_Status *status);
/* Waitall; also when nothing is ours, but something is being matched: MPICH 4.0 cannot test
 * partitioned requests together, which it can wait for. */
int mpixq_mixed_waitall(struct mpixq_watch *watch, int count, MPI_Request requests[],
                        MPI_Status statuses[]);
/* Testall. */
int mpixq_mixed_testall(struct mpixq_watch *watch, int count, MPI_Request requests[], int *flag,
                        MPI_Status statuses[]);
/* Waitsome, Testsome. */
int mpixq_mixed_some(struct mpixq_watch *watch, int count, MPI_Request requests[], bool block,
                     int *n, int indices[], MPI_Status statuses[]);

#endif
