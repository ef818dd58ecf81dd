/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * version.c - the version of the library, before MPI_Init
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "mpix_queue.h"

static void version_is_that_of_header(void **state)
{
    int major = -1;
    int minor = -1;
    int patch = -1;

    (void)state;
    assert_int_equal(MPIXQ_Get_version(&major, &minor, &patch), MPI_SUCCESS);
    assert_int_equal(major, MPIXQ_VERSION_MAJOR);
    assert_int_equal(minor, MPIXQ_VERSION_MINOR);
    assert_int_equal(patch, MPIXQ_VERSION_PATCH);
}

static void any_argument_may_be_null(void **state)
{
    int minor = -1;

    (void)state;
    assert_int_equal(PMPIXQ_Get_version(NULL, NULL, NULL), MPI_SUCCESS);
    assert_int_equal(PMPIXQ_Get_version(NULL, &minor, NULL), MPI_SUCCESS);
    assert_int_equal(minor, MPIXQ_VERSION_MINOR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_is_that_of_header),
        cmocka_unit_test(any_argument_may_be_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
