/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "memory.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "comm/error.h"
#include "gpu.h"
#include "gpu_kept.h"
#include "gpu_life.h"
#include "gpu_share.h"
#include "gpu_words.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/log.h"

enum { SMALLEST = 4096 };

unsigned mpixq_memory_kinds(void)
{
    unsigned kinds = 0;

    for (int i = 0; mpixq_gpus[i] != NULL; i++) {
        kinds |= mpixq_gpus[i]->is_used() ? 1U << i : 0;
    }
    return kinds;
}

void mpixq_memory_relax(unsigned kinds)
{
    for (int i = 0; mpixq_gpus[i] != NULL; i++) {
        if ((kinds & 1U << i) != 0) {
            mpixq_gpu_relax(mpixq_gpus[i]);
        }
    }
}

void mpixq_memory_restore(unsigned kinds)
{
    for (int i = 0; mpixq_gpus[i] != NULL; i++) {
        if ((kinds & 1U << i) != 0) {
            mpixq_gpu_restore(mpixq_gpus[i]);
        }
    }
}

bool mpixq_memory_has_gpu(void)
{
    return mpixq_memory_kinds() != 0;
}

const char *mpixq_memory_of(unsigned kinds, const void *address, void **place_p, bool *moves_p)
{
    enum mpixq_place_of_memory where = MPIXQ_AT_HOST;
    const char *kind = NULL;

    *place_p = NULL;
    for (int i = 0; where == MPIXQ_AT_HOST && mpixq_gpus[i] != NULL; i++) {
        if ((kinds & 1U << i) != 0) {
            where = mpixq_gpus[i]->where(address, place_p);
            kind = mpixq_gpus[i]->kind;
        }
    }
    *moves_p = where == MPIXQ_MOVING;
    return where == MPIXQ_AT_GPU ? kind : NULL;
}

static char *seen_here(const struct mpixq_gpu *gpu, const char *address, size_t bytes)
{
    void *first, *last;

    return mpixq_gpu_address(gpu, (char *)address, &first) == 0 &&
                   mpixq_gpu_address(gpu, (char *)address + bytes - 1, &last) == 0 &&
                   (char *)last == (char *)first + bytes - 1
               ? first
               : NULL;
}

char *mpixq_memory_seen(const void *address, size_t bytes, const void **place_p, uint64_t *life_p)
{
    void *place, *before;
    char *seen = NULL;
    int device;

    for (int i = 0; seen == NULL && bytes > 0 && mpixq_gpus[i] != NULL; i++) {
        const struct mpixq_gpu *gpu = mpixq_gpus[i];

        if (gpu->is_used() && gpu->device_of(address, &device) == 0 &&
            gpu->place_of(NULL, &place) == 0 && gpu->enter(place, &before) == 0) {
            seen = seen_here(gpu, address, bytes);
            *place_p = place;
            *life_p = mpixq_gpu_life(gpu, place);
            gpu->leave(place, before);
        }
    }
    return seen;
}

bool mpixq_memory_orders(void)
{
    for (int i = 0; mpixq_gpus[i] != NULL; i++) {
        if (mpixq_gpus[i]->is_used() && mpixq_gpu_orders(mpixq_gpus[i])) {
            return true;
        }
    }
    return false;
}

/* With HIP a thread that has chosen no device has the first one, which is not to pass for a choice
 * where there are several: that would bring all ranks of a node to the same GPU. */
static bool find_device(const struct mpixq_gpu *gpu, int *device_p)
{
    int n = 0;

    return mpixq_gpu_cleared(gpu, gpu->calls->device(device_p)) == 0 &&
           mpixq_gpu_cleared(gpu, gpu->calls->device_count(&n)) == 0 &&
           (!gpu->first_is_default || *device_p > 0 || n == 1);
}

