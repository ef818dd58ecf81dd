/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Captures of streams into graphs, by calls that both vendors have. */
#include "gpu.h"
#include "util/thread.h"

static MPIXQ_THREAD_LOCAL struct {
    int depth, before;
    bool is_exchanged;
} relaxed[MPIXQ_GPU_VENDORS];

void mpixq_gpu_relax(const struct mpixq_gpu *gpu)
{
    int (*exchange)(int *mode) = gpu->calls->exchange_mode;
    int mode = MPIXQ_GPU_RELAXED;

    if (relaxed[gpu->vendor].depth++ == 0 && exchange != NULL) {
        relaxed[gpu->vendor].is_exchanged = exchange(&mode) == 0;
        relaxed[gpu->vendor].before = mode;
    }
}

void mpixq_gpu_restore(const struct mpixq_gpu *gpu)
{
    if (--relaxed[gpu->vendor].depth == 0 && relaxed[gpu->vendor].is_exchanged) {
        relaxed[gpu->vendor].is_exchanged = false;
        /* A mode that the thread had. */
        (void)gpu->calls->exchange_mode(&relaxed[gpu->vendor].before);
    }
}

bool mpixq_gpu_is_capturing(const struct mpixq_gpu *gpu, void *stream, bool *lost_p)
{
    int status = MPIXQ_GPU_NOT_CAPTURING, code = 0;

    if (gpu->calls->is_capturing != NULL) {
        code = mpixq_gpu_cleared(gpu, gpu->calls->is_capturing(stream, &status));
    }
    *lost_p = code != 0 && code != MPIXQ_GPU_CAPTURE_IMPLICIT;
    return code == MPIXQ_GPU_CAPTURE_IMPLICIT || (code == 0 && status != MPIXQ_GPU_NOT_CAPTURING);
}

/* From CUDA 12.3 on edges have data, of which the older form does not want to know. */
static int ask(const struct mpixq_gpu_calls *calls, void *stream, int *status_p,
               struct mpixq_gpu_capture *capture_p, void *const **after_p, size_t *n_p)
{
    const void *edges;

    if (calls->capture_info_new != NULL) {
        return calls->capture_info_new(stream, status_p, &capture_p->id, &capture_p->graph, after_p,
                                       &edges, n_p);
    }
    return calls->capture_info != NULL ? calls->capture_info(stream, status_p, &capture_p->id,
                                                             &capture_p->graph, after_p, n_p)
                                       : MPIXQ_GPU_NOT_SUPPORTED;
}

int mpixq_gpu_find_capture(const struct mpixq_gpu *gpu, void *stream,
                           struct mpixq_gpu_capture *capture_p)
{
    int (*node_type)(void *node, int *type_p) = gpu->calls->node_type;
    void *const *after = NULL;
    int status = MPIXQ_GPU_NOT_CAPTURING, type, code;
    size_t n = 0;

    code = mpixq_gpu_cleared(gpu, ask(gpu->calls, stream, &status, capture_p, &after, &n));
    if (code == MPIXQ_GPU_CAPTURE_IMPLICIT || (code == 0 && status == MPIXQ_GPU_NOT_CAPTURING)) {
        capture_p->id = 0;
        return 0;
    }
    capture_p->last = code == 0 && n == 1 ? after[0] : NULL;
    capture_p->is_after_kernel = capture_p->last != NULL && node_type != NULL &&
                                 node_type(capture_p->last, &type) == 0 &&
                                 type == MPIXQ_GPU_NODE_IS_KERNEL;
    return code;
}

int mpixq_gpu_come_after(const struct mpixq_gpu *gpu, void *stream, void *node)
{
    const struct mpixq_gpu_calls *calls = gpu->calls;
    int code = 0;

    if (calls->capture_after_new != NULL) {
        code = calls->capture_after_new(stream, &node, NULL, 1, MPIXQ_GPU_ADD_DEPENDENCIES);
    } else if (calls->capture_after != NULL) {
        code = calls->capture_after(stream, &node, 1, MPIXQ_GPU_ADD_DEPENDENCIES);
    }
    return mpixq_gpu_cleared(gpu, code);
}

/* The object is not given back where the graph does not take it, as not every version has a call
 * for that: a few bytes, in a capture that has failed. */
int mpixq_gpu_keep(const struct mpixq_gpu *gpu, void *graph, void (*gone)(void *arg), void *arg)
{
    const struct mpixq_gpu_calls *calls = gpu->calls;
    void *object;
    int code;

    if (calls->user_object == NULL || calls->retain_user_object == NULL) {
        return 0;
    }
    code = calls->user_object(&object, arg, gone, 1, MPIXQ_GPU_NO_DESTRUCTOR_SYNC);
    code =
        code != 0 ? code : calls->retain_user_object(graph, object, 1, MPIXQ_GPU_USER_OBJECT_MOVE);
    return mpixq_gpu_cleared(gpu, code);
}
