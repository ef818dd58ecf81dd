/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The fallback channel: each end of a pair is a private persistent MPI request on a private
 * communicator, with a tag that no other pair with the same source has. It works on any MPI,
 * for any datatype, size and send mode.
 *
 * The thread that runs a stream calls MPI itself: a start is PMPI_Startall, a wait polls with
 * PMPI_Test and PMPI_Testsome. Others may poll the same request (MPIX_Queue_test, say); busy
 * gives it to one thread at a time. While the stream is elsewhere the progress thread drives
 * MPI as a whole, without touching requests.
 *
 * A tag is given back when both ends are released and every send that was started has been
 * received: MPI cannot recall a started send, and a pair that inherited the tag would take its
 * data. */
#include <stddef.h>
#include <string.h>

#include "core/channel.h"
#include "core/failure.h"
#include "core/queue.h"
#include "core/steps.h"
#include "core/tally.h"
#include "core/trace_pairs.h"
#include "end.h"
#include "start.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/log.h"
#include "util/progress.h"

/* What the channel has while it is open; fallback_close frees it. */
static struct {
    MPI_Comm comm; /* constant */
    struct mpixq_tags tags;
    uint64_t until_ns; /* the last free that waited for a message did so; under the matching lock */
} fallback = {.comm = MPI_COMM_NULL};

static int fallback_open(void)
{
    int *upper = NULL, found = 0;
    int rc = PMPI_Comm_dup(MPI_COMM_WORLD, &fallback.comm);

    rc = rc ? rc : PMPI_Comm_set_errhandler(fallback.comm, MPI_ERRORS_RETURN);
    rc = rc ? rc : PMPI_Comm_set_name(fallback.comm, "mpix_queue fallback");
    rc = rc ? rc : PMPI_Comm_get_attr(fallback.comm, MPI_TAG_UB, &upper, &found);
    mpixq_tags_open(&fallback.tags,
                    rc == MPI_SUCCESS && found ? *upper : 32767); /* what MPI guarantees */
    return rc;
}

static void fallback_close(void)
{
    mpixq_tags_close(&fallback.tags);
    if (fallback.comm != MPI_COMM_NULL) {
        (void)PMPI_Comm_free(&fallback.comm);
    }
}

/* Matching. */

static bool fallback_offer(struct mpixq_pair *pair, struct mpixq_blob *blob, const char **why_p)
{
    (void)why_p;
    mpixq_parts_offer(pair, blob);
    return true;
}

static enum mpixq_error fallback_accept(struct mpixq_pair *pair, const struct mpixq_blob *theirs,
                                        struct mpixq_blob *mine, const char **why_p)
{
    enum mpixq_error error;
    uint64_t part;
    int32_t tag;

    error = mpixq_parts_accept(pair, theirs, &part);
    if (error != MPIXQ_E_NONE) {
        *why_p = "what the sender says of parts makes no sense";
        return error;
    }
    tag = mpixq_tag_take(&fallback.tags, pair->peer_world);
    if (tag < 0) {
        *why_p = "all tags of this source are in use";
        return MPIXQ_E_NO_TAG;
    }
    pair->end = mpixq_end_create(pair, tag, part, fallback.comm);
    if (pair->end == NULL) {
        mpixq_tag_give_back(&fallback.tags, pair->peer_world, tag);
        *why_p = "no memory";
        return MPIXQ_E_NO_MEMORY;
    }
    mine->length = part > 0 ? sizeof tag + sizeof part : sizeof tag;
    memcpy(mine->bytes, &tag, sizeof tag);
    memcpy(mine->bytes + sizeof tag, &part, sizeof part);
    return MPIXQ_E_NONE;
}

static enum mpixq_error fallback_connect(struct mpixq_pair *pair, const struct mpixq_blob *theirs)
{
    uint64_t part = 0;
    int32_t tag;

    if (theirs->length == sizeof tag + sizeof part) {
        memcpy(&part, theirs->bytes + sizeof tag, sizeof part);
        if (!mpixq_parts_agree(pair, part)) {
            return MPIXQ_E_PROTOCOL;
        }
    } else if (theirs->length != sizeof tag) {
        return MPIXQ_E_PROTOCOL;
    }
    memcpy(&tag, theirs->bytes, sizeof tag);
    if (tag < 0 || tag > fallback.tags.largest) {
        return MPIXQ_E_PROTOCOL;
    }
    pair->end = mpixq_end_create(pair, tag, part, fallback.comm);
    return pair->end != NULL ? MPIXQ_E_NONE : MPIXQ_E_NO_MEMORY;
}

/* Starts and waits. */

