/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * rle.h - patterns of cellular automata in the run-length encoded format
 */
#ifndef MPIXQ_BENCH_RLE_H
#define MPIXQ_BENCH_RLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define RLE_MAX_SIDE 65536
#define RLE_MAX_CELLS (1L << 28)

/* Bit n is set if a cell with n living neighbours is born, or survives. */
struct life_rule {
    uint16_t birth;
    uint16_t survive;
};

struct rle_pattern {
    int width, height;
    struct life_rule rule;
    uint8_t *cells; /* row by row, 0 or 1; freed by rle_free */
};

/* Read a pattern. name stands for the file in messages. On failure returns false, and message says
 * what is wrong, with name and line. */
bool rle_read(FILE *file, const char *name, struct rle_pattern *pattern, char *message,
              size_t message_size);
bool rle_parse_rule(const char *text, struct life_rule *rule_p);
void rle_free(struct rle_pattern *pattern);

#endif
