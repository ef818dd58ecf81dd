/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * amo.c - atomic operations of the NIC: which there are, and what they do
 *
 * They are atomic among each other, because one engine does all that go to a process's memory. As
 * on the NIC they are not atomic against stores of the host: between load and store, others run.
 */
#include "double.h"

#include <sched.h>
#include <string.h>

enum { INTEGERS = 0xff, REALS = 0x3ff, NUMBERS = 0xfff, SWAPS = 0xcfff };

/* One bit per data type, in the order of enum fi_datatype: what the cxi provider offers. */
static const uint16_t plain_types[FI_ATOMIC_OP_LAST] = {
    [FI_MIN] = REALS,     [FI_MAX] = REALS,
    [FI_SUM] = NUMBERS,   [FI_LOR] = INTEGERS,
    [FI_LAND] = INTEGERS, [FI_LXOR] = INTEGERS,
    [FI_BOR] = INTEGERS,  [FI_BAND] = INTEGERS,
    [FI_BXOR] = INTEGERS, [FI_ATOMIC_WRITE] = NUMBERS,
};
static const uint16_t compare_types[FI_ATOMIC_OP_LAST] = {
    [FI_CSWAP] = SWAPS,    [FI_CSWAP_NE] = NUMBERS, [FI_CSWAP_LE] = REALS, [FI_CSWAP_LT] = REALS,
    [FI_CSWAP_GE] = REALS, [FI_CSWAP_GT] = REALS,   [FI_MSWAP] = INTEGERS,
};

size_t nic_type_size(enum fi_datatype datatype)
{
    static const size_t sizes[] = {
        [FI_INT8] = 1,          [FI_UINT8] = 1,
        [FI_INT16] = 2,         [FI_UINT16] = 2,
        [FI_INT32] = 4,         [FI_UINT32] = 4,
        [FI_INT64] = 8,         [FI_UINT64] = 8,
        [FI_FLOAT] = 4,         [FI_DOUBLE] = 8,
        [FI_FLOAT_COMPLEX] = 8, [FI_DOUBLE_COMPLEX] = 16,
        [FI_LONG_DOUBLE] = 16,  [FI_LONG_DOUBLE_COMPLEX] = 32,
        [FI_INT128] = 16,       [FI_UINT128] = 16,
    };

    return (size_t)datatype < sizeof(sizes) / sizeof(sizes[0]) ? sizes[datatype] : 0;
}

bool nic_amo_valid(enum nic_kind kind, enum fi_datatype datatype, enum fi_op op)
{
    uint32_t types;

    if ((unsigned)op >= FI_ATOMIC_OP_LAST || (unsigned)datatype > FI_UINT128) {
        return false;
    }
    if (op == FI_SUM && nic_switches.sum == NIC_NO) {
        return false;
    }
    types = kind == NIC_COMPARE ? compare_types[op] : plain_types[op];
    if (op == FI_ATOMIC_READ && kind == NIC_FETCH) {
        types = NUMBERS;
    }
    return (types >> datatype & 1) != 0;
}

/* Integers of any width, and one real: what is needed of each data type. */
struct value {
    bool is_real, is_signed;
    uint64_t bits;
    double real;
};

static struct value load(enum fi_datatype datatype, const void *from)
{
    struct value value = {.is_signed = datatype == FI_INT8 || datatype == FI_INT16 ||
                                       datatype == FI_INT32 || datatype == FI_INT64};
    size_t size = nic_type_size(datatype);
    float real;

    if (datatype == FI_FLOAT || datatype == FI_FLOAT_COMPLEX) {
        memcpy(&real, from, sizeof(real));
        value.is_real = true;
        value.real = (double)real;
    } else if (datatype == FI_DOUBLE || datatype == FI_DOUBLE_COMPLEX) {
        memcpy(&value.real, from, sizeof(value.real));
        value.is_real = true;
    } else {
        memcpy(&value.bits, from, size);
        if (value.is_signed && size < 8 && (value.bits >> (8 * size - 1) & 1) != 0) {
            value.bits |= ~0ULL << 8 * size;
        }
    }
    return value;
}

static void store(enum fi_datatype datatype, void *to, const struct value *value)
{
    float real = (float)value->real;

    if (datatype == FI_FLOAT || datatype == FI_FLOAT_COMPLEX) {
        memcpy(to, &real, sizeof(real));
    } else if (datatype == FI_DOUBLE || datatype == FI_DOUBLE_COMPLEX) {
        memcpy(to, &value->real, sizeof(value->real));
    } else {
        memcpy(to, &value->bits, nic_type_size(datatype));
    }
}

