/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Reductions of numbers in memory of a GPU: each operation of MPI with each type that it has, small
 * and large, with new numbers in each start. The result is that of one contribution after the other
 * in the order of ranks, bit by bit, on every rank, also where the host does it, by the same code,
 * or by MPI_Reduce_local with an operation that kernels do not know; guards are as they were. Of
 * numbers of 16 bits, which MPI need not be able to reduce, every one is there.
 *
 *     gpu_reduce [mixed] [halves]   mixed: rank 0 has its numbers in memory of the host; halves: of
 *                                   16 bits only */
#include "mtest.h"

#include <stdlib.h>
#include <string.h>

#include "apart.h"
#include "collective_names.h"
#include "comm/halves_ext.h"
#include "halves.h"
#include "mtest_gpu.h"

enum {
    MOST = 20000,
    HALVES = 65536,
    FEW = 3000,
    N_COUNTS = 3,
    GUARD = 64,
    ROUNDS = 2,
    UNSET = 0x5b
};

static void *stream;
static MPIX_Queue queue;
static int ranks;
static enum mtest_memory memory = MTEST_DEVICE;

struct type {
    MPI_Datatype type;
    const char *name;
    bool is_float, has_arithmetic;
    int fraction; /* of a number of 16 bits; 0: it has other ones */
};

enum which {
    SUM = HALVES_SUM,
    PRODUCT = HALVES_PRODUCT,
    MINIMUM = HALVES_MINIMUM,
    MAXIMUM = HALVES_MAXIMUM,
    LOGICAL_AND,
    LOGICAL_OR,
    LOGICAL_XOR,
    AND,
    OR,
    XOR
};

struct operation {
    MPI_Op op;
    enum which which;
    const char *name;
    bool of_floats, is_bitwise;
};

/* Floating-point numbers of which sums depend on the order, and products stay finite; none is zero,
 * since which of two zeros is larger is up to MPI. */
static void make_numbers(unsigned char *to, const struct type *type, int bytes, int n,
                         unsigned *state)
{
    for (int i = 0; i < n; i++) {
        *state = *state * 1103515245U + 12345U;
        if (type->is_float && bytes == (int)sizeof(float)) {
            float value = (float)(int)(*state >> 8) / 8388608.0f - 1.0000001f;

            memcpy(to + (size_t)i * sizeof value, &value, sizeof value);
        } else if (type->is_float) {
            double value = (double)(int)(*state >> 4) / 134217728.0 - 1.00000000001;

            memcpy(to + (size_t)i * sizeof value, &value, sizeof value);
        } else {
            for (int k = 0; k < bytes; k++) {
                *state = *state * 1103515245U + 12345U;
                to[i * bytes + k] = *state % 5 == 0 ? 0 : (unsigned char)(*state >> 16);
            }
        }
    }
}

/* Of 16 bits, whatever they mean: each of them, if there are so many. */
static void make_halves(unsigned char *to, int n, unsigned seed)
{
    for (int i = 0; i < n; i++) {
        unsigned short value = (unsigned short)(seed / 16 + (unsigned)i * (2 * seed + 1));

        memcpy(to + (size_t)i * sizeof value, &value, sizeof value);
    }
}

/* An integer, extended to 64 bits. */
static unsigned long long load(const unsigned char *at, size_t bytes, bool is_unsigned)
{
    unsigned long long value = 0, sign = 1ULL << (8 * bytes - 1);

    memcpy(&value, at, bytes);
    return !is_unsigned && bytes < sizeof value && (value & sign) != 0 ? value - 2 * sign : value;
}

static bool is_less(unsigned long long x, unsigned long long y, bool is_unsigned)
{
    return is_unsigned ? x < y : (long long)x < (long long)y;
}

