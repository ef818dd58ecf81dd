/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include <stddef.h>
#include <string.h>

#include "api.h"
#include "core/alloc.h"
#include "core/channel.h"
#include "core/lib.h"
#include "core/match.h"
#include "core/queue.h"

static enum mpixq_error check_type(MPIXQ_Queue_type type)
{
    switch (type) {
    case MPIXQ_QUEUE_AUTO:
    case MPIXQ_QUEUE_FALLBACK:
        return MPIXQ_E_NONE;
    case MPIXQ_QUEUE_CXI:
        return mpixq_channel_by_id(MPIXQ_CHANNEL_CXI) != NULL ? MPIXQ_E_NONE : MPIXQ_E_CXI;
    default:
        return MPIXQ_E_ARG_TYPE;
    }
}

/* The value of info's key "type": which kind of stream is meant. *kind_p is NULL if it does not
 * say; the caller frees it. On an error its handler has been invoked, mostly by MPI. */
static int read_kind(MPI_Info info, char **kind_p)
{
    int length = 0, found = 0, rc;

    *kind_p = NULL;
    if (info == MPI_INFO_NULL) {
        return MPI_SUCCESS;
    }
    rc = PMPI_Info_get_valuelen(info, "type", &length, &found);
    if (rc != MPI_SUCCESS || !found) {
        return rc;
    }
    *kind_p = mpixq_alloc((size_t)length + 1);
    if (*kind_p == NULL) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_NO_MEMORY);
    }
    return PMPI_Info_get(info, "type", length, *kind_p, &found);
}

static int create(MPIXQ_Queue *queue, MPIXQ_Queue_type type, void *stream_address, MPI_Info info)
{
    char *kind = NULL;
    int rc = read_kind(info, &kind);

    if (rc == MPI_SUCCESS) {
        rc = mpixq_queue_create(type, kind, stream_address, queue);
        (void)mpixq_error_raise(MPI_COMM_NULL, rc);
    }
    mpixq_free(kind);
    return rc;
}

int PMPIXQ_Queue_init_info(MPIXQ_Queue *queue, MPIXQ_Queue_type type, void *stream_address,
                           MPI_Info info)
{
    int rc = mpixq_api_enter_interposed();
    enum mpixq_error error;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_match_advance();
    if (queue == NULL) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_QUEUE_P);
    }
    error = check_type(type);
    if (error != MPIXQ_E_NONE) {
        return mpixq_api_fail(MPI_COMM_NULL, error);
    }
    if (mpixq_lib_thread_level() < MPI_THREAD_MULTIPLE) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_THREAD_LEVEL);
    }
    return create(queue, type, stream_address, info);
}
MPIXQ_TWIN(Queue_init_info);

int PMPIXQ_Queue_init(MPIXQ_Queue *queue, MPIXQ_Queue_type type, void *stream_address)
{
    return PMPIXQ_Queue_init_info(queue, type, stream_address, MPI_INFO_NULL);
}
MPIXQ_TWIN(Queue_init);

/* The start of each function on a live queue. */
static int enter(MPIXQ_Queue queue)
{
    int rc = mpixq_api_enter();

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_match_advance();
    if (!mpixq_queue_is_live(queue)) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_QUEUE);
    }
    return MPI_SUCCESS;
}

int PMPIXQ_Queue_free(MPIXQ_Queue *queue)
{
    int rc = mpixq_api_enter();

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (queue == NULL) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_QUEUE_P);
    }
    if (*queue == MPIXQ_QUEUE_NULL) {
        return MPI_SUCCESS;
    }
    rc = enter(*queue);
    if (rc == MPI_SUCCESS) {
        rc = mpixq_error_raise(MPI_COMM_NULL, mpixq_queue_destroy(*queue));
    }
    if (rc == MPI_SUCCESS) {
        *queue = MPIXQ_QUEUE_NULL;
        mpixq_channels_tidy(); /* its waits may have kept that up */
    }
    return rc;
}
MPIXQ_TWIN(Queue_free);

int PMPIXQ_Queue_wait(MPIXQ_Queue queue)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int rc = enter(queue);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = mpixq_queue_synchronize(queue, &comm);
    return mpixq_error_raise(comm, rc);
}
MPIXQ_TWIN(Queue_wait);

int PMPIXQ_Queue_test(MPIXQ_Queue queue, int *flag)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int rc = enter(queue);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (flag == NULL) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_FLAG);
    }
    rc = mpixq_queue_test(queue, flag, &comm);
    return mpixq_error_raise(comm, rc);
}
MPIXQ_TWIN(Queue_test);

int PMPIXQ_Queue_get_info(MPIXQ_Queue queue, MPI_Info *info_used)
{
    int rc = enter(queue);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (info_used == NULL) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_INFO_USED);
    }
    return mpixq_queue_info(queue, info_used); /* MPI's errors: it has invoked the handler */
}
MPIXQ_TWIN(Queue_get_info);
