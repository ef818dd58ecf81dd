/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * gpus.c - the GPUs that the process finds, and what they reach
 */
#include <string.h>

#include "info.h"
#include "stream/gpu.h"
#include "stream/gpu_share.h"

enum { MOST_VENDORS = 4, MOST_BUFFERS = 2 };

/* The vendors whose GPUs the process uses, and their memory that it has. */
static struct {
    const struct mpixq_gpu *gpu;
    void *buffers[MOST_BUFFERS];
} used[MOST_VENDORS];
static int n_used;

static void add(char *list, size_t room, int device)
{
    size_t length = strlen(list);

    (void)snprintf(list + length, room - length, "%s%d", length > 0 ? ", " : "", device);
}

/* The channel ipc needs atomic operations. */
static void tell_reach(struct mpixq_facts *facts, const struct mpixq_gpu *gpu, int device,
                       int count)
{
    char atomics[200] = "", memory[200] = "", name[64];

    for (int i = 0; i < count; i++) {
        enum mpixq_gpu_reach reach =
            i == device ? MPIXQ_REACH_NOTHING : mpixq_gpu_reach(gpu, device, i);

        if (reach == MPIXQ_REACH_ATOMICS) {
            add(atomics, sizeof atomics, i);
        } else if (reach == MPIXQ_REACH_MEMORY) {
            add(memory, sizeof memory, i);
        }
    }
    (void)snprintf(name, sizeof name, "%s %d reaches", gpu->name, device);
    mpixq_fact(facts, name, "%s%s%s%s%s",
               atomics[0] == '\0' && memory[0] == '\0' ? "no other" : atomics,
               atomics[0] != '\0' ? " (memory and atomics)" : "",
               atomics[0] != '\0' && memory[0] != '\0' ? "; " : "", memory,
               memory[0] != '\0' ? " (memory without atomics: not by channel ipc)" : "");
}

static void tell_devices(struct mpixq_facts *facts, const struct mpixq_gpu *gpu, int count)
{
    for (int device = 0; device < count; device++) {
        char what[MPIXQ_GPU_NAME_ROOM] = "", bus[MPIXQ_GPU_NAME_ROOM] = "", name[64];
        int code = mpixq_gpu_describe(gpu, device, what, bus);

        (void)snprintf(name, sizeof name, "%s %d", gpu->name, device);
        if (code == 0) {
            mpixq_fact(facts, name, "%s at %s", what, bus);
        } else {
            mpixq_fact(facts, name, "not known: %s", gpu->text(code));
        }
        tell_reach(facts, gpu, device, count);
    }
}

static void tell_use(struct mpixq_facts *facts, const struct mpixq_gpu *gpu, int device)
{
    char name[64];
    int code = gpu->use(device);

    (void)snprintf(name, sizeof name, "%s in use", gpu->name);
    if (code == 0) {
        mpixq_fact(facts, name, "%d", device);
        used[n_used++].gpu = gpu;
    } else {
        mpixq_fact(facts, name, "none: %d cannot be used: %s", device, gpu->text(code));
    }
}

void tell_gpus(struct mpixq_facts *facts, int node_rank)
{
    for (int i = 0; mpixq_gpus[i] != NULL && n_used < MOST_VENDORS; i++) {
        const struct mpixq_gpu *gpu = mpixq_gpus[i];
        int count = 0;

        now_at(gpu->library);
        if (!gpu->find(true) || mpixq_gpu_count(gpu, &count) != 0 || count < 1) {
            mpixq_fact(facts, gpu->name, "none: %s is not there, or finds no GPU", gpu->library);
        } else {
            mpixq_fact(facts, gpu->name, "%d found by %s", count, gpu->library);
            tell_devices(facts, gpu, count);
            tell_use(facts, gpu, node_rank % count);
        }
    }
}

bool gpu_buffers(int vendor, const char **name_p, void *buffers[2], size_t bytes)
{
    if (vendor >= n_used) {
        return false;
    }
    *name_p = used[vendor].gpu->name;
    for (int i = 0; i < MOST_BUFFERS; i++) {
        void **buffer = &used[vendor].buffers[i];

        if (*buffer == NULL && used[vendor].gpu->alloc(bytes, buffer) != 0) {
            *buffer = NULL;
        }
        buffers[i] = *buffer;
    }
    return true;
}

void gpus_close(void)
{
    for (int i = 0; i < n_used; i++) {
        for (int j = 0; j < MOST_BUFFERS; j++) {
            if (used[i].buffers[j] != NULL) {
                mpixq_gpu_free(used[i].gpu, used[i].buffers[j]);
            }
        }
    }
}
