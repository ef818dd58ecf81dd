/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "nics.h"

#include "direct.h"
#include "mapped.h"
#include "message.h"
#include "util/log.h"
#include "window.h"

/* NULL: this process can; or why not. */
static const char *open_own(struct mpixq_window *window, const struct mpixq_window_spec *spec)
{
    const char *why = NULL;

    if (spec->wants != NULL) {
        why = mpixq_mapped_zero(spec->kind, spec->place, window->base, window->bytes);
    }
    if (why == NULL) {
        mpixq_rma_direct_open(window);
        why = window->direct == NULL ? window->why_not_direct : NULL;
    }
    return why;
}

/* lacks: why GPUs do not. */
static int open_nics(struct mpixq_window *window, const struct mpixq_window_spec *spec, int lacks)
{
    unsigned kinds = mpixq_memory_kinds();
    const char *why;
    int has, all, rc;

    window->gpu_kind = spec->kind;
    mpixq_memory_relax(kinds);
    why = open_own(window, spec);
    mpixq_memory_restore(kinds);
    has = why == NULL;
    rc = PMPI_Allreduce(&has, &all, 1, MPI_INT, MPI_MIN, window->comm);
    if (rc != MPI_SUCCESS || all) {
        return rc;
    }
    mpixq_debug("window %llu: NICs do not reach its memory: %s", (unsigned long long)window->number,
                why != NULL ? why : "those of others do not");
    return lacks;
}

int mpixq_rma_reach_gpus(struct mpixq_window *window, const struct mpixq_window_spec *spec)
{
    int rc = mpixq_rma_map(window, spec);

    if (mpixq_error_kind(rc) != MPIXQ_ERR_UNSUPPORTED) {
        return rc;
    }
    mpixq_mapped_close(window->mapped);
    window->mapped = NULL;
    return open_nics(window, spec, rc);
}

void mpixq_rma_nics_ask(const struct mpixq_transfer *transfer, bool is_get,
                        struct mpixq_rma_peer *peer)
{
    struct mpixq_rma_op *op =
        mpixq_rma_part_new(transfer, MPIXQ_RMA_ASK, 0, 1, transfer->local.bytes);

    if (op != NULL) {
        op->header.value = 1; /* for the rights */
        op->asks_get = is_get;
        mpixq_rma_send(transfer->window, peer, MPIXQ_RMA_DATA, op);
    }
}

/* What was asked for. */
static struct mpixq_transfer transfer_of(struct mpixq_window *window, const struct mpixq_rma_op *op)
{
    const struct mpixq_rma_header *header = &op->header;

    return (struct mpixq_transfer){
        .window = window,
        .local = {.rank = window->rank,
                  .offset = (uint64_t)(op->data - window->base),
                  .bytes = header->bytes,
                  .signal = op->signal,
                  .generation = op->generation},
        .remote = {.rank = op->peer,
                   .offset = header->offset,
                   .bytes = header->bytes,
                   .signal = header->signal,
                   .generation = header->generation},
    };
}

/* It has what it needs by now, unless memory is lacking, or NICs do not find each other. */
void mpixq_rma_nics_go(struct mpixq_window *window, struct mpixq_rma_op *op)
{
    const struct mpixq_transfer transfer = transfer_of(window, op);
    struct mpixq_rma_peer *peer = mpixq_rma_peer(window, op->peer);

    if (op->header.bytes == 0 && op->header.signal == 0) {
        mpixq_rma_tell(window, op, op->peer); /* nothing is to be moved, nor told there */
    } else if (peer != NULL && !mpixq_rma_direct_begin(&transfer, op->asks_get, peer)) {
        mpixq_rma_direct_fail(window, op,
                              peer->nics == NULL ? "no NIC here finds those of the peer"
                                                 : "it has too many parts, or there is no memory");
    }
    mpixq_rma_end(window, op);
}
