/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "ranks.h"

#include <stddef.h>

enum {
    PLACES = 8,  /* side by side, at any of which a peer may be remembered */
    CHUNK = 1024 /* ranks that MPI is asked for at a time */
};

/* Neighbours in a grid differ by powers of its width, and must not meet at the same place. */
static unsigned first_place(int peer)
{
    return (uint32_t)peer * UINT32_C(2654435769) >> (32 - MPIXQ_RANKS_BITS);
}

/* Keep it at the first place that is free, or else in turns: the places of peers that are asked for
 * no more are free again after a while. Another thread may write to the same place; then one of the
 * two is asked for once more. */
static void remember(struct mpixq_ranks *ranks, int peer, int world)
{
    unsigned first = first_place(peer), chosen = PLACES;

    for (unsigned i = 0; i < PLACES && chosen == PLACES; i++) {
        unsigned place = (first + i) % MPIXQ_RANKS_KNOWN;

        if (atomic_load_explicit(&ranks->known[place], memory_order_relaxed) == 0) {
            chosen = i;
        }
    }
    if (chosen == PLACES) {
        chosen = atomic_fetch_add_explicit(&ranks->replaced, 1, memory_order_relaxed) % PLACES;
    }
    atomic_store_explicit(&ranks->known[(first + chosen) % MPIXQ_RANKS_KNOWN],
                          ((uint64_t)peer + 1) << 32 | (uint32_t)world, memory_order_relaxed);
}

int mpixq_ranks_of_peer(struct mpixq_ranks *ranks, MPI_Group world, MPI_Group peers, int peer)
{
    unsigned first = first_place(peer);
    int rank = MPI_UNDEFINED;

    for (unsigned i = 0; i < PLACES && peer >= 0; i++) {
        unsigned place = (first + i) % MPIXQ_RANKS_KNOWN;
        uint64_t entry = atomic_load_explicit(&ranks->known[place], memory_order_relaxed);

        if (entry >> 32 == (uint64_t)peer + 1) {
            return (int)(uint32_t)entry;
        }
    }
    if (PMPI_Group_translate_ranks(peers, 1, &peer, world, &rank) != MPI_SUCCESS) {
        return MPI_UNDEFINED;
    }
    if (peer >= 0) {
        remember(ranks, peer, rank);
    }
    return rank;
}

bool mpixq_ranks_each(MPI_Group world, MPI_Group group,
                      bool (*visit)(const int *ranks, int n, void *arg), void *arg)
{
    int own[CHUNK], ranks[CHUNK], size;

    if (PMPI_Group_size(group, &size) != MPI_SUCCESS) {
        return false;
    }
    for (int first = 0; first < size; first += CHUNK) {
        int n = size - first < CHUNK ? size - first : CHUNK;

        for (int i = 0; i < n; i++) {
            own[i] = first + i;
        }
        if (PMPI_Group_translate_ranks(group, n, own, world, ranks) != MPI_SUCCESS ||
            !visit(ranks, n, arg)) {
            return false;
        }
    }
    return true;
}

static bool are_known(const int *ranks, int n, void *arg)
{
    (void)arg;
    for (int i = 0; i < n; i++) {
        if (ranks[i] == MPI_UNDEFINED) {
            return false;
        }
    }
    return true;
}

/* To subtract MPI_COMM_WORLD would compare each process with all of it in some MPI libraries. */
bool mpixq_ranks_are_all(MPI_Group world, MPI_Group group)
{
    return mpixq_ranks_each(world, group, are_known, NULL);
}

bool mpixq_ranks_first(MPI_Group world, MPI_Group group, int *rank_p)
{
    int first = 0;

    return PMPI_Group_translate_ranks(group, 1, &first, world, rank_p) == MPI_SUCCESS;
}
