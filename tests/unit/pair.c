/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * pair.c - pairs that no request owns: every channel that works on the host matches two ends of
 * this process, moves their messages and lets go of them; and what is said of one that fails
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/channels.h"
#include "match/match_internal.h"
#include "core/queue.h"
#include "request.h"

enum { N = 1000, GUARD = 16, STARTS = 5, GUARDED = 77777 };

static int out[N], in[GUARD + N + GUARD];
static struct mpixq_pair sender, receiver;

static void make(const struct mpixq_channel *channel)
{
    const struct mpixq_pair one = {.bytes = sizeof out, .peer_world = 0};

    sender = receiver = one;
    sender.message =
        (struct mpixq_message){.buffer = out, .count = N, .type = MPI_INT, .mode = MPIXQ_MODE_SEND};
    receiver.message = (struct mpixq_message){
        .buffer = &in[GUARD], .count = N, .type = MPI_INT, .mode = MPIXQ_MODE_RECV};
    sender.channel = receiver.channel = channel;
    mpixq_match_enter();
    assert_true(mpixq_match_id_add(&sender) && mpixq_match_id_add(&receiver));
    sender.peer_id = receiver.id;
    receiver.peer_id = sender.id;
    mpixq_match_leave();
}

/* As the matching does: offer, answer, connect. False: the channel is not to be had here. */
static bool match(const struct mpixq_channel *channel)
{
    struct mpixq_blob offer = {.channel = channel->id}, answer = {.channel = channel->id};
    const char *why = NULL;
    bool has_offered;

    mpixq_match_enter();
    has_offered = channel->offer(&sender, &offer, &why);
    if (has_offered) {
        assert_int_equal(channel->accept(&receiver, &offer, &answer, &why), MPIXQ_E_NONE);
        assert_int_equal(channel->connect(&sender, &answer), MPIXQ_E_NONE);
        assert_false(mpixq_channel_must_open(channel, &sender) ||
                     mpixq_channel_must_open(channel, &receiver));
    }
    mpixq_match_leave();
    if (!has_offered) {
        print_message("skip: channel %s: %s\n", channel->name, why);
    }
    return has_offered;
}

static void start(struct mpixq_pair *pair)
{
    struct mpixq_op op;

    mpixq_pair_count_start(pair, true);
    if (pair->channel->start(NULL, &pair, 1, &op) == 1) {
        op.u.call(&op.arg, 1, false);
    }
    assert_false(mpixq_pair_has_failed(pair));
}

/* It takes part in what both ends need, as some do by themselves only what they must. */
static void complete(struct mpixq_pair *pair, struct mpixq_pair *other)
{
    enum { PATIENCE_S = 60 };
    time_t until = time(NULL) + PATIENCE_S;

    while (!pair->channel->poll(pair)) {
        (void)other->channel->poll(other);
        assert_true(time(NULL) < until);
    }
    assert_true(mpixq_pair_is_complete(pair));
    assert_false(mpixq_pair_is_in_flight(pair));
}

static void exchange(int round)
{
    for (int i = 0; i < N; i++) {
        out[i] = round * N + i;
    }
    for (int i = 0; i < GUARD + N + GUARD; i++) {
        in[i] = GUARDED;
    }
    start(round % 2 == 0 ? &sender : &receiver);
    assert_false(mpixq_pair_is_complete(&receiver) && round % 2 == 1);
    start(round % 2 == 0 ? &receiver : &sender);
    complete(&sender, &receiver);
    complete(&receiver, &sender);
    for (int i = 0; i < GUARD + N + GUARD; i++) {
        bool is_data = i >= GUARD && i < GUARD + N;

        assert_int_equal(in[i], is_data ? round * N + i - GUARD : GUARDED);
    }
    assert_int_equal(mpixq_pair_started(&sender), round + 1);
    assert_int_equal(mpixq_pair_executed(&receiver), round + 1);
    assert_int_equal(mpixq_pair_done(&receiver), round + 1);
}

/* What each end is told when the other one is freed. */
static void let_go(void)
{
    struct mpixq_pair *ends[] = {&sender, &receiver};

    mpixq_match_enter();
    for (int i = 0; i < 2; i++) {
        assert_false(mpixq_pair_peer_is_gone(ends[i]));
        atomic_store(&ends[i]->peer_end, mpixq_pair_executed(ends[1 - i]) + 1);
        assert_int_equal(mpixq_pair_peer_starts(ends[i]), STARTS);
        assert_false(mpixq_pair_is_without_peer(ends[i], STARTS));
        assert_true(mpixq_pair_is_without_peer(ends[i], STARTS + 1));
        mpixq_channel_ended(ends[i]);
        mpixq_channel_release(ends[i]);
    }
    mpixq_match_leave();
    mpixq_channels_clean_up(); /* what is not to be done under the lock */
    mpixq_match_enter();
    for (int i = 0; i < 2; i++) {
        assert_true(mpixq_channel_retire(ends[i]));
        assert_null(ends[i]->end);
    }
    mpixq_match_leave();
}

