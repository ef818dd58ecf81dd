/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The library's own threads.
 */
#ifndef MPIXQ_THREAD_H
#define MPIXQ_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Make a thread that takes no signals, so that the program's handlers run on the program's
 * threads. */
bool mpixq_thread_create(pthread_t *thread_p, void *(*run)(void *), void *arg, const char *name);

#endif
