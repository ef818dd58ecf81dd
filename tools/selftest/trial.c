/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * trial.c - one pair on one channel: matched, checked, timed
 *
 * The two ends agree after each step, so that an error of one ends the test at both. To check,
 * each end sends to the other; copies into the send buffer and from the receive buffer stand in
 * the order of the stream, and the host waits once, for all steps. To time, they take turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../info/missed.h"
#include "core/channels.h"
#include "util/env.h"
#include "core/request.h"
#include "core/served.h"
#include "selftest.h"

const char *const state_names[STATES] = {"verified", "not used", "left out", "failed",
                                         "wrong data"};

enum { TAG_DATA = 1, TAG_TALK, FIRST_ROUND = 5, MOST_ROUND = 2000, ROUNDS_EACH = 7 };
static const size_t sizes[] = {8, 1000, 65536, ROOM};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

struct trial {
    struct lane *lane;
    int rank, peer;
    bool is_own, is_low, is_late; /* late: the time for all tests is over */
    double until;                 /* by MPI_Wtime: when its times are to be known */
    MPI_Request requests[2];
    struct row row;
};

/* Reach the same state at both ends, the worse one. False: it is not SERVED. */
static bool agree(struct trial *trial)
{
    struct row theirs = trial->row;

    if (!trial->is_own) {
        MPI_Sendrecv(&trial->row, sizeof trial->row, MPI_BYTE, trial->peer, TAG_TALK, &theirs,
                     sizeof theirs, MPI_BYTE, trial->peer, TAG_TALK, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (theirs.state > trial->row.state) {
            trial->row.state = theirs.state;
            (void)snprintf(trial->row.text, TEXT, "rank %d: %.*s", trial->peer, TEXT - 20,
                           theirs.text);
        } else if (trial->row.text[0] == '\0') {
            memcpy(trial->row.text, theirs.text, TEXT);
        }
    }
    return trial->row.state == SERVED;
}

static bool agree_on(struct trial *trial, bool is_good, int state)
{
    if (!is_good && trial->row.state < state) {
        trial->row.state = state;
    }
    return agree(trial);
}

static void free_requests(struct trial *trial)
{
    for (int i = 0; i < 2; i++) {
        if (trial->requests[i] != MPI_REQUEST_NULL) {
            (void)MPI_Request_free(&trial->requests[i]);
        }
    }
}

static bool match(struct trial *trial, size_t bytes, const struct mpixq_channel_set *set)
{
    struct mpixq_channel_set kept = mpixq_env.channels;
    int code;

    MPI_Recv_init(trial->lane->recv + GUARD, (int)bytes, MPI_BYTE, trial->peer, TAG_DATA,
                  MPI_COMM_WORLD, &trial->requests[0]);
    MPI_Send_init(trial->lane->send + GUARD, (int)bytes, MPI_BYTE, trial->peer, TAG_DATA,
                  MPI_COMM_WORLD, &trial->requests[1]);
    mpixq_env.channels = *set; /* nobody else matches meanwhile */
    code = MPIXQ_Matchall(2, trial->requests);
    mpixq_env.channels = kept;
    return is_well(code, "MPIX_Matchall", trial->row.text);
}

/* The stream copies what is sent, and what has come with the guards around it. */
static bool enqueue_steps(struct trial *trial, size_t bytes)
{
    struct lane *lane = trial->lane;
    size_t span = GUARD + bytes + GUARD;
    char *why = trial->row.text;

    if (!lane_copy(lane, lane->recv, lane->seen, span, why)) {
        return false;
    }
    for (int step = 0; step < STEPS; step++) {
        if (!lane_copy(lane, lane->send + GUARD, lane->source + (size_t)step * SPAN, bytes, why) ||
            !is_well(MPIXQ_Enqueue_startall(lane->queue, 2, trial->requests),
                     "MPIX_Enqueue_startall", why) ||
            !is_well(MPIXQ_Enqueue_waitall(lane->queue, 2, trial->requests), "MPIX_Enqueue_waitall",
                     why) ||
            !lane_copy(lane, lane->seen + (size_t)step * SPAN, lane->recv, span, why)) {
            return false;
        }
    }
    return true;
}

static bool check(struct trial *trial, size_t bytes)
{
    struct lane *lane = trial->lane;
    bool is_good, is_right = true;

    data_poison(lane->seen, GUARD + bytes + GUARD);
    for (int step = 0; step < STEPS; step++) {
        data_fill(lane->source + (size_t)step * SPAN, bytes, trial->rank, step);
    }
    is_good = enqueue_steps(trial, bytes);
    is_good = lane_finish(lane, is_good ? trial->row.text : (char[TEXT]){0}) && is_good;
    for (int step = 0; is_good && is_right && step < STEPS; step++) {
        is_right =
            data_check(lane->seen + (size_t)step * SPAN, bytes, trial->peer, step, trial->row.text);
    }
    return agree_on(trial, is_good && is_right, is_good ? WRONG_DATA : FAILED);
}

/* There and back, or within the process: so many times. */
static bool bounce(struct trial *trial, int count)
{
    MPIX_Queue queue = trial->lane->queue;
    bool together = trial->is_own || trial->is_low;
    int code = MPI_SUCCESS;

    for (int i = 0; i < count && code == MPI_SUCCESS; i++) {
        for (int at = 0; at < 2 && code == MPI_SUCCESS; at += together ? 2 : 1) {
            code = MPIXQ_Enqueue_startall(queue, together ? 2 : 1, &trial->requests[at]);
            if (code == MPI_SUCCESS) {
                code = MPIXQ_Enqueue_waitall(queue, together ? 2 : 1, &trial->requests[at]);
            }
        }
    }
    return is_well(code, "an enqueueing call", trial->row.text);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The low rank says how many to do next; 0: no more. */
static int next_count(struct trial *trial, int round, double us, double until)
{
    double left = until - MPI_Wtime();
    int count = FIRST_ROUND;

    if (round > 0) {
        double most = left * 1e6 / (ROUNDS_EACH + 1 - round) / (us > 0.1 ? us : 0.1) / 2;

        count = most < MOST_ROUND ? (int)most : MOST_ROUND;
        count = round < ROUNDS_EACH ? count : 0;
    }
    if (!trial->is_own && trial->is_low) {
        MPI_Send(&count, 1, MPI_INT, trial->peer, TAG_TALK, MPI_COMM_WORLD);
    } else if (!trial->is_own) {
        MPI_Recv(&count, 1, MPI_INT, trial->peer, TAG_TALK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return count;
}

/* The median of rounds; the first only says how long the others are to be, if there are more. */
static bool take_time(struct trial *trial, double until, double *us_p, double *least_p)
{
    double times[ROUNDS_EACH + 1], us = 0.0;
    bool is_good = true;
    int n = 0, count;

    while ((count = next_count(trial, n, us, until)) > 0) {
        double before = MPI_Wtime();

        is_good = is_good && bounce(trial, count);
        is_good = lane_finish(trial->lane, is_good ? trial->row.text : (char[TEXT]){0}) && is_good;
        us = (MPI_Wtime() - before) * 1e6 / count / (trial->is_own ? 1 : 2);
        times[n++] = us;
    }
    if (n > 1) {
        memmove(times, times + 1, (size_t)--n * sizeof times[0]);
    }
    qsort(times, (size_t)n, sizeof times[0], by_value);
    *us_p = times[n / 2];
    *least_p = times[0];
    return agree_on(trial, is_good, FAILED);
}

static void say_where(const struct trial *trial, const char *what, size_t bytes)
{
    now_at(false, "ranks %d and %d, %s memory on a stream of %s, channel %s, %zu bytes: %s",
           trial->row.low, trial->row.high, lane_memory(trial->row.lane),
           lane_stream(trial->row.lane), mpixq_channel_name((uint32_t)trial->row.channel), bytes,
           what);
}

/* Why the pair did not get the channel, from either end. */
static void note_reason(struct trial *trial)
{
    const struct mpixq_request *req = mpixq_request_find(trial->requests[1]);
    uint8_t why = req != NULL ? req->why_not[trial->row.channel] : 0;

    if (why != 0) {
        (void)snprintf(trial->row.text, TEXT, "%s%s", mpixq_reason_text(why),
                       why >= MPIXQ_REASON_OF_PEER && !trial->is_own ? " (at the peer)" : "");
    }
}

/* Of one size: all goes well, or row says why not. */
static bool try_size(struct trial *trial, int i, const struct mpixq_channel_set *set)
{
    bool is_good;

    say_where(trial, "match", sizes[i]);
    is_good = match(trial, sizes[i], set);
    if (!is_good) {
        note_reason(trial);
    }
    is_good = agree_on(trial, is_good, REFUSED);
    if (is_good) {
        say_where(trial, "check", sizes[i]);
        is_good = check(trial, sizes[i]);
    }
    if (is_good && i == 0) {
        double now = MPI_Wtime();

        say_where(trial, "times", sizes[i]);
        is_good = take_time(trial, now + (trial->until - now) / 2, &trial->row.small_us,
                            &trial->row.small_least_us);
    } else if (is_good && i == SIZES - 1) {
        say_where(trial, "times", sizes[i]);
        is_good = take_time(trial, trial->until, &trial->row.large_us, &trial->row.large_least_us);
    }
    trial->lane->is_broken = trial->lane->is_broken || trial->row.state == FAILED;
    free_requests(trial);
    return is_good;
}

static void try_channel(struct trial *trial)
{
    struct mpixq_channel_set set = {.n = 1, .ids = {(uint8_t)trial->row.channel}};

    if (!mpixq_channel_set_has(&mpixq_env.channels, (uint32_t)trial->row.channel) &&
        trial->row.channel != MPIXQ_CHANNEL_SELF) {
        (void)snprintf(trial->row.text, TEXT, "left out by MPIXQ_CHANNELS");
        trial->row.state = REFUSED;
    } else if (mpixq_channel_by_id((uint32_t)trial->row.channel) == NULL) {
        (void)snprintf(trial->row.text, TEXT, "not in this build");
        trial->row.state = REFUSED;
    } else if (trial->lane->is_broken) {
        (void)snprintf(trial->row.text, TEXT, "after an error on this stream");
        trial->row.state = LEFT_OUT;
    } else if (trial->is_low && trial->is_late) {
        (void)snprintf(trial->row.text, TEXT, "the time of --seconds was over");
        trial->row.state = LEFT_OUT;
    }
    if (agree(trial)) {
        for (int i = 0; i < SIZES && try_size(trial, i, &set); i++) {
        }
    }
}

/* By which channel the pair goes if nobody chooses, and which come before that; as bits. -1: none.
 * Collective of both. */
static int default_channel(struct trial *trial, unsigned *missed_p)
{
    const struct mpixq_request *req;
    int channel = -1;

    say_where(trial, "match without a choice", sizes[0]);
    if (match(trial, sizes[0], &mpixq_env.channels)) {
        req = mpixq_request_find(trial->requests[1]);
        channel = req != NULL && req->pair.channel != NULL ? (int)req->pair.channel->id : -1;
        for (uint32_t id = 0; req != NULL && id < MPIXQ_N_CHANNELS; id++) {
            *missed_p |= is_missed(req, id) ? 1u << id : 0;
        }
    }
    free_requests(trial);
    return channel;
}

static void keep(struct rows *rows, const struct row *row)
{
    if (rows->n == rows->room) {
        rows->room = 2 * rows->room + 64;
        rows->list = need(realloc(rows->list, (size_t)rows->room * sizeof *rows->list));
    }
    rows->list[rows->n++] = *row;
}

/* Within a process others than its own channel are tried where there is nobody else. */
static bool is_tried(const struct plan *plan, const struct pair *pair, const struct lane *lane,
                     uint32_t channel)
{
    if (pair->low != pair->high) {
        return channel != MPIXQ_CHANNEL_SELF;
    }
    return plan->ranks == 1 || channel == MPIXQ_CHANNEL_SELF ||
           (channel == MPIXQ_CHANNEL_IPC && lane->in_gpu);
}

static void run_lane(const struct plan *plan, struct trial *trial, const struct pair *pair,
                     struct rows *rows)
{
    double slice = (trial->until - MPI_Wtime()) / N_USUAL;
    struct row row = trial->row;
    unsigned missed = 0;
    int usual_id;

    trial->row.state = trial->lane->is_broken ? LEFT_OUT : SERVED;
    usual_id = agree(trial) ? default_channel(trial, &missed) : -1;
    for (int i = 0; i < N_USUAL; i++) {
        if (!is_tried(plan, pair, trial->lane, usual[i])) {
            continue;
        }
        trial->row = row;
        trial->row.channel = (int)usual[i];
        trial->row.is_default = usual_id == (int)usual[i];
        trial->row.is_missed = (missed & 1u << usual[i]) != 0;
        trial->until = MPI_Wtime() + slice;
        try_channel(trial);
        if (trial->is_low) {
            keep(rows, &trial->row);
        }
    }
}

void trials_run(const struct plan *plan, const struct pair *pair, struct lane lanes[LANES],
                struct budget budget, struct rows *rows)
{
    unsigned both = plan->who[pair->low].lanes & plan->who[pair->high].lanes;
    struct trial trial = {.is_own = pair->low == pair->high};
    int n = __builtin_popcount(both) * budget.pairs;

    MPI_Comm_rank(MPI_COMM_WORLD, &trial.rank);
    trial.is_low = trial.rank == pair->low;
    trial.peer = trial.is_low ? pair->high : pair->low;
    now_at(true, "ranks %d and %d: one waits for the other", pair->low, pair->high);
    (void)agree(&trial); /* which may have taken long; the time begins here */
    for (int lane = 0; lane < LANES; lane++) {
        if ((both & 1u << lane) != 0) {
            double now = MPI_Wtime();

            trial.lane = &lanes[lane];
            trial.is_late = opts.seconds > 0 && now > budget.until;
            trial.until = now + (budget.until - now) / n--;
            trial.row = (struct row){.low = pair->low, .high = pair->high, .lane = lane};
            run_lane(plan, &trial, pair, rows);
        }
    }
}
