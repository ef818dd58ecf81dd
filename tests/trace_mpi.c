/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * trace_mpi.c - definitions of the PMPI_ functions by which the library communicates
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

static atomic_int to_failure, starts;

void trace_fail_start(int n)
{
    atomic_store(&to_failure, n);
}

int trace_starts(void)
{
    return atomic_load(&starts);
}

static void *next_definer(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);

    if (symbol == NULL) {
        fprintf(stderr, "no next definition of %s\n", name);
        abort();
    }
    return symbol;
}

/* POSIX gives functions as object pointers; a union is the way to say so in C. */
#define NEXT(name, ...)                                                                            \
    union {                                                                                        \
        void *object;                                                                              \
        int (*function)(__VA_ARGS__);                                                              \
    } next = {.object = next_definer(name)}

/* Numbers in one MPI, addresses in the other. */
static unsigned long number_of(MPI_Request request)
{
    unsigned long number = 0;

    memcpy(&number, &request, sizeof request);
    return number;
}

static unsigned long bytes_of(int count, MPI_Datatype type)
{
    int size = 0;

    (void)MPI_Type_size(type, &size);
    return (unsigned long)count * (unsigned long)size;
}

static void add_made(const char *what, const void *buffer, int count, MPI_Datatype type, int peer,
                     MPI_Request request)
{
    trace_add(TRACE_MPI, "%s %lu bytes at " TRACE_MEMORY ", rank %d: " TRACE_REQUEST, what,
              bytes_of(count, type), (unsigned long)(uintptr_t)buffer, peer, number_of(request));
}

#define MAKER(name, what, pointer)                                                                 \
    int name(pointer buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,       \
             MPI_Request *request)                                                                 \
    {                                                                                              \
        NEXT(#name, pointer, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);                \
        int rc = next.function(buffer, count, type, peer, tag, comm, request);                     \
                                                                                                   \
        add_made(what, buffer, count, type, peer, *request);                                       \
        return rc;                                                                                 \
    }

MAKER(PMPI_Send_init, "make a send of", const void *)
MAKER(PMPI_Ssend_init, "make a synchronous send of", const void *)
MAKER(PMPI_Recv_init, "make a receive of", void *)
MAKER(PMPI_Isend, "send", const void *)
MAKER(PMPI_Ibsend, "send, buffered,", const void *)

int PMPI_Start(MPI_Request *request)
{
    NEXT("PMPI_Start", MPI_Request *);
    bool fails = atomic_load(&to_failure) > 0 && atomic_fetch_sub(&to_failure, 1) == 1;
    int rc;

    trace_add(TRACE_MPI, "start " TRACE_REQUEST "%s", number_of(*request), fails ? ": fails" : "");
    rc = fails ? MPI_ERR_INTERN : next.function(request);
    atomic_fetch_add(&starts, 1);
    return rc;
}

int PMPI_Startall(int count, MPI_Request requests[])
{
    NEXT("PMPI_Startall", int, MPI_Request *);

    trace_add(TRACE_MPI, "start %d:", count);
    for (int i = 0; i < count; i++) {
        trace_add(TRACE_MPI, "    " TRACE_REQUEST, number_of(requests[i]));
    }
    return next.function(count, requests);
}

int PMPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int to, int out_tag,
                  void *in, int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                  MPI_Status *status)
{
    NEXT("PMPI_Sendrecv", const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int,
         int, MPI_Comm, MPI_Status *);

    trace_add(TRACE_MPI, "send %lu bytes at " TRACE_MEMORY " to %lu bytes at " TRACE_MEMORY,
              bytes_of(out_count, out_type), (unsigned long)(uintptr_t)out,
              bytes_of(in_count, in_type), (unsigned long)(uintptr_t)in);
    return next.function(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag,
                         comm, status);
}
