/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "mpix_queue_device_rma.h"

#include <stddef.h>
#include <string.h>

#include "api.h"
#include "rma/rma.h"

int PMPIXQ_Device_transfer_init(const MPIXQ_Blk *local, const MPIXQ_Blk *remote,
                                MPIXQ_Device_transfer *transfer, int abi)
{
    static const struct mpixq_call call = {"MPIX_Device_transfer_init", false};
    int rc = mpixq_api_enter_advancing(&call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (local == NULL || remote == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_BLK);
    }
    if (transfer == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_TRANSFER);
    }
    if (abi != MPIXQ_DEVICE_RMA_ABI) {
        return mpixq_api_fail(&call, MPIXQ_E_DEVICE_ABI);
    }
    return mpixq_fault_raise_code(&call, &MPIXQ_FAULT_NONE,
                                  mpixq_rma_device_transfer(local, remote, transfer));
}
MPIXQ_PROFILED(Device_transfer_init);

int PMPIXQ_Device_signal_init(MPIXQ_Signal sig, MPIXQ_Device_signal *signal, int abi)
{
    static const struct mpixq_call call = {"MPIX_Device_signal_init", false};
    int rc = mpixq_api_enter_advancing(&call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (!mpixq_rma_signal_is_live(sig)) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_SIGNAL);
    }
    if (signal == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_DEVICE_SIGNAL);
    }
    if (abi != MPIXQ_DEVICE_RMA_ABI) {
        return mpixq_api_fail(&call, MPIXQ_E_DEVICE_ABI);
    }
    return mpixq_fault_raise_code(&call, &MPIXQ_FAULT_NONE, mpixq_rma_device_signal(sig, signal));
}
MPIXQ_PROFILED(Device_signal_init);

int PMPIXQ_Device_window_ptr(MPIXQ_Window win, int rank, void *base)
{
    static const struct mpixq_call call = {"MPIX_Device_window_ptr", false};
    enum mpixq_error error;
    int rc = mpixq_api_enter_advancing(&call);
    void *found;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (!mpixq_rma_window_is_live(win)) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_WINDOW);
    }
    if (base == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_BASE);
    }
    error = mpixq_rma_device_window(win, rank, &found);
    if (error != MPIXQ_E_NONE) {
        return mpixq_api_fail(&call, error);
    }
    memcpy(base, &found, sizeof found); /* of a type that the caller has chosen */
    return MPI_SUCCESS;
}
MPIXQ_PROFILED(Device_window_ptr);
