/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Partitioned requests. What MPI knows as one is an ordinary persistent request with the same
 * arguments, which MPI checks, and which is never given to it to start. */
#include "core/partitions.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "api.h"
#include "host/host.h"
#include "mpix_queue_partitions.h"
#include "stream/stream.h"
#include "util/alloc.h"

/* The limit of messages that info sets. */
static int read_most(const struct mpixq_call *call, MPI_Info info, int *most_p)
{
    char *value, *end;
    int rc = mpixq_api_info(call, info, "mpixq_partitions", &value);
    long most = MPIXQ_PARTITIONS_USUAL;

    if (rc == MPI_SUCCESS && value != NULL) {
        most = strtol(value, &end, 10);
        if (end == value || *end != '\0' || most < 1 || most > MPIXQ_PARTITIONS_MOST) {
            rc = mpixq_api_fail(call, MPIXQ_E_ARG_PARTITION_INFO);
        }
    }
    mpixq_free(value);
    *most_p = (int)most;
    return rc;
}

static int check(const struct mpixq_call *call, const struct mpixq_captured *args, int partitions,
                 MPI_Count count, const MPI_Request *request)
{
    int rc = mpixq_api_enter_interposed(call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (request == NULL) {
        return mpixq_api_fail(call, MPIXQ_E_ARG_REQUEST_P);
    }
    if (count < 0) {
        return mpixq_api_fail(call, MPIXQ_E_ARG_COUNT);
    }
    if (partitions < 0 || (partitions > 0 && count > INT64_MAX / partitions)) {
        return mpixq_api_fail(call, MPIXQ_E_ARG_PARTITIONS);
    }
    if (args->message.mode == MPIXQ_MODE_RECV &&
        (args->peer == MPI_ANY_SOURCE || args->tag == MPI_ANY_TAG)) {
        return mpixq_api_fail(call, MPIXQ_E_ARG_PARTITION_PEER);
    }
    return MPI_SUCCESS;
}

static int make(const struct mpixq_call *call, struct mpixq_captured *args, int partitions,
                MPI_Count count, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    int most, rc = check(call, args, partitions, count, request);
    int some = partitions == 0 ? 0 : count < INT_MAX ? (int)count : INT_MAX;
    bool is_send = args->message.mode != MPIXQ_MODE_RECV;
    struct mpixq_partitions *made;
    MPI_Request handle;

    rc = rc ? rc : read_most(call, info, &most);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    args->message.count = partitions * count;
    rc = is_send ? PMPI_Send_init(args->message.buffer, some, args->message.type, args->peer,
                                  args->tag, comm, &handle)
                 : PMPI_Recv_init((void *)(uintptr_t)args->message.buffer, some, args->message.type,
                                  args->peer, args->tag, comm, &handle);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    made = mpixq_partitions_create(partitions, most, is_send);
    if (made == NULL ||
        mpixq_request_capture_parts(args, comm, handle, &made->parted.base) == NULL) {
        mpixq_partitions_free(made);
        (void)PMPI_Request_free(&handle);
        return mpixq_api_fail(call, MPIXQ_E_NO_MEMORY);
    }
    *request = handle;
    return MPI_SUCCESS;
}

int PMPIXQ_Psend_init(const void *buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                      int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    static const struct mpixq_call call = {"MPIX_Psend_init", false};
    struct mpixq_captured args = {
        .message = {.buffer = buf, .type = datatype, .mode = MPIXQ_MODE_SEND},
        .peer = dest,
        .tag = tag};

    return make(&call, &args, partitions, count, comm, info, request);
}
MPIXQ_PROFILED(Psend_init);

int PMPIXQ_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                      int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    static const struct mpixq_call call = {"MPIX_Precv_init", false};
    struct mpixq_captured args = {
        .message = {.buffer = buf, .type = datatype, .mode = MPIXQ_MODE_RECV},
        .peer = source,
        .tag = tag};

    return make(&call, &args, partitions, count, comm, info, request);
}
MPIXQ_PROFILED(Precv_init);

static int fail_at(const struct mpixq_call *call, const struct mpixq_request *req,
                   enum mpixq_error error)
{
    struct mpixq_fault fault;

    mpixq_fault_at(&fault, 0, req);
    return mpixq_fault_raise_code(call, &fault,
                                  error == MPIXQ_E_REQUEST_FAILED ? mpixq_host_result(req)
                                                                  : mpixq_error_code(error));
}

/* The record of a partitioned request. */
static int find(const struct mpixq_call *call, MPI_Request request, struct mpixq_request **req_p)
{
    *req_p = mpixq_request_find(request);
    return *req_p != NULL && (*req_p)->is_partitioned
               ? MPI_SUCCESS
               : fail_at(call, *req_p, MPIXQ_E_NOT_PARTITIONED);
}

/* Has the host or a queue started it, and not got it back? */
static bool is_started(const struct mpixq_request *req)
{
    enum mpixq_state state = mpixq_request_state(req);

    return state == MPIXQ_HOST_STARTED || state == MPIXQ_STARTED || state == MPIXQ_WAITING;
}

