/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Device memory of pools, and memory that is mapped in chunks. CUDA's driver and HIP's runtime have
 * the same functions, whose handles are pointers or numbers of that size.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtest.h"
#include "mtest_gpu.h"

enum { DEVICES = 16, PINNED = 1, AT_DEVICE = 1, BY_FILE = 1, READ_WRITE = 3 };

static struct {
    int (*pool_create)(void **pool, const void *props);
    int (*pool_alloc)(void **address, size_t bytes, void *pool, void *stream);
    int (*pool_free)(void *address, void *stream);
    int (*pool_destroy)(void *pool);
    int (*granularity)(size_t *bytes, const void *props, int option);
    int (*create)(uintptr_t *chunk, size_t bytes, const void *props, unsigned long long flags);
    int (*release)(uintptr_t chunk);
    int (*reserve)(void **address, size_t bytes, size_t alignment, void *wanted,
                   unsigned long long flags);
    int (*unreserve)(void *address, size_t bytes);
    int (*map)(void *address, size_t bytes, size_t offset, uintptr_t chunk,
               unsigned long long flags);
    int (*unmap)(void *address, size_t bytes);
    int (*set_access)(void *address, size_t bytes, const void *list, size_t n);
} gpu;

static struct {
    void **address;
    const char *cuda, *hip;
} const names[] = {
    {(void **)&gpu.pool_create, "cuMemPoolCreate", "hipMemPoolCreate"},
    {(void **)&gpu.pool_alloc, "cuMemAllocFromPoolAsync", "hipMallocFromPoolAsync"},
    {(void **)&gpu.pool_free, "cuMemFreeAsync", "hipFreeAsync"},
    {(void **)&gpu.pool_destroy, "cuMemPoolDestroy", "hipMemPoolDestroy"},
    {(void **)&gpu.granularity, "cuMemGetAllocationGranularity", "hipMemGetAllocationGranularity"},
    {(void **)&gpu.create, "cuMemCreate", "hipMemCreate"},
    {(void **)&gpu.release, "cuMemRelease", "hipMemRelease"},
    {(void **)&gpu.reserve, "cuMemAddressReserve", "hipMemAddressReserve"},
    {(void **)&gpu.unreserve, "cuMemAddressFree", "hipMemAddressFree"},
    {(void **)&gpu.map, "cuMemMap", "hipMemMap"},
    {(void **)&gpu.unmap, "cuMemUnmap", "hipMemUnmap"},
    {(void **)&gpu.set_access, "cuMemSetAccess", "hipMemSetAccess"},
};

/* Properties of a pool, of which the rest is 0 on both; and access. */
struct pool_props {
    int allocation, handles, location, device;
    char rest[72];
};
struct access {
    int location, device, flags;
};

/* What was given out. */
struct special {
    void *address;
    size_t chunk; /* bytes of each that is mapped there; 0: it is of a pool */
    int chunks;
    struct special *next;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct special *specials;
static void *pools[2][DEVICES]; /* private, and of those that can be opened */
static bool is_cuda;

static void need(const char *what, int code)
{
    if (code != 0) {
        fprintf(stderr, "mtest_gpu_kinds: %s: error %d\n", what, code);
        exit(MTEST_HARD);
    }
}

static void look_up(void)
{
    is_cuda = strcmp(mtest_gpu_kind(), "cudaStream_t") == 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *name = is_cuda ? names[i].cuda : names[i].hip;

        *names[i].address = mtest_gpu_symbol(name);
        need(name, *names[i].address == NULL);
    }
}

static void note(void *address, size_t chunk, int chunks)
{
    struct special *new = malloc(sizeof(*new));

    need("memory", new == NULL);
    *new = (struct special){.address = address, .chunk = chunk, .chunks = chunks};
    pthread_mutex_lock(&lock);
    new->next = specials;
    specials = new;
    pthread_mutex_unlock(&lock);
}

/* Pools stay until the program ends, or it ends one. */
static void *pool_of_device(bool open)
{
    int device = mtest_gpu_device();
    struct pool_props props = {.allocation = PINNED,
                               .handles = open ? BY_FILE : 0,
                               .location = AT_DEVICE,
                               .device = device};

    need("a device that a test has chosen", device < 0 || device >= DEVICES);
    pthread_mutex_lock(&lock);
    if (pools[open][device] == NULL) {
        need("create a pool", gpu.pool_create(&pools[open][device], &props));
    }
    pthread_mutex_unlock(&lock);
    return pools[open][device];
}