static int compare_values(const struct value *a, const struct value *b)
{
    if (a->is_real) {
        return (a->real > b->real) - (a->real < b->real);
    }
    if (a->is_signed) {
        return ((int64_t)a->bits > (int64_t)b->bits) - ((int64_t)a->bits < (int64_t)b->bits);
    }
    return (a->bits > b->bits) - (a->bits < b->bits);
}

static struct value combine(enum fi_op op, struct value a, struct value b)
{
    switch (op) {
    case FI_MIN:
        return compare_values(&b, &a) < 0 ? b : a;
    case FI_MAX:
        return compare_values(&b, &a) > 0 ? b : a;
    case FI_SUM:
        a.bits += b.bits;
        a.real += b.real;
        return a;
    case FI_LOR:
        a.bits = a.bits != 0 || b.bits != 0;
        return a;
    case FI_LAND:
        a.bits = a.bits != 0 && b.bits != 0;
        return a;
    case FI_LXOR:
        a.bits = (a.bits != 0) != (b.bits != 0);
        return a;
    case FI_BOR:
        a.bits |= b.bits;
        return a;
    case FI_BAND:
        a.bits &= b.bits;
        return a;
    case FI_BXOR:
        a.bits ^= b.bits;
        return a;
    default:
        return b;
    }
}

/* Whether the operand replaces what is there, given what it is compared with. */
static bool is_swapped(enum fi_op op, enum fi_datatype datatype, const void *target,
                       const void *compare)
{
    int order;

    if (op == FI_CSWAP || op == FI_CSWAP_NE) {
        return (memcmp(target, compare, nic_type_size(datatype)) == 0) == (op == FI_CSWAP);
    }
    struct value a = load(datatype, target), c = load(datatype, compare);
    order = compare_values(&c, &a);
    switch (op) {
    case FI_CSWAP_LE:
        return order <= 0;
    case FI_CSWAP_LT:
        return order < 0;
    case FI_CSWAP_GE:
        return order >= 0;
    default:
        return order > 0;
    }
}

/* A complex number is two reals, and only added. */
static void combine_into(const struct nic_header *header, unsigned char *value,
                         const unsigned char *operand)
{
    enum fi_datatype datatype = (enum fi_datatype)header->datatype;
    bool complex = datatype == FI_FLOAT_COMPLEX || datatype == FI_DOUBLE_COMPLEX;
    size_t part = nic_type_size(datatype) / (complex ? 2 : 1);

    for (size_t at = 0; at < nic_type_size(datatype); at += part) {
        struct value result = combine((enum fi_op)header->operation, load(datatype, value + at),
                                      load(datatype, operand + at));

        store(datatype, value + at, &result);
    }
}

static void apply_element(const struct nic_header *header, unsigned char *target,
                          const unsigned char *operand, const unsigned char *compare)
{
    enum fi_datatype datatype = (enum fi_datatype)header->datatype;
    enum fi_op op = (enum fi_op)header->operation;
    size_t size = nic_type_size(datatype);
    unsigned char value[32];

    memcpy(value, target, size);
    sched_yield();
    if (op == FI_ATOMIC_READ) {
        return;
    }
    if (op == FI_ATOMIC_WRITE) {
        memcpy(value, operand, size);
    } else if (op == FI_MSWAP) {
        for (size_t i = 0; i < size; i++) {
            value[i] = (unsigned char)((operand[i] & compare[i]) | (value[i] & ~compare[i]));
        }
    } else if (op >= FI_CSWAP) {
        if (!is_swapped(op, datatype, value, compare)) {
            return;
        }
        memcpy(value, operand, size);
    } else {
        combine_into(header, value, operand);
    }
    if (size == sizeof(uint64_t)) {
        uint64_t word;

        /* Somebody may be polling for this word, to read other memory then. */
        memcpy(&word, value, sizeof(word));
        __atomic_store_n((uint64_t *)(void *)target, word, __ATOMIC_RELEASE);
    } else {
        memcpy(target, value, size);
    }
}

/* result: NULL, or where the old values go. */
void nic_amo_apply(const struct nic_header *header, void *target, const void *operand,
                   const void *compare, void *result)
{
    size_t size = nic_type_size((enum fi_datatype)header->datatype);

    if (result != NULL) {
        memcpy(result, target, header->count * size);
    }
    for (size_t i = 0; i < header->count; i++) {
        apply_element(header, (unsigned char *)target + i * size,
                      (const unsigned char *)operand + i * size,
                      (const unsigned char *)compare + i * size);
    }
}
