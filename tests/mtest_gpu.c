/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 */
#include "mtest_gpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtest.h"

/* What CUDA's driver and HIP's runtime have in common. */
static struct {
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_destroy)(void *stream);
    int (*stream_synchronize)(void *stream);
    int (*stream_query)(void *stream);
    int (*launch)(void *stream, void (*fn)(void *), void *arg);
    int (*host_alloc)(void **host, size_t bytes, unsigned flags);
    int (*host_free)(void *host);
    int (*managed)(void **address, size_t bytes, unsigned flags);
    int (*alloc)(void **address, size_t bytes);
    int (*free)(void *address);
    int (*cuda_copy)(void *to, const void *from, size_t bytes, void *stream);
    int (*hip_copy)(void *to, const void *from, size_t bytes, int kind, void *stream);
    int (*device_count)(int *count);
    int (*stream_priority)(void **stream, unsigned flags, int priority);
    int (*priorities)(int *least, int *greatest);
    int (*event_create)(void **event, unsigned flags);
    int (*event_destroy)(void *event);
    int (*event_record)(void *event, void *stream);
    int (*event_query)(void *event);
    int (*event_synchronize)(void *event);
    int (*event_wait)(void *stream, void *event, unsigned flags);
    int (*hip_device)(int *device);
    int (*hip_set_device)(int device);
    /* CUDA's, which has contexts. */
    int (*init)(unsigned flags);
    int (*retain)(void **context, int device);
    int (*current)(void **context);
    int (*set_current)(void *context);
    int (*cuda_reset)(int device);
    int (*hip_reset)(void);
} gpu;

static struct {
    void **address;
    const char *cuda, *hip;
} const names[] = {
    {(void **)&gpu.stream_create, "cuStreamCreate", "hipStreamCreateWithFlags"},
    {(void **)&gpu.stream_destroy, "cuStreamDestroy_v2", "hipStreamDestroy"},
    {(void **)&gpu.stream_synchronize, "cuStreamSynchronize", "hipStreamSynchronize"},
    {(void **)&gpu.stream_query, "cuStreamQuery", "hipStreamQuery"},
    {(void **)&gpu.launch, "cuLaunchHostFunc", "hipLaunchHostFunc"},
    {(void **)&gpu.host_alloc, "cuMemHostAlloc", "hipHostMalloc"},
    {(void **)&gpu.host_free, "cuMemFreeHost", "hipHostFree"},
    {(void **)&gpu.managed, "cuMemAllocManaged", "hipMallocManaged"},
    {(void **)&gpu.alloc, "cuMemAlloc_v2", "hipMalloc"},
    {(void **)&gpu.free, "cuMemFree_v2", "hipFree"},
    {(void **)&gpu.cuda_copy, "cuMemcpyAsync", NULL},
    {(void **)&gpu.hip_copy, NULL, "hipMemcpyAsync"},
    {(void **)&gpu.device_count, "cuDeviceGetCount", "hipGetDeviceCount"},
    {(void **)&gpu.stream_priority, "cuStreamCreateWithPriority", "hipStreamCreateWithPriority"},
    {(void **)&gpu.priorities, "cuCtxGetStreamPriorityRange", "hipDeviceGetStreamPriorityRange"},
    {(void **)&gpu.event_create, "cuEventCreate", "hipEventCreateWithFlags"},
    {(void **)&gpu.event_destroy, "cuEventDestroy_v2", "hipEventDestroy"},
    {(void **)&gpu.event_record, "cuEventRecord", "hipEventRecord"},
    {(void **)&gpu.event_query, "cuEventQuery", "hipEventQuery"},
    {(void **)&gpu.event_synchronize, "cuEventSynchronize", "hipEventSynchronize"},
    {(void **)&gpu.event_wait, "cuStreamWaitEvent", "hipStreamWaitEvent"},
    {(void **)&gpu.hip_device, NULL, "hipGetDevice"},
    {(void **)&gpu.hip_set_device, NULL, "hipSetDevice"},
    {(void **)&gpu.init, "cuInit", NULL},
    {(void **)&gpu.retain, "cuDevicePrimaryCtxRetain", NULL},
    {(void **)&gpu.current, "cuCtxGetCurrent", NULL},
    {(void **)&gpu.set_current, "cuCtxSetCurrent", NULL},
    {(void **)&gpu.cuda_reset, "cuDevicePrimaryCtxReset_v2", NULL},
    {(void **)&gpu.hip_reset, NULL, "hipDeviceReset"},
};

