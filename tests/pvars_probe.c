/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What pvars.sh links in several ways. Without arguments: MPI's own variables and those of the
 * library are found. With one: those of pvars_tool.c stand behind the library, and indices stay
 * when it gets more.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OURS = 46, FIRST = 2 };

static int wrong;
static MPI_T_pvar_session session;

static void expect_equal(const char *what, long long value, long long expected)
{
    if (value != expected) {
        fprintf(stderr, "%s: %lld, expected %lld\n", what, value, expected);
        wrong = 1;
    }
}

static void expect_name(int index, const char *expected)
{
    int length = 64, rest = 0, v, c, b, f[3];
    MPI_Datatype type;
    MPI_T_enum items;
    char name[64] = "";

    expect_equal("get_info",
                 MPI_T_pvar_get_info(index, name, &length, &v, &c, &type, &items, NULL, &rest, &b,
                                     &f[0], &f[1], &f[2]),
                 MPI_SUCCESS);
    if (strcmp(name, expected) != 0) {
        fprintf(stderr, "variable %d: %s, expected %s\n", index, name, expected);
        wrong = 1;
    }
}

static void expect_index(const char *name, int expected)
{
    int index = -1;

    expect_equal(name, MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS);
    expect_equal(name, index, expected);
}

static void expect_value(MPI_T_pvar_handle handle, unsigned long long expected)
{
    unsigned long long value = 0;

    expect_equal("read", MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    expect_equal("value", (long long)value, (long long)expected);
}

static MPI_T_pvar_handle handle_of(int index)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count = 0;

    expect_equal("handle_alloc", MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count),
                 MPI_SUCCESS);
    expect_equal("count", count, 1);
    return handle;
}

/* In the category of the others: n variables, of which the last two are new if n is 4. */
static void expect_categories(int n)
{
    int number = -1, list[6], pvars = -1, length = 64, n_cvars, n_categories = -1;
    char name[64];

    expect_equal("categories", MPI_T_category_get_num(&number), MPI_SUCCESS);
    expect_equal("categories", number, 1 + n / 2);
    expect_equal(
        "info",
        MPI_T_category_get_info(1, name, &length, NULL, NULL, &n_cvars, &pvars, &n_categories),
        MPI_SUCCESS);
    expect_equal("ours", pvars, OURS);
    expect_equal("our category", strcmp(name, "mpix_queue"), 0);
    for (int i = 0; i < 6; i++) {
        list[i] = -1;
    }
    expect_equal("others", MPI_T_category_get_pvars(0, 6, list), MPI_SUCCESS);
    for (int i = 0; i < 6; i++) {
        expect_equal("other", list[i], i < FIRST ? i : i < n ? OURS + i : -1);
    }
    list[0] = -1;
    expect_equal("below", MPI_T_category_get_categories(0, 1, list), MPI_SUCCESS);
    expect_equal("below", list[0], n > 2 ? 2 : -1);
}

static void check_growth(void)
{
    union {
        void *object;
        void (*function)(void);
    } grow = {.object = dlsym(RTLD_DEFAULT, "pvars_tool_grow")};
    MPI_T_pvar_handle other, ours;
    int number = -1;

    expect_name(0, "other_0"); /* the first question */
    expect_equal("num", MPI_T_pvar_get_num(&number), MPI_SUCCESS);
    expect_equal("num", number, FIRST + OURS);
    expect_name(FIRST, "mpixq_queues");
    expect_name(FIRST + OURS - 1, "mpixq_transfer_bytes_self");
    expect_index("other_1", 1);
    expect_categories(2);
    other = handle_of(1);
    ours = handle_of(FIRST);
    expect_equal("the stand-in is there", grow.object != NULL, 1);
    if (grow.object != NULL) {
        grow.function();
    }
    expect_equal("num", MPI_T_pvar_get_num(&number), MPI_SUCCESS);
    expect_equal("num", number, FIRST + OURS + 2);
    expect_name(1, "other_1");
    expect_name(FIRST, "mpixq_queues");
    expect_name(FIRST + OURS, "other_2");
    expect_name(FIRST + OURS + 1, "other_3");
    expect_index("mpixq_queues", FIRST);
    expect_index("other_3", FIRST + OURS + 1);
    expect_categories(4);
    expect_value(other, 1001);
    expect_value(ours, 0);
    expect_value(handle_of(FIRST + OURS + 1), 1003);
    expect_equal("start", MPI_T_pvar_start(session, other), MPI_SUCCESS);
    expect_equal("start", MPI_T_pvar_start(session, ours), MPI_T_ERR_PVAR_NO_STARTSTOP);
}

static void check_own(void)
{
    int number = -1, own = -1, index = -1;

    expect_equal("num", MPI_T_pvar_get_num(&number), MPI_SUCCESS);
    expect_equal("num", PMPI_T_pvar_get_num(&own), MPI_SUCCESS);
    expect_equal("num", number, own + OURS);
    expect_equal("index", MPI_T_pvar_get_index("mpixq_queues", MPI_T_PVAR_CLASS_COUNTER, &index),
                 MPI_SUCCESS);
    expect_name(index, "mpixq_queues");
    expect_value(handle_of(index), 0);
}

int main(int argc, char **argv)
{
    int provided;

    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS ||
        MPI_T_pvar_session_create(&session) != MPI_SUCCESS) {
        return 99;
    }
    if (argc > 1) {
        check_growth();
    } else {
        check_own();
    }
    (void)argv;
    return wrong;
}
