/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * host_stream.c - host streams: order, tickets and waits; and that no wake-up is lost, which shows
 * as a test that does not end
 */
#include "host_stream.h"

#include <pthread.h>
#include <unistd.h>

#include "util/affinity.h"
#include "util/backoff.h"
#include "stream/host_ring.h"

static void functions_run_in_order(void **state)
{
    enum { N = 20000 };
    static struct item items[N];

    (void)state;
    for (long depth = DEPTH; depth <= 8192; depth *= 2) {
        struct series series = {0};
        struct mpixq_host_stream *stream;

        mpixq_env.host_stream_depth = depth;
        stream = create();
        for (int i = 0; i < N; i++) {
            mpixq_host_stream_launch(stream, run_item, next_item(&series, items));
        }
        mpixq_host_stream_synchronize(stream);
        assert_true(mpixq_host_stream_is_idle(stream));
        expect_done(&series);
        destroy(stream);
    }
    mpixq_env.host_stream_depth = DEPTH;
}

enum { THREADS = 4, ITEMS = 5000 };

struct submitter {
    struct mpixq_host_stream *host;
    struct mpixq_stream *stream; /* the same */
    struct series series;
    struct item items[ITEMS];
    uint64_t seed;
    int late; /* tickets that had not passed after synchronize */
};

/* As one operation: mostly a few, at times more than the ring holds. */
static uint64_t submit_calls(struct submitter *s)
{
    enum { MANY = 3 * DEPTH };
    struct mpixq_op list[MANY];
    int left = ITEMS - (int)s->series.submitted;
    int n = 1 + unit_pick(&s->seed, unit_pick(&s->seed, 10) == 0 ? MANY : 4);

    n = n < left ? n : left;
    for (int i = 0; i < n; i++) {
        mpixq_op_call(&list[i], MPIXQ_OP_CALL, run_items, next_item(&s->series, s->items));
    }
    return ops->submit(s->stream, list, n, NULL);
}

static void *submit_all(void *arg)
{
    struct submitter *s = arg;

    while (s->series.submitted < ITEMS) {
        if (unit_pick(&s->seed, 2) == 0) {
            mpixq_host_stream_launch(s->host, run_item, next_item(&s->series, s->items));
        } else {
            uint64_t ticket = submit_calls(s);

            if (unit_pick(&s->seed, 10) == 0) {
                ops->synchronize(s->stream, ticket, NULL);
                s->late +=
                    !ops->passed(s->stream, ticket) || s->series.executed != s->series.submitted;
            }
        }
        if (unit_pick(&s->seed, 500) == 0) {
            usleep(100); /* lets the stream fall asleep now and then */
        }
    }
    return NULL;
}

