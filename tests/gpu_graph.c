/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 */
#include "gpu_graph.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mtest.h"
#include "mtest_gpu.h"

enum { CAPTURING = 1, UPDATE_REFUSED = 910 };

/* What an update says of a graph that is refused, in CUDA 12. */
struct update_info {
    int result;
    void *node, *from;
};

static struct {
    int (*begin)(void *stream, int mode);
    int (*end)(void *stream, void **graph);
    int (*status)(void *stream, int *status);
    int (*create)(void **graph, unsigned flags);
    int (*add_child)(void **node, void *graph, void *const *after, size_t count, void *child);
    int (*destroy)(void *graph);
    int (*launch)(void *executable, void *stream);
    int (*destroy_executable)(void *executable);
    /* One of each. */
    int (*cuda_instantiate)(void **executable, void *graph, unsigned long long flags);
    int (*hip_instantiate)(void **executable, void *graph, void **wrong, char *log, size_t bytes);
    int (*update_12)(void *executable, void *graph, struct update_info *info);
    int (*update)(void *executable, void *graph, void **wrong, int *result);
} api;

static struct {
    void **address;
    const char *cuda, *hip;
    bool optional;
} const names[] = {
    {(void **)&api.begin, "cuStreamBeginCapture_v2", "hipStreamBeginCapture", false},
    {(void **)&api.end, "cuStreamEndCapture", "hipStreamEndCapture", false},
    {(void **)&api.status, "cuStreamIsCapturing", "hipStreamIsCapturing", false},
    {(void **)&api.create, "cuGraphCreate", "hipGraphCreate", false},
    {(void **)&api.add_child, "cuGraphAddChildGraphNode", "hipGraphAddChildGraphNode", false},
    {(void **)&api.destroy, "cuGraphDestroy", "hipGraphDestroy", false},
    {(void **)&api.launch, "cuGraphLaunch", "hipGraphLaunch", false},
    {(void **)&api.destroy_executable, "cuGraphExecDestroy", "hipGraphExecDestroy", false},
    {(void **)&api.cuda_instantiate, "cuGraphInstantiateWithFlags", NULL, false},
    {(void **)&api.hip_instantiate, NULL, "hipGraphInstantiate", false},
    {(void **)&api.update_12, "cuGraphExecUpdate_v2", NULL, true},
    {(void **)&api.update, "cuGraphExecUpdate", "hipGraphExecUpdate", true},
};

static void need(const char *what, int code)
{
    if (code != 0) {
        fprintf(stderr, "gpu_graph: %s: error %d\n", what, code);
        exit(MTEST_HARD);
    }
}

bool gpu_graph_open(void)
{
    bool hip = mtest_gpu_kind() != NULL && strcmp(mtest_gpu_kind(), "hipStream_t") == 0;

    if (mtest_gpu_kind() == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *name = hip ? names[i].hip : names[i].cuda;

        *names[i].address = name != NULL ? mtest_gpu_symbol(name) : NULL;
        if (name != NULL && *names[i].address == NULL && !names[i].optional) {
            return false;
        }
    }
    return api.update_12 != NULL || api.update != NULL;
}

void gpu_graph_begin(void *stream, enum gpu_graph_mode mode)
{
    need("begin a capture", api.begin(stream, (int)mode));
}

void *gpu_graph_end(void *stream)
{
    void *graph = NULL;

    need("end a capture", api.end(stream, &graph));
    return graph;
}

void *gpu_graph_end_executable(void *stream)
{
    void *graph = gpu_graph_end(stream);
    void *executable = gpu_graph_executable(graph);

    gpu_graph_free(graph);
    return executable;
}

void gpu_graph_end_dropped(void *stream)
{
    gpu_graph_free(gpu_graph_end(stream));
}

bool gpu_graph_is_valid(void *stream)
{
    int status = 0;

    return api.status(stream, &status) == 0 && status == CAPTURING;
}

void *gpu_graph_of_children(int n, void *const children[])
{
    void *graph = NULL, *last = NULL;

    need("create a graph", api.create(&graph, 0));
    for (int i = 0; i < n; i++) {
        void *node = NULL;

        need("add a child graph", api.add_child(&node, graph, &last, i > 0 ? 1 : 0, children[i]));
        last = node;
    }
    return graph;
}

void *gpu_graph_executable(void *graph)
{
    void *executable = NULL;

    need("make a graph executable", api.hip_instantiate != NULL
                                        ? api.hip_instantiate(&executable, graph, NULL, NULL, 0)
                                        : api.cuda_instantiate(&executable, graph, 0));
    return executable;
}

void gpu_graph_free(void *graph)
{
    need("destroy a graph", api.destroy(graph));
}

void gpu_graph_launch(void *executable, void *stream)
{
    need("launch a graph", api.launch(executable, stream));
}

bool gpu_graph_update(void *executable, void *graph)
{
    struct update_info info = {0};
    void *wrong = NULL;
    int result = 0;
    int code = api.update_12 != NULL ? api.update_12(executable, graph, &info)
                                     : api.update(executable, graph, &wrong, &result);

    need("update a graph", code == UPDATE_REFUSED ? 0 : code);
    return code == 0;
}

void gpu_graph_free_executable(void *executable)
{
    need("destroy an executable graph", api.destroy_executable(executable));
}