static unsigned long long apply(enum which which, unsigned long long x, unsigned long long y,
                                bool is_unsigned)
{
    switch (which) {
    case SUM:
        return x + y;
    case PRODUCT:
        return x * y;
    case MINIMUM:
        return is_less(x, y, is_unsigned) ? x : y;
    case MAXIMUM:
        return is_less(y, x, is_unsigned) ? x : y;
    case LOGICAL_AND:
        return x && y;
    case LOGICAL_OR:
        return x || y;
    case LOGICAL_XOR:
        return !x != !y;
    case AND:
        return x & y;
    case OR:
        return x | y;
    default:
        return x ^ y;
    }
}

/* Integers wrap around. Not so MPI's everywhere: Open MPI 4.1 may add small ones with
 * saturation, and MPICH 4.0 takes unsigned ones for signed ones in minima and maxima. */
static void fold_integers(unsigned char *const from[], int n, size_t bytes, bool is_unsigned,
                          enum which which)
{
    for (int k = 1; k < ranks; k++) {
        for (size_t i = 0; i < (size_t)n * bytes; i += bytes) {
            unsigned long long value = apply(which, load(from[k - 1] + i, bytes, is_unsigned),
                                             load(from[k] + i, bytes, is_unsigned), is_unsigned);

            memcpy(from[k] + i, &value, bytes);
        }
    }
}

static void fold_halves(unsigned char *const from[], int n, int fraction, enum which which)
{
    for (int k = 1; k < ranks; k++) {
        for (int i = 0; i < n; i++) {
            unsigned short a, b;

            memcpy(&a, from[k - 1] + (size_t)i * sizeof a, sizeof a);
            memcpy(&b, from[k] + (size_t)i * sizeof b, sizeof b);
            b = halves_apply((enum halves_operation)which, a, b, fraction);
            memcpy(from[k] + (size_t)i * sizeof b, &b, sizeof b);
        }
    }
}

/* What all ranks are to have: from[k] is what rank k has. */
static void fold(unsigned char *const from[], int n, const struct type *type,
                 const struct operation *op)
{
    int bytes = 0;

    MPI_Type_size(type->type, &bytes);
    if (type->fraction != 0) {
        fold_halves(from, n, type->fraction, op->which);
        return;
    }
    if (!type->is_float) {
        fold_integers(from, n, (size_t)bytes, type->name[0] == 'u' || !type->has_arithmetic,
                      op->which);
        return;
    }
    for (int k = 1; k < ranks; k++) {
        MTEST_OK(MPI_Reduce_local(from[k - 1], from[k], n, type->type, op->op));
    }
}

struct buffers {
    unsigned char *in, *out;      /* of the GPU, with guards */
    unsigned char *host, *result; /* copies */
    unsigned char **all;          /* of each rank */
};

static void check(const struct buffers *b, const struct type *type, const struct operation *op,
                  int n, int bytes)
{
    const unsigned char *want = b->all[ranks - 1];
    size_t data = (size_t)n * (size_t)bytes;
    int wrong = 0;

    for (size_t i = 0; i < data + 2 * GUARD; i++) {
        unsigned char right = i < GUARD || i >= GUARD + data ? UNSET : want[i - GUARD];

        if (b->result[i] != right && wrong++ < 3) {
            mtest_fail(__FILE__, __LINE__, "%s of %d %s: byte %ld of %ld is %d, expected %d",
                       op->name, n, type->name, (long)i - GUARD, (long)data, b->result[i], right);
        }
    }
}

