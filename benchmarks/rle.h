/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * rle.h - patterns of the Game of Life in the run-length encoded format
 */
#ifndef MPIXQ_BENCH_RLE_H
#define MPIXQ_BENCH_RLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define RLE_MAX_SIDE 16384

struct rle_pattern {
    int width, height;
    uint8_t *cells; /* row by row, 0 or 1; freed by rle_free */
};

/* Read a pattern. name stands for the file in messages. On failure returns false, and message says
 * what is wrong, with name and line. */
bool rle_read(FILE *file, const char *name, struct rle_pattern *pattern, char *message,
              size_t message_size);
void rle_free(struct rle_pattern *pattern);

#endif
