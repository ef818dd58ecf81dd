/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * gpu_graph.h - graphs of CUDA's driver and of HIP's runtime: captured, made executable, changed
 * and launched. Calls that fail end the program, but for those that return whether they succeed.
 */
#ifndef GPU_GRAPH_H_INCLUDED
#define GPU_GRAPH_H_INCLUDED

#include <stdbool.h>

enum gpu_graph_mode { GPU_GRAPH_GLOBAL, GPU_GRAPH_THREAD_LOCAL, GPU_GRAPH_RELAXED };

/* Are there graphs? To be called before all others; false: no GPU is asked for, or it has none. */
bool gpu_graph_open(void);

/* What is put into the stream from here on is recorded; and the end of that, which gives a graph,
 * one that can be launched, or nothing. */
void gpu_graph_begin(void *stream, enum gpu_graph_mode mode);
void *gpu_graph_end(void *stream);
void *gpu_graph_end_executable(void *stream);
void gpu_graph_end_dropped(void *stream);
/* Is the capture of the stream still valid? */
bool gpu_graph_is_valid(void *stream);

/* A graph of child graphs, one after the other, of which it has copies. */
void *gpu_graph_of_children(int n, void *const children[]);
void *gpu_graph_executable(void *graph);
void gpu_graph_free(void *graph);

void gpu_graph_launch(void *executable, void *stream);
/* Make it do what the graph does; false: that has other nodes, and it does what it did. */
bool gpu_graph_update(void *executable, void *graph);
/* Also while it is launched. */
void gpu_graph_free_executable(void *executable);

#endif /* GPU_GRAPH_H_INCLUDED */
