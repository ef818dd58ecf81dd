/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_collective.h - the persistent sum over all ranks, and the barrier, by the names that this
 * MPI has for them: of which the library sees the first, and the second not
 */
#ifndef MPIXQ_BENCH_COLLECTIVE_H
#define MPIXQ_BENCH_COLLECTIVE_H

#include <mpi.h>

#include "bench.h"
#include "config.h"

#define BENCH_HAS_COLLECTIVES (HAVE_MPI_COLLECTIVE || HAVE_MPI_COLLECTIVE_EXT)

#if HAVE_MPI_COLLECTIVE
#define BENCH_ALLREDUCE_INIT MPI_Allreduce_init
#define BENCH_OWN_ALLREDUCE_INIT PMPI_Allreduce_init
#define BENCH_BARRIER_INIT MPI_Barrier_init
#define BENCH_OWN_BARRIER_INIT PMPI_Barrier_init
#elif HAVE_MPI_COLLECTIVE_EXT
#include <mpi-ext.h>
#define BENCH_ALLREDUCE_INIT MPIX_Allreduce_init
#define BENCH_OWN_ALLREDUCE_INIT PMPIX_Allreduce_init
#define BENCH_BARRIER_INIT MPIX_Barrier_init
#define BENCH_OWN_BARRIER_INIT PMPIX_Barrier_init
#else
static inline int bench_no_allreduce_init(const void *from, void *to, int count, MPI_Datatype type,
                                          MPI_Op op, MPI_Comm comm, MPI_Info info,
                                          MPI_Request *request)
{
    (void)from, (void)to, (void)count, (void)type, (void)op, (void)info, (void)request;
    return MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
}
static inline int bench_no_barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    (void)info, (void)request;
    return MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
}
#define BENCH_ALLREDUCE_INIT bench_no_allreduce_init
#define BENCH_OWN_ALLREDUCE_INIT bench_no_allreduce_init
#define BENCH_BARRIER_INIT bench_no_barrier_init
#define BENCH_OWN_BARRIER_INIT bench_no_barrier_init
#endif

/* An MPI without it leaves the modes of requests from the first one on out, and the program says
 * which are there. */
static inline void bench_leave_collectives(struct bench_options *opts, struct bench_usage *usage,
                                           enum bench_mode first, const char *there)
{
    if (BENCH_HAS_COLLECTIVES) {
        return;
    }
    bench_complain(opts, "this MPI has no persistent collectives: only %s there", there);
    for (int mode = (int)first; mode < BENCH_REQUEST_MODES; mode++) {
        usage->lacking |= BENCH_BIT(mode);
        opts->use_mode[mode] = false;
    }
}

#endif
