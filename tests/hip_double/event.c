/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * event.c - events: where a stream was when they were recorded, and when that was reached
 */
#include "double.h"

#include <stdlib.h>
#include <time.h>

struct ihipEvent_t {
    struct ihipEvent_t *next;
    struct hip_point point;     /* stream NULL: not recorded, or in a capture */
    struct hip_branch captured; /* where in it */
    unsigned flags;
    int device;
    int refs; /* the handle, and records that are queued */
    bool destroyed;
    uint64_t reached_ns;
};

static struct ihipEvent_t *events; /* under hip.lock */

static void drop(struct ihipEvent_t *event)
{
    if (--event->refs > 0) {
        return;
    }
    for (struct ihipEvent_t **place = &events; *place != NULL; place = &(*place)->next) {
        if (*place == event) {
            *place = event->next;
            break;
        }
    }
    if (event->point.stream != NULL) {
        hip_stream_drop(event->point.stream);
    }
    hip_branch_leave(&event->captured);
    free(event);
}

/* Under hip.lock: the event with this handle, or NULL. */
static struct ihipEvent_t *find(hipEvent_t handle)
{
    for (struct ihipEvent_t *event = events; event != NULL; event = event->next) {
        if (event == handle && !event->destroyed) {
            return event;
        }
    }
    return NULL;
}

bool hip_event_point(hipEvent_t handle, struct hip_point *point_p,
                     const struct hip_branch **captured_p)
{
    struct ihipEvent_t *event = find(handle);

    if (event != NULL) {
        *point_p = event->point;
        *captured_p = &event->captured;
        if (point_p->stream != NULL) {
            point_p->stream->refs++;
        }
    }
    return event != NULL;
}

static hipError_t create(hipEvent_t *event_p, unsigned flags)
{
    struct ihipEvent_t *event;

    if (event_p == NULL || (flags & ~7u) != 0 ||
        ((flags & hipEventInterprocess) && !(flags & hipEventDisableTiming))) {
        return hipErrorInvalidValue;
    }
    event = calloc(1, sizeof(*event));
    if (event == NULL) {
        return hipErrorOutOfMemory;
    }
    event->flags = flags;
    event->device = hip_current();
    event->refs = 1;
    pthread_mutex_lock(&hip.lock);
    event->next = events;
    events = event;
    pthread_mutex_unlock(&hip.lock);
    *event_p = event;
    return hipSuccess;
}

HIP_EXPORT hipError_t hipEventCreate(hipEvent_t *event)
{
    HIP_ENTER(hipEventCreate);
    return hip_leave(create(event, hipEventDefault));
}

HIP_EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    HIP_ENTER(hipEventCreateWithFlags);
    return hip_leave(create(event, flags));
}

HIP_EXPORT hipError_t hipEventDestroy(hipEvent_t handle)
{
    struct ihipEvent_t *event;

    HIP_ENTER(hipEventDestroy);
    pthread_mutex_lock(&hip.lock);
    event = find(handle);
    if (event != NULL) {
        event->destroyed = true;
        drop(event);
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(event == NULL ? hipErrorInvalidHandle : hipSuccess);
}

void hip_events_reset(int device)
{
    struct ihipEvent_t *next;

    for (struct ihipEvent_t *event = events; event != NULL; event = next) {
        next = event->next;
        if (event->device == device && !event->destroyed) {
            event->destroyed = true;
            drop(event);
        }
    }
}

static void run_record(struct hip_op *op)
{
    struct ihipEvent_t *event = op->event;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&hip.lock);
    event->reached_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    pthread_mutex_unlock(&hip.lock);
}

/* Takes the event's new point, or none when the record was not queued. */
static void recorded(struct ihipEvent_t *event, const struct hip_point *point)
{
    struct ihipStream_t *old = event->point.stream;

    event->point = *point;
    hip_branch_leave(&event->captured);
    if (old != NULL) {
        hip_stream_drop(old);
    }
}

