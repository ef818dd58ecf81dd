/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_graph.c - what the benchmarks use of the graphs of CUDA's driver and of HIP's runtime, by
 * their documentation
 */
#include "bench.h"

enum { CAPTURE_OF_THREAD = 1 };

/* What the two have in common, and what they have not. */
static struct {
    int (*begin)(void *stream, int mode);
    int (*end)(void *stream, void **graph_p);
    int (*launch)(void *exec, void *stream);
    int (*free)(void *exec);
    int (*drop)(void *graph);
    int (*cuda_make)(void **exec_p, void *graph, unsigned long long flags);
    int (*hip_make)(void **exec_p, void *graph, void **node_p, char *log, size_t log_bytes);
} api;

static const struct function {
    void **address;
    const char *cuda, *hip; /* NULL: not needed there */
} functions[] = {
    {(void **)&api.begin, "cuStreamBeginCapture_v2", "hipStreamBeginCapture"},
    {(void **)&api.end, "cuStreamEndCapture", "hipStreamEndCapture"},
    {(void **)&api.launch, "cuGraphLaunch", "hipGraphLaunch"},
    {(void **)&api.free, "cuGraphExecDestroy", "hipGraphExecDestroy"},
    {(void **)&api.drop, "cuGraphDestroy", "hipGraphDestroy"},
    {(void **)&api.cuda_make, "cuGraphInstantiateWithFlags", NULL},
    {(void **)&api.hip_make, NULL, "hipGraphInstantiate"},
};

bool bench_graphs_are_there(void)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        const struct function *f = &functions[i];
        bool needed = (bench_device_vendor() == BENCH_ON_CUDA ? f->cuda : f->hip) != NULL;

        *f->address = bench_device_symbol(f->cuda, f->hip);
        if (needed && *f->address == NULL) {
            return false;
        }
    }
    return bench_on_device();
}

void bench_graph_begin(void)
{
    bench_need("begin to capture", api.begin(bench_device_stream(), CAPTURE_OF_THREAD));
}

void *bench_graph_end(void)
{
    void *graph, *exec;

    bench_need("end to capture", api.end(bench_device_stream(), &graph));
    bench_need("make a graph", bench_device_vendor() == BENCH_ON_CUDA
                                   ? api.cuda_make(&exec, graph, 0)
                                   : api.hip_make(&exec, graph, NULL, NULL, 0));
    bench_need("drop a graph", api.drop(graph));
    return exec;
}

void bench_graph_launch(void *graph)
{
    bench_need("launch a graph", api.launch(graph, bench_device_stream()));
}

void bench_graph_free(void *graph)
{
    bench_need("destroy a graph", api.free(graph));
}
