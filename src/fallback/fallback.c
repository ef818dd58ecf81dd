/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The fallback channel: each end of a pair is a private persistent MPI request on a private
 * communicator, with a tag that no other pair with the same source has. It works on any MPI,
 * for any datatype, size and send mode.
 *
 * The thread that runs a stream calls MPI itself: a start is PMPI_Startall, a wait polls with
 * PMPI_Test and PMPI_Testsome. Others may poll the same request (MPIX_Queue_test, say); busy gives it to one
 * thread at a time. While the stream is elsewhere the progress thread drives MPI as a whole,
 * without touching requests.
 *
 * A tag is given back when both ends are released and every send that was started has been
 * received: MPI cannot recall a started send, and a pair that inherited the tag would take its
 * data. */
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "core/alloc.h"
#include "core/channel.h"
#include "core/log.h"
#include "core/match.h"
#include "core/progress.h"
#include "core/queue.h"
#include "persistent.h"
#include "tags.h"

/* This end of a pair. Made at match time, freed in fallback_retire. */
struct end {
    MPI_Request request; /* made at the first start */
    int tag;
    atomic_bool busy; /* a thread is in MPI with request */
    bool active;      /* started, not completed; under busy */
    uint64_t received;
    /* Draining after the release of a receive, one message at a time. */
    void *scratch;
    MPI_Request drain;
};

static MPI_Comm comm = MPI_COMM_NULL;

static int fallback_open(void)
{
    int *upper = NULL, found = 0;
    int rc = PMPI_Comm_dup(MPI_COMM_WORLD, &comm);

    rc = rc ? rc : PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    rc = rc ? rc : PMPI_Comm_set_name(comm, "mpix_queue fallback");
    rc = rc ? rc : PMPI_Comm_get_attr(comm, MPI_TAG_UB, &upper, &found);
    mpixq_tags_open(rc == MPI_SUCCESS && found ? *upper : 32767); /* what MPI guarantees */
    return rc;
}

static void fallback_close(void)
{
    mpixq_tags_close();
    if (comm != MPI_COMM_NULL) {
        (void)PMPI_Comm_free(&comm);
    }
}

static struct end *end_create(int tag)
{
    struct end *end = mpixq_alloc(sizeof *end);

    if (end != NULL) {
        end->request = MPI_REQUEST_NULL;
        end->drain = MPI_REQUEST_NULL;
        end->tag = tag;
    }
    return end;
}

static void end_free(struct mpixq_request *req)
{
    mpixq_free(req->end);
    req->end = NULL;
}

/* Matching. */

static bool fallback_offer(struct mpixq_request *req, struct mpixq_blob *blob, const char **why_p)
{
    (void)req;
    *why_p = "";
    blob->length = 0;
    return true;
}

static enum mpixq_error fallback_accept(struct mpixq_request *req, const struct mpixq_blob *theirs,
                                        struct mpixq_blob *mine, const char **why_p)
{
    int32_t tag = mpixq_tag_take(req->peer_world);

    (void)theirs;
    if (tag < 0) {
        *why_p = "all tags of this source are in use";
        return MPIXQ_E_NO_TAG;
    }
    req->end = end_create(tag);
    if (req->end == NULL) {
        mpixq_tag_give_back(req->peer_world, tag);
        *why_p = "no memory";
        return MPIXQ_E_NO_MEMORY;
    }
    mine->length = sizeof tag;
    memcpy(mine->bytes, &tag, sizeof tag);
    return MPIXQ_E_NONE;
}

static enum mpixq_error fallback_connect(struct mpixq_request *req, const struct mpixq_blob *theirs)
{
    int32_t tag;

    if (theirs->length != sizeof tag) {
        return MPIXQ_E_PROTOCOL;
    }
    memcpy(&tag, theirs->bytes, sizeof tag);
    if (tag < 0 || tag > mpixq_tags_largest()) {
        return MPIXQ_E_PROTOCOL;
    }
    req->end = end_create(tag);
    return req->end != NULL ? MPIXQ_E_NONE : MPIXQ_E_NO_MEMORY;
}

static void fallback_withdraw(struct mpixq_request *req)
{
    (void)req; /* an offer reserves nothing */
}

/* Starts and waits. */

static void fail(struct mpixq_request *req, int rc, const char *operation)
{
    struct mpixq_queue *queue = atomic_load(&req->queue);

    if (queue != NULL) {
        mpixq_match_abandon(req);
        mpixq_queue_fail(queue, req, rc, operation);
    }
}

static bool try_busy(struct end *end)
{
    return !atomic_exchange_explicit(&end->busy, true, memory_order_acquire);
}

static void leave_busy(struct end *end)
{
    atomic_store_explicit(&end->busy, false, memory_order_release);
}

enum { TOGETHER = 32 }; /* requests in one call of MPI */

