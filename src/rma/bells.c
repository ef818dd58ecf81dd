/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "bells.h"

#include "rights.h"
#include "stream/op.h"
#include "stream/stream.h"

/* May NICs make it, as far as is known without the lock? */
static bool may_be_held(const struct mpixq_transfer *transfer)
{
    return transfer->remote.rank != transfer->window->rank &&
           (transfer->local.bytes > 0 || transfer->remote.signal != 0);
}

static bool are_seen(const struct mpixq_nic_bell *bell, const struct mpixq_stream_kind *kind)
{
    while (bell != NULL && mpixq_exposed_to(bell->exposed, kind) != NULL) {
        bell = bell->next;
    }
    return bell == NULL;
}

/* How many parts it is to be; 0: NICs are not to make all of it, or it is too many. */
static uint64_t count_parts(const struct mpixq_rma_ahead *ahead)
{
    const struct mpixq_rma_direct *direct = ahead->window->direct;
    uint64_t piece, parts = 0;

    for (int i = 0; parts <= MPIXQ_AHEAD_PARTS && i < ahead->n; i++) {
        const struct mpixq_transfer *transfer = &ahead->transfers[i];
        uint64_t bytes = transfer->local.bytes;

        if (transfer->window == NULL) {
            continue; /* to MPI_PROC_NULL */
        }
        if (!may_be_held(transfer)) {
            return 0;
        }
        parts += bytes > 0 ? direct->ops->parts(direct->nics, bytes, &piece) : 1;
    }
    return parts <= MPIXQ_AHEAD_PARTS ? parts : 0;
}

void mpixq_rma_bells_take(struct mpixq_rma_ahead *ahead, const struct mpixq_stream *stream)
{
    const struct mpixq_rma_direct *direct = ahead->window->direct;
    int parts = stream->rings ? (int)count_parts(ahead) : 0;

    ahead->bells = NULL;
    if (parts > 0) {
        ahead->bells = direct->ops->take_bells(direct->nics, parts, ahead->queue == NULL);
    }
    if (!are_seen(ahead->bells, stream->kind)) {
        direct->ops->untake_bells(ahead->bells);
        ahead->bells = NULL;
    }
}

struct mpixq_nic_bell *mpixq_rma_bells_next(const struct mpixq_rma_ahead *ahead,
                                            const struct mpixq_nic_bell *bell)
{
    if (bell == NULL) {
        return NULL;
    }
    return bell->next == NULL && ahead->ring > 0 ? ahead->bells : bell->next;
}

/* The stream's thread has come behind the GPU, or behind what that left. */
static void follow(void *const args[], int n, bool on_gpu)
{
    for (int i = 0; i < n; i++) {
        ((struct mpixq_nic_bell *)args[i])->by_host = !on_gpu;
    }
}

int mpixq_rma_bells_fill(const struct mpixq_rma_ahead *ahead, struct mpixq_op list[])
{
    int n = 0;

    for (struct mpixq_nic_bell *bell = ahead->bells; bell != NULL; bell = bell->next) {
        list[n] = (struct mpixq_op){.copy = NULL};
        mpixq_op_call(&list[n], MPIXQ_OP_RING, follow, bell);
        list[n++].gpu.exposed = bell->exposed;
    }
    return n;
}

void mpixq_rma_bells_give(struct mpixq_rma_ahead *ahead, bool is_rung)
{
    const struct mpixq_rma_direct *direct = ahead->window->direct;
    const struct mpixq_rma_op *op = ahead->ops;
    struct mpixq_nic_bell *bell, *next;

    if (ahead->ring > 0) {
        return;
    }
    for (bell = ahead->bells; bell != NULL; bell = next) {
        next = bell->next;
        if (op == NULL || op->held == NULL) {
            direct->ops->give_bell(bell, is_rung || bell->by_host, !bell->by_host);
        }
        op = op != NULL ? op->next : NULL;
    }
    ahead->bells = NULL;
}
