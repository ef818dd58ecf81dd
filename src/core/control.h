/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Control messages on a private duplicate of MPI_COMM_WORLD, between any two processes, in
 * order. Records to the same peer share messages, and only a few messages to each peer are in
 * flight, so that neither the number of live MPI requests nor what a busy peer must buffer
 * grows with the number of pairs. Each message is a synchronous send: it leaves the flight when
 * its receiver has taken it.
 *
 * All functions are called under the matching lock, except open and close. None blocks.
 */
#ifndef MPIXQ_CONTROL_H
#define MPIXQ_CONTROL_H

#include <stdbool.h>

#include "wire.h"

/* Collective over MPI_COMM_WORLD; returns an MPI code. */
int mpixq_control_open(void);
/* Collective: exchanges what is still under way, then frees the communicator. */
void mpixq_control_close(void);

/* Queue a record for a process. False without memory. */
bool mpixq_control_send(int world_rank, const struct mpixq_record *record);
/* Send and receive what can be; each record that arrives goes to mpixq_match_record. */
void mpixq_control_progress(void);
/* Is something queued or in flight that somebody waits for: anything but released pairs? Those
 * reach a process that sleeps when it next takes messages, and must not keep this one awake. */
bool mpixq_control_is_urgent(void);
/* Has every answer been handed to MPI, so that it arrives without this process's help? */
bool mpixq_control_has_answered(void);

#endif
