/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Everything here runs under the matching lock: no record that a peer can name is destroyed
 * meanwhile, and no queue that a request names is freed (mpixq_match_fence). It reads what is
 * atomic, blocks nowhere and calls nothing of a stream but waits_for and identity. */
#include "watchdog.h"

#include <mpi.h>
#include <stdio.h>
#include <utlist.h>

#include "comm/comm.h"
#include "core/channel.h"
#include "core/graphs.h"
#include "core/queue.h"
#include "core/request_name.h"
#include "core/schedule.h"
#include "dump.h"
#include "match/control.h"
#include "match/match_internal.h"
#include "util/backoff.h"
#include "util/log.h"
#include "util/progress.h"
#include "util/thread.h"

enum {
    LOOKS = 8,       /* at a thing before it is as old as MPIXQ_WATCHDOG_S */
    MAX_PLACES = 64, /* where waits are stuck; the rest have their turn when these go on */
    MAX_LINES = 32   /* of one look */
};

/* A stream, or a queue that the host waits for, that has waited for one start too long. What else
 * stands there cannot get on either. */
struct place {
    const void *key;
    struct mpixq_request *blocker;
};

struct look {
    uint64_t number;
    uint64_t now, before; /* that of some looks ago: mpixq_looks_note */
    int n_places;
    struct place places[MAX_PLACES];
    struct mpixq_match_op *ops; /* that are under way, by next_watched */
    struct mpixq_queue *behind; /* with starts that are not reached, by next_behind */
    int n_lines, n_left_out;
};

/* The same of a match. While it waits no stream may be blocked, but that it lasts is a sign of two
 * ends that wait for each other. */
static uint64_t match_limit_ns(void)
{
    return mpixq_watchdog_is_on() ? mpixq_age_limit_ns() : mpixq_age_limit_ns() / 5;
}

long mpixq_watchdog_sleep_ms(void)
{
    /* Nothing is matched or being matched: whoever begins that wakes the thread. */
    if (!mpixq_watchdog_is_on() || atomic_load(&mpixq_requests.active) == 0) {
        return -1;
    }
    return mpixq_env.watchdog_s * (1000 / LOOKS);
}

/* Ages. */

static bool is_old(const struct look *look, uint64_t since_ns)
{
    return mpixq_age_is_old(since_ns, look->before, look->now, mpixq_age_limit_ns());
}

static bool is_old_match(const struct look *look, uint64_t since_ns)
{
    return mpixq_age_is_old(since_ns, look->before, look->now, match_limit_ns());
}

static double seconds(const struct look *look, uint64_t since_ns)
{
    return (double)(look->now - since_ns) / 1e9;
}

/* Is something of this age, which is old, to be reported now, and is there room for it? */
static bool is_due(struct look *look, struct mpixq_age *age, uint64_t since_ns)
{
    if (!mpixq_age_is_due(age, since_ns, look->now)) {
        return false;
    }
    if (look->n_lines == MAX_LINES) {
        look->n_left_out++;
        return false;
    }
    look->n_lines++;
    return true;
}

enum { ROOM = MPIXQ_NAME_ROOM };

/* Matches. */

static void note_match(struct look *look, struct mpixq_request *req)
{
    struct mpixq_match_op *op = req->op;

    if (op->look != look->number) {
        op->look = look->number;
        op->first = req;
        LL_PREPEND2(look->ops, op, next_watched);
        mpixq_age_note(&op->age, (uint64_t)atomic_load(&op->remaining), look->now);
    } else if (req->op_index < op->first->op_index) {
        op->first = req;
    }
}

static void report_match(struct look *look, struct mpixq_match_op *op)
{
    char name[ROOM], why[MPIXQ_WHY_ROOM], text[5 * ROOM];

    if (!is_old_match(look, op->age.since_ns) || !is_due(look, &op->age, op->age.since_ns)) {
        return;
    }
    (void)snprintf(
        text, sizeof text, "%s has waited %.1f s for %d of %d requests, the first %s: %s",
        op->call->name, seconds(look, op->age.since_ns), atomic_load(&op->remaining), op->n,
        mpixq_request_name(op->first, name), mpixq_watchdog_why_unmatched(op->first, why));
    mpixq_age_tell(
        text,
        ". If both ends match their sends first, match all requests of each in one MPIX_Matchall");
}

