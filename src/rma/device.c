/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Handles of puts and signals for kernels of the program: addresses, which all that can be checked
 * was checked of. */
#include "ipc/window.h"
#include "mapped.h"

#define MPIX_QUEUE_DEVICE_ONLY
#include "mpix_queue_device_rma.h"

int mpixq_rma_device_transfer(const MPIXQ_Blk *local, const MPIXQ_Blk *remote,
                              struct mpixq_device_transfer *transfer_p)
{
    struct mpixq_device_transfer transfer = {.abi = 0};
    struct mpixq_transfer checked;
    struct mpixq_put put;
    int rc = mpixq_transfer_check(local, remote, &checked);

    if (rc == MPI_SUCCESS && checked.window != NULL) {
        rc = mpixq_rma_mapped_describe(&checked, &put);
        if (rc == MPI_SUCCESS) {
            transfer = (struct mpixq_device_transfer){
                .to = put.to,
                .from = put.from,
                .bytes = put.bytes,
                .local = put.local != NULL ? (mpixq_dev_word *)&put.local->word : NULL,
                .remote = put.remote != NULL ? (mpixq_dev_word *)&put.remote->word : NULL,
                .abi = MPIXQ_DEVICE_RMA_ABI};
        }
    }
    if (rc == MPI_SUCCESS) {
        *transfer_p = transfer;
    }
    return rc;
}

int mpixq_rma_device_signal(const struct mpixq_signal *signal, struct mpixq_device_signal *signal_p)
{
    struct mpixq_window *window = signal->window;

    if (window->mapped == NULL) {
        return mpixq_error_code(MPIXQ_E_DEVICE_WINDOW);
    }
    *signal_p = (struct mpixq_device_signal){
        .word = (mpixq_dev_word *)&mpixq_mapped_signal(window->mapped, window->rank, signal->index)
                    ->word,
        .failed = (const mpixq_dev_word *)mpixq_mapped_failed(window->mapped),
        .events = (uint64_t)signal->num_event,
        .abi = MPIXQ_DEVICE_RMA_ABI};
    return MPI_SUCCESS;
}

enum mpixq_error mpixq_rma_device_window(const struct mpixq_window *window, int rank, void **base_p)
{
    if (rank < 0 || rank >= window->size) {
        return MPIXQ_E_ARG_RANK;
    }
    *base_p = window->mapped != NULL ? mpixq_mapped_base(window->mapped, rank) : NULL;
    return MPIXQ_E_NONE;
}