static int ready(const struct mpixq_call *call, MPI_Request request, int first, int count,
                 const int indices[])
{
    struct mpixq_request *req;
    enum mpixq_error error = MPIXQ_E_NONE;
    int rc = find(call, request, &req);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (!mpixq_request_is_send(req)) {
        error = MPIXQ_E_NOT_PSEND;
    } else if (!is_started(req)) {
        error = MPIXQ_E_PARTITION_INACTIVE;
    } else {
        error = mpixq_partitions_ready(req, first, count, indices);
    }
    return error != MPIXQ_E_NONE ? fail_at(call, req, error) : MPI_SUCCESS;
}

int PMPIXQ_Pready(int partition, MPI_Request request)
{
    static const struct mpixq_call call = {"MPIX_Pready", false};
    int rc = mpixq_api_enter_inside(&call);

    return rc != MPI_SUCCESS ? rc : ready(&call, request, partition, 1, NULL);
}
MPIXQ_PROFILED(Pready);

int PMPIXQ_Pready_range(int partition_low, int partition_high, MPI_Request request)
{
    static const struct mpixq_call call = {"MPIX_Pready_range", false};
    int rc = mpixq_api_enter_inside(&call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (partition_low > partition_high) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_PARTITION_LOW);
    }
    if (partition_low < 0 || partition_high == INT_MAX) { /* it may be too many to count */
        return mpixq_api_fail(&call, MPIXQ_E_ARG_PARTITION);
    }
    return ready(&call, request, partition_low, partition_high - partition_low + 1, NULL);
}
MPIXQ_PROFILED(Pready_range);

int PMPIXQ_Pready_list(int length, const int array_of_partitions[], MPI_Request request)
{
    static const struct mpixq_call call = {"MPIX_Pready_list", false};
    static const int none;
    int rc = mpixq_api_enter_inside(&call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (length < 0 || (array_of_partitions == NULL && length > 0)) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_PARTITION_LIST);
    }
    return ready(&call, request, 0, length, length > 0 ? array_of_partitions : &none);
}
MPIXQ_PROFILED(Pready_list);

/* Of the request, with which nothing else is wrong. */
static int look_arrived(const struct mpixq_call *call, struct mpixq_request *req, int partition,
                        int *flag)
{
    uint64_t start =
        mpixq_stream_inside() ? mpixq_pair_executed(&req->pair) : mpixq_pair_started(&req->pair);

    if (!is_started(req)) {
        *flag = 1;
        return MPI_SUCCESS;
    }
    if (mpixq_partitions_has_arrived(req, partition, start)) {
        *flag = 1;
        return MPI_SUCCESS;
    }
    if (!mpixq_stream_inside()) {
        mpixq_host_missed(); /* where a failure is heard of */
    }
    if (mpixq_host_has_failed(req)) {
        return fail_at(call, req, MPIXQ_E_REQUEST_FAILED);
    }
    *flag = 0;
    return MPI_SUCCESS;
}

int PMPIXQ_Parrived(MPI_Request request, int partition, int *flag)
{
    static const struct mpixq_call call = {"MPIX_Parrived", false};
    struct mpixq_request *req;
    int rc = mpixq_api_enter_inside(&call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (flag == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_FLAG);
    }
    if (request == MPI_REQUEST_NULL) {
        *flag = 1;
        return MPI_SUCCESS;
    }
    rc = find(&call, request, &req);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (mpixq_request_is_send(req)) {
        return fail_at(&call, req, MPIXQ_E_NOT_PRECV);
    }
    if (partition < 0 || partition >= mpixq_partitions_of(req)->n) {
        return fail_at(&call, req, MPIXQ_E_ARG_PARTITION);
    }
    return look_arrived(&call, req, partition, flag);
}
MPIXQ_PROFILED(Parrived);

/* Is there nothing more to wait for? */
static bool is_prepared(struct mpixq_request *req, uint64_t start)
{
    if (mpixq_pair_done(&req->pair) >= start) {
        return true;
    }
    mpixq_partitions_go_on(&req->pair);
    return mpixq_pair_executed(&req->pair) >= start &&
           (!mpixq_request_is_send(req) || mpixq_partitions_is_prepared(req, start));
}

static int await_prepared(const struct mpixq_call *call, struct mpixq_request *req)
{
    uint64_t start = mpixq_pair_started(&req->pair);
    struct mpixq_backoff backoff;

    mpixq_backoff_begin(&backoff);
    while (!is_prepared(req, start)) {
        mpixq_match_open_in(false);
        mpixq_host_missed();
        if (mpixq_host_has_failed(req)) {
            return fail_at(call, req, MPIXQ_E_REQUEST_FAILED);
        }
        mpixq_backoff_pause(&backoff);
    }
    return MPI_SUCCESS;
}

int PMPIXQ_Pbuf_prepare(MPI_Request request)
{
    static const struct mpixq_call call = {"MPIX_Pbuf_prepare", false};
    struct mpixq_request *req;
    int rc = mpixq_api_enter(&call);

    rc = rc ? rc : find(&call, request, &req);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    return is_started(req) ? await_prepared(&call, req)
                           : fail_at(&call, req, MPIXQ_E_PARTITION_INACTIVE);
}
MPIXQ_PROFILED(Pbuf_prepare);
