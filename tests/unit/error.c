/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * error.c - error codes as MPI sees them (a singleton: one process without a launcher)
 */
#include "unit.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "comm/error.h"
#include "mpix_queue.h"

enum { THREADS = 4 };

/* The kind of each error, from the public header's words on it rather than from the table. */
static const struct {
    enum mpixq_error error;
    int kind;
} some_kinds[] = {
    {MPIXQ_E_INTERPOSE, MPIXQ_ERR_INTERPOSE}, {MPIXQ_E_INIT_UNSEEN, MPIXQ_ERR_INTERPOSE},
    {MPIXQ_E_ARG_QUEUE, MPIXQ_ERR_ARG},       {MPIXQ_E_ARG_COUNT, MPIXQ_ERR_ARG},
    {MPIXQ_E_ARG_FN, MPIXQ_ERR_ARG},          {MPIXQ_E_UNKNOWN_REQUEST, MPIXQ_ERR_REQUEST},
    {MPIXQ_E_INSIDE, MPIXQ_ERR_STATE},        {MPIXQ_E_UNMATCHED, MPIXQ_ERR_STATE},
    {MPIXQ_E_TWICE, MPIXQ_ERR_STATE},         {MPIXQ_E_QUEUE_BUSY, MPIXQ_ERR_STATE},
    {MPIXQ_E_STREAM_BUSY, MPIXQ_ERR_STATE},   {MPIXQ_E_VIEW, MPIXQ_ERR_MATCH},
    {MPIXQ_E_NO_IDENTITY, MPIXQ_ERR_MATCH},   {MPIXQ_E_FOREIGN_PEER, MPIXQ_ERR_MATCH},
    {MPIXQ_E_PROTOCOL, MPIXQ_ERR_MATCH},      {MPIXQ_E_CXI, MPIXQ_ERR_UNSUPPORTED},
    {MPIXQ_E_HOST_ACTIVE, MPIXQ_ERR_STATE},   {MPIXQ_E_HOST_AGAIN, MPIXQ_ERR_STATE},
    {MPIXQ_E_NO_TAG, MPIXQ_ERR_RESOURCES},    {MPIXQ_E_NO_MEMORY, MPIXQ_ERR_RESOURCES},
    {MPIXQ_E_NO_THREAD, MPIXQ_ERR_RESOURCES}, {MPIXQ_E_THREAD_LEVEL, MPIXQ_ERR_THREAD_LEVEL},
    {MPIXQ_E_REQUEST_FAILED, MPIXQ_ERR_COMM}, {MPIXQ_E_PEER_FAILED, MPIXQ_ERR_COMM},
    {MPIXQ_E_PEER_FREED, MPIXQ_ERR_COMM},     {MPIXQ_E_WAIT_TIMEOUT, MPIXQ_ERR_TIMEOUT},
};

/* What a thread that asks first sees. */
struct asked {
    pthread_barrier_t *together;
    int first;
    int codes[MPIXQ_E_COUNT], kinds[MPIXQ_E_COUNT];
    int foreign;
};

static void *ask(void *arg)
{
    struct asked *asked = arg;

    pthread_barrier_wait(asked->together);
    /* A code of others, while the codes are being made. */
    asked->foreign = mpixq_error_kind(MPI_ERR_COMM);
    for (int i = 0; i < MPIXQ_E_COUNT; i++) {
        int e = (asked->first + i) % MPIXQ_E_COUNT;

        asked->codes[e] = mpixq_error_code((enum mpixq_error)e);
        asked->kinds[e] = mpixq_error_kind(asked->codes[e]);
    }
    return NULL;
}

