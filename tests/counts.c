/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * counts.c - definitions of PMPI_ functions and of the heap's that count
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "counts.h"

#include <dlfcn.h>
#include <malloc.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_long messages, taken, requests, live, live_max, translations, sizes, collectives;
static atomic_long counters, blocks, bytes, bytes_max;
static atomic_int reported_size, is_node;
static MPI_Comm node = MPI_COMM_NULL; /* the main thread's, in MPI_Init */

struct counts counts_now(void)
{
    return (struct counts){.messages = atomic_load(&messages),
                           .taken = atomic_load(&taken),
                           .requests = atomic_load(&requests),
                           .live = atomic_load(&live),
                           .live_max = atomic_load(&live_max),
                           .translations = atomic_load(&translations),
                           .sizes = atomic_load(&sizes),
                           .collectives = atomic_load(&collectives),
                           .counters = atomic_load(&counters),
                           .blocks = atomic_load(&blocks),
                           .bytes = atomic_load(&bytes),
                           .bytes_max = atomic_load(&bytes_max)};
}

void counts_reset_max(void)
{
    atomic_store(&live_max, atomic_load(&live));
    atomic_store(&bytes_max, atomic_load(&bytes));
}

void counts_set_size(int size)
{
    atomic_store(&reported_size, size);
}

static void add(atomic_long *count, atomic_long *max, long n)
{
    long now = atomic_fetch_add(count, n) + n, before = atomic_load(max);

    while (now > before && !atomic_compare_exchange_weak(max, &before, now)) {
    }
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

/* A static pointer to the next definition. POSIX gives functions as object pointers; a union is the
 * way to say so in C. */
#define NEXT(name, ...)                                                                            \
    static union {                                                                                 \
        _Atomic(void *) object;                                                                    \
        int (*function)(__VA_ARGS__);                                                              \
    } next;                                                                                        \
    if (atomic_load(&next.object) == NULL) {                                                       \
        atomic_store(&next.object, next_definer(name));                                            \
    }

/* ---- MPI ------------------------------------------------------------------------------------ */

static int made(int rc)
{
    if (rc == MPI_SUCCESS) {
        atomic_fetch_add(&requests, 1);
        add(&live, &live_max, 1);
    }
    return rc;
}

#define MAKER(name, type)                                                                          \
    int name(type buffer, int count, MPI_Datatype datatype, int peer, int tag, MPI_Comm comm,      \
             MPI_Request *request)                                                                 \
    {                                                                                              \
        NEXT(#name, type, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)                    \
        return made(next.function(buffer, count, datatype, peer, tag, comm, request));             \
    }

MAKER(PMPI_Send_init, const void *)
MAKER(PMPI_Ssend_init, const void *)
MAKER(PMPI_Recv_init, void *)
MAKER(PMPI_Ibsend, const void *)

int PMPI_Issend(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                MPI_Request *request)
{
    NEXT("PMPI_Issend", const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)
    atomic_fetch_add(&messages, 1);
    return made(next.function(buffer, count, type, peer, tag, comm, request));
}

int PMPI_Imrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message,
                MPI_Request *request)
{
    NEXT("PMPI_Imrecv", void *, int, MPI_Datatype, MPI_Message *, MPI_Request *)
    atomic_fetch_add(&taken, 1);
    return made(next.function(buffer, count, type, message, request));
}

int PMPI_Grequest_start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *release,
                        MPI_Grequest_cancel_function *cancel, void *state, MPI_Request *request)
{
    NEXT("PMPI_Grequest_start", MPI_Grequest_query_function *, MPI_Grequest_free_function *,
         MPI_Grequest_cancel_function *, void *, MPI_Request *)
    return made(next.function(query, release, cancel, state, request));
}

int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    NEXT("PMPI_Test", MPI_Request *, int *, MPI_Status *)
    int was_live = *request != MPI_REQUEST_NULL;
    int rc = next.function(request, flag, status);

    if (was_live && *request == MPI_REQUEST_NULL) {
        atomic_fetch_sub(&live, 1);
    }
    return rc;
}

int PMPI_Request_free(MPI_Request *request)
{
    NEXT("PMPI_Request_free", MPI_Request *)
    atomic_fetch_sub(&live, 1);
    return next.function(request);
}

