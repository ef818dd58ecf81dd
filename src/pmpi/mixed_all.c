/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Calls that complete all elements. */
#include "host/host_array.h"
#include "host/host_start.h"
#include "mixed.h"
#include "next.h"
#include "util/progress.h"

/* A call of Waitall. Those of the rest that are completed one by one become null in watch->rest,
 * and from the first on all statuses are written one by one, with MPI_ERROR. */
struct all {
    struct mpixq_watch *watch;
    int count;
    MPI_Request *requests;
    MPI_Status *statuses;
    bool apart;
    int next;  /* element to be tested next while ours are waited for */
    int ended; /* elements before this are not pending */
    int rc;    /* of the rest */
};

static MPI_Status *status_of(const struct all *all, int i)
{
    return all->statuses != MPI_STATUSES_IGNORE ? &all->statuses[i] : MPI_STATUS_IGNORE;
}

static void go_apart(struct all *all)
{
    for (int i = 0; !all->apart && i < all->count; i++) {
        if (all->watch->rest[i] == MPI_REQUEST_NULL) {
            mpixq_ours_write_empty(status_of(all, i));
        }
    }
    all->apart = true;
}

/* A call of MPI for one element has completed it, leaving this handle, or failed. */
static void concluded(struct all *all, int i, MPI_Request handle, int rc)
{
    MPI_Status *status = status_of(all, i);

    if (all->watch->n_hidden == 0 || handle != mpixq_host_inactive()) {
        all->requests[i] = handle;
    }
    all->watch->rest[i] = MPI_REQUEST_NULL;
    if (status != MPI_STATUS_IGNORE && rc != MPI_ERR_IN_STATUS) {
        status->MPI_ERROR = rc;
    }
    all->rc = rc != MPI_SUCCESS ? MPI_ERR_IN_STATUS : all->rc;
}

enum outcome { PENDING, INACTIVE, COMPLETED };

/* Test one of the rest, in a form that reports errors as Waitall does. */
static enum outcome test_rest(struct all *all, int i)
{
    MPI_Request handle = all->watch->rest[i];
    int n = 0, index, rc;

    if (handle == MPI_REQUEST_NULL) {
        return INACTIVE;
    }
    rc = mpixq_next.Testsome(1, &handle, &n, &index, status_of(all, i));
    if (rc == MPI_SUCCESS && n == 0) {
        return PENDING;
    }
    if (rc == MPI_SUCCESS && n == MPI_UNDEFINED) {
        return INACTIVE; /* Waitall writes the empty status */
    }
    go_apart(all);
    concluded(all, i, handle, rc);
    return COMPLETED;
}

static bool test_one(struct all *all, int i)
{
    return test_rest(all, i) == COMPLETED;
}

/* From MPI 4 on there are partitioned requests, which MPICH can wait for but not test: it is asked
 * about them without completing them, and what it cannot tell of counts as pending. */