static void forget_ids(void)
{
    mpixq_match_enter();
    mpixq_match_id_remove(&sender);
    mpixq_match_id_remove(&receiver);
    mpixq_match_leave();
}

static void move_by(const struct mpixq_channel *channel)
{
    make(channel);
    if (match(channel)) {
        for (int round = 0; round < STARTS; round++) {
            exchange(round);
        }
        let_go();
    }
    forget_ids();
}

static void channels_need_no_request(void **state)
{
    int n = 0;

    (void)state;
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        if (!mpixq_channels[i]->of_gpus) { /* which there need not be */
            move_by(mpixq_channels[i]);
            n++;
        }
    }
    assert_in_range(n, 2, 3);
}

static void null_channel_completes_at_once(void **state)
{
    (void)state;
    make(&mpixq_channel_null);
    sender.peer_world = MPI_PROC_NULL;
    start(&sender);
    complete(&sender, &sender);
    forget_ids();
}

/* What may be asked of any channel is answered for one that has no more than starts and waits, */
static void expect_the_least(const struct mpixq_channel *channel)
{
    struct mpixq_pair *pair = &sender;
    bool done = false;

    make(channel);
    assert_string_equal(mpixq_channel_availability(channel), "available");
    assert_string_equal(mpixq_channel_what_is_missing(pair), "nothing");
    assert_false(mpixq_channel_must_open(channel, pair));
    assert_true(mpixq_channel_open_peer(channel, pair, NULL, 0));
    mpixq_channel_undo(channel, pair);
    mpixq_channel_withdraw(channel, pair);
    mpixq_channel_progress_wait(pair);
    mpixq_channel_recall(pair);
    mpixq_channel_report_failures(channel);
    assert_false(mpixq_channel_is_broken(pair) || mpixq_channel_has_lost(pair));
    mpixq_channel_poll_many(&pair, 1, &done);
    assert_true(done);
    mpixq_channel_ended(pair);
    mpixq_channel_release(pair);
    assert_true(mpixq_channel_retire(pair));
    forget_ids();
}

/* and of one that has of each part only some. */
static void channels_need_not_have_all(void **state)
{
    static const struct mpixq_channel_gpus gpus = {.expose = NULL};
    static const struct mpixq_channel_queues queues = {.attach = NULL};
    static const struct mpixq_channel_upkeep upkeep = {.report_failures = NULL, .has_lost = NULL};
    struct mpixq_channel partly = mpixq_channel_null;

    (void)state;
    expect_the_least(&mpixq_channel_null);
    partly.gpus = &gpus;
    partly.queues = &queues;
    partly.upkeep = &upkeep;
    expect_the_least(&partly);
}

static int asked;

static void note_asked(struct mpixq_pair *pair)
{
    assert_ptr_equal(pair, &sender);
    asked++;
}

static bool note_and_agree(struct mpixq_pair *pair)
{
    note_asked(pair);
    return true;
}

static bool note_and_refuse(struct mpixq_pair *pair)
{
    note_asked(pair);
    return false;
}

static void note_failures(void)
{
    asked++;
}

static const char *note_and_say(const struct mpixq_pair *pair)
{
    assert_ptr_equal(pair, &sender);
    asked++;
    return "all";
}

static bool note_and_open(const struct mpixq_pair *pair)
{
    return note_and_say(pair) != NULL;
}

static bool fail_to_open(struct mpixq_pair *pair, char *why_p, size_t room)
{
    note_asked(pair);
    (void)snprintf(why_p, room, "why not");
    return false;
}

