/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "host_start.h"

#include "core/channels.h"
#include "core/graphs.h"
#include "core/parted.h"
#include "core/partitions.h"
#include "core/schedule.h"
#include "match/match.h"
#include "queue/queues.h"
#include "stream/stream.h"
#include "util/log.h"
#include "util/progress.h"
#include "util/trace.h"

enum { TOGETHER = 32 }; /* starts made in one call */

struct mpixq_host mpixq_host = {.freed_lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_HOST_FREE),
                                .inactive = MPI_REQUEST_NULL};

MPI_Request mpixq_host_inactive(void)
{
    MPI_Request known = atomic_load(&mpixq_host.inactive), made;

    if (known != MPI_REQUEST_NULL ||
        PMPI_Recv_init(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &made) != MPI_SUCCESS) {
        return known;
    }
    if (atomic_compare_exchange_strong(&mpixq_host.inactive, &known, made)) {
        return made; /* freed in mpixq_host_close */
    }
    (void)PMPI_Request_free(&made);
    return known;
}

static enum mpixq_error claim_unmatched(struct mpixq_request **req_p)
{
    if ((*req_p)->is_partitioned) {
        return MPIXQ_E_UNMATCHED; /* MPI knows nothing of partitions */
    }
    *req_p = NULL;
    return MPIXQ_E_NONE;
}

void mpixq_host_mpi_started(MPI_Request handle)
{
    struct mpixq_request *req = mpixq_request_find(handle);

    if (req != NULL && req->is_collective && !req->was_started &&
        mpixq_request_state(req) == MPIXQ_UNMATCHED) {
        mpixq_request_is_mpis(req);
    }
}

enum mpixq_error mpixq_host_claim(MPI_Request handle, struct mpixq_request **req_p)
{
    struct mpixq_request *req = mpixq_request_find(handle);

    *req_p = req;
    if (req == NULL) {
        return MPIXQ_E_NONE;
    }
    if (atomic_load(&req->pair.queue) != NULL) {
        mpixq_queue_settle(req);
    }
    switch (mpixq_request_state(req)) {
    case MPIXQ_UNMATCHED:
        return claim_unmatched(req_p);
    case MPIXQ_MATCHING:
        return MPIXQ_E_MATCHING;
    case MPIXQ_MATCHED:
        mpixq_graphs_refresh(&req->pair);
        if (mpixq_pair_has_failed(&req->pair)) {
            return MPIXQ_E_REQUEST_FAILED;
        }
        if (mpixq_graphs_keep_started(&req->pair)) {
            return MPIXQ_E_REPLAY_ACTIVE;
        }
        if (req->is_collective && mpixq_collective_needs_stream(req)) {
            return mpixq_collective_not_here(mpixq_collective_of(req));
        }
        if (req->pair.staging != NULL ||
            (req->is_partitioned && mpixq_partitions_of(req)->is_staged)) {
            return MPIXQ_E_GPU_BUFFER;
        }
        return mpixq_request_step(req, MPIXQ_HOST_START) ? MPIXQ_E_NONE : MPIXQ_E_HOST_AGAIN;
    case MPIXQ_HOST_STARTED:
        return MPIXQ_E_HOST_AGAIN;
    case MPIXQ_FAILED:
        return MPIXQ_E_REQUEST_FAILED;
    default:
        return MPIXQ_E_OWNED;
    }
}

void mpixq_host_unclaim(struct mpixq_request *req)
{
    (void)mpixq_request_step(req, MPIXQ_DONE);
}

/* Make the starts as a stream would, those with the same function in one call. */
static void execute(const struct mpixq_op list[], int n)
{
    void *args[TOGETHER * MPIXQ_PAIR_OPS];

    for (int i = 0; i < n;) {
        const struct mpixq_op *first = &list[i];
        int same = 0;

        while (i < n && list[i].u.call == first->u.call) {
            args[same++] = list[i++].arg;
        }
        first->u.call(args, same, false);
    }
}

