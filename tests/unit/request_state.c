/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * request_state.c - the states of a request: every event in every state
 */
#include "unit.h"

#include <mpi.h>
#include <pthread.h>
#include <string.h>

#include "util/alloc.h"
#include "core/request.h"

/* A record as the table makes it, without the table. */
static struct mpixq_request *record(void)
{
    struct mpixq_request *req = mpixq_alloc(sizeof *req); /* freed by mpixq_request_destroy */

    assert_non_null(req);
    return req;
}

#define NO MPIXQ_N_STATES

/* What each event makes of each state, after the drawing in doc/design.md and not after the table
 * of the library. Once a wait is enqueued the request may be started again; a failure ends it; what
 * the host has started it must complete first. */
static const enum mpixq_state life[MPIXQ_N_STATES][MPIXQ_N_EVENTS] = {
    /* MATCH_BEGIN, MATCH_OK, MATCH_FAIL, START, WAIT, DONE, FAIL, HOST_START */
    [MPIXQ_UNMATCHED] = {MPIXQ_MATCHING, NO, NO, NO, NO, NO, NO, NO},
    [MPIXQ_MATCHING] = {NO, MPIXQ_MATCHED, MPIXQ_UNMATCHED, NO, NO, NO, NO, NO},
    [MPIXQ_MATCHED] = {NO, NO, NO, MPIXQ_STARTED, NO, NO, MPIXQ_FAILED, MPIXQ_HOST_STARTED},
    [MPIXQ_STARTED] = {NO, NO, NO, NO, MPIXQ_WAITING, NO, MPIXQ_FAILED, NO},
    [MPIXQ_WAITING] = {NO, NO, NO, MPIXQ_STARTED, NO, MPIXQ_MATCHED, MPIXQ_FAILED, NO},
    [MPIXQ_FAILED] = {NO, NO, NO, NO, NO, NO, MPIXQ_FAILED, NO},
    [MPIXQ_HOST_STARTED] = {NO, NO, NO, NO, NO, MPIXQ_MATCHED, MPIXQ_FAILED, NO},
};

/* The shortest way to each state. */
static const struct {
    int n;
    enum mpixq_event events[4];
} ways[MPIXQ_N_STATES] = {
    [MPIXQ_UNMATCHED] = {0, {0}},
    [MPIXQ_MATCHING] = {1, {MPIXQ_MATCH_BEGIN}},
    [MPIXQ_MATCHED] = {2, {MPIXQ_MATCH_BEGIN, MPIXQ_MATCH_OK}},
    [MPIXQ_STARTED] = {3, {MPIXQ_MATCH_BEGIN, MPIXQ_MATCH_OK, MPIXQ_START}},
    [MPIXQ_WAITING] = {4, {MPIXQ_MATCH_BEGIN, MPIXQ_MATCH_OK, MPIXQ_START, MPIXQ_WAIT}},
    [MPIXQ_FAILED] = {3, {MPIXQ_MATCH_BEGIN, MPIXQ_MATCH_OK, MPIXQ_FAIL}},
    [MPIXQ_HOST_STARTED] = {3, {MPIXQ_MATCH_BEGIN, MPIXQ_MATCH_OK, MPIXQ_HOST_START}},
};

static void bring_to(struct mpixq_request *req, enum mpixq_state state)
{
    for (int i = 0; i < ways[state].n; i++) {
        assert_true(mpixq_request_step(req, ways[state].events[i]));
    }
    assert_int_equal(mpixq_request_state(req), state);
}

static void every_event_in_every_state(void **test_state)
{
    (void)test_state;
    for (int state = 0; state < MPIXQ_N_STATES; state++) {
        for (int event = 0; event < MPIXQ_N_EVENTS; event++) {
            struct mpixq_request *req = record();
            enum mpixq_state next = life[state][event];

            bring_to(req, (enum mpixq_state)state);
            assert_int_equal(mpixq_request_step(req, (enum mpixq_event)event), next != NO);
            assert_int_equal(mpixq_request_state(req), next != NO ? (int)next : state);
            assert_int_equal(atomic_load(&mpixq_requests.active),
                             mpixq_request_state(req) != MPIXQ_UNMATCHED);
            mpixq_request_destroy(req);
            assert_int_equal(atomic_load(&mpixq_requests.active), 0);
        }
    }
}

