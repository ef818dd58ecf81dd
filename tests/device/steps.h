/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * steps.h - what a kernel of the tests does with handles of requests, one step after the other
 */
#ifndef DEVICE_STEPS_H_INCLUDED
#define DEVICE_STEPS_H_INCLUDED

#ifndef MPIX_QUEUE_DEVICE_RANGES_H_INCLUDED
#define MPIX_QUEUE_DEVICE_ONLY
#include "../../include/mpix_queue_device_ranges.h"
#endif

enum device_do {
    DEVICE_START,    /* whole messages, by the first unit of the first block */
    DEVICE_WAIT,     /* likewise */
    DEVICE_TEST,     /* again and again until it is there */
    DEVICE_STARTALL, /* of count handles */
    DEVICE_WAITALL,
    DEVICE_WAITANY,    /* until none is left */
    DEVICE_PUT,        /* what stands in data, by all threads of all blocks */
    DEVICE_GET,        /* to data, likewise */
    DEVICE_DIRECT,     /* from data to the buffer of the peer, likewise */
    DEVICE_PUT_FEW,    /* all elements but the last, then all */
    DEVICE_FORWARD,    /* what comes by the first handle to the second one, and to data */
    DEVICE_ROUNDS,     /* count times: put by the first handle, get by the second one and compare */
    DEVICE_PUT_RANGES, /* as DEVICE_PUT, by ranges of each unit */
    DEVICE_GET_RANGES, /* likewise */
    DEVICE_RANGE_ROUNDS, /* as DEVICE_ROUNDS */
    DEVICE_WRONG_RANGES  /* by one unit: what a message does not have, then all of it */
};

enum { DEVICE_STEPS = 12, DEVICE_HANDLES = 16 };

struct device_step {
    unsigned todo, first, count, scope;
    unsigned long long limit_ns;
    unsigned *data;
    unsigned
        *result; /* the last error, in memory of the host; of rounds: wrong elements, or -error */
};

struct device_script {
    unsigned n, n_handles;
    struct device_step step[DEVICE_STEPS];
    struct mpixq_device_request handle[DEVICE_HANDLES];
};

#endif /* DEVICE_STEPS_H_INCLUDED */
