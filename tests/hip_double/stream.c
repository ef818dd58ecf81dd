/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * stream.c - streams, and how work gets from them into hardware queues
 */
#include "double.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_PRIORITY = 1, GREATEST_PRIORITY = -1 };

/* The streams that stand for hipStreamPerThread in one thread. */
struct own {
    struct ihipStream_t *streams[HIP_DEVICES];
};
static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

struct hip_op *hip_op_new(const char *what, void (*run)(struct hip_op *op), size_t parameter_bytes)
{
    struct hip_op *op = calloc(1, sizeof(*op) + parameter_bytes);

    if (op == NULL) {
        hip_die("out of memory");
    }
    op->what = what;
    op->run = run;
    op->parameter_bytes = parameter_bytes;
    return op;
}

struct hip_op *hip_op_copy(const struct hip_op *op)
{
    struct hip_op *copy = hip_op_new(op->what, op->run, op->parameter_bytes);

    memcpy(copy, op, sizeof(*op) + op->parameter_bytes);
    return copy;
}

void hip_op_free(struct hip_op *op)
{
    for (int i = 0; i < op->after_count; i++) {
        hip_stream_drop(op->after[i].stream);
    }
    free(op->after);
    free(op);
}

static struct ihipStream_t *stream_new(int device, unsigned flags, int priority)
{
    struct ihipStream_t *stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        hip_die("out of memory");
    }
    stream->device = device;
    stream->flags = flags;
    stream->priority = priority;
    stream->refs = 1;
    stream->queue = &hip.devices[device].queues[hip_queue_of(device, priority)];
    stream->next = hip.streams;
    hip.streams = stream;
    return stream;
}

void hip_stream_drop(struct ihipStream_t *stream)
{
    if (--stream->refs > 0) {
        return;
    }
    for (struct ihipStream_t **place = &hip.streams; *place != NULL; place = &(*place)->next) {
        if (*place == stream) {
            *place = stream->next;
            break;
        }
    }
    hip_branch_leave(&stream->captured);
    free(stream);
}

struct ihipStream_t *hip_stream_hidden(int device)
{
    struct ihipStream_t *stream = stream_new(device, hipStreamNonBlocking, 0);

    stream->destroyed = true;
    return stream;
}

static void own_free(void *arg)
{
    struct own *own = arg;

    pthread_mutex_lock(&hip.lock);
    for (int d = 0; d < HIP_DEVICES; d++) {
        if (own->streams[d] != NULL) {
            own->streams[d]->destroyed = true;
            hip_stream_drop(own->streams[d]);
        }
    }
    pthread_mutex_unlock(&hip.lock);
    free(own);
}

static void own_start(void)
{
    if (pthread_key_create(&own_key, own_free) != 0) {
        hip_die("no key for threads");
    }
}

static struct ihipStream_t *null_stream(int device)
{
    struct hip_device *owner = &hip.devices[device];

    if (owner->null == NULL) {
        owner->null = stream_new(device, hipStreamDefault, 0);
        owner->null->null = true;
    }
    return owner->null;
}

static struct ihipStream_t *own_stream(int device)
{
    struct own *own;

    pthread_once(&own_once, own_start);
    own = pthread_getspecific(own_key);
    if (own == NULL) {
        own = calloc(1, sizeof(*own));
        if (own == NULL || pthread_setspecific(own_key, own) != 0) {
            hip_die("out of memory");
        }
    }
    if (hip_is_wrong("stream-per-thread")) {
        return null_stream(device);
    }
    if (own->streams[device] == NULL) {
        own->streams[device] = stream_new(device, hipStreamDefault, 0);
        own->streams[device]->own = true;
    }
    return own->streams[device];
}

struct ihipStream_t *hip_stream_of(hipStream_t handle)
{
    struct ihipStream_t *stream = NULL;

    if (handle == NULL || (handle == (hipStream_t)1 && hip_switches.version >= 6)) {
        stream = null_stream(hip_current());
    } else if (handle == hipStreamPerThread) {
        stream = own_stream(hip_current());
    } else {
        for (stream = hip.streams; stream != NULL; stream = stream->next) {
            if (stream == handle && !stream->destroyed) {
                break;
            }
        }
    }
    if (stream != NULL) {
        stream->refs++;
    }
    return stream;
}

