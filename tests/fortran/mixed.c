/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * mixed.c - what the Fortran tests do in C */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

int mixed_split(int comm, int color, int key, int *child);
int mixed_ignored(void);
int mixed_request(int *number, int peer, int tag, int *request);
int mixed_tool_calls(void);
int mixed_tool_others(void);
void mixed_at_end(void (*call)(void));

static void (*at_end)(void);

int mixed_split(int comm, int color, int key, int *child)
{
    MPI_Comm made;
    int rc = MPI_Comm_split(MPI_Comm_f2c(comm), color, key, &made);

    *child = MPI_Comm_c2f(made);
    return rc;
}

/* After MPI_Init from Fortran: does C know Fortran's constants? */
int mixed_ignored(void)
{
    return MPI_F_STATUS_IGNORE != NULL && MPI_F_STATUSES_IGNORE != NULL;
}

int mixed_request(int *number, int peer, int tag, int *request)
{
    MPI_Request made;
    int rc = MPI_Recv_init(number, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &made);

    *request = MPI_Request_c2f(made);
    return rc;
}

/* What tests/interpose_tool.c has seen; -1: it is not there. */
int mixed_tool_calls(void)
{
    union {
        void *object;
        int (*function)(void);
    } tool = {.object = dlsym(RTLD_DEFAULT, "probe_tool_calls")};

    return tool.object != NULL ? tool.function() : -1;
}

int mixed_tool_others(void)
{
    union {
        void *object;
        unsigned (*function)(void);
    } tool = {.object = dlsym(RTLD_DEFAULT, "probe_tool_others")};

    return tool.object != NULL ? (int)tool.function() : -1;
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    at_end();
    return MPI_SUCCESS;
}

/* In MPI_Finalize, first of all. */
void mixed_at_end(void (*call)(void))
{
    int key;

    at_end = call;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_free_keyval(&key);
}
