/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "parts.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "comm/layout.h"
#include "core/tally.h"
#include "end.h"
#include "util/alloc.h"
#include "util/env.h"

/* Each part costs the streams of both ends a copy and a word, so there are not many of them: with
 * so many all but a sixteenth of the copies can be hidden behind the transfer, or the other way
 * round. */
enum { MOST = 16 };

/* On the wire. */
struct proposal {
    uint64_t part, staged;
};

static struct mpixq_parts *parts_of(const struct mpixq_pair *pair)
{
    return ((const struct end *)pair->end)->parts;
}

/* In how many bytes each this end would send, or 0. */
static size_t wanted_part(const struct mpixq_pair *pair)
{
    size_t unit = (size_t)mpixq_env.part_kib * 1024, part;

    if (unit == 0 || pair->bytes / 2 < unit || pair->message.mode == MPIXQ_MODE_BSEND ||
        !mpixq_is_contiguous(pair->message.type)) {
        return 0;
    }
    part = unit * ((pair->bytes - 1) / (unit * MOST) + 1);
    return part <= INT_MAX ? part : 0;
}

void mpixq_parts_offer(const struct mpixq_pair *pair, struct mpixq_blob *blob)
{
    struct proposal proposal = {.part = wanted_part(pair), .staged = pair->staging != NULL};

    blob->length = proposal.part > 0 ? sizeof proposal : 0;
    memcpy(blob->bytes, &proposal, blob->length);
}

enum mpixq_error mpixq_parts_accept(const struct mpixq_pair *pair, const struct mpixq_blob *theirs,
                                    uint64_t *part_p)
{
    struct proposal proposal;

    *part_p = 0;
    if (theirs->length == 0) {
        return MPIXQ_E_NONE;
    }
    if (theirs->length != sizeof proposal) {
        return MPIXQ_E_PROTOCOL;
    }
    memcpy(&proposal, theirs->bytes, sizeof proposal);
    if (proposal.part == 0 || proposal.part > INT_MAX || proposal.staged > 1 ||
        pair->bytes <= proposal.part || (pair->bytes - 1) / proposal.part >= MOST) {
        return MPIXQ_E_PROTOCOL;
    }
    if ((proposal.staged || pair->staging != NULL) && mpixq_env.part_kib > 0 &&
        mpixq_is_contiguous(pair->message.type)) {
        *part_p = proposal.part;
    }
    return MPIXQ_E_NONE;
}

bool mpixq_parts_agree(const struct mpixq_pair *pair, uint64_t part)
{
    return part > 0 && part == wanted_part(pair);
}

static int bytes_of(const struct mpixq_pair *pair, const struct mpixq_parts *parts, int i)
{
    uint64_t before = (uint64_t)i * parts->part, left = pair->bytes - before;

    return (int)(left < parts->part ? left : parts->part);
}

/* Of the steps between them each has the copy of its own part. */
static void divide_copy(const struct mpixq_pair *pair, struct mpixq_parts *parts)
{
    const struct mpixq_copy *whole = &pair->staging->copy;

    for (int i = 0; i < parts->n; i++) {
        size_t before = (size_t)i * parts->part;

        parts->of[i].copy = *whole;
        parts->of[i].copy.to = (char *)whole->to + before;
        parts->of[i].copy.from = (const char *)whole->from + before;
        parts->of[i].copy.bytes = (size_t)bytes_of(pair, parts, i);
    }
    if (mpixq_pair_is_send(pair)) {
        pair->staging->before = &parts->of[0].copy;
    } else {
        pair->staging->after = &parts->of[parts->n - 1].copy;
    }
}

void mpixq_parts_join(const struct mpixq_pair *pair)
{
    if (parts_of(pair) == NULL || pair->staging == NULL) {
        return;
    }
    if (mpixq_pair_is_send(pair)) {
        pair->staging->before = &pair->staging->copy;
    } else {
        pair->staging->after = &pair->staging->copy;
    }
}

struct mpixq_parts *mpixq_parts_create(const struct mpixq_pair *pair, uint64_t part)
{
    int n = (int)((pair->bytes - 1) / part + 1);
    struct mpixq_parts *parts = mpixq_alloc(sizeof *parts + (size_t)n * sizeof parts->of[0]);

    if (parts == NULL) {
        return NULL;
    }
    parts->part = part;
    parts->n = n;
    for (int i = 0; i < n; i++) {
        parts->of[i].request = MPI_REQUEST_NULL;
    }
    if (pair->staging != NULL) {
        divide_copy(pair, parts);
    }
    return parts;
}

void mpixq_parts_free(struct mpixq_parts *parts)
{
    for (int i = 0; parts != NULL && i < parts->n; i++) {
        if (parts->of[i].request != MPI_REQUEST_NULL) {
            (void)PMPI_Request_free(&parts->of[i].request);
        }
    }
    mpixq_free(parts);
}

