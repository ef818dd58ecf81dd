/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What stands in for a profiler (ranges.sh): counts the ranges of all threads by their names, and
 * sees that they are nested. In the object of each taker.
 */
#ifndef RANGE_TAKER_H
#define RANGE_TAKER_H

void range_taker_push(const char *name, int n);
void range_taker_pop(void);
void range_taker_fail(const char *why);

/* What is asked for: how often the name was pushed or popped, the sum of what went with it, or how
 * often something was wrong, of all names. Exported, to be found by dlsym. */
enum { TAKER_PUSHES, TAKER_POPS, TAKER_SUM, TAKER_WRONG };
long range_taker_tell(int what, const char *name);

#endif
