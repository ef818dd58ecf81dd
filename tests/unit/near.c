/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * near.c - which of several devices is near our own CPUs, in folders as Linux has them
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/near.h"

static char folder[224];
static const char names[][MPIXQ_PCI_ROOM] = {"0000:20:00.0", "0000:40:00.0", "0001:60:00.0",
                                             "0001:80:00.1"};
static const char *const near[] = {"0-3,16-19\n", "4-7,20-23\n", "8-11\n", "8-15\n"};

static int make_folder(void **state)
{
    const char *parent = getenv("TMPDIR");
    char path[sizeof folder + 128];

    (void)state;
    (void)snprintf(folder, sizeof folder, "%.190s/mpixq_near_XXXXXX",
                   parent != NULL ? parent : "/tmp");
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 4; i++) {
        FILE *file;

        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
        (void)snprintf(path, sizeof path, "%s/%s/local_cpulist", folder, names[i]);
        file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(near[i], file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    return 0;
}

static int remove_folder(void **state)
{
    char path[sizeof folder + 128];

    (void)state;
    for (int i = 0; i < 4; i++) {
        (void)snprintf(path, sizeof path, "%s/%s/local_cpulist", folder, names[i]);
        (void)unlink(path);
        *strrchr(path, '/') = '\0';
        (void)rmdir(path);
    }
    return rmdir(folder);
}

static int choose(const char *list, int n, int turn, const char *reason)
{
    struct mpixq_cpus own;
    const char *why = NULL;
    int order[4];

    assert_true(mpixq_cpus_parse(list, &own));
    mpixq_near_order(names, n, folder, &own, turn, order, &why);
    assert_string_equal(why, reason);
    return order[0];
}

static void the_nearest_is_chosen(void **state)
{
    (void)state;
    assert_int_equal(choose("0", 4, 0, "near"), 0);
    assert_int_equal(choose("19", 4, 3, "near"), 0);
    assert_int_equal(choose("5,21", 4, 0, "near"), 1);
    assert_int_equal(choose("12", 4, 0, "near"), 3);
    /* By most of the CPUs. */
    assert_int_equal(choose("0,1,4", 4, 0, "near"), 0);
    assert_int_equal(choose("0,4,5", 4, 0, "near"), 1);
    assert_int_equal(choose("8-12", 4, 0, "near"), 3);
}

static void equals_are_taken_in_turns(void **state)
{
    (void)state;
    assert_int_equal(choose("8", 4, 0, "near, in turns"), 2);
    assert_int_equal(choose("8", 4, 1, "near, in turns"), 3);
    assert_int_equal(choose("8", 4, 2, "near, in turns"), 2);
    for (int turn = 0; turn < 9; turn++) {
        assert_int_equal(choose("100", 4, turn, "in turns"), turn % 4);
    }
    assert_int_equal(choose("100", 1, 5, "the only one"), 0);
}

static void what_is_not_known_is_far(void **state)
{
    static const char odd[][MPIXQ_PCI_ROOM] = {"", "0000:99:00.0", "0000:40:00.0"};
    struct mpixq_cpus own;
    const char *why = NULL;
    int order[3];

    (void)state;
    assert_true(mpixq_cpus_parse("6", &own));
    mpixq_near_order(odd, 3, folder, &own, 0, order, &why);
    assert_int_equal(order[0], 2);
    mpixq_near_order(odd, 2, folder, &own, 1, order, &why);
    assert_int_equal(order[0], 1);
    assert_string_equal(why, "in turns");
    mpixq_near_order(odd, 3, "/nowhere", &own, 4, order, &why);
    assert_int_equal(order[0], 1);
}

static void expect_order(const char *list, int turn, const int expected[4])
{
    struct mpixq_cpus own;
    const char *why = NULL;
    int order[4];

    assert_true(mpixq_cpus_parse(list, &own));
    mpixq_near_order(names, 4, folder, &own, turn, order, &why);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(order[i], expected[i]);
    }
}

/* Each of them once, the nearest first, and in each class by turns. */
static void all_are_put_in_order(void **state)
{
    (void)state;
    expect_order("0,4,5", 0, (const int[]){1, 0, 2, 3});
    expect_order("0,4,5", 1, (const int[]){1, 0, 3, 2});
    expect_order("8", 0, (const int[]){2, 3, 0, 1});
    expect_order("8", 1, (const int[]){3, 2, 1, 0});
    expect_order("8-12,4", 3, (const int[]){3, 2, 1, 0});
    expect_order("100", 6, (const int[]){2, 3, 0, 1});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_is_chosen),
        cmocka_unit_test(equals_are_taken_in_turns),
        cmocka_unit_test(what_is_not_known_is_far),
        cmocka_unit_test(all_are_put_in_order),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
