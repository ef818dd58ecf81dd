/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * layout.c - which datatypes are one piece of memory in the order of the message: random ones, of
 * all constructors, against what MPI packs of them, byte by byte
 */
#include "unit.h"

#include <mpi.h>

#include "comm/layout.h"

enum { ROUNDS = 5000, LIST = 3, MIDDLE = 1 << 15, BYTES = 2 * MIDDLE, PACKED = 1 << 16 };

static uint64_t state = 1;

static int random_below(int n)
{
    return (int)(unit_random(&state) % (unsigned)n);
}

/* Mostly what goes on where the last block ended. */
static int next_place(int expected)
{
    return random_below(4) > 0 ? expected : random_below(7) - 3;
}

/* Blocks of a vector do not overlap: Open MPI 4.1 packs others wrong. */
static int next_stride(int length)
{
    return random_below(4) > 0 ? length : length + random_below(3);
}

static MPI_Datatype make_list(int kind, MPI_Datatype inner, MPI_Aint extent)
{
    int lengths[LIST], places[LIST], n = 1 + random_below(LIST), end = 0;
    MPI_Aint bytes[LIST];
    MPI_Datatype inners[LIST], type;

    for (int i = 0; i < n; i++) {
        lengths[i] =
            kind % 2 == 0 ? random_below(3) : 1 + (i > 0 ? lengths[0] - 1 : random_below(2));
        places[i] = next_place(end);
        bytes[i] = places[i] * extent;
        inners[i] = inner;
        end = places[i] + lengths[i];
    }
    switch (kind) {
    case 0:
        MPI_Type_indexed(n, lengths, places, inner, &type);
        break;
    case 1:
        MPI_Type_create_indexed_block(n, lengths[0], places, inner, &type);
        break;
    case 2:
        MPI_Type_create_hindexed(n, lengths, bytes, inner, &type);
        break;
    case 3:
        MPI_Type_create_hindexed_block(n, lengths[0], bytes, inner, &type);
        break;
    default:
        MPI_Type_create_struct(n, lengths, bytes, inners, &type);
    }
    return type;
}

static MPI_Datatype make_subarray(MPI_Datatype inner)
{
    int sizes[2], parts[2], from[2];
    MPI_Datatype type;

    for (int i = 0; i < 2; i++) {
        sizes[i] = 1 + random_below(3);
        parts[i] = 1 + random_below(sizes[i]);
        from[i] = random_below(sizes[i] - parts[i] + 1);
    }
    MPI_Type_create_subarray(2, sizes, parts, from,
                             random_below(2) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, inner, &type);
    return type;
}

/* Those that MPI-4 makes with large counts, or their like. */
static MPI_Datatype make_large(int kind, MPI_Datatype inner, MPI_Aint extent)
{
    MPI_Datatype type;
#if MPI_VERSION >= 4
    MPI_Count n = 1 + random_below(2), lengths[] = {1, n}, bytes[] = {0, next_place(1) * extent};
    MPI_Datatype inners[] = {inner, inner};

    switch (kind) {
    case 0:
        MPI_Type_contiguous_c(n, inner, &type);
        break;
    case 1:
        MPI_Type_create_hvector_c(2, n, next_stride((int)n) * extent, inner, &type);
        break;
    case 2:
        MPI_Type_create_hindexed_c(2, lengths, bytes, inner, &type);
        break;
    case 3:
        MPI_Type_vector_c(2, n, next_stride((int)n), inner, &type);
        break;
    default:
        MPI_Type_create_struct_c(2, lengths, bytes, inners, &type);
    }
#else
    (void)extent;
    MPI_Type_contiguous(kind % 3, inner, &type);
#endif
    return type;
}

static MPI_Datatype make_derived(MPI_Datatype inner)
{
    MPI_Aint low, extent;
    MPI_Datatype type;
    int n = random_below(3), kind = random_below(16);

    MPI_Type_get_extent(inner, &low, &extent);
    if (kind < 5) {
        return make_list(kind, inner, extent);
    }
    if (kind < 10) {
        return make_large(kind - 5, inner, extent);
    }
    switch (kind) {
    case 10:
        MPI_Type_dup(inner, &type);
        break;
    case 11:
        MPI_Type_contiguous(n, inner, &type);
        break;
    case 12:
        MPI_Type_vector(1 + random_below(2), n, next_stride(n), inner, &type);
        break;
    case 13:
        MPI_Type_create_hvector(2, n, next_stride(n) * extent, inner, &type);
        break;
    case 14:
        MPI_Type_create_resized(inner, low, extent + random_below(3) * 4 - 4, &type);
        break;
    default:
        return make_subarray(inner);
    }
    return type;
}