void mtest_gpu_pool_end(void)
{
    void **pool;

    (void)pool_of_device(true);
    pthread_mutex_lock(&lock);
    pool = &pools[true][mtest_gpu_device()];
    need("destroy a pool", gpu.pool_destroy(*pool));
    *pool = NULL;
    pthread_mutex_unlock(&lock);
}

/* The two have the members in other orders. */
static void fill_props(int props[8], bool open)
{
    const int cuda[8] = {PINNED, open ? BY_FILE : 0, AT_DEVICE, mtest_gpu_device()};
    const int hip[8] = {0, AT_DEVICE, mtest_gpu_device(), open ? BY_FILE : 0, PINNED};

    memcpy(props, is_cuda ? cuda : hip, sizeof(cuda));
}

static void *chunks_alloc(int n, size_t bytes, bool open)
{
    struct access access = {AT_DEVICE, mtest_gpu_device(), READ_WRITE};
    void *address = NULL;
    int props[8];

    fill_props(props, open);
    need("reserve addresses", gpu.reserve(&address, (size_t)n * bytes, 0, NULL, 0));
    for (int i = 0; i < n; i++) {
        uintptr_t chunk;

        need("a chunk", gpu.create(&chunk, bytes, props, 0));
        need("map it", gpu.map((char *)address + (size_t)i * bytes, bytes, 0, chunk, 0));
        need("release it", gpu.release(chunk));
    }
    need("access to it", gpu.set_access(address, (size_t)n * bytes, &access, 1));
    note(address, bytes, n);
    return address;
}

static size_t granularity(bool open)
{
    size_t bytes = 0;
    int props[8];

    fill_props(props, open);
    need("ask for the granularity", gpu.granularity(&bytes, props, 0));
    return bytes;
}

static void *alloc(const char *kind, size_t bytes, bool open)
{
    void *address = NULL;
    size_t unit;

    if (kind == NULL || (strcmp(kind, "pool") != 0 && strcmp(kind, "chunk") != 0)) {
        return NULL;
    }
    (void)mtest_gpu_kind(); /* this thread is on some device now */
    pthread_once(&once, look_up);
    if (strcmp(kind, "pool") == 0) {
        need("memory of a pool", gpu.pool_alloc(&address, bytes, pool_of_device(open), NULL));
        mtest_gpu_synchronize(NULL);
        note(address, 0, 0);
        return address;
    }
    unit = granularity(open);
    return chunks_alloc(1, (bytes + unit - 1) / unit * unit, open);
}

void *mtest_gpu_special_alloc(const char *kind, size_t bytes)
{
    return alloc(kind, bytes, true);
}

void *mtest_gpu_private_alloc(const char *kind, size_t bytes)
{
    return alloc(kind, bytes, false);
}

void *mtest_gpu_chunks_alloc(int n, size_t *each_p)
{
    pthread_once(&once, look_up);
    *each_p = granularity(true);
    return chunks_alloc(n, *each_p, true);
}

void mtest_gpu_special_reset(int device)
{
    struct special *next;

    pthread_mutex_lock(&lock);
    pools[0][device] = pools[1][device] = NULL;
    for (; specials != NULL; specials = next) {
        next = specials->next;
        free(specials);
    }
    pthread_mutex_unlock(&lock);
}

bool mtest_gpu_special_free(void *block)
{
    struct special **at = &specials, *old;

    pthread_mutex_lock(&lock);
    while (*at != NULL && (*at)->address != block) {
        at = &(*at)->next;
    }
    old = *at;
    if (old != NULL) {
        *at = old->next;
    }
    pthread_mutex_unlock(&lock);
    if (old == NULL) {
        return false;
    }
    if (old->chunk == 0) {
        need("free memory of a pool", gpu.pool_free(block, NULL));
        mtest_gpu_synchronize(NULL);
    } else {
        for (int i = 0; i < old->chunks; i++) {
            need("unmap", gpu.unmap((char *)block + (size_t)i * old->chunk, old->chunk));
        }
        need("free addresses", gpu.unreserve(block, (size_t)old->chunks * old->chunk));
    }
    free(old);
    return true;
}
