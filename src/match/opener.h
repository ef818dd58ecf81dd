/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * A thread for what takes a call of a GPU's library, where no thread of the program comes by to do
 * so, as all of them may be blocked in MPI: it opens for pairs of MPIX_Imatch what they need of
 * their peers (match_open.c), and lets go of requests that were freed while active (host_free.c).
 * The progress thread must not, since such a call may block until the GPU goes on, which may take
 * what that thread does. It is made when it is first needed, with MPI_THREAD_MULTIPLE only.
 */
#ifndef MPIXQ_OPENER_H
#define MPIXQ_OPENER_H

#include <stdbool.h>

/* There is something to do, by a function that says whether there was, one of the two above. Any
 * thread, under any lock but its own, which is a leaf. */
void mpixq_opener_wake(bool (*work)(void));
/* In MPI_Finalize, before matching ends. */
void mpixq_opener_stop(void);

#endif
