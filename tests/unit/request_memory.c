/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * request_memory.c - what request records hold on to, and what becomes of them without memory
 */
#include "request.h"

#include "comm/contents.h"

/* Types that the library has made and not freed: the linker sends its calls here (--wrap), and not
 * those of this file, which go by the other names. */
static int types_held;
static bool fail_types, fail_envelopes;

int __real_PMPI_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype *type);
int __wrap_PMPI_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype *type);
int __real_mpixq_type_envelope(MPI_Datatype type, struct mpixq_envelope *envelope);
int __wrap_mpixq_type_envelope(MPI_Datatype type, struct mpixq_envelope *envelope);
int __real_PMPI_Type_free(MPI_Datatype *type);
int __wrap_PMPI_Type_free(MPI_Datatype *type);

int __wrap_PMPI_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype *type)
{
    int rc = fail_types ? MPI_ERR_NO_MEM : __real_PMPI_Type_contiguous(count, of, type);

    types_held += rc == MPI_SUCCESS;
    return rc;
}

int __wrap_mpixq_type_envelope(MPI_Datatype type, struct mpixq_envelope *envelope)
{
    return fail_envelopes ? MPI_ERR_TYPE : __real_mpixq_type_envelope(type, envelope);
}

int __wrap_PMPI_Type_free(MPI_Datatype *type)
{
    types_held--;
    return __real_PMPI_Type_free(type);
}

static int n_copied, n_deleted; /* attributes of types */

static int copied(MPI_Datatype type, int key, void *extra, void *value, void *copy_p, int *flag)
{
    (void)type;
    (void)key;
    (void)extra;
    *(void **)copy_p = value;
    *flag = 1;
    n_copied++;
    return MPI_SUCCESS;
}

static int deleted(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)key;
    (void)value;
    (void)extra;
    n_deleted++;
    return MPI_SUCCESS;
}

static MPI_Datatype derived_type(void)
{
    static int key = MPI_KEYVAL_INVALID;
    MPI_Datatype type;

    if (key == MPI_KEYVAL_INVALID) {
        MPI_Type_create_keyval(copied, deleted, &key, NULL);
    }
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_set_attr(type, key, NULL);
    n_copied = n_deleted = 0;
    return type;
}

/* What the library holds for that runs no callback of the user's. */
static void derived_type_lives_as_long_as_the_request(void **test_state)
{
    MPI_Datatype type = derived_type();
    struct mpixq_request *req;
    int size;

    (void)test_state;
    capture_as(0, MPIXQ_MODE_SEND, type);
    capture_as(1, MPIXQ_MODE_SEND, type);
    assert_int_equal(types_held, 2);
    MPI_Type_free(&type);
    req = mpixq_request_find(made_up(1));
    assert_true(req->holds_type);
    assert_int_equal(MPI_Type_size(req->pair.message.type, &size), MPI_SUCCESS);
    assert_int_equal(size, 3 * sizeof(int));
    assert_true(drop(0));
    assert_int_equal(types_held, 1);
    bring_to_matched(req);
    end(req);
    assert_int_equal(types_held, 0);
    assert_int_equal(n_copied, 0);
    assert_int_equal(n_deleted, 1);
}

static void request_without_its_type_is_unknown(void **test_state)
{
    MPI_Datatype type = derived_type();

    (void)test_state;
    fail_types = true;
    capture_as(0, MPIXQ_MODE_BSEND, type);
    fail_types = false;
    assert_null(mpixq_request_find(made_up(0)));
    assert_int_equal(atomic_load(&mpixq_requests.buffered), 0);
    assert_int_equal(types_held, 0);
    MPI_Type_free(&type);
}