/* Requests were started, or not. Under busy, which is left. */
static void conclude_starts(struct mpixq_request *const reqs[], int n, int rc)
{
    struct mpixq_queue *queue = atomic_load(&reqs[0]->queue); /* the same for all */

    for (int i = 0; i < n; i++) {
        struct end *end = reqs[i]->end;

        if (rc == MPI_SUCCESS) {
            end->active = true;
            atomic_fetch_add_explicit(&reqs[i]->started, 1, memory_order_relaxed);
        }
        leave_busy(end);
        if (rc != MPI_SUCCESS) {
            fail(reqs[i], rc, "start");
        }
    }
    if (rc == MPI_SUCCESS) {
        atomic_fetch_add_explicit(&queue->posts, (uint64_t)n, memory_order_relaxed);
        atomic_fetch_add(&mpixq_outstanding,
                         n); /* before the thread is looked at: it may doze off */
    }
}

static void start_one(struct mpixq_request *req)
{
    struct end *end = req->end;
    int rc = mpixq_persistent_start(req, req->peer_world, end->tag, comm, &end->request);

    conclude_starts(&req, 1, rc);
}

static void start_all(struct mpixq_request *const reqs[], int n)
{
    MPI_Request requests[TOGETHER];
    int rc;

    for (int i = 0; i < n; i++) {
        requests[i] = ((struct end *)reqs[i]->end)->request;
    }
    rc = PMPI_Startall(n, requests);
    for (int i = 0; i < n; i++) {
        ((struct end *)reqs[i]->end)->request = requests[i];
    }
    conclude_starts(reqs, n, rc);
}

/* The stream has reached the starts. One call of MPI starts those that it can start again. */
static void run_starts(void *const args[], int n)
{
    struct mpixq_request *reqs[TOGETHER];
    int n_again = 0;

    if (mpixq_queue_has_failed(atomic_load(&((struct mpixq_request *)args[0])->queue))) {
        for (int i = 0; i < n; i++) {
            mpixq_match_abandon(args[i]);
        }
        return;
    }
    for (int i = 0; i < n; i++) {
        struct mpixq_request *req = args[i];
        struct end *end = req->end;

        while (!try_busy(end)) { /* held for one test at a time */
        }
        if (end->request == MPI_REQUEST_NULL) {
            start_one(req);
            continue;
        }
        reqs[n_again++] = req;
        if (n_again == TOGETHER) {
            start_all(reqs, n_again);
            n_again = 0;
        }
    }
    if (n_again > 0) {
        start_all(reqs, n_again);
    }
    mpixq_progress_wake();
}

static bool fallback_start(struct mpixq_queue *queue, struct mpixq_request *req,
                           struct mpixq_trigger *trigger)
{
    (void)queue;
    trigger->call = run_starts;
    trigger->arg = req;
    return true;
}

/* An active request has completed. Under busy. */
static void complete(struct mpixq_request *req)
{
    struct end *end = req->end;

    end->active = false;
    end->received++;
    atomic_fetch_sub_explicit(&mpixq_outstanding, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&req->done, 1, memory_order_release);
}

/* Take those of the requests that are active. Returns how many. */
static int take_active(void *const args[], int n, struct mpixq_request *reqs[])
{
    int n_active = 0;

    for (int i = 0; i < n; i++) {
        struct mpixq_request *req = args[i];
        struct end *end = req->end;

        if (!try_busy(end)) {
            continue; /* another thread is testing it */
        }
        if (end->active) {
            reqs[n_active++] = req;
        } else {
            leave_busy(end);
        }
    }
    return n_active;
}

/* Under busy, which is left. */
static void conclude(struct mpixq_request *req, int rc, bool flag)
{
    if (rc == MPI_SUCCESS && flag) {
        complete(req);
    }
    leave_busy(req->end);
    if (rc != MPI_SUCCESS) {
        fail(req, rc, "completion");
    }
}

/* Test up to TOGETHER requests in one call. */
static void test_some(void *const args[], int n)
{
    struct mpixq_request *reqs[TOGETHER];
    MPI_Request requests[TOGETHER];
    MPI_Status statuses[TOGETHER];
    int indices[TOGETHER], n_done = 0, rc;

    n = take_active(args, n, reqs);
    if (n == 0) {
        return;
    }
    for (int i = 0; i < n; i++) {
        requests[i] = ((struct end *)reqs[i]->end)->request;
    }
    rc = PMPI_Testsome(n, requests, &n_done, indices, statuses);
    n_done = n_done == MPI_UNDEFINED ? 0 : n_done;
    for (int i = 0; i < n_done; i++) {
        struct mpixq_request *req = reqs[indices[i]];
        struct end *end = req->end;

        reqs[indices[i]] = NULL;
        end->request = requests[indices[i]]; /* null if it was not persistent */
        conclude(req, rc == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : rc, true);
    }
    for (int i = 0; i < n; i++) {
        if (reqs[i] != NULL) {
            conclude(reqs[i], rc == MPI_ERR_IN_STATUS ? MPI_SUCCESS : rc, false);
        }
    }
}

/* Returns whether the request needs no more tests. */
static bool test_one(void *arg)
{
    struct mpixq_request *req = arg;
    struct end *end = req->end;
    int flag = 0, rc;

    if (!try_busy(end)) {
        return false;
    }
    if (!end->active) {
        leave_busy(end);
        return true;
    }
    rc = PMPI_Test(&end->request, &flag, MPI_STATUS_IGNORE);
    conclude(req, rc, flag);
    return flag;
}

