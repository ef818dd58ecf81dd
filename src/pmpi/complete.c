/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What completes requests. Calls pass on at once while nothing is matched, and while nothing is
 * being matched if they are for none of ours; otherwise requests that a queue owns are refused,
 * matching progresses, and an Imatch that failed is reported. */
#include <stddef.h>

#include "host/host.h"
#include "match/match.h"
#include "mixed.h"
#include "next.h"
#include "pull.h"

/* Out of line, so that passing on is a jump and needs no frame. */
#define SLOW __attribute__((noinline)) static

void mpixq_pull_complete(void)
{
}

/* Did the call, which returned rc, write statuses and indices? */
static inline bool has_statuses(int rc)
{
    return rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS;
}

SLOW int wait(MPI_Request *request, MPI_Status *status)
{
    static const struct mpixq_call call = {"MPI_Wait", false};
    struct mpixq_watch watch;
    int flag = 0, index, rc;

    if (!mpixq_host_must_look(1, request)) {
        return mpixq_next.Wait(request, status);
    }
    rc = mpixq_host_begin(&watch, &call, true, 1, request);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (watch.n_ours > 0) {
        rc = mpixq_mixed_any(&watch, 1, request, true, &index, &flag, status);
        return mpixq_host_end_one(&watch, rc, MPI_UNDEFINED);
    }
    while (mpixq_host_again(&watch, rc, flag)) {
        rc = mpixq_next.Test(mpixq_host_for_mpi(&watch), &flag, status);
    }
    if (rc == MPI_SUCCESS && !flag) {
        rc = mpixq_next.Wait(mpixq_host_for_mpi(&watch), status);
    }
    return mpixq_host_end_one(&watch, rc, 0);
}

MPIXQ_INTERPOSE int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    return mpixq_host_may_look(1, request) ? wait(request, status)
                                           : mpixq_next.Wait(request, status);
}
MPIXQ_OWN(Wait);

SLOW int waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    static const struct mpixq_call call = {"MPI_Waitany", true};
    struct mpixq_watch watch;
    int flag = 0, rc;

    if (!mpixq_host_must_look(count, requests)) {
        return mpixq_next.Waitany(count, requests, index, status);
    }
    rc = mpixq_host_begin(&watch, &call, false, count, requests);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (watch.n_ours > 0) {
        rc = mpixq_mixed_any(&watch, count, requests, true, index, &flag, status);
        return mpixq_host_end_one(&watch, rc, rc == MPI_SUCCESS ? *index : MPI_UNDEFINED);
    }
    while (mpixq_host_again(&watch, rc, flag)) {
        rc = mpixq_next.Testany(count, mpixq_host_for_mpi(&watch), index, &flag, status);
        if (rc == MPI_SUCCESS && flag && *index == MPI_UNDEFINED) {
            flag = 0; /* MPICH leaves the status alone here, but not in Waitany */
            break;
        }
    }
    if (rc == MPI_SUCCESS && !flag) {
        rc = mpixq_next.Waitany(count, mpixq_host_for_mpi(&watch), index, status);
    }
    return mpixq_host_end_one(&watch, rc, rc == MPI_SUCCESS ? *index : MPI_UNDEFINED);
}

MPIXQ_INTERPOSE int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    return mpixq_host_may_look(count, requests)
               ? waitany(count, requests, index, status)
               : mpixq_next.Waitany(count, requests, index, status);
}
MPIXQ_OWN(Waitany);

SLOW int waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    static const struct mpixq_call call = {"MPI_Waitall", true};
    struct mpixq_watch watch;
    int rc;

    if (!mpixq_host_must_look(count, requests)) {
        return mpixq_next.Waitall(count, requests, statuses);
    }
    rc = mpixq_host_begin(&watch, &call, true, count, requests);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (watch.n_ours + watch.n > 0 || (mpixq_match_is_pending() && watch.has_rest)) {
        rc = mpixq_mixed_waitall(&watch, count, requests, statuses);
    } else {
        rc = mpixq_next.Waitall(count, mpixq_host_for_mpi(&watch), statuses);
    }
    return mpixq_host_end_some(&watch, rc, has_statuses(rc) ? count : 0, NULL, statuses);
}

MPIXQ_INTERPOSE int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    return mpixq_host_may_look(count, requests) ? waitall(count, requests, statuses)
                                                : mpixq_next.Waitall(count, requests, statuses);
}
MPIXQ_OWN(Waitall);

SLOW int waitsome(int count, MPI_Request requests[], int *n, int indices[], MPI_Status statuses[])
{
    static const struct mpixq_call call = {"MPI_Waitsome", true};
    struct mpixq_watch watch;
    int done = 0, rc;

    if (!mpixq_host_must_look(count, requests)) {
        return mpixq_next.Waitsome(count, requests, n, indices, statuses);
    }
    rc = mpixq_host_begin(&watch, &call, false, count, requests);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (watch.n_ours > 0) {
        rc = mpixq_mixed_some(&watch, count, requests, true, n, indices, statuses);
        return mpixq_host_end_some(&watch, rc, has_statuses(rc) ? *n : 0, indices, statuses);
    }
    while (mpixq_host_again(&watch, rc, done)) {
        rc = mpixq_next.Testsome(count, mpixq_host_for_mpi(&watch), n, indices, statuses);
        done = rc == MPI_SUCCESS && *n != 0;
    }
    if (rc == MPI_SUCCESS && !done) {
        rc = mpixq_next.Waitsome(count, mpixq_host_for_mpi(&watch), n, indices, statuses);
    }
    return mpixq_host_end_some(&watch, rc, has_statuses(rc) ? *n : 0, indices, statuses);
}

