/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * memory.c - allocations, and who can reach them
 *
 * Device memory is a file that only this process has, mapped without access rights. A worker that
 * touches it opens the allocation, and the end of its operation closes it: until then other threads
 * could touch it unseen. What was freed stays mapped without rights and is never given out again.
 * Allocations end where their pages end, and a page without rights follows.
 *
 * One lock, hip_memory_lock, taken last. The fault handler takes it too: whoever faults does not
 * hold it, as nothing here touches device memory that is closed.
 */
#include "memory.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TOMBSTONES = 4096 };

pthread_mutex_t hip_memory_lock = PTHREAD_MUTEX_INITIALIZER;
struct hip_block *hip_blocks;
static int files[HIP_DEVICES]; /* the number plus 1 */
static uint64_t file_ends[HIP_DEVICES];
static uint64_t names, ids;
static size_t used[HIP_DEVICES];
int hip_freed;
static _Thread_local int opened;
static struct sigaction previous;

bool hip_of_device(enum hip_kind kind)
{
    return kind == HIP_DEVICE || kind == HIP_IPC || kind == HIP_PIECE || kind == HIP_IMPORTED ||
           kind == HIP_CHUNK;
}

bool hip_closed_to_host(const struct hip_block *block)
{
    return hip_of_device(block->kind) && hip_switches.access == ACCESS_NONE;
}

/* Under hip_memory_lock: the file that is a device's memory, or -1. */
int hip_file_of(int device)
{
    if (files[device] == 0) {
        files[device] = memfd_create("hip_double", MFD_CLOEXEC) + 1;
    }
    return files[device] - 1;
}

int hip_memory_file(int device)
{
    int file;

    pthread_mutex_lock(&hip_memory_lock);
    file = hip_file_of(device);
    pthread_mutex_unlock(&hip_memory_lock);
    return file;
}

/* Pages with a page without rights before and behind them; NULL on failure. */
char *hip_map_pages(size_t bytes, int file, uint64_t file_offset)
{
    char *guarded =
        mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (guarded == MAP_FAILED) {
        return NULL;
    }
    if (mmap(guarded + PAGE, bytes, PROT_READ | PROT_WRITE,
             MAP_FIXED | (file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS), file,
             (off_t)file_offset) == MAP_FAILED) {
        munmap(guarded, bytes + 2 * PAGE);
        return NULL;
    }
    return guarded + PAGE;
}

