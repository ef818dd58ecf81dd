/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * counts.h - what the library takes: calls of MPI, live MPI requests, memory
 *
 * A test program that links counts.c defines the PMPI_ functions that the library makes requests,
 * control messages and collective calls with; they count and pass on. So that the allocations of
 * the library, and no others, are counted, it is linked with the static library and with --wrap for
 * the functions of the heap, and for the one that takes a counter of the NIC: what MPI allocates
 * does not go through the program's own references to them.
 */
#ifndef COUNTS_H_INCLUDED
#define COUNTS_H_INCLUDED

/* Calls that the library made so far. */
struct counts {
    long messages;     /* control messages sent */
    long taken;        /* and received */
    long requests;     /* MPI requests that the library made, */
    long live;         /* of these not completed or freed, */
    long live_max;     /* and the most there were at a time */
    long translations; /* of ranks between groups, each of which may cost MPI the size of the job */
    long sizes;        /* questions for the size of a communicator */
    long collectives;  /* collective calls of all processes: not of one alone, or of a node */
    long counters;     /* of the NIC, taken by the channel cxi; 0 in a build without it */
    long blocks;       /* of memory allocated */
    long bytes;        /* in blocks that are live, with what malloc adds to them */
    long bytes_max;
};

struct counts counts_now(void);
/* Begin anew to look for the most live requests and bytes. */
void counts_reset_max(void);
/* From now on every communicator has so many processes, for the library; but that of a node. */
void counts_set_size(int size);

#endif /* COUNTS_H_INCLUDED */