static bool is_pending(struct all *all, int i)
{
    MPI_Request handle = all->watch->rest[i];
    int flag = 0;

    if (MPI_VERSION < 4) {
        return test_rest(all, i) == PENDING;
    }
    return handle != MPI_REQUEST_NULL &&
           (PMPI_Request_get_status(handle, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || !flag);
}

/* Would a Waitall of the rest return at once? */
static bool has_ended(struct all *all)
{
    while (all->watch->has_rest && all->ended < all->count && !is_pending(all, all->ended)) {
        all->ended++;
    }
    return !all->watch->has_rest || all->ended == all->count;
}

/* Complete what can be, one by one. Waitall of Open MPI 4.1 does not return at all, at
 * MPI_THREAD_MULTIPLE, if a request has failed before. */
static void complete_over(struct all *all)
{
    for (int i = 0; MPI_VERSION < 4 && i < all->count; i++) {
        (void)test_rest(all, i);
    }
}

/* Requests of Imatch are completed as soon as they can be. Is one left? Or is another match under
 * way, and something else still pending? Then MPI must not block, unless a thread of ours answers
 * peers meanwhile, and waiting is all that can be done with some requests. */
static bool is_matching(struct all *all)
{
    const struct mpixq_watch *watch = all->watch;
    bool left = false;

    for (int i = 0; i < watch->n; i++) {
        int index = watch->items[i].index;

        if (watch->rest[index] != MPI_REQUEST_NULL && !test_one(all, index)) {
            left = true;
        }
    }
    if (MPI_VERSION >= 4 && mpixq_progress_has_threads()) {
        return left;
    }
    return left || (mpixq_match_is_pending() && !has_ended(all));
}

/* While ours are waited for, test the rest in turn now and then: some requests, such as those of
 * nonblocking I/O, make no progress otherwise. */
static void test_next(struct all *all)
{
    if (all->watch->has_rest && mpixq_ours_is_thorough(all->watch)) {
        (void)test_one(all, all->next);
        all->next = (all->next + 1) % all->count;
    }
}

/* One of ours has failed: complete what is complete by now. */
static void finish_some(struct all *all)
{
    go_apart(all);
    for (int i = 0; i < all->count; i++) {
        if (all->watch->rest[i] != MPI_REQUEST_NULL && !test_one(all, i) &&
            all->statuses != MPI_STATUSES_IGNORE) {
            all->statuses[i].MPI_ERROR = MPI_ERR_PENDING;
        }
    }
}

/* All of ours are done. */
static void finish_all(struct all *all)
{
    struct mpixq_watch *watch = all->watch;

    if (!all->apart) {
        all->rc = mpixq_next.Waitall(all->count, watch->rest, all->statuses);
        mpixq_ours_copy_back(watch, all->count, all->requests);
        return;
    }
    for (int i = 0; i < all->count; i++) {
        MPI_Request handle = watch->rest[i];

        if (handle != MPI_REQUEST_NULL) {
            int rc = mpixq_next.Waitall(1, &handle, status_of(all, i));

            concluded(all, i, handle, rc);
        }
    }
}

int mpixq_mixed_waitall(struct mpixq_watch *watch, int count, MPI_Request requests[],
                        MPI_Status statuses[])
{
    struct all all = {.watch = watch, .count = count, .requests = requests, .statuses = statuses};
    int rc = watch->n_ours == 0 ? mpixq_host_set_apart(watch, count, requests) : MPI_SUCCESS;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    while (!mpixq_ours_poll_all(watch, false) || (!watch->failed && is_matching(&all))) {
        test_next(&all);
        mpixq_ours_pause(watch);
    }
    if (watch->has_rest && watch->failed) {
        finish_some(&all);
    } else if (watch->has_rest) {
        complete_over(&all);
        finish_all(&all);
    }
    return mpixq_is_ended(all.rc) ? all.rc
                                  : mpixq_ours_complete_all(watch, all.rc, count, statuses);
}

int mpixq_mixed_testall(struct mpixq_watch *watch, int count, MPI_Request requests[], int *flag,
                        MPI_Status statuses[])
{
    struct all all = {.watch = watch, .count = count, .requests = requests, .statuses = statuses};
    bool done = mpixq_ours_poll_all(watch, true);

    *flag = done && !watch->failed;
    if (done && watch->has_rest) {
        if (watch->failed) {
            finish_some(&all);
        } else {
            all.rc = mpixq_next.Testall(count, watch->rest, flag, statuses);
            mpixq_ours_copy_back(watch, count, requests);
        }
    }
    if (mpixq_is_ended(all.rc)) {
        return all.rc;
    }
    if (!*flag && !watch->failed && all.rc == MPI_SUCCESS) {
        mpixq_host_missed();
        return MPI_SUCCESS;
    }
    return mpixq_ours_complete_all(watch, all.rc, count, statuses);
}
