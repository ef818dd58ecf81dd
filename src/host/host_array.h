/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Arrays in which matched requests that the host has started stand among others, or such as a queue
 * waits for, which count as not complete. They are polled by their channels; MPI is called, by
 * src/pmpi/mixed.c, with the rest.
 */
#ifndef MPIXQ_HOST_ARRAY_H
#define MPIXQ_HOST_ARRAY_H

#include "host.h"

/* Poll each of ours; returns how many are done. */
int mpixq_ours_poll(struct mpixq_watch *watch);
/* Are all of ours done, or has one failed? While they are not, mostly looks at the first that is
 * not done, unless it is to be thorough: a poll of one drives MPI for all. */
bool mpixq_ours_poll_all(struct mpixq_watch *watch, bool thorough);
/* One of ours that is done, by its place in watch->ours, or -1. Polls no further than to the first
 * group that has one. Each call begins to look elsewhere, so that none starves. */
int mpixq_ours_poll_any(struct mpixq_watch *watch);
/* Each 16th poll, and all of a long wait, look at everything. */
static inline bool mpixq_ours_is_thorough(const struct mpixq_watch *watch)
{
    return watch->backoff.polls % 16 == 15 || watch->backoff.polls > 64;
}
/* Nothing was found: wait a little. */
void mpixq_ours_pause(struct mpixq_watch *watch);

/* Give the user the handles that MPI has changed in watch->rest. */
void mpixq_ours_copy_back(const struct mpixq_watch *watch, int count, MPI_Request requests[]);

/* The status of a null handle or an inactive request. */
void mpixq_ours_write_empty(MPI_Status *status);
/* The call has completed one of ours: its result, the handler invoked if it is an error. */
int mpixq_ours_complete_one(struct mpixq_watch *watch, int which, MPI_Status *status);
/* All elements have completed, or one has failed; rc is what MPI said of the rest, and their
 * statuses are written, with MPI_ERROR if rc is MPI_ERR_IN_STATUS or watch->failed. */
int mpixq_ours_complete_all(struct mpixq_watch *watch, int rc, int count, MPI_Status statuses[]);
/* MPI has completed *n_p of the rest, and said rc: append those of ours that are done. */
int mpixq_ours_complete_some(struct mpixq_watch *watch, int rc, int *n_p, int indices[],
                             MPI_Status statuses[]);

#endif
