/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "core/match.h"

#include <stddef.h>

#include "api.h"
#include "core/alloc.h"
#include "core/channel.h"
#include "core/progress.h"
#include "core/stage.h"

/* Room for the records of one call: short arrays need no memory of their own. */
struct room {
    struct mpixq_request *few[64];
    struct mpixq_request **records;
    int n;
};

static void room_free(struct room *room)
{
    if (room->records != room->few) {
        mpixq_free(room->records);
    }
}

/* Check the arguments and find the records. On success the caller frees the room. */
static int prepare(int count, MPI_Request requests[], struct room *room)
{
    const int n_few = (int)(sizeof room->few / sizeof room->few[0]);
    int rc = mpixq_api_enter_interposed();
    struct mpixq_request *failed;
    enum mpixq_error error;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (count < 0) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_COUNT);
    }
    if (requests == NULL && count > 0) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_REQUESTS);
    }
    room->records = room->few;
    if (count > n_few) {
        room->records = mpixq_alloc((size_t)count * sizeof *room->records);
    }
    if (room->records == NULL) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_NO_MEMORY);
    }
    error = mpixq_match_check(count, requests, room->records, &room->n, &failed);
    if (error == MPIXQ_E_NONE) {
        error = mpixq_stage(room->records, room->n, &failed);
    }
    if (error != MPIXQ_E_NONE) {
        room_free(room);
        return mpixq_api_fail(failed != NULL ? mpixq_request_comm(failed) : MPI_COMM_NULL, error);
    }
    return MPI_SUCCESS;
}

/* One that was matched is of no use after all, as this end of it has failed since. */
static int raise_failure(const struct room *room)
{
    for (int i = 0; i < room->n; i++) {
        const struct mpixq_request *req = room->records[i];

        if (atomic_load(&req->failed) && atomic_load(&req->error) != MPI_SUCCESS) {
            return mpixq_error_raise(mpixq_request_comm(req), atomic_load(&req->error));
        }
    }
    return MPI_SUCCESS;
}

int PMPIXQ_Matchall(int count, MPI_Request requests[])
{
    struct mpixq_match_op op;
    struct room room;
    int rc = prepare(count, requests, &room);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_match_op_init(&op);
    mpixq_match_begin(room.records, room.n, &op);
    mpixq_match_wait(&op);
    mpixq_channels_expose(NULL);
    rc = op.error != MPIXQ_E_NONE
             ? mpixq_error_raise(mpixq_match_op_comm(&op), mpixq_error_code(op.error))
             : raise_failure(&room);
    room_free(&room);
    mpixq_match_op_end(&op);
    return rc;
}
MPIXQ_TWIN(Matchall);

int PMPIXQ_Match(MPI_Request *request)
{
    int rc = mpixq_api_enter();

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (request == NULL) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_REQUEST_P);
    }
    return PMPIXQ_Matchall(1, request);
}
MPIXQ_TWIN(Match);

int PMPIXQ_Imatchall(int count, MPI_Request requests[], MPI_Request *match)
{
    struct mpixq_match_op *op;
    struct room room;
    int rc = prepare(count, requests, &room);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (match == NULL) {
        mpixq_unstage(room.records, room.n);
        room_free(&room);
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_MATCH);
    }
    op = mpixq_match_op_create(&rc);
    if (op == NULL) {
        mpixq_unstage(room.records, room.n);
        room_free(&room);
        return rc;
    }
    *match = op->handle;
    mpixq_match_begin(room.records, room.n, op);
    room_free(&room);
    mpixq_progress_wake();
    return MPI_SUCCESS;
}
MPIXQ_TWIN(Imatchall);

int PMPIXQ_Imatch(MPI_Request *request, MPI_Request *match)
{
    int rc = mpixq_api_enter();

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (request == NULL) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_REQUEST_P);
    }
    return PMPIXQ_Imatchall(1, request, match);
}
MPIXQ_TWIN(Imatch);

int PMPIXQ_Is_matched(MPI_Request request, int *flag)
{
    struct mpixq_request *req;
    int rc = mpixq_api_enter();

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_match_advance();
    if (flag == NULL) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_ARG_FLAG);
    }
    req = request != MPI_REQUEST_NULL ? mpixq_request_find(request) : NULL;
    if (request != MPI_REQUEST_NULL && req == NULL) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_UNKNOWN_REQUEST);
    }
    *flag = req == NULL || (mpixq_request_state(req) != MPIXQ_UNMATCHED &&
                            mpixq_request_state(req) != MPIXQ_MATCHING);
    return MPI_SUCCESS;
}
MPIXQ_TWIN(Is_matched);
