/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * capture.c - streams that are captured into a graph: what is put into them is kept there and does
 * not run; what else threads do meanwhile can make the capture invalid
 */
#include "double.h"

#include <stdlib.h>
#include <string.h>

/* Of the thread: what it lets itself do, and what tells it from others. */
static _Thread_local int thread_mode = hipStreamCaptureModeGlobal;
static _Thread_local char me;

static unsigned long long last_id; /* under hip.lock */

/* All under hip.lock. */

void hip_branch_leave(struct hip_branch *branch)
{
    struct hip_capture *capture = branch->capture;

    hip_nodes_clear(&branch->tail);
    branch->capture = NULL;
    if (capture != NULL && --capture->refs == 0) {
        hip_graph_free(capture->graph);
        free(capture);
    }
}

void hip_branch_copy(struct hip_branch *branch, const struct hip_branch *other)
{
    branch->capture = other->capture;
    branch->capture->refs++;
    hip_nodes_join(&branch->tail, &other->tail);
}

static int status_of(const struct ihipStream_t *stream)
{
    return stream->captured.capture == NULL ? hipStreamCaptureStatusNone
                                            : stream->captured.capture->status;
}

static bool is_valid(const struct ihipStream_t *stream)
{
    return status_of(stream) == hipStreamCaptureStatusActive;
}