static void start_together(struct mpixq_request *const reqs[], int n)
{
    struct mpixq_op list[TOGETHER * MPIXQ_PAIR_OPS];
    int n_ops = 0;

    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = reqs[i] != NULL ? &reqs[i]->pair : NULL;

        if (pair != NULL) {
            mpixq_pair_count_start(pair, true);
            n_ops += pair->channel->start(NULL, &pair, 1, &list[n_ops]);
        }
    }
    execute(list, n_ops);
}

/* The failure of a start that was never executed is told by the call that started; any other, also
 * of the peer, by the call that completes. */
static bool has_not_started(const struct mpixq_request *req)
{
    return mpixq_pair_has_failed(&req->pair) &&
           mpixq_pair_executed(&req->pair) != mpixq_pair_started(&req->pair);
}

int mpixq_host_start(const struct mpixq_call *call, struct mpixq_request *const reqs[], int n)
{
    struct mpixq_fault fault = MPIXQ_FAULT_NONE;
    const struct mpixq_request *failed = NULL;
    uint64_t begin = mpixq_trace_begin();

    for (int i = 0; i < n; i += TOGETHER) {
        start_together(reqs + i, n - i < TOGETHER ? n - i : TOGETHER);
    }
    mpixq_trace_span(MPIXQ_TRACE_HOST_STARTS, 0, begin, n);
    for (int i = 0; i < n; i++) {
        if (reqs[i] != NULL && has_not_started(reqs[i])) {
            (void)mpixq_request_step(reqs[i], MPIXQ_FAIL);
            if (failed == NULL) {
                failed = reqs[i];
                mpixq_fault_at(&fault, i, failed);
            }
        }
    }
    if (failed == NULL) {
        return MPI_SUCCESS;
    }
    mpixq_match_kick(); /* the peer hears of it now */
    return mpixq_fault_raise_code(call, &fault, mpixq_host_result(failed));
}

static bool lacks_peer(const struct mpixq_request *req)
{
    return mpixq_pair_is_without_peer(&req->pair, mpixq_pair_started(&req->pair));
}

bool mpixq_host_has_failed(const struct mpixq_request *req)
{
    return mpixq_pair_has_failed(&req->pair) || lacks_peer(req);
}

bool mpixq_host_is_done(struct mpixq_request *req)
{
    mpixq_channel_progress_wait(&req->pair);
    return req->pair.channel->poll(&req->pair) || mpixq_host_has_failed(req);
}

int mpixq_host_result(const struct mpixq_request *req)
{
    int code;

    if (mpixq_pair_is_complete(&req->pair)) {
        mpixq_channel_report_failures(req->pair.channel);
        return atomic_load(&req->pair.error);
    }
    if (!mpixq_host_has_failed(req)) {
        return MPI_SUCCESS;
    }
    code = atomic_load(&req->pair.error);
    if (code != MPI_SUCCESS) {
        return code;
    }
    return mpixq_pair_has_failed(&req->pair) ? mpixq_pair_peer_failed(&req->pair)
                                             : mpixq_error_code(MPIXQ_E_PEER_FREED);
}

void mpixq_host_write_status(const struct mpixq_request *req, MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE) {
        return;
    }
    status->MPI_SOURCE = req->pair.source;
    status->MPI_TAG = req->pair.source_tag;
    (void)PMPI_Status_set_elements_x(status, MPI_BYTE, (MPI_Count)req->pair.bytes);
    (void)PMPI_Status_set_cancelled(status, 0);
}

int mpixq_host_complete(struct mpixq_request *req, int code, MPI_Status *status)
{
    (void)mpixq_request_step(req, code == MPI_SUCCESS ? MPIXQ_DONE : MPIXQ_FAIL);
    if (code == MPI_SUCCESS) {
        mpixq_host_write_status(req, status);
    } else {
        mpixq_match_kick(); /* the peer hears of it now */
        mpixq_channel_recall(&req->pair);
    }
    return code;
}

void mpixq_host_drive(void)
{
    if (!mpixq_progress_has_threads()) {
        mpixq_parted_drive();
    }
}

void mpixq_host_missed(void)
{
    enum { EVERY = 16 };

    mpixq_host_drive();
    if (atomic_fetch_add_explicit(&mpixq_host.misses, 1, memory_order_relaxed) % EVERY == 0) {
        mpixq_match_kick();
    }
}
