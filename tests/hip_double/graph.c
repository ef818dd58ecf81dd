/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * graph.c - graphs, what is made of them to be launched, and their launches
 *
 * A launch puts copies of the nodes into the stream, as far as each comes after the one before, and
 * into hidden streams where the graph has branches; so these are in hardware queues as the branches
 * of a program are, and can hold up each other. What stands before in the stream comes first, and
 * what follows comes last. Of the orders that the edges allow it takes one that no program means:
 * the branch that was captured last comes first, as far as it goes.
 */
#include "double.h"

#include <stdlib.h>

static struct ihipGraph *graphs; /* under hip.lock, as all here */

/* A node of an executable graph. Child graphs are in line. */
struct entry {
    struct hip_op *op;
    size_t *after, after_count; /* entries, all before this one */
};

struct hipGraphExec {
    struct hipGraphExec *next;
    struct entry *entries;
    size_t count;
    size_t *order; /* in which they are launched */
    struct hip_users users;
    struct hip_point last; /* the end of the launch before */
};
static struct hipGraphExec *execs;

static void *grown(void *at, size_t count, size_t size)
{
    at = realloc(at, count * size);
    if (at == NULL) {
        hip_die("out of memory");
    }
    return at;
}

void hip_nodes_add(struct hip_nodes *nodes, struct hipGraphNode *node)
{
    for (size_t i = 0; i < nodes->count; i++) {
        if (nodes->at[i] == node) {
            return;
        }
    }
    nodes->at = grown(nodes->at, nodes->count + 1, sizeof(struct hipGraphNode *));
    nodes->at[nodes->count++] = node;
}

void hip_nodes_join(struct hip_nodes *nodes, const struct hip_nodes *others)
{
    for (size_t i = 0; i < others->count; i++) {
        hip_nodes_add(nodes, others->at[i]);
    }
}

void hip_nodes_clear(struct hip_nodes *nodes)
{
    free(nodes->at);
    *nodes = (struct hip_nodes){NULL, 0};
}

struct ihipGraph *hip_graph_new(void)
{
    struct ihipGraph *graph = calloc(1, sizeof(*graph));

    if (graph == NULL) {
        hip_die("out of memory");
    }
    graph->next = graphs;
    graphs = graph;
    return graph;
}

bool hip_is_graph(const struct ihipGraph *graph)
{
    const struct ihipGraph *one = graphs;

    while (one != NULL && one != graph) {
        one = one->next;
    }
    return one != NULL;
}

void hip_graph_free(struct ihipGraph *graph)
{
    struct ihipGraph **place = &graphs;

    if (graph == NULL) {
        return;
    }
    while (*place != graph) {
        place = &(*place)->next;
    }
    *place = graph->next;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        struct hipGraphNode *node = graph->nodes.at[i];

        if (node->op != NULL) {
            hip_op_free(node->op);
        }
        hip_graph_free(node->child);
        hip_nodes_clear(&node->after);
        free(node);
    }
    hip_nodes_clear(&graph->nodes);
    hip_users_clear(&graph->users);
    free(graph);
}

struct hipGraphNode *hip_graph_add(struct ihipGraph *graph, struct hip_op *op,
                                   const struct hip_nodes *after)
{
    struct hipGraphNode *node = calloc(1, sizeof(*node));

    if (node == NULL) {
        hip_die("out of memory");
    }
    node->op = op;
    node->index = graph->nodes.count;
    hip_nodes_join(&node->after, after);
    hip_nodes_add(&graph->nodes, node);
    return node;
}

bool hip_node_is_after(const struct hipGraphNode *node, const struct hipGraphNode *before)
{
    if (node == before) {
        return true;
    }
    for (size_t i = 0; i < node->after.count; i++) {
        if (node->after.at[i]->index >= before->index &&
            hip_node_is_after(node->after.at[i], before)) {
            return true;
        }
    }
    return false;
}

static struct ihipGraph *copy_of(const struct ihipGraph *graph)
{
    struct ihipGraph *copy = hip_graph_new();

    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct hipGraphNode *node = graph->nodes.at[i];
        struct hip_nodes after = {NULL, 0};
        struct hipGraphNode *new;