static void invalidate(struct ihipStream_t *stream)
{
    stream->captured.capture->status = hipStreamCaptureStatusInvalidated;
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
        const struct hip_capture *capture = stream->captured.capture;
        bool own, global;

        if (!is_valid(stream)) {
            continue;
        }
        own = capture->mode != hipStreamCaptureModeRelaxed && capture->thread == &me;
        global = capture->mode == hipStreamCaptureModeGlobal &&
                 thread_mode == hipStreamCaptureModeGlobal && !hip_is_wrong("capture-global");
        if (own || global) {
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
    if (stream->captured.capture == NULL || hip_is_wrong("capture-query")) {
        return hipSuccess;
    }
    invalidate(stream);
    return hipErrorStreamCaptureUnsupported;
}

hipError_t hip_capture_put(struct ihipStream_t *stream, struct hip_op *op, bool alone,
                           bool *taken_p)
{
    struct hipGraphNode *node;

    *taken_p = false;
    if (stream->null) {
        return hip_capture_look(stream);
    }
    if (status_of(stream) == hipStreamCaptureStatusInvalidated) {
        return hipErrorStreamCaptureInvalidated;
    }
    if (!is_valid(stream) || op->at_once || hip_is_wrong("capture-recorded")) {
        return hipSuccess;
    }
    if (!alone) {
        invalidate(stream);
        return hipErrorStreamCaptureUnsupported;
    }
    node = hip_graph_add(stream->captured.capture->graph, op, &stream->captured.tail);
    hip_nodes_clear(&stream->captured.tail);
    hip_nodes_add(&stream->captured.tail, node);
    *taken_p = true;
    return hipSuccess;
}

hipError_t hip_capture_record(struct ihipStream_t *stream, struct hip_branch *event, bool *taken_p)
{
    *taken_p = false;
    if (status_of(stream) == hipStreamCaptureStatusInvalidated) {
        return hipErrorStreamCaptureInvalidated;
    }
    if (is_valid(stream)) {
        hip_branch_copy(event, &stream->captured);
        *taken_p = true;
    }
    return hipSuccess;
}

static hipError_t join(struct ihipStream_t *stream, const struct hip_branch *event)
{
    if (stream->null) {
        return hipErrorStreamCaptureUnsupported;
    }
    if (event->capture->graph == NULL) {
        return hipErrorCapturedEvent; /* its capture is over */
    }
    if (stream->captured.capture == NULL) {
        hip_branch_copy(&stream->captured, event);
        return hipSuccess;
    }
    if (stream->captured.capture != event->capture && hip_is_wrong("capture-merge")) {
        return hipSuccess;
    }
    if (stream->captured.capture != event->capture) {
        invalidate(stream);
        event->capture->status = hipStreamCaptureStatusInvalidated;
        return hipErrorStreamCaptureMerge;
    }
    hip_nodes_join(&stream->captured.tail, &event->tail);
    return hipSuccess;
}

hipError_t hip_capture_wait(struct ihipStream_t *stream, const struct hip_branch *event,
                            bool *taken_p)
{
    *taken_p = event->capture != NULL || status_of(stream) != hipStreamCaptureStatusNone;
    if (!*taken_p) {
        return hipSuccess;
    }
    if (status_of(stream) == hipStreamCaptureStatusInvalidated ||
        (event->capture != NULL && event->capture->status == hipStreamCaptureStatusInvalidated)) {
        return hipErrorStreamCaptureInvalidated;
    }
    if (event->capture == NULL) {
        invalidate(stream); /* what it waits for is not in the graph */
        return hipErrorStreamCaptureIsolation;
    }
    return join(stream, event);
}

static hipError_t begin(struct ihipStream_t *stream, hipStreamCaptureMode mode)
{
    struct hip_capture *capture;

    if (stream->null) {
        return hipErrorStreamCaptureUnsupported;
    }
    if (stream->captured.capture != NULL) {
        return hipErrorIllegalState;
    }
    capture = calloc(1, sizeof(*capture));
    if (capture == NULL) {
        hip_die("out of memory");
    }
    *capture = (struct hip_capture){.refs = 1,
                                    .status = hipStreamCaptureStatusActive,
                                    .mode = (int)mode,
                                    .thread = &me,
                                    .id = ++last_id,
                                    .origin = stream,
                                    .graph = hip_graph_new()};
    stream->captured.capture = capture;
    return hipSuccess;
}

/* Does what a stream has come to come before the end of the capture? */
static bool is_joined(const struct hip_branch *branch, const struct hip_nodes *end)
{
    for (size_t i = 0; i < branch->tail.count; i++) {
        bool found = false;

        for (size_t k = 0; k < end->count; k++) {
            found = found || hip_node_is_after(end->at[k], branch->tail.at[i]);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* All streams leave the capture. Have all come back to the one in which it began? */
static bool leave_all(struct hip_capture *capture)
{
    bool joined = true;

    for (struct ihipStream_t *one = hip.streams; one != NULL; one = one->next) {
        if (one->captured.capture == capture && one != capture->origin) {
            joined = joined && is_joined(&one->captured, &capture->origin->captured.tail);
            hip_branch_leave(&one->captured);
        }
    }
    return joined || hip_is_wrong("capture-fork");
}

static hipError_t end(struct ihipStream_t *stream, hipGraph_t *graph_p)
{
    struct hip_capture *capture = stream->captured.capture;
    hipError_t error = hipSuccess;

    if (capture == NULL) {
        return hipErrorIllegalState;
    }
    if (capture->mode != hipStreamCaptureModeRelaxed && capture->thread != &me &&
        !hip_is_wrong("capture-thread")) {
        return hipErrorStreamCaptureWrongThread;
    }
    if (capture->origin != stream) {
        return hipErrorStreamCaptureUnmatched;
    }
    if (!is_valid(stream)) {
        error = hipErrorStreamCaptureInvalidated;
    }
    if (!leave_all(capture) && error == hipSuccess) {
        error = hipErrorStreamCaptureUnjoined;
    }
    *graph_p = error == hipSuccess ? capture->graph : NULL;
    if (error != hipSuccess) {
        hip_graph_free(capture->graph);
    }
    capture->graph = NULL;
    hip_branch_leave(&stream->captured);
    return error;
}

struct answer {
    hipStreamCaptureStatus *status;
    unsigned long long *id;
    hipGraph_t *graph;
    const hipGraphNode_t **after;
    size_t *count;
};

static hipError_t ask(const struct ihipStream_t *stream, const struct answer *answer)
{
    const struct hip_capture *capture = stream->captured.capture;

    if (stream->null && any_blocking(stream->device, false)) {
        return hipErrorStreamCaptureImplicit;
    }
    *answer->status = (hipStreamCaptureStatus)status_of(stream);
    if (answer->id != NULL) {
        *answer->id = capture != NULL ? capture->id : 0;
    }
    if (answer->graph != NULL) {
        *answer->graph = capture != NULL ? capture->graph : NULL;
    }
    if (answer->after != NULL) {
        *answer->after = stream->captured.tail.at;
    }
    if (answer->count != NULL) {
        *answer->count = stream->captured.tail.count;
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

/* Of a stream that is gone with its device CUDA says so, or reads memory that may be another's by
 * then, and dies: so who knows of the reset must not ask. */
static void ask_gone(const void *handle)
{
    if (hip_switches.gone == GONE_DIES) {
        hip_die("the stream %p is gone with its device, and is asked for its capture", handle);
    }
}

static hipError_t ask_for(hipStream_t handle, const struct answer *answer)
{
    hipError_t error = hipErrorContextIsDestroyed;
    struct ihipStream_t *stream;

    if (answer->status == NULL) {
        return hipErrorInvalidValue;
    }
    pthread_mutex_lock(&hip.lock);
    stream = hip_stream_of(handle);
    if (stream == NULL) {
        ask_gone(handle);
    }
    if (stream != NULL) {
        error = ask(stream, answer);
        hip_stream_drop(stream);
    }
    pthread_mutex_unlock(&hip.lock);
    return error;
}

HIP_EXPORT hipError_t hipStreamIsCapturing(hipStream_t handle, hipStreamCaptureStatus *status)
{
    HIP_ENTER(hipStreamIsCapturing);
    return hip_leave(ask_for(handle, &(struct answer){.status = status}));
}

HIP_EXPORT hipError_t hipStreamGetCaptureInfo(hipStream_t handle, hipStreamCaptureStatus *status,
                                              unsigned long long *id)
{
    HIP_ENTER(hipStreamGetCaptureInfo);
    return hip_leave(ask_for(handle, &(struct answer){.status = status, .id = id}));
}

HIP_EXPORT hipError_t hipStreamGetCaptureInfo_v2(hipStream_t handle, hipStreamCaptureStatus *status,
                                                 unsigned long long *id, hipGraph_t *graph,
                                                 const hipGraphNode_t **after, size_t *count)
{
    HIP_ENTER(hipStreamGetCaptureInfo_v2);
    return hip_leave(ask_for(handle, &(struct answer){status, id, graph, after, count}));
}

/* What comes next in the stream also, or only, comes after these nodes. */
static hipError_t set_after(struct ihipStream_t *stream, hipGraphNode_t *after, size_t count,
                            bool only)
{
    if (!is_valid(stream)) {
        return status_of(stream) == hipStreamCaptureStatusNone ? hipErrorIllegalState
                                                               : hipErrorStreamCaptureInvalidated;
    }
    for (size_t i = 0; i < count; i++) {
        const struct hip_nodes *nodes = &stream->captured.capture->graph->nodes;

        if (after[i] == NULL || after[i]->index >= nodes->count ||
            nodes->at[after[i]->index] != after[i]) {
            return hipErrorInvalidValue;
        }
    }
    if (only) {
        hip_nodes_clear(&stream->captured.tail);
    }
    for (size_t i = 0; i < count && !hip_is_wrong("capture-after"); i++) {
        hip_nodes_add(&stream->captured.tail, after[i]);
    }
    return hipSuccess;
}

HIP_EXPORT hipError_t hipStreamUpdateCaptureDependencies(hipStream_t handle, hipGraphNode_t *after,
                                                         size_t count, unsigned flags)
{
    hipError_t error = hipErrorContextIsDestroyed;
    struct ihipStream_t *stream;

    HIP_ENTER(hipStreamUpdateCaptureDependencies);
    if (flags > hipStreamSetCaptureDependencies || (after == NULL && count > 0)) {
        return hip_leave(hipErrorInvalidValue);
    }
    pthread_mutex_lock(&hip.lock);
    stream = hip_stream_of(handle);
    if (stream != NULL) {
        error = set_after(stream, after, count, flags == hipStreamSetCaptureDependencies);
        hip_stream_drop(stream);
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(error);
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
