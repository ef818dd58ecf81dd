/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * graph.h - graphs: what is captured (capture.c), and how it runs (graph.c). All under hip.lock.
 */
#ifndef HIP_DOUBLE_GRAPH_H
#define HIP_DOUBLE_GRAPH_H

#include <stdbool.h>

#include "api.h"

struct hip_op;
struct hip_point;

/* Each at most once. */
struct hip_nodes {
    struct hipGraphNode **at;
    size_t count;
};
void hip_nodes_add(struct hip_nodes *nodes, struct hipGraphNode *node);
void hip_nodes_join(struct hip_nodes *nodes, const struct hip_nodes *others);
void hip_nodes_clear(struct hip_nodes *nodes);

/* References that graphs have to objects of the user. */
struct hip_users {
    struct hip_user {
        struct hipUserObject *object;
        unsigned count;
    } * at;
    size_t count;
};
/* Takes references that somebody has; gives them all back, which may destroy the objects. */
void hip_users_add(struct hip_users *users, struct hipUserObject *object, unsigned count);
void hip_users_copy(struct hip_users *users, const struct hip_users *others);
void hip_users_clear(struct hip_users *users);

/* What runs, or all of a child graph, of which it has a copy. */
struct hipGraphNode {
    struct hip_op *op;
    struct ihipGraph *child;
    struct hip_nodes after;
    size_t index; /* in its graph; all that it comes after have smaller ones */
};

struct ihipGraph {
    struct ihipGraph *next;
    struct hip_nodes nodes;
    struct hip_users users;
};
struct ihipGraph *hip_graph_new(void);
void hip_graph_free(struct ihipGraph *graph);
bool hip_is_graph(const struct ihipGraph *graph);
/* A node that runs op, which is the graph's from now on. */
struct hipGraphNode *hip_graph_add(struct ihipGraph *graph, struct hip_op *op,
                                   const struct hip_nodes *after);
/* Does the node come after this one, or is it the same? */
bool hip_node_is_after(const struct hipGraphNode *node, const struct hipGraphNode *before);

/* A capture, of one stream or of several that were joined to it by events. */
struct hip_capture {
    int refs; /* streams and events */
    int status, mode;
    const void *thread; /* which began it */
    unsigned long long id;
    struct ihipStream_t *origin; /* in which it began */
    struct ihipGraph *graph;     /* NULL once it has ended */
};

/* Where in a capture a stream is, or was when an event was recorded: what comes next comes after
 * these nodes. */
struct hip_branch {
    struct hip_capture *capture; /* NULL: none */
    struct hip_nodes tail;
};
void hip_branch_copy(struct hip_branch *branch, const struct hip_branch *other);
void hip_branch_leave(struct hip_branch *branch);

#endif
