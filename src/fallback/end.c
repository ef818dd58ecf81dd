/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The end of a pair on the fallback: what was started and never received is received into nowhere,
 * so that its tag can be used again; a send cannot be recalled. */
#include "end.h"

#include <limits.h>
#include <stddef.h>

#include "util/alloc.h"
#include "util/backoff.h"
#include "util/log.h"
#include "util/progress.h"

/* For so long a free waits for MPI to let go of a buffer, and others after it do not. */
#define LET_GO_NS UINT64_C(1000000000)
#define AGAIN_NS UINT64_C(10000000000)

struct end *mpixq_end_create(const struct mpixq_pair *pair, int tag, uint64_t part, MPI_Comm comm)
{
    struct end *end = mpixq_alloc(sizeof *end); /* freed in end_free */

    if (end == NULL) {
        return NULL;
    }
    if (part > 0) {
        end->parts = mpixq_parts_create(pair, part);
        if (end->parts == NULL) {
            mpixq_free(end);
            return NULL;
        }
    }
    end->request = MPI_REQUEST_NULL;
    end->drain = MPI_REQUEST_NULL;
    end->tag = tag;
    end->comm = comm;
    return end;
}

static void uncount(struct end *end)
{
    if (end->counted) {
        atomic_fetch_sub_explicit(&mpixq_progress.outstanding, 1, memory_order_relaxed);
    }
}

void mpixq_end_deactivate(struct end *end)
{
    end->active = false;
    uncount(end);
}

static void end_free(struct mpixq_pair *pair)
{
    mpixq_parts_free(((struct end *)pair->end)->parts);
    mpixq_free(pair->end);
    pair->end = NULL;
}

static void free_request(struct end *end)
{
    if (end->request != MPI_REQUEST_NULL) {
        (void)PMPI_Request_free(&end->request);
    }
}

/* Of a receive that MPI was asked to cancel. */
static bool has_let_go(const struct mpixq_pair *pair, struct end *end)
{
    if (end->parts != NULL ? !mpixq_parts_have_let_go(pair)
                           : !mpixq_end_lets_go(end, &end->request)) {
        return false;
    }
    end->recalled = false;
    uncount(end);
    free_request(end);
    return true;
}

/* Where many are freed the first one waits for all. Returns whether MPI has let go. */
static bool await_cancel(const struct mpixq_pair *pair, struct end *end, uint64_t *until_ns_p)
{
    uint64_t now_ns = mpixq_now_ns();
    struct mpixq_backoff backoff;

    if (*until_ns_p == 0 || now_ns > *until_ns_p + AGAIN_NS) {
        *until_ns_p = now_ns + LET_GO_NS;
    }
    mpixq_backoff_begin(&backoff);
    while (!has_let_go(pair, end)) {
        if (mpixq_now_ns() > *until_ns_p) {
            return false;
        }
        mpixq_backoff_pause(&backoff);
    }
    return true;
}

/* A receive that is still under way takes no more data, unless they come already and its sender
 * has stopped: other matches and frees would wait for that sender, too. */
static void recall(struct mpixq_pair *pair, struct end *end, uint64_t *until_ns_p)
{
    if (end->parts != NULL) {
        mpixq_parts_cancel(pair);
    } else {
        (void)PMPI_Cancel(&end->request);
    }
    end->active = false;
    end->recalled = true;
    if (!await_cancel(pair, end, until_ns_p)) {
        mpixq_warn("a receive was freed while its message came, and rank %d does not go on "
                   "sending that: MPI may write into the buffer until it does",
                   pair->peer_world);
    }
}

void mpixq_end_release(struct mpixq_pair *pair, uint64_t *until_ns_p)
{
    struct end *end = pair->end;

    if (end->active && !mpixq_pair_is_send(pair)) {
        recall(pair, end, until_ns_p);
    } else if (!end->active) {
        free_request(end);
    }
}

/* Begin to receive, into nowhere, a message that was sent and never received. 1: begun, 0: it
 * has not arrived, -1: it cannot be done. */
static int drain_begin(const struct mpixq_pair *pair, struct end *end)
{
    MPI_Message message;
    MPI_Status status;
    MPI_Count bytes = 0;
    int flag = 0;

    if (PMPI_Improbe(pair->peer_world, end->tag, end->comm, &flag, &message, &status) !=
        MPI_SUCCESS) {
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
static int drain(const struct mpixq_pair *pair, struct end *end)
{
    int flag = 0, begun, of_each = end->parts != NULL ? end->parts->n : 1;

    while (end->received < mpixq_pair_peer_starts(pair) * (uint64_t)of_each) {
        begun = end->drain != MPI_REQUEST_NULL ? 1 : drain_begin(pair, end);
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

static bool retire_send(struct mpixq_pair *pair, struct end *end)
{
    int flag = 0, rc;

    if (end->active) {
        rc = end->parts != NULL ? mpixq_parts_test(pair, &flag)
                                : PMPI_Test(&end->request, &flag, MPI_STATUS_IGNORE);
        if (rc == MPI_SUCCESS && !flag) {
            return false;
        }
        mpixq_end_deactivate(end);
        free_request(end);
    }
    end_free(pair);
    return true;
}

bool mpixq_end_retire(struct mpixq_pair *pair, struct mpixq_tags *tags)
{
    struct end *end = pair->end;
    int drained;

    if (mpixq_pair_is_send(pair)) {
        return retire_send(pair, end);
    }
    if (end->recalled && !has_let_go(pair, end)) {
        return false;
    }
    drained = drain(pair, end);
    if (drained == 0) {
        return false;
    }
    if (drained > 0) {
        mpixq_tag_give_back(tags, pair->peer_world, end->tag);
    } else {
        mpixq_warn(
            "a message of rank %d could not be received after its receive was freed: its tag "
            "is not used again",
            pair->peer_world);
    }
    end_free(pair);
    return true;
}