static void report_matches(struct look *look)
{
    struct mpixq_match_op *op;
    bool expired = false;

    LL_FOREACH2(look->ops, op, next_watched)
    {
        report_match(look, op);
        if (mpixq_watchdog_ends() && is_old_match(look, op->age.since_ns)) {
            op->given_up = MPIXQ_E_MATCH_TIMEOUT;
            expired = true;
        }
    }
    if (expired) {
        mpixq_match_give_up();
    }
}

/* A match may also wait for room in the messages to a peer who does not take them. */
static void look_at_answers(struct look *look, struct mpixq_age *age)
{
    int peer = mpixq_control_unanswered();
    char text[2 * ROOM];

    if (peer < 0) {
        age->since_ns = 0;
        return;
    }
    mpixq_age_note(age, mpixq_control_sent(), look->now);
    if (is_old(look, age->since_ns) && is_due(look, age, age->since_ns)) {
        (void)snprintf(text, sizeof text,
                       "the answer to a match of rank %d of MPI_COMM_WORLD has waited %.1f s: the "
                       "peer takes no messages, since it runs below MPI_THREAD_MULTIPLE and is "
                       "blocked outside of this library, MPI_Wait and MPI_Test",
                       peer, seconds(look, age->since_ns));
        mpixq_age_tell(text, "");
    }
    if (mpixq_watchdog_ends() && is_old(look, age->since_ns)) {
        mpixq_control_excuse_answers();
    }
}

/* Starts. */

static const struct place *find_place(const struct look *look, const void *key)
{
    for (int i = 0; i < look->n_places; i++) {
        if (look->places[i].key == key) {
            return &look->places[i];
        }
    }
    return NULL;
}

/* A call of MPI that completes what the host has started, as a place: odd, unlike addresses. */
static const void *call_place(const struct mpixq_request *req)
{
    uint64_t call = atomic_load_explicit(&req->host_call, memory_order_acquire);

    return call != 0 ? (const void *)(uintptr_t)(call | 1) : NULL;
}

/* The stream, as a place. */
static const void *stream_place(const struct mpixq_queue *queue)
{
    return queue->stream->ops->identity(queue->stream);
}

/* A stream waits for a pair, or for a part of a collective. */
static bool is_or_has(const struct mpixq_pair *pair, const void *waits_for)
{
    const struct mpixq_pair *part;
    bool found = pair == waits_for;

    for (int i = 0; !found && waits_for != NULL && (part = mpixq_collective_part(pair, i)) != NULL;
         i++) {
        found = part == waits_for;
    }
    return found;
}

/* Where somebody waits for a request's start just now, or NULL: at its stream, its queue for
 * MPIX_Queue_wait, or a call of MPI. Of several things that are waited for the first counts. */
static const void *waiting_place(const struct mpixq_request *req, struct mpixq_queue *queue)
{
    if (queue == NULL) {
        return (atomic_load(&req->host_call) & 1) != 0 ? call_place(req) : NULL;
    }
    if (atomic_load(&req->pair.queue) == NULL) { /* a graph has started it, and will wait */
        return mpixq_pair_is_in_flight(&req->pair) ? stream_place(queue) : NULL;
    }
    if (atomic_load_explicit(&queue->host_waits_for, memory_order_acquire) ==
        mpixq_pair_done_word(&req->pair)) {
        return queue;
    }
    return is_or_has(&req->pair, queue->stream->ops->waits_for(queue->stream)) ? stream_place(queue)
                                                                               : NULL;
}

bool mpixq_watchdog_is_pending(const struct mpixq_request *req, const struct mpixq_queue *queue)
{
    return !mpixq_pair_is_complete(&req->pair) && !mpixq_pair_has_failed(&req->pair) &&
           (queue == NULL || !mpixq_queue_has_failed(queue));
}

void mpixq_watchdog_note(struct mpixq_request *req, uint64_t now_ns)
{
    uint64_t done = mpixq_pair_done(&req->pair);

    if (req->age.since_ns == 0 || req->age.progress != done) {
        req->waited_ns = 0;
        mpixq_age_note(&req->age, done, now_ns);
    }
}