static void op_after(struct hip_op *op, struct ihipStream_t *stream, uint64_t number)
{
    struct hip_point *after;

    if (stream == op->stream || stream->done >= number) {
        return;
    }
    after = realloc(op->after, (size_t)(op->after_count + 1) * sizeof(*after));
    if (after == NULL) {
        hip_die("out of memory");
    }
    after[op->after_count++] = (struct hip_point){stream, number};
    op->after = after;
    stream->refs++;
}

static bool is_blocking(const struct ihipStream_t *stream)
{
    return !(stream->flags & hipStreamNonBlocking) || hip_is_wrong("null-non-blocking");
}

/* The null stream comes after all streams that do not say otherwise, and they after it. */
static void order_with_null(struct hip_op *op)
{
    struct ihipStream_t *null = hip.devices[op->stream->device].null;

    if (hip_is_wrong("null-blocking")) {
        return;
    }
    if (op->stream->null) {
        for (struct ihipStream_t *other = hip.streams; other != NULL; other = other->next) {
            if (other->device == op->stream->device && is_blocking(other)) {
                op_after(op, other, other->queued);
            }
        }
    } else if (null != NULL && is_blocking(op->stream)) {
        op_after(op, null, null->queued);
    }
}

hipError_t hip_put(struct ihipStream_t *stream, struct hip_op *op, const struct hip_point *after,
                   size_t count, struct hip_point *point_p)
{
    struct hip_device *device = &hip.devices[stream->device];

    while (stream->queue->count >= hip_switches.depth && device->broken == 0) {
        pthread_cond_wait(&hip.changed, &hip.lock);
    }
    if (device->broken != 0) {
        hip_op_free(op);
        return (hipError_t)device->broken;
    }
    if (hip_is_wrong("stream-order")) {
        stream->queue = &device->queues[hip_queue_of(stream->device, 0)];
    }
    op->stream = stream;
    op->number = ++stream->queued;
    stream->refs++;
    order_with_null(op);
    for (size_t i = 0; i < count; i++) {
        op_after(op, after[i].stream, after[i].number);
    }
    hip_queue_put(op);
    if (point_p != NULL) {
        *point_p = (struct hip_point){stream, op->number};
        stream->refs++;
    }
    return hipSuccess;
}

void hip_look_up(void)
{
    if (hip_switches.lookup == LOOKUP_BLOCKS) {
        pthread_mutex_lock(&hip.launching);
        pthread_mutex_unlock(&hip.launching);
    }
}

static void (*watcher)(const struct hip_double_work *work); /* under hip.lock */

HIP_EXPORT void hip_double_watch(void (*watch)(const struct hip_double_work *work))
{
    pthread_mutex_lock(&hip.lock);
    watcher = watch;
    pthread_mutex_unlock(&hip.lock);
}

static void tell_watcher(hipStream_t handle, const struct hip_op *op)
{
    struct hip_double_work work = {.what = op->what,
                                   .stream = handle,
                                   .to = op->to,
                                   .from = op->from,
                                   .bytes = op->bytes,
                                   .value = op->value,
                                   .blocks = op->blocks,
                                   .threads = op->threads,
                                   .parameters = op->parameters};

    if (watcher != NULL) {
        watcher(&work);
    }
}

hipError_t hip_submit(hipStream_t handle, struct hip_op *op, const struct hip_point *after,
                      struct hip_point *point_p)
{
    hipError_t error = hipErrorContextIsDestroyed;
    struct ihipStream_t *stream;
    bool taken = false, put = false;

    if (hip_switches.lookup == LOOKUP_BLOCKS) {
        pthread_mutex_lock(&hip.launching);
    }
    pthread_mutex_lock(&hip.lock);
    stream = hip_stream_of(handle);
    if (stream != NULL) {
        error = hip_capture_put(stream, op,
                                after == NULL && (point_p == NULL || op->may_be_captured), &taken);
        if (error == hipSuccess && !taken) {
            tell_watcher(handle, op);
            put = true;
            error = hip_put(stream, op, after, after != NULL, point_p);
        }
        hip_stream_drop(stream);
    }
    if (!put && !taken) {
        hip_op_free(op);
    }
    pthread_mutex_unlock(&hip.lock);
    if (hip_switches.lookup == LOOKUP_BLOCKS) {
        pthread_mutex_unlock(&hip.launching);
    }
    return error;
}