/* Each thread's work keeps its order, while all wait for room and for tickets of their own. */
static void submitters_share_a_stream(void **state)
{
    static struct submitter submitters[THREADS];
    struct mpixq_host_stream *host = create();
    pthread_t threads[THREADS];
    struct mpixq_refusal refusal;
    struct mpixq_stream *stream = ops->open(kind, host, NULL, &refusal);

    (void)state;
    for (int t = 0; t < THREADS; t++) {
        submitters[t].host = host;
        submitters[t].stream = stream;
        submitters[t].seed = (uint64_t)t;
        assert_int_equal(pthread_create(&threads[t], NULL, submit_all, &submitters[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(submitters[t].late, 0);
    }
    mpixq_host_stream_synchronize(host);
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(submitters[t].series.submitted, ITEMS);
        expect_done(&submitters[t].series);
    }
    ops->close(stream);
    destroy(host);
}

/* Functions, calls, stores and waits for what was stored are one sequence. */
static void operations_of_all_kinds_keep_one_order(void **state)
{
    enum { N = 5000 };
    static struct item items[N];
    struct series series = {0};
    struct mpixq_host_stream *host = create();
    struct mpixq_refusal refusal;
    struct mpixq_stream *stream = ops->open(kind, host, NULL, &refusal);
    _Atomic uint64_t word = 0;
    uint64_t random = 1, value = 0, last = 0, ticket;

    (void)state;
    while (series.submitted < N) {
        switch (unit_pick(&random, 4)) {
        case 0:
            mpixq_host_stream_launch(host, run_item, next_item(&series, items));
            continue;
        case 1:
            ticket = call(stream, run_items, next_item(&series, items));
            break;
        case 2:
            ticket = store(stream, &word, ++value);
            break;
        default:
            ticket = await(stream, &word, value); /* stored by then */
        }
        assert_true(ticket > last);
        last = ticket;
    }
    mpixq_host_stream_synchronize(host);
    expect_done(&series);
    assert_int_equal(atomic_load(&word), value);
    ops->close(stream);
    destroy(host);
}

/* Expects a word to have the value that was stored last before it. */
struct check {
    _Atomic uint64_t *word;
    uint64_t value;
    int *mistakes;
};

static void check_words(void *const args[], int n, bool on_gpu)
{
    assert_false(on_gpu);
    for (int i = 0; i < n; i++) {
        const struct check *check = args[i];

        *check->mistakes += atomic_load(check->word) != check->value;
    }
}

/* Calls of several functions and stores in one submission, which may be executed by groups. */
static void starts_of_one_submission_keep_their_order(void **state)
{
    enum { N = 4 * DEPTH };
    static struct item items[1000 * N];
    struct mpixq_stream *stream = open_own();
    struct mpixq_op list[N];
    struct check checks[N];
    struct series series = {0};
    _Atomic uint64_t word = 0;
    uint64_t random = 1, value = 0;
    int mistakes = 0;

    (void)state;
    for (int round = 0; round < 1000; round++) {
        int n = 1 + unit_pick(&random, round % 10 == 0 ? N : 50);

        for (int i = 0; i < n; i++) {
            int what = unit_pick(&random, 3);

            checks[i] = (struct check){&word, value, &mistakes};
            if (what == 0) {
                mpixq_op_store(&list[i], &word, ++value);
            } else if (what == 1) {
                mpixq_op_call(&list[i], MPIXQ_OP_CALL, check_words, &checks[i]);
            } else {
                mpixq_op_call(&list[i], MPIXQ_OP_CALL, run_items, next_item(&series, items));
            }
        }
        ops->synchronize(stream, ops->submit(stream, list, n, NULL), NULL);
        expect_done(&series);
        assert_int_equal(mistakes, 0);
        assert_int_equal(atomic_load(&word), value);
    }
    ops->close(stream);
}

static void tickets_pass_in_order(void **state)
{
    struct mpixq_stream *stream = open_own();
    _Atomic uint64_t gate = 0, word = 0;

    (void)state;
    for (uint64_t i = 1; i <= 500; i++) {
        uint64_t before = store(stream, &word, 2 * i), closed = await(stream, &gate, i);
        uint64_t after = store(stream, &word, 2 * i + 1);

        assert_true(before < closed && closed < after);
        ops->synchronize(stream, before, NULL);
        assert_true(ops->passed(stream, before));
        assert_false(ops->passed(stream, closed));
        assert_false(ops->passed(stream, after));
        assert_int_equal(atomic_load(&word), 2 * i);
        atomic_store(&gate, i);
        ops->synchronize(stream, after, NULL);
        assert_true(ops->passed(stream, closed));
        assert_int_equal(atomic_load(&word), 2 * i + 1);
    }
    ops->close(stream);
}

/* A thread that answers: when asked has a value, it gives answered the same. */
struct echo {
    _Atomic uint64_t asked, answered;
    uint64_t last;
};

static void *echo_main(void *arg)
{
    struct echo *echo = arg;

    for (uint64_t i = 1; i <= echo->last; i++) {
        while (atomic_load(&echo->asked) < i) {
            usleep(i % 50 == 0 ? 300 : 1);
        }
        atomic_store(&echo->answered, i);
    }
    return NULL;
}

static void word_may_be_set_by_another_thread(void **state)
{
    struct mpixq_stream *stream = open_own();
    struct echo echo = {.last = 1000};
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, echo_main, &echo), 0);
    for (uint64_t i = 1; i <= echo.last; i++) {
        uint64_t ticket;

        store(stream, &echo.asked, i);
        ticket = await(stream, &echo.answered, i);
        if (i % 3 == 0) {
            ops->synchronize(stream, ticket, NULL);
            assert_int_equal(atomic_load(&echo.answered), i);
        }
    }
    ops->close(stream); /* waits for the stream */
    assert_int_equal(atomic_load(&echo.answered), echo.last);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

struct polled {
    _Atomic uint64_t word;
    int calls;
};

static void poll_words(void *const args[], int n)
{
    for (int i = 0; i < n; i++) {
        struct polled *polled = args[i];

        if (++polled->calls % 100 == 0) {
            atomic_fetch_add(&polled->word, 1);
        }
    }
}

static void wait_polls_until_the_word_is_there(void **state)
{
    struct mpixq_stream *stream = open_own();
    struct polled polled = {.calls = 0};
    struct mpixq_op list[3];

    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        mpixq_op_wait(&list[i], MPIXQ_OP_WAIT, &polled, &polled.word, i, &never);
        list[i].poll = poll_words;
    }
    ops->synchronize(stream, ops->submit(stream, list, 3, NULL), NULL);
    assert_int_equal(polled.calls, 200); /* none for the value that was there */
    ops->close(stream);
}