static void threads_may_ask_first_together(void **state)
{
    static struct asked asked[THREADS];
    pthread_barrier_t together;
    pthread_t threads[THREADS];

    (void)state;
    pthread_barrier_init(&together, NULL, THREADS);
    for (int t = 0; t < THREADS; t++) {
        asked[t] = (struct asked){.together = &together, .first = t * 11};
        assert_int_equal(pthread_create(&threads[t], NULL, ask, &asked[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(asked[t].foreign, MPIXQ_ERR_NONE);
        assert_memory_equal(asked[t].codes, asked[0].codes, sizeof asked[0].codes);
        assert_memory_equal(asked[t].kinds, asked[0].kinds, sizeof asked[0].kinds);
    }
    pthread_barrier_destroy(&together);
}

static int class_of(int code)
{
    int class = -1;

    assert_int_equal(MPI_Error_class(code, &class), MPI_SUCCESS);
    return class;
}

static void none_is_success_and_truncate_is_mpi_s(void **state)
{
    (void)state;
    assert_int_equal(mpixq_error_code(MPIXQ_E_NONE), MPI_SUCCESS);
    assert_int_equal(mpixq_error_code(MPIXQ_E_TRUNCATE), MPI_ERR_TRUNCATE);
}

static void codes_are_distinct(void **state)
{
    (void)state;
    for (int a = 1; a < MPIXQ_E_COUNT; a++) {
        int code = mpixq_error_code((enum mpixq_error)a);

        assert_true(a == MPIXQ_E_TRUNCATE || code > MPI_ERR_LASTCODE);
        for (int b = 1; b < a; b++) {
            assert_int_not_equal(code, mpixq_error_code((enum mpixq_error)b));
        }
    }
}

static void kinds_are_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof some_kinds / sizeof some_kinds[0]; i++) {
        int kind = -1, code = mpixq_error_code(some_kinds[i].error);

        assert_int_equal(mpixq_error_kind(code), some_kinds[i].kind);
        assert_int_equal(MPIXQ_Error_kind(code, &kind), MPI_SUCCESS);
        assert_int_equal(kind, some_kinds[i].kind);
    }
}

/* Two errors are of one kind just when MPI has them in one class, and a class has a text. */
static void kinds_are_classes(void **state)
{
    int classes[MPIXQ_ERR_TIMEOUT + 1] = {0};
    char text[MPI_MAX_ERROR_STRING];
    int length;

    (void)state;
    for (int e = 1; e < MPIXQ_E_COUNT; e++) {
        int code = mpixq_error_code((enum mpixq_error)e), kind = mpixq_error_kind(code);

        if (e == MPIXQ_E_TRUNCATE) {
            continue;
        }
        assert_in_range(kind, MPIXQ_ERR_INTERPOSE, MPIXQ_ERR_TIMEOUT);
        if (classes[kind] == 0) {
            classes[kind] = class_of(code);
        }
        assert_int_equal(class_of(code), classes[kind]);
    }
    for (int k = MPIXQ_ERR_INTERPOSE; k <= MPIXQ_ERR_TIMEOUT; k++) {
        assert_true(classes[k] > MPI_ERR_LASTCODE);
        for (int other = MPIXQ_ERR_INTERPOSE; other < k; other++) {
            assert_int_not_equal(classes[k], classes[other]);
        }
        assert_int_equal(MPI_Error_string(classes[k], text, &length), MPI_SUCCESS);
        assert_int_equal(strncmp(text, "mpix_queue: ", 12), 0);
    }
}

static void foreign_codes_have_no_kind(void **state)
{
    int class, code;

    (void)state;
    assert_int_equal(mpixq_error_kind(MPI_SUCCESS), MPIXQ_ERR_NONE);
    for (int known = 1; known <= MPI_ERR_LASTCODE && known < 10000; known++) {
        assert_int_equal(mpixq_error_kind(known), MPIXQ_ERR_NONE);
    }
    assert_int_equal(mpixq_error_kind(MPI_ERR_LASTCODE), MPIXQ_ERR_NONE);
    assert_int_equal(mpixq_error_kind(-1), MPIXQ_ERR_NONE);
    assert_int_equal(mpixq_error_kind(INT32_MAX), MPIXQ_ERR_NONE);
    assert_int_equal(MPI_Add_error_class(&class), MPI_SUCCESS);
    assert_int_equal(MPI_Add_error_code(class, &code), MPI_SUCCESS);
    assert_int_equal(mpixq_error_kind(class), MPIXQ_ERR_NONE);
    assert_int_equal(mpixq_error_kind(code), MPIXQ_ERR_NONE);
}

static void texts_are_those_of_mpi(void **state)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    (void)state;
    for (int e = 1; e < MPIXQ_E_COUNT; e++) {
        const char *own = mpixq_error_text((enum mpixq_error)e);

        assert_true(strlen(own) > 0 && strlen(own) < MPI_MAX_ERROR_STRING);
        if (e != MPIXQ_E_TRUNCATE) {
            assert_int_equal(MPI_Error_string(mpixq_error_code((enum mpixq_error)e), text, &length),
                             MPI_SUCCESS);
            assert_string_equal(text, own);
            assert_int_equal(length, strlen(own));
        }
    }
    assert_string_equal(mpixq_error_text(MPIXQ_E_NONE), "no error");
    assert_string_equal(mpixq_error_text(MPIXQ_E_COUNT), "no error");
}

