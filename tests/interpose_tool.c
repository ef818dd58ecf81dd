/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A profiling tool for interpose.sh: counts MPI_Send_init and passes it on by its PMPI_ name.
 */
#include <mpi.h>

int probe_tool_calls(void);

static int calls;

int MPI_Send_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    calls++;
    return PMPI_Send_init(buf, count, datatype, dest, tag, comm, request);
}

int probe_tool_calls(void)
{
    return calls;
}
