/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * behave_stream.c - cases about streams, events and values
 */
#include "behave.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SOON_MS = 200 };

static const char image[] = "hip double";

hipError_t behave_launch(enum behave_kernel which, hipStream_t stream, struct behave_words words)
{
    static const char *const names[] = {"hip_test_store", "hip_test_wait", "hip_test_add"};
    void *parameters[] = {&words};
    static hipModule_t module;
    hipFunction_t function;

    if (module == NULL) {
        NEED(hipModuleLoadData(&module, image) == hipSuccess);
    }
    NEED(hipModuleGetFunction(&function, module, names[which]) == hipSuccess);
    return hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL);
}

uint64_t *behave_word(uint64_t **there_p)
{
    void *word, *there;

    NEED(hipHostMalloc(&word, sizeof(uint64_t), hipHostMallocMapped) == hipSuccess);
    NEED(hipHostGetDevicePointer(&there, word, 0) == hipSuccess);
    memset(word, 0, sizeof(uint64_t));
    *there_p = there;
    return word;
}

void behave_set(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

uint64_t behave_get(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

hipStream_t behave_stream(void)
{
    hipStream_t stream;

    NEED(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess);
    return stream;
}

/* Is the stream done within a short time? */
static bool soon_done(hipStream_t stream)
{
    for (int i = 0; i < SOON_MS; i++) {
        if (hipStreamQuery(stream) == hipSuccess) {
            return true;
        }
        behave_nap(1);
    }
    return false;
}

/* Two words, a wait on a stream for the first, and a store to the second on another one: does that
 * come through while the wait lasts? */
static bool passes(hipStream_t waiting, hipStream_t storing)
{
    uint64_t *gate_there, *word_there;
    uint64_t *gate = behave_word(&gate_there), *word = behave_word(&word_there);
    bool passed;

    NEED(behave_launch(BEHAVE_WAIT, waiting, (struct behave_words){gate_there, 1, NULL, 0}) == 0);
    NEED(behave_launch(BEHAVE_STORE, storing, (struct behave_words){word_there, 1, NULL, 0}) == 0);
    for (int i = 0; i < SOON_MS && behave_get(word) == 0; i++) {
        behave_nap(1);
    }
    passed = behave_get(word) == 1;
    behave_set(gate, 1);
    NEED(hipDeviceSynchronize() == hipSuccess);
    NEED(behave_get(word) == 1);
    return passed;
}

static bool stream_order(void)
{
    hipStream_t stream = behave_stream();

    return !passes(stream, stream);
}

static bool queue_own(void)
{
    hipStream_t streams[4];

    for (int i = 0; i < 4; i++) {
        streams[i] = behave_stream();
    }
    return passes(streams[0], streams[1]) && passes(streams[3], streams[2]);
}

static bool queue_shared(void)
{
    hipStream_t streams[5];

    for (int i = 0; i < 5; i++) {
        streams[i] = behave_stream();
    }
    return !passes(streams[0], streams[4]);
}

static bool null_blocking(void)
{
    hipStream_t stream;

    NEED(hipStreamCreate(&stream) == hipSuccess);
    return !passes(stream, NULL) && !passes(NULL, stream);
}

static bool null_non_blocking(void)
{
    hipStream_t stream = behave_stream();

    return passes(stream, NULL) && passes(NULL, stream);
}

struct ended {
    void (*call)(void *arg);
    void *arg;
    atomic_int over;
};

static void *call_and_say(void *arg)
{
    struct ended *ended = arg;

    ended->call(ended->arg);
    atomic_store(&ended->over, 1);
    return NULL;
}

struct full {
    hipStream_t stream;
    uint64_t *word, *there;
    atomic_int launched;
    int n;
};

static void *fill(void *arg)
{
    struct full *full = arg;

    for (int i = 0; i < full->n; i++) {
        NEED(behave_launch(BEHAVE_STORE, full->stream,
                           (struct behave_words){full->there, 2, NULL, 0}) == 0);
        atomic_fetch_add(&full->launched, 1);
    }
    return NULL;
}

static struct full *full_start(pthread_t *thread_p)
{
    struct full *full = calloc(1, sizeof(*full));

    full->stream = behave_stream();
    full->word = behave_word(&full->there);
    full->n = 1100;
    NEED(behave_launch(BEHAVE_WAIT, full->stream, (struct behave_words){full->there, 1, NULL, 0}) ==
         0);
    NEED(pthread_create(thread_p, NULL, fill, full) == 0);
    /* It goes on until it cannot. */
    for (int before = -1; atomic_load(&full->launched) > before && before < full->n;) {
        before = atomic_load(&full->launched);
        behave_nap(SOON_MS);
    }
    return full;
}

static void full_end(struct full *full, pthread_t thread)
{
    behave_set(full->word, 1);
    pthread_join(thread, NULL);
    NEED(hipStreamSynchronize(full->stream) == hipSuccess);
    free(full);
}

static bool launch_full(void)
{
    pthread_t thread;
    struct full *full = full_start(&thread);
    bool blocked = atomic_load(&full->launched) < full->n;

    full_end(full, thread);
    return blocked;
}

struct lookup {
    void *memory;
    hipStream_t stream;
    atomic_int done;
};

static void *look_up(void *arg)
{
    struct lookup *lookup = arg;
    hipPointerAttribute_t attributes;

    NEED(hipPointerGetAttributes(&attributes, lookup->memory) == hipSuccess);
    atomic_store(&lookup->done, 1);
    return NULL;
}

static void *query(void *arg)
{
    struct lookup *lookup = arg;

    (void)hipStreamQuery(lookup->stream);
    atomic_store(&lookup->done, 1);
    return NULL;
}

static void launch_wait(void *arg)
{
    hipStream_t stream = behave_stream();
    struct behave_words words = {arg, 1, NULL, 0};

    NEED(behave_launch(BEHAVE_WAIT, stream, words) == hipSuccess);
}

static bool launch_blocking(void)
{
    uint64_t *there, *word;
    struct ended ended = {launch_wait, NULL, 0};
    pthread_t thread;
    bool blocked;

    setenv("HIP_LAUNCH_BLOCKING", "1", 1);
    word = behave_word(&there);
    ended.arg = there;
    NEED(pthread_create(&thread, NULL, call_and_say, &ended) == 0);
    behave_nap(SOON_MS);
    blocked = atomic_load(&ended.over) == 0;
    behave_set(word, 1);
    pthread_join(thread, NULL);
    return blocked;
}

static bool blocks_while_full(void *(*call)(void *arg))
{
    pthread_t thread, other;
    struct full *full = full_start(&thread);
    struct lookup lookup = {full->word, full->stream, 0};
    bool blocked;

    NEED(atomic_load(&full->launched) < full->n);
    NEED(pthread_create(&other, NULL, call, &lookup) == 0);
    behave_nap(SOON_MS);
    blocked = atomic_load(&lookup.done) == 0;
    full_end(full, thread);
    pthread_join(other, NULL);
    return blocked;
}

static bool launch_lookup(void)
{
    return blocks_while_full(look_up);
}

static bool launch_query(void)
{
    return blocks_while_full(query);
}

static bool event_order(void)
{
    hipStream_t stream = behave_stream();
    uint64_t *there, *word = behave_word(&there);
    hipEvent_t event;
    bool early;

    NEED(hipEventCreateWithFlags(&event, hipEventDisableTiming) == hipSuccess);
    NEED(hipEventQuery(event) == hipSuccess);
    NEED(behave_launch(BEHAVE_WAIT, stream, (struct behave_words){there, 1, NULL, 0}) == 0);
    NEED(hipEventRecord(event, stream) == hipSuccess);
    behave_nap(SOON_MS);
    early = hipEventQuery(event) != hipErrorNotReady;
    behave_set(word, 1);
    NEED(hipEventSynchronize(event) == hipSuccess && hipEventQuery(event) == hipSuccess);
    return !early && soon_done(stream);
}

static bool event_wait(void)
{
    hipStream_t first = behave_stream(), second = behave_stream();
    uint64_t *there, *word = behave_word(&there);
    uint64_t *other_there, *other = behave_word(&other_there);
    hipEvent_t event;
    bool early;

    NEED(hipEventCreateWithFlags(&event, hipEventDisableTiming) == hipSuccess);
    NEED(behave_launch(BEHAVE_WAIT, first, (struct behave_words){there, 1, NULL, 0}) == 0);
    NEED(hipEventRecord(event, first) == hipSuccess);
    NEED(hipStreamWaitEvent(second, event, 0) == hipSuccess);
    NEED(behave_launch(BEHAVE_STORE, second, (struct behave_words){other_there, 2, NULL, 0}) == 0);
    early = soon_done(second);
    NEED((behave_get(other) == 2) == early);
    behave_set(word, 1);
    NEED(hipStreamSynchronize(second) == hipSuccess && behave_get(other) == 2);
    return !early;
}

struct call {
    uint64_t *gate, *word;
    atomic_int begun;
};

static void call_wait(void *arg)
{
    struct call *call = arg;

    atomic_store(&call->begun, 1);
    while (behave_get(call->gate) == 0) {
        behave_nap(1);
    }
    behave_set(call->word, 1);
}

static void call_set(void *arg)
{
    struct call *call = arg;

    behave_set(call->word, 2);
}

/* A host function that waits on one stream: does another one, on storing, come through? */
static bool call_passes(hipStream_t waiting, hipStream_t storing)
{
    uint64_t gate = 0, first = 0, second = 0;
    struct call one = {&gate, &first, 0}, two = {&gate, &second, 0};
    bool passed;

    NEED(hipLaunchHostFunc(waiting, call_wait, &one) == hipSuccess);
    while (atomic_load(&one.begun) == 0) {
        behave_nap(1);
    }
    NEED(hipLaunchHostFunc(storing, call_set, &two) == hipSuccess);
    passed = soon_done(storing);
    behave_set(&gate, 1);
    NEED(hipDeviceSynchronize() == hipSuccess && (passed || behave_get(&second) == 2));
    /* They need not be over then, where streams do not wait for them. */
    while (behave_get(&first) == 0 || behave_get(&second) == 0) {
        behave_nap(1);
    }
    return passed;
}

static bool call_order(void)
{
    hipStream_t stream = behave_stream();

    return !call_passes(stream, stream);
}

static bool call_shared(void)
{
    hipStream_t first = behave_stream(), second = behave_stream();

    return !call_passes(first, second);
}

static bool call_forbidden_arg;

static void call_hip(void *arg)
{
    int device;

    (void)arg;
    call_forbidden_arg = hipGetDevice(&device) == hipSuccess;
}

static void call_hip_case(void *arg)
{
    (void)arg;
    NEED(hipLaunchHostFunc(behave_stream(), call_hip, NULL) == hipSuccess);
    NEED(hipDeviceSynchronize() == hipSuccess);
}

static bool call_no_hip(void)
{
    return behave_aborts(call_hip_case, NULL);
}

static bool value_signal(void)
{
    hipStream_t stream = behave_stream();
    uint64_t *there, *word = behave_word(&there);
    hipError_t error;

    behave_set(word, 1);
    error = hipStreamWaitValue64(stream, word, 1, hipStreamWaitValueGte, UINT64_MAX);
    return error == hipErrorInvalidValue;
}

static bool value_offered(void)
{
    void *word;
    int offered;

    NEED(hipExtMallocWithFlags(&word, 8, hipMallocSignalMemory) == hipSuccess);
    behave_set(word, 1);
    NEED(hipDeviceGetAttribute(&offered, hipDeviceAttributeCanUseStreamWaitValue, 0) == 0);
    return offered && hipStreamWaitValue64(behave_stream(), word, 1, 0, UINT64_MAX) == hipSuccess;
}

/* Does a wait for value, compared as flags says, end when the word becomes now? */
static bool value_ends(uint64_t *word, uint64_t value, unsigned flags, uint64_t mask, uint64_t now)
{
    hipStream_t stream = behave_stream();
    bool ended;

    behave_set(word, now);
    NEED(hipStreamWaitValue64(stream, word, value, flags, mask) == hipSuccess);
    ended = soon_done(stream);
    behave_set(word, flags == hipStreamWaitValueNor  ? 0
                     : flags == hipStreamWaitValueEq ? value
                                                     : ~(uint64_t)0);
    NEED(hipStreamSynchronize(stream) == hipSuccess);
    NEED(hipStreamDestroy(stream) == hipSuccess);
    return ended;
}

static bool value_compare(void)
{
    void *memory;
    uint64_t all = UINT64_MAX;

    NEED(hipExtMallocWithFlags(&memory, 8, hipMallocSignalMemory) == hipSuccess);
    return value_ends(memory, 5, hipStreamWaitValueGte, all, 6) &&
           !value_ends(memory, 5, hipStreamWaitValueGte, all, 4) &&
           !value_ends(memory, 3, hipStreamWaitValueGte, 3, 4) &&
           value_ends(memory, 5, hipStreamWaitValueEq, all, 5) &&
           !value_ends(memory, 5, hipStreamWaitValueEq, all, 6) &&
           value_ends(memory, 5, hipStreamWaitValueAnd, all, 4) &&
           !value_ends(memory, 5, hipStreamWaitValueAnd, all, 2) &&
           value_ends(memory, 5, hipStreamWaitValueNor, all, 1) &&
           !value_ends(memory, ~(uint64_t)5, hipStreamWaitValueNor, all, 5);
}

static bool value_write(void)
{
    hipStream_t stream = behave_stream();
    uint64_t *there, *word = behave_word(&there);
    uint32_t narrow = 0;
    void *memory;

    NEED(hipMalloc(&memory, 64) == hipSuccess);
    NEED(hipStreamWriteValue64(stream, there, 1, 0) == hipSuccess);
    NEED(hipStreamWriteValue32(stream, memory, 7, 0) == hipSuccess);
    NEED(hipMemcpyAsync(&narrow, memory, 4, hipMemcpyDefault, stream) == hipSuccess);
    return behave_get(word) == 1 && narrow == 7 &&
           hipStreamWriteValue64(stream, &narrow, 1, 0) == hipErrorInvalidValue;
}

static void *own_stream_store(void *arg)
{
    struct behave_words words = {arg, 1, NULL, 0};

    NEED(behave_launch(BEHAVE_STORE, hipStreamPerThread, words) == hipSuccess);
    NEED(hipStreamSynchronize(hipStreamPerThread) == hipSuccess);
    return NULL;
}

static bool stream_per_thread(void)
{
    uint64_t *gate_there, *there;
    uint64_t *gate = behave_word(&gate_there), *word = behave_word(&there);
    struct behave_words wait = {gate_there, 1, NULL, 0};
    pthread_t thread;
    bool passed;

    NEED(behave_launch(BEHAVE_WAIT, hipStreamPerThread, wait) == hipSuccess);
    NEED(pthread_create(&thread, NULL, own_stream_store, there) == 0);
    for (int i = 0; i < SOON_MS && behave_get(word) == 0; i++) {
        behave_nap(1);
    }
    passed = behave_get(word) == 1;
    behave_set(gate, 1);
    pthread_join(thread, NULL);
    return passed && hipStreamSynchronize(hipStreamPerThread) == hipSuccess;
}

/* Does the call wait while a wait runs on the stream? */
static bool waits(hipStream_t stream, void (*call)(void *arg), void *arg)
{
    uint64_t *there, *word = behave_word(&there);
    struct ended ended = {call, arg, 0};
    pthread_t thread;
    bool blocked;

    NEED(behave_launch(BEHAVE_WAIT, stream, (struct behave_words){there, 1, NULL, 0}) == 0);
    NEED(pthread_create(&thread, NULL, call_and_say, &ended) == 0);
    behave_nap(SOON_MS);
    blocked = atomic_load(&ended.over) == 0;
    behave_set(word, 1);
    pthread_join(thread, NULL);
    return blocked;
}

static void call_free(void *arg)
{
    NEED(hipFree(arg) == hipSuccess);
}

static void call_malloc(void *arg)
{
    NEED(hipMalloc(arg, 64) == hipSuccess);
}

static void call_destroy(void *arg)
{
    NEED(hipStreamDestroy(arg) == hipSuccess);
}

static void call_copy(void *arg)
{
    static char bytes[8];
    void **both = arg;

    NEED(hipMemcpyAsync(both[0], bytes, sizeof(bytes), hipMemcpyDefault, both[1]) == hipSuccess);
}

static bool sync_free(void)
{
    hipStream_t stream = behave_stream();
    void *memory;

    NEED(hipMalloc(&memory, 64) == hipSuccess);
    return waits(stream, call_free, memory);
}

static bool sync_malloc(void)
{
    hipStream_t stream = behave_stream();
    void *memory;

    return waits(stream, call_malloc, &memory);
}

static bool stream_destroy(void)
{
    hipStream_t stream = behave_stream();

    return waits(stream, call_destroy, stream);
}

static bool copy_pageable(void)
{
    hipStream_t stream = behave_stream();
    void *memory, *both[2];

    NEED(hipMalloc(&memory, 64) == hipSuccess);
    both[0] = memory;
    both[1] = stream;
    return waits(stream, call_copy, both);
}

/* Does a call that waits count as forbidden, while a wait runs for up to this long? */
static bool is_counted(hipStream_t stream, int longest_ms)
{
    uint64_t *there, *word = behave_word(&there);
    struct ended ended = {call_free, NULL, 0};
    long before = hip_double_forbidden();
    pthread_t thread;

    NEED(hipMalloc(&ended.arg, 64) == hipSuccess);
    NEED(behave_launch(BEHAVE_WAIT, stream, (struct behave_words){there, 1, NULL, 0}) == 0);
    NEED(pthread_create(&thread, NULL, call_and_say, &ended) == 0);
    for (int ms = 0; ms < longest_ms && hip_double_forbidden() == before; ms++) {
        behave_nap(1);
    }
    behave_set(word, 1);
    pthread_join(thread, NULL);
    return hip_double_forbidden() == before + 1;
}

/* Ends the process if that is switched on, and is counted. */
static bool sync_forbidden(void)
{
    setenv("HIP_DOUBLE_FORBID", "report", 0);
    return is_counted(behave_stream(), 10000);
}

/* Times may come out longer than meant, but not most of them. */
static bool sync_forgiven(void)
{
    hipStream_t stream;
    int n_counted = 0;

    setenv("HIP_DOUBLE_FORBID", "report", 0);
    stream = behave_stream();
    for (int i = 0; i < 5; i++) {
        n_counted += is_counted(stream, 20);
    }
    return n_counted <= 2;
}

const struct behave_case behave_stream_cases[] = {
    {"stream-order", stream_order},
    {"stream-destroy", stream_destroy},
    {"stream-per-thread", stream_per_thread},
    {"queue-own", queue_own},
    {"queue-shared", queue_shared},
    {"null-blocking", null_blocking},
    {"null-non-blocking", null_non_blocking},
    {"launch-full", launch_full},
    {"launch-lookup", launch_lookup},
    {"launch-query", launch_query},
    {"launch-blocking", launch_blocking},
    {"event-order", event_order},
    {"event-wait", event_wait},
    {"call-order", call_order},
    {"call-shared", call_shared},
    {"call-no-hip", call_no_hip},
    {"value-signal", value_signal},
    {"value-offered", value_offered},
    {"value-compare", value_compare},
    {"value-write", value_write},
    {"sync-free", sync_free},
    {"sync-malloc", sync_malloc},
    {"sync-forbidden", sync_forbidden},
    {"sync-forgiven", sync_forgiven},
    {"copy-pageable", copy_pageable},
    {NULL, NULL},
};
