/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * channel_set.c - lists of channels: what they may hold, their order, and what is said of bad ones
 */
#include "unit.h"

#include <string.h>

#include "util/channel_set.h"

/* The ids of a set as letters, in its order. */
static const char *order(const struct mpixq_channel_set *set)
{
    static const char letters[] = {[MPIXQ_CHANNEL_NULL] = 'n',
                                   [MPIXQ_CHANNEL_SELF] = 's',
                                   [MPIXQ_CHANNEL_FALLBACK] = 'f',
                                   [MPIXQ_CHANNEL_CXI] = 'c',
                                   [MPIXQ_CHANNEL_IPC] = 'i'};
    static char text[MPIXQ_N_CHANNELS + 1];

    for (int i = 0; i < set->n; i++) {
        text[i] = letters[set->ids[i]];
    }
    text[set->n] = '\0';
    return text;
}

static void lists_keep_their_order_and_get_self(void **state)
{
    static const struct {
        const char *text, *order;
    } lists[] = {{"ipc,cxi,fallback", "iscf"},
                 {"cxi,ipc,fallback", "scif"},
                 {"fallback,cxi,ipc", "sfci"},
                 {"ipc,fallback", "isf"},
                 {"cxi", "sc"},
                 {"ipc", "is"},
                 {"fallback", "sf"}};
    char why[100], text[64];

    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct mpixq_channel_set set;

        assert_true(mpixq_channel_set_parse(lists[i].text, &set, why, sizeof why));
        assert_string_equal(order(&set), lists[i].order);
        assert_string_equal(mpixq_channel_set_text(&set, text, sizeof text), lists[i].text);
        assert_true(mpixq_channel_set_has(&set, MPIXQ_CHANNEL_SELF));
        assert_false(mpixq_channel_set_has(&set, MPIXQ_CHANNEL_NULL));
    }
}

static void bad_lists_change_nothing(void **state)
{
    static const struct {
        const char *text, *why;
    } lists[] = {{"", "\"\" is none of"},
                 {"cxi,", "\"\" is none of"},
                 {",cxi", "\"\" is none of"},
                 {"cxi,,ipc", "\"\" is none of"},
                 {"self", "\"self\" is none of"},
                 {"ipc,null", "\"null\" is none of"},
                 {"cx", "\"cx\" is none of"},
                 {"cxis", "\"cxis\" is none of"},
                 {"CXI", "\"CXI\" is none of"},
                 {"cxi, ipc", "\" ipc\" is none of"},
                 {"cxi,ipc,cxi", "\"cxi\" stands twice"},
                 {"ipc,ipc,ipc,ipc,ipc,ipc,ipc", "\"ipc\" stands twice"}};
    char why[100], text[64];

    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct mpixq_channel_set set;

        assert_true(mpixq_channel_set_parse("cxi,ipc", &set, why, sizeof why));
        assert_false(mpixq_channel_set_parse(lists[i].text, &set, why, sizeof why));
        assert_non_null(strstr(why, lists[i].why));
        assert_string_equal(mpixq_channel_set_text(&set, text, sizeof text), "cxi,ipc");
    }
}

static void limits_and_bits(void **state)
{
    struct mpixq_channel_set set, limit;
    char why[100], text[64];

    (void)state;
    assert_true(mpixq_channel_set_parse("fallback,ipc,cxi", &set, why, sizeof why));
    assert_int_equal(mpixq_channel_set_bits(&set), 1u << MPIXQ_CHANNEL_FALLBACK |
                                                       1u << MPIXQ_CHANNEL_CXI |
                                                       1u << MPIXQ_CHANNEL_IPC);
    assert_true(mpixq_channel_set_parse("ipc,fallback", &limit, why, sizeof why));
    mpixq_channel_set_limit(&set, &limit);
    assert_string_equal(order(&set), "sfi");
    mpixq_channel_set_remove(&set, MPIXQ_CHANNEL_IPC);
    mpixq_channel_set_remove(&set, MPIXQ_CHANNEL_IPC);
    assert_string_equal(order(&set), "sf");
    mpixq_channel_set_remove(&set, MPIXQ_CHANNEL_FALLBACK);
    assert_string_equal(order(&set), "s");
    assert_int_equal(mpixq_channel_set_bits(&set), 0);
    assert_string_equal(mpixq_channel_set_text(&set, text, sizeof text), "none");
    assert_string_equal(mpixq_channel_bits_text(0, text, sizeof text), "none");
    assert_string_equal(mpixq_channel_bits_text(UINT32_MAX, text, sizeof text), "ipc,cxi,fallback");
    /* Too little room is no harm. */
    assert_string_equal(mpixq_channel_bits_text(UINT32_MAX, text, 6), "ipc,c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_keep_their_order_and_get_self),
        cmocka_unit_test(bad_lists_change_nothing),
        cmocka_unit_test(limits_and_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
