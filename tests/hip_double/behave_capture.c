/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * behave_capture.c - cases about streams that are captured into a graph
 */
#include "behave.h"

#include <pthread.h>
#include <stdlib.h>

static void begin(hipStream_t stream, hipStreamCaptureMode mode)
{
    NEED(hipStreamBeginCapture(stream, mode) == hipSuccess);
}

static hipStreamCaptureStatus status_of(hipStream_t stream)
{
    hipStreamCaptureStatus status;

    NEED(hipStreamIsCapturing(stream, &status) == hipSuccess);
    return status;
}

static bool is_valid(hipStream_t stream)
{
    return status_of(stream) == hipStreamCaptureStatusActive;
}

/* Does the capture end as what it was? */
static bool ends(hipStream_t stream, bool valid)
{
    hipGraph_t graph = NULL;
    hipError_t error = hipStreamEndCapture(stream, &graph);

    NEED(error == hipSuccess || graph == NULL);
    if (graph != NULL) {
        NEED(hipGraphDestroy(graph) == hipSuccess);
    }
    return error == (valid ? hipSuccess : hipErrorStreamCaptureInvalidated) &&
           status_of(stream) == hipStreamCaptureStatusNone;
}

static hipError_t allocate(void)
{
    void *memory;
    hipError_t error = hipMalloc(&memory, 1);

    return error == hipSuccess ? hipFree(memory) : error;
}

/* Called by a thread of its own. */
struct work {
    hipError_t (*call)(void);
    hipStreamCaptureMode mode;
    hipError_t error;
};

static void *run_work(void *arg)
{
    struct work *work = arg;
    hipStreamCaptureMode mode = work->mode;

    NEED(hipThreadExchangeStreamCaptureMode(&mode) == hipSuccess);
    NEED(mode == hipStreamCaptureModeGlobal);
    work->error = work->call();
    return NULL;
}

static hipError_t elsewhere(hipError_t (*call)(void), hipStreamCaptureMode mode)
{
    struct work work = {call, mode, hipSuccess};
    pthread_t thread;

    NEED(pthread_create(&thread, NULL, run_work, &work) == 0);
    NEED(pthread_join(thread, NULL) == 0);
    return work.error;
}

static bool capture_recorded(void)
{
    hipStream_t stream = behave_stream();
    uint64_t *there, *word = behave_word(&there);
    hipGraph_t graph;
    size_t nodes;

    /* Which loads the module: not during a capture. */
    NEED(behave_launch(BEHAVE_STORE, stream, (struct behave_words){there, 0, NULL, 0}) == 0);
    begin(stream, hipStreamCaptureModeGlobal);
    setenv("HIP_LAUNCH_BLOCKING", "1", 1); /* there is nothing yet that a launch could wait for */
    NEED(hipStreamWriteValue64(stream, there, 1, 0) == hipSuccess);
    NEED(behave_launch(BEHAVE_STORE, stream, (struct behave_words){there, 2, NULL, 0}) == 0);
    NEED(hipStreamEndCapture(stream, &graph) == hipSuccess);
    NEED(hipStreamSynchronize(stream) == hipSuccess);
    NEED(hipGraphGetNodes(graph, NULL, &nodes) == hipSuccess);
    return nodes == 2 && behave_get(word) == 0 && hipGraphDestroy(graph) == hipSuccess;
}

static hipStream_t asked;

static hipError_t query(void)
{
    return hipStreamQuery(asked);
}

static hipError_t synchronize(void)
{
    return hipStreamSynchronize(asked);
}

/* Who asks, and in what mode, does not matter. */
static bool is_broken_by(hipError_t (*call)(void), bool other_thread)
{
    asked = behave_stream();
    begin(asked, hipStreamCaptureModeRelaxed);
    return (other_thread ? elsewhere(call, hipStreamCaptureModeRelaxed) : call()) ==
               hipErrorStreamCaptureUnsupported &&
           ends(asked, false);
}

static bool capture_query(void)
{
    return is_broken_by(query, false) && is_broken_by(synchronize, false) &&
           is_broken_by(query, true) && is_broken_by(synchronize, true);
}

