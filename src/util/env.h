/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Environment variables: read once, before the library does anything else.
 */
#ifndef MPIXQ_ENV_H
#define MPIXQ_ENV_H

#include <stdbool.h>

#include "channel_set.h"
#include "cpus.h"

enum mpixq_cxi_data_choice { MPIXQ_CXI_DATA_COUNTED, MPIXQ_CXI_DATA_DELIVERED };
enum mpixq_cxi_gpu_choice { MPIXQ_CXI_GPU_AUTO, MPIXQ_CXI_GPU_STAGED, MPIXQ_CXI_GPU_DIRECT };
enum mpixq_fallback_choice { MPIXQ_FALLBACK_ALLOW, MPIXQ_FALLBACK_FORBID };
enum mpixq_thread_choice { MPIXQ_THREAD_AUTO, MPIXQ_THREAD_KEEP, MPIXQ_THREAD_MULTIPLE };
enum mpixq_gpu_ops_choice {
    MPIXQ_GPU_OPS_AUTO,
    MPIXQ_GPU_OPS_KERNELS,
    MPIXQ_GPU_OPS_VALUES,
    MPIXQ_GPU_OPS_UNSHARED
};
enum mpixq_cma_choice { MPIXQ_CMA_AUTO, MPIXQ_CMA_NO };
enum mpixq_shared_windows_choice { MPIXQ_SHARED_WINDOWS_AUTO, MPIXQ_SHARED_WINDOWS_NO };
enum mpixq_gpu_aware_choice { MPIXQ_GPU_AWARE_AUTO, MPIXQ_GPU_AWARE_NO, MPIXQ_GPU_AWARE_YES };
enum mpixq_ipc_choice { MPIXQ_IPC_AUTO, MPIXQ_IPC_NO };
enum mpixq_watchdog_choice { MPIXQ_WATCHDOG_REPORT, MPIXQ_WATCHDOG_ERROR };

/* In the order of the choices of MPIXQ_AFFINITY. */
enum mpixq_affinity_choice {
    MPIXQ_AFFINITY_AUTO,
    MPIXQ_AFFINITY_NONE,
    MPIXQ_AFFINITY_CPUSET,
    MPIXQ_AFFINITY_LIST
};

struct mpixq_env_cpus {
    long choice;
    struct mpixq_cpus list; /* for the last choice */
};

struct mpixq_env {
#define MPIXQ_ENV_CHOICE(field, name, def, choices, help) long field;
#define MPIXQ_ENV_INT(field, name, def, low, high, help) long field;
#define MPIXQ_ENV_CPUS(field, name, def, choices, help) struct mpixq_env_cpus field;
#define MPIXQ_ENV_CHANNELS(field, name, def, choices, help) struct mpixq_channel_set field;
#define MPIXQ_ENV_TEXT(field, name, def, choices, help) const char *field;
#include "env_defs.h"
#undef MPIXQ_ENV_CHOICE
#undef MPIXQ_ENV_INT
#undef MPIXQ_ENV_CPUS
#undef MPIXQ_ENV_CHANNELS
#undef MPIXQ_ENV_TEXT
    bool was_read;
};

/* Written by mpixq_env_read, constant afterwards. */
extern struct mpixq_env mpixq_env;

/* Read all variables, at first call. Malformed values keep the default. */
void mpixq_env_read(void);
/* Warn, through the log, of malformed values and of MPIXQ_ variables that do not exist. */
void mpixq_env_warn(void);
/* What there is to say of a variable, in texts that last until the callee returns. */
struct mpixq_env_fact {
    const char *name, *value;
    const char *usual;         /* its default; NULL: there is no such variable */
    const char *source;        /* environment, default, alias (by another one), or unknown */
    const char *by;            /* that other one; or NULL */
    const char *refused, *why; /* what it is set to in vain, and why; or NULL */
    const char *help;          /* NULL: there is no such variable */
};
/* Tell of every variable; then of what is set, begins with MPIXQ_ and is none. */
void mpixq_env_tell(void (*tell)(void *arg, const struct mpixq_env_fact *fact), void *arg);
/* Print every variable with its value and where that comes from. */
void mpixq_env_print(void);

#endif
