/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * device_signals.c - puts with signals by kernels, as compiled for the host: threads that put to
 * each other, each round a put to each of the others, and wait for signals and reset them, by one
 * call or by two; and what comes between the last look of a wait and its reset
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define MPIX_QUEUE_DEVICE_ONLY
#include "mpix_queue_device_words.h"

static mpixq_dev_word look(const mpixq_dev_word *word);

#define mpixq_dev_load look
#include "mpix_queue_device_rma.h"

enum { MOST = 4, ROUNDS = 300, WORDS = 5 };

/* What has come to a participant, from each, and its signal, by turns; and one that counts what has
 * left. */
static struct {
    mpixq_dev_word word[2], left;
    unsigned from[2][MOST][WORDS];
} window[MOST];

static unsigned n; /* participants */
static mpixq_dev_word failed;
static atomic_uint wrong;

/* Events that come to a signal behind the last look at it, which acquires. */
static mpixq_dev_word *late_at, late;

static mpixq_dev_word look(const mpixq_dev_word *word)
{
    mpixq_dev_word value = __atomic_load_n(word, __ATOMIC_ACQUIRE);

    if (late_at == word) {
        mpixq_dev_add(late_at, 0 - late);
    }
    return value;
}

static void expect(int is_true)
{
    atomic_fetch_add(&wrong, is_true ? 0u : 1u);
}

static MPIXQ_Device_signal signal_of(mpixq_dev_word *word, unsigned events)
{
    return (MPIXQ_Device_signal){
        .word = word, .failed = &failed, .events = events, .abi = MPIXQ_DEVICE_RMA_ABI};
}

static unsigned value_of(unsigned rank, unsigned round, unsigned i)
{
    return rank * 1000003u + round * 97u + i;
}

static void put_to_all(unsigned rank, unsigned round)
{
    unsigned data[WORDS];

    for (unsigned i = 0; i < WORDS; i++) {
        data[i] = value_of(rank, round, i);
    }
    for (unsigned to = 0; to < n; to++) {
        MPIXQ_Device_transfer transfer = {.to = (char *)window[to].from[round % 2][rank],
                                          .from = (const char *)data,
                                          .bytes = sizeof data,
                                          .local = &window[rank].left,
                                          .remote = &window[to].word[round % 2],
                                          .abi = MPIXQ_DEVICE_RMA_ABI};

        expect(MPIXQ_Device_put_signal(&transfer, MPIXQ_DEVICE_THREAD) == MPIXQ_DEVICE_SUCCESS);
    }
}

static void wait_and_reset(const MPIXQ_Device_signal *signal, int at_once)
{
    if (at_once) {
        expect(MPIXQ_Device_signal_wait_reset(signal, MPIXQ_DEVICE_FOREVER, MPIXQ_DEVICE_THREAD) ==
               MPIXQ_DEVICE_SUCCESS);
        return;
    }
    expect(MPIXQ_Device_signal_wait(signal, MPIXQ_DEVICE_FOREVER, MPIXQ_DEVICE_THREAD) ==
           MPIXQ_DEVICE_SUCCESS);
    expect(MPIXQ_Device_signal_reset(signal, MPIXQ_DEVICE_THREAD) == MPIXQ_DEVICE_SUCCESS);
}

/* Who puts for the round after the next has had a put of each for the next one, which each makes
 * behind its reset for this one, and when it has read. */
static void *participate(void *arg)
{
    unsigned rank = *(unsigned *)arg;
    MPIXQ_Device_signal left = signal_of(&window[rank].left, n);

    for (unsigned round = 0; round < ROUNDS; round++) {
        MPIXQ_Device_signal came = signal_of(&window[rank].word[round % 2], n);

        put_to_all(rank, round);
        wait_and_reset(&came, (round + rank) % 4 != 0);
        wait_and_reset(&left, (round + rank) % 3 != 0);
        for (unsigned from = 0; from < n; from++) {
            for (unsigned i = 0; i < WORDS; i++) {
                expect(window[rank].from[round % 2][from][i] == value_of(from, round, i));
            }
        }
        if (round % 7 == rank) {
            sched_yield();
        }
    }
    return NULL;
}

