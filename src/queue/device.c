/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Handles of requests for kernels of the program. What a kernel needs of a pair is what kernels of
 * a replayed graph need, so that its GPU counts its starts from now on; a handle holds it as a
 * graph does. Nothing is started, and no request changes its state. Who moves the data then, GPUs
 * or the host, is the channel's business, as it is for a graph. */
#include "device.h"

#include <string.h>

#include "core/channel.h"
#include "core/graphs.h"
#include "core/tally.h"
#include "enqueue.h"

#define MPIX_QUEUE_DEVICE_ONLY
#include "mpix_queue_device.h"

static enum mpixq_error check(struct mpixq_queue *queue, const struct mpixq_request *req)
{
    enum mpixq_error error = mpixq_enqueue_check_idle(req);
    const struct mpixq_channel_graphs *graphs;

    if (error != MPIXQ_E_NONE) {
        return error;
    }
    graphs = req->pair.channel->graphs;
    if (graphs == NULL) {
        return MPIXQ_E_PARTITION_GRAPH;
    }
    if (graphs->describe == NULL) { /* of collectives that GPUs do */
        return MPIXQ_E_DEVICE_BOTH;
    }
    if (mpixq_pair_copy_before(&req->pair) != NULL && mpixq_pair_copy_after(&req->pair) != NULL) {
        return MPIXQ_E_DEVICE_BOTH;
    }
    error = mpixq_enqueue_check_first(queue, req);
    if (error != MPIXQ_E_NONE) {
        return error;
    }
    return graphs->go_on == NULL || mpixq_tally_can_count(&req->pair, queue->stream)
               ? MPIXQ_E_NONE
               : MPIXQ_E_DEVICE_GPU;
}

/* Of a request to MPI_PROC_NULL a handle holds nothing, and so cannot be told from a freed copy. */
static bool holds_pair(const struct mpixq_device_request *handle)
{
    return handle->own != NULL;
}

/* Under the submission lock. The n pairs have no other one among them. */
static int describe_all(struct mpixq_queue *queue, int n, struct mpixq_device_request *handles)
{
    for (int i = 0; i < n; i++) {
        enum mpixq_error error = mpixq_graphs_count(queue->pairs[i], queue);

        if (error != MPIXQ_E_NONE) {
            return mpixq_error_code(error);
        }
    }
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = queue->pairs[i];

        mpixq_graphs_go_to(pair, queue);
        pair->channel->graphs->describe(pair, &handles[i]);
        if (holds_pair(&handles[i])) {
            mpixq_graphs_take(pair);
        }
    }
    return MPI_SUCCESS;
}

int mpixq_device_create(struct mpixq_queue *queue, int count, MPI_Request requests[],
                        struct mpixq_device_request *handles, struct mpixq_fault *fault_p)
{
    const struct mpixq_stream_graphs *graphs = queue->stream->ops->graphs;
    struct mpixq_request *failed;
    enum mpixq_error error;
    int n, index, rc = MPI_SUCCESS;

    *fault_p = MPIXQ_FAULT_NONE;
    if (mpixq_queue_has_failed(queue)) {
        return mpixq_queue_failure(queue, fault_p);
    }
    if (graphs == NULL || !graphs->has_kernels(queue->stream)) {
        return mpixq_error_code(MPIXQ_E_DEVICE_STREAM);
    }
    for (int i = 0; i < count; i++) {
        if (requests[i] == MPI_REQUEST_NULL) {
            return mpixq_enqueue_fault(queue, MPIXQ_E_NULL_REQUEST, NULL, i, fault_p);
        }
    }
    mpixq_submission_lock(&queue->submission);
    error = mpixq_enqueue_collect(queue, count, requests, check, &n, &failed, &index);
    if (error == MPIXQ_E_NONE) {
        rc = describe_all(queue, n, handles);
    }
    mpixq_submission_unlock(&queue->submission);
    return error == MPIXQ_E_NONE ? rc : mpixq_enqueue_fault(queue, error, failed, index, fault_p);
}

int mpixq_device_free(int count, struct mpixq_device_request *handles, struct mpixq_fault *fault_p)
{
    static const enum mpixq_error errors[] = {[MPIXQ_HANDLED_UNKNOWN] = MPIXQ_E_ARG_HANDLE,
                                              [MPIXQ_HANDLED_IDLE] = MPIXQ_E_NONE,
                                              [MPIXQ_HANDLED_ACTIVE] = MPIXQ_E_DEVICE_ACTIVE};

    *fault_p = MPIXQ_FAULT_NONE;
    for (int i = 0; i < count; i++) {
        enum mpixq_error error = holds_pair(&handles[i])
                                     ? errors[mpixq_graphs_find_handled(handles[i].pair)]
                                     : MPIXQ_E_NONE;

        if (error != MPIXQ_E_NONE) {
            mpixq_fault_at(fault_p, i, NULL);
            return mpixq_error_code(error);
        }
    }
    for (int i = 0; i < count; i++) {
        if (holds_pair(&handles[i])) {
            mpixq_graphs_give_back(handles[i].pair);
        }
    }
    if (count > 0) {
        memset(handles, 0, (size_t)count * sizeof handles[0]);
    }
    return MPI_SUCCESS;
}
