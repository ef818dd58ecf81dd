/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * request.c - request records and the table that finds them (a singleton: one process without a
 * launcher). The handles here are made up: the library only compares them.
 */
#include "request.h"

#include <pthread.h>

static void capture_keeps_what_it_was_given(void **test_state)
{
    struct mpixq_request *req;
    char text[64];

    (void)test_state;
    capture_as(7, MPIXQ_MODE_BSEND, MPI_DOUBLE);
    req = mpixq_request_find(made_up(7));
    assert_non_null(req);
    assert_int_equal(req->pair.message.mode, MPIXQ_MODE_BSEND);
    assert_int_equal(req->pair.message.count, 7);
    assert_int_equal(req->peer, 3);
    assert_int_equal(req->tag, 7);
    assert_true(req->pair.message.type == MPI_DOUBLE && !req->holds_type);
    assert_true(mpixq_request_comm(req) == MPI_COMM_WORLD);
    assert_true(mpixq_request_is_send(req));
    assert_int_equal(mpixq_request_state(req), MPIXQ_UNMATCHED);
    assert_int_equal(atomic_load(&mpixq_requests.buffered), 1);
    assert_string_equal(mpixq_pair_describe(&req->pair, text, sizeof text),
                        "buffered send to 3 tag 7");
    assert_true(drop(7));
    assert_int_equal(atomic_load(&mpixq_requests.buffered), 0);
    capture_as(7, MPIXQ_MODE_RECV, MPI_INT);
    assert_false(mpixq_request_is_send(mpixq_request_find(made_up(7))));
    assert_true(drop(7));
}

static void unknown_handles_are_unknown(void **test_state)
{
    struct mpixq_request *req = capture(1), *other = req;

    (void)test_state;
    assert_null(mpixq_request_find(made_up(2)));
    assert_false(mpixq_request_drop(made_up(2), &other));
    assert_null(other);
    assert_true(drop(1));
    assert_null(mpixq_request_find(made_up(1)));
    assert_false(drop(1));
}

/* A program that frees MPI_REQUEST_NULL gets an error of MPI; the table has none of it. */
static void null_handle_is_no_record(void **test_state)
{
    struct mpixq_request *req;

    (void)test_state;
    for (int i = 0; i < 3; i++) {
        req = capture(i);
        assert_null(mpixq_request_find(MPI_REQUEST_NULL));
        assert_false(mpixq_request_drop(MPI_REQUEST_NULL, &req));
        assert_null(req);
        mpixq_request_rename(MPI_REQUEST_NULL, made_up(90));
        assert_null(mpixq_request_find(made_up(90)));
        assert_int_equal(table_size(), i + 1);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(drop(i));
    }
}

static void matched_record_is_not_dropped(void **test_state)
{
    struct mpixq_request *req = capture(4), *found = NULL;

    (void)test_state;
    bring_to_matched(req);
    assert_false(mpixq_request_drop(made_up(4), &found));
    assert_ptr_equal(found, req);
    assert_ptr_equal(mpixq_request_find(made_up(4)), req);
    mpixq_request_forget(req);
    assert_null(mpixq_request_find(made_up(4)));
    assert_true(req->handle == MPI_REQUEST_NULL);
    mpixq_request_forget(req); /* once more changes nothing */
    mpixq_request_destroy(req);
}

static void same_handle_again_replaces_the_record(void **test_state)
{
    struct mpixq_request *matched;

    (void)test_state;
    capture_as(5, MPIXQ_MODE_BSEND, MPI_INT);
    capture_as(5, MPIXQ_MODE_RECV, MPI_INT);
    assert_int_equal(table_size(), 1);
    assert_int_equal(atomic_load(&mpixq_requests.buffered), 0);
    matched = mpixq_request_find(made_up(5));
    assert_int_equal(matched->pair.message.mode, MPIXQ_MODE_RECV);
    /* One that is matched lives on without a handle. */
    bring_to_matched(matched);
    capture_as(5, MPIXQ_MODE_SSEND, MPI_INT);
    assert_int_equal(table_size(), 1);
    assert_ptr_not_equal(mpixq_request_find(made_up(5)), matched);
    assert_int_equal(mpixq_request_state(matched), MPIXQ_MATCHED);
    assert_true(matched->handle == MPI_REQUEST_NULL);
    end(matched);
    assert_int_equal(mpixq_request_find(made_up(5))->pair.message.mode, MPIXQ_MODE_SSEND);
    assert_true(drop(5));
}

