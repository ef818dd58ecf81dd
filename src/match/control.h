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

/* What messages lead to; under the matching lock, but for drive. */
struct mpixq_control_user {
    /* A record has arrived. */
    void (*record)(const struct mpixq_record *record, int source);
    /* A process has a library that this one cannot talk to. */
    void (*strange)(int world_rank);
    /* In close: peers may still wait for data to leave or arrive here. */
    void (*drive)(void);
};

/* Collective over MPI_COMM_WORLD; returns an MPI code. The user is kept. */
int mpixq_control_open(const struct mpixq_control_user *user);
/* Collective: exchanges what is still under way, then frees the communicator. */
void mpixq_control_close(void);

/* Queue a record for a process. False without memory. */
bool mpixq_control_send(int world_rank, const struct mpixq_record *record);
/* Send and receive what can be; each record that arrives goes to the user. */
void mpixq_control_progress(void);
/* Is something queued or in flight that somebody waits for: anything but released pairs? Those
 * reach a process that sleeps when it next takes messages, and must not keep this one awake. */
bool mpixq_control_is_urgent(void);
/* Has the process taken every message for it? If not, it does not call us or, if nothing of ours is
 * pending there, has nothing to take them for. */
bool mpixq_control_has_taken(int world_rank);
/* Has every answer been handed to MPI, so that it arrives without this process's help? */
bool mpixq_control_has_answered(void);
/* A process whose answer waits for it to take other messages, or -1. */
int mpixq_control_unanswered(void);
/* Count the answers that wait now as handed over: their time is up. */
void mpixq_control_excuse_answers(void);
/* A process has said which one it is. */
void mpixq_control_meet(int world_rank, const struct mpixq_process *process);
/* Had the process ended when this was asked at a time before now_ns, by which all that it had sent
 * has been taken? False where that cannot be told. Records for it are dropped from then on. */
bool mpixq_control_has_lost(int world_rank, uint64_t now_ns);
/* Has the process a library that this one cannot talk to? Records for it are dropped. */
bool mpixq_control_is_strange(int world_rank);
/* Messages sent so far. */
uint64_t mpixq_control_sent(void);

#endif
