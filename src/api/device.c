/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "mpix_queue_device.h"

#include <stddef.h>

#include "api.h"
#include "queue/device.h"
#include "queue/queues.h"

int PMPIXQ_Device_request_create(int count, MPI_Request requests[], MPIXQ_Queue queue,
                                 MPIXQ_Device_request handles[], int abi)
{
    static const struct mpixq_call call = {"MPIX_Device_request_create", true};
    struct mpixq_fault fault;
    int rc = mpixq_api_enter_advancing(&call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (count < 0) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_COUNT);
    }
    if (requests == NULL && count > 0) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_REQUESTS);
    }
    if (!mpixq_queue_is_live(queue)) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_QUEUE);
    }
    if (handles == NULL && count > 0) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_HANDLES);
    }
    if (abi != MPIXQ_DEVICE_ABI) {
        return mpixq_api_fail(&call, MPIXQ_E_DEVICE_ABI);
    }
    rc = mpixq_device_create(queue, count, requests, handles, &fault);
    return mpixq_fault_raise_code(&call, &fault, rc);
}
MPIXQ_PROFILED(Device_request_create);

int PMPIXQ_Device_request_free(int count, MPIXQ_Device_request handles[])
{
    static const struct mpixq_call call = {"MPIX_Device_request_free", true};
    struct mpixq_fault fault;
    int rc = mpixq_api_enter_advancing(&call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (count < 0) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_COUNT);
    }
    if (handles == NULL && count > 0) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_HANDLES);
    }
    rc = mpixq_device_free(count, handles, &fault);
    return mpixq_fault_raise_code(&call, &fault, rc);
}
MPIXQ_PROFILED(Device_request_free);