enum {
    NON_BLOCKING = 1,
    PORTABLE = 1,
    GLOBAL = 1,
    COPY_DEFAULT = 4,
    NO_TIMING = 2,
    NOT_READY = 600,
    DEVICES = 16
};

static const char *kind; /* constant once open_gpu has run */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *contexts[DEVICES]; /* of CUDA; retained when they are used first */

static void need(const char *what, int code)
{
    if (code != 0) {
        fprintf(stderr, "mtest_gpu: %s: error %d\n", what, code);
        exit(MTEST_HARD);
    }
}

static void open_gpu(void)
{
    const char *wanted = getenv("MTEST_STREAM");
    bool cuda = wanted != NULL && strcmp(wanted, "cuda") == 0;
    void *library;

    if (wanted == NULL || strcmp(wanted, "host") == 0) {
        return;
    }
    library = dlopen(cuda ? "libcuda.so.1" : "libamdhip64.so.5", RTLD_NOW | RTLD_GLOBAL);
    library = library != NULL || cuda ? library : dlopen("libamdhip64.so.6", RTLD_NOW);
    need("no library of MTEST_STREAM", library == NULL);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *name = cuda ? names[i].cuda : names[i].hip;

        if (name != NULL) {
            *names[i].address = dlsym(library, name);
            need(name, *names[i].address == NULL);
        }
    }
    if (cuda) {
        need("cuInit", gpu.init(0));
        need("cuDevicePrimaryCtxRetain", gpu.retain(&contexts[0], 0));
    }
    kind = cuda ? "cudaStream_t" : "hipStream_t";
}

/* Any thread may be the first, and each has its own current context. Of HIP nothing has to be
 * asked, and is all the same: where CUDA allows none of its calls, in a function of a stream, a
 * test is to fail on the double too. */
const char *mtest_gpu_kind(void)
{
    void *current = NULL;
    int device;

    pthread_once(&once, open_gpu);
    if (gpu.hip_device != NULL) {
        need("hipGetDevice", gpu.hip_device(&device));
    }
    if (contexts[0] != NULL) {
        need("cuCtxGetCurrent", gpu.current(&current));
        need("cuCtxSetCurrent", current == NULL ? gpu.set_current(contexts[0]) : 0);
    }
    return kind;
}

void *mtest_gpu_symbol(const char *name)
{
    return mtest_gpu_kind() != NULL ? dlsym(RTLD_DEFAULT, name) : NULL;
}

int mtest_gpu_devices(void)
{
    int count = 0;

    (void)mtest_gpu_kind();
    need("count devices", gpu.device_count(&count));
    return count < DEVICES ? count : DEVICES;
}

void mtest_gpu_set_device(int device)
{
    (void)mtest_gpu_kind();
    if (gpu.hip_set_device != NULL) {
        need("hipSetDevice", gpu.hip_set_device(device));
        return;
    }
    if (contexts[device] == NULL) {
        need("cuDevicePrimaryCtxRetain", gpu.retain(&contexts[device], device));
    }
    need("cuCtxSetCurrent", gpu.set_current(contexts[device]));
}

int mtest_gpu_device(void)
{
    void *current = NULL;
    int device = 0;

    if (gpu.hip_device != NULL) {
        need("hipGetDevice", gpu.hip_device(&device));
        return device;
    }
    need("cuCtxGetCurrent", gpu.current(&current));
    while (device < DEVICES && (current == NULL || contexts[device] != current)) {
        device++;
    }
    return device < DEVICES ? device : -1;
}

/* CUDA's context is destroyed, and made anew by who retains it. */
void mtest_gpu_reset(void)
{
    int device = mtest_gpu_device();

    need("a device that a test has chosen", device < 0);
    mtest_gpu_special_reset(device);
    if (gpu.hip_reset != NULL) {
        need("hipDeviceReset", gpu.hip_reset());
        return;
    }
    need("cuDevicePrimaryCtxReset", gpu.cuda_reset(device));
    need("cuDevicePrimaryCtxRetain", gpu.retain(&contexts[device], device));
    need("cuCtxSetCurrent", gpu.set_current(contexts[device]));
}