static int fallback_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                          struct mpixq_op list[])
{
    for (int i = 0; i < n; i++) {
        struct mpixq_tally *tally = queue != NULL ? mpixq_tally_of(pairs[i]) : NULL;

        if (tally == NULL || !mpixq_tally_start(tally, queue, &list[i])) {
            mpixq_op_call(&list[i], MPIXQ_OP_CALL, mpixq_fallback_starts, pairs[i]);
        }
    }
    return n;
}

/* An active pair has completed. Under busy. */
static void complete(struct mpixq_pair *pair)
{
    struct mpixq_tally *tally = mpixq_tally_of(pair);
    struct end *end = pair->end;

    mpixq_end_deactivate(end);
    end->received += end->parts == NULL;
    if (end->parts == NULL || !end->parts->broken_off) {
        mpixq_trace_completed(pair);
        if (tally != NULL) {
            mpixq_tally_completes(tally, mpixq_pair_done(pair) + 1);
        }
        mpixq_fallback_count(&pair->done);
        if (tally != NULL) {
            mpixq_tally_completed(tally);
        }
    }
}

/* Under busy, which is left. */
static void conclude(struct mpixq_pair *pair, int rc, bool flag)
{
    if (rc == MPI_SUCCESS && flag) {
        complete(pair);
    }
    mpixq_end_leave(pair->end);
    if (rc != MPI_SUCCESS) {
        mpixq_fallback_fail(pair, rc, "completion");
    }
}

/* Under busy, which is left; it is active. Returns whether it has completed. */
static bool test_taken(struct mpixq_pair *pair)
{
    struct end *end = pair->end;
    int flag = 0, rc = end->parts != NULL ? mpixq_parts_test(pair, &flag)
                                          : PMPI_Test(&end->request, &flag, MPI_STATUS_IGNORE);

    conclude(pair, rc, flag);
    return flag;
}

/* Take those of the pairs that are active, and are one request of MPI. Returns how many. */
static int take_active(void *const args[], int n, struct mpixq_pair *pairs[])
{
    int n_active = 0;

    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = args[i];
        struct end *end = pair->end;

        if (!mpixq_end_try_enter(end)) {
            continue; /* another thread is testing it */
        }
        if (end->active && end->parts != NULL) {
            (void)test_taken(pair);
        } else if (end->active) {
            pairs[n_active++] = pair;
        } else {
            mpixq_end_leave(end);
        }
    }
    return n_active;
}

/* Test up to MPIXQ_TOGETHER pairs in one call. */
static void test_some(void *const args[], int n)
{
    struct mpixq_pair *pairs[MPIXQ_TOGETHER];
    MPI_Request requests[MPIXQ_TOGETHER];
    MPI_Status statuses[MPIXQ_TOGETHER];
    int indices[MPIXQ_TOGETHER], n_done = 0, rc;

    n = take_active(args, n, pairs);
    if (n == 0) {
        return;
    }
    for (int i = 0; i < n; i++) {
        requests[i] = ((struct end *)pairs[i]->end)->request;
    }
    rc = PMPI_Testsome(n, requests, &n_done, indices, statuses);
    n_done = n_done == MPI_UNDEFINED ? 0 : n_done;
    for (int i = 0; i < n_done; i++) {
        struct mpixq_pair *pair = pairs[indices[i]];
        struct end *end = pair->end;

        pairs[indices[i]] = NULL;
        end->request = requests[indices[i]]; /* null if it was not persistent */
        conclude(pair, rc == MPI_ERR_IN_STATUS ? statuses[i].MPI_ERROR : rc, true);
    }
    for (int i = 0; i < n; i++) {
        if (pairs[i] != NULL) {
            conclude(pairs[i], rc == MPI_ERR_IN_STATUS ? MPI_SUCCESS : rc, false);
        }
    }
}

/* Returns whether the pair needs no more tests. */
static bool test_one(void *arg)
{
    struct mpixq_pair *pair = arg;
    struct end *end = pair->end;

    if (!mpixq_end_try_enter(end)) {
        return false;
    }
    if (!end->active) {
        mpixq_end_leave(end);
        return true;
    }
    return test_taken(pair);
}

/* For streams, which compare the completion words themselves. A test of one request drives all of
 * them. So only the first is tested until it has completed; then most likely others have as well,
 * and one call for all is much cheaper than one for each: MPICH polls the network in each. */
static void poll_many(void *const args[], int n)
{
    while (n > 0 && test_one(args[0])) {
        int together = n - 1 < MPIXQ_TOGETHER ? n - 1 : MPIXQ_TOGETHER;

        if (together > 0) {
            test_some(args + 1, together);
        }
        args += together + 1;
        n -= together + 1;
    }
}

static bool has_completed(const struct mpixq_pair *pair)
{
    return mpixq_pair_is_complete(pair);
}

static bool fallback_poll(struct mpixq_pair *pair)
{
    if (!has_completed(pair)) {
        (void)test_one(pair);
    }
    return has_completed(pair);
}

