/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts and waits that are captured into a graph: the GPU's part of them, and nothing else. No
 * worker follows a graph that is replayed, so there are no tickets, and the kernels need nothing
 * that the host would have to do for each replay. */
#include <mpi.h>
#include <stdio.h>

#include "comm/error.h"
#include "gpu.h"
#include "gpu_stream.h"
#include "util/alloc.h"
#include "util/thread.h"

static int text_of(const struct gpu_stream *stream, int code, const char *what)
{
    char text[256]; /* as much as Open MPI keeps of an error */

    if (code == 0) {
        return MPI_SUCCESS;
    }
    (void)snprintf(text, sizeof text, "%s: %.150s", what, stream->lane.gpu->text(code));
    return mpixq_error_code_saying(MPIXQ_E_GPU, text);
}

static int find_capture(const struct gpu_stream *stream, struct mpixq_gpu_capture *capture_p)
{
    const struct mpixq_gpu *gpu = stream->lane.gpu;
    void *before;
    int code = gpu->enter(stream->lane.place, &before);

    *capture_p = (struct mpixq_gpu_capture){0};
    if (code == 0) {
        code = mpixq_gpu_find_capture(gpu, stream->lane.handle, capture_p);
        gpu->leave(stream->lane.place, before);
    }
    return text_of(stream, code, "the capture of the stream cannot be asked for");
}

static bool graph_has_kernels(const struct mpixq_stream *base)
{
    const struct gpu_stream *stream = (const struct gpu_stream *)base;

    return !stream->lane.by_values && stream->lane.kernels.move_all != NULL;
}

static int graph_capture(struct mpixq_stream *base, uint64_t *capture_p)
{
    struct gpu_stream *stream = (struct gpu_stream *)base;
    struct mpixq_gpu_capture capture;
    int rc = find_capture(stream, &capture);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (capture.id == 0) { /* a default stream, while another one is captured */
        return mpixq_error_code(MPIXQ_E_CAPTURE);
    }
    if (!graph_has_kernels(base)) {
        return mpixq_error_code(MPIXQ_E_GRAPH_VALUES);
    }
    *capture_p = capture.id;
    return MPI_SUCCESS;
}

static int graph_keep(struct mpixq_stream *base, void (*gone)(void *arg), void *arg,
                      struct mpixq_submission *submission)
{
    const struct gpu_stream *stream = (const struct gpu_stream *)base;
    const struct mpixq_gpu *gpu = stream->lane.gpu;
    struct mpixq_gpu_capture capture;
    int rc;

    mpixq_submission_lend(submission);
    rc = find_capture(stream, &capture);
    if (rc == MPI_SUCCESS) {
        mpixq_gpu_relax(gpu);
        rc = text_of(stream, mpixq_gpu_keep(gpu, capture.graph, gone, arg),
                     "the graph cannot be held");
        mpixq_gpu_restore(gpu);
    }
    mpixq_submission_reclaim(submission);
    return rc;
}

/* That of the stream, made if it is the first time. NULL: no memory. */
static struct mpixq_branch *find_branch(struct mpixq_branches *branches, const void *handle)
{
    int room = 2 * branches->room + 4;

    for (int i = 0; i < branches->n; i++) {
        if (branches->of[i].handle == handle) {
            return &branches->of[i];
        }
    }
    if (branches->n == branches->room) {
        void *of = mpixq_realloc(branches->of, (size_t)room * sizeof(*branches->of));

        if (of == NULL) {
            return NULL;
        }
        branches->of = of;
        branches->room = room;
    }
    branches->of[branches->n] = (struct mpixq_branch){.handle = handle};
    return &branches->of[branches->n++];
}

/* A GPU may run the branches of a graph one after the other, in any order that the edges allow, and
 * so wait in one for what the peer sends once it has heard of a start in another. Hence an edge
 * from the last start of each other branch, if what stands in this one does not come after it. */
static int come_after_starts(const struct gpu_stream *stream, struct mpixq_branches *branches,
                             struct mpixq_branch *own, struct mpixq_gpu_capture *capture)
{
    const struct mpixq_gpu *gpu = stream->lane.gpu;
    void *before;
    int code = gpu->enter(stream->lane.place, &before);

    if (code == 0) {
        for (int i = 0; code == 0 && i < branches->n; i++) {
            const struct mpixq_branch *other = &branches->of[i];

            if (other != own && other->number > own->seen && other->start != capture->last) {
                code = mpixq_gpu_come_after(gpu, stream->lane.handle, other->start);
                capture->is_after_kernel = false;
            }
        }
        gpu->leave(stream->lane.place, before);
    }
    if (code == 0) {
        own->seen = branches->n_starts;
    }
    return text_of(stream, code, "a wait cannot come after starts of other streams");
}

static int note_start(const struct gpu_stream *stream, struct mpixq_branches *branches,
                      struct mpixq_branch *own)
{
    struct mpixq_gpu_capture capture;
    int rc = find_capture(stream, &capture);

