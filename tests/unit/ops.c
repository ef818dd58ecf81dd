/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * ops.c - operations of reductions are freed when neither the program nor a request needs them
 */
#include "unit.h"

#include <mpi.h>
#include <string.h>

#include "comm/ops.h"
#include "util/alloc.h"

enum { N = 20 };

/* What MPI was told to free: the linker sends the library's calls here (--wrap). */
static int n_freed[N];
static int n_freed_in_all;

int __wrap_PMPI_Op_free(MPI_Op *op);

/* Operation number i, none of MPI's, which is not asked. */
static MPI_Op made_up(int i)
{
    uintptr_t number = (uintptr_t)(i + 1) * 16;
    MPI_Op op;

    memset(&op, 0, sizeof op);
    memcpy(&op, &number, sizeof op); /* little endian, if handles are ints */
    return op;
}

int __wrap_PMPI_Op_free(MPI_Op *op)
{
    for (int i = 0; i < N; i++) {
        n_freed[i] += *op == made_up(i);
    }
    n_freed_in_all++;
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

static int begin(void **state)
{
    (void)state;
    memset(n_freed, 0, sizeof n_freed);
    n_freed_in_all = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    atomic_store(&mpixq_allocs.fail_in, 0);
    mpixq_ops_close();
    return unit_live_blocks() == 0 ? 0 : -1;
}

static void predefined_ones_cost_nothing(void **state)
{
    const MPI_Op all[] = {MPI_OP_NULL, MPI_MAX,    MPI_MIN,    MPI_SUM,     MPI_PROD,
                          MPI_LAND,    MPI_BAND,   MPI_LOR,    MPI_BOR,     MPI_LXOR,
                          MPI_BXOR,    MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        unsigned long before = atomic_load(&mpixq_allocs.count);

        assert_true(mpixq_op_hold(all[i]));
        assert_int_equal(atomic_load(&mpixq_allocs.count), before);
        assert_false(mpixq_op_free_later(all[i])); /* MPI is to say that it is an error */
        mpixq_op_put(all[i]);
    }
    assert_int_equal(n_freed_in_all, 0);
}

static void one_that_nobody_needs_is_for_mpi(void **state)
{
    (void)state;
    assert_false(mpixq_op_free_later(made_up(0)));
    mpixq_op_put(made_up(0));
    assert_true(mpixq_op_hold(made_up(0)));
    assert_false(mpixq_op_free_later(made_up(1)));
    mpixq_op_put(made_up(0));
    assert_false(mpixq_op_free_later(made_up(0)));
    assert_int_equal(n_freed_in_all, 0);
}

static void freed_when_the_last_request_is_gone(void **state)
{
    (void)state;
    assert_true(mpixq_op_hold(made_up(3)));
    assert_true(mpixq_op_hold(made_up(3)));
    assert_true(mpixq_op_free_later(made_up(3)));
    mpixq_op_put(made_up(3));
    assert_int_equal(n_freed_in_all, 0);
    mpixq_op_put(made_up(3));
    assert_int_equal(n_freed[3], 1);
    assert_int_equal(n_freed_in_all, 1);
    /* MPI may give the handle again, to an operation that nobody has freed. */
    assert_true(mpixq_op_hold(made_up(3)));
    mpixq_op_put(made_up(3));
    assert_int_equal(n_freed_in_all, 1);
    assert_false(mpixq_op_free_later(made_up(3)));
}

static void what_is_left_is_let_go_of(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++) {
        assert_true(mpixq_op_hold(made_up(i)));
        if (i % 2 == 0) {
            assert_true(mpixq_op_free_later(made_up(i)));
        }
    }
    mpixq_ops_close();
    for (int i = 0; i < N; i++) {
        assert_int_equal(n_freed[i], i % 2 == 0);
    }
    assert_int_equal(unit_live_blocks(), 0);
    mpixq_op_put(made_up(0)); /* by a request that is ended later */
    assert_int_equal(n_freed_in_all, N / 2);
}

static void without_memory_it_is_not_held(void **state)
{
    bool is_held = false;

    (void)state;
    for (long n = 1; !is_held; n++) {
        atomic_store(&mpixq_allocs.fail_in, n);
        is_held = mpixq_op_hold(made_up(n % N));
        atomic_store(&mpixq_allocs.fail_in, 0);
        assert_true(is_held || !mpixq_op_free_later(made_up(n % N)));
        assert_true(is_held ? n > 1 : unit_live_blocks() == 0);
    }
}

/* Random holds, puts and frees against a model. */
static void as_a_model(void **state)
{
    uint64_t random = 1;
    int count[N] = {0}, freed[N] = {0};
    bool is_freed[N] = {false};

    (void)state;
    for (int step = 0; step < 5000; step++) {
        int i = unit_pick(&random, N), what = unit_pick(&random, 5);

        if (what < 2 && !is_freed[i]) {
            assert_true(mpixq_op_hold(made_up(i)));
            count[i]++;
        } else if (what < 4 && count[i] > 0) {
            mpixq_op_put(made_up(i));
            if (--count[i] == 0 && is_freed[i]) {
                freed[i]++;
                is_freed[i] = false;
            }
        } else if (what == 4) {
            assert_int_equal(mpixq_op_free_later(made_up(i)), count[i] > 0);
            is_freed[i] = count[i] > 0;
        }
        assert_int_equal(n_freed[i], freed[i]);
    }
    assert_true(n_freed_in_all > N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(predefined_ones_cost_nothing, begin, end),
        cmocka_unit_test_setup_teardown(one_that_nobody_needs_is_for_mpi, begin, end),
        cmocka_unit_test_setup_teardown(freed_when_the_last_request_is_gone, begin, end),
        cmocka_unit_test_setup_teardown(what_is_left_is_let_go_of, begin, end),
        cmocka_unit_test_setup_teardown(without_memory_it_is_not_held, begin, end),
        cmocka_unit_test_setup_teardown(as_a_model, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