MPIXQ_INTERPOSE int MPI_Waitsome(int count, MPI_Request requests[], int *n, int indices[],
                                 MPI_Status statuses[])
{
    return mpixq_host_may_look(count, requests)
               ? waitsome(count, requests, n, indices, statuses)
               : mpixq_next.Waitsome(count, requests, n, indices, statuses);
}
MPIXQ_OWN(Waitsome);

SLOW int test(MPI_Request *request, int *flag, MPI_Status *status)
{
    static const struct mpixq_call call = {"MPI_Test", false};
    struct mpixq_watch watch;
    int index, rc;

    if (!mpixq_host_must_look(1, request)) {
        return mpixq_next.Test(request, flag, status);
    }
    rc = mpixq_host_begin(&watch, &call, false, 1, request);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = watch.n_ours > 0 ? mpixq_mixed_any(&watch, 1, request, false, &index, flag, status)
                          : mpixq_next.Test(mpixq_host_for_mpi(&watch), flag, status);
    return mpixq_host_end_one(&watch, rc, rc == MPI_SUCCESS && *flag ? 0 : MPI_UNDEFINED);
}

MPIXQ_INTERPOSE int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    return mpixq_host_may_look(1, request) ? test(request, flag, status)
                                           : mpixq_next.Test(request, flag, status);
}
MPIXQ_OWN(Test);

SLOW int testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    static const struct mpixq_call call = {"MPI_Testany", true};
    struct mpixq_watch watch;
    int rc;

    if (!mpixq_host_must_look(count, requests)) {
        return mpixq_next.Testany(count, requests, index, flag, status);
    }
    rc = mpixq_host_begin(&watch, &call, false, count, requests);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = watch.n_ours > 0
             ? mpixq_mixed_any(&watch, count, requests, false, index, flag, status)
             : mpixq_next.Testany(count, mpixq_host_for_mpi(&watch), index, flag, status);
    return mpixq_host_end_one(&watch, rc, rc == MPI_SUCCESS && *flag ? *index : MPI_UNDEFINED);
}

MPIXQ_INTERPOSE int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag,
                                MPI_Status *status)
{
    return mpixq_host_may_look(count, requests)
               ? testany(count, requests, index, flag, status)
               : mpixq_next.Testany(count, requests, index, flag, status);
}
MPIXQ_OWN(Testany);

SLOW int testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    static const struct mpixq_call call = {"MPI_Testall", true};
    struct mpixq_watch watch;
    bool done;
    int rc;

    if (!mpixq_host_must_look(count, requests)) {
        return mpixq_next.Testall(count, requests, flag, statuses);
    }
    rc = mpixq_host_begin(&watch, &call, false, count, requests);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = watch.n_ours > 0 ? mpixq_mixed_testall(&watch, count, requests, flag, statuses)
                          : mpixq_next.Testall(count, mpixq_host_for_mpi(&watch), flag, statuses);
    /* An error of one leaves the flag 0, and has completed others. */
    done = rc == MPI_ERR_IN_STATUS || (rc == MPI_SUCCESS && *flag);
    return mpixq_host_end_some(&watch, rc, done ? count : 0, NULL, statuses);
}

MPIXQ_INTERPOSE int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    return mpixq_host_may_look(count, requests)
               ? testall(count, requests, flag, statuses)
               : mpixq_next.Testall(count, requests, flag, statuses);
}
MPIXQ_OWN(Testall);

SLOW int testsome(int count, MPI_Request requests[], int *n, int indices[], MPI_Status statuses[])
{
    static const struct mpixq_call call = {"MPI_Testsome", true};
    struct mpixq_watch watch;
    int rc;

    if (!mpixq_host_must_look(count, requests)) {
        return mpixq_next.Testsome(count, requests, n, indices, statuses);
    }
    rc = mpixq_host_begin(&watch, &call, false, count, requests);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    rc = watch.n_ours > 0
             ? mpixq_mixed_some(&watch, count, requests, false, n, indices, statuses)
             : mpixq_next.Testsome(count, mpixq_host_for_mpi(&watch), n, indices, statuses);
    return mpixq_host_end_some(&watch, rc, has_statuses(rc) ? *n : 0, indices, statuses);
}

MPIXQ_INTERPOSE int MPI_Testsome(int count, MPI_Request requests[], int *n, int indices[],
                                 MPI_Status statuses[])
{
    return mpixq_host_may_look(count, requests)
               ? testsome(count, requests, n, indices, statuses)
               : mpixq_next.Testsome(count, requests, n, indices, statuses);
}
MPIXQ_OWN(Testsome);

MPIXQ_INTERPOSE int MPI_Cancel(MPI_Request *request)
{
    static const struct mpixq_call call = {"MPI_Cancel", false};
    bool look = mpixq_host_may_have() && mpixq_host_may_be_ours(1, request);
    int rc = look ? mpixq_host_check_cancel(&call, *request) : MPI_SUCCESS;

    return rc != MPI_SUCCESS ? rc : mpixq_next.Cancel(request);
}
MPIXQ_OWN(Cancel);

MPIXQ_INTERPOSE int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    static const struct mpixq_call call = {"MPI_Request_get_status", false};
    bool ask = true;
    int rc = MPI_SUCCESS;

    if (mpixq_host_may_look(1, &request) && flag != NULL) {
        mpixq_match_open_in(false);
        mpixq_match_advance();
        rc = mpixq_host_get_status(&call, &request, flag, status, &ask);
    }
    return !ask ? rc : mpixq_next.Request_get_status(request, flag, status);
}
MPIXQ_OWN(Request_get_status);
