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

void mpixq_near_order(const char names[][MPIXQ_PCI_ROOM], int n, const char *folder,
                      const struct mpixq_cpus *own, int turn, int order[], const char **why_p)
{
    int done = 0, class = MPIXQ_CPUS_MAX, equals = 0;

    while (done < n) {
        int begin = done, next = -1;

        for (int i = 0; i < n; i++) {
            int near = nearness(folder, names[i], own);

            if (near == class) {
                order[done++] = i;
            }
            next = near < class && near > next ? near : next;
        }
        if (done > begin) {
            take_turns(order + begin, done - begin, turn);
            equals = equals == 0 ? done : equals;
        }
        class = next;
    }
    *why_p = n == 1        ? "the only one"
             : equals == 1 ? "near"
             : equals < n  ? "near, in turns"
                           : "in turns";
}
