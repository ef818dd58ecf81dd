/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "stream/host_stream.h"

#include <stddef.h>

#include "api.h"

int PMPIXQ_Host_stream_create(MPIXQ_Host_stream *stream)
{
    static const struct mpixq_call call = {"MPIX_Host_stream_create", false};
    int rc = mpixq_api_enter_advancing(&call);
    struct mpixq_host_stream *created;
    enum mpixq_error error;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (stream == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_STREAM_P);
    }
    created = mpixq_host_stream_create(&error);
    if (created == NULL) {
        return mpixq_api_fail(&call, error);
    }
    *stream = created;
    return MPI_SUCCESS;
}
MPIXQ_PROFILED(Host_stream_create);

/* The start of each function on a live stream. */
static int enter(const struct mpixq_call *call, MPIXQ_Host_stream stream)
{
    int rc = mpixq_api_enter_advancing(call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (stream == MPIXQ_HOST_STREAM_NULL || !mpixq_host_stream_is_live(stream)) {
        return mpixq_api_fail(call, MPIXQ_E_ARG_STREAM);
    }
    return MPI_SUCCESS;
}

int PMPIXQ_Host_stream_destroy(MPIXQ_Host_stream *stream)
{
    static const struct mpixq_call call = {"MPIX_Host_stream_destroy", false};
    int rc = mpixq_api_enter(&call);
    enum mpixq_error error;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (stream == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_STREAM_P);
    }
    if (*stream == MPIXQ_HOST_STREAM_NULL) {
        return MPI_SUCCESS;
    }
    rc = enter(&call, *stream);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    error = mpixq_host_stream_destroy(*stream);
    if (error != MPIXQ_E_NONE) {
        return mpixq_api_fail(&call, error);
    }
    *stream = MPIXQ_HOST_STREAM_NULL;
    return MPI_SUCCESS;
}
MPIXQ_PROFILED(Host_stream_destroy);

int PMPIXQ_Host_stream_launch(MPIXQ_Host_stream stream, void (*fn)(void *), void *arg)
{
    static const struct mpixq_call call = {"MPIX_Host_stream_launch", false};
    int rc = enter(&call, stream);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (fn == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_FN);
    }
    mpixq_host_stream_launch(stream, fn, arg);
    return MPI_SUCCESS;
}
MPIXQ_PROFILED(Host_stream_launch);

int PMPIXQ_Host_stream_synchronize(MPIXQ_Host_stream stream)
{
    static const struct mpixq_call call = {"MPIX_Host_stream_synchronize", false};
    int rc = enter(&call, stream);

    if (rc == MPI_SUCCESS) {
        mpixq_host_stream_synchronize(stream);
    }
    return rc;
}
MPIXQ_PROFILED(Host_stream_synchronize);

int PMPIXQ_Host_stream_query(MPIXQ_Host_stream stream, int *flag)
{
    static const struct mpixq_call call = {"MPIX_Host_stream_query", false};
    int rc = enter(&call, stream);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (flag == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_FLAG);
    }
    *flag = mpixq_host_stream_is_idle(stream);
    return MPI_SUCCESS;
}
MPIXQ_PROFILED(Host_stream_query);