/* To ask whether it is captured does no harm, of the null stream neither. */
static bool capture_implicit(void)
{
    uint64_t *there, *word = behave_word(&there);
    hipStreamCaptureStatus status;
    hipStream_t stream;

    NEED(hipStreamCreate(&stream) == hipSuccess);
    NEED(status_of(NULL) == hipStreamCaptureStatusNone);
    begin(stream, hipStreamCaptureModeThreadLocal);
    NEED(hipStreamIsCapturing(NULL, &status) == hipErrorStreamCaptureImplicit);
    NEED(is_valid(stream));
    if (hipStreamWriteValue64(NULL, there, 1, 0) != hipErrorStreamCaptureImplicit ||
        !ends(stream, false) || behave_get(word) != 0) {
        return false;
    }
    begin(stream, hipStreamCaptureModeRelaxed);
    asked = NULL;
    if (elsewhere(query, hipStreamCaptureModeRelaxed) != hipErrorStreamCaptureImplicit ||
        !ends(stream, false)) {
        return false;
    }
    stream = behave_stream();
    begin(stream, hipStreamCaptureModeRelaxed);
    return elsewhere(query, hipStreamCaptureModeRelaxed) == hipSuccess && ends(stream, true);
}

static bool capture_global(void)
{
    hipStream_t stream = behave_stream();

    asked = behave_stream();
    begin(stream, hipStreamCaptureModeThreadLocal);
    NEED(elsewhere(allocate, hipStreamCaptureModeGlobal) == hipSuccess && ends(stream, true));
    begin(stream, hipStreamCaptureModeGlobal);
    NEED(elsewhere(allocate, hipStreamCaptureModeThreadLocal) == hipSuccess && ends(stream, true));
    begin(stream, hipStreamCaptureModeGlobal);
    if (elsewhere(allocate, hipStreamCaptureModeGlobal) != hipErrorStreamCaptureUnsupported ||
        !ends(stream, false)) {
        return false;
    }
    begin(stream, hipStreamCaptureModeGlobal);
    return elsewhere(query, hipStreamCaptureModeGlobal) == hipErrorStreamCaptureUnsupported &&
           ends(stream, false);
}

static bool capture_relaxed(void)
{
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    hipStream_t stream = behave_stream();

    begin(stream, hipStreamCaptureModeThreadLocal);
    NEED(allocate() == hipErrorStreamCaptureUnsupported && ends(stream, false));
    begin(stream, hipStreamCaptureModeRelaxed);
    NEED(allocate() == hipSuccess && ends(stream, true));
    begin(stream, hipStreamCaptureModeGlobal);
    NEED(hipThreadExchangeStreamCaptureMode(&mode) == hipSuccess);
    NEED(mode == hipStreamCaptureModeGlobal);
    return allocate() == hipSuccess && elsewhere(allocate, mode + 2) == hipSuccess &&
           ends(stream, true);
}

static bool capture_device(void)
{
    hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
    hipStream_t stream = behave_stream();

    NEED(hipThreadExchangeStreamCaptureMode(&mode) == hipSuccess);
    begin(stream, hipStreamCaptureModeRelaxed);
    return hipDeviceSynchronize() == hipErrorStreamCaptureUnsupported && ends(stream, false);
}

static hipStream_t begun;

static hipError_t end_begun(void)
{
    hipGraph_t graph;

    return hipStreamEndCapture(begun, &graph);
}

static bool capture_thread(void)
{
    unsigned long long id, next;
    hipStreamCaptureStatus status;

    NEED(hipStreamBeginCapture(NULL, hipStreamCaptureModeRelaxed) ==
         hipErrorStreamCaptureUnsupported);
    begun = behave_stream();
    NEED(end_begun() == hipErrorIllegalState);
    begin(begun, hipStreamCaptureModeRelaxed);
    NEED(hipStreamGetCaptureInfo(begun, &status, &id) == hipSuccess);
    NEED(hipStreamBeginCapture(begun, hipStreamCaptureModeRelaxed) == hipErrorIllegalState);
    NEED(elsewhere(end_begun, hipStreamCaptureModeGlobal) == hipSuccess);
    begin(begun, hipStreamCaptureModeThreadLocal);
    NEED(hipStreamGetCaptureInfo(begun, &status, &next) == hipSuccess && next != id);
    return elsewhere(end_begun, hipStreamCaptureModeGlobal) == hipErrorStreamCaptureWrongThread &&
           is_valid(begun) && ends(begun, true);
}

const struct behave_case behave_capture_cases[] = {
    {"capture-recorded", capture_recorded}, {"capture-query", capture_query},
    {"capture-implicit", capture_implicit}, {"capture-global", capture_global},
    {"capture-relaxed", capture_relaxed},   {"capture-device", capture_device},
    {"capture-thread", capture_thread},     {NULL, NULL},
};