void hip_await_point(const struct hip_point *point)
{
    while (point->stream->done < point->number && hip.devices[point->stream->device].broken == 0) {
        pthread_cond_wait(&hip.changed, &hip.lock);
    }
}

hipError_t hip_submit_and_wait(hipStream_t handle, struct hip_op *op)
{
    struct hip_point point = {NULL, 0};
    hipError_t error = hip_submit(handle, op, NULL, &point);

    if (error == hipSuccess && point.stream != NULL) { /* else it was captured */
        pthread_mutex_lock(&hip.lock);
        hip_await_point(&point);
        error = (hipError_t)hip.devices[point.stream->device].broken;
        hip_stream_drop(point.stream);
        pthread_mutex_unlock(&hip.lock);
    }
    return error;
}

static hipError_t create(hipStream_t *stream, unsigned flags, int priority)
{
    if (stream == NULL || (flags & ~(unsigned)hipStreamNonBlocking) != 0) {
        return hipErrorInvalidValue;
    }
    priority = priority > LEAST_PRIORITY ? LEAST_PRIORITY : priority;
    priority = priority < GREATEST_PRIORITY ? GREATEST_PRIORITY : priority;
    pthread_mutex_lock(&hip.lock);
    *stream = stream_new(hip_current(), flags, priority);
    pthread_mutex_unlock(&hip.lock);
    return hipSuccess;
}

HIP_EXPORT hipError_t hipStreamCreate(hipStream_t *stream)
{
    HIP_ENTER(hipStreamCreate);
    return hip_leave(create(stream, hipStreamDefault, 0));
}

HIP_EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    HIP_ENTER(hipStreamCreateWithFlags);
    return hip_leave(create(stream, flags, 0));
}

HIP_EXPORT hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int priority)
{
    HIP_ENTER(hipStreamCreateWithPriority);
    return hip_leave(create(stream, flags, priority));
}

