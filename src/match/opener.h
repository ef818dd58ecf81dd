/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A thread that opens for pairs what takes a call of a GPU's library (match_open.c), where no
 * thread of the program comes by to do so: one may have begun MPIX_Imatch and be blocked in MPI.
 * The progress thread must not, since such a call may block until the GPU goes on, which may take
 * what that thread does. It is made when it is first needed, with MPI_THREAD_MULTIPLE only.
 */
#ifndef MPIXQ_OPENER_H
#define MPIXQ_OPENER_H

#include <stdbool.h>

/* There is something to open, by a function that says whether there was. Any thread, under any lock
 * but its own, which is a leaf. */
void mpixq_opener_wake(bool (*open)(void));
/* In MPI_Finalize, before matching ends. */
void mpixq_opener_stop(void);

#endif
