/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include <stddef.h>

#include "api.h"
#include "match/match.h"
#include "queue/queues.h"
#include "util/ranges.h"

/* Each function has a form of its own of these, compiled for its number of requests; and calls one
 * out of line where ranges are taken, so that otherwise a call costs a test more. */
#define FAST static inline __attribute__((always_inline))
#define SLOW __attribute__((noinline)) static

/* Check the arguments that starts and waits have in common. */
FAST int enter(const struct mpixq_call *call, MPIXQ_Queue queue, int count, MPI_Request requests[])
{
    int rc = mpixq_api_enter(call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_match_advance();
    if (!mpixq_queue_is_live(queue)) {
        return mpixq_api_fail(call, MPIXQ_E_ARG_QUEUE);
    }
    if (count < 0) {
        return mpixq_api_fail(call, MPIXQ_E_ARG_COUNT);
    }
    if (requests == NULL && count > 0) {
        return mpixq_api_fail(call,
                              call->takes_array ? MPIXQ_E_ARG_REQUESTS : MPIXQ_E_ARG_REQUEST_P);
    }
    return MPI_SUCCESS;
}

FAST int start_now(const struct mpixq_call *call, MPIXQ_Queue queue, int count,
                   MPI_Request requests[])
{
    struct mpixq_fault fault;
    int rc = enter(call, queue, count, requests);

    if (rc == MPI_SUCCESS) {
        rc = mpixq_enqueue_start(queue, count, requests, &fault);
        if (rc != MPI_SUCCESS) {
            rc = mpixq_fault_raise_code(call, &fault, rc);
        }
    }
    return rc;
}

FAST int wait_now(const struct mpixq_call *call, MPIXQ_Queue queue, int count,
                  MPI_Request requests[])
{
    struct mpixq_fault fault;
    int rc = enter(call, queue, count == MPIXQ_ALL_STARTED ? 0 : count, requests);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (count == MPIXQ_ALL_STARTED) {
        rc = mpixq_enqueue_wait_started(queue, &fault);
    } else {
        rc = mpixq_enqueue_wait(queue, count, requests, &fault);
    }
    return rc != MPI_SUCCESS ? mpixq_fault_raise_code(call, &fault, rc) : MPI_SUCCESS;
}

FAST int start_wait_now(const struct mpixq_call *call, MPIXQ_Queue queue, int count,
                        MPI_Request requests[])
{
    struct mpixq_fault fault;
    int rc = enter(call, queue, count, requests);

    if (rc == MPI_SUCCESS) {
        rc = mpixq_enqueue_start_wait(queue, count, requests, &fault);
        if (rc != MPI_SUCCESS) {
            rc = mpixq_fault_raise_code(call, &fault, rc);
        }
    }
    return rc;
}

SLOW int start_in_range(const struct mpixq_call *call, MPIXQ_Queue queue, int count,
                        MPI_Request requests[])
{
    int rc;

    mpixq_range_push(call->name, count);
    rc = start_now(call, queue, count, requests);
    mpixq_range_pop();
    return rc;
}

SLOW int wait_in_range(const struct mpixq_call *call, MPIXQ_Queue queue, int count,
                       MPI_Request requests[])
{
    int rc;

    mpixq_range_push(call->name, count);
    rc = wait_now(call, queue, count, requests);
    mpixq_range_pop();
    return rc;
}

SLOW int start_wait_in_range(const struct mpixq_call *call, MPIXQ_Queue queue, int count,
                             MPI_Request requests[])
{
    int rc;

    mpixq_range_push(call->name, count);
    rc = start_wait_now(call, queue, count, requests);
    mpixq_range_pop();
    return rc;
}

FAST int start(const struct mpixq_call *call, MPIXQ_Queue queue, int count, MPI_Request requests[])
{
    return mpixq_ranges_are_on() ? start_in_range(call, queue, count, requests)
                                 : start_now(call, queue, count, requests);
}

FAST int wait(const struct mpixq_call *call, MPIXQ_Queue queue, int count, MPI_Request requests[])
{
    return mpixq_ranges_are_on() ? wait_in_range(call, queue, count, requests)
                                 : wait_now(call, queue, count, requests);
}

int PMPIXQ_Enqueue_startall(MPIXQ_Queue queue, int count, MPI_Request requests[])
{
    static const struct mpixq_call call = {"MPIX_Enqueue_startall", true};

    return start(&call, queue, count, requests);
}
MPIXQ_PROFILED(Enqueue_startall);

int PMPIXQ_Enqueue_waitall(MPIXQ_Queue queue, int count, MPI_Request requests[])
{
    static const struct mpixq_call call = {"MPIX_Enqueue_waitall", true};

    return wait(&call, queue, count, requests);
}
MPIXQ_PROFILED(Enqueue_waitall);

int PMPIXQ_Enqueue_startwaitall(MPIXQ_Queue queue, int count, MPI_Request requests[])
{
    static const struct mpixq_call call = {"MPIX_Enqueue_startwaitall", true};

    return mpixq_ranges_are_on() ? start_wait_in_range(&call, queue, count, requests)
                                 : start_wait_now(&call, queue, count, requests);
}
MPIXQ_PROFILED(Enqueue_startwaitall);

int PMPIXQ_Enqueue_start(MPIXQ_Queue queue, MPI_Request *request)
{
    static const struct mpixq_call call = {"MPIX_Enqueue_start", false};

    return start(&call, queue, 1, request);
}
MPIXQ_PROFILED(Enqueue_start);

int PMPIXQ_Enqueue_wait(MPIXQ_Queue queue, MPI_Request *request)
{
    static const struct mpixq_call call = {"MPIX_Enqueue_wait", false};

    return wait(&call, queue, 1, request);
}
MPIXQ_PROFILED(Enqueue_wait);
