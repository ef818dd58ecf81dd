/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the files of the fallback channel share: this end of a pair, and how it comes to its end.
 */
#ifndef MPIXQ_END_H
#define MPIXQ_END_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/request.h"

/* This end of a pair. Made at match time, freed in mpixq_end_retire. */
struct end {
    MPI_Request request; /* made at the first start */
    int tag;
    atomic_bool busy; /* a thread is in MPI with request */
    bool active;      /* started, not completed; under busy */
    bool counted;     /* in mpixq_outstanding; under busy */
    uint64_t received;
    /* Draining after the release of a receive, one message at a time. */
    void *scratch;
    MPI_Request drain;
};

/* It is under way no more. Under busy, or with no other thread about. */
void mpixq_end_deactivate(struct end *end);
/* The channel's release and retire, on its communicator. */
void mpixq_end_release(struct mpixq_request *req);
bool mpixq_end_retire(struct mpixq_request *req, MPI_Comm comm);

#endif