        for (size_t k = 0; k < node->after.count; k++) {
            hip_nodes_add(&after, copy->nodes.at[node->after.at[k]->index]);
        }
        new = hip_graph_add(copy, node->op != NULL ? hip_op_copy(node->op) : NULL, &after);
        new->child = node->child != NULL ? copy_of(node->child) : NULL;
        hip_nodes_clear(&after);
    }
    hip_users_copy(&copy->users, &graph->users);
    return copy;
}

/* Executable graphs. */

/* Numbers of entries. */
struct numbers {
    size_t *at, count;
};

static void numbers_join(struct numbers *numbers, const size_t *others, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool found = false;

        for (size_t k = 0; k < numbers->count; k++) {
            found = found || numbers->at[k] == others[i];
        }
        if (!found) {
            numbers->at = grown(numbers->at, numbers->count + 1, sizeof(size_t));
            numbers->at[numbers->count++] = others[i];
        }
    }
}

/* Adds all of a graph to the entries, after those of before, but for its own objects. Returns those
 * that nothing of it comes after; of an empty graph those before. */
static struct numbers add_all(struct hipGraphExec *exec, const struct ihipGraph *graph,
                              const struct numbers *before)
{
    struct numbers *ends = calloc(graph->nodes.count + 1, sizeof(*ends)), leaves = {NULL, 0};
    bool *followed = calloc(graph->nodes.count + 1, sizeof(*followed));

    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct hipGraphNode *node = graph->nodes.at[i];
        struct numbers after = {NULL, 0};

        for (size_t k = 0; k < node->after.count; k++) {
            const struct numbers *one = &ends[node->after.at[k]->index];

            followed[node->after.at[k]->index] = true;
            numbers_join(&after, one->at, one->count);
        }
        if (node->after.count == 0) {
            numbers_join(&after, before->at, before->count);
        }
        if (node->child != NULL) {
            hip_users_copy(&exec->users, &node->child->users);
            ends[i] = add_all(exec, node->child, &after);
            free(after.at);
            continue;
        }
        exec->entries = grown(exec->entries, exec->count + 1, sizeof(struct entry));
        exec->entries[exec->count] = (struct entry){hip_op_copy(node->op), after.at, after.count};
        numbers_join(&ends[i], &exec->count, 1);
        exec->count++;
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        if (!followed[i]) {
            numbers_join(&leaves, ends[i].at, ends[i].count);
        }
        free(ends[i].at);
    }
    if (graph->nodes.count == 0) {
        numbers_join(&leaves, before->at, before->count);
    }
    free(ends);
    free(followed);
    return leaves;
}

static void free_entries(struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hip_op_free(entries[i].op);
        free(entries[i].after);
    }
    free(entries);
}

/* How many of those that an entry comes after have no place in the order yet, if one has just got
 * its own: 0 for those of which it was the last. */
static size_t missing_after(const struct entry *entry, size_t placed, const bool *is_placed)
{
    size_t missing = 0;
    bool comes_after = false;

    for (size_t k = 0; k < entry->after_count; k++) {
        missing += !is_placed[entry->after[k]];
        comes_after = comes_after || entry->after[k] == placed;
    }
    return comes_after ? missing : entry->after_count + 1;
}

/* What became possible last comes next, and of several the one that was captured last. */
static void put_in_order(struct hipGraphExec *exec)
{
    size_t *possible = calloc(exec->count + 1, sizeof(*possible)), n = 0, placed = 0;
    bool *is_placed = calloc(exec->count + 1, sizeof(*is_placed));

    exec->order = calloc(exec->count + 1, sizeof(*exec->order));
    for (size_t i = 0; i < exec->count; i++) {
        if (exec->entries[i].after_count == 0) {
            possible[n++] = i;
        }
        exec->order[i] = i;
    }
    while (n > 0 && !hip_is_wrong("graph-order")) {
        size_t next = possible[--n];

        is_placed[next] = true;
        exec->order[placed++] = next;
        for (size_t i = next + 1; i < exec->count; i++) {
            if (missing_after(&exec->entries[i], next, is_placed) == 0) {
                possible[n++] = i;
            }
        }
    }
    free(possible);
    free(is_placed);
}

