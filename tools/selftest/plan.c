/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * plan.c - which ranks are neighbours, and who is tested when
 *
 * Pairs are each rank and itself; neighbours in the ring of ranks; and on each node, as far as
 * --pairs allows, ranks for all two GPUs, and for all two NUMA domains. They are put into rounds,
 * in each of which a rank is in one pair at most. All ranks make the same plan of the same facts.
 */
#include <stdlib.h>
#include <string.h>

#include "selftest.h"

enum { ROUNDS = 64, MOST_PLACES = 64 };

const char *const where_names[WHERES] = {"own process", "same GPU", "same node", "other node"};

static bool is_same_node(const struct who *a, const struct who *b)
{
    return memcmp(&a->node, &b->node, sizeof a->node) == 0;
}

static bool has_pair(const struct plan *plan, int low, int high)
{
    for (int i = 0; i < plan->n; i++) {
        if (plan->pairs[i].low == low && plan->pairs[i].high == high) {
            return true;
        }
    }
    return false;
}

/* In the first round in which both are free. False: there is none. */
static bool add(struct plan *plan, uint64_t busy[], int low, int high)
{
    uint64_t taken = busy[low] | busy[high];
    int round = 0;

    while (round < ROUNDS && (taken & UINT64_C(1) << round) != 0) {
        round++;
    }
    if (round == ROUNDS) {
        return false;
    }
    if (plan->n == plan->room) {
        plan->room = 2 * plan->room + 64;
        plan->pairs = need(realloc(plan->pairs, (size_t)plan->room * sizeof *plan->pairs));
    }
    busy[low] |= UINT64_C(1) << round;
    busy[high] |= UINT64_C(1) << round;
    plan->pairs[plan->n++] = (struct pair){.low = low, .high = high, .round = round};
    return true;
}

/* Is the rank where no rank before it on its node is? vendor: by its GPU; -1: by NUMA domain. */
static bool is_first_there(const struct plan *plan, const int first[], int n, int rank, int vendor)
{
    const struct who *own = &plan->who[rank];

    if (vendor < 0 ? own->numa < 0 : own->bus[vendor][0] == '\0') {
        return false;
    }
    for (int i = 0; i < n; i++) {
        const struct who *other = &plan->who[first[i]];

        if (vendor < 0 ? own->numa == other->numa
                       : strcmp(own->bus[vendor], other->bus[vendor]) == 0) {
            return false;
        }
    }
    return true;
}

/* All two of the places of one node, of which rank is the first rank. */
static void add_places(struct plan *plan, uint64_t busy[], int rank, int vendor, int *left)
{
    int first[MOST_PLACES], n = 0;

    for (int i = rank; i < plan->ranks && n < MOST_PLACES; i++) {
        if (is_same_node(&plan->who[rank], &plan->who[i]) &&
            is_first_there(plan, first, n, i, vendor)) {
            first[n++] = i;
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j<n && * left> 0; j++) {
            if (!has_pair(plan, first[i], first[j]) && add(plan, busy, first[i], first[j])) {
                (*left)--;
            }
        }
    }
}

static bool is_first_of_node(const struct plan *plan, int rank)
{
    for (int i = 0; i < rank; i++) {
        if (is_same_node(&plan->who[i], &plan->who[rank])) {
            return false;
        }
    }
    return true;
}

static void add_nodes(struct plan *plan, uint64_t busy[])
{
    for (int rank = 0; rank < plan->ranks; rank++) {
        int left = opts.pairs;

        if (is_first_of_node(plan, rank)) {
            plan->nodes++;
            for (int vendor = 0; vendor < MOST_VENDORS; vendor++) {
                add_places(plan, busy, rank, vendor, &left);
            }
            add_places(plan, busy, rank, -1, &left);
        }
    }
}

static int by_round(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    return x->round != y->round ? x->round - y->round : x->low - y->low;
}

void plan_make(struct plan *plan, const struct who *own)
{
    uint64_t *busy;

    *plan = (struct plan){0};
    MPI_Comm_size(MPI_COMM_WORLD, &plan->ranks);
    plan->who = need(calloc((size_t)plan->ranks, sizeof *plan->who));
    busy = need(calloc((size_t)plan->ranks, sizeof *busy));
    MPI_Allgather(own, sizeof *own, MPI_BYTE, plan->who, sizeof *own, MPI_BYTE, MPI_COMM_WORLD);
    for (int rank = 0; rank < plan->ranks; rank++) {
        (void)add(plan, busy, rank, rank);
    }
    for (int rank = 0; rank + 1 < plan->ranks; rank++) {
        (void)add(plan, busy, rank, rank + 1);
    }
    if (plan->ranks > 2) {
        (void)add(plan, busy, 0, plan->ranks - 1);
    }
    add_nodes(plan, busy);
    qsort(plan->pairs, (size_t)plan->n, sizeof *plan->pairs, by_round);
    free(busy);
}

void plan_free(struct plan *plan)
{
    free(plan->who);
    free(plan->pairs);
}

enum where plan_where(const struct plan *plan, const struct pair *pair, int lane)
{
    const struct who *low = &plan->who[pair->low], *high = &plan->who[pair->high];
    int vendor = (lane - 1) / 2;

    if (pair->low == pair->high) {
        return OWN_PROCESS;
    }
    if (!is_same_node(low, high)) {
        return OTHER_NODE;
    }
    return lane > 0 && strcmp(low->bus[vendor], high->bus[vendor]) == 0 ? SAME_GPU : SAME_NODE;
}