static void run(const struct buffers *b, const struct type *type, const struct operation *op, int n,
                bool in_place)
{
    int bytes = 0;
    size_t data, room;
    MPI_Request r;

    MPI_Type_size(type->type, &bytes);
    data = (size_t)n * (size_t)bytes;
    room = data + 2 * GUARD;
    MTEST_OK(COLLECTIVE(Allreduce_init)(in_place ? MPI_IN_PLACE : b->in + GUARD, b->out + GUARD, n,
                                        type->type, op->op, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    MTEST_OK(MPIX_Match(&r));
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < ranks; k++) {
            unsigned state = 7u * (unsigned)(round + 3 * k + n + bytes) + 1u;

            if (type->fraction != 0) {
                make_halves(b->all[k], n, state);
            } else {
                make_numbers(b->all[k], type, bytes, n, &state);
            }
        }
        memset(b->host, UNSET, room);
        mtest_gpu_copy(stream, b->out, b->host, room);
        mtest_gpu_synchronize(stream);
        memcpy(b->host + GUARD, b->all[mtest_rank], data);
        mtest_gpu_copy(stream, in_place ? b->out : b->in, b->host, room);
        if (round % 2 == 0) {
            MTEST_OK(MPIX_Enqueue_startwaitall(queue, 1, &r));
        } else {
            MTEST_OK(MPIX_Enqueue_start(queue, &r));
            MTEST_OK(MPIX_Enqueue_wait(queue, &r));
        }
        mtest_gpu_copy(stream, b->result, b->out, room);
        mtest_gpu_synchronize(stream);
        MTEST_OK(MPIX_Queue_wait(queue));
        fold(b->all, n, type, op);
        check(b, type, op, n, bytes);
    }
    MTEST_OK(MPI_Request_free(&r));
}

static const struct buffers *make(struct buffers *b)
{
    size_t room = MOST * sizeof(double) + 2 * GUARD;

    b->in = mtest_gpu_alloc(memory, room);
    b->out = mtest_gpu_alloc(memory, room);
    b->host = malloc(room);
    b->result = malloc(room);
    b->all = malloc((size_t)ranks * sizeof *b->all);
    for (int k = 0; k < ranks; k++) {
        b->all[k] = malloc(room);
    }
    return b;
}

static void unmake(struct buffers *b)
{
    mtest_gpu_free(memory, b->in);
    mtest_gpu_free(memory, b->out);
    for (int k = 0; k < ranks; k++) {
        free(b->all[k]);
    }
    free(b->all);
    free(b->host);
    free(b->result);
}

/* Those of floating-point numbers come first. */
static const struct operation ops[] = {
    {MPI_SUM, SUM, "sum", true, false},
    {MPI_PROD, PRODUCT, "product", true, false},
    {MPI_MIN, MINIMUM, "minimum", true, false},
    {MPI_MAX, MAXIMUM, "maximum", true, false},
    {MPI_LAND, LOGICAL_AND, "logical and", false, false},
    {MPI_LOR, LOGICAL_OR, "logical or", false, false},
    {MPI_LXOR, LOGICAL_XOR, "logical exclusive or", false, false},
    {MPI_BAND, AND, "and", false, true},
    {MPI_BOR, OR, "or", false, true},
    {MPI_BXOR, XOR, "exclusive or", false, true},
};

/* A number of 16 bits, of which MPI has the type if it has such numbers at all. */
static void run_halves(const struct buffers *b, bool keeps_order)
{
    const struct type types[] = {{MPIXQ_MPI_FLOAT16, "float16", true, true, 10},
                                 {MPIXQ_MPI_BFLOAT16, "bfloat16", true, true, 7}};

    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        int bytes = 0;

        if (types[t].type != MPI_DATATYPE_NULL) {
            MPI_Type_size(types[t].type, &bytes);
        }
        for (int o = 0; bytes == 2 && ops[o].of_floats; o++) {
            run(b, &types[t], &ops[o], 37, o % 2 == 0);
            run(b, &types[t], &ops[o], keeps_order ? HALVES : FEW, o % 2 == 1);
        }
    }
}

/* MPI does not say what a logical operation is of an address, and of Fortran's integers there is
 * none. An MPI without Fortran does not have its types. */
static bool is_there(const struct type *type, const struct operation *op)
{
    bool is_plain = type->type == MPI_AINT || type->name[0] == 'I' || type->is_float;

    return type->type != MPI_DATATYPE_NULL && (op->of_floats || !is_plain) &&
           (type->has_arithmetic || op->is_bitwise);
}

