/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * device_looks.c - how often kernels of the program look at memory of the host, and store to it:
 * the functions of mpix_queue_device.h as one thread of a block calls them, whichever it is, with
 * each look and each store counted
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "device_gpu.h"

enum { WARP = 32, WARPS = 4, LOOKS = 4096, UNITS = 4, SLOTS = 3 };

static unsigned n_looks, looks_at_host, stores_to_host, last_look_at_host;
static mpixq_dev_word halt_at;

static mpixq_dev_word look(const mpixq_dev_word *word);
static void put(mpixq_dev_word *word, mpixq_dev_word value);

#undef MPIXQ_DEV_WARP
#define MPIXQ_DEV_WARP ((unsigned)WARP)
#define mpixq_dev_load look
#define mpixq_dev_put put
#include "mpix_queue_device.h"

/* A pair, of which this process has one end, with slots. */
static struct {
    struct mpixq_device_end own, peer;
    struct mpixq_device_told own_told, peer_told __attribute__((aligned(16)));
    mpixq_dev_word slots[SLOTS * UNITS] __attribute__((aligned(16)));
    char buffer[4 * UNITS];
} pair;

static int is_of_host(const mpixq_dev_word *word)
{
    const char *at = (const char *)word;
    const char *own = (const char *)&pair.own_told, *peer = (const char *)&pair.peer_told;

    return (at >= own && at < own + sizeof pair.own_told) ||
           (at >= peer && at < peer + sizeof pair.peer_told);
}

static mpixq_dev_word look(const mpixq_dev_word *word)
{
    if (is_of_host(word)) {
        looks_at_host++;
        last_look_at_host = n_looks;
    }
    return *word;
}

static void put(mpixq_dev_word *word, mpixq_dev_word value)
{
    stores_to_host += (unsigned)is_of_host(word);
    *word = value;
}

static void put_two(mpixq_dev_word *words, mpixq_dev_word first, mpixq_dev_word second)
{
    assert_int_equal((uintptr_t)words % 16, 0);
    put(words, first);
    words[1] = second;
}

static void look_again(void)
{
    n_looks++;
    clock_ns++;
    if (n_looks == halt_at) {
        pair.own_told.halt = 1;
    }
}

static MPIXQ_Device_request request(unsigned is_send, unsigned rank)
{
    memset(&pair, 0, sizeof pair);
    thread = rank;
    n_looks = looks_at_host = stores_to_host = last_look_at_host = 0;
    clock_ns = halt_at = 0;
    return (MPIXQ_Device_request){.to = pair.buffer,
                                  .from = pair.buffer,
                                  .bytes = sizeof pair.buffer,
                                  .own = &pair.own,
                                  .peer = &pair.peer,
                                  .own_told = &pair.own_told,
                                  .told = is_send ? &pair.peer_told : &pair.own_told,
                                  .slots = pair.slots,
                                  .state = is_send ? &pair.peer.state : &pair.own.state,
                                  .is_send = is_send,
                                  .is_early = 1,
                                  .abi = MPIXQ_DEVICE_ABI};
}

/* Warps take turns: each looks once in so many looks, and no two at the same time. */
static void test_warps_look_in_turns(void **state)
{
    unsigned seen[WARPS];

    (void)state;
    for (unsigned warp = 0; warp < WARPS; warp++) {
        MPIXQ_Device_request r = request(0, warp * WARP + 5);
        MPIXQ_Device_access in;

        assert_int_equal(MPIXQ_Device_begin(&in, &r, 1, LOOKS, MPIXQ_DEVICE_WARP), 0);
        (void)MPIXQ_Device_get(&in, 0);
        assert_int_equal(in.error, MPIXQ_DEVICE_ERR_TIMEOUT);
        assert_in_range(n_looks, LOOKS, LOOKS + MPIXQ_DEV_RARELY);
        assert_in_range(looks_at_host, 2, 1 + LOOKS / (MPIXQ_DEV_RARELY * MPIXQ_DEV_TURNS));
        request(0, warp * WARP + 5);
        pair.own_told.halt = 1;
        in.error = 0;
        in.deadline = MPIXQ_DEVICE_FOREVER;
        (void)MPIXQ_Device_get(&in, 0);
        assert_int_equal(in.error, MPIXQ_DEVICE_ERR_FAILED);
        seen[warp] = last_look_at_host;
        for (unsigned other = 0; other < warp; other++) {
            assert_int_not_equal(seen[other], seen[warp]);
        }
    }
}

/* Whoever does not look so long finds a failure all the same, with its last look. */
static void test_last_look_finds_failure(void **state)
{
    (void)state;
    for (unsigned warp = 0; warp < WARPS; warp++) {
        MPIXQ_Device_request r = request(0, warp * WARP);
        int flag = 1;

        assert_int_equal(MPIXQ_Device_start(&r, MPIXQ_DEVICE_WARP), 0);
        assert_int_equal(MPIXQ_Device_test(&r, &flag, MPIXQ_DEVICE_WARP), 0);
        assert_int_equal(flag, 0);
        assert_int_equal(MPIXQ_Device_wait(&r, 1, MPIXQ_DEVICE_WARP), MPIXQ_DEVICE_ERR_TIMEOUT);
        halt_at = n_looks + MPIXQ_DEV_RARELY - 1;
        assert_int_equal(MPIXQ_Device_wait(&r, 1, MPIXQ_DEVICE_WARP), MPIXQ_DEVICE_ERR_FAILED);
    }
    for (unsigned warp = 0; warp < WARPS; warp++) {
        MPIXQ_Device_request r = request(0, warp * WARP);
        int flag = 1;

        assert_int_equal(MPIXQ_Device_start(&r, MPIXQ_DEVICE_WARP), 0);
        pair.own_told.halt = 1;
        assert_int_equal(MPIXQ_Device_test(&r, &flag, MPIXQ_DEVICE_WARP), MPIXQ_DEVICE_ERR_FAILED);
        assert_int_equal(flag, 0);
    }
}

