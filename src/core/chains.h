/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Seam: pairs that are started together, of which some sends wait for data that others receive: the
 * messages of a collective. A channel whose NICs can wait for that by themselves says so in its
 * table (channel.h); with others the host starts each round when the one before it is complete.
 *
 * It is the matter of one process alone: to its peers its messages are like any other.
 */
#ifndef MPIXQ_CORE_CHAINS_H
#define MPIXQ_CORE_CHAINS_H

struct mpixq_pair;

/* A message of the process, and its round. */
struct mpixq_link {
    struct mpixq_pair *pair;
    int round;
};

struct mpixq_channel_chains {
    /* Under the matching lock: all of them, one at least, in the order of their rounds, are
     * matched, go by this channel and were never started. From now on they are started together,
     * each time, and the next time when all have completed. Then each send waits for the data of
     * the receives of earlier rounds. May have said before the match that it may come to this
     * (pair->may_chain). NULL: it is so; else why not, and nothing has changed. */
    const char *(*link)(const struct mpixq_link links[], int n);
};

#endif