/* Under hip_memory_lock. */
void hip_protect(const struct hip_block *block, bool open)
{
    if (mprotect(block->pages, block->page_bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
        hip_die("mprotect: %s", strerror(errno));
    }
}

static void unlink_block(const struct hip_block *block)
{
    struct hip_block **place = &hip_blocks;

    while (*place != block) {
        place = &(*place)->next;
    }
    *place = block->next;
}

void hip_forget(struct hip_block *block)
{
    unlink_block(block);
    free(block);
}

/* The address of the same that was freed, if it is given out again. */
static bool take_freed(struct hip_block *block)
{
    struct hip_block *old = hip_blocks;

    while (old != NULL && !(old->freed && old->kind == HIP_DEVICE && old->size == block->size &&
                            old->device == block->device)) {
        old = old->next;
    }
    if (old == NULL || block->kind != HIP_DEVICE || hip_switches.addresses != ADDRESSES_AGAIN) {
        return false;
    }
    block->name = old->name;
    block->pages = old->pages;
    hip_forget(old);
    hip_freed--;
    return true;
}

static char *map_device(struct hip_block *block, int file)
{
    if (!take_freed(block)) {
        block->name = names++;
        return hip_map_pages(block->page_bytes, file, block->file_offset);
    }
    return mmap(block->pages, block->page_bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED,
                file, (off_t)block->file_offset) != MAP_FAILED
               ? block->pages
               : NULL;
}

static bool map_block(struct hip_block *block)
{
    int file = -1;

    if (block->kind == HIP_DEVICE) {
        file = hip_file_of(block->device);
        block->file_offset = file_ends[block->device];
        if (file < 0 || ftruncate(file, (off_t)(block->file_offset + block->page_bytes)) != 0) {
            return false;
        }
        file_ends[block->device] += block->page_bytes;
    }
    block->pages = block->kind == HIP_DEVICE ? map_device(block, file)
                                             : hip_map_pages(block->page_bytes, file, 0);
    if (block->pages == NULL) {
        return false;
    }
    block->base = block->pages + block->page_bytes - hip_round_up(block->size, ALIGNMENT);
    hip_fill_new(block, file);
    if (hip_closed_to_host(block)) {
        hip_protect(block, false);
    }
    return true;
}

static bool is_moved(enum hip_kind kind)
{
    return (kind == HIP_HOST || kind == HIP_REGISTERED) && hip_switches.host == HOST_MOVED;
}

void hip_add(struct hip_block *block)
{
    block->id = ++ids;
    block->next = hip_blocks;
    hip_blocks = block;
}

hipError_t hip_block_new(enum hip_kind kind, size_t bytes, unsigned flags, void **memory_p)
{
    struct hip_block *block;
    hipError_t error = hipErrorOutOfMemory;
    int device = hip_current();

    if (memory_p == NULL) {
        return hipErrorInvalidValue;
    }
    *memory_p = NULL;
    if (bytes == 0) {
        return hipSuccess;
    }
    block = calloc(1, sizeof(*block));
    if (block == NULL) {
        return error;
    }
    *block = (struct hip_block){.kind = kind,
                                .device = device,
                                .flags = flags,
                                .size = bytes,
                                .page_bytes = hip_round_up(hip_round_up(bytes, ALIGNMENT), PAGE),
                                .moved = is_moved(kind)};
    pthread_mutex_lock(&hip_memory_lock);
    if ((kind != HIP_DEVICE ||
         used[device] + bytes <= (size_t)hip_switches.memory_mb * 1024 * 1024) &&
        map_block(block)) {
        used[device] += kind == HIP_DEVICE ? bytes : 0;
        hip_add(block);
        *memory_p = block->base;
        error = hipSuccess;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    if (error != hipSuccess) {
        free(block);
    }
    return error;
}

void hip_check_margins(const struct hip_block *block)
{
    const char *places[] = {block->pages, block->base + block->size};
    const char *ends[] = {block->base, block->pages + block->page_bytes};

    for (int i = 0; i < 2; i++) {
        for (const char *at = places[i]; at < ends[i]; at++) {
            if (*(const unsigned char *)at != FILL && !hip_is_wrong("memory-margin")) {
                hip_die("memory %s the %zu bytes allocated at %p was written",
                        i == 0 ? "before" : "behind", block->size, (void *)block->base);
            }
        }
    }
}

/* Behind all that live, which are looked for more often. Of the many that are freed, the oldest are
 * forgotten: their addresses may come back. */
static void bury(struct hip_block *block)
{
    struct hip_block **place = &hip_blocks;

    unlink_block(block);
    while (*place != NULL && !(*place)->freed) {
        place = &(*place)->next;
    }
    block->freed = true;
    block->next = *place;
    *place = block;
    if (++hip_freed <= TOMBSTONES) {
        return;
    }
    while ((*place)->next != NULL) {
        place = &(*place)->next;
    }
    block = *place;
    *place = NULL;
    munmap(block->pages - PAGE, block->page_bytes + 2 * PAGE);
    free(block);
    hip_freed--;
}

void hip_unmap(struct hip_block *block)
{
    if (mmap(block->pages, block->page_bytes, PROT_NONE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
        hip_die("mmap: %s", strerror(errno));
    }
    if (block->kind == HIP_DEVICE) {
        used[block->device] -= block->size;
    }
    bury(block);
}

hipError_t hip_block_free(enum hip_call call, void *memory, bool host)
{
    struct hip_block copy, *block;
    hipError_t error = hipErrorInvalidValue;
    size_t offset;
    bool moved;

    if (memory == NULL) {
        return hipSuccess;
    }
    if (!hip_block_find(memory, &copy, &offset) || offset != 0 || copy.kind == HIP_REGISTERED ||
        copy.kind == HIP_IPC || copy.kind == HIP_CHUNK || host != (copy.kind == HIP_HOST)) {
        return error;
    }
    if (call < HIP_CALLS) {
        hip_synchronizing(call, copy.device, true);
    }
    if (hip_is_wrong("memory-freed")) {
        return hipSuccess;
    }
    pthread_mutex_lock(&hip_memory_lock);
    block = hip_find(memory, &moved);
    if (block != NULL) {
        if (block->nics > 0 && !hip_is_wrong("memory-nic")) {
            hip_die("memory at %p is freed, and a NIC has it still", memory);
        }
        if (hip_closed_to_host(block)) {
            hip_protect(block, true);
        }
        if (block->kind != HIP_IMPORTED) { /* its owner looks */
            hip_check_margins(block);
        }
        hip_unmap(block);
        if (copy.pool != NULL) {
            hip_piece_freed(copy.pool);
        }
        error = hipSuccess;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return error;
}

static bool is_mapped(const char *memory, size_t bytes)
{
    uintptr_t first = (uintptr_t)memory / PAGE * PAGE;

    return msync((void *)first, hip_round_up((uintptr_t)memory + bytes, PAGE) - first, MS_ASYNC) ==
           0;
}

hipError_t hip_block_register(void *memory, size_t bytes, unsigned flags)
{
    struct hip_block *block;
    hipError_t error = hipSuccess;

    if (memory == NULL || bytes == 0 || flags > 15 || !is_mapped(memory, bytes)) {
        return hipErrorInvalidValue;
    }
    block = calloc(1, sizeof(*block));
    if (block == NULL) {
        return hipErrorOutOfMemory;
    }
    *block = (struct hip_block){.kind = HIP_REGISTERED,
                                .device = hip_current(),
                                .flags = flags,
                                .size = bytes,
                                .base = memory,
                                .moved = is_moved(HIP_REGISTERED)};
    pthread_mutex_lock(&hip_memory_lock);
    for (const struct hip_block *other = hip_blocks; other != NULL; other = other->next) {
        if (!other->freed && block->base < other->base + other->size &&
            other->base < block->base + bytes) {
            error = hipErrorHostMemoryAlreadyRegistered;
        }
    }
    if (error == hipSuccess) {
        hip_add(block);
    } else {
        free(block);
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return error;
}

hipError_t hip_block_unregister(void *memory)
{
    hipError_t error = hipErrorHostMemoryNotRegistered;
    struct hip_block *block;
    bool moved;

    pthread_mutex_lock(&hip_memory_lock);
    block = hip_find(memory, &moved);
    if (block != NULL && block->kind == HIP_REGISTERED && block->base == memory) {
        hip_forget(block);
        error = hipSuccess;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return error;
}

bool hip_block_map_again(const struct hip_block *theirs, size_t within, void **memory_p)
{
    struct hip_block *block;

    pthread_mutex_lock(&hip_memory_lock);
    for (block = hip_blocks; block != NULL; block = block->next) {
        if (!block->freed && block->kind == HIP_IPC && block->owner == theirs->owner &&
            block->name == theirs->name && block->device == hip_current()) {
            block->opens++;
            *memory_p = block->base + within;
            break;
        }
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return block != NULL;
}

hipError_t hip_block_map(int file, const struct hip_block *theirs, size_t within, void **memory_p)
{
    size_t page_bytes = hip_round_up(hip_round_up(theirs->size, ALIGNMENT), PAGE);
    struct hip_block *block = calloc(1, sizeof(*block));
    char *pages = hip_map_pages(page_bytes, file, theirs->file_offset);

    if (block == NULL || pages == NULL) {
        free(block);
        return hipErrorInvalidDevicePointer;
    }
    *block = (struct hip_block){.kind = HIP_IPC,
                                .device = hip_current(),
                                .plain = theirs->plain,
                                .size = theirs->size,
                                .pages = pages,
                                .base = pages + page_bytes - hip_round_up(theirs->size, ALIGNMENT),
                                .page_bytes = page_bytes,
                                .name = theirs->name,
                                .owner = theirs->owner,
                                .opens = 1};
    *memory_p = block->base + within;
    pthread_mutex_lock(&hip_memory_lock);
    if (hip_closed_to_host(block)) {
        hip_protect(block, false);
    }
    hip_add(block);
    pthread_mutex_unlock(&hip_memory_lock);
    return hipSuccess;
}

hipError_t hip_block_unmap(void *memory)
{
    hipError_t error = hipErrorInvalidValue;
    struct hip_block *block;
    bool moved;

    pthread_mutex_lock(&hip_memory_lock);
    block = hip_find(memory, &moved);
    if (block != NULL && block->kind == HIP_IPC) {
        if (--block->opens == 0) {
            hip_unmap(block);
        }
        error = hipSuccess;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return error;
}

static int count_live(void)
{
    int live = 0;

    pthread_mutex_lock(&hip_memory_lock);
    for (const struct hip_block *block = hip_blocks; block != NULL; block = block->next) {
        live += !block->freed;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return live;
}

HIP_EXPORT int hip_double_live(void)
{
    return count_live();
}

size_t hip_memory_used(int device)
{
    size_t bytes;

    pthread_mutex_lock(&hip_memory_lock);
    bytes = used[device];
    pthread_mutex_unlock(&hip_memory_lock);
    return bytes;
}

/* Under hip_memory_lock: the worker of this thread begins to use the block. */
static void open_block(struct hip_block *block)
{
    uint64_t me = (uint64_t)1 << hip_worker;

    if (!hip_closed_to_host(block) || (block->holders & me) != 0) {
        return;
    }
    if (block->holders == 0) {
        hip_protect(block, true);
    }
    block->holders |= me;
    opened++;
}

/* What is behind a chunk, and takes part in something that ends there; else NULL. */
static struct hip_block *behind(const struct hip_block *block, const void *address, size_t bytes)
{
    const char *end = block->base + block->size;
    struct hip_block *next = NULL;
    bool moved;

    if (block->kind == HIP_CHUNK && (const char *)address + bytes > end) {
        next = hip_find(end, &moved);
    }
    return next != NULL && next->kind == HIP_CHUNK ? next : NULL;
}

static void open_all(struct hip_block *block, const void *address, size_t bytes)
{
    for (; block != NULL; block = behind(block, address, bytes)) {
        open_block(block);
    }
}

bool hip_block_holds(const void *address, size_t bytes)
{
    const char *end = (const char *)((uintptr_t)address & ~MOVED) + bytes;
    const struct hip_block *block, *next;
    bool moved;

    pthread_mutex_lock(&hip_memory_lock);
    block = hip_find(address, &moved);
    while (block != NULL && (next = behind(block, address, bytes)) != NULL) {
        block = next;
    }
    pthread_mutex_unlock(&hip_memory_lock);
    return block != NULL && end <= block->base + block->size;
}

void *hip_open(const void *address, size_t bytes)
{
    bool moved;

    pthread_mutex_lock(&hip_memory_lock);
    open_all(hip_find(address, &moved), address, bytes);
    pthread_mutex_unlock(&hip_memory_lock);
    return (void *)((uintptr_t)address & ~MOVED);
}

void hip_close_all(void)
{
    uint64_t me = (uint64_t)1 << hip_worker;

    if (opened == 0) {
        return;
    }
    pthread_mutex_lock(&hip_memory_lock);
    for (struct hip_block *block = hip_blocks; block != NULL && opened > 0; block = block->next) {
        if ((block->holders & me) != 0) {
            opened--;
            block->holders &= ~me;
            if (block->holders == 0 && !block->freed) {
                hip_protect(block, false);
            }
        }
    }
    opened = 0;
    pthread_mutex_unlock(&hip_memory_lock);
}

/* Why the device of this thread cannot reach the block at this address, or NULL. */
static const char *unreachable(const struct hip_block *block, const void *address, size_t bytes,
                               bool moved)
{
    const struct hip_block *next = block != NULL ? behind(block, address, bytes) : NULL;

    if (block == NULL) {
        return "that is not allocated or registered";
    }
    if (next != NULL) {
        size_t here = (size_t)(next->base - (const char *)address);
        const char *why = unreachable(block, address, here, moved);

        return why != NULL ? why : unreachable(next, next->base, bytes - here, moved);
    }
    if (((uintptr_t)address & ~MOVED) + bytes > (uintptr_t)block->base + block->size) {
        return "that is not all allocated";
    }
    if (block->moved && !moved) {
        return "by its address for the host";
    }
    if (hip_running_on >= 0 && block->kind == HIP_DEVICE && block->device != hip_running_on &&
        !hip_is_wrong("memory-peer") && !hip.devices[hip_running_on].peer[block->device]) {
        return "of another device, without peer access";
    }
    if (hip_running_on >= 0 && (block->pool != NULL || block->kind == HIP_CHUNK) &&
        !hip_is_wrong("memory-access") &&
        ((block->pool != NULL ? hip_pool_reach(block->pool) : block->reach) >> hip_running_on &
         1) == 0) {
        return "of a pool or chunk to which it was not given access";
    }
    return NULL;
}

HIP_EXPORT void *hip_double_reach(const volatile void *address, size_t bytes)
{
    const void *place = (const void *)address;
    struct hip_block *block;
    const char *why;
    bool moved = false;

    pthread_mutex_lock(&hip_memory_lock);
    block = hip_find(place, &moved);
    why = unreachable(block, place, bytes, moved);
    if (why == NULL && hip_running_on >= 0) {
        open_all(block, place, bytes);
    }
    pthread_mutex_unlock(&hip_memory_lock);
    if (why != NULL) {
        hip_die("a kernel touches %zu bytes at %p, memory %s", bytes, place, why);
    }
    return (void *)((uintptr_t)place & ~MOVED);
}

/* The device or former device memory of an address. Under hip_memory_lock. */
static const struct hip_block *find_any(const char *address)
{
    for (const struct hip_block *block = hip_blocks; block != NULL; block = block->next) {
        if (block->pages != NULL && address >= block->pages - PAGE &&
            address < block->pages + block->page_bytes + PAGE) {
            return block;
        }
    }
    return NULL;
}

static void complain(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));

    (void)ignored; /* Nothing is left to be done about it. */
    abort();
}

/* True if the access may be tried again. */
static bool handle_fault(const char *address)
{
    const struct hip_block *any;
    bool inside = false, again = false, moved;

    pthread_mutex_lock(&hip_memory_lock);
    any = find_any(address);
    if (any != NULL && hip_running_on >= 0) {
        struct hip_block *block = hip_find(address, &moved);

        again = unreachable(block, address, 1, false) == NULL;
        if (again) {
            open_block(block);
        }
    }
    inside = any != NULL && !any->freed && address >= any->base && address < any->base + any->size;
    pthread_mutex_unlock(&hip_memory_lock);
    if (any != NULL && !again) {
        complain(hip_running_on >= 0 ? "hip double: work on a device touches memory outside of "
                                       "allocations, or that it cannot reach\n"
                 : inside            ? "hip double: the host touches device memory\n"
                          : "hip double: the host touches memory that is freed or beside an "
                            "allocation\n");
    }
    return again;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    int error = errno;

    if (info->si_code == SI_KERNEL) {
        /* Nothing but an address that cannot be one does that. */
        complain("hip double: an address for devices is used by the host, or a wild one\n");
    }
    if (handle_fault(info->si_addr)) {
        errno = error;
        return;
    }
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(number, info, context);
        return;
    }
    if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(number);
        return;
    }
    signal(SIGSEGV, SIG_DFL); /* the instruction faults again, and that ends the program */
}

void hip_fault_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    if (sigaction(SIGSEGV, &action, &previous) != 0) {
        hip_die("sigaction: %s", strerror(errno));
    }
}
