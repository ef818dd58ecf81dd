/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * collective_types.c - datatypes and operations of collective_cases.h
 */
#include "collective_types.h"

#include <stdint.h>
#include <string.h>

#include "mtest.h"

enum { PRIME = 10007, SIDE = 2, CELLS = SIDE * SIDE };

/* An affine map x -> ax + b, in memory with gaps around its parts: the user's operation is given
 * the address of where lower bounds are 0. */
enum { GAPS_LB = -8, GAPS_EXTENT = 24, GAPS_B = 8 };

struct element collective_elements[ELEMENTS] = {
    [INTS] = {"int", sizeof(int), 1, MPI_DATATYPE_NULL},
    [DOUBLES] = {"double", sizeof(double), 0, MPI_DATATYPE_NULL},
    [FLOATS] = {"float", sizeof(float), 0, MPI_DATATYPE_NULL},
    [CHARS] = {"char", 1, 0, MPI_DATATYPE_NULL},
    [VECTORS] = {"vector", 6 * sizeof(int), 6, MPI_DATATYPE_NULL},
    [GAPS] = {"gaps", 2 * sizeof(int), 2, MPI_DATATYPE_NULL},
    [MATRICES] = {"matrix", CELLS * sizeof(int), CELLS, MPI_DATATYPE_NULL},
    [BYTES] = {"signed char", 1, 0, MPI_DATATYPE_NULL},
    [PLACED] = {"double and int", sizeof(double) + sizeof(int), 0, MPI_DATATYPE_NULL},
};

/* Any number from three. */
unsigned collective_mix(unsigned a, unsigned b, unsigned c)
{
    uint64_t x = a * 0x9E3779B97F4A7C15ULL ^ b * 0xC2B2AE3D27D4EB4FULL ^ c * 0x165667B19E3779F9ULL;

    x ^= x >> 31;
    x *= 0xBF58476D1CE4E5B9ULL;
    return (unsigned)(x >> 33);
}

/* ---- Draw, fold ----------------------------------------------------------------------------- */

static void draw_ints(void *packed, int count, unsigned seed)
{
    unsigned *values = packed;

    for (int i = 0; i < count; i++) {
        values[i] = collective_mix(seed, (unsigned)i, 1) % 2000001;
    }
}

static void sum_ints(void *left, const void *right, int count)
{
    int *l = left;
    const int *r = right;

    for (int i = 0; i < count; i++) {
        l[i] += r[i];
    }
}

static void xor_ints(void *left, const void *right, int count)
{
    int *l = left;
    const int *r = right;

    for (int i = 0; i < count; i++) {
        l[i] ^= r[i];
    }
}

/* Whose sums are exact in any order. */
static void draw_exact(void *packed, int count, unsigned seed)
{
    double *values = packed;

    for (int i = 0; i < count; i++) {
        values[i] = (double)(collective_mix(seed, (unsigned)i, 2) % 65536) / 8 - 4096;
    }
}

/* Of very different sizes. */
static double rough(unsigned seed, int i)
{
    unsigned x = collective_mix(seed, (unsigned)i, 3);

    return (1 + x / 2147483648.0) * (double)(1U << x % 13) / 3;
}

static void draw_doubles(void *packed, int count, unsigned seed)
{
    double *values = packed;

    for (int i = 0; i < count; i++) {
        values[i] = rough(seed, i);
    }
}

static void draw_floats(void *packed, int count, unsigned seed)
{
    float *values = packed;

    for (int i = 0; i < count; i++) {
        values[i] = (float)rough(seed, i);
    }
}

static void sum_doubles(void *left, const void *right, int count)
{
    double *l = left;
    const double *r = right;

    for (int i = 0; i < count; i++) {
        l[i] += r[i];
    }
}

static void sum_floats(void *left, const void *right, int count)
{
    float *l = left;
    const float *r = right;

    for (int i = 0; i < count; i++) {
        l[i] += r[i];
    }
}

static void max_doubles(void *left, const void *right, int count)
{
    double *l = left;
    const double *r = right;

    for (int i = 0; i < count; i++) {
        l[i] = r[i] > l[i] ? r[i] : l[i];
    }
}

