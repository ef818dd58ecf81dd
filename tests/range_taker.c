/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "range_taker.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { NAMES = 64, DEPTH = 8, BYTES = 40 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range {
    char name[BYTES]; /* a copy: the name need not live for longer than the call */
    long pushes, pops, sum;
} ranges[NAMES];
static long wrong;

/* Of this thread, the outermost first. */
static __thread struct range *stack[DEPTH];
static __thread int depth;

void range_taker_fail(const char *why)
{
    fprintf(stderr, "ranges: %s\n", why);
    wrong++;
}

static struct range *find(const char *name)
{
    int i = 0;

    while (i < NAMES - 1 && ranges[i].name[0] != '\0' && strcmp(ranges[i].name, name) != 0) {
        i++;
    }
    if (ranges[i].name[0] == '\0') {
        (void)snprintf(ranges[i].name, BYTES, "%s", name);
    }
    return &ranges[i];
}

void range_taker_push(const char *name, int n)
{
    struct range *range;

    pthread_mutex_lock(&lock);
    range = find(name);
    range->pushes++;
    range->sum += n;
    if (depth == DEPTH) {
        range_taker_fail("too many ranges, one inside the other");
    } else {
        stack[depth++] = range;
    }
    pthread_mutex_unlock(&lock);
}

void range_taker_pop(void)
{
    pthread_mutex_lock(&lock);
    if (depth == 0) {
        range_taker_fail("nothing to pop");
    } else {
        stack[--depth]->pops++;
    }
    pthread_mutex_unlock(&lock);
}

long range_taker_tell(int what, const char *name)
{
    struct range *range;
    long told;

    pthread_mutex_lock(&lock);
    range = find(name);
    told = what == TAKER_PUSHES ? range->pushes
           : what == TAKER_POPS ? range->pops
           : what == TAKER_SUM  ? range->sum
                                : wrong;
    pthread_mutex_unlock(&lock);
    return told;
}
