/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * piece.c - the writes of a message that is larger than one may be
 */
#include "unit.h"

#include "util/piece.h"

#define GIB ((uint64_t)1 << 30)

/* Each begins as far from a boundary as the buffer does. */
static void test_aligned(void **state)
{
    static const uint64_t largest[] = {UINT32_MAX, UINT32_MAX - 100, 4 * GIB, UINT64_MAX, 100000};

    (void)state;
    for (size_t i = 0; i < sizeof largest / sizeof largest[0]; i++) {
        uint64_t piece = mpixq_piece_of(largest[i]);

        assert_true(piece > 0 && piece <= largest[i] && largest[i] - piece < MPIXQ_PAGE);
        for (uint64_t k = 1; k < 8; k++) {
            assert_int_equal(k * piece % MPIXQ_PAGE, 0);
        }
    }
}

static void test_small(void **state)
{
    (void)state;
    assert_int_equal(mpixq_piece_of(1), 1);
    assert_int_equal(mpixq_piece_of(4096), 4096);
    assert_int_equal(mpixq_piece_of(MPIXQ_PAGE), MPIXQ_PAGE);
}

/* They are the message, none is empty, and one that fits is not cut. */
static void test_count(void **state)
{
    static const uint64_t bytes[] = {0,       1,           4 * GIB - 1, 4 * GIB,
                                     5 * GIB, 8 * GIB - 1, 8 * GIB,     100 * GIB + 7};
    uint64_t piece = mpixq_piece_of(UINT32_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        uint64_t n = mpixq_count_pieces(bytes[i], piece);

        assert_true(n >= 1 && n * piece >= bytes[i] && (n == 1 || (n - 1) * piece < bytes[i]));
    }
    assert_int_equal(mpixq_count_pieces(piece, piece), 1);
    assert_int_equal(mpixq_count_pieces(piece + 1, piece), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_aligned), cmocka_unit_test(test_small),
                                       cmocka_unit_test(test_count)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