static void draw_bytes(void *packed, int count, unsigned seed)
{
    for (int i = 0; i < count; i++) {
        ((unsigned char *)packed)[i] = mtest_pattern((int)seed, (size_t)i);
    }
}

static void max_bytes(void *left, const void *right, int count)
{
    signed char *l = left;
    const signed char *r = right;

    for (int i = 0; i < count; i++) {
        l[i] = r[i] > l[i] ? r[i] : l[i];
    }
}

/* A value and where it was found; many are equal. */
static void draw_placed(void *packed, int count, unsigned seed)
{
    unsigned char *at = packed;

    for (int i = 0; i < count; i++) {
        double value = collective_mix(seed, (unsigned)i, 4) % 3 / 2.0;
        int place = (int)(collective_mix(seed, (unsigned)i, 5) % 1000);

        memcpy(at, &value, sizeof value);
        memcpy(at + sizeof value, &place, sizeof place);
        at += sizeof value + sizeof place;
    }
}

static void min_placed(void *left, const void *right, int count)
{
    enum { SIZE = sizeof(double) + sizeof(int) };
    unsigned char *l = left;
    const unsigned char *r = right;

    for (int i = 0; i < count; i++, l += SIZE, r += SIZE) {
        double lv, rv;
        int lp, rp;

        memcpy(&lv, l, sizeof lv);
        memcpy(&rv, r, sizeof rv);
        memcpy(&lp, l + sizeof lv, sizeof lp);
        memcpy(&rp, r + sizeof rv, sizeof rp);
        if (rv < lv || (rv == lv && rp < lp)) {
            memcpy(l, r, SIZE);
        }
    }
}

static void draw_matrices(void *packed, int count, unsigned seed)
{
    int *cells = packed;

    for (int i = 0; i < count * CELLS; i++) {
        cells[i] = (int)(collective_mix(seed, (unsigned)i, 6) % PRIME);
    }
}

static void add_matrices(void *left, const void *right, int count)
{
    int *l = left;
    const int *r = right;

    for (int i = 0; i < count * CELLS; i++) {
        l[i] = (l[i] + r[i]) % PRIME;
    }
}

static void product(const int l[CELLS], const int r[CELLS], int out[CELLS])
{
    int p[CELLS] = {0};

    for (int i = 0; i < CELLS; i++) {
        for (int k = 0; k < SIDE; k++) {
            p[i] = (p[i] + l[i / SIDE * SIDE + k] * r[k * SIDE + i % SIDE]) % PRIME;
        }
    }
    memcpy(out, p, sizeof p);
}

static void multiply_matrices(void *left, const void *right, int count)
{
    int *l = left;
    const int *r = right;

    for (int i = 0; i < count; i++) {
        product(&l[i * CELLS], &r[i * CELLS], &l[i * CELLS]);
    }
}

static void draw_maps(void *packed, int count, unsigned seed)
{
    int *parts = packed;

    for (int i = 0; i < 2 * count; i++) {
        parts[i] = (int)(collective_mix(seed, (unsigned)i, 7) % PRIME);
    }
}

/* First the left one, then the right one. */
static void compose(int l[2], int ra, int rb)
{
    l[0] = l[0] * ra % PRIME;
    l[1] = (l[1] * ra + rb) % PRIME;
}

static void compose_maps(void *left, const void *right, int count)
{
    int *l = left;
    const int *r = right;

    for (int i = 0; i < count; i++) {
        compose(&l[2 * i], r[2 * i], r[2 * i + 1]);
    }
}

/* ---- Operations of the program, as they are called ------------------------------------------ */

static void add_op(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    add_matrices(inout, in, *length);
}

static void multiply_op(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const int *l = in;
    int *r = inout;

    (void)type;
    for (int i = 0; i < *length; i++) {
        product(&l[i * CELLS], &r[i * CELLS], &r[i * CELLS]);
    }
}

