/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * queue.c - the hardware queues of devices: a FIFO each, and a thread that runs what is in it
 *
 * An operation begins when all before it in its queue have ended, of whatever stream, and the
 * points of other streams that it comes after are reached. So one stream can hold up another.
 */
#include "double.h"

#include <stdlib.h>
#include <time.h>

_Thread_local int hip_running_on = -1;
_Thread_local unsigned hip_worker;
_Thread_local bool hip_in_host_function;
static uint64_t random_state; /* under hip.lock */

static void nap(uint64_t us)
{
    struct timespec time = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};

    nanosleep(&time, NULL);
}

/* Under hip.lock. */
static uint64_t random_delay_us(void)
{
    if (hip_switches.delay_us == 0) {
        return 0;
    }
    if (random_state == 0) {
        random_state = (uint64_t)hip_switches.seed * 2654435761u + 1;
    }
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % ((uint64_t)hip_switches.delay_us + 1);
}

/* Under hip.lock: the device may break at this operation. */
static void maybe_break(int device)
{
    long n = 0;
    int error = 0;
    char *end;

    hip.ops_run++;
    if (hip_switches.breaks == NULL) {
        return;
    }
    n = strtol(hip_switches.breaks, &end, 10);
    if (n < 1 || *end != '=' || (error = atoi(end + 1)) <= 0) {
        hip_die("HIP_DOUBLE_BREAK: cannot read \"%s\"", hip_switches.breaks);
    }
    if (hip.ops_run == n) {
        hip.devices[device].broken = error;
    }
}

/* Under hip.lock, released while op runs. */
static void run(struct hip_op *op, int device)
{
    for (int i = 0; i < op->after_count; i++) {
        const struct hip_point *point = &op->after[i];

        while (point->stream->done < point->number && hip.devices[device].broken == 0) {
            pthread_cond_wait(&hip.changed, &hip.lock);
        }
    }
    maybe_break(device);
    if (hip.devices[device].broken == 0) {
        uint64_t delay = random_delay_us();

        pthread_mutex_unlock(&hip.lock);
        if (delay > 0) {
            nap(delay);
        }
        op->run(op);
        hip_close_all();
        pthread_mutex_lock(&hip.lock);
    }
}

/* Under hip.lock. */
static void end(struct hip_queue *queue, struct hip_op *op)
{
    queue->first = op->next;
    if (queue->first == NULL) {
        queue->last = &queue->first;
    }
    queue->count--;
    op->stream->done = op->number;
    for (int i = 0; i < op->after_count; i++) {
        hip_stream_drop(op->after[i].stream);
    }
    if (op->event != NULL) {
        hip_event_drop(op->event);
    }
    hip_stream_drop(op->stream);
    free(op->after);
    free(op);
    pthread_cond_broadcast(&hip.changed);
}

static void *work(void *arg)
{
    struct hip_queue *queue = arg;

    hip_running_on = queue->device;
    hip_worker = (unsigned)(queue->device * HIP_QUEUES + queue->index);
    pthread_mutex_lock(&hip.lock);
    for (;;) {
        struct hip_op *op = queue->first;

        if (op == NULL) {
            pthread_cond_wait(&hip.changed, &hip.lock);
            continue;
        }
        run(op, queue->device);
        end(queue, op);
    }
    return NULL;
}

void hip_queue_put(struct hip_op *op)
{
    struct hip_queue *queue = op->stream->queue;

    if (!queue->started) {
        if (pthread_create(&queue->thread, NULL, work, queue) != 0) {
            hip_die("cannot start a thread");
        }
        pthread_setname_np(queue->thread, HIP_THREAD);
        pthread_detach(queue->thread);
        queue->started = true;
    }
    op->next = NULL;
    *queue->last = op;
    queue->last = &op->next;
    queue->count++;
    pthread_cond_broadcast(&hip.changed);
}

int hip_queue_of(int device, int priority)
{
    struct hip_device *owner = &hip.devices[device];

    (void)priority; /* Priorities order nothing here: they are hints. */
    return owner->next_queue++ % (hip_is_wrong("queue-shared") ? HIP_QUEUES : hip_switches.queues);
}

bool hip_idle(int device)
{
    for (int q = 0; q < HIP_QUEUES; q++) {
        if (hip.devices[device].queues[q].count > 0) {
            return false;
        }
    }
    return true;
}

static int pending(int device, bool waits)
{
    int sum = 0;

    for (int q = 0; q < HIP_QUEUES; q++) {
        for (const struct hip_op *op = hip.devices[device].queues[q].first; op != NULL;
             op = op->next) {
            sum += op->waits || !waits;
        }
    }
    return sum;
}

int hip_waits_pending(int device)
{
    return pending(device, true);
}

bool hip_waits_behind(int device)
{
    for (int q = 0; q < HIP_QUEUES; q++) {
        const struct hip_op *first = hip.devices[device].queues[q].first;

        for (const struct hip_op *op = first; op != NULL; op = op->next) {
            if (op->waits && op != first) {
                return true;
            }
        }
    }
    return false;
}

void hip_await_device(int device)
{
    while (!hip_idle(device) && hip.devices[device].broken == 0) {
        pthread_cond_wait(&hip.changed, &hip.lock);
    }
}

static int pending_on_all(bool waits)
{
    int sum = 0;

    pthread_mutex_lock(&hip.lock);
    for (int d = 0; d < HIP_DEVICES; d++) {
        sum += pending(d, waits);
    }
    pthread_mutex_unlock(&hip.lock);
    return sum;
}

HIP_EXPORT int hip_double_pending(void)
{
    return pending_on_all(false);
}

HIP_EXPORT int hip_double_waiting(void)
{
    return pending_on_all(true);
}
