/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * device_participants.c - starts element by element of several participants, as blocks of a kernel:
 * threads begin and end them in any order, at both ends of a pair at once, by the functions of
 * mpix_queue_device_ranges.h as compiled for the host. Some rounds are whole messages, and in some
 * a participant fails first, so that all begin again.
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
#include "mpix_queue_device_ranges.h"

enum { UNITS = 12, MOST = 4, ROUNDS = 400, SLOTS = 3 };
enum kind { ELEMENTS, RANGES, WHOLE, FAILS, KINDS };

/* A pair with slots: first the sender, then the receiver. */
static struct {
    struct mpixq_device_end end[2];
    struct mpixq_device_told told[2];
    mpixq_dev_word slots[SLOTS * UNITS] __attribute__((aligned(16)));
    unsigned buffer[2][UNITS];
} pair;

static MPIXQ_Device_request request[2];

struct side {
    unsigned is_send, n; /* participants */
    unsigned long long seed;
    pthread_barrier_t met;
    atomic_uint told; /* ends that have returned an error */
};
static atomic_uint wrong;

static void expect(int is_true)
{
    atomic_fetch_add(&wrong, is_true ? 0u : 1u);
}

static unsigned draw(unsigned long long *state, unsigned below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % below;
}

static unsigned value_of(unsigned element, unsigned round)
{
    return element * 2654435761u + round * 97u + 1u;
}

static void make_pair(void)
{
    memset(&pair, 0, sizeof pair);
    atomic_store(&wrong, 0);
    for (unsigned k = 0; k < 2; k++) {
        request[k] = (MPIXQ_Device_request){.to = (char *)pair.buffer[1],
                                            .from = (char *)pair.buffer[0],
                                            .bytes = sizeof pair.buffer[0],
                                            .own = &pair.end[k],
                                            .peer = &pair.end[1 - k],
                                            .own_told = &pair.told[k],
                                            .told = &pair.told[1],
                                            .slots = pair.slots,
                                            .state = &pair.end[1].state,
                                            .is_send = k == 0,
                                            .is_early = 1,
                                            .abi = MPIXQ_DEVICE_ABI};
    }
}

/* The threads of a side go on to the next round behind the end of this one. */
static void meet(struct side *side)
{
    pthread_barrier_wait(&side->met);
}

static void put_share(MPIXQ_Device_access *out, const struct side *side, unsigned rank,
                      unsigned round, enum kind kind)
{
    unsigned first = UNITS * rank / side->n, count = UNITS * (rank + 1) / side->n - first;
    unsigned values[UNITS];

    for (unsigned i = 0; i < count; i++) {
        values[i] = value_of(first + i, round);
        if (kind == ELEMENTS) {
            MPIXQ_Device_put(out, first + i, values[i]);
        }
    }
    if (kind != ELEMENTS) {
        expect(MPIXQ_Device_put_range(out, first, values, count, MPIXQ_DEVICE_THREAD) == 0);
    }
}

static void get_share(MPIXQ_Device_access *in, const struct side *side, unsigned rank,
                      unsigned round, enum kind kind)
{
    unsigned first = UNITS * rank / side->n, count = UNITS * (rank + 1) / side->n - first;
    unsigned values[UNITS];

    if (kind != ELEMENTS) {
        expect(MPIXQ_Device_get_range(in, first, values, count, MPIXQ_DEVICE_THREAD) == 0);
    }
    for (unsigned i = 0; i < count; i++) {
        expect((kind == ELEMENTS ? MPIXQ_Device_get(in, first + i) : values[i]) ==
               value_of(first + i, round));
    }
}

/* One of them has got nothing, or puts too little: the start is not made, and who fails is told;
 * of a send the last one to end. */