HIP_EXPORT hipError_t hipStreamDestroy(hipStream_t handle)
{
    hipError_t error = hipErrorContextIsDestroyed;
    struct ihipStream_t *stream;

    HIP_ENTER(hipStreamDestroy);
    if (handle == NULL || handle == hipStreamPerThread) {
        return hip_leave(hipErrorInvalidHandle);
    }
    pthread_mutex_lock(&hip.lock);
    stream = hip_stream_of(handle);
    if (stream != NULL) {
        struct hip_point last = {stream, stream->queued};

        stream->destroyed = true;
        if (hip_switches.destroy == DESTROY_WAITS) {
            hip_await_point(&last);
        }
        stream->refs--; /* of the handle */
        hip_stream_drop(stream);
        error = hipSuccess;
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(error);
}

/* Default streams are there always. */
void hip_streams_reset(int device)
{
    struct ihipStream_t *next;

    for (struct ihipStream_t *stream = hip.streams; stream != NULL; stream = next) {
        next = stream->next;
        if (stream->device == device && !stream->destroyed && !stream->null && !stream->own) {
            stream->destroyed = true;
            hip_stream_drop(stream);
        }
    }
}

HIP_EXPORT hipError_t hipStreamQuery(hipStream_t handle)
{
    hipError_t error = hipErrorContextIsDestroyed;
    struct ihipStream_t *stream;

    HIP_ENTER(hipStreamQuery);
    hip_look_up();
    pthread_mutex_lock(&hip.lock);
    stream = hip_stream_of(handle);
    if (stream != NULL) {
        error = (hipError_t)hip.devices[stream->device].broken;
        error = error != hipSuccess ? error : hip_capture_look(stream);
        if (error == hipSuccess && stream->done < stream->queued) {
            error = hipErrorNotReady;
        }
        hip_stream_drop(stream);
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(error);
}

static void nothing(struct hip_op *op)
{
    (void)op;
}

HIP_EXPORT hipError_t hipStreamSynchronize(hipStream_t handle)
{
    hipError_t error = hipErrorContextIsDestroyed;
    struct ihipStream_t *stream;

    HIP_ENTER(hipStreamSynchronize);
    /* The null stream is done when those that it comes after are. */
    if (handle == NULL) {
        error = hip_submit(handle, hip_op_new("nothing", nothing, 0), NULL, NULL);
        if (error != hipSuccess) {
            return hip_leave(error);
        }
    }
    pthread_mutex_lock(&hip.lock);
    stream = hip_stream_of(handle);
    if (stream != NULL) {
        struct hip_point last = {stream, stream->queued};

        error = hip_capture_look(stream);
        if (error == hipSuccess) {
            hip_await_point(&last);
            error = (hipError_t)hip.devices[stream->device].broken;
        }
        hip_stream_drop(stream);
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(error);
}

static hipError_t synchronize_device(void)
{
    hipError_t error;

    pthread_mutex_lock(&hip.lock);
    hip_await_device(hip_current());
    error = (hipError_t)hip.devices[hip_current()].broken;
    pthread_mutex_unlock(&hip.lock);
    return error;
}

HIP_EXPORT hipError_t hipDeviceSynchronize(void)
{
    HIP_ENTER(hipDeviceSynchronize);
    return hip_leave(synchronize_device());
}

HIP_EXPORT hipError_t hipCtxSynchronize(void)
{
    HIP_ENTER(hipCtxSynchronize);
    return hip_leave(synchronize_device());
}

static void drop_point(const struct hip_point *point)
{
    if (point->stream != NULL) {
        pthread_mutex_lock(&hip.lock);
        hip_stream_drop(point->stream);
        pthread_mutex_unlock(&hip.lock);
    }
}

/* What a wait for an event is to a capture; else where the event is, with a reference. */
static hipError_t wait_in_capture(hipStream_t handle, hipEvent_t event, struct hip_point *point_p,
                                  bool *taken_p)
{
    hipError_t error = hipErrorInvalidHandle;
    const struct hip_branch *captured;
    struct ihipStream_t *stream;

    *taken_p = false;
    pthread_mutex_lock(&hip.lock);
    if (hip_event_point(event, point_p, &captured)) {
        stream = hip_stream_of(handle);
        error = stream == NULL ? hipErrorContextIsDestroyed
                               : hip_capture_wait(stream, captured, taken_p);
        if (stream != NULL) {
            hip_stream_drop(stream);
        }
    }
    pthread_mutex_unlock(&hip.lock);
    return error;
}

HIP_EXPORT hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t event, unsigned flags)
{
    struct hip_point point = {NULL, 0};
    hipError_t error;
    bool taken;

    HIP_ENTER(hipStreamWaitEvent);
    if (flags != 0) {
        return hip_leave(hipErrorInvalidValue);
    }
    error = wait_in_capture(handle, event, &point, &taken);
    if (error != hipSuccess || taken || point.stream == NULL || hip_is_wrong("event-wait")) {
        drop_point(&point);
        return hip_leave(error);
    }
    error = hip_submit(handle, hip_op_new("after", nothing, 0), &point, NULL);
    drop_point(&point);
    return hip_leave(error);
}

/* What get is for: device, flags or priority. */
static hipError_t describe(hipStream_t handle, int *device, unsigned *flags, int *priority)
{
    struct ihipStream_t *stream;

    if (device == NULL && flags == NULL && priority == NULL) {
        return hipErrorInvalidValue;
    }
    pthread_mutex_lock(&hip.lock);
    stream = hip_stream_of(handle);
    if (stream != NULL) {
        if (device != NULL) {
            *device = stream->device;
        }
        if (flags != NULL) {
            *flags = stream->flags;
        }
        if (priority != NULL) {
            *priority = stream->priority;
        }
        hip_stream_drop(stream);
    }
    pthread_mutex_unlock(&hip.lock);
    return stream == NULL ? hipErrorContextIsDestroyed : hipSuccess;
}

HIP_EXPORT hipError_t hipStreamGetFlags(hipStream_t handle, unsigned *flags)
{
    HIP_ENTER(hipStreamGetFlags);
    return hip_leave(describe(handle, NULL, flags, NULL));
}

HIP_EXPORT hipError_t hipStreamGetPriority(hipStream_t handle, int *priority)
{
    HIP_ENTER(hipStreamGetPriority);
    return hip_leave(describe(handle, NULL, NULL, priority));
}

HIP_EXPORT hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t *device)
{
    HIP_ENTER(hipStreamGetDevice);
    return hip_leave(describe(handle, device, NULL, NULL));
}

HIP_EXPORT hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    HIP_ENTER(hipDeviceGetStreamPriorityRange);
    if (least != NULL) {
        *least = LEAST_PRIORITY;
    }
    if (greatest != NULL) {
        *greatest = GREATEST_PRIORITY;
    }
    return hip_leave(hipSuccess);
}
