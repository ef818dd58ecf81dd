/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * ident.c - identities: equal for equal input, apart for any other
 */
#include "unit.h"

#include <stdlib.h>

#include "util/ident.h"

static const struct mpixq_ident none, one = {.low = 1};

static int compare(const void *a, const void *b)
{
    const struct mpixq_ident *x = a, *y = b;

    if (x->high != y->high) {
        return x->high < y->high ? -1 : 1;
    }
    return (x->low > y->low) - (x->low < y->low);
}

/* All of them are identities, and no two are the same. Sorts them. */
static void expect_distinct(struct mpixq_ident *idents, size_t n)
{
    qsort(idents, n, sizeof *idents, compare);
    for (size_t i = 0; i < n; i++) {
        assert_false(mpixq_ident_is_none(idents[i]));
        assert_true(i == 0 || !mpixq_ident_equal(idents[i - 1], idents[i]));
    }
}

static struct mpixq_ident *many(size_t n)
{
    struct mpixq_ident *idents = malloc(n * sizeof *idents);

    assert_non_null(idents);
    return idents;
}

static void none_is_none(void **state)
{
    (void)state;
    assert_true(mpixq_ident_is_none(none));
    assert_false(mpixq_ident_is_none(one));
    assert_false(mpixq_ident_is_none((struct mpixq_ident){.high = 1}));
    assert_true(mpixq_ident_equal(none, none));
    assert_true(mpixq_ident_equal(one, one));
    assert_false(mpixq_ident_equal(none, one));
    assert_false(mpixq_ident_equal(one, (struct mpixq_ident){.high = 1}));
    assert_false(mpixq_ident_is_none(mpixq_ident_child(none, 0, 0)));
}

static void equal_input_gives_equal_output(void **state)
{
    static const char text[] = "the same bytes, in one piece or in several";
    struct mpixq_ident whole = mpixq_ident_add(one, text, sizeof text);

    (void)state;
    for (size_t n = 0; n <= sizeof text; n++) {
        struct mpixq_ident half = mpixq_ident_add(one, text, n);

        assert_true(mpixq_ident_equal(mpixq_ident_add(half, text + n, sizeof text - n), whole));
    }
    for (uint64_t n = 0; n < 1000; n++) {
        assert_true(
            mpixq_ident_equal(mpixq_ident_child(whole, 2, n), mpixq_ident_child(whole, 2, n)));
    }
}

/* FNV-1a of 128 bits is published with this result for "foobar". */
static void hash_is_the_published_one(void **state)
{
    const struct mpixq_ident basis = {.high = 0x6c62272e07bb0142, .low = 0x62b821756295c58d};
    const struct mpixq_ident foobar = {.high = 0x343e1662793c64bf, .low = 0x6f0d3597ba446f18};

    (void)state;
    assert_true(mpixq_ident_equal(mpixq_ident_add(basis, "foobar", 6), foobar));
}

static void any_changed_bit_shows(void **state)
{
    /* As the library does: only identities that were hashed before are added to. */
    const struct mpixq_ident start = mpixq_ident_child(one, 0, 0);
    unsigned char bytes[64] = {0};
    struct mpixq_ident *idents = many(1 + 64 * 8 + 64);
    size_t n = 0;

    (void)state;
    idents[n++] = mpixq_ident_add(start, bytes, sizeof bytes);
    for (int bit = 0; bit < 64 * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        idents[n++] = mpixq_ident_add(start, bytes, sizeof bytes);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    for (size_t length = 0; length < 64; length++) {
        idents[n++] = mpixq_ident_add(start, bytes, length);
    }
    expect_distinct(idents, n);
    free(idents);
}

/* Parents such as a program has: those of few bits, and children of children. */
static void children_are_distinct(void **state)
{
    enum { PARENTS = 200, KINDS = 4, NUMBERS = 500 };
    struct mpixq_ident *idents = many(PARENTS + PARENTS * KINDS * NUMBERS), parent = one;
    size_t n = 0;

    (void)state;
    for (int p = 0; p < PARENTS; p++) {
        idents[n++] = parent;
        for (uint32_t kind = 0; kind < KINDS; kind++) {
            for (uint64_t number = 0; number < NUMBERS; number++) {
                /* Numbers that no parent below has: it would be there twice. */
                idents[n++] = mpixq_ident_child(parent, kind, number + NUMBERS);
            }
        }
        parent = p < PARENTS / 2
                     ? (struct mpixq_ident){.high = (uint64_t)p / 10, .low = (uint64_t)p % 10 + 2}
                     : mpixq_ident_child(parent, 0, (uint64_t)p);
    }
    expect_distinct(idents, n);
    free(idents);
}

/* Numbers that differ in one place only, or are shifted against kind and parent. */
static void neighbours_are_distinct(void **state)
{
    struct mpixq_ident *idents = many(64 * 64 * 3 + 32 * 64);
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 64; i++) {
        for (int k = 0; k < 64; k++) {
            const struct mpixq_ident low = {.high = 1, .low = UINT64_C(1) << i};
            const struct mpixq_ident high = {.high = UINT64_C(1) << i, .low = 0};

            idents[n++] = mpixq_ident_child(low, 0, UINT64_C(1) << k);
            idents[n++] = mpixq_ident_child(high, 0, UINT64_C(1) << k);
            idents[n++] = mpixq_ident_child(low, 1, UINT64_C(1) << k);
            if (i < 32) {
                idents[n++] = mpixq_ident_child(none, UINT32_C(1) << i, UINT64_C(1) << k);
            }
        }
    }
    expect_distinct(idents, n);
    free(idents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_none),
        cmocka_unit_test(equal_input_gives_equal_output),
        cmocka_unit_test(hash_is_the_published_one),
        cmocka_unit_test(any_changed_bit_shows),
        cmocka_unit_test(children_are_distinct),
        cmocka_unit_test(neighbours_are_distinct),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
