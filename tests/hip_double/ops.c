/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * ops.c - what streams do: copies, fills, values, host functions
 */
#include "double.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

enum { LARGE = 1 << 20 }; /* fills of more bytes leave memory unmapped */

/* One end of a copy. */
struct end {
    bool pageable;
    void *address; /* for the host */
};

/* False: not all of the bytes are in the allocation. */
static bool look(const void *address, size_t bytes, struct end *end_p)
{
    struct hip_block block;
    size_t offset;

    *end_p = (struct end){true, (void *)address};
    if (!hip_block_find(address, &block, &offset)) {
        return true;
    }
    *end_p = (struct end){false, block.base + offset};
    return hip_block_holds(address, bytes);
}

/* Those that have run, and how many of them may; negative: all. */
static atomic_long copied, most_copies = -1;

static bool copies_are_held(void)
{
    long most = atomic_load(&most_copies);

    return most >= 0 && atomic_load(&copied) >= most;
}

static void run_copy(struct hip_op *op)
{
    while (copies_are_held()) {
        (void)nanosleep(&(struct timespec){0, 100000}, NULL);
    }
    memmove(hip_open(op->to, op->bytes), hip_open(op->from, op->bytes), op->bytes);
    atomic_fetch_add(&copied, 1);
}

HIP_EXPORT void hip_double_hold_copies(long n)
{
    atomic_store(&most_copies, n < 0 ? n : atomic_load(&copied) + n);
}

HIP_EXPORT long hip_double_copied(void)
{
    return atomic_load(&copied);
}

/* Memory of a device by its file: how much was set, from the first byte on. */
static size_t fill_file(int file, uint64_t file_offset, int value, size_t bytes)
{
    unsigned char some[16 * PAGE];
    size_t done = 0;

    memset(some, value, sizeof some);
    while (done < bytes) {
        size_t rest = bytes - done;
        ssize_t n = pwrite(file, some, rest < sizeof some ? rest : sizeof some,
                           (off_t)(file_offset + done));

        if (n <= 0) {
            break;
        }
        done += (size_t)n;
    }
    return done;
}

void hip_fill_new(const struct hip_block *block, int file)
{
    size_t done = file >= 0 ? fill_file(file, block->file_offset, FILL, block->page_bytes) : 0;

    memset(block->pages + done, FILL, block->page_bytes - done);
}

static void run_fill(struct hip_op *op)
{
    struct hip_block block;
    size_t offset, done = 0;

    if (op->bytes > LARGE && hip_block_find(op->to, &block, &offset) && block.kind == HIP_DEVICE) {
        done = fill_file(hip_memory_file(block.device),
                         block.file_offset + (uint64_t)(block.base - block.pages) + offset,
                         (int)op->value, op->bytes);
    }
    if (done < op->bytes) {
        memset((char *)hip_open(op->to, op->bytes) + done, (int)op->value, op->bytes - done);
    }
}

static hipError_t copy(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                       hipStream_t stream, bool wait)
{
    struct end target, source;
    struct hip_op *op;

    if ((unsigned)kind > hipMemcpyDefault) {
        return hipErrorInvalidMemcpyDirection;
    }
    if (bytes == 0) {
        return hipSuccess;
    }
    if (to == NULL || from == NULL || !look(to, bytes, &target) || !look(from, bytes, &source)) {
        return hipErrorInvalidValue;
    }
    op = hip_op_new("copy", run_copy, 0);
    op->to = target.address;
    op->from = source.address;
    op->bytes = bytes;
    /* A copy from or to memory that is not pinned is over when the call returns. */
    wait = wait || ((target.pageable || source.pageable) && !hip_is_wrong("copy-pageable"));
    return wait ? hip_submit_and_wait(stream, op) : hip_submit(stream, op, NULL, NULL);
}

HIP_EXPORT hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind)
{
    HIP_ENTER(hipMemcpy);
    return hip_leave(copy(to, from, bytes, kind, NULL, true));
}

HIP_EXPORT hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                                     hipStream_t stream)
{
    HIP_ENTER(hipMemcpyAsync);
    return hip_leave(copy(to, from, bytes, kind, stream, false));
}

static hipError_t fill(void *memory, int value, size_t bytes, hipStream_t stream, bool wait)
{
    struct end target;
    struct hip_op *op;

    if (bytes == 0) {
        return hipSuccess;
    }
    if (memory == NULL || !look(memory, bytes, &target) || target.pageable) {
        return hipErrorInvalidValue;
    }
    op = hip_op_new("fill", run_fill, 0);
    op->to = target.address;
    op->value = (uint64_t)(unsigned char)value;
    op->bytes = bytes;
    return wait ? hip_submit_and_wait(stream, op) : hip_submit(stream, op, NULL, NULL);
}

