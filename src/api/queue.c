/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include <stddef.h>
#include <string.h>

#include "api.h"
#include "core/channels.h"
#include "lib/lib.h"
#include "match/match.h"
#include "queue/queues.h"
#include "util/alloc.h"
#include "util/ranges.h"

static int create(const struct mpixq_call *call, MPIXQ_Queue *queue, MPIXQ_Queue_type type,
                  void *stream_address, MPI_Info info)
{
    char *kind = NULL;
    int rc = mpixq_api_info(call, info, "type", &kind); /* which kind of stream is meant */

    if (rc == MPI_SUCCESS) {
        rc = mpixq_queue_create(type, kind, stream_address, queue);
        rc = mpixq_fault_raise_code(call, &MPIXQ_FAULT_NONE, rc);
    }
    mpixq_free(kind);
    return rc;
}

static int init(const struct mpixq_call *call, MPIXQ_Queue *queue, MPIXQ_Queue_type type,
                void *stream_address, MPI_Info info)
{
    int rc = mpixq_api_enter_interposed(call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_match_advance();
    if (queue == NULL) {
        return mpixq_api_fail(call, MPIXQ_E_ARG_QUEUE_P);
    }
    if (type < MPIXQ_QUEUE_AUTO || type > MPIXQ_QUEUE_IPC) {
        return mpixq_api_fail(call, MPIXQ_E_ARG_TYPE);
    }
    if (mpixq_lib_thread_level() < MPI_THREAD_MULTIPLE) {
        return mpixq_api_fail(call, MPIXQ_E_THREAD_LEVEL);
    }
    return create(call, queue, type, stream_address, info);
}

int PMPIXQ_Queue_init_info(MPIXQ_Queue *queue, MPIXQ_Queue_type type, void *stream_address,
                           MPI_Info info)
{
    static const struct mpixq_call call = {"MPIX_Queue_init_info", false};

    return init(&call, queue, type, stream_address, info);
}
MPIXQ_PROFILED(Queue_init_info);

int PMPIXQ_Queue_init(MPIXQ_Queue *queue, MPIXQ_Queue_type type, void *stream_address)
{
    static const struct mpixq_call call = {"MPIX_Queue_init", false};

    return init(&call, queue, type, stream_address, MPI_INFO_NULL);
}
MPIXQ_PROFILED(Queue_init);

/* The start of each function on a live queue. */
static int enter(const struct mpixq_call *call, MPIXQ_Queue queue)
{
    int rc = mpixq_api_enter_advancing(call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (!mpixq_queue_is_live(queue)) {
        return mpixq_api_fail(call, MPIXQ_E_ARG_QUEUE);
    }
    return MPI_SUCCESS;
}

int PMPIXQ_Queue_free(MPIXQ_Queue *queue)
{
    static const struct mpixq_call call = {"MPIX_Queue_free", false};
    int rc = mpixq_api_enter(&call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (queue == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_QUEUE_P);
    }
    if (*queue == MPIXQ_QUEUE_NULL) {
        return MPI_SUCCESS;
    }
    rc = enter(&call, *queue);
    if (rc == MPI_SUCCESS) {
        rc = mpixq_fault_raise_code(&call, &MPIXQ_FAULT_NONE, mpixq_queue_destroy(*queue));
    }
    if (rc == MPI_SUCCESS) {
        *queue = MPIXQ_QUEUE_NULL;
        mpixq_channels_clean_up(); /* its waits may have kept that up */
    }
    return rc;
}
MPIXQ_PROFILED(Queue_free);

int PMPIXQ_Queue_wait(MPIXQ_Queue queue)
{
    static const struct mpixq_call call = {"MPIX_Queue_wait", false};
    struct mpixq_fault fault;
    int rc = enter(&call, queue);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_range_push(call.name, 0);
    rc = mpixq_queue_wait(queue, &fault);
    mpixq_range_pop();
    return rc != MPI_SUCCESS ? mpixq_fault_raise_code(&call, &fault, rc) : MPI_SUCCESS;
}
MPIXQ_PROFILED(Queue_wait);

int PMPIXQ_Queue_test(MPIXQ_Queue queue, int *flag)
{
    static const struct mpixq_call call = {"MPIX_Queue_test", false};
    struct mpixq_fault fault;
    int rc = enter(&call, queue);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (flag == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_FLAG);
    }
    rc = mpixq_queue_test(queue, flag, &fault);
    return rc != MPI_SUCCESS ? mpixq_fault_raise_code(&call, &fault, rc) : MPI_SUCCESS;
}
MPIXQ_PROFILED(Queue_test);

int PMPIXQ_Queue_get_stream(MPIXQ_Queue queue, void *stream)
{
    static const struct mpixq_call call = {"MPIX_Queue_get_stream", false};
    int rc = enter(&call, queue);
    void *handle;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (stream == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_STREAM_P);
    }
    handle = mpixq_queue_stream(queue);
    memcpy(stream, &handle, sizeof handle); /* of a type that the caller has chosen */
    return MPI_SUCCESS;
}
MPIXQ_PROFILED(Queue_get_stream);

int PMPIXQ_Queue_get_info(MPIXQ_Queue queue, MPI_Info *info_used)
{
    static const struct mpixq_call call = {"MPIX_Queue_get_info", false};
    int rc = enter(&call, queue);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (info_used == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_INFO_USED);
    }
    return mpixq_queue_info(queue, info_used); /* MPI's errors: it has invoked the handler */
}
MPIXQ_PROFILED(Queue_get_info);
