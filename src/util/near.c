/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Linux itself says which CPUs are near a device, so that no library is needed for it. */
#include "near.h"

#include <stdio.h>

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

/* How many of our own CPUs are near? */
static int nearness(const char *folder, const char *name, const struct mpixq_cpus *own)
{
    struct mpixq_cpus cpus;
    int n = 0;

    if (!read_cpus(folder, name, &cpus)) {
        return 0;
    }
    for (int cpu = 0; cpu < MPIXQ_CPUS_MAX; cpu++) {
        n += mpixq_cpus_has(&cpus, cpu) && mpixq_cpus_has(own, cpu);
    }
    return n;
}

int mpixq_near_choose(const char names[][MPIXQ_PCI_ROOM], int n, const char *folder,
                      const struct mpixq_cpus *own, int turn, const char **why_p)
{
    int best = 0, equals = 0, chosen = 0;

    for (int i = 0; i < n; i++) {
        int near = nearness(folder, names[i], own);

        equals = near == best ? equals + 1 : near > best ? 1 : equals;
        best = near > best ? near : best;
    }
    *why_p = n == 1        ? "the only one"
             : equals == 1 ? "near"
             : equals < n  ? "near, in turns"
                           : "in turns";
    for (int left = turn % equals; chosen < n; chosen++) {
        if (nearness(folder, names[chosen], own) == best && left-- == 0) {
            break;
        }
    }
    return chosen;
}
