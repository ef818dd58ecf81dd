/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * capture.c - streams that are captured into a graph: what is put into them is counted and does not
 * run; what else threads do meanwhile can make the capture invalid
 */
#include "double.h"

#include <stdlib.h>

/* Of the thread: what it lets itself do, and what tells it from others. */
static _Thread_local int thread_mode = hipStreamCaptureModeGlobal;
static _Thread_local char me;

static unsigned long long last_id; /* under hip.lock */

/* All under hip.lock. */

static bool is_valid(const struct ihipStream_t *stream)
{
    return stream->capture.status == hipStreamCaptureStatusActive;
}

static void invalidate(struct ihipStream_t *stream)
{
    stream->capture.status = hipStreamCaptureStatusInvalidated;
}

static bool is_blocking(const struct ihipStream_t *stream)
{
    return !stream->null && !(stream->flags & hipStreamNonBlocking);
}

/* Those of a device that the null stream would come after. */
static bool any_blocking(int device, bool ends)
{
    bool any = false;

    for (struct ihipStream_t *stream = hip.streams; stream != NULL; stream = stream->next) {
        if (stream->device == device && is_valid(stream) && is_blocking(stream)) {
            any = true;
            if (ends) {
                invalidate(stream);
            }
        }
    }
    return any;
}

static hipError_t invalidate_all(hipError_t error)
{
    hipError_t found = hipSuccess;

    for (struct ihipStream_t *stream = hip.streams; stream != NULL; stream = stream->next) {
        if (is_valid(stream)) {
            invalidate(stream);
            found = error;
        }
    }
    return found;
}

/* A call that no capture sees, by a thread that does not say that it knows. */
static hipError_t unsafe(void)
{
    hipError_t error = hipSuccess;

    if (thread_mode == hipStreamCaptureModeRelaxed && !hip_is_wrong("capture-relaxed")) {
        return hipSuccess;
    }
    for (struct ihipStream_t *stream = hip.streams; stream != NULL; stream = stream->next) {
        const struct hip_capture *capture = &stream->capture;
        bool own = capture->mode != hipStreamCaptureModeRelaxed && capture->thread == &me;
        bool global = capture->mode == hipStreamCaptureModeGlobal &&
                      thread_mode == hipStreamCaptureModeGlobal && !hip_is_wrong("capture-global");

        if (is_valid(stream) && (own || global)) {
            invalidate(stream);
            error = hipErrorStreamCaptureUnsupported;
        }
    }
    return error;
}

hipError_t hip_capture_enter(enum hip_call call)
{
    switch (call) {
    case HIP_CALL_hipMalloc:
    case HIP_CALL_hipExtMallocWithFlags:
    case HIP_CALL_hipMallocManaged:
    case HIP_CALL_hipFree:
    case HIP_CALL_hipHostMalloc:
    case HIP_CALL_hipHostFree:
    case HIP_CALL_hipHostRegister:
    case HIP_CALL_hipHostUnregister:
    case HIP_CALL_hipPointerSetAttribute:
    case HIP_CALL_hipIpcGetMemHandle:
    case HIP_CALL_hipIpcOpenMemHandle:
    case HIP_CALL_hipIpcCloseMemHandle:
    case HIP_CALL_hipMemPoolCreate:
    case HIP_CALL_hipMemPoolDestroy:
    case HIP_CALL_hipMemPoolSetAccess:
    case HIP_CALL_hipMemPoolExportToShareableHandle:
    case HIP_CALL_hipMemPoolImportFromShareableHandle:
    case HIP_CALL_hipMemPoolExportPointer:
    case HIP_CALL_hipMemPoolImportPointer:
    case HIP_CALL_hipMemCreate:
    case HIP_CALL_hipMemRelease:
    case HIP_CALL_hipMemAddressReserve:
    case HIP_CALL_hipMemAddressFree:
    case HIP_CALL_hipMemMap:
    case HIP_CALL_hipMemUnmap:
    case HIP_CALL_hipMemSetAccess:
    case HIP_CALL_hipMemExportToShareableHandle:
    case HIP_CALL_hipMemImportFromShareableHandle:
    case HIP_CALL_hipDeviceEnablePeerAccess:
    case HIP_CALL_hipDeviceDisablePeerAccess:
    case HIP_CALL_hipStreamCreate:
    case HIP_CALL_hipStreamCreateWithFlags:
    case HIP_CALL_hipStreamCreateWithPriority:
    case HIP_CALL_hipStreamQuery:
    case HIP_CALL_hipStreamSynchronize:
    case HIP_CALL_hipModuleLoadData:
    case HIP_CALL_hipModuleUnload:
        return unsafe();
    case HIP_CALL_hipMemcpy:
    case HIP_CALL_hipMemset:
        return invalidate_all(hipErrorStreamCaptureImplicit);
    case HIP_CALL_hipDeviceReset:
    case HIP_CALL_hipDeviceSynchronize:
    case HIP_CALL_hipCtxSynchronize:
        return hip_is_wrong("capture-device") ? hipSuccess
                                              : invalidate_all(hipErrorStreamCaptureUnsupported);
    default:
        return hipSuccess;
    }
}

hipError_t hip_capture_look(struct ihipStream_t *stream)
{
    if (stream->null) {
        return any_blocking(stream->device, true) && !hip_is_wrong("capture-implicit")
                   ? hipErrorStreamCaptureImplicit
                   : hipSuccess;
    }
    if (stream->capture.status == hipStreamCaptureStatusNone || hip_is_wrong("capture-query")) {
        return hipSuccess;
    }
    invalidate(stream);
    return hipErrorStreamCaptureUnsupported;
}