static void run(unsigned participants)
{
    pthread_t threads[MOST];
    unsigned ranks[MOST];

    n = participants;
    memset(window, 0, sizeof window);
    for (unsigned i = 0; i < n; i++) {
        ranks[i] = i;
        window[i].word[0] = window[i].word[1] = window[i].left = n;
    }
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, participate, &ranks[i]), 0);
    }
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(window[i].word[0], n);
        assert_int_equal(window[i].word[1], n);
        assert_int_equal(window[i].left, n);
    }
    assert_int_equal(atomic_load(&wrong), 0);
}

static void test_participants(void **state)
{
    (void)state;
    run(1);
    run(2);
    run(MOST);
}

static int wait_reset(const MPIXQ_Device_signal *signal)
{
    return MPIXQ_Device_signal_wait_reset(signal, 1, MPIXQ_DEVICE_THREAD);
}

/* They are of the next round: some of it, all of it, or too many. */
static void test_late(void **state)
{
    mpixq_dev_word word;
    MPIXQ_Device_signal signal = signal_of(&word, 3);

    (void)state;
    for (late = 0; late < 5; late++) {
        word = 0;
        late_at = &word;
        assert_int_equal(wait_reset(&signal), MPIXQ_DEVICE_SUCCESS);
        late_at = NULL;
        assert_true(word == 3 - late);
        assert_int_equal(wait_reset(&signal), late < 3    ? MPIXQ_DEVICE_ERR_TIMEOUT
                                              : late == 3 ? MPIXQ_DEVICE_SUCCESS
                                                          : MPIXQ_DEVICE_ERR_SURPLUS);
        assert_true(word == (late == 3 ? 3 : 3 - late));
    }
}

/* Of two calls the second finds them, and changes nothing. */
static void test_late_apart(void **state)
{
    mpixq_dev_word word = 0;
    MPIXQ_Device_signal signal = signal_of(&word, 3);

    (void)state;
    late = 1;
    late_at = &word;
    assert_int_equal(MPIXQ_Device_signal_wait(&signal, 1, MPIXQ_DEVICE_THREAD),
                     MPIXQ_DEVICE_SUCCESS);
    late_at = NULL;
    assert_int_equal(MPIXQ_Device_signal_reset(&signal, MPIXQ_DEVICE_THREAD),
                     MPIXQ_DEVICE_ERR_SURPLUS);
    assert_true(word == (mpixq_dev_word)-1);
}

/* Nothing is reset. */
static void test_errors(void **state)
{
    mpixq_dev_word word = 2;
    MPIXQ_Device_signal signal = signal_of(&word, 3);

    (void)state;
    assert_int_equal(wait_reset(&signal), MPIXQ_DEVICE_ERR_TIMEOUT);
    assert_int_equal(word, 2);
    failed = 1;
    assert_int_equal(
        MPIXQ_Device_signal_wait_reset(&signal, MPIXQ_DEVICE_FOREVER, MPIXQ_DEVICE_THREAD),
        MPIXQ_DEVICE_ERR_FAILED);
    assert_int_equal(word, 2);
    word = 0; /* what is complete can be waited for still */
    assert_int_equal(wait_reset(&signal), MPIXQ_DEVICE_SUCCESS);
    assert_int_equal(word, 3);
    failed = 0;
    word = (mpixq_dev_word)-1;
    assert_int_equal(wait_reset(&signal), MPIXQ_DEVICE_ERR_SURPLUS);
    assert_true(word == (mpixq_dev_word)-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_participants), cmocka_unit_test(test_late),
        cmocka_unit_test(test_late_apart), cmocka_unit_test(test_errors)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