static void poll_others(void *const args[], int n)
{
    poll_words(args, n);
}

/* Each wait of a submission ends with its own word or failure, whoever it is polled together with:
 * one that is through is polled no more. */
static void waits_of_one_submission_end_each_for_itself(void **state)
{
    enum { N = 100 };
    struct mpixq_stream *stream = open_own();
    static struct polled polled[N];
    static const atomic_int failed = 1;
    struct mpixq_op list[N];

    (void)state;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < N; i++) {
            polled[i] = (struct polled){.calls = 0};
            mpixq_op_wait(&list[i], MPIXQ_OP_WAIT, &polled[i], &polled[i].word,
                          (uint64_t)(i + round) % 4, i % 11 == 0 ? &failed : &never);
            list[i].poll = i % 7 < 3 ? poll_words : poll_others;
        }
        ops->synchronize(stream, ops->submit(stream, list, N, NULL), NULL);
        for (int i = 0; i < N; i++) {
            assert_int_equal(polled[i].calls, i % 11 == 0 ? 0 : (i + round) % 4 * 100);
        }
    }
    ops->close(stream);
}

/* What waits for something that failed goes on, and so does what comes behind it. */
static void failure_ends_a_wait(void **state)
{
    struct mpixq_stream *stream = open_own();
    _Atomic uint64_t word = 0, behind = 0;
    atomic_int failed = 0;
    struct mpixq_op wait;

    (void)state;
    mpixq_op_wait(&wait, MPIXQ_OP_WAIT, NULL, &word, 1, &failed);
    for (uint64_t i = 1; i <= 200; i++) {
        uint64_t ticket, last;

        atomic_store(&failed, 0);
        ticket = ops->submit(stream, &wait, 1, NULL);
        last = store(stream, &behind, i);
        if (i % 2 == 0) {
            usleep(200);
        }
        assert_false(ops->passed(stream, ticket));
        atomic_store(&failed, (int)i);
        ops->synchronize(stream, last, NULL);
        assert_int_equal(atomic_load(&behind), i);
    }
    ops->close(stream);
}

/* More than the ring holds, submitted at once to a stream that sleeps: its thread needs the lock to
 * wake up, while the submitter waits for it to make room. */
static void sleeping_stream_takes_more_than_it_holds(void **state)
{
    enum { N = 3 * DEPTH + 1, ROUNDS = 3000 };
    static struct item items[ROUNDS * N];
    struct mpixq_stream *stream = open_own();
    struct mpixq_op list[N];
    struct series series = {0};

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int n = round % 3 == 0 ? N : DEPTH + 1 + round % DEPTH;

        for (int i = 0; i < n; i++) {
            mpixq_op_call(&list[i], MPIXQ_OP_CALL, run_items, next_item(&series, items));
        }
        /* Long enough to fall asleep, or just about. */
        if (round % 4 != 0) {
            usleep((useconds_t)(round % 4) * 20);
        }
        ops->synchronize(stream, ops->submit(stream, list, n, NULL), NULL);
        expect_done(&series);
    }
    ops->close(stream);
}

