/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The watchdog of signals and flushes: with MPIXQ_WATCHDOG_S it says which of them somebody waits
 * for longer than so many seconds, and with MPIXQ_WATCHDOG_ACTION=error it ends waits for signals.
 * Whoever waits polls, and looks at the clock now and then; no other thread has to come by.
 */
#ifndef MPIXQ_RMA_WATCH_H
#define MPIXQ_RMA_WATCH_H

#include "queue/queues.h"
#include "window.h"

/* This queue, or, if it is NULL, a thread of the program waits for the signal, which is not
 * complete. Under no lock of the window. */
void mpixq_rma_watch_signal(struct mpixq_signal *signal, const struct mpixq_queue *queue);

/* A flush of the window waits. */
void mpixq_rma_watch_flush(struct mpixq_window *window);

#endif
