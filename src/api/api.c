/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "api.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "core/lib.h"
#include "pmpi/next.h"
#include "stream/stream.h"

static int enter(bool interposed)
{
    enum mpixq_error error;

    if (!mpixq_lib_ready(interposed, &error)) {
        return error == MPIXQ_E_NONE ? MPI_ERR_OTHER : mpixq_api_fail(MPI_COMM_NULL, error);
    }
    if (mpixq_stream_inside()) {
        return mpixq_api_fail(MPI_COMM_NULL, MPIXQ_E_INSIDE);
    }
    return MPI_SUCCESS;
}

static bool is_interposed(void)
{
    static atomic_int known; /* 0: not looked yet, 1: yes, 2: no */
    int is = atomic_load_explicit(&known, memory_order_relaxed);

    if (is == 0) {
        mpixq_next_pull();
        is = mpixq_next_is_interposed() ? 1 : 2;
        atomic_store_explicit(&known, is, memory_order_relaxed);
    }
    return is == 1;
}

int mpixq_api_enter(void)
{
    /* While the library is not up, the first question is whether it can be. */
    return enter(mpixq_lib_is_up() || is_interposed());
}

int mpixq_api_enter_interposed(void)
{
    return enter(is_interposed());
}

int mpixq_api_fail(MPI_Comm comm, enum mpixq_error error)
{
    return mpixq_error_raise(comm, mpixq_error_code(error));
}