/* A thread that fills the ring behind a closed gate, and more. */
static void *overfill(void *arg)
{
    struct submitter *s = arg;

    for (int i = 0; i < 2 * DEPTH; i++) {
        call(s->stream, run_items, next_item(&s->series, s->items));
    }
    return NULL;
}

/* Whoever waits for room keeps nobody else from the stream. */
static void full_stream_can_be_asked(void **state)
{
    static struct submitter s;

    (void)state;
    for (int round = 0; round < 50; round++) {
        struct mpixq_host_stream *host = create();
        _Atomic uint64_t gate = 0, word = 0;
        pthread_t thread;
        struct mpixq_refusal refusal;
        uint64_t before;

        s = (struct submitter){.host = host, .stream = ops->open(kind, host, NULL, &refusal)};
        before = store(s.stream, &word, 1);
        await(s.stream, &gate, 1);
        assert_int_equal(pthread_create(&thread, NULL, overfill, &s), 0);
        usleep((useconds_t)round * 20);
        ops->synchronize(s.stream, before, NULL);
        assert_false(mpixq_host_stream_is_idle(host));
        assert_int_equal(mpixq_host_stream_destroy(host), MPIXQ_E_STREAM_BUSY);
        atomic_store(&gate, 1);
        assert_int_equal(pthread_join(thread, NULL), 0);
        ops->close(s.stream);
        destroy(host);
        expect_done(&s.series);
    }
}

static int looks, there_after;

static bool counts_looks(const struct mpixq_host_stream *stream, uint64_t position)
{
    (void)stream;
    (void)position;
    return ++looks == there_after;
}

/* How many times in a row no look is taken. */
static unsigned count_left_out(struct mpixq_peek *peek)
{
    unsigned n = 0;

    for (looks = 0; looks == 0; n++) {
        assert_false(mpixq_host_stream_peek(peek, NULL, 0, counts_looks));
    }
    return n - 1;
}

/* A look before a sleep that finds nothing leaves out more and more of the next ones; one that
 * finds something, fewer. Where threads share their cores none is taken. */
static void looks_in_vain_are_left_out(void **state)
{
    struct mpixq_peek peek = {0};

    (void)state;
    mpixq_backoff_share(true);
    there_after = 1;
    assert_false(mpixq_host_stream_peek(&peek, NULL, 0, counts_looks));
    assert_int_equal(looks, 0);
    mpixq_backoff_share(false);
    if (mpixq_backoff_yields()) {
        skip();
    }
    there_after = -1;
    assert_int_equal(count_left_out(&peek), 0);
    for (unsigned n = 2; n <= 256; n *= 2) {
        assert_int_equal(count_left_out(&peek), n);
    }
    assert_int_equal(count_left_out(&peek), 256);
    for (int i = 0; i < 256; i++) {
        assert_false(mpixq_host_stream_peek(&peek, NULL, 0, counts_looks));
    }
    looks = 0;
    there_after = 3;
    assert_true(mpixq_host_stream_peek(&peek, NULL, 0, counts_looks));
    assert_int_equal(looks, 3);
    there_after = -1;
    assert_int_equal(count_left_out(&peek), 0);
    assert_int_equal(count_left_out(&peek), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_run_in_order),
        cmocka_unit_test(submitters_share_a_stream),
        cmocka_unit_test(operations_of_all_kinds_keep_one_order),
        cmocka_unit_test(starts_of_one_submission_keep_their_order),
        cmocka_unit_test(tickets_pass_in_order),
        cmocka_unit_test(word_may_be_set_by_another_thread),
        cmocka_unit_test(wait_polls_until_the_word_is_there),
        cmocka_unit_test(waits_of_one_submission_end_each_for_itself),
        cmocka_unit_test(failure_ends_a_wait),
        cmocka_unit_test(sleeping_stream_takes_more_than_it_holds),
        cmocka_unit_test(full_stream_can_be_asked),
        cmocka_unit_test(looks_in_vain_are_left_out),
    };

    mpixq_env_read();
    mpixq_affinity_setup();
    mpixq_backoff_crowd(1);
    mpixq_env.host_stream_depth = DEPTH;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