void *mtest_gpu_stream(void)
{
    void *stream = NULL;

    (void)mtest_gpu_kind();
    need("create a stream", gpu.stream_create(&stream, NON_BLOCKING));
    return stream;
}

void *mtest_gpu_stream_of_priority(bool high)
{
    int least = 0, greatest = 0;
    void *stream = NULL;

    (void)mtest_gpu_kind();
    need("ask for priorities", gpu.priorities(&least, &greatest));
    need("create a stream with a priority",
         gpu.stream_priority(&stream, NON_BLOCKING, high ? greatest : least));
    return stream;
}

void mtest_gpu_stream_end(void *stream)
{
    (void)mtest_gpu_kind();
    need("destroy a stream", gpu.stream_destroy(stream));
}

void mtest_gpu_synchronize(void *stream)
{
    (void)mtest_gpu_kind();
    need("synchronize a stream", gpu.stream_synchronize(stream));
}

void mtest_gpu_launch(void *stream, void (*fn)(void *), void *arg)
{
    (void)mtest_gpu_kind();
    need("launch a function", gpu.launch(stream, fn, arg));
}

void mtest_gpu_copy(void *stream, void *to, const void *from, size_t bytes)
{
    (void)mtest_gpu_kind();
    need("copy", gpu.cuda_copy != NULL ? gpu.cuda_copy(to, from, bytes, stream)
                                       : gpu.hip_copy(to, from, bytes, COPY_DEFAULT, stream));
}

void *mtest_gpu_event(void *stream)
{
    void *event = NULL;

    (void)mtest_gpu_kind();
    need("create an event", gpu.event_create(&event, NO_TIMING));
    need("record an event", gpu.event_record(event, stream));
    return event;
}

void mtest_gpu_event_end(void *event)
{
    need("destroy an event", gpu.event_destroy(event));
}

bool mtest_gpu_event_fired(void *event)
{
    int code = gpu.event_query(event);

    need("query an event", code == NOT_READY ? 0 : code);
    return code == 0;
}

void mtest_gpu_event_synchronize(void *event)
{
    need("wait for an event", gpu.event_synchronize(event));
}

void mtest_gpu_event_wait(void *stream, void *event)
{
    need("let a stream wait for an event", gpu.event_wait(stream, event, 0));
}

enum mtest_memory mtest_gpu_memory(void)
{
    const char *wanted = getenv("MTEST_BUFFER");

    if (wanted == NULL || mtest_gpu_kind() == NULL || strcmp(wanted, "pageable") == 0) {
        return MTEST_PAGEABLE;
    }
    return strcmp(wanted, "pinned") == 0    ? MTEST_PINNED
           : strcmp(wanted, "managed") == 0 ? MTEST_MANAGED
                                            : MTEST_DEVICE;
}

void *mtest_gpu_alloc(enum mtest_memory memory, size_t bytes)
{
    void *block = NULL;
    size_t room = bytes > 0 ? bytes : 1;

    switch (memory) {
    case MTEST_PINNED:
        need("pinned memory", gpu.host_alloc(&block, room, PORTABLE));
        break;
    case MTEST_MANAGED:
        need("managed memory", gpu.managed(&block, room, GLOBAL));
        break;
    case MTEST_DEVICE:
        block = mtest_gpu_special_alloc(getenv("MTEST_BUFFER"), room);
        need("device memory", block == NULL ? gpu.alloc(&block, room) : 0);
        break;
    default:
        block = malloc(room);
        need("memory", block == NULL);
        break;
    }
    return block;
}

void mtest_gpu_free(enum mtest_memory memory, void *block)
{
    switch (memory) {
    case MTEST_PINNED:
        need("free pinned memory", gpu.host_free(block));
        break;
    case MTEST_DEVICE:
        need("free memory", mtest_gpu_special_free(block) ? 0 : gpu.free(block));
        break;
    case MTEST_MANAGED:
        need("free memory", gpu.free(block));
        break;
    default:
        free(block);
        break;
    }
}

/* ---- Arrays and mirrors --------------------------------------------------------------------- */

struct array {
    struct array *next;
    char *block;
    char *device_copy; /* in the memory of a GPU; NULL: none */
    size_t bytes;
};
static struct array *_Atomic arrays; /* so that none of them is lost */

