/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Everything here runs under the matching lock, and looks at requests by what the watchdog has for
 * that. A start or match fails only at a look after the one that found its peer gone: what the peer
 * had sent before has been polled for in between. */
#include "liveness.h"

#include <mpi.h>
#include <stdio.h>

#include "comm/comm.h"
#include "core/channels.h"
#include "core/graphs.h"
#include "core/queue.h"
#include "core/request_name.h"
#include "match/control.h"
#include "match/match_internal.h"
#include "util/backoff.h"
#include "util/env.h"
#include "util/log.h"
#include "util/progress.h"
#include "watchdog.h"

enum {
    LOOKS = 2,  /* in MPIXQ_LIVENESS_S */
    SHARE = 100 /* a look may take this part of the time, however many requests there are */
};

static uint64_t limit_ns(void)
{
    return (uint64_t)mpixq_env.liveness_s * 1000000000u;
}

/* Matches. */
static void look_at_match(struct mpixq_request *req, uint64_t now)
{
    char name[MPIXQ_NAME_ROOM];
    int peer = mpixq_match_peer(req);

    if (peer < 0 || !mpixq_control_has_lost(peer, now)) {
        return;
    }
    if (!req->is_part) { /* which its whole is told for */
        mpixq_err("match of %s ended: the peer's process has ended", mpixq_request_name(req, name));
    }
    mpixq_match_give_up_one(req, MPIXQ_E_PEER_GONE);
}

/* Starts. */

static bool is_stuck(const struct mpixq_request *req)
{
    return mpixq_watchdog_is_pending(req, mpixq_graphs_queue(&req->pair)) &&
           mpixq_pair_is_in_flight(&req->pair);
}

/* Why the next start to complete never will, or NULL; with the error for it. */
static const char *find_reason(struct mpixq_request *req, uint64_t now, enum mpixq_error *error_p)
{
    *error_p = MPIXQ_E_PEER_GONE;
    if (mpixq_control_has_lost(req->pair.peer_world, now)) {
        return "the peer's process has ended";
    }
    if (mpixq_channel_has_lost(&req->pair)) {
        return "the network does not reach the peer";
    }
    if (mpixq_pair_is_without_peer(&req->pair, mpixq_pair_done(&req->pair) + 1)) {
        *error_p = MPIXQ_E_PEER_FREED;
        return "the peer has freed its end of the pair";
    }
    return NULL;
}

static void fail_start(struct mpixq_request *req, uint64_t now, const char *why,
                       enum mpixq_error error)
{
    char name[MPIXQ_NAME_ROOM], text[128];

    (void)snprintf(text, sizeof text,
                   "%s: start %llu has waited %.1f s (rank %d of MPI_COMM_WORLD)", why,
                   (unsigned long long)req->age.progress + 1,
                   (double)(now - req->age.since_ns) / 1e9, req->pair.peer_world);
    mpixq_match_tell_failure(&req->pair);
    mpixq_queue_fail(mpixq_graphs_queue(&req->pair), &req->pair,
                     mpixq_error_cause(error, mpixq_request_name(req, name), text), "wait");
    mpixq_progress_wake(); /* sends the news */
}

static void look_at_start(struct mpixq_request *req, uint64_t now)
{
    enum mpixq_error error;
    const char *why;

    if (!is_stuck(req)) {
        return;
    }
    mpixq_match_poll(
        &req->pair); /* where the channel has a word of its own, done follows here only */
    if (!is_stuck(req)) {
        return;
    }
    mpixq_watchdog_note(req, now);
    if (now - req->age.since_ns < limit_ns()) {
        return;
    }
    why = find_reason(req, now, &error);
    if (why == NULL) {
        return;
    }
    mpixq_match_poll(&req->pair); /* nobody may have done so yet */
    if (is_stuck(req) && mpixq_pair_done(&req->pair) == req->age.progress) {
        fail_start(req, now, why, error);
    }
}

static void visit(struct mpixq_request *req, void *arg)
{
    uint64_t now = *(const uint64_t *)arg;

    if (mpixq_request_state(req) == MPIXQ_MATCHING) {
        look_at_match(req, now);
    } else if (req->pair.channel != NULL && req->is_collective == req->is_part) {
        /* Of a partitioned one the whole finds what its parts lack; parts of a collective go to
         * several peers. */
        look_at_start(req, now);
    }
}

void mpixq_liveness_check(void *state)
{
    uint64_t *next_ns = state, now, spent;

    if (mpixq_env.liveness_s == 0) {
        return;
    }
    now = mpixq_now_ns();
    if (now < *next_ns) {
        return;
    }
    mpixq_match_each(visit, &now);
    mpixq_control_progress(); /* this thread may not come by again soon */
    spent = mpixq_now_ns() - now;
    *next_ns = now + limit_ns() / LOOKS;
    *next_ns = spent * SHARE > limit_ns() / LOOKS ? now + spent * SHARE : *next_ns;
}
