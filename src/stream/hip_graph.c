/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "hip_graph.h"

#include <stddef.h>

#include "gpu.h"
#include "hip_runtime.h"

/* Nothing is launched early, so what kind of node stands before need not be known. */
int mpixq_hip_capture(void *stream, struct mpixq_gpu_capture *capture_p)
{
    void *const *after = NULL;
    int status = MPIXQ_HIP_NOT_CAPTURING, code;
    unsigned long long id = 0;
    size_t n = 0;

    if (mpixq_hip.capture_info == NULL) {
        return MPIXQ_HIP_NOT_SUPPORTED;
    }
    code = mpixq_hip_cleared(
        mpixq_hip.capture_info(stream, &status, &id, &capture_p->graph, &after, &n));
    if (code == MPIXQ_HIP_CAPTURE_IMPLICIT || (code == 0 && status == MPIXQ_HIP_NOT_CAPTURING)) {
        return 0;
    }
    capture_p->id = id;
    capture_p->last = code == 0 && n == 1 ? after[0] : NULL;
    return code;
}

int mpixq_hip_come_after(void *stream, void *node)
{
    return mpixq_hip.capture_after != NULL ? mpixq_hip_cleared(mpixq_hip.capture_after(
                                                 stream, &node, 1, MPIXQ_HIP_ADD_DEPENDENCIES))
                                           : 0;
}

/* The object is not given back where the graph does not take it, by versions that have no call for
 * that: a few bytes, in a capture that has failed. */
int mpixq_hip_keep(void *graph, void (*gone)(void *arg), void *arg)
{
    void *object;
    int code;

    if (mpixq_hip.user_object == NULL || mpixq_hip.retain_user_object == NULL) {
        return 0;
    }
    code = mpixq_hip_cleared(
        mpixq_hip.user_object(&object, arg, gone, 1, MPIXQ_HIP_NO_DESTRUCTOR_SYNC));
    return code != 0 ? code
                     : mpixq_hip_cleared(mpixq_hip.retain_user_object(graph, object, 1,
                                                                      MPIXQ_HIP_USER_OBJECT_MOVE));
}