/* What a channel has is asked, once, and its answer counts. */
static void channels_are_asked_what_they_have(void **state)
{
    static const struct mpixq_channel_gpus gpus = {.progress_wait = note_asked,
                                                   .recall = note_asked};
    static const struct mpixq_channel_peers peers = {.must_open = note_and_open,
                                                     .open_peer = fail_to_open,
                                                     .undo = note_asked,
                                                     .ended = note_asked};
    static const struct mpixq_channel_queues queues = {.is_broken = note_and_agree};
    static const struct mpixq_channel_upkeep upkeep = {.report_failures = note_failures,
                                                       .has_lost = note_and_agree};
    static const struct mpixq_channel_report report = {.what_is_missing = note_and_say};
    struct mpixq_channel full = mpixq_channel_null;
    char why[20];

    (void)state;
    full.gpus = &gpus;
    full.peers = &peers;
    full.queues = &queues;
    full.upkeep = &upkeep;
    full.report = &report;
    full.withdraw = full.release = note_asked;
    full.retire = note_and_refuse;
    make(&full);
    asked = 0;
    mpixq_channel_progress_wait(&sender);
    mpixq_channel_recall(&sender);
    mpixq_channel_withdraw(&full, &sender);
    mpixq_channel_undo(&full, &sender);
    mpixq_channel_report_failures(&full);
    mpixq_channel_ended(&sender);
    mpixq_channel_release(&sender);
    assert_int_equal(asked, 7);
    assert_true(mpixq_channel_must_open(&full, &sender));
    assert_false(mpixq_channel_open_peer(&full, &sender, why, sizeof why));
    assert_string_equal(why, "why not");
    assert_true(mpixq_channel_is_broken(&sender));
    assert_true(mpixq_channel_has_lost(&sender));
    assert_string_equal(mpixq_channel_what_is_missing(&sender), "all");
    assert_false(mpixq_channel_retire(&sender));
    assert_int_equal(asked, 13);
    forget_ids();
}

/* Whoever visits all requests meets none here, and a peer's failure is known by the pair alone. */
static void visit(struct mpixq_request *req, void *arg)
{
    (void)req;
    ++*(int *)arg;
}

static void failure_needs_no_request(void **state)
{
    const struct mpixq_record record = {.kind = MPIXQ_WIRE_FAILURE};
    struct mpixq_record mine = record;
    char text[64];
    int n = 0;

    (void)state;
    make(&mpixq_channel_null);
    mpixq_queue_fail(NULL, &sender, MPI_ERR_OTHER, "start");
    assert_true(mpixq_pair_has_failed(&sender));
    assert_int_equal(atomic_load(&sender.error), MPI_ERR_OTHER);
    assert_string_equal(mpixq_pair_describe(&sender, text, sizeof text), "send to rank 0");
    mine.u.failure.id = receiver.id;
    mpixq_match_enter();
    mpixq_match_record_failure(&mine, 0);
    mine = (struct mpixq_record){.kind = MPIXQ_WIRE_RELEASE, .u.release.id = receiver.id};
    mpixq_match_record_release(&mine, 0);
    mpixq_match_each(visit, &n);
    mpixq_match_leave();
    assert_true(mpixq_pair_has_failed(&receiver) && mpixq_pair_peer_is_gone(&receiver));
    assert_int_equal(n, 0);
    assert_int_equal(mpixq_error_kind(mpixq_pair_peer_failed(&receiver)), MPIXQ_ERR_COMM);
    forget_ids();
}

static void done_never_goes_back(void **state)
{
    struct mpixq_pair pair = {.bytes = 0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        mpixq_pair_count_start(&pair, false);
    }
    mpixq_pair_raise_done(&pair, 2);
    mpixq_pair_raise_done(&pair, 1);
    assert_int_equal(mpixq_pair_done(&pair), 2);
    assert_false(mpixq_pair_is_complete(&pair));
    mpixq_pair_raise_done(&pair, 3);
    assert_true(mpixq_pair_is_complete(&pair));
}

/* A release that would make the number of its starts wrap tells of no pair. */
static void release_is_not_trusted(void **state)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_RELEASE, .u.release.started = UINT64_MAX};

    (void)state;
    make(&mpixq_channel_null);
    record.u.release.id = receiver.id;
    mpixq_match_enter();
    mpixq_match_record_release(&record, 0);
    mpixq_match_leave();
    assert_false(mpixq_pair_peer_is_gone(&receiver));
    assert_int_equal(mpixq_pair_peer_starts(&receiver), 0);
    forget_ids();
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_need_no_request),
        cmocka_unit_test(null_channel_completes_at_once),
        cmocka_unit_test(channels_need_not_have_all),
        cmocka_unit_test(channels_are_asked_what_they_have),
        cmocka_unit_test(failure_needs_no_request),
        cmocka_unit_test(done_never_goes_back),
        cmocka_unit_test(release_is_not_trusted),
    };

    return cmocka_run_group_tests(tests, NULL, all_is_gone);
}

int main(int argc, char **argv)
{
    /* The channel cxi, where there is libfabric: by a provider that every machine has. */
    (void)setenv("MPIXQ_FABRIC", "sockets", 0);
    return run_with_mpi(&argc, &argv, run);
}
