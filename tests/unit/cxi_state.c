/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cxi_state.c - an error without a name, of which no counter shows a failure by now: everything
 * that is under way fails, but not before counters were looked at again and again, though the
 * thread that looks was stopped meanwhile
 */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "cxi/nic.h"

enum { STOPPED_US = 30000, MOST_LOOKS = 10 };

static struct cxi_nic nic;
static struct mpixq_pair pair;
static struct cxi_end end;

static int set_up(void **state)
{
    (void)state;
    memset(&nic, 0, sizeof nic);
    memset(&end, 0, sizeof end);
    end.nic = &nic;
    end.pair = &pair;
    mpixq_cxi_set_live(&end, true);
    mpixq_cxi_suspect(&nic);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mpixq_cxi_set_live(&end, false);
    return 0;
}

static void look(bool is_stopped)
{
    assert_false(mpixq_cxi_count_failures(&nic));
    if (is_stopped) {
        (void)usleep(STOPPED_US);
    }
    mpixq_cxi_find_failures(&nic);
}

static void expect_failure(int looks)
{
    for (; looks < MOST_LOOKS && !end.failed; looks++) {
        look(false);
    }
    assert_true(end.failed);
    assert_int_equal(nic.unknown.read, 0);
}

static void test_before_look(void **state)
{
    (void)state;
    (void)usleep(STOPPED_US);
    look(false);
    assert_false(end.failed);
    expect_failure(1);
}

static void test_within_look(void **state)
{
    (void)state;
    look(true);
    assert_false(end.failed);
    look(true);
    assert_false(end.failed);
    expect_failure(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_before_look, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_within_look, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
