/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * host_array.c - memory of calls on many requests that the host starts: none is allocated for few
 * elements, and without it for many the call fails and has changed nothing; and what is polled
 */
#include "unit.h"

#include "mpix_queue.h"

#include "util/alloc.h"
#include "core/channel.h"
#include "comm/error.h"
#include "core/request.h"
#include "request.h"

enum { PAIRS = 100, N = 2 * PAIRS, FEW = 8 };

/* The last pair is not matched. */
static int in[PAIRS], out[PAIRS];
static MPI_Request r[N];

static void expect_states(enum mpixq_state state)
{
    for (int i = 0; i < N - 2; i++) {
        assert_int_equal(mpixq_request_state(mpixq_request_find(r[i])), state);
    }
}

static void expect_data(int round)
{
    for (int i = 0; i < PAIRS; i++) {
        assert_int_equal(in[i], round + i);
        in[i] = -1;
        out[i] = round + 1 + i;
    }
}

/* The n-th allocation fails. */
static void expect_no_memory(int rc)
{
    assert_int_equal(mpixq_error_kind(rc), MPIXQ_ERR_RESOURCES);
    atomic_store(&mpixq_allocs.fail_in, 0);
}

static void fail_in(long nth)
{
    atomic_store(&mpixq_allocs.fail_in, nth);
}

static void many_without_memory(void **state)
{
    MPI_Status s[N];
    int indices[N], n, flag, index;

    (void)state;
    for (long nth = 1; nth <= 2; nth++) {
        fail_in(nth);
        expect_no_memory(MPI_Startall(N, r));
        expect_states(MPIXQ_MATCHED);
    }
    assert_int_equal(MPI_Startall(N, r), MPI_SUCCESS);
    for (long nth = 1; nth <= 2; nth++) {
        fail_in(nth);
        expect_no_memory(MPI_Waitall(N, r, s));
        fail_in(nth);
        expect_no_memory(MPI_Testall(N, r, &flag, s));
        fail_in(nth);
        expect_no_memory(MPI_Waitany(N, r, &index, s));
        fail_in(nth);
        expect_no_memory(MPI_Testany(N, r, &index, &flag, s));
        fail_in(nth);
        expect_no_memory(MPI_Waitsome(N, r, &n, indices, s));
        fail_in(nth);
        expect_no_memory(MPI_Testsome(N, r, &n, indices, s));
        expect_states(MPIXQ_HOST_STARTED);
    }
    assert_int_equal(MPI_Waitall(N, r, s), MPI_SUCCESS);
    expect_states(MPIXQ_MATCHED);
    expect_data(0);
}

static void few_allocate_nothing(void **state)
{
    MPI_Status s[N];
    int indices[FEW], n = 0, index;
    unsigned long before;

    (void)state;
    /* The last of them are MPI's. */
    assert_int_equal(MPI_Startall(N, r), MPI_SUCCESS);
    assert_int_equal(MPI_Waitall(N, r, s), MPI_SUCCESS);
    expect_data(1);
    before = atomic_load(&mpixq_allocs.count);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(MPI_Startall(FEW, r + N - FEW), MPI_SUCCESS);
        assert_int_equal(MPI_Waitall(FEW, r + N - FEW, s), MPI_SUCCESS);
        assert_int_equal(MPI_Startall(FEW, r + N - FEW), MPI_SUCCESS);
        for (int left = FEW; left > 0; left -= n) {
            assert_int_equal(MPI_Waitsome(FEW, r + N - FEW, &n, indices, s), MPI_SUCCESS);
        }
        assert_int_equal(MPI_Start(&r[0]), MPI_SUCCESS);
        assert_int_equal(MPI_Start(&r[1]), MPI_SUCCESS);
        assert_int_equal(MPI_Waitany(2, r, &index, s), MPI_SUCCESS);
        assert_int_equal(MPI_Wait(&r[1 - index], s), MPI_SUCCESS);
    }
    assert_int_equal(atomic_load(&mpixq_allocs.count), before);
}

/* Counts what is polled of the channel that serves these requests. */
static struct mpixq_channel counting;
static const struct mpixq_channel *counted;
static int polls;

static bool count_poll(struct mpixq_pair *pair)
{
    polls++;
    return counted->poll(pair);
}

static void count_poll_many(struct mpixq_pair *const pairs[], int n, bool done[])
{
    for (int i = 0; i < n; i++) {
        done[i] = count_poll(pairs[i]);
    }
}

static void count_in(MPI_Request request)
{
    struct mpixq_request *req = mpixq_request_find(request);

    counted = req->pair.channel;
    counting = *counted;
    counting.poll = count_poll;
    counting.poll_many = count_poll_many;
    req->pair.channel = &counting;
}

static void stop_counting(void)
{
    for (int i = 0; i < N - 2; i++) {
        mpixq_request_find(r[i])->pair.channel = counted;
    }
}

/* Of many that are done a call for any polls no more than it needs to find one. */
static void any_polls_few(void **state)
{
    int seen[N] = {0}, index, flag;
    MPI_Status s[N];

    (void)state;
    for (int i = 0; i < N - 2; i++) {
        count_in(r[i]);
    }
    for (int tests = 0; tests <= 1; tests++) {
        assert_int_equal(MPI_Startall(N, r), MPI_SUCCESS);
        polls = 0;
        for (int i = 0; i < N; i++) {
            if (tests) {
                assert_int_equal(MPI_Testany(N, r, &index, &flag, s), MPI_SUCCESS);
                assert_true(flag);
            } else {
                assert_int_equal(MPI_Waitany(N, r, &index, s), MPI_SUCCESS);
            }
            assert_int_equal(seen[index]++, tests);
        }
        assert_int_equal(polls, N - 2);
        expect_data(2 + tests);
    }
    stop_counting();
    expect_states(MPIXQ_MATCHED);
}

static int make(void **state)
{
    (void)state;
    (void)MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < PAIRS; i++) {
        in[i] = -1;
        out[i] = i;
        (void)MPI_Recv_init(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[2 * i]);
        (void)MPI_Send_init(&out[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[2 * i + 1]);
    }
    return MPIXQ_Matchall(N - 2, r) == MPI_SUCCESS ? 0 : -1;
}

static int release(void **state)
{
    for (int i = 0; i < N; i++) {
        (void)MPI_Request_free(&r[i]);
    }
    return all_is_gone(state);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_without_memory),
        cmocka_unit_test(few_allocate_nothing),
        cmocka_unit_test(any_polls_few),
    };

    return cmocka_run_group_tests(tests, make, release);
}

int main(int argc, char **argv)
{
    return run_with_mpi(&argc, &argv, run);
}
