/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include <stddef.h>

#include "api.h"
#include "core/match.h"
#include "core/queue.h"

/* Check the arguments that starts and waits have in common. */
static int enter(MPIXQ_Queue queue, int count, MPI_Request requests[])
{
    int rc = mpixq_api_enter();

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_match_advance();
    if (!mpixq_queue_is_live(queue)) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_QUEUE);
    }
    if (count < 0) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_COUNT);
    }
    if (requests == NULL && count > 0) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_REQUESTS);
    }
    return MPI_SUCCESS;
}

int PMPIXQ_Enqueue_startall(MPIXQ_Queue queue, int count, MPI_Request requests[])
{
    MPI_Comm comm = MPI_COMM_NULL;
    int rc = enter(queue, count, requests);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = mpixq_queue_start(queue, count, requests, &comm);
    return mpixq_error_raise(comm, rc);
}
MPIXQ_TWIN(Enqueue_startall);

int PMPIXQ_Enqueue_waitall(MPIXQ_Queue queue, int count, MPI_Request requests[])
{
    MPI_Comm comm = MPI_COMM_NULL;
    int rc = enter(queue, count == MPIXQ_ALL_STARTED ? 0 : count, requests);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (count == MPIXQ_ALL_STARTED) {
        rc = mpixq_queue_wait_started(queue, &comm);
    } else {
        rc = mpixq_queue_wait(queue, count, requests, &comm);
    }
    return mpixq_error_raise(comm, rc);
}
MPIXQ_TWIN(Enqueue_waitall);

/* The single forms differ in the name of their argument. */
static int check_request(const MPI_Request *request)
{
    int rc = mpixq_api_enter();

    if (rc == MPI_SUCCESS && request == NULL) {
        rc = mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_REQUEST_P);
    }
    return rc;
}

int PMPIXQ_Enqueue_start(MPIXQ_Queue queue, MPI_Request *request)
{
    int rc = check_request(request);

    return rc != MPI_SUCCESS ? rc : PMPIXQ_Enqueue_startall(queue, 1, request);
}
MPIXQ_TWIN(Enqueue_start);

int PMPIXQ_Enqueue_wait(MPIXQ_Queue queue, MPI_Request *request)
{
    int rc = check_request(request);

    return rc != MPI_SUCCESS ? rc : PMPIXQ_Enqueue_waitall(queue, 1, request);
}
MPIXQ_TWIN(Enqueue_wait);
