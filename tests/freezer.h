/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * freezer.h - stops threads of this process from outside, as a debugger does
 *
 * A child process, made before MPI is initialised, traces the threads that it is given: a thread
 * that is stopped so executes nothing until it is let go, whatever it blocks or handles.
 */
#ifndef FREEZER_H_INCLUDED
#define FREEZER_H_INCLUDED

#include <stdbool.h>
#include <sys/types.h>

enum freezer_state {
    FREEZER_IDLE,
    FREEZER_ASKED,
    FREEZER_FROZEN,
    FREEZER_LET_GO, /* asked for by a thread that runs */
    FREEZER_THAWED,
    FREEZER_REFUSED, /* a thread could not be traced */
    FREEZER_TIMED_OUT,
    FREEZER_END
};

/* Before MPI_Init. */
void freezer_begin(void);
void freezer_end(void);

/* Freeze all threads but this one and those of these names, which end with NULL, and the caller as
 * well. Returns when somebody has let go, or after so many seconds: how it ended. */
enum freezer_state freezer_run(pid_t spared, const char *const names[], int limit_s);

/* For the thread that is spared. */
enum freezer_state freezer_state(void);
void freezer_let_go(void);

/* Have all threads but the caller and these been asleep for a while? */
bool freezer_is_quiet(pid_t spared, const char *const names[]);

/* Threads frozen the last time. */
int freezer_count(void);

#endif
