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

static void order_names(const char list[][MPIXQ_PCI_ROOM], int n, const char *where,
                        const struct mpixq_cpus *own, int turn, int order[], const char **why_p)
{
    struct mpixq_near to = {.folder = where, .gpu = "", .own = own, .turn = turn};

    mpixq_near_order(list, n, &to, order, why_p);
}

static int choose(const char *list, int n, int turn, const char *reason)
{
    struct mpixq_cpus own;
    const char *why = NULL;
    int order[4];

    assert_true(mpixq_cpus_parse(list, &own));
    order_names(names, n, folder, &own, turn, order, &why);
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
    order_names(odd, 3, folder, &own, 0, order, &why);
    assert_int_equal(order[0], 2);
    order_names(odd, 2, folder, &own, 1, order, &why);
    assert_int_equal(order[0], 1);
    assert_string_equal(why, "in turns");
    order_names(odd, 3, "/nowhere", &own, 4, order, &why);
    assert_int_equal(order[0], 1);
}

static void expect_order(const char *list, int turn, const int expected[4])
{
    struct mpixq_cpus own;
    const char *why = NULL;
    int order[4];

    assert_true(mpixq_cpus_parse(list, &own));
    order_names(names, 4, folder, &own, turn, order, &why);
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

/* A bus as Linux has it: each device is a link to where its way ends. */
static const struct {
    const char *name, *way, *cpus;
} bus[] = {
    {"0000:c2:00.0", "pci0000:c0/0000:c0:01.1/0000:c1:00.0/0000:c2:00.0", "0-7\n"}, /* a GPU */
    {"0000:42:00.0", "pci0000:40/0000:40:03.1/0000:42:00.0", "16-23\n"},            /* another */
    {"0000:83:00.0", "pci0000:80/0000:80:01.1/0000:83:00.0", "0-7\n"},              /* NICs */
    {"0000:c8:00.0", "pci0000:c0/0000:c0:03.1/0000:c8:00.0", "0-7\n"},
    {"0000:41:00.0", "pci0000:40/0000:40:01.1/0000:41:00.0", "16-23\n"},
    {"0000:c3:00.0", "pci0000:c0/0000:c0:01.1/0000:c1:00.0/0000:c3:00.0", "0-7\n"},
    {"0000:84:00.0", "pci0000:80/0000:80:01.1/0000:84:00.0", "0-7\n"},
};
enum { GPUS = 2, NICS = 5 };

static void run(const char *command, const char *argument)
{
    char line[1024];

    (void)snprintf(line, sizeof line, "%s %s/%s", command, folder, argument);
    assert_int_equal(system(line), 0);
}

static void make_bus(void)
{
    char line[512], path[512];

    for (int i = 0; i < GPUS + NICS; i++) {
        FILE *file;

        (void)snprintf(line, sizeof line, "bus/%s", bus[i].way);
        run("mkdir -p", line);
        (void)snprintf(path, sizeof path, "%s/bus/%s/local_cpulist", folder, bus[i].way);
        file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(bus[i].cpus, file) >= 0);
        assert_int_equal(fclose(file), 0);
        (void)snprintf(line, sizeof line, "%s", bus[i].way);
        (void)snprintf(path, sizeof path, "%s/bus/%s", folder, bus[i].name);
        assert_int_equal(symlink(line, path), 0);
    }
}

static void expect_near(const char *gpu, const char *list, int turn, const char *reason,
                        const int expected[NICS])
{
    char nics[NICS][MPIXQ_PCI_ROOM], devices[256];
    struct mpixq_cpus own;
    struct mpixq_near to = {.folder = devices, .gpu = gpu, .own = &own, .turn = turn};
    const char *why = NULL;
    int order[NICS];

    (void)snprintf(devices, sizeof devices, "%s/bus", folder);
    for (int i = 0; i < NICS; i++) {
        (void)snprintf(nics[i], sizeof nics[i], "%s", bus[GPUS + i].name);
    }
    assert_true(mpixq_cpus_parse(list, &own));
    mpixq_near_order((const char(*)[MPIXQ_PCI_ROOM])nics, NICS, &to, order, &why);
    assert_string_equal(why, reason);
    for (int i = 0; i < NICS; i++) {
        assert_int_equal(order[i], expected[i]);
    }
}

/* Behind the same switch, at the same root, at the same CPUs, elsewhere. The CPUs of the process
 * decide among those that are equally near to the GPU, and its turn among those that are left. */
static void the_gpu_comes_first(void **state)
{
    (void)state;
    make_bus();
    expect_near(bus[0].name, "16-23", 0, "near the GPU", (const int[]){3, 1, 0, 4, 2});
    expect_near(bus[0].name, "0", 1, "near the GPU", (const int[]){3, 1, 4, 0, 2});
    expect_near(bus[1].name, "0", 0, "near the GPU", (const int[]){2, 0, 1, 3, 4});
    expect_near(bus[1].name, "20", 3, "near the GPU", (const int[]){2, 4, 0, 1, 3});
    /* It is not known, or there is none. */
    expect_near("0000:99:00.0", "17", 0, "near", (const int[]){2, 0, 1, 3, 4});
    expect_near("", "17", 0, "near", (const int[]){2, 0, 1, 3, 4});
    run("rm -r", "bus");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_is_chosen),    cmocka_unit_test(equals_are_taken_in_turns),
        cmocka_unit_test(what_is_not_known_is_far), cmocka_unit_test(all_are_put_in_order),
        cmocka_unit_test(the_gpu_comes_first),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
