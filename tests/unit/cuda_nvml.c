/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cuda_nvml.c - what NVML says of two GPUs, one of which the process does not see: only a clear no
 * counts
 */
#include "unit.h"

#include <string.h>

#include "stream/cuda_nvml.h"

extern int other_nvml_users, other_nvml_status[2], other_nvml_error;

enum { REACHES, NOT_SUPPORTED = 5, UNKNOWN = 6, UNINITIALIZED = 1 };

static struct mpixq_gpu_ident ident(int first)
{
    struct mpixq_gpu_ident ident;

    for (int i = 0; i < (int)sizeof ident.bytes; i++) {
        ident.bytes[i] = (unsigned char)(first + i);
    }
    return ident;
}

static bool lacks(int there, int back, int first_of_other)
{
    struct mpixq_gpu_ident one = ident(0), other = ident(first_of_other);
    bool found;

    other_nvml_status[0] = there;
    other_nvml_status[1] = back;
    found = mpixq_cuda_has_no_atomics(&one, &other);
    assert_int_equal(other_nvml_users, 0);
    return found;
}

static void no_of_either_counts(void **state)
{
    (void)state;
    assert_false(lacks(REACHES, REACHES, 0xf0));
    for (int status = 1; status <= NOT_SUPPORTED; status++) {
        assert_true(lacks(status, REACHES, 0xf0));
        assert_true(lacks(REACHES, status, 0xf0));
        assert_true(lacks(status, UNKNOWN, 0xf0));
    }
}

static void nothing_else_does(void **state)
{
    (void)state;
    assert_false(lacks(UNKNOWN, REACHES, 0xf0));
    assert_false(lacks(UNKNOWN, UNKNOWN, 0xf0));
    assert_false(lacks(NOT_SUPPORTED, NOT_SUPPORTED, 0xe0)); /* a GPU that it does not know */
    assert_false(lacks(NOT_SUPPORTED, NOT_SUPPORTED, 0));    /* the same one: an error */
    other_nvml_error = UNINITIALIZED;
    assert_false(lacks(NOT_SUPPORTED, NOT_SUPPORTED, 0xf0));
    other_nvml_error = 0;
    assert_true(lacks(NOT_SUPPORTED, NOT_SUPPORTED, 0xf0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_of_either_counts),
        cmocka_unit_test(nothing_else_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