/* A part of a request holds a type of its own, and gives back no other where it cannot. */
static void part_holds_a_type_of_its_own(void **test_state)
{
    MPI_Datatype type = derived_type();
    struct mpixq_request *req, *part;

    (void)test_state;
    capture_as(0, MPIXQ_MODE_SEND, type);
    MPI_Type_free(&type);
    req = mpixq_request_find(made_up(0));
    fail_envelopes = true;
    assert_null(mpixq_request_make_part(req, req->pair.message.type));
    fail_envelopes = false;
    assert_int_equal(types_held, 1);
    fail_types = true;
    assert_null(mpixq_request_make_part(req, req->pair.message.type));
    fail_types = false;
    assert_int_equal(types_held, 1);
    part = mpixq_request_make_part(req, req->pair.message.type);
    assert_non_null(part);
    assert_int_equal(types_held, 2);
    mpixq_request_destroy(part);
    assert_int_equal(types_held, 1);
    assert_true(drop(0));
}

/* A request that there is no memory for is unknown, and nothing of it stays. */
static void capture_survives_failed_allocations(void **test_state)
{
    enum { RECORDS = 1500 };
    MPI_Datatype type = derived_type();
    int n_failed = 0;

    (void)test_state;
    for (int i = 0; i < RECORDS; i++) {
        for (long n = 1; mpixq_request_find(made_up(i)) == NULL; n++) {
            long live = unit_live_blocks();

            atomic_store(&mpixq_allocs.fail_in, n);
            capture_as(i, MPIXQ_MODE_BSEND, type);
            if (mpixq_request_find(made_up(i)) == NULL) {
                n_failed++;
                assert_int_equal(unit_live_blocks(), live);
                assert_int_equal(types_held, i);
                assert_int_equal(atomic_load(&mpixq_requests.buffered), i);
            }
            atomic_store(&mpixq_allocs.fail_in, 0);
        }
    }
    assert_int_equal(n_failed, RECORDS); /* records; a table that cannot grow does without */
    assert_int_equal(table_size(), RECORDS);
    for (int i = 0; i < RECORDS; i++) {
        assert_true(drop(i));
    }
    MPI_Type_free(&type);
}

/* The table that cannot grow finds everything, as does one that grows late. */
static void table_without_memory_still_finds(void **test_state)
{
    enum { RECORDS = 5000, LATE = 3000 };

    (void)test_state;
    for (int i = 0; i < RECORDS; i++) {
        /* The second is the table's, or the places of its chains. */
        atomic_store(&mpixq_allocs.fail_in, i < LATE ? 2 : 0);
        capture(i);
        atomic_store(&mpixq_allocs.fail_in, 0);
    }
    for (int i = 0; i < RECORDS; i++) {
        mpixq_request_rename(made_up(i), made_up(RECORDS + i));
    }
    assert_int_equal(table_size(), RECORDS);
    for (int i = 0; i < RECORDS; i++) {
        assert_null(mpixq_request_find(made_up(i)));
        assert_true(drop(RECORDS + i));
    }
}

static void freed_records_are_used_again(void **test_state)
{
    long peak = 0;

    (void)test_state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5000; i++) {
            capture(i);
        }
        assert_true(round == 0 || unit_live_blocks() == peak);
        peak = unit_live_blocks();
        for (int i = 0; i < 5000; i++) {
            assert_true(drop(i));
        }
    }
}

/* After each test, further to what the table holds. */
static int all_types_are_gone(void **state)
{
    return types_held == 0 ? all_is_gone(state) : -1;
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        /* The first: later there are spare records, and room in the table. */
        cmocka_unit_test_teardown(capture_survives_failed_allocations, all_types_are_gone),
        cmocka_unit_test_teardown(table_without_memory_still_finds, all_types_are_gone),
        cmocka_unit_test_teardown(freed_records_are_used_again, all_types_are_gone),
        cmocka_unit_test_teardown(derived_type_lives_as_long_as_the_request, all_types_are_gone),
        cmocka_unit_test_teardown(request_without_its_type_is_unknown, all_types_are_gone),
        cmocka_unit_test_teardown(part_holds_a_type_of_its_own, all_types_are_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return run_with_mpi(&argc, &argv, run_all);
}
