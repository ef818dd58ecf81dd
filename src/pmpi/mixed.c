/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "mixed.h"

#include "host/host_array.h"
#include "host/host_start.h"
#include "next.h"

/* MPI's part of a call for any: has it completed one of the rest, or failed? */
static bool test_any(struct mpixq_watch *watch, int count, int *index, MPI_Status *status,
                     int *rc_p)
{
    int flag = 0;

    if (!watch->has_rest) {
        return false;
    }
    *rc_p = mpixq_next.Testany(count, watch->rest, index, &flag, status);
    if (*rc_p != MPI_SUCCESS) {
        return true;
    }
    if (flag && *index == MPI_UNDEFINED) {
        watch->has_rest = false; /* all null or inactive */
        return false;
    }
    return flag;
}

/* Is nothing active but what queues wait for? */
static bool only_queued(const struct mpixq_watch *watch)
{
    return !watch->has_rest && watch->n_queued == watch->n_ours;
}

int mpixq_mixed_any(struct mpixq_watch *watch, int count, MPI_Request requests[], bool block,
                    int *index, int *flag, MPI_Status *status)
{
    bool ours_first =
        atomic_fetch_add_explicit(&mpixq_host.mixed, 1, memory_order_relaxed) % 2 == 0;
    int rc = MPI_SUCCESS, which;

    for (;;) {
        which = ours_first ? mpixq_ours_poll_any(watch) : -1;
        if (which < 0 && test_any(watch, count, index, status, &rc)) {
            mpixq_ours_copy_back(watch, count, requests);
            *flag = 1;
            return rc;
        }
        which = which < 0 && !ours_first ? mpixq_ours_poll_any(watch) : which;
        if (which >= 0 || !block) {
            break;
        }
        if (only_queued(watch)) {
            return mpixq_host_refuse_queued(watch);
        }
        mpixq_ours_pause(watch);
    }
    *flag = which >= 0;
    if (which < 0) {
        *index = MPI_UNDEFINED;
        mpixq_host_missed();
        return MPI_SUCCESS;
    }
    *index = watch->ours[which].index;
    return mpixq_ours_complete_one(watch, which, status);
}

int mpixq_mixed_some(struct mpixq_watch *watch, int count, MPI_Request requests[], bool block,
                     int *n, int indices[], MPI_Status statuses[])
{
    int rc = MPI_SUCCESS, n_ours;

    for (;;) {
        n_ours = mpixq_ours_poll(watch);
        *n = 0;
        if (watch->has_rest) {
            rc = mpixq_next.Testsome(count, watch->rest, n, indices, statuses);
        }
        if (*n == MPI_UNDEFINED) {
            watch->has_rest = false; /* all null or inactive */
            *n = 0;
        }
        if (rc != MPI_SUCCESS || n_ours + *n > 0 || !block) {
            break;
        }
        if (only_queued(watch)) {
            return mpixq_host_refuse_queued(watch);
        }
        mpixq_ours_pause(watch);
    }
    if (mpixq_is_ended(rc)) {
        return rc;
    }
    if (n_ours + *n == 0) {
        mpixq_host_missed();
    }
    mpixq_ours_copy_back(watch, count, requests);
    return mpixq_ours_complete_some(watch, rc, n, indices, statuses);
}