static struct hipGraphExec *exec_new(const struct ihipGraph *graph)
{
    struct hipGraphExec *exec = calloc(1, sizeof(*exec));

    if (exec == NULL) {
        hip_die("out of memory");
    }
    free(add_all(exec, graph, &(struct numbers){NULL, 0}).at);
    put_in_order(exec);
    hip_users_copy(&exec->users, &graph->users);
    return exec;
}

static struct hipGraphExec **place_of(const struct hipGraphExec *exec)
{
    for (struct hipGraphExec **place = &execs; *place != NULL; place = &(*place)->next) {
        if (*place == exec) {
            return place;
        }
    }
    return NULL;
}

/* It is in no list any more. The references of the last launch are the graph's: when that has ended
 * they go. */
static void *exec_end(void *arg)
{
    struct hipGraphExec *exec = arg;

    pthread_mutex_lock(&hip.lock);
    if (exec->last.stream != NULL) {
        hip_await_point(&exec->last);
        hip_stream_drop(exec->last.stream);
    }
    hip_users_clear(&exec->users);
    free_entries(exec->entries, exec->count);
    free(exec->order);
    free(exec);
    pthread_mutex_unlock(&hip.lock);
    return NULL;
}

/* Launches. */

static void nothing(struct hip_op *op)
{
    (void)op;
}

struct launch {
    struct ihipStream_t *stream; /* of the caller */
    struct hip_point before[2];  /* which all of it comes after */
    size_t before_count;
    struct hip_point *points; /* of the entries, with references */
};

/* An entry follows in the stream of one that it comes after and that is the last there, or begins
 * in the stream of the caller if nothing is there, or in a new one. With a reference. */
static struct ihipStream_t *choose(const struct launch *launch, const struct entry *entry,
                                   uint64_t begin)
{
    struct ihipStream_t *stream = launch->stream;

    for (size_t i = 0; i < entry->after_count; i++) {
        const struct hip_point *point = &launch->points[entry->after[i]];

        if (point->stream->queued == point->number) {
            point->stream->refs++;
            return point->stream;
        }
    }
    if ((entry->after_count == 0 && stream->queued == begin && !hip_is_wrong("graph-stream")) ||
        hip_is_wrong("graph-branch")) {
        stream->refs++;
        return stream;
    }
    return hip_stream_hidden(stream->device);
}

static hipError_t put_entry(struct launch *launch, const struct entry *entry, size_t i,
                            uint64_t begin)
{
    struct hip_point *after =
        calloc(entry->after_count + launch->before_count, sizeof(struct hip_point));
    struct ihipStream_t *stream = choose(launch, entry, begin);
    size_t count = 0;
    hipError_t error;

    for (size_t k = 0; k < entry->after_count; k++) {
        after[count++] = launch->points[entry->after[k]];
    }
    for (size_t k = 0; entry->after_count == 0 && k < launch->before_count; k++) {
        after[count++] = launch->before[k];
    }
    error = hip_put(stream, hip_op_copy(entry->op), after, count, &launch->points[i]);
    hip_stream_drop(stream);
    free(after);
    return error;
}

static bool is_skipped(const struct hipGraphExec *exec)
{
    return exec->last.stream != NULL && hip_is_wrong("graph-launch");
}

