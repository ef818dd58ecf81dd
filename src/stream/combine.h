/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The parameters of what combines, as others in pieces.h. Includes nothing either.
 */
#ifndef MPIXQ_COMBINE_H
#define MPIXQ_COMBINE_H

/* What an element is. */
enum mpixq_number {
    MPIXQ_INT8,
    MPIXQ_INT16,
    MPIXQ_INT32,
    MPIXQ_INT64,
    MPIXQ_UINT8,
    MPIXQ_UINT16,
    MPIXQ_UINT32,
    MPIXQ_UINT64,
    MPIXQ_FLOAT, /* from here on floating-point numbers */
    MPIXQ_DOUBLE,
    MPIXQ_FLOAT16, /* binary16 of IEEE 754, half precision; from here on of 16 bits */
    MPIXQ_BFLOAT16 /* the upper half of a float */
};
enum mpixq_operation {
    MPIXQ_SUM,
    MPIXQ_PROD,
    MPIXQ_MIN,
    MPIXQ_MAX,
    MPIXQ_LAND, /* from here on not of floating-point numbers */
    MPIXQ_LOR,
    MPIXQ_LXOR,
    MPIXQ_BAND,
    MPIXQ_BOR,
    MPIXQ_BXOR
};
enum { MPIXQ_CONTRIBUTIONS = 8, MPIXQ_WIDE_BYTES = 4 << 20 /* from here on by words */ };
/* Contributions to a reduction are combined, the first with the second, what that gives with the
 * third, and so on; the result goes to to, which may be one of them. Of one alone it is a copy. */
struct mpixq_combine {
    void *word; /* where value is stored when that is done, by a launch of one block; or NULL */
    unsigned long long value;
    /* Nothing is done if go, a word of the GPU, is 0; or, if it is NULL, if closed, another one, is
     * not NULL and not 0. What sets go is a wait of an end, which has closed; where closed is NULL,
     * that of the launch before, and none else. */
    void *go;
    const void *closed;
    char *to;
    const char *from[MPIXQ_CONTRIBUTIONS];
    unsigned long long count; /* of elements */
    unsigned long long bytes; /* of them */
    unsigned n, blocks;
    unsigned char number, operation;
};

#endif
