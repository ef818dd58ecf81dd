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

/* Does the device have them? After bench_device_open. */
bool bench_graphs_are_there(void);
void bench_graph_begin(void);
void *bench_graph_end(void); /* what can be launched */
void bench_graph_launch(void *graph);
void bench_graph_free(void *graph);

#endif
