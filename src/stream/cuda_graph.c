/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "cuda_graph.h"

#include <stddef.h>

#include "cuda_driver.h"
#include "gpu.h"

/* From version 12.3 on edges have data, of which the older form does not want to know. */
static int ask(void *stream, int *status_p, struct mpixq_gpu_capture *capture_p,
               void *const **after_p, size_t *n_p)
{
    const void *edges;

    if (mpixq_cuda.capture_info_new != NULL) {
        return mpixq_cuda.capture_info_new(stream, status_p, &capture_p->id, &capture_p->graph,
                                           after_p, &edges, n_p);
    }
    return mpixq_cuda.capture_info != NULL
               ? mpixq_cuda.capture_info(stream, status_p, &capture_p->id, &capture_p->graph,
                                         after_p, n_p)
               : MPIXQ_CU_NOT_SUPPORTED;
}

int mpixq_cuda_capture(void *stream, struct mpixq_gpu_capture *capture_p)
{
    void *const *after = NULL;
    int status = MPIXQ_CU_NOT_CAPTURING, type, code;
    size_t n = 0;

    code = ask(stream, &status, capture_p, &after, &n);
    if (code == MPIXQ_CU_CAPTURE_IMPLICIT || (code == 0 && status == MPIXQ_CU_NOT_CAPTURING)) {
        capture_p->id = 0;
        return 0;
    }
    capture_p->last = code == 0 && n == 1 ? after[0] : NULL;
    capture_p->is_after_kernel = capture_p->last != NULL && mpixq_cuda.node_type != NULL &&
                                 mpixq_cuda.node_type(capture_p->last, &type) == 0 &&
                                 type == MPIXQ_CU_NODE_IS_KERNEL;
    return code;
}

int mpixq_cuda_come_after(void *stream, void *node)
{
    if (mpixq_cuda.capture_after_new != NULL) {
        return mpixq_cuda.capture_after_new(stream, &node, NULL, 1, MPIXQ_CU_ADD_DEPENDENCIES);
    }
    return mpixq_cuda.capture_after != NULL
               ? mpixq_cuda.capture_after(stream, &node, 1, MPIXQ_CU_ADD_DEPENDENCIES)
               : 0;
}

int mpixq_cuda_keep(void *graph, void (*gone)(void *arg), void *arg)
{
    void *object;
    int code;

    if (mpixq_cuda.user_object == NULL || mpixq_cuda.user_object_release == NULL ||
        mpixq_cuda.retain_user_object == NULL) {
        return 0;
    }
    code = mpixq_cuda.user_object(&object, arg, gone, 1, MPIXQ_CU_NO_DESTRUCTOR_SYNC);
    return code != 0 ? code
                     : mpixq_cuda.retain_user_object(graph, object, 1, MPIXQ_CU_USER_OBJECT_MOVE);
}