int PMPI_Group_translate_ranks(MPI_Group first, int n, const int ranks[], MPI_Group second,
                               int result[])
{
    NEXT("PMPI_Group_translate_ranks", MPI_Group, int, const int[], MPI_Group, int[])
    atomic_fetch_add(&translations, 1);
    return next.function(first, n, ranks, second, result);
}

static void count_collective(MPI_Comm comm)
{
    atomic_fetch_add(&collectives, comm != MPI_COMM_SELF && comm != node);
}

#define COLLECTIVE(name, parameters, arguments, ...)                                               \
    int name parameters                                                                            \
    {                                                                                              \
        NEXT(#name, __VA_ARGS__)                                                                   \
        count_collective(comm);                                                                    \
        return next.function arguments;                                                            \
    }

COLLECTIVE(PMPI_Comm_dup, (MPI_Comm comm, MPI_Comm *twin), (comm, twin), MPI_Comm, MPI_Comm *)
COLLECTIVE(PMPI_Allreduce,
           (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (from, to, count, type, op, comm), const void *, void *, int, MPI_Datatype, MPI_Op,
           MPI_Comm)
COLLECTIVE(PMPI_Allgather,
           (const void *from, int sent, MPI_Datatype is, void *to, int taken_of_each,
            MPI_Datatype becomes, MPI_Comm comm),
           (from, sent, is, to, taken_of_each, becomes, comm), const void *, int, MPI_Datatype,
           void *, int, MPI_Datatype, MPI_Comm)

/* The ranks of a node, whose size the library asks for next, are not more for a large job. */
int PMPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part)
{
    NEXT("PMPI_Comm_split_type", MPI_Comm, int, int, MPI_Info, MPI_Comm *)
    int rc;

    count_collective(comm);
    atomic_store(&is_node, 1);
    rc = next.function(comm, type, key, info, part);
    node = rc == MPI_SUCCESS ? *part : node;
    return rc;
}

/* Not the programs' own calls: they use MPI_Comm_size. */
int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    NEXT("PMPI_Comm_size", MPI_Comm, int *)
    int rc = next.function(comm, size);

    atomic_fetch_add(&sizes, 1);
    if (rc == MPI_SUCCESS && !atomic_exchange(&is_node, 0) && atomic_load(&reported_size) > 0) {
        *size = atomic_load(&reported_size);
    }
    return rc;
}

/* ---- The NIC -------------------------------------------------------------------------------- */

struct cxi_counter;
struct cxi_nic;
/* In a build without libfabric there is none, and nobody calls the second. */
struct cxi_counter *__real_mpixq_cxi_counter_take(struct cxi_nic *nic) __attribute__((weak));
struct cxi_counter *__wrap_mpixq_cxi_counter_take(struct cxi_nic *nic);

struct cxi_counter *__wrap_mpixq_cxi_counter_take(struct cxi_nic *nic)
{
    struct cxi_counter *counter = __real_mpixq_cxi_counter_take(nic);

    atomic_fetch_add(&counters, counter != NULL);
    return counter;
}

/* ---- The heap ------------------------------------------------------------------------------- */

void *__real_calloc(size_t n, size_t each);
void *__real_malloc(size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *block);
void *__wrap_calloc(size_t n, size_t each);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *block);

/* What a block takes, with the word before it in which malloc keeps its size. */
static long weight(void *block)
{
    return block != NULL ? (long)(malloc_usable_size(block) + sizeof(size_t)) : 0;
}

static void *allocated(void *block)
{
    atomic_fetch_add(&blocks, block != NULL);
    add(&bytes, &bytes_max, weight(block));
    return block;
}

void *__wrap_calloc(size_t n, size_t each)
{
    return allocated(__real_calloc(n, each));
}

void *__wrap_malloc(size_t size)
{
    return allocated(__real_malloc(size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return allocated(__real_aligned_alloc(alignment, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    long before = weight(block);
    void *bigger = __real_realloc(block, size);

    if (bigger != NULL) {
        atomic_fetch_sub(&bytes, before);
    }
    return allocated(bigger);
}

void __wrap_free(void *block)
{
    atomic_fetch_sub(&bytes, weight(block));
    __real_free(block);
}
