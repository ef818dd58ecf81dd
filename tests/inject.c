/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * inject.c - definitions of PMPI_ functions that fail on demand
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "inject.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { WATCHED = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All guarded by lock. */
static int starts_to_failure;
static int tests_to_failure;
static int failures;
static long started;
static int watching;
static int watched_count;
static MPI_Request watched[WATCHED];

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
#define NEXT(result, type, name)                                                                   \
    type result;                                                                                   \
    do {                                                                                           \
        union {                                                                                    \
            void *object;                                                                          \
            type function;                                                                         \
        } u_;                                                                                      \
        u_.object = next_definer(name);                                                            \
        result = u_.function;                                                                      \
    } while (0)

typedef int (*start_fn)(MPI_Request *);
typedef int (*startall_fn)(int, MPI_Request *);
typedef int (*test_fn)(MPI_Request *, int *, MPI_Status *);
typedef int (*testall_fn)(int, MPI_Request *, int *, MPI_Status *);
typedef int (*testany_fn)(int, MPI_Request *, int *, int *, MPI_Status *);
typedef int (*testsome_fn)(int, MPI_Request *, int *, int *, MPI_Status *);
typedef int (*get_status_fn)(MPI_Request, int *, MPI_Status *);

void inject_start_failure(int nth)
{
    pthread_mutex_lock(&lock);
    starts_to_failure = nth;
    pthread_mutex_unlock(&lock);
}

void inject_test_failure(int nth)
{
    pthread_mutex_lock(&lock);
    tests_to_failure = nth;
    watching = 1;
    watched_count = 0;
    pthread_mutex_unlock(&lock);
}

int inject_stop(void)
{
    int count;

    pthread_mutex_lock(&lock);
    starts_to_failure = tests_to_failure = watching = watched_count = 0;
    count = failures;
    failures = 0;
    pthread_mutex_unlock(&lock);
    return count;
}

long inject_started(void)
{
    long count;

    pthread_mutex_lock(&lock);
    count = started;
    pthread_mutex_unlock(&lock);
    return count;
}

static int fail_start(int count)
{
    int fail = 0;

    pthread_mutex_lock(&lock);
    if (starts_to_failure > 0) {
        starts_to_failure -= count;
        if (starts_to_failure <= 0) {
            starts_to_failure = 0;
            failures++;
            fail = 1;
        }
    }
    pthread_mutex_unlock(&lock);
    return fail;
}

/* These were started. */
static void watch(int count, const MPI_Request *requests)
{
    pthread_mutex_lock(&lock);
    started += count;
    for (int i = 0; watching && i < count && watched_count < WATCHED; i++) {
        watched[watched_count++] = requests[i];
    }
    pthread_mutex_unlock(&lock);
}

static int fail_test(int count, const MPI_Request *requests)
{
    int hit = 0;
    int fail = 0;

    pthread_mutex_lock(&lock);
    for (int i = 0; watching && i < count && !hit; i++) {
        for (int k = 0; k < watched_count; k++) {
            hit |= requests[i] == watched[k];
        }
    }
    if (hit && tests_to_failure > 0 && --tests_to_failure == 0) {
        failures++;
        fail = 1;
    }
    pthread_mutex_unlock(&lock);
    return fail;
}

int PMPI_Start(MPI_Request *request)
{
    NEXT(next, start_fn, "PMPI_Start");
    int rc = fail_start(1) ? MPI_ERR_INTERN : next(request);

    if (rc == MPI_SUCCESS) {
        watch(1, request);
    }
    return rc;
}

int PMPI_Startall(int count, MPI_Request requests[])
{
    NEXT(next, startall_fn, "PMPI_Startall");
    int rc = fail_start(count) ? MPI_ERR_INTERN : next(count, requests);

    if (rc == MPI_SUCCESS) {
        watch(count, requests);
    }
    return rc;
}

int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    NEXT(next, test_fn, "PMPI_Test");

    return fail_test(1, request) ? MPI_ERR_INTERN : next(request, flag, status);
}

int PMPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    NEXT(next, testall_fn, "PMPI_Testall");

    return fail_test(count, requests) ? MPI_ERR_INTERN : next(count, requests, flag, statuses);
}

int PMPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    NEXT(next, testany_fn, "PMPI_Testany");

    return fail_test(count, requests) ? MPI_ERR_INTERN : next(count, requests, index, flag, status);
}

int PMPI_Testsome(int count, MPI_Request requests[], int *done, int indices[],
                  MPI_Status statuses[])
{
    NEXT(next, testsome_fn, "PMPI_Testsome");

    return fail_test(count, requests) ? MPI_ERR_INTERN
                                      : next(count, requests, done, indices, statuses);
}

int PMPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    NEXT(next, get_status_fn, "PMPI_Request_get_status");

    return fail_test(1, &request) ? MPI_ERR_INTERN : next(request, flag, status);
}
