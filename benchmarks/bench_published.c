/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_published.c - what an exchange takes by the implementation of the abstraction's paper
 *
 * P. G. Bridges and others, "Co-Design and Evaluation of a CPU-Free MPI GPU Communication
 * Abstraction and Implementation". Its measurements were made with a version in which every wait
 * is a kernel of its own, and every standard send has a trigger kernel of its own. So an exchange
 * of n messages each way takes on the stream
 *
 *     ready sends      2 + 2n launches: a flush, a trigger, 2n waits
 *     standard sends   3 + 3n launches: those, a trigger of the clear-to-sends, n of the sends
 *
 * and hands to the NIC 3 operations per pair of messages with ready sends (a write and two
 * completions), and 4 with standard ones (a clear-to-send as well). Packing is not counted.
 */
#include "bench.h"

struct bench_published bench_published(enum bench_mode mode, int messages)
{
    switch (mode) {
    case BENCH_STREAM:
        return (struct bench_published){.launches = 3 + 3 * messages, .posts = 4 * messages};
    case BENCH_STREAM_READY:
        return (struct bench_published){.launches = 2 + 2 * messages, .posts = 3 * messages};
    default:
        return (struct bench_published){0};
    }
}