static void assert_says(int code, const char *expected)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    assert_int_equal(MPI_Error_string(code, text, &length), MPI_SUCCESS);
    assert_string_equal(text, expected);
}

/* A code can say what happened. It keeps that while seven others of its kind are made, and the
 * codes that name errors keep theirs for good. */
static void code_may_say_more(void **state)
{
    enum { KEPT = 8 };
    int plain = mpixq_error_code(MPIXQ_E_COMMUNICATION), codes[KEPT];
    int first = mpixq_error_code_saying(MPIXQ_E_COMMUNICATION, "happened 0");
    char longest[256], text[32];

    (void)state;
    assert_int_equal(class_of(first), class_of(plain));
    assert_int_equal(mpixq_error_kind(first), MPIXQ_ERR_COMM);
    assert_int_equal(mpixq_error_of(first), MPIXQ_E_NONE);
    assert_int_equal(mpixq_error_of(plain), MPIXQ_E_COMMUNICATION);
    for (int i = 0; i < KEPT; i++) {
        snprintf(text, sizeof text, "happened %d", i);
        codes[i] = mpixq_error_code_saying(MPIXQ_E_PEER_GONE, text);
    }
    assert_int_equal(codes[0], first); /* the same again is no other error */
    for (int i = 0; i < KEPT; i++) {
        snprintf(text, sizeof text, "happened %d", i);
        assert_says(codes[i], text);
    }
    /* One of another kind takes nobody's place. */
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_says(mpixq_error_code_saying(MPIXQ_E_TWICE, longest), longest);
    assert_says(codes[0], "happened 0");
    assert_int_equal(mpixq_error_code_saying(MPIXQ_E_FABRIC, "happened 8"), codes[0]);
    assert_says(codes[0], "happened 8");
    assert_says(codes[1], "happened 1");
    assert_says(plain, mpixq_error_text(MPIXQ_E_COMMUNICATION));
    assert_int_equal(mpixq_error_code_saying(MPIXQ_E_NONE, "this happened"), MPI_SUCCESS);
}

/* A cause is told by each call with that call's name, and with the request named once. */
static void a_cause_is_told_by_calls(void **state)
{
    int cause = mpixq_error_cause(MPIXQ_E_FABRIC, "send to 1", "no route");
    int plain = mpixq_error_cause(MPIXQ_E_GPU, NULL, "it is gone"), told;
    char text[32];

    (void)state;
    assert_says(cause, "send to 1: no route");
    assert_int_equal(mpixq_error_kind(cause), MPIXQ_ERR_COMM);
    assert_int_equal(mpixq_error_of(cause), MPIXQ_E_NONE);
    told = mpixq_error_code_at(cause, "Wait", false);
    assert_says(told, "Wait: send to 1: no route");
    assert_int_equal(mpixq_error_kind(told), MPIXQ_ERR_COMM);
    assert_says(mpixq_error_code_at(cause, "Wait: request (send to 1)", true),
                "Wait: request (send to 1): no route");
    assert_says(mpixq_error_code_at(plain, "Wait", true), "Wait: it is gone");
    /* What is told is no cause, and takes no cause's place. */
    assert_int_equal(mpixq_error_code_at(told, "Test", false), told);
    for (int i = 0; i < 20; i++) {
        snprintf(text, sizeof text, "Call %d", i);
        (void)mpixq_error_code_at(cause, text, false);
    }
    assert_says(cause, "send to 1: no route");
    assert_int_equal(mpixq_error_cause(MPIXQ_E_NONE, "a", "b"), MPI_SUCCESS);
}