    if (capture.last != NULL) {
        own->start = capture.last;
        own->number = ++branches->n_starts;
    }
    return rc;
}

/* Copies that a graph makes are kernels. */
static bool can_copy(const struct mpixq_gpu_lane *lane, const struct mpixq_op list[], int n)
{
    for (int i = 0; i < n; i++) {
        if (list[i].copy != NULL &&
            (lane->kernels.copy == NULL || list[i].copy->place != lane->place)) {
            return false;
        }
    }
    return true;
}

/* The lane of the stream, for launches that are captured. */
static struct mpixq_gpu_lane captured_lane(const struct gpu_stream *stream,
                                           const struct mpixq_gpu_capture *capture)
{
    struct mpixq_gpu_lane lane = stream->lane;

    lane.reached_at = NULL; /* nobody waits for a ticket */
    lane.kernels.early = lane.kernels.early && capture->is_after_kernel;
    return lane;
}

/* The branch of the stream, for operations that its GPU makes all by itself. */
static int prepare(const struct gpu_stream *stream, struct mpixq_op list[], int n,
                   struct mpixq_branches *branches, struct mpixq_branch **own_p)
{
    *own_p = find_branch(branches, stream->lane.handle);
    if (*own_p == NULL) {
        return mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    if (!can_copy(&stream->lane, list, n)) {
        return mpixq_error_code(MPIXQ_E_GRAPH_GPU);
    }
    for (int i = 0; i < n; i++) {
        list[i].on_gpu = true;
    }
    return MPI_SUCCESS;
}

static int graph_submit(struct mpixq_stream *base, struct mpixq_op list[], int n,
                        struct mpixq_branches *branches, struct mpixq_submission *submission)
{
    const struct gpu_stream *stream = (const struct gpu_stream *)base;
    bool waits = mpixq_op_is_wait(list);
    struct mpixq_gpu_capture capture;
    struct mpixq_branch *own;
    int rc = prepare(stream, list, n, branches, &own), code;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    mpixq_submission_lend(submission);
    rc = find_capture(stream, &capture);
    if (rc == MPI_SUCCESS && waits) {
        rc = come_after_starts(stream, branches, own, &capture);
    }
    if (rc == MPI_SUCCESS) {
        struct mpixq_gpu_lane lane = captured_lane(stream, &capture);

        stream->words->in_graph |= list->kind == MPIXQ_OP_SIGNAL;
        code = waits ? mpixq_gpu_submit_waits(&lane, list, n, 0)
                     : mpixq_gpu_submit_starts(&lane, list, n, 0);
        rc = text_of(stream, code, "nothing can be captured");
    }
    if (rc == MPI_SUCCESS && !waits) {
        rc = note_start(stream, branches, own);
    }
    mpixq_submission_reclaim(submission);
    return rc;
}

/* One node: it comes after the starts of other branches, as waits do, and their waits that are
 * captured later come after it, as after starts. */
static int graph_pass(struct gpu_stream *stream, const struct mpixq_both *both,
                      struct mpixq_branches *branches, struct mpixq_branch *own)
{
    struct mpixq_gpu_capture capture;
    int rc = find_capture(stream, &capture);

    if (rc == MPI_SUCCESS) {
        rc = come_after_starts(stream, branches, own, &capture);
    }
    if (rc == MPI_SUCCESS) {
        struct mpixq_gpu_lane lane = captured_lane(stream, &capture);

        rc = text_of(stream, mpixq_gpu_pass(&lane, both, 0, 0), "nothing can be captured");
    }
    return rc == MPI_SUCCESS ? note_start(stream, branches, own) : rc;
}

static int graph_submit_both(struct mpixq_stream *base, const struct mpixq_both *both,
                             struct mpixq_branches *branches, struct mpixq_submission *submission)
{
    struct gpu_stream *stream = (struct gpu_stream *)base;
    struct mpixq_gpu_lane lane = stream->lane;
    struct mpixq_branch *own;
    int rc = prepare(stream, both->starts, both->n_starts, branches, &own);

    rc = rc == MPI_SUCCESS ? prepare(stream, both->waits, both->n_waits, branches, &own) : rc;
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    lane.reached_at = NULL;
    if (mpixq_gpu_can_pass(&lane, both)) {
        mpixq_submission_lend(submission);
        rc = graph_pass(stream, both, branches, own);
        mpixq_submission_reclaim(submission);
        return rc;
    }
    rc = graph_submit(base, both->starts, both->n_starts, branches, submission);
    return rc == MPI_SUCCESS ? graph_submit(base, both->waits, both->n_waits, branches, submission)
                             : rc;
}

const struct mpixq_stream_graphs mpixq_gpu_graphs = {.capture = graph_capture,
                                                     .has_kernels = graph_has_kernels,
                                                     .keep = graph_keep,
                                                     .submit = graph_submit,
                                                     .submit_both = graph_submit_both};
