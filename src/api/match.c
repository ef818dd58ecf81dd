/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "match/match.h"

#include <stddef.h>
#include <stdio.h>

#include "api.h"
#include "core/channels.h"
#include "core/stage.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/progress.h"
#include "util/ranges.h"

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

/* Which channels the requests may use: those of the process, or what info makes of them. */
static int read_channels(const struct mpixq_call *call, MPI_Info info,
                         struct mpixq_channel_set *channels_p)
{
    char *list, why[128], text[MPIXQ_ERROR_ROOM];
    int rc = mpixq_api_info(call, info, "mpixq_channels", &list);

    *channels_p = mpixq_env.channels;
    if (rc == MPI_SUCCESS && list != NULL) {
        if (mpixq_channel_set_parse(list, channels_p, why, sizeof why)) {
            mpixq_channel_set_limit(channels_p, &mpixq_env.channels);
        } else {
            (void)snprintf(text, sizeof text,
                           "%s: argument info: the value of key mpixq_channels: "
                           "%s",
                           call->name, why);
            rc = mpixq_error_raise(MPI_COMM_NULL,
                                   mpixq_error_code_saying(MPIXQ_E_ARG_CHANNELS, text));
        }
    }
    mpixq_free(list);
    return rc;
}

/* Check the requests and put their records into the room. */
static int collect(const struct mpixq_call *call, int count, MPI_Request requests[],
                   const struct mpixq_channel_set *channels, struct room *room)
{
    struct mpixq_fault fault = MPIXQ_FAULT_NONE;
    struct mpixq_request *failed = NULL;
    enum mpixq_error error = mpixq_match_check(count, requests, room->records, &room->n, &fault);

    for (int i = 0; error == MPIXQ_E_NONE && i < room->n; i++) {
        room->records[i]->channels = *channels;
        error = mpixq_match_prepare_split(room->records[i], call);
        if (error != MPIXQ_E_NONE) {
            mpixq_fault_at(&fault, room->records[i]->op_index, room->records[i]);
        }
    }
    if (error == MPIXQ_E_NONE) {
        error = mpixq_stage(room->records, room->n, &failed);
        if (failed != NULL) {
            mpixq_fault_at(&fault, failed->op_index, failed);
        }
    }
    return mpixq_fault_raise(call, &fault, error);
}

/* Check the arguments and find the records. On success the caller frees the room. */
static int prepare(const struct mpixq_call *call, int count, MPI_Request requests[], MPI_Info info,
                   struct room *room)
{
    const int n_few = (int)(sizeof room->few / sizeof room->few[0]);
    struct mpixq_channel_set channels;
    int rc = mpixq_api_enter_interposed(call);

    rc = rc ? rc : read_channels(call, info, &channels);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (count < 0) {
        return mpixq_api_fail(call, MPIXQ_E_ARG_COUNT);
    }
    if (requests == NULL && count > 0) {
        return mpixq_api_fail(call,
                              call->takes_array ? MPIXQ_E_ARG_REQUESTS : MPIXQ_E_ARG_REQUEST_P);
    }
    room->records = room->few;
    if (count > n_few) {
        room->records = mpixq_alloc((size_t)count * sizeof *room->records);
    }
    if (room->records == NULL) {
        return mpixq_api_fail(call, MPIXQ_E_NO_MEMORY);
    }
    rc = collect(call, count, requests, &channels, room);
    if (rc != MPI_SUCCESS) {
        room_free(room);
    }
    return rc;
}

/* One that was matched is of no use after all, as this end of it has failed since. */
static int raise_failure(const struct mpixq_call *call, const struct room *room)
{
    struct mpixq_fault fault;

    for (int i = 0; i < room->n; i++) {
        const struct mpixq_request *req = room->records[i];

        if (mpixq_pair_has_failed(&req->pair) && atomic_load(&req->pair.error) != MPI_SUCCESS) {
            mpixq_fault_at(&fault, req->op_index, req);
            return mpixq_fault_raise_code(call, &fault, atomic_load(&req->pair.error));
        }
    }
    return MPI_SUCCESS;
}