/* Who waits for or tests a request tells by that alone that it is MPI's. */
static void handles_are_noted_while_matched(void **test_state)
{
    struct mpixq_request *req = capture(1), *old;

    (void)test_state;
    assert_false(mpixq_is_noted(made_up(1)));
    assert_true(mpixq_request_step(req, MPIXQ_MATCH_BEGIN));
    assert_true(mpixq_is_noted(made_up(1)));
    assert_true(mpixq_request_step(req, MPIXQ_MATCH_FAIL));
    assert_false(mpixq_is_noted(made_up(1)));
    bring_to_matched(req);
    assert_true(mpixq_is_noted(made_up(1)));
    assert_int_equal(noted(), 1);
    assert_true(mpixq_request_step(req, MPIXQ_HOST_START));
    assert_true(mpixq_request_step(req, MPIXQ_FAIL));
    assert_true(mpixq_is_noted(made_up(1)));
    mpixq_request_forget(req);
    assert_false(mpixq_is_noted(made_up(1)));
    mpixq_request_destroy(req);
    /* Freed past the library: the handle is another request's now. */
    old = capture(2);
    bring_to_matched(old);
    req = capture(2);
    assert_false(mpixq_is_noted(made_up(2)));
    bring_to_matched(req);
    mpixq_request_forget(old);
    mpixq_request_destroy(old);
    assert_true(mpixq_is_noted(made_up(2)));
    end(req);
}

static void one_of_two_in_a_cell_stays_noted(void **test_state)
{
    struct mpixq_request *first = capture(1), *second;
    int other = 2;

    (void)test_state;
    while (mpixq_noted_cell(made_up(other)) != mpixq_noted_cell(made_up(1))) {
        other++;
    }
    second = capture(other);
    bring_to_matched(first);
    bring_to_matched(second);
    assert_int_equal(noted(), 2);
    end(first);
    assert_true(mpixq_is_noted(made_up(other)));
    end(second);
    assert_false(mpixq_is_noted(made_up(other)));
}

/* MPI numbers its handles, or they are addresses of objects that lie side by side: none of these
 * share cells more often than if they were random, which is 471 times. */
static void handles_spread_over_the_cells(void **test_state)
{
    enum { HANDLES = (1 << MPIXQ_NOTED_BITS) / 4 };
    static const uintptr_t strides[] = {1, 16, 64, 192, 320, 448, 512, 576, 864, 896, 1024, 2048};

    (void)test_state;
    for (size_t s = 0; s < sizeof strides / sizeof strides[0]; s++) {
        unsigned char of_cell[1 << MPIXQ_NOTED_BITS] = {0};
        int shared = 0;

        for (uintptr_t i = 0; i < HANDLES; i++) {
            uintptr_t number = 0x2c000000 + i * strides[s];
            MPI_Request handle;

            memset(&handle, 0, sizeof handle);
            memcpy(&handle, &number, sizeof handle);
            shared += of_cell[mpixq_noted_cell(handle)]++ > 0;
        }
        assert_in_range(shared, 0, 600);
    }
}

static void renamed_record_has_the_new_handle_only(void **test_state)
{
    struct mpixq_request *req = capture(1);

    (void)test_state;
    mpixq_request_rename(made_up(1), made_up(2));
    assert_null(mpixq_request_find(made_up(1)));
    assert_ptr_equal(mpixq_request_find(made_up(2)), req);
    mpixq_request_rename(made_up(1), made_up(3));
    assert_null(mpixq_request_find(made_up(3)));
    mpixq_request_rename(made_up(2), made_up(2));
    assert_ptr_equal(mpixq_request_find(made_up(2)), req);
    assert_int_equal(table_size(), 1);
    assert_true(drop(2));
}

/* MPI gives a handle again that was freed past the library: the old record must not stay. */
static void renamed_record_replaces_one_of_the_same_handle(void **test_state)
{
    struct mpixq_request *req = capture(1);

    (void)test_state;
    capture_as(2, MPIXQ_MODE_BSEND, MPI_INT);
    mpixq_request_rename(made_up(1), made_up(2));
    assert_ptr_equal(mpixq_request_find(made_up(2)), req);
    assert_int_equal(table_size(), 1);
    assert_int_equal(atomic_load(&mpixq_requests.buffered), 0);
    assert_true(drop(2));
    assert_null(mpixq_request_find(made_up(2)));
}