static hipError_t launch_in(struct hipGraphExec *exec, struct ihipStream_t *stream)
{
    struct launch launch = {.stream = stream,
                            .points = calloc(exec->count + 1, sizeof(struct hip_point))};
    hipError_t error = hipSuccess;
    uint64_t begin = stream->queued;
    struct hip_point end;
    size_t n = 0;

    if (!hip_is_wrong("graph-stream")) {
        launch.before[launch.before_count++] = (struct hip_point){stream, begin};
    }
    if (exec->last.stream != NULL && !hip_is_wrong("graph-again")) {
        launch.before[launch.before_count++] = exec->last;
    }
    while (n < exec->count && error == hipSuccess && !is_skipped(exec)) {
        error = put_entry(&launch, &exec->entries[exec->order[n]], exec->order[n], begin);
        n += error == hipSuccess;
    }
    if (error == hipSuccess) {
        error = hip_put(stream, hip_op_new("end of a graph", nothing, 0), launch.points,
                        hip_is_wrong("graph-stream") ? 0 : n, &end);
    }
    if (error == hipSuccess) {
        if (exec->last.stream != NULL) {
            hip_stream_drop(exec->last.stream);
        }
        exec->last = end;
    }
    for (size_t i = 0; i < n; i++) {
        hip_stream_drop(launch.points[exec->order[i]].stream);
    }
    free(launch.points);
    return error;
}

static hipError_t launch_graph(hipGraphExec_t exec, hipStream_t handle)
{
    hipError_t error = hipErrorInvalidValue;
    struct ihipStream_t *stream;

    if (exec == NULL || place_of(exec) == NULL) {
        return error;
    }
    stream = hip_stream_of(handle);
    if (stream == NULL) {
        return hipErrorContextIsDestroyed;
    }
    error = hip_capture_look(stream);
    if (error == hipSuccess) {
        error = launch_in(exec, stream);
    }
    hip_stream_drop(stream);
    return error;
}

/* The same graph but for parameters: operations and order are what they were. */
static hipGraphExecUpdateResult compare(const struct hipGraphExec *exec,
                                        const struct hipGraphExec *other)
{
    if (exec->count != other->count) {
        return hipGraphExecUpdateErrorTopologyChanged;
    }
    for (size_t i = 0; i < exec->count; i++) {
        const struct entry *old = &exec->entries[i], *new = &other->entries[i];

        if (old->after_count != new->after_count) {
            return hipGraphExecUpdateErrorTopologyChanged;
        }
        for (size_t k = 0; k < old->after_count; k++) {
            if (old->after[k] != new->after[k]) {
                return hipGraphExecUpdateErrorTopologyChanged;
            }
        }
        if (old->op->run != new->op->run) {
            return hipGraphExecUpdateErrorNodeTypeChanged;
        }
        if (old->op->kernel != new->op->kernel) {
            return hipGraphExecUpdateErrorFunctionChanged;
        }
    }
    return hipGraphExecUpdateSuccess;
}

/* The API. */

HIP_EXPORT hipError_t hipGraphCreate(hipGraph_t *graph, unsigned flags)
{
    HIP_ENTER(hipGraphCreate);
    if (graph == NULL || flags != 0) {
        return hip_leave(hipErrorInvalidValue);
    }
    pthread_mutex_lock(&hip.lock);
    *graph = hip_graph_new();
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(hipSuccess);
}

