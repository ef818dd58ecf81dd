/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * collective_types.h - datatypes and operations of collective_cases.h
 *
 * Data is drawn and computed packed, that is as the bytes of one element after the other without
 * gaps, which MPI_Unpack lays out in memory.
 */
#ifndef COLLECTIVE_TYPES_H_INCLUDED
#define COLLECTIVE_TYPES_H_INCLUDED

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    INTS,
    DOUBLES,
    FLOATS,
    CHARS,
    VECTORS,
    GAPS,
    MATRICES,
    PLAIN_ELEMENTS,
    BYTES,
    PLACED,
    ELEMENTS
};

struct element {
    const char *name;
    int packed; /* bytes of data in one */
    int ints;   /* it is made of so many, or of something else if 0 */
    MPI_Datatype type;
};

struct operation {
    const char *name;
    int element;
    bool is_rounding;
    void (*draw)(void *packed, int count, unsigned seed);
    void (*fold)(void *left, const void *right, int count); /* left becomes left OP right */
    MPI_Op op;
};

extern struct element collective_elements[ELEMENTS];
enum { OPERATIONS = 11 };
extern struct operation collective_operations[OPERATIONS];

void collective_types_make(void);
void collective_types_free(void);

unsigned collective_mix(unsigned a, unsigned b, unsigned c);

#endif /* COLLECTIVE_TYPES_H_INCLUDED */
