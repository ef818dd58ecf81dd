/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "host_array.h"

#include "core/channels.h"

enum { TOGETHER = 32 }; /* requests polled in one call */

static void note(struct mpixq_watch *watch, struct mpixq_ours *ours, bool done)
{
    ours->done = done || mpixq_host_has_failed(ours->req);
    if (ours->done) {
        ours->code = mpixq_host_result(ours->req);
        if (ours->code != MPI_SUCCESS) {
            struct mpixq_fault fault;

            mpixq_fault_at(&fault, ours->index, ours->req);
            ours->code = mpixq_fault_code_of(watch->function, &fault, ours->code);
        }
        watch->failed |= ours->code != MPI_SUCCESS;
    }
}

static void progress_wait(struct mpixq_request *req)
{
    mpixq_channel_progress_wait(&req->pair);
}

static void poll_one(struct mpixq_watch *watch, struct mpixq_ours *ours)
{
    if (!ours->queued) {
        progress_wait(ours->req);
        note(watch, ours, ours->req->pair.channel->poll(&ours->req->pair));
    }
}

/* Poll those that are not done from *place_p to before end, as long as they have the same channel.
 */
static void poll_group(struct mpixq_watch *watch, int *place_p, int end)
{
    struct mpixq_pair *pairs[TOGETHER];
    struct mpixq_ours *from[TOGETHER];
    bool done[TOGETHER];
    int n = 0;

    for (; *place_p < end && n < TOGETHER; ++*place_p) {
        struct mpixq_ours *ours = &watch->ours[*place_p];

        if (ours->done || ours->queued) {
            continue;
        }
        if (n > 0 && ours->req->pair.channel != pairs[0]->channel) {
            break;
        }
        progress_wait(ours->req);
        from[n] = ours;
        pairs[n++] = &ours->req->pair;
    }
    if (n > 0) {
        mpixq_channel_poll_many(pairs, n, done);
    }
    for (int i = 0; i < n; i++) {
        note(watch, from[i], done[i]);
    }
}

int mpixq_ours_poll(struct mpixq_watch *watch)
{
    int n_done = 0;

    if (watch->n_ours == 1) {
        poll_one(watch, &watch->ours[0]);
        return watch->ours[0].done;
    }
    for (int place = 0; place < watch->n_ours;) {
        poll_group(watch, &place, watch->n_ours);
    }
    for (int i = 0; i < watch->n_ours; i++) {
        n_done += watch->ours[i].done;
    }
    return n_done;
}

bool mpixq_ours_poll_all(struct mpixq_watch *watch, bool thorough)
{
    struct mpixq_ours *ours = watch->ours, *end = watch->ours + watch->n_ours;

    while (ours < end && ours->done) {
        ours++;
    }
    if (ours < end && !thorough && !mpixq_ours_is_thorough(watch)) {
        poll_one(watch, ours);
        if (!ours->done) {
            return false;
        }
    }
    return ours == end || mpixq_ours_poll(watch) == watch->n_ours || watch->failed;
}

/* The first that is done from a place to before end, which may have been seen earlier. */
static int poll_until_one(struct mpixq_watch *watch, int place, int end)
{
    for (int looked = place; looked < end;) {
        poll_group(watch, &place, end);
        for (; looked < place; looked++) {
            if (watch->ours[looked].done) {
                return looked;
            }
        }
    }
    return -1;
}

int mpixq_ours_poll_any(struct mpixq_watch *watch)
{
    unsigned calls = atomic_fetch_add_explicit(&mpixq_host.polls, 1, memory_order_relaxed);
    int first = (int)(calls % (unsigned)watch->n_ours), which;

    /* One by itself, as most often it is done if any is. */
    which = poll_until_one(watch, first, first + 1);
    which = which >= 0 ? which : poll_until_one(watch, first + 1, watch->n_ours);
    return which >= 0 ? which : poll_until_one(watch, 0, first);
}