static void random_walks_stay_in_the_table(void **test_state)
{
    uint64_t random = 1;
    struct mpixq_request *req = record();
    enum mpixq_state expected = MPIXQ_UNMATCHED;

    (void)test_state;
    for (int i = 0; i < 100000; i++) {
        enum mpixq_event event = (enum mpixq_event)unit_pick(&random, MPIXQ_N_EVENTS);
        enum mpixq_state next = life[expected][event];

        if (next == MPIXQ_FAILED && i % 50 != 0) {
            continue;
        }
        assert_int_equal(mpixq_request_step(req, event), next != NO);
        expected = next != NO ? next : expected;
        assert_int_equal(mpixq_request_state(req), expected);
        assert_int_equal(atomic_load(&mpixq_requests.active), expected != MPIXQ_UNMATCHED);
        if (expected == MPIXQ_FAILED) {
            mpixq_request_destroy(req);
            req = record();
            expected = MPIXQ_UNMATCHED;
        }
    }
    mpixq_request_destroy(req);
}

static void active_counts_those_not_unmatched(void **test_state)
{
    struct mpixq_request *reqs[MPIXQ_N_STATES];

    (void)test_state;
    for (int i = 0; i < MPIXQ_N_STATES; i++) {
        reqs[i] = record();
        bring_to(reqs[i], (enum mpixq_state)i);
        assert_int_equal(atomic_load(&mpixq_requests.active), i);
    }
    for (int i = 0; i < MPIXQ_N_STATES; i++) {
        mpixq_request_destroy(reqs[i]);
        assert_int_equal(atomic_load(&mpixq_requests.active), MPIXQ_N_STATES - 1 - i);
    }
}

/* Who has freed his matched requests does not pay for those that wait for their peers. */
static void released_records_are_not_active(void **test_state)
{
    (void)test_state;
    for (int state = MPIXQ_UNMATCHED + 1; state < MPIXQ_N_STATES; state++) {
        struct mpixq_request *req = record(), *again;

        bring_to(req, (enum mpixq_state)state);
        mpixq_request_release(req);
        assert_int_equal(atomic_load(&mpixq_requests.active), 0);
        mpixq_request_destroy(req);
        assert_int_equal(atomic_load(&mpixq_requests.active), 0);
        again = record(); /* which may be the same memory */
        bring_to(again, (enum mpixq_state)state);
        assert_int_equal(atomic_load(&mpixq_requests.active), 1);
        mpixq_request_destroy(again);
        assert_int_equal(atomic_load(&mpixq_requests.active), 0);
    }
}

static void states_have_names(void **test_state)
{
    (void)test_state;
    for (int i = 0; i < MPIXQ_N_STATES; i++) {
        assert_true(strlen(mpixq_request_state_name((enum mpixq_state)i)) > 0);
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(mpixq_request_state_name((enum mpixq_state)i),
                                    mpixq_request_state_name((enum mpixq_state)k));
        }
    }
}

enum { THREADS = 4, ROUNDS = 5000 };

struct stepper {
    struct mpixq_request *req;
    pthread_barrier_t *together;
    int won;
};

/* All threads want the same step of the same request, once per round. */
static void *race_to_start(void *arg)
{
    struct stepper *stepper = arg;

    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(stepper->together);
        stepper->won += mpixq_request_step(stepper->req, MPIXQ_START);
        pthread_barrier_wait(stepper->together);
        stepper->won += mpixq_request_step(stepper->req, MPIXQ_WAIT);
        pthread_barrier_wait(stepper->together);
        stepper->won += mpixq_request_step(stepper->req, MPIXQ_DONE);
    }
    return NULL;
}

static void one_thread_wins_each_step(void **test_state)
{
    struct mpixq_request *req = record();
    struct stepper steppers[THREADS];
    pthread_barrier_t together;
    pthread_t threads[THREADS];
    int won = 0;

    (void)test_state;
    bring_to(req, MPIXQ_MATCHED);
    pthread_barrier_init(&together, NULL, THREADS);
    for (int t = 0; t < THREADS; t++) {
        steppers[t] = (struct stepper){.req = req, .together = &together};
        assert_int_equal(pthread_create(&threads[t], NULL, race_to_start, &steppers[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        won += steppers[t].won;
    }
    pthread_barrier_destroy(&together);
    assert_int_equal(won, 3 * ROUNDS);
    assert_int_equal(mpixq_request_state(req), MPIXQ_MATCHED);
    mpixq_request_destroy(req);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_in_every_state),
        cmocka_unit_test(random_walks_stay_in_the_table),
        cmocka_unit_test(active_counts_those_not_unmatched),
        cmocka_unit_test(released_records_are_not_active),
        cmocka_unit_test(states_have_names),
        cmocka_unit_test(one_thread_wins_each_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