static void compose_op(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++) {
        const char *l = (const char *)in + (ptrdiff_t)i * GAPS_EXTENT;
        char *r = (char *)inout + (ptrdiff_t)i * GAPS_EXTENT;
        int map[2], ra, rb;

        memcpy(&map[0], l, sizeof(int));
        memcpy(&map[1], l + GAPS_B, sizeof(int));
        memcpy(&ra, r, sizeof ra);
        memcpy(&rb, r + GAPS_B, sizeof rb);
        compose(map, ra, rb);
        memcpy(r, &map[0], sizeof(int));
        memcpy(r + GAPS_B, &map[1], sizeof(int));
    }
}

struct operation collective_operations[OPERATIONS] = {
    {"sum", INTS, false, draw_ints, sum_ints, MPI_OP_NULL},
    {"xor", INTS, false, draw_ints, xor_ints, MPI_OP_NULL},
    {"sum", DOUBLES, false, draw_exact, sum_doubles, MPI_OP_NULL},
    {"rounded sum", DOUBLES, true, draw_doubles, sum_doubles, MPI_OP_NULL},
    {"rounded sum", FLOATS, true, draw_floats, sum_floats, MPI_OP_NULL},
    {"max", DOUBLES, false, draw_doubles, max_doubles, MPI_OP_NULL},
    {"max", BYTES, false, draw_bytes, max_bytes, MPI_OP_NULL},
    {"minloc", PLACED, false, draw_placed, min_placed, MPI_OP_NULL},
    {"user's sum", MATRICES, false, draw_matrices, add_matrices, MPI_OP_NULL},
    {"user's product", MATRICES, false, draw_matrices, multiply_matrices, MPI_OP_NULL},
    {"user's composition", GAPS, false, draw_maps, compose_maps, MPI_OP_NULL},
};

enum { FIRST_OF_USER = 8 };

void collective_types_make(void)
{
    static const int at[] = {0, GAPS_B / (int)sizeof(int)};
    const MPI_Datatype simple[] = {MPI_INT, MPI_DOUBLE, MPI_FLOAT, MPI_CHAR};
    const MPI_Op simple_ops[FIRST_OF_USER] = {MPI_SUM, MPI_BXOR, MPI_SUM, MPI_SUM,
                                              MPI_SUM, MPI_MAX,  MPI_MAX, MPI_MINLOC};
    struct element *e = collective_elements;
    struct operation *o = collective_operations;
    MPI_Datatype parts;

    for (int i = INTS; i <= CHARS; i++) {
        e[i].type = simple[i];
    }
    e[BYTES].type = MPI_SIGNED_CHAR;
    e[PLACED].type = MPI_DOUBLE_INT;
    MTEST_OK(MPI_Type_vector(2, 3, 5, MPI_INT, &e[VECTORS].type));
    MTEST_OK(MPI_Type_create_indexed_block(2, 1, at, MPI_INT, &parts));
    MTEST_OK(MPI_Type_create_resized(parts, GAPS_LB, GAPS_EXTENT, &e[GAPS].type));
    MTEST_OK(MPI_Type_free(&parts));
    MTEST_OK(MPI_Type_contiguous(CELLS, MPI_INT, &e[MATRICES].type));
    for (int i = VECTORS; i <= MATRICES; i++) {
        MTEST_OK(MPI_Type_commit(&e[i].type));
    }
    for (int i = 0; i < FIRST_OF_USER; i++) {
        o[i].op = simple_ops[i];
    }
    MTEST_OK(MPI_Op_create(add_op, 1, &o[FIRST_OF_USER].op));
    MTEST_OK(MPI_Op_create(multiply_op, 0, &o[FIRST_OF_USER + 1].op));
    MTEST_OK(MPI_Op_create(compose_op, 0, &o[FIRST_OF_USER + 2].op));
}

void collective_types_free(void)
{
    for (int i = VECTORS; i <= MATRICES; i++) {
        MTEST_OK(MPI_Type_free(&collective_elements[i].type));
    }
    for (int i = FIRST_OF_USER; i < OPERATIONS; i++) {
        MTEST_OK(MPI_Op_free(&collective_operations[i].op));
    }
}