hipError_t hip_capture_put(struct ihipStream_t *stream, bool alone, bool *taken_p)
{
    *taken_p = false;
    if (stream->null) {
        return hip_capture_look(stream);
    }
    if (stream->capture.status == hipStreamCaptureStatusInvalidated) {
        return hipErrorStreamCaptureInvalidated;
    }
    if (!is_valid(stream) || hip_is_wrong("capture-recorded")) {
        return hipSuccess;
    }
    if (!alone) {
        invalidate(stream);
        return hipErrorStreamCaptureUnsupported;
    }
    stream->capture.graph->nodes++;
    *taken_p = true;
    return hipSuccess;
}

static hipError_t begin(struct ihipStream_t *stream, hipStreamCaptureMode mode)
{
    struct ihipGraph *graph;

    if (stream->null) {
        return hipErrorStreamCaptureUnsupported;
    }
    if (stream->capture.status != hipStreamCaptureStatusNone) {
        return hipErrorIllegalState;
    }
    graph = calloc(1, sizeof(*graph));
    if (graph == NULL) {
        hip_die("out of memory");
    }
    stream->capture = (struct hip_capture){.status = hipStreamCaptureStatusActive,
                                           .mode = (int)mode,
                                           .thread = &me,
                                           .id = ++last_id,
                                           .graph = graph};
    return hipSuccess;
}

static hipError_t end(struct ihipStream_t *stream, hipGraph_t *graph_p)
{
    bool valid = is_valid(stream);

    if (stream->capture.status == hipStreamCaptureStatusNone) {
        return hipErrorIllegalState;
    }
    if (stream->capture.mode != hipStreamCaptureModeRelaxed && stream->capture.thread != &me &&
        !hip_is_wrong("capture-thread")) {
        return hipErrorStreamCaptureWrongThread;
    }
    *graph_p = valid ? stream->capture.graph : NULL;
    if (!valid) {
        free(stream->capture.graph);
    }
    stream->capture = (struct hip_capture){.status = hipStreamCaptureStatusNone};
    return valid ? hipSuccess : hipErrorStreamCaptureInvalidated;
}

static hipError_t ask(const struct ihipStream_t *stream, hipStreamCaptureStatus *status_p,
                      unsigned long long *id_p)
{
    if (stream->null && any_blocking(stream->device, false)) {
        return hipErrorStreamCaptureImplicit;
    }
    *status_p = (hipStreamCaptureStatus)stream->capture.status;
    if (id_p != NULL) {
        *id_p = stream->capture.id;
    }
    return hipSuccess;
}

HIP_EXPORT hipError_t hipStreamBeginCapture(hipStream_t handle, hipStreamCaptureMode mode)
{
    hipError_t error = hipErrorContextIsDestroyed;
    struct ihipStream_t *stream;

    HIP_ENTER(hipStreamBeginCapture);
    if ((unsigned)mode > hipStreamCaptureModeRelaxed) {
        return hip_leave(hipErrorInvalidValue);
    }
    pthread_mutex_lock(&hip.lock);
    stream = hip_stream_of(handle);
    if (stream != NULL) {
        error = begin(stream, mode);
        hip_stream_drop(stream);
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(error);
}

HIP_EXPORT hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t *graph)
{
    hipError_t error = hipErrorContextIsDestroyed;
    struct ihipStream_t *stream;

    HIP_ENTER(hipStreamEndCapture);
    if (graph == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    pthread_mutex_lock(&hip.lock);
    stream = hip_stream_of(handle);
    if (stream != NULL) {
        error = end(stream, graph);
        hip_stream_drop(stream);
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(error);
}

static hipError_t ask_for(hipStream_t handle, hipStreamCaptureStatus *status_p,
                          unsigned long long *id_p)
{
    hipError_t error = hipErrorContextIsDestroyed;
    struct ihipStream_t *stream;

    if (status_p == NULL) {
        return hipErrorInvalidValue;
    }
    pthread_mutex_lock(&hip.lock);
    stream = hip_stream_of(handle);
    if (stream != NULL) {
        error = ask(stream, status_p, id_p);
        hip_stream_drop(stream);
    }
    pthread_mutex_unlock(&hip.lock);
    return error;
}

HIP_EXPORT hipError_t hipStreamIsCapturing(hipStream_t handle, hipStreamCaptureStatus *status)
{
    HIP_ENTER(hipStreamIsCapturing);
    return hip_leave(ask_for(handle, status, NULL));
}

HIP_EXPORT hipError_t hipStreamGetCaptureInfo(hipStream_t handle, hipStreamCaptureStatus *status,
                                              unsigned long long *id)
{
    HIP_ENTER(hipStreamGetCaptureInfo);
    return hip_leave(ask_for(handle, status, id));
}

HIP_EXPORT hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode)
{
    int before = thread_mode;

    HIP_ENTER(hipThreadExchangeStreamCaptureMode);
    if (mode == NULL || (unsigned)*mode > hipStreamCaptureModeRelaxed) {
        return hip_leave(hipErrorInvalidValue);
    }
    thread_mode = (int)*mode;
    *mode = (hipStreamCaptureMode)before;
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count)
{
    HIP_ENTER(hipGraphGetNodes);
    if (graph == NULL || nodes != NULL || count == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    *count = graph->nodes;
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphDestroy(hipGraph_t graph)
{
    HIP_ENTER(hipGraphDestroy);
    free(graph);
    return hip_leave(graph == NULL ? hipErrorInvalidValue : hipSuccess);
}
