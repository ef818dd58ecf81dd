/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * halves.h - what a sum, a product, a minimum and a maximum of floating-point numbers of 16 bits
 * are, by the definitions: the exact result, as a double and what that leaves out, rounded once. So
 * many bits of a number are its fraction: 10 of binary16, 7 of bfloat16.
 */
#ifndef HALVES_H
#define HALVES_H

#include <math.h>
#include <stdbool.h>

enum halves_operation { HALVES_SUM, HALVES_PRODUCT, HALVES_MINIMUM, HALVES_MAXIMUM };

static inline int halves_bias(int fraction)
{
    return (1 << (14 - fraction)) - 1;
}

static inline double halves_value(unsigned number, int fraction)
{
    int exponent = (int)(number & 0x7fff) >> fraction, bias = halves_bias(fraction);
    int one = 1 << fraction, rest = (int)number & (one - 1);
    double value = exponent == 0 ? ldexp(rest, 1 - bias - fraction)
                                 : ldexp(one + rest, exponent - bias - fraction);

    if (exponent == 2 * bias + 1) {
        value = rest == 0 ? (double)INFINITY : (double)NAN;
    }
    return (number & 0x8000) != 0 ? -value : value;
}

/* A magnitude, and what is missing of it. */
static inline unsigned halves_round(double value, double missing, int fraction)
{
    int exponent, bias = halves_bias(fraction);
    unsigned infinite = (2u * (unsigned)bias + 1) << fraction, whole;
    double units, rest;

    if (isinf(value)) {
        return infinite;
    }
    (void)frexp(value, &exponent); /* from 0.5 to 1 */
    exponent = value == 0 || exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    if (exponent > bias) {
        return infinite;
    }
    units = ldexp(value, fraction - exponent);
    whole = (unsigned)units;
    rest = units - whole;
    if (rest > 0.5 || (rest == 0.5 && (missing > 0 || (missing == 0 && whole % 2 == 1)))) {
        whole++;
    }
    /* Those of the smallest exponent follow each other from 0 on, and all others those. */
    return whole + ((unsigned)(exponent + bias - 1) << fraction);
}

static inline double halves_missing(double a, double b, double sum)
{
    double of_b = sum - a, of_a = sum - of_b;

    return isinf(sum) ? 0 : (a - of_a) + (b - of_b);
}

static inline unsigned short halves_apply(enum halves_operation operation, unsigned short a,
                                          unsigned short b, int fraction)
{
    double x = halves_value(a, fraction), y = halves_value(b, fraction), value, missing;

    if (operation == HALVES_MINIMUM) {
        return y < x ? b : a;
    }
    if (operation == HALVES_MAXIMUM) {
        return y > x ? b : a;
    }
    value = operation == HALVES_SUM ? x + y : x * y;
    if (isnan(value)) { /* always the same one */
        return (unsigned short)(((2 * halves_bias(fraction) + 1) << fraction) |
                                1 << (fraction - 1));
    }
    missing = operation == HALVES_SUM ? halves_missing(x, y, value) : 0;
    return (unsigned short)(halves_round(fabs(value), value < 0 ? -missing : missing, fraction) |
                            (signbit(value) ? 0x8000 : 0));
}

#endif