static int match_now(const struct mpixq_call *call, int count, MPI_Request requests[],
                     MPI_Info info)
{
    struct mpixq_match_op op;
    struct room room;
    int rc = prepare(call, count, requests, info, &room);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_match_op_init(&op, call);
    mpixq_match_begin(room.records, room.n, &op);
    mpixq_match_wait(&op);
    mpixq_channels_expose(NULL);
    rc = op.error != MPIXQ_E_NONE
             ? mpixq_error_raise(mpixq_match_op_comm(&op), mpixq_match_op_code(&op))
             : raise_failure(call, &room);
    room_free(&room);
    mpixq_match_op_end(&op);
    return rc;
}

static int match(const struct mpixq_call *call, int count, MPI_Request requests[], MPI_Info info)
{
    int rc;

    mpixq_range_push(call->name, count);
    rc = match_now(call, count, requests, info);
    mpixq_range_pop();
    return rc;
}

int PMPIXQ_Matchall(int count, MPI_Request requests[])
{
    static const struct mpixq_call call = {"MPIX_Matchall", true};

    return match(&call, count, requests, MPI_INFO_NULL);
}
MPIXQ_PROFILED(Matchall);

int PMPIXQ_Matchall_info(int count, MPI_Request requests[], MPI_Info info)
{
    static const struct mpixq_call call = {"MPIX_Matchall_info", true};

    return match(&call, count, requests, info);
}
MPIXQ_PROFILED(Matchall_info);

int PMPIXQ_Match(MPI_Request *request)
{
    static const struct mpixq_call call = {"MPIX_Match", false};

    return match(&call, 1, request, MPI_INFO_NULL);
}
MPIXQ_PROFILED(Match);

static int begin(const struct mpixq_call *call, int count, MPI_Request requests[], MPI_Info info,
                 MPI_Request *match)
{
    struct mpixq_match_op *op;
    struct room room;
    int rc = prepare(call, count, requests, info, &room);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (match == NULL) {
        mpixq_unstage(room.records, room.n);
        room_free(&room);
        return mpixq_api_fail(call, MPIXQ_E_ARG_MATCH);
    }
    op = mpixq_match_op_create(call, &rc);
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

static int match_later(const struct mpixq_call *call, int count, MPI_Request requests[],
                       MPI_Info info, MPI_Request *match)
{
    int rc;

    mpixq_range_push(call->name, count);
    rc = begin(call, count, requests, info, match);
    mpixq_range_pop();
    return rc;
}

int PMPIXQ_Imatchall(int count, MPI_Request requests[], MPI_Request *match)
{
    static const struct mpixq_call call = {"MPIX_Imatchall", true};

    return match_later(&call, count, requests, MPI_INFO_NULL, match);
}
MPIXQ_PROFILED(Imatchall);

int PMPIXQ_Imatchall_info(int count, MPI_Request requests[], MPI_Info info, MPI_Request *match)
{
    static const struct mpixq_call call = {"MPIX_Imatchall_info", true};

    return match_later(&call, count, requests, info, match);
}
MPIXQ_PROFILED(Imatchall_info);

int PMPIXQ_Imatch(MPI_Request *request, MPI_Request *match)
{
    static const struct mpixq_call call = {"MPIX_Imatch", false};

    return match_later(&call, 1, request, MPI_INFO_NULL, match);
}
MPIXQ_PROFILED(Imatch);

int PMPIXQ_Is_matched(MPI_Request request, int *flag)
{
    static const struct mpixq_call call = {"MPIX_Is_matched", false};
    struct mpixq_fault unknown = {.comm = MPI_COMM_NULL, .index = 0};
    struct mpixq_request *req;
    int rc = mpixq_api_enter(&call);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    (void)mpixq_match_open();
    mpixq_match_advance();
    if (flag == NULL) {
        return mpixq_api_fail(&call, MPIXQ_E_ARG_FLAG);
    }
    req = request != MPI_REQUEST_NULL ? mpixq_request_find(request) : NULL;
    if (request != MPI_REQUEST_NULL && req == NULL) {
        return mpixq_fault_raise(&call, &unknown, MPIXQ_E_UNKNOWN_REQUEST);
    }
    *flag = req == NULL || (mpixq_request_state(req) != MPIXQ_UNMATCHED &&
                            mpixq_request_state(req) != MPIXQ_MATCHING);
    return MPI_SUCCESS;
}
MPIXQ_PROFILED(Is_matched);