void mpixq_ours_pause(struct mpixq_watch *watch)
{
    if (mpixq_watchdog_is_on() && mpixq_ours_is_thorough(watch)) {
        mpixq_watch_show(watch);
    }
    if (mpixq_match_is_pending() || mpixq_ours_is_thorough(watch)) {
        mpixq_match_kick(); /* also hears of peers that have failed */
    }
    mpixq_host_drive();
    mpixq_backoff_pause(&watch->backoff);
}

void mpixq_ours_copy_back(const struct mpixq_watch *watch, int count, MPI_Request requests[])
{
    int next = 0;
    MPI_Request hidden = watch->n_hidden > 0 ? mpixq_host_inactive() : MPI_REQUEST_NULL;

    for (int i = 0; watch->has_rest && i < count; i++) {
        if (next < watch->n_ours && watch->ours[next].index == i) {
            next++;
        } else if (watch->n_hidden == 0 || watch->rest[i] != hidden) {
            requests[i] = watch->rest[i];
        }
    }
}

int mpixq_ours_complete_one(struct mpixq_watch *watch, int which, MPI_Status *status)
{
    const struct mpixq_ours *ours = &watch->ours[which];

    return mpixq_error_raise(mpixq_request_comm(ours->req),
                             mpixq_host_complete(ours->req, ours->code, status));
}

void mpixq_ours_write_empty(MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE) {
        return;
    }
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    status->MPI_ERROR = MPI_SUCCESS;
    (void)PMPI_Status_set_elements_x(status, MPI_BYTE, 0);
    (void)PMPI_Status_set_cancelled(status, 0);
}

/* Complete one into a status of an array. *failed_p: the first that has failed. */
static void complete_into(const struct mpixq_ours *ours, MPI_Status *status, bool with_error,
                          const struct mpixq_request **failed_p)
{
    (void)mpixq_host_complete(ours->req, ours->code, status);
    if (status != MPI_STATUS_IGNORE && with_error) {
        status->MPI_ERROR = ours->code;
    }
    if (ours->code != MPI_SUCCESS && *failed_p == NULL) {
        *failed_p = ours->req;
    }
}

/* The code of an array call. Where MPI has reported an error of the rest, its handler has been
 * invoked already. */
static int conclude(int rc, const struct mpixq_request *failed)
{
    return rc == MPI_SUCCESS && failed != NULL
               ? mpixq_error_raise(mpixq_request_comm(failed), MPI_ERR_IN_STATUS)
               : rc;
}

int mpixq_ours_complete_all(struct mpixq_watch *watch, int rc, int count, MPI_Status statuses[])
{
    bool ignore = statuses == MPI_STATUSES_IGNORE;
    bool with_error = watch->failed || rc != MPI_SUCCESS;
    const struct mpixq_request *failed = NULL;

    for (int i = 0; !ignore && !watch->has_rest && i < count; i++) {
        mpixq_ours_write_empty(&statuses[i]);
    }
    for (int i = 0; i < watch->n_ours; i++) {
        const struct mpixq_ours *ours = &watch->ours[i];
        MPI_Status *status = ignore ? MPI_STATUS_IGNORE : &statuses[ours->index];

        if (ours->done) {
            complete_into(ours, status, with_error, &failed);
        } else if (!ignore) {
            status->MPI_ERROR = MPI_ERR_PENDING;
        }
    }
    return conclude(rc, failed);
}

int mpixq_ours_complete_some(struct mpixq_watch *watch, int rc, int *n_p, int indices[],
                             MPI_Status statuses[])
{
    bool ignore = statuses == MPI_STATUSES_IGNORE;
    bool with_error = watch->failed || rc != MPI_SUCCESS;
    const struct mpixq_request *failed = NULL;

    for (int i = 0; !ignore && rc == MPI_SUCCESS && with_error && i < *n_p; i++) {
        statuses[i].MPI_ERROR = MPI_SUCCESS;
    }
    for (int i = 0; i < watch->n_ours; i++) {
        const struct mpixq_ours *ours = &watch->ours[i];

        if (ours->done) {
            indices[*n_p] = ours->index;
            complete_into(ours, ignore ? MPI_STATUS_IGNORE : &statuses[*n_p], with_error, &failed);
            ++*n_p;
        }
    }
    return conclude(rc, failed);
}
