/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_fused.c - the handles of a kernel that exchanges messages by itself, element by element
 */
#include <mpix_queue_device.h>

#include "bench_queue.h"

void bench_queue_handles(MPIX_Queue queue, enum bench_mode mode, size_t bytes, MPI_Request *recv,
                         MPI_Request *send, struct mpixq_device_request *in,
                         struct mpixq_device_request *out)
{
    MPIX_Device_request_create(1, recv, queue, in);
    MPIX_Device_request_create(1, send, queue, out);
    if (!MPIX_Device_has_elements(out) || !MPIX_Device_has_elements(in)) {
        fprintf(stderr,
                "benchmark: mode %s: no slots for messages of %zu bytes: raise MPIXQ_EAGER "
                "(65536 at most), or take fewer modes\n",
                bench_mode_names[mode], bytes);
        MPI_Abort(MPI_COMM_WORLD, BENCH_EXIT_USAGE);
    }
}