HIP_EXPORT hipError_t hipMemset(void *memory, int value, size_t bytes)
{
    HIP_ENTER(hipMemset);
    return hip_leave(fill(memory, value, bytes, NULL, true));
}

HIP_EXPORT hipError_t hipMemsetAsync(void *memory, int value, size_t bytes, hipStream_t stream)
{
    HIP_ENTER(hipMemsetAsync);
    return hip_leave(fill(memory, value, bytes, stream, false));
}

static void run_write(struct hip_op *op)
{
    void *word = hip_open(op->to, op->bytes);

    if (op->bytes == sizeof(uint64_t)) {
        __atomic_store_n((uint64_t *)word, op->value, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n((uint32_t *)word, (uint32_t)op->value, __ATOMIC_RELEASE);
    }
}

static bool is_there(const struct hip_op *op, const void *word)
{
    uint64_t now = op->bytes == sizeof(uint64_t)
                       ? __atomic_load_n((const uint64_t *)word, __ATOMIC_ACQUIRE)
                       : __atomic_load_n((const uint32_t *)word, __ATOMIC_ACQUIRE);
    uint64_t all = op->bytes == sizeof(uint64_t) ? UINT64_MAX : UINT32_MAX;

    if (hip_is_wrong("value-compare")) {
        return now >= op->value;
    }
    switch (op->flags) {
    case hipStreamWaitValueGte:
        return (now & op->mask) >= op->value;
    case hipStreamWaitValueEq:
        return (now & op->mask) == op->value;
    case hipStreamWaitValueAnd:
        return (now & op->mask & op->value) != 0;
    default:
        return (~((now & op->mask) | (op->value & op->mask)) & all) != 0;
    }
}

static void run_wait(struct hip_op *op)
{
    const void *word = hip_open(op->to, op->bytes);
    struct timespec nap = {0, 20000};

    while (!is_there(op, word)) {
        bool broken;

        nanosleep(&nap, NULL);
        pthread_mutex_lock(&hip.lock);
        broken = hip.devices[hip_running_on].broken != 0;
        pthread_mutex_unlock(&hip.lock);
        if (broken) {
            return;
        }
    }
}

/* An operation on the word, or NULL with an error. */
static struct hip_op *value_op(void *word, size_t bytes, bool wait, hipError_t *error_p)
{
    struct hip_block block;
    struct hip_op *op;
    size_t offset;

    *error_p = hipErrorInvalidValue;
    if (word == NULL || (uintptr_t)word % bytes != 0 || !hip_block_find(word, &block, &offset) ||
        offset + bytes > block.size) {
        return NULL;
    }
    if (wait && hip_switches.wait_value != SWITCH_YES) {
        *error_p = hipErrorNotSupported;
        return NULL;
    }
    if (wait && block.kind != HIP_SIGNAL && hip_switches.wait_memory == WAIT_SIGNAL) {
        return NULL;
    }
    op = wait ? hip_op_new("wait", run_wait, 0) : hip_op_new("write", run_write, 0);
    op->waits = wait;
    op->to = block.base + offset;
    op->bytes = bytes;
    return op;
}

static hipError_t wait_value(hipStream_t stream, void *word, size_t bytes, uint64_t value,
                             unsigned flags, uint64_t mask)
{
    hipError_t error = hipErrorInvalidValue;
    struct hip_op *op = flags > hipStreamWaitValueNor ? NULL : value_op(word, bytes, true, &error);

    if (op == NULL) {
        return error;
    }
    op->value = value;
    op->mask = mask;
    op->flags = flags;
    op->at_once = hip_switches.values == VALUES_AT_ONCE;
    return hip_submit(stream, op, NULL, NULL);
}

static hipError_t write_value(hipStream_t stream, void *word, size_t bytes, uint64_t value)
{
    hipError_t error;
    struct hip_op *op = value_op(word, bytes, false, &error);

    if (op == NULL) {
        return hip_is_wrong("value-write") ? hipSuccess : error;
    }
    op->value = value;
    op->at_once = hip_switches.values == VALUES_AT_ONCE;
    return hip_submit(stream, op, NULL, NULL);
}

HIP_EXPORT hipError_t hipStreamWaitValue32(hipStream_t stream, void *word, uint32_t value,
                                           unsigned flags, uint32_t mask)
{
    HIP_ENTER(hipStreamWaitValue32);
    return hip_leave(wait_value(stream, word, sizeof(value), value, flags, mask));
}

HIP_EXPORT hipError_t hipStreamWaitValue64(hipStream_t stream, void *word, uint64_t value,
                                           unsigned flags, uint64_t mask)
{
    HIP_ENTER(hipStreamWaitValue64);
    return hip_leave(wait_value(stream, word, sizeof(value), value, flags, mask));
}

HIP_EXPORT hipError_t hipStreamWriteValue32(hipStream_t stream, void *word, uint32_t value,
                                            unsigned flags)
{
    HIP_ENTER(hipStreamWriteValue32);
    (void)flags; /* It is reserved and ignored. */
    return hip_leave(write_value(stream, word, sizeof(value), value));
}

HIP_EXPORT hipError_t hipStreamWriteValue64(hipStream_t stream, void *word, uint64_t value,
                                            unsigned flags)
{
    HIP_ENTER(hipStreamWriteValue64);
    (void)flags; /* It is reserved and ignored. */
    return hip_leave(write_value(stream, word, sizeof(value), value));
}

/* The thread that runs host functions, for all queues. The queue waits for it. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct hip_op *op; /* to run now */
    bool started, over;
} caller = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void call(const struct hip_op *op)
{
    if (op->callback != NULL) {
        op->callback(op->stream, hipSuccess, op->data);
    } else {
        op->function(op->data);
    }
}

