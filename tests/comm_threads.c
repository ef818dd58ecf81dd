/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Two threads make their first requests on the same communicator, one that the library knows
 * nothing of yet, at the same time: both requests are known, and both say that they cannot be
 * matched.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "mtest.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TAG = 1, TIMES = 20, TOGETHER_MS = 20 };

static MPI_Comm fresh = MPI_COMM_NULL;
static atomic_int looked;
static atomic_int attached;
static int buffer;

/* Give the other thread time to get as far. */
static void meet(atomic_int *here)
{
    struct timespec ms = {.tv_nsec = 1000000};

    atomic_fetch_add(here, 1);
    for (int i = 0; i < TOGETHER_MS && atomic_load(here) < 2; i++) {
        (void)nanosleep(&ms, NULL);
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

/* The library looks for its record and finds none. */
int PMPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag)
{
    union {
        void *object;
        int (*function)(MPI_Comm, int, void *, int *);
    } next = {.object = next_definer("PMPI_Comm_get_attr")};
    int rc = next.function(comm, key, value, flag);

    if (rc == MPI_SUCCESS && !*flag && comm == fresh) {
        meet(&looked);
    }
    return rc;
}

/* The library attaches a record. */
int PMPI_Comm_set_attr(MPI_Comm comm, int key, void *value)
{
    union {
        void *object;
        int (*function)(MPI_Comm, int, void *);
    } next = {.object = next_definer("PMPI_Comm_set_attr")};
    int rc = next.function(comm, key, value);

    if (comm == fresh) {
        meet(&attached);
    }
    return rc;
}

static void *make_request(void *request)
{
    MTEST_OK(MPI_Send_init(&buffer, 1, MPI_INT, 0, TAG, fresh, request));
    return NULL;
}

int main(int argc, char **argv)
{
    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < TIMES; i++) {
        MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        pthread_t thread;

        atomic_store(&looked, 0);
        atomic_store(&attached, 0);
        MTEST_OK(PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &fresh));
        MTEST_EQ(pthread_create(&thread, NULL, make_request, &r[0]), 0);
        make_request(&r[1]);
        MTEST_EQ(pthread_join(thread, NULL), 0);
        MTEST_CHECK(atomic_load(&looked) > 0);
        MTEST_EQ(atomic_load(&attached), 1);
        for (int k = 0; k < 2; k++) {
            MTEST_KIND(MPIX_Match(&r[k]), MPIXQ_ERR_MATCH);
            MTEST_OK(MPI_Request_free(&r[k]));
        }
        MTEST_OK(MPI_Comm_free(&fresh));
    }
    return mtest_end();
}
