/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * signal_sum.c - a signal that is counted in several words: threads that stand for NICs and for the
 * host add the parts of each round's events to words of their own, while others look. No round is
 * over before all of it has come, none is lost, and what NICs left behind counts for nobody later.
 */
#include "unit.h"

#include "rma/rma.h"
#include "rma/signal_word.h"
#include "rma/window.h"
#include "util/alloc.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { ADDERS = 3, LOOKERS = 2, ROUNDS = 500, PARTS = 5, EVENTS = 4 };

static struct mpixq_window *window;
static struct mpixq_signal *signal_of_all;
static _Atomic int round_now;         /* the adders may add for it */
static _Atomic int n_added, too_soon; /* parts of this round */
static _Atomic int is_over;

static void make_window(void)
{
    window = mpixq_rma_object_new(MPIXQ_RMA_WINDOW, sizeof *window);
    assert_non_null(window);
    mpixq_lock_init(&window->lock, MPIXQ_RANK_RMA_WINDOW);
    window->words = mpixq_alloc_aligned(4096, MPIXQ_RMA_PLACES * sizeof *window->words);
    window->n_nics = ADDERS - 1;
    assert_non_null(window->words);
}

static void free_window(void)
{
    mpixq_lock_destroy(&window->lock);
    mpixq_free(window->words);
    while (window->tables != NULL) {
        struct mpixq_rma_slots *table = window->tables;

        window->tables = table->next;
        mpixq_free(table);
    }
    memset(window, 0, sizeof *window);
}

/* Part by part: each adder has every third one, whatever event that is of. */
static void add(int adder, int part)
{
    n_added++;
    if (adder == ADDERS - 1) {
        mpixq_rma_signal_add(signal_of_all, (uint32_t)part % PARTS, PARTS, 0, 0);
    } else {
        signal_of_all->words->nic[adder] += mpixq_signal_addend((uint32_t)part % PARTS, PARTS);
    }
}

static void *adder(void *arg)
{
    int me = *(int *)arg;

    for (int round = 1; round <= ROUNDS; round++) {
        while (round_now < round) {
            (void)sched_yield();
        }
        for (int part = me; part < EVENTS * PARTS; part += ADDERS) {
            add(me, part);
        }
    }
    return NULL;
}

/* Only looks: it counts ends as everybody does, and must never see a surplus. */
static void *looker(void *arg)
{
    (void)arg;
    while (!is_over) {
        bool complete;

        too_soon += mpixq_rma_signal_look(signal_of_all, &complete) != MPI_SUCCESS;
        (void)sched_yield();
    }
    return NULL;
}

static void run_round(int round)
{
    bool complete = false;

    n_added = 0;
    round_now = round;
    while (!complete) {
        assert_int_equal(mpixq_rma_signal_look(signal_of_all, &complete), MPI_SUCCESS);
        too_soon += complete && n_added < EVENTS * PARTS;
        (void)sched_yield();
    }
    assert_int_equal(mpixq_rma_signal_sum(signal_of_all), 0);
    assert_int_equal(mpixq_rma_signal_set(signal_of_all, false), MPI_SUCCESS);
    assert_int_equal(mpixq_rma_signal_sum(signal_of_all), EVENTS);
}

static void rounds_end_when_all_has_come(void **state)
{
    pthread_t adders[ADDERS], lookers[LOOKERS];
    int numbers[ADDERS];

    (void)state;
    make_window();
    assert_int_equal(mpixq_rma_signal_create(window, EVENTS, &signal_of_all), MPIXQ_E_NONE);
    assert_ptr_equal(signal_of_all->words, window->words);
    for (int i = 0; i < ADDERS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&adders[i], NULL, adder, &numbers[i]), 0);
    }
    for (int i = 0; i < LOOKERS; i++) {
        assert_int_equal(pthread_create(&lookers[i], NULL, looker, NULL), 0);
    }
    for (int round = 1; round <= ROUNDS; round++) {
        run_round(round);
    }
    is_over = 1;
    for (int i = 0; i < ADDERS; i++) {
        assert_int_equal(pthread_join(adders[i], NULL), 0);
    }
    for (int i = 0; i < LOOKERS; i++) {
        assert_int_equal(pthread_join(lookers[i], NULL), 0);
    }
    assert_int_equal(too_soon, 0);
    assert_int_equal(mpixq_rma_signal_destroy(signal_of_all), MPIXQ_E_NONE);
    /* The next one in its place begins with its own number, whatever the words hold. */
    assert_int_equal(mpixq_rma_signal_create(window, 7, &signal_of_all), MPIXQ_E_NONE);
    assert_ptr_equal(signal_of_all->words, window->words);
    assert_true(signal_of_all->words->nic[0] != 0);
    assert_int_equal(mpixq_rma_signal_sum(signal_of_all), 7);
    assert_int_equal(mpixq_rma_signal_destroy(signal_of_all), MPIXQ_E_NONE);
    free_window();
}

static void more_than_have_a_place(void **state)
{
    static struct mpixq_signal *all[MPIXQ_RMA_PLACES + 2];

    (void)state;
    make_window();
    for (int i = 0; i < MPIXQ_RMA_PLACES + 2; i++) {
        assert_int_equal(mpixq_rma_signal_create(window, i + 1, &all[i]), MPIXQ_E_NONE);
        assert_int_equal(all[i]->words == &all[i]->own_words, i >= MPIXQ_RMA_PLACES);
    }
    for (int i = 0; i < MPIXQ_RMA_PLACES + 2; i++) {
        mpixq_rma_signal_add(all[i], 0, 1, 0, 0);
        assert_int_equal(mpixq_rma_signal_sum(all[i]), i);
        assert_int_equal(mpixq_rma_signal_destroy(all[i]), MPIXQ_E_NONE);
    }
    free_window();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_end_when_all_has_come),
        cmocka_unit_test(more_than_have_a_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