static void *copies; /* a stream */
static pthread_once_t copies_once = PTHREAD_ONCE_INIT;

static void make_copies(void)
{
    copies = mtest_gpu_stream();
}

void mtest_gpu_copy_now(void *to, const void *from, size_t bytes)
{
    pthread_once(&copies_once, make_copies);
    mtest_gpu_copy(copies, to, from, bytes);
    mtest_gpu_synchronize(copies);
}

bool mtest_gpu_hidden(void)
{
    const char *access = getenv("HIP_DOUBLE_ACCESS");

    return mtest_gpu_memory() == MTEST_DEVICE && (access == NULL || strcmp(access, "bar") != 0);
}

static struct array *array_make(enum mtest_memory memory, bool has_device_copy, size_t bytes)
{
    struct array *new = calloc(1, sizeof(*new));

    need("memory", new == NULL);
    new->bytes = bytes;
    new->block = mtest_gpu_alloc(memory, bytes);
    memset(new->block, 0, bytes);
    if (has_device_copy) {
        new->device_copy = mtest_gpu_alloc(MTEST_DEVICE, bytes);
        mtest_gpu_copy_now(new->device_copy, new->block, bytes);
    }
    new->next = atomic_load(&arrays);
    while (!atomic_compare_exchange_weak(&arrays, &new->next, new)) {
    }
    return new;
}

void *mtest_gpu_array(size_t bytes)
{
    return array_make(mtest_gpu_memory(), false, bytes)->block;
}

void *mtest_gpu_mirror(size_t bytes)
{
    bool hidden = mtest_gpu_hidden();

    return array_make(hidden ? MTEST_PINNED : mtest_gpu_memory(), hidden, bytes)->block;
}

static const struct array *array_of(const void *address)
{
    const struct array *found = atomic_load(&arrays);

    while (found != NULL && ((uintptr_t)address < (uintptr_t)found->block ||
                             (uintptr_t)address >= (uintptr_t)found->block + found->bytes)) {
        found = found->next;
    }
    need("an address in a mirror", found == NULL);
    return found;
}

void *mtest_gpu_at(void *address)
{
    const struct array *array = array_of(address);

    return array->device_copy == NULL ? address
                                      : array->device_copy + ((char *)address - array->block);
}

void mtest_gpu_put(void *mirror)
{
    const struct array *array = array_of(mirror);

    if (array->device_copy != NULL) {
        mtest_gpu_copy_now(array->device_copy, array->block, array->bytes);
    }
}

void mtest_gpu_get(void *mirror)
{
    const struct array *array = array_of(mirror);

    if (array->device_copy != NULL) {
        mtest_gpu_copy_now(array->block, array->device_copy, array->bytes);
    }
}

void mtest_gpu_put_in(MPIXQ_Host_stream stream, void *mirror)
{
    const struct array *array = array_of(mirror);

    if (array->device_copy != NULL) {
        mtest_gpu_copy(mtest_gpu_stream_of(stream), array->device_copy, array->block, array->bytes);
    }
}

void mtest_gpu_get_in(MPIXQ_Host_stream stream, void *mirror)
{
    const struct array *array = array_of(mirror);

    if (array->device_copy != NULL) {
        mtest_gpu_copy(mtest_gpu_stream_of(stream), array->block, array->device_copy, array->bytes);
    }
}

/* ---- In place of host streams --------------------------------------------------------------- */

/* What a test takes for a host stream, and streams made for queues without one. */
struct disguise {
    void *stream;
    MPIX_Queue queue;
    struct disguise *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct disguise *disguises;

static struct disguise *disguise_make(void)
{
    struct disguise *new = calloc(1, sizeof(*new));

    need("memory", new == NULL);
    new->stream = mtest_gpu_stream();
    pthread_mutex_lock(&lock);
    new->next = disguises;
    disguises = new;
    pthread_mutex_unlock(&lock);
    return new;
}

static void disguise_end(struct disguise *old)
{
    struct disguise **at = &disguises;

    pthread_mutex_lock(&lock);
    while (*at != old) {
        at = &(*at)->next;
    }
    *at = old->next;
    pthread_mutex_unlock(&lock);
    mtest_gpu_stream_end(old->stream);
    free(old);
}

static struct disguise *disguise_of(const void *stream, MPIX_Queue queue)
{
    struct disguise *found;

