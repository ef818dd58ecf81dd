/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Environment variables: read once, before the library does anything else.
 */
#ifndef MPIXQ_ENV_H
#define MPIXQ_ENV_H

#include <stdbool.h>

enum mpixq_thread_choice { MPIXQ_THREAD_AUTO, MPIXQ_THREAD_KEEP, MPIXQ_THREAD_MULTIPLE };

struct mpixq_env {
#define MPIXQ_ENV_CHOICE(field, name, def, choices, help) long field;
#define MPIXQ_ENV_INT(field, name, def, low, high, help) long field;
#include "env_defs.h"
#undef MPIXQ_ENV_CHOICE
#undef MPIXQ_ENV_INT
};

/* Written by mpixq_env_read, constant afterwards. */
extern struct mpixq_env mpixq_env;

/* Read all variables, at first call. Malformed values keep the default. */
void mpixq_env_read(void);
/* Warn, through the log, of malformed values and of MPIXQ_ variables that do not exist. */
void mpixq_env_warn(void);
/* Print every variable with its value and where that comes from. */
void mpixq_env_print(void);
/* Number of ranks that the launcher started on this node, or 1 if it does not say. */
int mpixq_env_local_ranks(void);

#endif
