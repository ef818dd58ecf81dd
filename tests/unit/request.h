/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the tests of request records share.
 */
#ifndef UNIT_REQUEST_H
#define UNIT_REQUEST_H

#include "unit.h"

#include <mpi.h>
#include <string.h>

#include "util/alloc.h"
#include "util/env.h"
#include "util/noted.h"
#include "core/request.h"

/* Handle number i, none that MPI uses in a program that makes no requests. Neighbours share their
 * place in the hash table when they are far apart. */
static inline MPI_Request made_up(int i)
{
    uintptr_t number = (uintptr_t)(i + 1) * 16;
    MPI_Request handle;

    memset(&handle, 0, sizeof handle);
    memcpy(&handle, &number, sizeof handle); /* little endian, if handles are ints */
    return handle;
}

static inline void capture_as(int i, enum mpixq_mode mode, MPI_Datatype type)
{
    const struct mpixq_captured args = {
        .message = {.mode = mode, .count = i, .type = type}, .peer = 3, .tag = i};

    mpixq_request_capture(&args, MPI_COMM_WORLD, made_up(i));
}

static inline struct mpixq_request *capture(int i)
{
    struct mpixq_request *req;

    capture_as(i, MPIXQ_MODE_SEND, MPI_INT);
    req = mpixq_request_find(made_up(i));
    assert_non_null(req);
    return req;
}

static inline bool drop(int i)
{
    struct mpixq_request *req;

    return mpixq_request_drop(made_up(i), &req);
}

static inline void count_one(struct mpixq_request *req, void *arg)
{
    assert_true(req->handle != MPI_REQUEST_NULL);
    ++*(int *)arg;
}

static inline int table_size(void)
{
    int n = 0;

    mpixq_request_each(count_one, &n);
    return n;
}

/* Handles that are noted, each as often as it is. */
static inline long noted(void)
{
    long n = 0;

    for (int cell = 0; cell < 1 << MPIXQ_NOTED_BITS; cell++) {
        n += (int)atomic_load(&mpixq_noted[cell]);
    }
    return n;
}

/* After each test: nothing is left in the table, nor counted. */
static inline int all_is_gone(void **state)
{
    (void)state;
    atomic_store(&mpixq_allocs.fail_in, 0);
    return table_size() == 0 && noted() == 0 && atomic_load(&mpixq_requests.active) == 0 &&
                   atomic_load(&mpixq_requests.buffered) == 0
               ? 0
               : -1;
}

static inline void bring_to_matched(struct mpixq_request *req)
{
    assert_true(mpixq_request_step(req, MPIXQ_MATCH_BEGIN));
    assert_true(mpixq_request_step(req, MPIXQ_MATCH_OK));
}

static inline void end(struct mpixq_request *req)
{
    mpixq_request_forget(req);
    mpixq_request_destroy(req);
}

/* The tests need MPI, but no launcher. */
static inline int run_with_mpi(int *argc, char ***argv, int (*run)(void))
{
    int provided, rc;

    if (MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
        return 99;
    }
    mpixq_env.log = 0; /* the library warns of requests that it has no memory for */
    rc = run();
    MPI_Finalize();
    return rc;
}

#endif