/* Parts are received in order, so a synchronous send has begun to be received when its last part
 * has. */
static int start_part(const struct mpixq_pair *pair, struct mpixq_parts *parts, int tag,
                      MPI_Comm comm)
{
    int i = parts->begun, bytes = bytes_of(pair, parts, i), rc = MPI_SUCCESS;
    char *at = (char *)mpixq_pair_buffer(pair) + (size_t)i * parts->part;
    MPI_Request *request = &parts->of[i].request;

    if (*request != MPI_REQUEST_NULL) {
        return PMPI_Start(request);
    }
    if (!mpixq_pair_is_send(pair)) {
        rc = PMPI_Recv_init(at, bytes, MPI_BYTE, pair->peer_world, tag, comm, request);
    } else if (pair->message.mode == MPIXQ_MODE_SSEND && i == parts->n - 1) {
        rc = PMPI_Ssend_init(at, bytes, MPI_BYTE, pair->peer_world, tag, comm, request);
    } else {
        rc = PMPI_Send_init(at, bytes, MPI_BYTE, pair->peer_world, tag, comm, request);
    }
    return rc ? rc : PMPI_Start(request);
}

int mpixq_parts_steps(const struct mpixq_pair *pair, enum mpixq_phase phase)
{
    const struct mpixq_parts *parts = parts_of(pair);
    enum mpixq_phase copied = mpixq_pair_is_send(pair) ? MPIXQ_PHASE_START : MPIXQ_PHASE_WAIT;
    bool joined = mpixq_tally_of(pair) != NULL;

    return parts != NULL && pair->staging != NULL && phase == copied && !joined ? parts->n : 1;
}

int mpixq_parts_start(const struct mpixq_pair *pair, int tag, MPI_Comm comm, int *n_p)
{
    struct mpixq_parts *parts = parts_of(pair);
    bool copied = pair->staging != NULL && mpixq_pair_is_send(pair) && !parts->at_once;
    int first = parts->begun, end = copied ? first + 1 : parts->n, rc = MPI_SUCCESS;

    while (rc == MPI_SUCCESS && parts->begun < end) {
        rc = start_part(pair, parts, tag, comm);
        parts->begun += rc == MPI_SUCCESS;
    }
    *n_p = parts->begun - first;
    return rc;
}

void mpixq_parts_break_off(const struct mpixq_pair *pair, int tag, MPI_Comm comm)
{
    struct mpixq_parts *parts = parts_of(pair);
    int rc = MPI_SUCCESS;

    if (!mpixq_pair_is_send(pair) || parts->begun == 0) {
        return;
    }
    while (rc == MPI_SUCCESS && parts->begun < parts->n) {
        MPI_Request *request = &parts->of[parts->begun].request;

        if (*request != MPI_REQUEST_NULL) {
            (void)PMPI_Request_free(request);
        }
        parts->broken_off = true;
        rc = PMPI_Isend(NULL, 0, MPI_BYTE, pair->peer_world, tag, comm, request);
        parts->begun += rc == MPI_SUCCESS;
    }
}

int mpixq_parts_test(const struct mpixq_pair *pair, int *flag_p)
{
    struct mpixq_parts *parts = parts_of(pair);
    bool is_send = mpixq_pair_is_send(pair);
    MPI_Status status;
    int bytes = 0;

    *flag_p = 0;
    while (parts->done < parts->begun) {
        int flag = 0, rc = PMPI_Test(&parts->of[parts->done].request, &flag, &status);

        if (rc != MPI_SUCCESS || !flag) {
            return rc;
        }
        parts->done++;
        if (!is_send) {
            ((struct end *)pair->end)->received++;
            (void)PMPI_Get_count(&status, MPI_BYTE, &bytes);
            if (bytes != bytes_of(pair, parts, parts->done - 1)) {
                return mpixq_pair_peer_failed(pair);
            }
        }
        atomic_fetch_add_explicit(&parts->arrived, 1, memory_order_release);
    }
    if (parts->done == parts->n) {
        parts->begun = parts->done = 0;
        *flag_p = 1;
    }
    return MPI_SUCCESS;
}

/* The last one first: what arrives meanwhile is for those before it. */
void mpixq_parts_cancel(const struct mpixq_pair *pair)
{
    struct mpixq_parts *parts = parts_of(pair);

    for (int i = parts->begun - 1; i >= parts->done; i--) {
        (void)PMPI_Cancel(&parts->of[i].request);
    }
}

bool mpixq_parts_have_let_go(const struct mpixq_pair *pair)
{
    struct mpixq_parts *parts = parts_of(pair);

    while (parts->done < parts->begun &&
           mpixq_end_lets_go(pair->end, &parts->of[parts->done].request)) {
        parts->done++;
    }
    return parts->done == parts->begun;
}