/* MPI's own errors stay in their class, with the call where MPI lets them have it. */
static void an_error_of_mpi_stays_in_its_class(void **state)
{
    int code = mpixq_error_code_at(MPI_ERR_BUFFER, "Start: request", true), length;
    char text[MPI_MAX_ERROR_STRING];

    (void)state;
    assert_int_equal(class_of(code), MPI_ERR_BUFFER);
    if (code != MPI_ERR_BUFFER) {
        assert_int_equal(MPI_Error_string(code, text, &length), MPI_SUCCESS);
        assert_memory_equal(text, "Start: request: ", strlen("Start: request: "));
    }
    assert_int_equal(mpixq_error_code_at(MPI_ERR_BUFFER, "Start", false), MPI_ERR_BUFFER);
    assert_int_equal(mpixq_error_code_at(mpixq_error_code(MPIXQ_E_TWICE), "Start", true),
                     mpixq_error_code(MPIXQ_E_TWICE));
}

static void what_is_too_long_is_cut(void **state)
{
    char text[400], said[MPI_MAX_ERROR_STRING];
    int length;

    (void)state;
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(MPI_Error_string(mpixq_error_code_saying(MPIXQ_E_VIEW, text), said, &length),
                     MPI_SUCCESS);
    assert_int_equal(length, MPIXQ_ERROR_ROOM - 1);
    assert_string_equal(said + length - 4, "y...");
}

/* In the class of MPI, where MPI lets a code there have a text; else MPI's own code. */
static void truncate_stays_in_its_class(void **state)
{
    int code = mpixq_error_code_saying(MPIXQ_E_TRUNCATE, "16 bytes and 64");

    (void)state;
    assert_int_equal(class_of(code), MPI_ERR_TRUNCATE);
    if (code != MPI_ERR_TRUNCATE) {
        assert_says(code, "16 bytes and 64");
    }
    assert_int_equal(mpixq_error_code_saying(MPIXQ_E_TRUNCATE, "16 bytes and 64"), code);
}

/* The handler's calls. */
static MPI_Comm handled_comm;
static int handled_code, n_handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    handled_comm = *comm;
    handled_code = *code;
    n_handled++;
}

static void raise_invokes_one_handler_once(void **state)
{
    int code = mpixq_error_code(MPIXQ_E_TWICE);
    MPI_Errhandler errhandler;
    MPI_Comm other;

    (void)state;
    assert_int_equal(MPI_Comm_create_errhandler(handler, &errhandler), MPI_SUCCESS);
    assert_int_equal(MPI_Comm_dup(MPI_COMM_WORLD, &other), MPI_SUCCESS);
    MPI_Comm_set_errhandler(other, errhandler);
    assert_int_equal(mpixq_error_raise(other, MPI_SUCCESS), MPI_SUCCESS);
    assert_int_equal(n_handled, 0);
    assert_int_equal(mpixq_error_raise(other, code), code);
    assert_int_equal(n_handled, 1);
    assert_int_equal(handled_code, code);
    assert_true(handled_comm == other);
    MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    assert_int_equal(mpixq_error_raise(MPI_COMM_NULL, code), code);
    assert_int_equal(n_handled, 2);
    assert_true(handled_comm == MPI_COMM_WORLD);
    assert_int_equal(mpixq_error_raise(other, code), code);
    assert_int_equal(n_handled, 2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&errhandler);
    MPI_Comm_free(&other);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_may_ask_first_together), /* must be the first */
        cmocka_unit_test(none_is_success_and_truncate_is_mpi_s),
        cmocka_unit_test(codes_are_distinct),
        cmocka_unit_test(kinds_are_right),
        cmocka_unit_test(kinds_are_classes),
        cmocka_unit_test(foreign_codes_have_no_kind),
        cmocka_unit_test(texts_are_those_of_mpi),
        cmocka_unit_test(code_may_say_more),
        cmocka_unit_test(a_cause_is_told_by_calls),
        cmocka_unit_test(an_error_of_mpi_stays_in_its_class),
        cmocka_unit_test(what_is_too_long_is_cut),
        cmocka_unit_test(truncate_stays_in_its_class),
        cmocka_unit_test(raise_invokes_one_handler_once),
    };
    int provided, rc;

    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
        return 99;
    }
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return rc;
}