/* Somebody waits, or will when what stands before is done, for a start since since_ns. */
static void report_start(struct look *look, struct mpixq_request *req, uint64_t since_ns)
{
    const struct mpixq_queue *queue = mpixq_graphs_queue(&req->pair);
    char name[ROOM], who[32] = "the host", text[4 * ROOM];

    if (!is_due(look, &req->age, since_ns)) {
        return;
    }
    if (queue != NULL) {
        (void)snprintf(who, sizeof who, "queue %llu", (unsigned long long)queue->number);
    }
    (void)snprintf(text, sizeof text, "%s has waited %.1f s for start %llu of %s by channel %s: %s",
                   who, seconds(look, since_ns), (unsigned long long)req->age.progress + 1,
                   mpixq_request_name(req, name), req->pair.channel->name,
                   mpixq_watchdog_what_is_missing(req));
    mpixq_age_tell(text, ". The peer may just need as long");
}

/* A start is pending and somebody waits for it at a place. */
static void note_wait(struct look *look, struct mpixq_request *req, const void *place)
{
    if (req->waited_ns == 0 || req->waited_at != place) {
        req->waited_ns = look->now;
        req->waited_at = place;
    }
    if (is_old(look, req->waited_ns)) {
        report_start(look, req, req->waited_ns);
        if (look->n_places < MAX_PLACES) {
            look->places[look->n_places++] = (struct place){.key = place, .blocker = req};
        }
    }
}

static void note_start(struct look *look, struct mpixq_request *req)
{
    struct mpixq_queue *queue = mpixq_graphs_queue(&req->pair);
    const void *place = NULL;

    if (mpixq_watchdog_is_pending(req, queue)) {
        mpixq_match_poll(&req->pair);
    }
    if (!mpixq_watchdog_is_pending(req, queue)) {
        req->age.since_ns = req->waited_ns = 0;
        return;
    }
    mpixq_watchdog_note(req, look->now);
    place = waiting_place(req, queue);
    if (place != NULL) {
        note_wait(look, req, place);
    } else {
        req->waited_ns = 0;
    }
}

static void note_behind(struct look *look, struct mpixq_queue *queue, struct mpixq_request *req,
                        const struct place *place)
{
    if (queue->behind_look != look->number) {
        queue->behind_look = look->number;
        queue->behind = 0;
        queue->first_behind = req;
        mpixq_age_note(&queue->behind_age, place->blocker->waited_ns, place->blocker->waited_ns);
        LL_PREPEND2(look->behind, queue, next_behind);
    }
    queue->behind++;
}

/* A stream that waits for many tests the first of them only. */
static bool has_completed(struct mpixq_request *req)
{
    mpixq_match_poll(&req->pair);
    return mpixq_pair_done(&req->pair) != req->age.progress || mpixq_pair_has_failed(&req->pair);
}

/* A start that was executed, has not completed, and has a wait at the place or behind it. */
static void look_at_started(struct look *look, struct mpixq_request *req, const struct place *place)
{
    uint64_t since_ns = place->blocker->waited_ns;
    const struct mpixq_queue *queue = atomic_load(&req->pair.queue);

    if (queue != NULL && place->key == stream_place(queue) &&
        mpixq_request_state(req) != MPIXQ_WAITING) {
        return;
    }
    since_ns = req->age.since_ns > since_ns ? req->age.since_ns : since_ns;
    if (is_old(look, since_ns) && !has_completed(req)) {
        report_start(look, req, since_ns);
    }
}

/* Where the request cannot get on, or NULL. A start without a wait is waited for by the host
 * alone. */
static const struct place *stuck_place(const struct look *look, const struct mpixq_request *req,
                                       struct mpixq_queue *queue)
{
    const struct place *place = NULL;

    if (queue == NULL) {
        return find_place(look, call_place(req));
    }
    if (mpixq_request_state(req) == MPIXQ_STARTED) {
        place = find_place(look, queue);
    }
    return place != NULL ? place : find_place(look, stream_place(queue));
}

