/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Takes the place of NVML in tests/unit/cuda_nvml.c, which says what it answers: there are two
 * GPUs, whose UUIDs count up from 0 and from 0xf0.
 */
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, NOT_FOUND = 6, NOT_SUPPORTED = 3, ATOMICS = 3 };

/* How often it was begun and not ended; what the first GPU finds of the other, and that of it. */
EXPORT int other_nvml_users, other_nvml_status[2], other_nvml_error;

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **device_p);
EXPORT int nvmlDeviceGetP2PStatus(void *one, void *other, int what, int *status_p);

static char devices[2];

int nvmlInit_v2(void)
{
    if (other_nvml_error != SUCCESS) {
        return other_nvml_error;
    }
    other_nvml_users++;
    return SUCCESS;
}

int nvmlShutdown(void)
{
    other_nvml_users--;
    return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device_p)
{
    static const char *const uuids[] = {"GPU-00010203-0405-0607-0809-0a0b0c0d0e0f",
                                        "GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff"};

    for (int i = 0; i < 2; i++) {
        if (strcmp(uuid, uuids[i]) == 0) {
            *device_p = &devices[i];
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetP2PStatus(void *one, void *other, int what, int *status_p)
{
    if (what != ATOMICS || one == other) {
        return NOT_SUPPORTED;
    }
    *status_p = other_nvml_status[one == &devices[1]];
    return SUCCESS;
}