static void fail_first(struct side *side, unsigned rank, unsigned bad)
{
    const MPIXQ_Device_request *r = &request[1 - side->is_send];
    mpixq_dev_word started = mpixq_dev_peek(&r->own->started);
    MPIXQ_Device_access access;
    int rc;

    meet(side);
    expect(MPIXQ_Device_begin(&access, r, side->n, MPIXQ_DEVICE_FOREVER, MPIXQ_DEVICE_THREAD) == 0);
    access.count = side->is_send ? UNITS / side->n : 0;
    if (!side->is_send && rank == bad) {
        access.error = MPIXQ_DEVICE_ERR_TIMEOUT;
    } else if (rank == bad) {
        access.count = 0;
    }
    rc = MPIXQ_Device_end(&access, MPIXQ_DEVICE_THREAD);
    atomic_fetch_add(&side->told, rc != 0);
    expect(rc == 0 || rc == (side->is_send ? MPIXQ_DEVICE_ERR_COUNT : MPIXQ_DEVICE_ERR_TIMEOUT));
    meet(side);
    expect(mpixq_dev_peek(&r->own->started) == started && mpixq_dev_peek(&r->own->gone) == 0);
    if (rank == 0) {
        expect(atomic_exchange(&side->told, 0) == 1);
    }
    meet(side);
}

static void run_whole(const struct side *side, unsigned round)
{
    const MPIXQ_Device_request *r = &request[1 - side->is_send];

    for (unsigned i = 0; side->is_send && i < UNITS; i++) {
        pair.buffer[0][i] = value_of(i, round);
    }
    expect(MPIXQ_Device_start(r, MPIXQ_DEVICE_THREAD) == 0);
    expect(MPIXQ_Device_wait(r, MPIXQ_DEVICE_FOREVER, MPIXQ_DEVICE_THREAD) == 0);
    for (unsigned i = 0; !side->is_send && i < UNITS; i++) {
        expect(pair.buffer[1][i] == value_of(i, round));
    }
}

static void run_round(struct side *side, unsigned rank, unsigned round, enum kind kind)
{
    const MPIXQ_Device_request *r = &request[1 - side->is_send];
    MPIXQ_Device_access access;

    expect(MPIXQ_Device_begin(&access, r, side->n, MPIXQ_DEVICE_FOREVER, MPIXQ_DEVICE_THREAD) == 0);
    (side->is_send ? put_share : get_share)(&access, side, rank, round, kind);
    expect(MPIXQ_Device_end(&access, MPIXQ_DEVICE_THREAD) == 0);
}

struct participant {
    struct side *side;
    unsigned rank;
};

static void *participate(void *arg)
{
    const struct participant *me = arg;
    struct side *side = me->side;
    unsigned long long common = side->seed, own = side->seed + me->rank + 1;

    for (unsigned round = 1; round <= ROUNDS; round++) {
        enum kind kind = (enum kind)draw(&common, KINDS);
        unsigned bad = draw(&common, side->n), naps = draw(&own, 4) == 0 ? draw(&own, 20) : 0;

        if (kind == FAILS && UNITS % side->n == 0) {
            fail_first(side, me->rank, bad);
        }
        while (naps-- > 0) {
            sched_yield();
        }
        if (kind != WHOLE) {
            run_round(side, me->rank, round, kind);
        } else if (me->rank == bad) {
            run_whole(side, round);
        }
        meet(side);
        expect(mpixq_dev_peek(&request[1 - side->is_send].own->waited) == round);
        meet(side);
    }
    return NULL;
}

static void run_pair(unsigned senders, unsigned receivers)
{
    struct side sides[2] = {{.is_send = 1, .n = senders, .seed = 10 * senders + receivers},
                            {.is_send = 0, .n = receivers, .seed = 99 + senders}};
    struct participant all[2][MOST];
    pthread_t threads[2][MOST];

    make_pair();
    for (unsigned k = 0; k < 2; k++) {
        assert_int_equal(pthread_barrier_init(&sides[k].met, NULL, sides[k].n), 0);
        for (unsigned i = 0; i < sides[k].n; i++) {
            all[k][i] = (struct participant){&sides[k], i};
            assert_int_equal(pthread_create(&threads[k][i], NULL, participate, &all[k][i]), 0);
        }
    }
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < sides[k].n; i++) {
            assert_int_equal(pthread_join(threads[k][i], NULL), 0);
        }
        pthread_barrier_destroy(&sides[k].met);
        assert_int_equal(pair.end[k].started, ROUNDS);
        assert_int_equal(pair.end[k].gone, 0);
    }
    assert_int_equal(atomic_load(&wrong), 0);
}

static void test_participants(void **state)
{
    (void)state;
    run_pair(1, MOST);
    run_pair(MOST, 1);
    run_pair(3, MOST);
    run_pair(2, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_participants)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