/* A send that has to wait for its slot tells the host so once, by the first thread. */
static void test_waiting_send_tells_once(void **state)
{
    (void)state;
    for (unsigned rank = 0; rank < 2; rank++) {
        MPIXQ_Device_request r = request(1, rank);
        MPIXQ_Device_access out;

        pair.own.started = pair.own.waited = pair.own.done = 5;
        assert_int_equal(MPIXQ_Device_begin(&out, &r, 1, LOOKS, MPIXQ_DEVICE_BLOCK),
                         MPIXQ_DEVICE_ERR_TIMEOUT);
        assert_int_equal(stores_to_host, rank == 0 ? 1 : 0);
        assert_int_equal(pair.own_told.started, rank == 0 ? 6 : 0);
    }
}

/* A send to a slot has one store for both hosts, a receive one. */
static void test_stores_are_few(void **state)
{
    MPIXQ_Device_request r = request(1, 0);
    MPIXQ_Device_access out, in;

    (void)state;
    assert_int_equal(MPIXQ_Device_begin(&out, &r, 1, 1, MPIXQ_DEVICE_BLOCK), 0);
    for (unsigned i = 0; i < UNITS; i++) {
        MPIXQ_Device_put(&out, i, i);
    }
    assert_int_equal(MPIXQ_Device_end(&out, MPIXQ_DEVICE_BLOCK), 0);
    assert_int_equal(stores_to_host, 1);
    assert_int_equal(pair.peer_told.done, 1);

    r = request(0, 0);
    for (unsigned i = 0; i < UNITS; i++) {
        pair.slots[UNITS + i] = mpixq_dev_flag(1) | i;
    }
    assert_int_equal(MPIXQ_Device_begin(&in, &r, 1, 1, MPIXQ_DEVICE_BLOCK), 0);
    for (unsigned i = 0; i < UNITS; i++) {
        assert_int_equal(MPIXQ_Device_get(&in, i), i);
    }
    assert_int_equal(MPIXQ_Device_end(&in, MPIXQ_DEVICE_BLOCK), 0);
    assert_int_equal(stores_to_host, 1);
    assert_int_equal(pair.own.waited, 1);
}

/* Of several participants of a receive the first one tells the host and the sender that they have
 * come; and if the sender has come before all of them, one moves the data. */
static void test_first_participant_tells(void **state)
{
    enum { N = 3 };
    MPIXQ_Device_access in[N];

    (void)state;
    for (unsigned is_there = 0; is_there < 2; is_there++) {
        MPIXQ_Device_request r = request(0, 0);
        char sent[sizeof pair.buffer];

        memset(sent, 7, sizeof sent);
        r.from = sent;
        pair.own.state = is_there ? mpixq_dev_state(1, MPIXQ_DEV_SEND) : 0;
        for (unsigned i = 0; i < N; i++) {
            assert_int_equal(MPIXQ_Device_begin(&in[i], &r, N, 1, MPIXQ_DEVICE_BLOCK), 0);
            assert_int_equal(pair.peer.posted, 1);
            assert_int_equal(pair.own_told.started, 1);
            assert_int_equal(pair.own.state,
                             mpixq_dev_state(1, is_there ? MPIXQ_DEV_BOTH : MPIXQ_DEV_RECEIVE));
            assert_int_equal(pair.own.done, is_there);
            assert_true(is_there || stores_to_host == 1);
        }
        assert_int_equal(memcmp(pair.buffer, sent, sizeof sent) == 0, is_there);
        pair.own.done = 1;
        for (unsigned i = 0; i < N; i++) {
            assert_int_equal(pair.own.waited, 0);
            (void)MPIXQ_Device_get(&in[i], i);
            assert_int_equal(MPIXQ_Device_end(&in[i], MPIXQ_DEVICE_BLOCK), 0);
        }
        assert_int_equal(pair.own.gone, 0);
        assert_int_equal(pair.own.started, 1);
        assert_int_equal(pair.own.waited, 1);
    }
}

/* A receive whose participants have all failed is not made, however many they are. */
static void test_all_participants_fail(void **state)
{
    enum { MOST = 40 };
    MPIXQ_Device_access in[MOST];

    (void)state;
    for (unsigned n = 1; n <= MOST; n++) {
        MPIXQ_Device_request r = request(0, 0);

        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(MPIXQ_Device_begin(&in[i], &r, n, 1, MPIXQ_DEVICE_WARP), 0);
            (void)MPIXQ_Device_get(&in[i], i % UNITS);
        }
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(MPIXQ_Device_end(&in[i], MPIXQ_DEVICE_WARP), MPIXQ_DEVICE_ERR_TIMEOUT);
        }
        assert_int_equal(pair.own.started, 0);
        assert_int_equal(pair.own.waited, 0);
        assert_int_equal(pair.own.gone, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warps_look_in_turns),
        cmocka_unit_test(test_last_look_finds_failure),
        cmocka_unit_test(test_waiting_send_tells_once),
        cmocka_unit_test(test_stores_are_few),
        cmocka_unit_test(test_first_participant_tells),
        cmocka_unit_test(test_all_participants_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
