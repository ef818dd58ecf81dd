/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * host_stream_life.c - how host streams are made, used by queues, told apart and destroyed
 */
#include "host_stream.h"

#include <pthread.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/thread.h"

/* The linker sends the library's call here (--wrap). */
bool __real_mpixq_thread_create(pthread_t *thread_p, void *(*run)(void *), void *arg,
                                const char *name);
bool __wrap_mpixq_thread_create(pthread_t *thread_p, void *(*run)(void *), void *arg,
                                const char *name);
static bool fail_thread;

bool __wrap_mpixq_thread_create(pthread_t *thread_p, void *(*run)(void *), void *arg,
                                const char *name)
{
    return !fail_thread && __real_mpixq_thread_create(thread_p, run, arg, name);
}

static void *open_gate(void *arg)
{
    usleep(1000);
    atomic_store((_Atomic uint64_t *)arg, 1);
    return NULL;
}

static void destroy_runs_what_is_in_the_ring(void **state)
{
    static struct item items[DEPTH];

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct mpixq_stream *stream = open_own();
        struct series series = {0};
        _Atomic uint64_t gate = 0;
        pthread_t thread;

        await(stream, &gate, round % 2);
        assert_int_equal(pthread_create(&thread, NULL, open_gate, (void *)&gate), 0);
        for (int i = 0; i < round % DEPTH; i++) {
            call(stream, run_items, next_item(&series, items));
        }
        ops->close(stream);
        expect_done(&series);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
}

static void used_stream_is_not_destroyed(void **state)
{
    struct mpixq_host_stream *host = create();
    struct mpixq_stream *first, *second;
    struct mpixq_refusal refusal;

    (void)state;
    first = ops->open(kind, host, NULL, &refusal);
    second = ops->open(kind, host, NULL, &refusal);
    assert_ptr_equal(first, host);
    assert_ptr_equal(second, host);
    assert_int_equal(mpixq_host_stream_destroy(host), MPIXQ_E_STREAM_BUSY);
    ops->close(first);
    assert_int_equal(mpixq_host_stream_destroy(host), MPIXQ_E_STREAM_BUSY);
    assert_true(mpixq_host_stream_is_live(host));
    ops->close(second);
    destroy(host);
    assert_false(mpixq_host_stream_is_live(host));
}

static void live_streams_are_known(void **state)
{
    bool several;
    struct mpixq_host_stream *streams[5];
    int other;

    (void)state;
    for (int i = 0; i < 5; i++) {
        streams[i] = create();
    }
    assert_false(mpixq_host_stream_is_live(NULL));
    assert_false(ops->is_live(kind, &other));
    assert_ptr_equal(mpixq_stream_recognise(streams[2], &several), kind);
    assert_null(mpixq_stream_recognise(&other, &several));
    assert_ptr_equal(mpixq_stream_kind("mpix_host_stream"), kind);
    assert_null(mpixq_stream_kind("mpix_host"));
    destroy(streams[1]);
    destroy(streams[4]);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(mpixq_host_stream_is_live(streams[i]), i != 1 && i != 4);
    }
    assert_int_equal(mpixq_host_streams_close(), 3);
    assert_int_equal(mpixq_host_streams_close(), 0);
    assert_false(mpixq_host_stream_is_live(streams[0]));
}

static void note_inside(void *arg)
{
    *(bool *)arg = mpixq_host_stream_inside() && mpixq_stream_inside();
}

static void note_inside_call(void *const args[], int n, bool on_gpu)
{
    assert_false(on_gpu);
    for (int i = 0; i < n; i++) {
        note_inside(args[i]);
    }
}

/* Only functions that the user launched are inside: channels are called as well. */
static void functions_know_that_they_are_inside(void **state)
{
    struct mpixq_host_stream *host = create();
    bool in_function = false, in_call = true;
    struct mpixq_refusal refusal;
    struct mpixq_stream *stream = ops->open(kind, host, NULL, &refusal);

    (void)state;
    mpixq_host_stream_launch(host, note_inside, &in_function);
    call(stream, note_inside_call, &in_call);
    mpixq_host_stream_synchronize(host);
    assert_true(in_function);
    assert_false(in_call);
    assert_false(mpixq_host_stream_inside());
    ops->close(stream);
    destroy(host);
}

static void thousands_come_and_go(void **state)
{
    static struct item items[4];
    long before = unit_live_blocks();

    (void)state;
    for (int i = 0; i < (int)unit_programs(3000); i++) {
        struct mpixq_host_stream *host = create();
        struct series series = {0};

        for (int k = 0; k < i % 4; k++) {
            mpixq_host_stream_launch(host, run_item, next_item(&series, items));
        }
        if (i % 8 >= 4) {
            mpixq_host_stream_synchronize(host);
            expect_done(&series);
        }
        destroy(host);
        expect_done(&series);
    }
    assert_int_equal(unit_live_blocks(), before);
}

static void creation_survives_failures(void **state)
{
    long before = unit_live_blocks();
    enum mpixq_error error = MPIXQ_E_NONE;
    struct mpixq_refusal refusal = {0};
    struct mpixq_host_stream *host;

    (void)state;
    for (long n = 1; n <= 2; n++) {
        atomic_store(&mpixq_allocs.fail_in, n);
        assert_null(mpixq_host_stream_create(&error));
        assert_int_equal(error, MPIXQ_E_NO_MEMORY);
        atomic_store(&mpixq_allocs.fail_in, n);
        assert_null(ops->open(kind, NULL, NULL, &refusal));
        assert_int_equal(refusal.error, MPIXQ_E_NO_MEMORY);
        assert_int_equal(unit_live_blocks(), before);
    }
    fail_thread = true;
    assert_null(mpixq_host_stream_create(&error));
    fail_thread = false;
    assert_int_equal(error, MPIXQ_E_NO_THREAD);
    assert_int_equal(unit_live_blocks(), before);
    atomic_store(&mpixq_allocs.fail_in, 3); /* what the thread is told */
    assert_null(mpixq_host_stream_create(&error));
    assert_int_equal(error, MPIXQ_E_NO_THREAD);
    assert_int_equal(unit_live_blocks(), before);
    atomic_store(&mpixq_allocs.fail_in, 4); /* there is no fourth */
    host = create();
    assert_int_equal(atomic_load(&mpixq_allocs.fail_in), 1);
    atomic_store(&mpixq_allocs.fail_in, 0);
    destroy(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(destroy_runs_what_is_in_the_ring),
        cmocka_unit_test(used_stream_is_not_destroyed),
        cmocka_unit_test(live_streams_are_known),
        cmocka_unit_test(functions_know_that_they_are_inside),
        cmocka_unit_test(thousands_come_and_go),
        cmocka_unit_test(creation_survives_failures),
    };

    mpixq_env_read();
    mpixq_env.host_stream_depth = DEPTH;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