/* Random use against an array with a place per handle. */
static void table_follows_a_model(void **test_state)
{
    enum { HANDLES = 500 };
    int tags[HANDLES]; /* of the record with this handle, or -1 */
    uint64_t random = 5;

    (void)test_state;
    for (int i = 0; i < HANDLES; i++) {
        tags[i] = -1;
    }
    for (int step = 0; step < 100000; step++) {
        int i = unit_pick(&random, HANDLES), to = unit_pick(&random, HANDLES);
        struct mpixq_request *req = mpixq_request_find(made_up(i));

        assert_int_equal(req != NULL ? req->tag : -1, tags[i]);
        switch (unit_pick(&random, 3)) {
        case 0:
            capture(i);
            tags[i] = i;
            break;
        case 1:
            assert_int_equal(drop(i), tags[i] >= 0);
            tags[i] = -1;
            break;
        default:
            mpixq_request_rename(made_up(i), made_up(to));
            if (tags[i] >= 0 && to != i) {
                tags[to] = tags[i];
                tags[i] = -1;
            }
        }
    }
    for (int i = 0; i < HANDLES; i++) {
        assert_int_equal(drop(i), tags[i] >= 0);
    }
}

/* A record that is used again is as good as a new one. */
static void used_record_comes_back_clean(void **test_state)
{
    static const struct mpixq_request none;

    (void)test_state;
    for (int i = 0; i < 1000; i++) {
        struct mpixq_request *req = capture(i);

        assert_int_equal(req->pair.id, none.pair.id);
        assert_int_equal(req->pair.started, none.pair.started);
        assert_null(req->pair.channel);
        assert_null(req->next_member);
        assert_false(req->released);
        assert_int_equal(atomic_load(&req->pair.done), 0);
        assert_false(atomic_load(&req->pair.failed));
        if (i % 2 == 0) {
            bring_to_matched(req);
            req->pair.id = req->pair.peer_id = 17;
            req->pair.started = 17;
            mpixq_request_release(req);
            req->next_member = req;
            atomic_store(&req->pair.done, 17);
            atomic_store(&req->pair.failed, true);
        }
        end(req);
    }
}

enum { THREADS = 4 };

struct user {
    int first;
    int mistakes;
};

/* Each thread has handles of its own, as threads of a program have. */
static void *use_table(void *arg)
{
    enum { HANDLES = 400, OTHER = 10000 };
    struct user *user = arg;

    for (int round = 0; round < 40; round++) {
        for (int i = user->first; i < user->first + HANDLES; i++) {
            capture_as(i, i % 2 == 0 ? MPIXQ_MODE_BSEND : MPIXQ_MODE_RECV, MPI_INT);
        }
        for (int i = user->first; i < user->first + HANDLES; i++) {
            struct mpixq_request *req = mpixq_request_find(made_up(i));

            user->mistakes += req == NULL || req->tag != i;
            mpixq_request_rename(made_up(i), made_up(i + OTHER));
            user->mistakes += mpixq_request_find(made_up(i)) != NULL;
            user->mistakes += mpixq_request_find(made_up(i + OTHER)) != req;
            if (i % 3 == 0) {
                bring_to_matched(req);
                user->mistakes += !mpixq_is_noted(made_up(i + OTHER));
                end(req);
            } else {
                user->mistakes += !drop(i + OTHER);
            }
        }
    }
    return NULL;
}

static void threads_share_the_table(void **test_state)
{
    struct user users[THREADS];
    pthread_t threads[THREADS];

    (void)test_state;
    for (int t = 0; t < THREADS; t++) {
        users[t] = (struct user){.first = t * 1000};
        assert_int_equal(pthread_create(&threads[t], NULL, use_table, &users[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(users[t].mistakes, 0);
    }
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(capture_keeps_what_it_was_given, all_is_gone),
        cmocka_unit_test_teardown(unknown_handles_are_unknown, all_is_gone),
        cmocka_unit_test_teardown(null_handle_is_no_record, all_is_gone),
        cmocka_unit_test_teardown(matched_record_is_not_dropped, all_is_gone),
        cmocka_unit_test_teardown(same_handle_again_replaces_the_record, all_is_gone),
        cmocka_unit_test_teardown(handles_are_noted_while_matched, all_is_gone),
        cmocka_unit_test_teardown(one_of_two_in_a_cell_stays_noted, all_is_gone),
        cmocka_unit_test_teardown(handles_spread_over_the_cells, all_is_gone),
        cmocka_unit_test_teardown(renamed_record_has_the_new_handle_only, all_is_gone),
        cmocka_unit_test_teardown(renamed_record_replaces_one_of_the_same_handle, all_is_gone),
        cmocka_unit_test_teardown(table_follows_a_model, all_is_gone),
        cmocka_unit_test_teardown(used_record_comes_back_clean, all_is_gone),
        cmocka_unit_test_teardown(threads_share_the_table, all_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return run_with_mpi(&argc, &argv, run_all);
}