static void run_all(const struct buffers *b, bool keeps_order)
{
    const struct type types[] = {
        {MPI_SIGNED_CHAR, "signed char", false, true, 0},
        {MPI_UNSIGNED_CHAR, "unsigned char", false, true, 0},
        {MPI_SHORT, "short", false, true, 0},
        {MPI_UNSIGNED_SHORT, "unsigned short", false, true, 0},
        {MPI_INT, "int", false, true, 0},
        {MPI_UNSIGNED, "unsigned", false, true, 0},
        {MPI_LONG, "long", false, true, 0},
        {MPI_UNSIGNED_LONG_LONG, "unsigned long long", false, true, 0},
        {MPI_INT8_T, "int8_t", false, true, 0},
        {MPI_UINT16_T, "uint16_t", false, true, 0},
        {MPI_INT32_T, "int32_t", false, true, 0},
        {MPI_INT64_T, "int64_t", false, true, 0},
        {MPI_AINT, "MPI_Aint", false, true, 0},
        {MPI_BYTE, "byte", false, false, 0},
        {MPI_FLOAT, "float", true, true, 0},
        {MPI_DOUBLE, "double", true, true, 0},
        {MPI_INTEGER, "INTEGER", false, true, 0},
        {MPI_INTEGER2, "INTEGER*2", false, true, 0},
        {MPI_REAL, "REAL", true, true, 0},
        {MPI_DOUBLE_PRECISION, "DOUBLE PRECISION", true, true, 0},
    };
    const int counts[N_COUNTS] = {1, 37, FEW};

    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++) {
            for (size_t c = 0; is_there(&types[t], &ops[o]) && c < N_COUNTS; c++) {
                run(b, &types[t], &ops[o], counts[c], (t + o + c) % 2 == 1);
            }
        }
    }
    run(b, &types[keeps_order ? 15 : 4], &ops[0], MOST, false);
    run(b, &types[keeps_order ? 15 : 4], &ops[0], MOST, true);
}

/* In the order of ranks, as it does not commute: a - b / 2. */
static void subtract(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const double *a = in;
    double *b = inout;

    (void)type;
    for (int i = 0; i < *n; i++) {
        b[i] = a[i] - b[i] / 2;
    }
}

int main(int argc, char **argv)
{
    const struct type doubles = {MPI_DOUBLE, "double", true, true, 0};
    struct operation own = {MPI_OP_NULL, SUM, "difference", true, false};
    struct buffers b;
    bool keeps_order;

    mtest_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    apart_begin();
    if (!HAVE_COLLECTIVES || mtest_gpu_kind() == NULL) {
        mtest_skip("this MPI has no persistent collectives, or MTEST_STREAM names no GPU");
        return mtest_end();
    }
    if (argc > 1 && strcmp(argv[1], "mixed") == 0 && mtest_rank == 0) {
        memory = MTEST_PINNED;
    }
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    stream = mtest_gpu_stream();
    MTEST_OK(mtest_gpu_queue(&queue, MPIX_QUEUE_AUTO, &stream));
    (void)make(&b);
    /* What is long, more than two hosts combine in another order. */
    keeps_order = ranks == 2 || getenv("MPIXQ_DIRECT_KIB") != NULL;
    run_halves(&b, keeps_order);
    if (argc < 2 || strcmp(argv[argc - 1], "halves") != 0) {
        run_all(&b, keeps_order);
        if (apart_ranks() == 0) { /* else hosts combine in rounds, and it is not associative */
            MTEST_OK(MPI_Op_create(subtract, 0, &own.op));
            run(&b, &doubles, &own, 100, false);
            MTEST_OK(MPI_Op_free(&own.op));
        }
    }
    unmake(&b);
    MTEST_OK(MPIX_Queue_free(&queue));
    mtest_gpu_stream_end(stream);
    return mtest_end();
}