/* Given that some waits are stuck: the requests that are not what these wait for just now. */
static void visit_other(struct mpixq_request *req, void *arg)
{
    struct look *look = arg;
    struct mpixq_queue *queue = atomic_load(&req->pair.queue);
    const struct place *place = stuck_place(look, req, queue);

    if (place == NULL) {
        return;
    }
    if (queue != NULL && atomic_load(&queue->is_freed)) {
        note_behind(look, queue, req, place);
    } else if (mpixq_watchdog_is_pending(req, queue) && req->waited_ns == 0 &&
               req->age.since_ns != 0) {
        if (mpixq_pair_executed(&req->pair) > req->age.progress) {
            look_at_started(look, req, place);
        } else if (queue != NULL) {
            note_behind(look, queue, req, place);
        }
    }
}

static void report_behind(struct look *look)
{
    struct mpixq_queue *queue;
    char name[ROOM];

    LL_FOREACH2(look->behind, queue, next_behind)
    {
        if (!is_old(look, queue->behind_age.since_ns) ||
            !is_due(look, &queue->behind_age, queue->behind_age.since_ns)) {
            continue;
        }
        if (atomic_load(&queue->is_freed)) {
            mpixq_err("watchdog: MPIX_Queue_free of queue %llu, which has failed, waits until its "
                      "stream has got past a wait of another queue",
                      (unsigned long long)queue->number);
        } else {
            mpixq_err("watchdog: queue %llu has %u starts that its stream has not reached, because "
                      "of a wait before them, the first %s",
                      (unsigned long long)queue->number, queue->behind,
                      mpixq_request_name(queue->first_behind, name));
        }
    }
}

/* End the wait for a start, and those for everything on its queue. */
static void fail_start(struct mpixq_request *req)
{
    char name[ROOM], peer[MPIXQ_PEER_ROOM], text[MPIXQ_ERROR_ROOM];

    (void)snprintf(text, sizeof text, "waited longer than %ld s%s: %.160s", mpixq_env.watchdog_s,
                   mpixq_name_peer(&req->pair, peer), mpixq_watchdog_what_is_missing(req));
    mpixq_queue_fail(mpixq_graphs_queue(&req->pair), &req->pair,
                     mpixq_error_cause(MPIXQ_E_WAIT_TIMEOUT, mpixq_request_name(req, name), text),
                     "wait");
    mpixq_match_tell_failure(&req->pair);
    mpixq_progress_wake(); /* sends the news */
}

static void end_waits(const struct look *look)
{
    for (int i = 0; mpixq_watchdog_ends() && i < look->n_places; i++) {
        fail_start(look->places[i].blocker);
    }
}

/* Parts are given up, or fail, with their whole. */
static void visit(struct mpixq_request *req, void *arg)
{
    if (req->is_part) {
        return;
    }
    if (mpixq_request_state(req) == MPIXQ_MATCHING) {
        note_match(arg, req);
    } else {
        note_start(arg, req);
    }
}

static void look_now(struct mpixq_watchdog *watchdog, uint64_t now)
{
    struct look look = {
        .number = ++watchdog->number, .now = now, .before = mpixq_looks_note(&watchdog->last, now)};
    char text[32];

    mpixq_match_each(visit, &look);
    if (look.n_places > 0 && mpixq_watchdog_is_on()) {
        mpixq_match_each(visit_other, &look);
        report_behind(&look);
        end_waits(&look);
    }
    report_matches(&look);
    look_at_answers(&look, &watchdog->answers_age);
    mpixq_control_progress(); /* this thread may not come by again soon */
    if (look.n_left_out > 0) {
        (void)snprintf(text, sizeof text, "and %d more", look.n_left_out);
        mpixq_age_tell(text, "");
    }
}

void mpixq_watchdog_check(void *state)
{
    struct mpixq_watchdog *watchdog = state;
    uint64_t now;

    mpixq_dump_check();
    if (!mpixq_watchdog_is_on() && !mpixq_watchdog_notices()) {
        return;
    }
    now = mpixq_now_ns();
    if (now >= watchdog->next_ns) {
        watchdog->next_ns = now + match_limit_ns() / LOOKS;
        look_now(watchdog, now);
    }
}