static void *call_all(void *arg)
{
    (void)arg;
    hip_in_host_function = true;
    pthread_mutex_lock(&caller.lock);
    for (;;) {
        if (caller.op == NULL || caller.over) {
            pthread_cond_wait(&caller.changed, &caller.lock);
            continue;
        }
        pthread_mutex_unlock(&caller.lock);
        call(caller.op);
        pthread_mutex_lock(&caller.lock);
        caller.over = true;
        pthread_cond_broadcast(&caller.changed);
    }
    return NULL;
}

static void start_caller(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, call_all, NULL) != 0) {
        hip_die("cannot start a thread");
    }
    pthread_setname_np(thread, HIP_THREAD);
    pthread_detach(thread);
    caller.started = true;
}

/* For a stream that does not wait for its host functions. */
static void *call_later(void *arg)
{
    call(arg);
    free(arg);
    return NULL;
}

static void call_apart(const struct hip_op *op)
{
    struct hip_op *copy = hip_op_new(op->what, NULL, 0);
    pthread_t thread;

    *copy = *op;
    if (pthread_create(&thread, NULL, call_later, copy) != 0) {
        hip_die("cannot start a thread");
    }
    pthread_detach(thread);
}

static void run_call(struct hip_op *op)
{
    if (hip_is_wrong("call-order")) {
        call_apart(op);
        return;
    }
    if (hip_switches.callbacks == CALLBACKS_EACH) {
        int device = hip_running_on;

        /* It is the host that runs it. */
        hip_in_host_function = true;
        hip_running_on = -1;
        call(op);
        hip_running_on = device;
        hip_in_host_function = false;
        return;
    }
    pthread_mutex_lock(&caller.lock);
    if (!caller.started) {
        start_caller();
    }
    while (caller.op != NULL) {
        pthread_cond_wait(&caller.changed, &caller.lock);
    }
    caller.op = op;
    caller.over = false;
    pthread_cond_broadcast(&caller.changed);
    while (!caller.over) {
        pthread_cond_wait(&caller.changed, &caller.lock);
    }
    caller.op = NULL;
    caller.over = false;
    pthread_cond_broadcast(&caller.changed);
    pthread_mutex_unlock(&caller.lock);
}

HIP_EXPORT hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void *data)
{
    struct hip_op *op;

    HIP_ENTER(hipLaunchHostFunc);
    if (function == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    op = hip_op_new("call", run_call, 0);
    op->function = function;
    op->data = data;
    return hip_leave(hip_submit(stream, op, NULL, NULL));
}

HIP_EXPORT hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t callback,
                                           void *data, unsigned flags)
{
    struct hip_op *op;

    HIP_ENTER(hipStreamAddCallback);
    if (callback == NULL || flags != 0) {
        return hip_leave(hipErrorInvalidValue);
    }
    op = hip_op_new("call", run_call, 0);
    op->callback = callback;
    op->data = data;
    return hip_leave(hip_submit(stream, op, NULL, NULL));
}