/* In a stream that is captured; under hip.lock. */
static hipError_t record_captured(struct ihipEvent_t *event, hipStream_t handle, bool *taken_p)
{
    struct hip_branch branch = {NULL, {NULL, 0}};
    struct ihipStream_t *stream = hip_stream_of(handle);
    hipError_t error;

    *taken_p = false;
    if (stream == NULL) {
        return hipErrorContextIsDestroyed;
    }
    error = hip_capture_record(stream, &branch, taken_p);
    if (*taken_p) {
        recorded(event, &(struct hip_point){NULL, 0});
        event->captured = branch;
    }
    hip_stream_drop(stream);
    return error;
}

HIP_EXPORT hipError_t hipEventRecord(hipEvent_t handle, hipStream_t stream)
{
    hipError_t error = hipErrorInvalidHandle;
    struct ihipEvent_t *event;
    struct hip_point point;
    bool taken = false;
    struct hip_op *op;

    HIP_ENTER(hipEventRecord);
    pthread_mutex_lock(&hip.lock);
    event = find(handle);
    if (event != NULL) {
        error = record_captured(event, stream, &taken);
        event->refs += error == hipSuccess && !taken;
    }
    pthread_mutex_unlock(&hip.lock);
    if (error != hipSuccess || taken) {
        return hip_leave(error);
    }
    op = hip_op_new("record", run_record, 0);
    op->event = event;
    error = hip_submit(stream, op, NULL, &point);
    pthread_mutex_lock(&hip.lock);
    if (error == hipSuccess && hip_is_wrong("event-order")) {
        hip_stream_drop(point.stream);
    } else if (error == hipSuccess) {
        recorded(event, &point);
    } else {
        drop(event);
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(error);
}

void hip_event_drop(struct ihipEvent_t *event)
{
    drop(event);
}

static bool is_captured(const struct ihipEvent_t *event)
{
    return event->captured.capture != NULL && !hip_is_wrong("capture-event");
}

HIP_EXPORT hipError_t hipEventQuery(hipEvent_t handle)
{
    hipError_t error = hipErrorInvalidHandle;
    struct ihipEvent_t *event;

    HIP_ENTER(hipEventQuery);
    pthread_mutex_lock(&hip.lock);
    event = find(handle);
    if (event != NULL) {
        const struct hip_point *point = &event->point;

        error = is_captured(event) ? hipErrorCapturedEvent
                : point->stream != NULL && point->stream->done < point->number ? hipErrorNotReady
                                                                               : hipSuccess;
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(error);
}

HIP_EXPORT hipError_t hipEventSynchronize(hipEvent_t handle)
{
    hipError_t error = hipErrorInvalidHandle;
    struct ihipEvent_t *event;

    HIP_ENTER(hipEventSynchronize);
    pthread_mutex_lock(&hip.lock);
    event = find(handle);
    if (event != NULL) {
        struct hip_point point = event->point;

        error = is_captured(event) ? hipErrorCapturedEvent : hipSuccess;
        if (point.stream != NULL) {
            point.stream->refs++;
            hip_await_point(&point);
            error = (hipError_t)hip.devices[point.stream->device].broken;
            hip_stream_drop(point.stream);
        }
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(error);
}

HIP_EXPORT hipError_t hipEventElapsedTime(float *ms, hipEvent_t from_handle, hipEvent_t to_handle)
{
    hipError_t error = hipErrorInvalidHandle;
    struct ihipEvent_t *from, *to;

    HIP_ENTER(hipEventElapsedTime);
    pthread_mutex_lock(&hip.lock);
    from = find(from_handle);
    to = find(to_handle);
    if (ms == NULL) {
        error = hipErrorInvalidValue;
    } else if (from != NULL && to != NULL && from->point.stream != NULL &&
               to->point.stream != NULL && !((from->flags | to->flags) & hipEventDisableTiming)) {
        error = from->point.stream->done < from->point.number ||
                        to->point.stream->done < to->point.number
                    ? hipErrorNotReady
                    : hipSuccess;
        *ms = (float)((double)(int64_t)(to->reached_ns - from->reached_ns) * 1e-6);
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(error);
}