/* For streams, which compare the completion words themselves. A test of one request drives all of
 * them. So only the first is tested until it has completed; then most likely others have as well,
 * and one call for all is much cheaper than one for each: MPICH polls the network in each. */
static void poll_many(void *const args[], int n)
{
    while (n > 0 && test_one(args[0])) {
        int together = n - 1 < TOGETHER ? n - 1 : TOGETHER;

        if (together > 0) {
            test_some(args + 1, together);
        }
        args += together + 1;
        n -= together + 1;
    }
}

static bool fallback_poll(struct mpixq_request *req)
{
    poll_many((void *[]){req}, 1);
    return atomic_load_explicit(&req->done, memory_order_acquire) == req->epoch;
}

static bool fallback_wait(struct mpixq_queue *queue, struct mpixq_request *req,
                          struct mpixq_awaited *awaited)
{
    *awaited = (struct mpixq_awaited){.word = &req->done,
                                      .value = req->epoch,
                                      .poll = poll_many,
                                      .arg = req,
                                      .failed = &queue->failed};
    return true;
}

/* The end of a pair. */

/* A receive that is still under way takes no more data; a send cannot be recalled. */
static void recall(struct mpixq_request *req, struct end *end)
{
    MPI_Status status;
    int cancelled = 0;

    if (mpixq_request_is_send(req)) {
        return;
    }
    if (PMPI_Cancel(&end->request) == MPI_SUCCESS &&
        PMPI_Wait(&end->request, &status) == MPI_SUCCESS) {
        (void)PMPI_Test_cancelled(&status, &cancelled);
        end->received += !cancelled;
    }
    end->active = false;
    atomic_fetch_sub(&mpixq_outstanding, 1);
}

static void free_request(struct end *end)
{
    if (end->request != MPI_REQUEST_NULL) {
        (void)PMPI_Request_free(&end->request);
    }
}

static void fallback_release(struct mpixq_request *req)
{
    struct end *end = req->end;

    if (end->active) {
        recall(req, end);
    }
    if (!end->active) {
        free_request(end);
    }
}

/* Begin to receive, into nowhere, a message that was sent and never received. 1: begun, 0: it
 * has not arrived, -1: it cannot be done. */
static int drain_begin(const struct mpixq_request *req, struct end *end)
{
    MPI_Message message;
    MPI_Status status;
    MPI_Count bytes = 0;
    int flag = 0;

    if (PMPI_Improbe(req->peer_world, end->tag, comm, &flag, &message, &status) != MPI_SUCCESS) {
        return -1;
    }
    if (!flag) {
        return 0;
    }
    (void)PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    end->scratch = bytes <= INT_MAX ? mpixq_alloc((size_t)bytes + 1) : NULL; /* freed in drain */
    if (end->scratch == NULL) {
        return -1;
    }
    return PMPI_Imrecv(end->scratch, (int)bytes, MPI_BYTE, &message, &end->drain) == MPI_SUCCESS
               ? 1
               : -1;
}

/* Receive what was sent and never received. 1: nothing is left, 0: not yet, -1: it cannot be
 * done. */
static int drain(const struct mpixq_request *req, struct end *end)
{
    int flag = 0, begun;

    while (end->received < req->peer_started) {
        begun = end->drain != MPI_REQUEST_NULL ? 1 : drain_begin(req, end);
        if (begun <= 0) {
            return begun;
        }
        if (PMPI_Test(&end->drain, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            return -1;
        }
        if (!flag) {
            return 0;
        }
        mpixq_free(end->scratch);
        end->scratch = NULL;
        end->received++;
    }
    return 1;
}

static bool retire_send(struct mpixq_request *req, struct end *end)
{
    int flag = 0;

    if (end->active) {
        if (PMPI_Test(&end->request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag) {
            return false;
        }
        end->active = false;
        atomic_fetch_sub(&mpixq_outstanding, 1);
        free_request(end);
    }
    end_free(req);
    return true;
}

static bool fallback_retire(struct mpixq_request *req)
{
    struct end *end = req->end;
    int drained;

    if (mpixq_request_is_send(req)) {
        return retire_send(req, end);
    }
    drained = drain(req, end);
    if (drained == 0) {
        return false;
    }
    if (drained > 0) {
        mpixq_tag_give_back(req->peer_world, end->tag);
    } else {
        mpixq_warn(
            "a message of rank %d could not be received after its receive was freed: its tag "
            "is not used again",
            req->peer_world);
    }
    end_free(req);
    return true;
}

const struct mpixq_channel mpixq_channel_fallback = {
    .name = "fallback",
    .id = MPIXQ_CHANNEL_FALLBACK,
    .open = fallback_open,
    .close = fallback_close,
    .offer = fallback_offer,
    .accept = fallback_accept,
    .connect = fallback_connect,
    .withdraw = fallback_withdraw,
    .start = fallback_start,
    .wait = fallback_wait,
    .poll = fallback_poll,
    .release = fallback_release,
    .retire = fallback_retire,
};