static void fallback_poll_many(struct mpixq_pair *const pairs[], int n, bool done[])
{
    void *args[MPIXQ_TOGETHER];

    for (int i = 0; i < n; i += MPIXQ_TOGETHER) {
        int together = n - i < MPIXQ_TOGETHER ? n - i : MPIXQ_TOGETHER;

        for (int k = 0; k < together; k++) {
            args[k] = pairs[i + k];
        }
        test_some(args, together);
    }
    for (int i = 0; i < n; i++) {
        done[i] = has_completed(pairs[i]);
    }
}

static int fallback_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op *op)
{
    mpixq_tally_wait(queue, pair, poll_many, op);
    return 1;
}

/* The call of each starts the next part. */
static int fallback_step(struct mpixq_queue *queue, struct mpixq_pair *pair, enum mpixq_phase phase,
                         int step, struct mpixq_op *op)
{
    const struct mpixq_parts *parts = ((const struct end *)pair->end)->parts;

    if (mpixq_phase_waits(phase)) {
        uint64_t before = (mpixq_pair_started(pair) - 1) * (uint64_t)parts->n;

        mpixq_op_wait(op, MPIXQ_OP_WAIT, pair, &parts->arrived, before + (uint64_t)step + 1,
                      &queue->halted);
        op->goes_on = true;
        op->poll = poll_many;
    } else {
        mpixq_op_call(op, MPIXQ_OP_CALL, mpixq_fallback_starts, pair);
    }
    op->copy = &parts->of[step].copy;
    return 1;
}

/* What its tally says is to be started, and what is under way. */
static void fallback_go_on(struct mpixq_pair *pair)
{
    struct mpixq_tally *tally = mpixq_tally_of(pair);
    struct end *end = pair->end;
    enum mpixq_tally_next next;

    if (!mpixq_end_try_enter(end)) {
        return;
    }
    if (end->active) {
        if (mpixq_pair_has_failed(pair)) {
            mpixq_end_leave(end);
            return;
        }
        if (!test_taken(pair) || !mpixq_end_try_enter(end)) { /* which has left it */
            return;
        }
    }
    next = mpixq_tally_next(tally);
    if (next == MPIXQ_TALLY_START) {
        mpixq_fallback_start_whole(pair);
    } else {
        mpixq_end_leave(end);
    }
    if (next == MPIXQ_TALLY_DROP) {
        mpixq_tally_dropped(tally);
    }
}

static const char *fallback_what_is_missing(const struct mpixq_pair *pair)
{
    if (!mpixq_pair_is_send(pair)) {
        return "it is started here and lacks the data: the peer has not started its send, or the "
               "message is under way";
    }
    return pair->message.mode == MPIXQ_MODE_BSEND
               ? "it is started here, and MPI has not taken its data into the buffer"
               : "it is started here and the data is not taken: the peer has not started its "
                 "receive, or the message is under way";
}

static void fallback_release(struct mpixq_pair *pair)
{
    mpixq_end_release(pair, &fallback.until_ns);
}

static bool fallback_retire(struct mpixq_pair *pair)
{
    return mpixq_end_retire(pair, &fallback.tags);
}

static void fallback_equip(struct mpixq_pair *pair, struct mpixq_queue *queue,
                           struct mpixq_tally *tally)
{
    (void)queue;
    (void)tally;
    mpixq_parts_join(pair);
}

static const struct mpixq_channel_graphs fallback_graphs = {.go_on = fallback_go_on,
                                                            .equip = fallback_equip,
                                                            .refresh = mpixq_tally_refresh,
                                                            .halt = mpixq_tally_halt,
                                                            .close = mpixq_tally_close,
                                                            .describe = mpixq_tally_describe};
static enum mpixq_error fallback_attach(struct mpixq_queue *queue)
{
    mpixq_tallies_provide(queue->stream);
    return MPIXQ_E_NONE;
}

static const struct mpixq_channel_steps fallback_steps = {.count = mpixq_parts_steps,
                                                          .fill = fallback_step};
static const struct mpixq_channel_queues fallback_queues = {.attach = fallback_attach,
                                                            .steps = &fallback_steps};
static const struct mpixq_channel_report fallback_report = {.what_is_missing =
                                                                fallback_what_is_missing};

const struct mpixq_channel mpixq_channel_fallback = {
    .name = "fallback",
    .id = MPIXQ_CHANNEL_FALLBACK,
    .through_mpi = true,
    .queues = &fallback_queues,
    .report = &fallback_report,
    .graphs = &fallback_graphs,
    .open = fallback_open,
    .close = fallback_close,
    .offer = fallback_offer,
    .accept = fallback_accept,
    .connect = fallback_connect,
    .start = fallback_start,
    .wait = fallback_wait,
    .poll = fallback_poll,
    .poll_many = fallback_poll_many,
    .release = fallback_release,
    .retire = fallback_retire,
};
