/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * matrix.h - sparse symmetric matrices by rows: from a file, or of a Poisson problem
 */
#ifndef MPIXQ_BENCH_MATRIX_H
#define MPIXQ_BENCH_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Some rows of a square matrix, with all of their entries. */
struct matrix {
    size_t side;  /* of the whole matrix */
    size_t first; /* row that is here, and how many are */
    size_t rows;
    size_t *begin;     /* of the entries of each row, and where the last one ends */
    uint32_t *columns; /* of the whole matrix, in ascending order in each row */
    double *values;
};

enum { MATRIX_TEXT = 256 };               /* room for a message */
#define MATRIX_MAX_SIDE ((size_t)1 << 30) /* counts of MPI fit into an int */

/* Read a whole matrix in coordinate format. If it is not what conjugate gradients can solve, as far
 * as can be seen without solving, returns false with nothing to free and the reason, behind the
 * name of the file and where it has one the line. */
bool matrix_read(FILE *file, const char *name, struct matrix *matrix, char message[MATRIX_TEXT]);

/* Rows of the matrix of Poisson's equation on a grid of so many points, of two dimensions with a
 * stencil of 5, of three with one of 7. The grid is as even as it gets, and its last line is as
 * long as comes out. */
void matrix_poisson(struct matrix *matrix, size_t points, int stencil, size_t first, size_t rows);

void matrix_free(struct matrix *matrix);

/* out = A in, of these rows; in has all elements. */
void matrix_multiply(const struct matrix *matrix, const double in[], double out[]);

#endif
