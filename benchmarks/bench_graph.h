/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_graph.h - graphs of a device: what is put on its stream between a beginning and an end does
 * not run, but can be launched as often as is liked
 *
 * Only the main thread captures, launches and frees. Errors end the program with a text.
 */
#ifndef MPIXQ_BENCH_GRAPH_H
#define MPIXQ_BENCH_GRAPH_H

#include <stdbool.h>

#include "bench_fabric.h"

struct bench_usage;

/* Does the device have them? After bench_device_open. */
bool bench_graphs_are_there(void);
void bench_graph_begin(void);
void *bench_graph_end(void); /* what can be launched */
/* Can what this function puts on the stream be captured? It does not run. */
bool bench_graph_can(void (*enqueue)(void *arg), void *arg);
void bench_graph_launch(void *graph);
void bench_graph_free(void *graph);

/* Why the library does not capture what this mode of the program starts and waits for, or makes no
 * handles for its kernel; NULL: it does. Collective. */
const char *bench_graph_refused(const struct bench_usage *usage, enum bench_mode mode);
/* By which channels it goes then. */
const char *bench_graph_channel(enum bench_mode mode);

#endif