    pthread_mutex_lock(&lock);
    for (found = disguises; found != NULL; found = found->next) {
        if (stream != NULL ? (void *)found == stream : found->queue == queue) {
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void *mtest_gpu_stream_of(MPIXQ_Host_stream stream)
{
    const struct disguise *found = disguise_of(stream, NULL);

    need("a stream of a GPU", found == NULL);
    return found->stream;
}

int MPIXQ_Host_stream_create(MPIXQ_Host_stream *stream)
{
    if (mtest_gpu_kind() == NULL || stream == NULL) {
        return PMPIXQ_Host_stream_create(stream);
    }
    *stream = (MPIXQ_Host_stream)(void *)disguise_make();
    return MPI_SUCCESS;
}

int MPIXQ_Host_stream_destroy(MPIXQ_Host_stream *stream)
{
    struct disguise *found = stream != NULL && *stream != NULL ? disguise_of(*stream, NULL) : NULL;

    if (found == NULL) {
        return PMPIXQ_Host_stream_destroy(stream);
    }
    mtest_gpu_synchronize(found->stream);
    disguise_end(found);
    *stream = MPIX_HOST_STREAM_NULL;
    return MPI_SUCCESS;
}

int MPIXQ_Host_stream_launch(MPIXQ_Host_stream stream, void (*fn)(void *), void *arg)
{
    struct disguise *found = stream != NULL ? disguise_of(stream, NULL) : NULL;

    if (found == NULL) {
        return PMPIXQ_Host_stream_launch(stream, fn, arg);
    }
    mtest_gpu_launch(found->stream, fn, arg);
    return MPI_SUCCESS;
}

int MPIXQ_Host_stream_synchronize(MPIXQ_Host_stream stream)
{
    struct disguise *found = stream != NULL ? disguise_of(stream, NULL) : NULL;

    if (found == NULL) {
        return PMPIXQ_Host_stream_synchronize(stream);
    }
    mtest_gpu_synchronize(found->stream);
    return MPI_SUCCESS;
}

int MPIXQ_Host_stream_query(MPIXQ_Host_stream stream, int *flag)
{
    struct disguise *found = stream != NULL ? disguise_of(stream, NULL) : NULL;
    int code;

    if (found == NULL || flag == NULL) {
        return PMPIXQ_Host_stream_query(stream, flag);
    }
    (void)mtest_gpu_kind();
    code = gpu.stream_query(found->stream);
    need("query a stream", code == NOT_READY ? 0 : code);
    *flag = code == 0;
    return MPI_SUCCESS;
}

int mtest_gpu_queue(MPIXQ_Queue *queue, MPIXQ_Queue_type type, void **stream)
{
    MPI_Info info;
    int rc;

    MPI_Info_create(&info);
    MPI_Info_set(info, "type", mtest_gpu_kind());
    rc = PMPIXQ_Queue_init_info(queue, type, stream, info);
    MPI_Info_free(&info);
    return rc;
}

int MPIXQ_Queue_init(MPIXQ_Queue *queue, MPIXQ_Queue_type type, void *stream_address)
{
    bool on_gpu = mtest_gpu_kind() != NULL;
    void *given = on_gpu && stream_address != NULL ? *(void **)stream_address : NULL;
    struct disguise *use = given != NULL ? disguise_of(given, NULL) : NULL;
    int rc;

    if (!on_gpu || queue == NULL || (given != NULL && use == NULL)) {
        return PMPIXQ_Queue_init(queue, type, stream_address);
    }
    use = use != NULL ? use : disguise_make();
    rc = mtest_gpu_queue(queue, type, &use->stream);
    if (given == NULL && rc == MPI_SUCCESS) {
        pthread_mutex_lock(&lock);
        use->queue = *queue;
        pthread_mutex_unlock(&lock);
    } else if (given == NULL) {
        disguise_end(use);
    }
    return rc;
}

int MPIXQ_Queue_free(MPIXQ_Queue *queue)
{
    struct disguise *found =
        queue != NULL && *queue != MPIX_QUEUE_NULL ? disguise_of(NULL, *queue) : NULL;
    int rc = PMPIXQ_Queue_free(queue);

    if (found != NULL && rc == MPI_SUCCESS) {
        disguise_end(found);
    }
    return rc;
}
