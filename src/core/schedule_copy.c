/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the host does with data between messages. Any thread that goes on with a collective. */
#include <string.h>

#include "comm/layout.h"
#include "schedule.h"
#include "util/alloc.h"

/* Is it one piece of memory, in the order of the type map? Then where it begins. */
static bool is_piece(const struct mpixq_span *span, char **first_p)
{
    MPI_Count first;
    uint64_t bytes;

    if (!mpixq_type_reach(span->type, span->count, &first, &bytes)) {
        return false;
    }
    *first_p = (char *)span->at + first;
    return mpixq_type_bytes(span->type, span->count) == bytes &&
           mpixq_is_in_order(span->type, span->count);
}

/* Data with gaps, or between different types. */
static int copy_packed(const struct mpixq_span *from, const struct mpixq_span *to)
{
    int size, at = 0, rc = PMPI_Pack_size((int)from->count, from->type, MPI_COMM_SELF, &size);
    char *packed;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    packed = mpixq_alloc((size_t)size + 1); /* freed below */
    if (packed == NULL) {
        return mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    rc = PMPI_Pack(from->at, (int)from->count, from->type, packed, size, &at, MPI_COMM_SELF);
    size = at;
    at = 0;
    rc = rc ? rc : PMPI_Unpack(packed, size, &at, to->at, (int)to->count, to->type, MPI_COMM_SELF);
    mpixq_free(packed);
    return rc;
}

static int copy(const struct mpixq_span *from, const struct mpixq_span *to)
{
    char *source, *target;
    uint64_t bytes = mpixq_type_bytes(from->type, from->count);

    if (bytes == 0) {
        return MPI_SUCCESS;
    }
    if (!is_piece(from, &source) || !is_piece(to, &target)) {
        return copy_packed(from, to);
    }
    memmove(target, source, (size_t)bytes);
    return MPI_SUCCESS;
}

int mpixq_schedule_do(const struct mpixq_collective *collective, const struct mpixq_step *step)
{
    if (step->kind == MPIXQ_STEP_COPY) {
        return copy(&step->from, &step->to);
    }
    if (step->kind == MPIXQ_STEP_COMBINE) {
        mpixq_schedule_combine_now(collective);
        return MPI_SUCCESS;
    }
    if (collective->is_of_halves) {
        mpixq_schedule_combine_two(collective, &step->from, &step->to);
        return MPI_SUCCESS;
    }
    return step->to.count == 0 ? MPI_SUCCESS
                               : PMPI_Reduce_local(step->from.at, step->to.at, (int)step->to.count,
                                                   step->to.type, collective->args.op);
}