static MPI_Datatype make_type(int depth)
{
    static const MPI_Datatype named[] = {MPI_CHAR, MPI_INT, MPI_SHORT, MPI_DOUBLE_INT};
    MPI_Datatype inner, type;

    if (depth == 0) {
        MPI_Type_dup(named[random_below(4)], &type);
        return type;
    }
    inner = make_type(depth - 1);
    type = make_derived(inner);
    MPI_Type_free(&inner);
    return type;
}

/* The number of each byte: its lower half, and its upper one. */
static unsigned char memory[2][BYTES];

/* Where each byte of the message comes from, as MPI says; their number. */
static int find_places(MPI_Datatype type, int count, int places[])
{
    static unsigned char packed[2][PACKED];
    int at[2] = {0, 0};

    for (int half = 0; half < 2; half++) {
        if (MPI_Pack(memory[half] + MIDDLE, count, type, packed[half], PACKED, &at[half],
                     MPI_COMM_SELF) != MPI_SUCCESS) {
            return -1;
        }
    }
    for (int i = 0; i < at[0]; i++) {
        places[i] = packed[0][i] + 256 * packed[1][i] - MIDDLE;
    }
    return at[0];
}

static bool are_consecutive(const int places[], int n)
{
    for (int i = 1; i < n; i++) {
        if (places[i] != places[0] + i) {
            return false;
        }
    }
    return true;
}

static void test_random(void **ctx)
{
    static int places[PACKED];
    int in_order = 0, contiguous = 0, not_in_order = 0;

    (void)ctx;
    for (int round = 0; round < ROUNDS; round++) {
        int count = 1 + random_below(3), n;
        MPI_Datatype type = make_type(1 + random_below(3));
        bool expected;

        MPI_Type_commit(&type);
        n = find_places(type, count, places);
        assert_true(n >= 0);
        expected = are_consecutive(places, n);
        if (mpixq_is_in_order(type, count) != expected) {
            fail_msg("round %d: %d of the type are %sin order", round, count,
                     expected ? "" : "not ");
        }
        in_order += expected && n > 0;
        not_in_order += !expected;
        n = find_places(type, 2, places);
        expected = n == 0 || (are_consecutive(places, n) && places[0] == 0);
        if (mpixq_is_contiguous(type) != expected) {
            fail_msg("round %d: the type is %scontiguous", round, expected ? "" : "not ");
        }
        contiguous += expected && n > 0;
        MPI_Type_free(&type);
    }
    assert_true(in_order > ROUNDS / 20 && contiguous > ROUNDS / 20 && not_in_order > ROUNDS / 20);
}

/* As a matrix is transposed, and as an array is turned round: no gap, and not the order of memory.
 * And what is sent twice. */
static void test_orders(void **ctx)
{
    MPI_Datatype column, type;

    (void)ctx;
    MPI_Type_vector(4, 1, 4, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &type);
    assert_false(mpixq_is_in_order(type, 4));
    assert_false(mpixq_is_contiguous(type));
    assert_true(mpixq_is_in_order(type, 0));
    MPI_Type_free(&type);
    MPI_Type_free(&column);
    MPI_Type_vector(4, 1, -1, MPI_INT, &type);
    assert_false(mpixq_is_in_order(type, 1));
    MPI_Type_free(&type);
    MPI_Type_vector(2, 2, 1, MPI_INT, &type);
    assert_false(mpixq_is_in_order(type, 1));
    MPI_Type_free(&type);
}

/* What has more blocks, or more types in each other, than any that is one piece. */
static void test_limits(void **ctx)
{
    enum { MANY = 5000 };
    static int lengths[MANY], places[MANY];
    MPI_Datatype type, deep;

    (void)ctx;
    for (int i = 0; i < MANY; i++) {
        lengths[i] = 1;
        places[i] = i;
    }
    MPI_Type_indexed(MANY, lengths, places, MPI_INT, &type);
    assert_false(mpixq_is_in_order(type, 1));
    MPI_Type_free(&type);
    MPI_Type_dup(MPI_INT, &type);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(mpixq_is_in_order(type, 1), i < 15);
        MPI_Type_contiguous(1, type, &deep);
        MPI_Type_free(&type);
        type = deep;
    }
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_limits),
    };
    int failed;

    for (int i = 0; i < BYTES; i++) {
        memory[0][i] = (unsigned char)i;
        memory[1][i] = (unsigned char)(i >> 8);
    }
    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
