/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * puts.h - what a kernel of the tests does with windows and signals, one step after the other
 */
#ifndef DEVICE_PUTS_H_INCLUDED
#define DEVICE_PUTS_H_INCLUDED

#ifndef MPIX_QUEUE_DEVICE_RMA_H_INCLUDED
#define MPIX_QUEUE_DEVICE_ONLY
#include "../../include/mpix_queue_device_rma.h"
#endif

enum puts_do {
    PUTS_FILL, /* data[0] with value and the numbers after it */
    PUTS_PUT,  /* by transfer[0] */
    PUTS_WAIT, /* for signal[0], and then compare got[0] likewise, if there is such */
    PUTS_RESET,
    PUTS_WAIT_RESET, /* both by one call, and compare */
    /* count times all that, by turns with [0] and [1]: value is of the first round; waits and
     * resets by two calls in each third one */
    PUTS_ROUNDS
};

enum { PUTS_STEPS = 8 };

/* All by the first unit of the first block, but for the filling. */
struct puts_step {
    unsigned todo, scope, count, value, theirs, words;
    unsigned long long limit_ns;
    struct mpixq_device_transfer transfer[2];
    struct mpixq_device_signal signal[2];
    unsigned *data[2], *got[2];
    unsigned *result; /* of memory of the host: the last error, and how many words were wrong */
};

struct puts_script {
    unsigned n;
    struct puts_step step[PUTS_STEPS];
};

#endif /* DEVICE_PUTS_H_INCLUDED */
