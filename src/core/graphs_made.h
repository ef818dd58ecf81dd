/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What graphs.c knows, and the other files whose names begin so: nobody else.
 */
#ifndef MPIXQ_GRAPHS_MADE_H
#define MPIXQ_GRAPHS_MADE_H

#include "graphs.h"
#include "util/lock.h"

struct graph;

/* The lock guards all of these. */
struct mpixq_graphs_made {
    struct mpixq_lock lock;
    struct mpixq_counted *counted;
    struct graph *graphs;
    atomic_uint n_counted;
    atomic_uint idle; /* looks since the last one that found a start */
    _Atomic(mpixq_graphs_looker *) looker;
};
extern struct mpixq_graphs_made mpixq_graphs_made;

#endif
