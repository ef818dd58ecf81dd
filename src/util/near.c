/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Linux itself says which CPUs are near a device, and where on the bus it is, so that no library is
 * needed for it. */
#include "near.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_cpus(const char *folder, const char *name, struct mpixq_cpus *cpus_p)
{
    char path[512], text[4096];
    FILE *file;
    bool found;

    (void)snprintf(path, sizeof path, "%s/%s/local_cpulist", folder, name);
    file = name[0] != '\0' ? fopen(path, "r") : NULL;
    if (file == NULL) {
        return false;
    }
    found = fgets(text, sizeof text, file) != NULL;
    (void)fclose(file);
    return found && mpixq_cpus_parse(text, cpus_p);
}

static int count_common(const struct mpixq_cpus *some, const struct mpixq_cpus *others)
{
    int n = 0;

    for (int cpu = 0; cpu < MPIXQ_CPUS_MAX; cpu++) {
        n += mpixq_cpus_has(some, cpu) && mpixq_cpus_has(others, cpu);
    }
    return n;
}

/* How many of our own CPUs are near? */
static int near_cpus(const struct mpixq_near *to, const char *name)
{
    struct mpixq_cpus cpus;

    return read_cpus(to->folder, name, &cpus) ? count_common(&cpus, to->own) : 0;
}

/* The way to a device: its root and all bridges, as in .../pci0000:c0/0000:c0:01.1/0000:c1:00.0. */
static bool read_way(const char *folder, const char *name, char way[PATH_MAX])
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return name[0] != '\0' && realpath(path, way) != NULL;
}

/* Roots and bridges that two ways have in common, which have colons in their names. */
static int count_shared(const char *way, const char *other)
{
    int n = 0;

    while (*way == '/' && *other == '/') {
        size_t length = strcspn(++way, "/");

        if (length != strcspn(++other, "/") || strncmp(way, other, length) != 0) {
            break;
        }
        n += memchr(way, ':', length) != NULL;
        way += length;
        other += length;
    }
    return n;
}

/* How near is it to the GPU? 0: not, or that is not known. */
static int near_gpu(const struct mpixq_near *to, const char *name)
{
    char way[PATH_MAX], way_of_gpu[PATH_MAX];
    struct mpixq_cpus cpus, cpus_of_gpu;
    int n = 0;

    if (read_way(to->folder, name, way) && read_way(to->folder, to->gpu, way_of_gpu)) {
        n = count_shared(way, way_of_gpu);
    }
    if (n == 0 && read_cpus(to->folder, name, &cpus) &&
        read_cpus(to->folder, to->gpu, &cpus_of_gpu)) {
        return count_common(&cpus, &cpus_of_gpu) > 0;
    }
    return n > 0 ? n + 1 : 0;
}

/* The GPU decides first. */
static int nearness(const struct mpixq_near *to, const char *name)
{
    return near_gpu(to, name) * (MPIXQ_CPUS_MAX + 1) + near_cpus(to, name);
}

/* Is one nearer to it than another? */
static bool does_gpu_tell(const char names[][MPIXQ_PCI_ROOM], int n, const struct mpixq_near *to)
{
    for (int i = 1; i < n; i++) {
        if (near_gpu(to, names[i]) != near_gpu(to, names[0])) {
            return true;
        }
    }
    return false;
}

/* Those that are equally near begin with the one whose turn it is. */
static void take_turns(int equals[], int n, int turn)
{
    for (int left = turn % n; left > 0; left--) {
        int first = equals[0];

        for (int i = 0; i + 1 < n; i++) {
            equals[i] = equals[i + 1];
        }
        equals[n - 1] = first;
    }
}

static const char *reason(int n, int equals, bool by_gpu)
{
    if (n == 1) {
        return "the only one";
    }
    if (by_gpu) {
        return equals == 1 ? "near the GPU" : "near the GPU, in turns";
    }
    return equals == 1 ? "near" : equals < n ? "near, in turns" : "in turns";
}

void mpixq_near_order(const char names[][MPIXQ_PCI_ROOM], int n, const struct mpixq_near *to,
                      int order[], const char **why_p)
{
    int done = 0, class = INT_MAX, equals = 0;

    while (done < n) {
        int begin = done, next = -1;

        for (int i = 0; i < n; i++) {
            int near = nearness(to, names[i]);

            if (near == class) {
                order[done++] = i;
            }
            next = near < class && near > next ? near : next;
        }
        if (done > begin) {
            take_turns(order + begin, done - begin, to->turn);
            equals = equals == 0 ? done : equals;
        }
        class = next;
    }
    *why_p = reason(n, equals, does_gpu_tell(names, n, to));
}
