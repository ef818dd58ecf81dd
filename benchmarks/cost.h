/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * cost.h - what the programs of cost.sh count: what a thread does between cost_begin and cost_end
 *
 * Instructions, system calls and calls of functions are counted by callgrind, thread by thread, and
 * so exactly. Allocations are counted here: the program defines the functions of the heap.
 */
#ifndef MPIXQ_COST_H
#define MPIXQ_COST_H

#include <stdbool.h>

#include <valgrind/callgrind.h>

/* Once, before anything is counted. */
void cost_init(int rank);

/* During a warm-up: count, but write nothing. */
void cost_discard(bool discard);

/* The functions around the two macros are not counted. */
void cost_reset(void);
void cost_write(const char *group, const char *name, int num, long times);

/* Macros, so that what they switch on and off is in the caller's frame. */
#define cost_begin()                                                                               \
    do {                                                                                           \
        cost_reset();                                                                              \
        CALLGRIND_TOGGLE_COLLECT;                                                                  \
    } while (0)

/* Write what this thread has counted since cost_begin, as the cost of so many calls or requests.
 * num, which tells how many of them were treated together, is part of the name. What has the same
 * name is added up. */
#define cost_end(group, name, num, times)                                                          \
    do {                                                                                           \
        CALLGRIND_TOGGLE_COLLECT;                                                                  \
        cost_write(group, name, num, times);                                                       \
    } while (0)

#endif