/* The libraries write it with capitals, or with more digits. */
static bool bus_of(const struct mpixq_gpu *gpu, int device, char name_p[MPIXQ_PCI_ROOM])
{
    unsigned domain, bus, slot, function;
    char name[2 * MPIXQ_PCI_ROOM] = "";

    if (gpu->calls->bus_id == NULL ||
        mpixq_gpu_cleared(gpu, gpu->calls->bus_id(name, sizeof name, device)) != 0 ||
        sscanf(name, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4) {
        return false;
    }
    (void)snprintf(name_p, MPIXQ_PCI_ROOM, "%04x:%02x:%02x.%x", domain, bus, slot, function);
    return true;
}

static bool find_device_at(const struct mpixq_gpu *gpu, void *place, int *device_p)
{
    void *before;
    bool found;

    if (mpixq_gpu_cleared(gpu, gpu->enter(place, &before)) != 0) {
        return false;
    }
    found = mpixq_gpu_cleared(gpu, gpu->calls->device(device_p)) == 0;
    gpu->leave(place, before);
    return found;
}

bool mpixq_memory_bus(const char *kind, const void *address, void *place,
                      char name_p[MPIXQ_PCI_ROOM])
{
    const struct mpixq_gpu *gpu = kind != NULL ? mpixq_gpu_of(kind) : NULL;
    int device;

    if (gpu != NULL) {
        bool found = address != NULL ? mpixq_gpu_cleared(gpu, gpu->device_of(address, &device)) == 0
                                     : find_device_at(gpu, place, &device);
        return found && bus_of(gpu, device, name_p);
    }
    for (int i = 0; mpixq_gpus[i] != NULL; i++) {
        if (mpixq_gpus[i]->is_used() && find_device(mpixq_gpus[i], &device) &&
            bus_of(mpixq_gpus[i], device, name_p)) {
            return true;
        }
    }
    return false;
}

const char *mpixq_memory_for_nic(const char *kind, const void *address, bool written, bool trusts,
                                 int *device_p)
{
    return mpixq_gpu_for_nic(mpixq_gpu_of(kind), address, written, trusts, device_p);
}

bool mpixq_memory_held(const char *kind, const void *address)
{
    return mpixq_gpu_held(mpixq_gpu_of(kind), address) == 0;
}

uint64_t mpixq_memory_life(const char *kind, void *place)
{
    const struct mpixq_gpu *gpu = mpixq_gpu_of(kind);
    uint64_t life = 0;
    void *before;

    if (place != NULL && gpu->enter(place, &before) == 0) {
        life = mpixq_gpu_life(gpu, place);
        gpu->leave(place, before);
    }
    return life;
}

bool mpixq_memory_has_kernels(const char *kind, void *place)
{
    const struct mpixq_gpu *gpu = mpixq_gpu_of(kind);
    struct mpixq_gpu_kernels kernels = {.ring = NULL};
    void *before;

    if (mpixq_env.gpu_ops != MPIXQ_GPU_OPS_VALUES && gpu->enter(place, &before) == 0) {
        kernels = mpixq_gpu_kernels(gpu, place, mpixq_gpu_life(gpu, place));
        gpu->leave(place, before);
    }
    return kernels.combine_all != NULL;
}

bool mpixq_memory_is_over(uint64_t life)
{
    return mpixq_gpu_life_is_over(life);
}

unsigned mpixq_memory_lives_over(void)
{
    return mpixq_gpu_lives_over();
}

/* A spare one that is not much too large. */
static struct mpixq_staging *spare_of(const struct mpixq_gpu *gpu, const void *place, size_t room)
{
    struct mpixq_staging *staging;

    mpixq_lock_acquire(&mpixq_gpu_kept.memory.lock);
    LL_FOREACH(mpixq_gpu_kept.memory.first, staging)
    {
        if (staging->memory.gpu == gpu && staging->place == place && staging->room == room) {
            LL_DELETE(mpixq_gpu_kept.memory.first, staging);
            break;
        }
    }
    mpixq_lock_release(&mpixq_gpu_kept.memory.lock);
    return staging;
}

/* For GPUs, new or once more. */
static int make_known(const struct mpixq_gpu *gpu, struct mpixq_staging *staging)
{
    bool is_new = staging->memory.gpu == NULL;
    int code = is_new ? mpixq_pinned_take(gpu, staging->room, &staging->memory)
                      : mpixq_pinned_renew(&staging->memory);

    if (code == 0) {
        code = mpixq_gpu_address(gpu, staging->memory.host, &staging->address);
        if (code != 0) {
            mpixq_pinned_give_up(&staging->memory, false);
        }
    }
    return code;
}

static int make_known_in_place(const struct mpixq_gpu *gpu, struct mpixq_staging *staging)
{
    void *place = staging->place, *before;
    int code = place == NULL ? gpu->place_of(NULL, &place) : 0;

    code = code != 0 ? code : gpu->enter(place, &before);
    if (code == 0) {
        code = make_known(gpu, staging);
        gpu->leave(place, before);
    }
    return code;
}

struct mpixq_staging *mpixq_staging_take(const char *kind, void *place, uint64_t life, size_t bytes)
{
    const struct mpixq_gpu *gpu = mpixq_gpu_of(kind);
    struct mpixq_staging *staging;
    size_t room = SMALLEST;
    int code;

    while (room < bytes) {
        room *= 2;
    }
    staging = spare_of(gpu, place, room);
    if (staging != NULL && staging->life == life) {
        return staging;
    }
    staging =
        staging != NULL ? staging : mpixq_alloc(sizeof *staging); /* freed in mpixq_memory_close */
    if (staging == NULL) {
        return NULL;
    }
    staging->place = place;
    staging->life = life;
    staging->room = room;
    code = make_known_in_place(gpu, staging);
    if (code != 0) {
        mpixq_warn("no memory that %s can copy to (%zu bytes): %s", gpu->name, room,
                   gpu->text(code));
        mpixq_pinned_give_up(&staging->memory, mpixq_gpu_life_is_over(life));
        mpixq_free(staging);
        return NULL;
    }
    return staging;
}

void mpixq_staging_give_back(struct mpixq_staging *staging)
{
    if (staging != NULL) {
        mpixq_lock_acquire(&mpixq_gpu_kept.memory.lock);
        LL_PREPEND(mpixq_gpu_kept.memory.first, staging);
        mpixq_lock_release(&mpixq_gpu_kept.memory.lock);
    }
}

static int map_here(const struct mpixq_gpu *gpu, void *memory, size_t bytes, bool is_io,
                    void **address_p)
{
    int code = mpixq_gpu_map(gpu, memory, bytes, is_io);

    if (code == 0) {
        code = mpixq_gpu_address(gpu, memory, address_p);
        if (code != 0) {
            (void)mpixq_gpu_unmap(gpu, memory); /* it was mapped just now */
        }
    }
    return code;
}

void *mpixq_memory_map(const struct mpixq_gpu *gpu, void *memory, size_t bytes, bool is_io)
{
    void *place, *before, *address = NULL;
    int code = gpu->place_of(NULL, &place);

    code = code != 0 ? code : gpu->enter(place, &before);
    if (code == 0) {
        code = map_here(gpu, memory, bytes, is_io, &address);
        gpu->leave(place, before);
    }
    if (code != 0) {
        mpixq_debug("%s cannot reach %s: %s", gpu->name, is_io ? "registers" : "memory",
                    gpu->text(code));
    }
    return code == 0 ? address : NULL;
}

void mpixq_memory_unmap(const struct mpixq_gpu *gpu, void *memory)
{
    mpixq_gpu_relax(gpu);
    (void)mpixq_gpu_unmap(gpu, memory); /* the context may be gone, and the mapping with it */
    mpixq_gpu_restore(gpu);
}

const char *mpixq_memory_kind(const char *value)
{
    int i = 0;

    while (mpixq_gpus[i] != NULL && strcmp(mpixq_gpus[i]->memory, value) != 0) {
        i++;
    }
    return mpixq_gpus[i] != NULL ? mpixq_gpus[i]->kind : NULL;
}

/* What goes with its device has gone already. */
static void free_block(const struct mpixq_made *block)
{
    void *before;

    if (!mpixq_gpu_life_is_over(block->life) && block->gpu->enter(block->place, &before) == 0) {
        mpixq_gpu_free(block->gpu, block->address);
        block->gpu->leave(block->place, before);
    }
}

/* Nobody waits on a stream meanwhile. */
static void free_kept(void)
{
    struct mpixq_made *block, *next, *all;

    mpixq_lock_acquire(&mpixq_gpu_kept.memory.lock);
    all = mpixq_gpu_kept.memory.n_holding == 0 ? mpixq_gpu_kept.memory.made : NULL;
    mpixq_gpu_kept.memory.made = all != NULL ? NULL : mpixq_gpu_kept.memory.made;
    mpixq_lock_release(&mpixq_gpu_kept.memory.lock);
    LL_FOREACH_SAFE(all, block, next)
    {
        free_block(block);
        mpixq_free(block);
    }
}

static void keep(const struct mpixq_made *block)
{
    struct mpixq_made *copy = mpixq_alloc(sizeof *copy); /* freed in free_kept, or at the end */

    if (copy != NULL) { /* else it is lost, which does less harm than to wait */
        *copy = *block;
        mpixq_lock_acquire(&mpixq_gpu_kept.memory.lock);
        LL_PREPEND(mpixq_gpu_kept.memory.made, copy);
        mpixq_lock_release(&mpixq_gpu_kept.memory.lock);
    }
}

static int take_here(struct mpixq_made *block)
{
    int code = block->gpu->alloc(block->bytes, &block->address);

    block->life = code == 0 ? mpixq_gpu_life(block->gpu, block->place) : 0;
    return code;
}

static int take(struct mpixq_made *block)
{
    void *before;
    int code = block->place != NULL ? 0 : block->gpu->place_of(NULL, &block->place);

    code = code != 0 ? code : block->gpu->enter(block->place, &before);
    if (code == 0) {
        code = take_here(block);
        block->gpu->leave(block->place, before);
    }
    return mpixq_gpu_cleared(block->gpu, code);
}

bool mpixq_memory_make(const char *kind, void *place, size_t bytes, struct mpixq_made *made_p,
                       struct mpixq_refusal *refusal)
{
    const struct mpixq_gpu *gpu = mpixq_gpu_of(kind);
    struct mpixq_made block = {.gpu = gpu, .kind = gpu->kind, .place = place, .bytes = bytes};
    bool alone;
    int code;

    *made_p = (struct mpixq_made){.gpu = NULL};
    if (!gpu->find(true)) {
        *refusal = (struct mpixq_refusal){.error = gpu->not_found};
        return false;
    }
    *refusal = (struct mpixq_refusal){
        .error = MPIXQ_E_NO_MEMORY,
        .why = "a wait is pending on a stream, and to allocate memory might wait for it"};
    mpixq_memory_tidy();
    alone = mpixq_streams_pause_waits();
    if (!alone && !gpu->at_once) {
        return false;
    }
    code = take(&block);
    if (alone) {
        mpixq_streams_resume_waits();
    }
    refusal->why = gpu->text(code);
    *made_p = code == 0 ? block : *made_p;
    return code == 0;
}

void mpixq_memory_unmake(struct mpixq_made *made)
{
    if (made->gpu == NULL) {
        return;
    }
    if (mpixq_streams_pause_all()) {
        free_kept();
        free_block(made);
        mpixq_streams_resume_waits();
    } else {
        keep(made);
    }
    *made = (struct mpixq_made){.gpu = NULL};
}

void mpixq_memory_unmake_later(struct mpixq_made *made)
{
    if (made->gpu != NULL) {
        keep(made);
        *made = (struct mpixq_made){.gpu = NULL};
    }
}

void mpixq_memory_hold(bool holds)
{
    mpixq_lock_acquire(&mpixq_gpu_kept.memory.lock);
    mpixq_gpu_kept.memory.n_holding += holds ? 1 : -1;
    mpixq_lock_release(&mpixq_gpu_kept.memory.lock);
}

void mpixq_memory_tidy(void)
{
    if (mpixq_streams_pause_all()) {
        free_kept();
        mpixq_streams_resume_waits();
    }
}

void mpixq_memory_close(void)
{
    struct mpixq_staging *staging;
    struct mpixq_made *made;

    while ((staging = mpixq_gpu_kept.memory.first) != NULL) {
        LL_DELETE(mpixq_gpu_kept.memory.first, staging);
        mpixq_pinned_give_up(&staging->memory, mpixq_gpu_life_is_over(staging->life));
        mpixq_free(staging);
    }
    while ((made = mpixq_gpu_kept.memory.made) != NULL) { /* the memory goes with the process */
        LL_DELETE(mpixq_gpu_kept.memory.made, made);
        mpixq_free(made);
    }
}
