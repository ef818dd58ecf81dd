/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * collective_cases.h - random persistent collectives, and what has to come of each start
 *
 * All ranks draw the same cases from a seed. What is to come is computed from the definitions of
 * MPI-4.1, element by element and without communication.
 */
#ifndef COLLECTIVE_CASES_H_INCLUDED
#define COLLECTIVE_CASES_H_INCLUDED

#include "mtest.h"

#include "collective_types.h"

enum { PLACES = 6, PLAIN_PLACES = 4, MAX_DIMS = 3, MAX_EDGES = 20 };

enum collective_kind { BARRIER, BCAST, ALLREDUCE, ALLGATHER, ALLTOALL, ALLTOALLV, KINDS };

/* A communicator: the world, a copy, a half of it, the world backwards, a grid, and a graph. */
struct place {
    MPI_Comm comm;
    const char *name;
    int size, rank;
    int n_dims, dims[MAX_DIMS], periods[MAX_DIMS]; /* of a grid */
    int n_edges, from[MAX_EDGES], to[MAX_EDGES];   /* of a graph */
};

/* Elements of a block, and whose data they are; key -1: nobody's. */
struct block {
    int key, count, displ;
};

struct collective {
    enum collective_kind kind;
    const struct place *place;
    const struct element *send_element, *recv_element;
    const struct operation *operation; /* of a reduction */
    int root, is_in_place;
    unsigned seed;
    int n_out, n_in;
    struct block out[MAX_EDGES], in[MAX_EDGES];
    int out_counts[MAX_EDGES], out_displs[MAX_EDGES], in_counts[MAX_EDGES], in_displs[MAX_EDGES];
    struct mtest_buf send, recv;
    unsigned long long seen[2]; /* what came of each of the two data that rounding is seen with */
    MPI_Request request;
};

/* All of MPI_COMM_WORLD make the same ones. Only if asked for has a process another one, or itself,
 * as neighbour more than once in a direction: in rings of one or two, and by edges of a graph. */
void collective_places_make(struct place places[PLACES], unsigned seed, bool has_repeats);
void collective_places_free(struct place places[PLACES]);

/* Draw a case, and make its request; or start the same as an operation that is not persistent, of
 * neighbours one that blocks: of these Open MPI 4.1 has no other right. The last two are collective
 * over the communicator. */
void collective_make(struct collective *c, const struct place places[PLACES], unsigned seed);
void collective_init(struct collective *c);
void collective_begin(struct collective *c);
/* The request is freed by now. */
void collective_unmake(struct collective *c);

/* Before a start, and after its completion, which run is it? */
void collective_fill(struct collective *c, int run);
void collective_check(struct collective *c, int run);

/* After at least two runs: what depends on rounding is the same everywhere; collective over the
 * communicator. */
void collective_agree(struct collective *c);

/* In words, for failures. */
const char *collective_text(const struct collective *c);

#endif /* COLLECTIVE_CASES_H_INCLUDED */