HIP_EXPORT hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t *nodes, size_t *count)
{
    bool known;

    HIP_ENTER(hipGraphGetNodes);
    if (nodes != NULL || count == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    pthread_mutex_lock(&hip.lock);
    known = hip_is_graph(graph);
    *count = known ? graph->nodes.count : 0;
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(known ? hipSuccess : hipErrorInvalidValue);
}

HIP_EXPORT hipError_t hipGraphAddChildGraphNode(hipGraphNode_t *node, hipGraph_t graph,
                                                const hipGraphNode_t *after, size_t count,
                                                hipGraph_t child)
{
    struct hip_nodes nodes = {NULL, 0};
    bool known;

    HIP_ENTER(hipGraphAddChildGraphNode);
    if (node == NULL || (after == NULL && count > 0)) {
        return hip_leave(hipErrorInvalidValue);
    }
    pthread_mutex_lock(&hip.lock);
    known = hip_is_graph(graph) && hip_is_graph(child) && graph != child;
    for (size_t i = 0; known && i < count; i++) {
        known =
            after[i]->index < graph->nodes.count && graph->nodes.at[after[i]->index] == after[i];
        hip_nodes_add(&nodes, after[i]);
    }
    if (known) {
        *node = hip_graph_add(graph, NULL, &nodes);
        (*node)->child = hip_is_wrong("graph-child") ? hip_graph_new() : copy_of(child);
    }
    hip_nodes_clear(&nodes);
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(known ? hipSuccess : hipErrorInvalidValue);
}

HIP_EXPORT hipError_t hipGraphDestroy(hipGraph_t graph)
{
    bool known;

    HIP_ENTER(hipGraphDestroy);
    pthread_mutex_lock(&hip.lock);
    known = hip_is_graph(graph);
    if (known) {
        hip_graph_free(graph);
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(known ? hipSuccess : hipErrorInvalidValue);
}

HIP_EXPORT hipError_t hipGraphInstantiate(hipGraphExec_t *exec, hipGraph_t graph,
                                          hipGraphNode_t *wrong, char *log, size_t bytes)
{
    bool known;

    HIP_ENTER(hipGraphInstantiate);
    (void)wrong;
    (void)log;
    (void)bytes;
    if (exec == NULL) {
        return hip_leave(hipErrorInvalidValue);
    }
    pthread_mutex_lock(&hip.lock);
    known = hip_is_graph(graph);
    if (known) {
        *exec = exec_new(graph);
        (*exec)->next = execs;
        execs = *exec;
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(known ? hipSuccess : hipErrorInvalidValue);
}

HIP_EXPORT hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t *exec, hipGraph_t graph,
                                                   unsigned long long flags)
{
    (void)flags;
    return hipGraphInstantiate(exec, graph, NULL, NULL, 0);
}

/* A launch that runs has copies of what it needs. */
static hipGraphExecUpdateResult update(struct hipGraphExec *exec, const struct ihipGraph *graph)
{
    struct hipGraphExec *other = exec_new(graph);
    hipGraphExecUpdateResult result = compare(exec, other);

    if (result == hipGraphExecUpdateSuccess && !hip_is_wrong("graph-update")) {
        struct hipGraphExec old = *exec;

        exec->entries = other->entries;
        exec->users = other->users;
        other->entries = old.entries;
        other->users = old.users;
    }
    hip_users_clear(&other->users);
    free_entries(other->entries, other->count);
    free(other->order);
    free(other);
    return result;
}

HIP_EXPORT hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph,
                                         hipGraphNode_t *wrong, hipGraphExecUpdateResult *result)
{
    hipError_t error = hipErrorInvalidValue;

    HIP_ENTER(hipGraphExecUpdate);
    if (wrong == NULL || result == NULL) {
        return hip_leave(error);
    }
    *wrong = NULL;
    pthread_mutex_lock(&hip.lock);
    if (place_of(exec) != NULL && hip_is_graph(graph)) {
        *result = update(exec, graph);
        error = *result == hipGraphExecUpdateSuccess ? hipSuccess : hipErrorGraphExecUpdateFailure;
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(error);
}

HIP_EXPORT hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream)
{
    hipError_t error;

    HIP_ENTER(hipGraphLaunch);
    if (hip_switches.lookup == LOOKUP_BLOCKS) {
        pthread_mutex_lock(&hip.launching);
    }
    pthread_mutex_lock(&hip.lock);
    error = launch_graph(exec, stream);
    pthread_mutex_unlock(&hip.lock);
    if (hip_switches.lookup == LOOKUP_BLOCKS) {
        pthread_mutex_unlock(&hip.launching);
    }
    return hip_leave(error);
}

HIP_EXPORT hipError_t hipGraphExecDestroy(hipGraphExec_t exec)
{
    struct hipGraphExec **place;
    pthread_t thread;

    HIP_ENTER(hipGraphExecDestroy);
    pthread_mutex_lock(&hip.lock);
    place = place_of(exec);
    if (place != NULL) {
        *place = exec->next;
        if (pthread_create(&thread, NULL, exec_end, exec) != 0) {
            hip_die("cannot start a thread");
        }
        pthread_setname_np(thread, HIP_THREAD);
        pthread_detach(thread);
    }
    pthread_mutex_unlock(&hip.lock);
    return hip_leave(place != NULL ? hipSuccess : hipErrorInvalidValue);
}
