/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cuda_loading.c - a kernel is loaded when it is found, and not when it is first launched: then a
 * driver that loads lazily may wait for a kernel that waits
 */
#include "unit.h"

#include "stream/cuda_driver.h"
#include "stream/gpu.h"

enum { BINARY_VERSION = 6, REFUSED = 209 };

static char module, kernel;
static int found, loaded, asked, answer;

static int find(void **function_p, void *in, const char *name)
{
    assert_ptr_equal(in, &module);
    assert_string_equal(name, "wait");
    found++;
    *function_p = &kernel;
    return 0;
}

static int load(void *function)
{
    assert_ptr_equal(function, &kernel);
    loaded++;
    return answer;
}

static int ask(int *value_p, int attribute, void *function)
{
    assert_ptr_equal(function, &kernel);
    assert_int_equal(attribute, BINARY_VERSION);
    asked++;
    *value_p = 90;
    return answer;
}

/* Find a kernel by a driver that may have each of the two calls. */
static int find_by(bool loads, bool answers, int code)
{
    void *function = NULL;
    int rc;

    found = loaded = asked = 0;
    answer = code;
    mpixq_cuda.both.function = find;
    mpixq_cuda.both.load_function = loads ? load : NULL;
    mpixq_cuda.both.function_attribute = answers ? ask : NULL;
    rc = mpixq_gpu_function(&mpixq_gpu_cuda, &module, "wait", &function);
    assert_ptr_equal(function, &kernel);
    assert_int_equal(found, 1);
    return rc;
}

static void a_kernel_that_is_found_is_loaded(void **state)
{
    (void)state;
    assert_int_equal(find_by(true, true, 0), 0);
    assert_int_equal(loaded, 1);
    assert_int_equal(asked, 0);
}

/* To say how it was compiled the driver has to load it. */
static void an_older_driver_is_asked(void **state)
{
    (void)state;
    assert_int_equal(find_by(false, true, 0), 0);
    assert_int_equal(loaded, 0);
    assert_int_equal(asked, 1);
    /* One that has neither loads at once. */
    assert_int_equal(find_by(false, false, 0), 0);
}

static void one_that_cannot_be_loaded_is_none(void **state)
{
    (void)state;
    assert_int_equal(find_by(true, true, REFUSED), REFUSED);
    assert_int_equal(find_by(false, true, REFUSED), REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_is_found_is_loaded),
        cmocka_unit_test(an_older_driver_is_asked),
        cmocka_unit_test(one_that_cannot_be_loaded_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
