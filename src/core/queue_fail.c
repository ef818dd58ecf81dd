/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The first failure of a queue, or of a start by the host. It needs nothing of queues but their
 * failure word, so whoever finds a failure may call it. */
#include <stdio.h>

#include "comm/comm.h"
#include "queue.h"
#include "request_name.h"
#include "util/lock.h"
#include "util/log.h"

void mpixq_queue_set_failed(struct mpixq_queue *queue, int code)
{
    atomic_store_explicit(&queue->failed, code, memory_order_release);
    queue->stream->ops->halt(queue->stream);
    /* Not before, or the GPU would go on to starts that stand behind such a wait, and ring. */
    atomic_store_explicit(&queue->halted, code, memory_order_release);
}

/* Tell what failed. An error of MPI becomes one of ours, whose text repeats what MPI says. */
static int own_code(int code, const char *operation, const struct mpixq_pair *pair)
{
    char what[64], peer[MPIXQ_PEER_ROOM], reason[MPI_MAX_ERROR_STRING], why[MPIXQ_ERROR_ROOM];
    int length;

    (void)mpixq_pair_describe(pair, what, sizeof what);
    /* Not among what is logged, which nobody looks at where nothing is. */
    (void)mpixq_name_peer(pair, peer);
    (void)PMPI_Error_string(code, reason, &length);
    mpixq_err("queue failed: %s of %s%s failed: %.120s", operation, what, peer, reason);
    (void)snprintf(why, sizeof why, "%s failed%s: %.180s", operation, peer, reason);
    return mpixq_error_kind(code) == MPIXQ_ERR_NONE
               ? mpixq_error_cause(MPIXQ_E_COMMUNICATION, what, why)
               : code;
}

/* Kept with the pair until a call of the host looks at it. */
static void fail_by_host(struct mpixq_pair *pair, int code, const char *operation)
{
    char what[64], peer[MPIXQ_PEER_ROOM], reason[MPI_MAX_ERROR_STRING];
    int none = MPI_SUCCESS, length;

    if (atomic_compare_exchange_strong(&pair->error, &none, code)) {
        (void)PMPI_Error_string(code, reason, &length);
        mpixq_err("%s of %s%s, started by the host, failed: %.120s", operation,
                  mpixq_pair_describe(pair, what, sizeof what), mpixq_name_peer(pair, peer),
                  reason);
    }
    atomic_store_explicit(&pair->failed, true, memory_order_release);
}

/* Its error handler is to hear of it. */
static struct mpixq_comm *comm_of(const struct mpixq_pair *pair)
{
    return pair->owner != NULL ? mpixq_comm_hold(pair->owner->comm) : NULL;
}

void mpixq_queue_fail(struct mpixq_queue *queue, struct mpixq_pair *pair, int code,
                      const char *operation)
{
    if (queue == NULL) {
        fail_by_host(pair, code, operation);
        return;
    }
    atomic_store(&pair->failed, true);
    mpixq_lock_acquire(&queue->fail_lock);
    if (atomic_load(&queue->failed) == MPI_SUCCESS) {
        queue->failed_comm = comm_of(pair);
        mpixq_pair_fault(pair, &queue->failed_at);
        mpixq_queue_set_failed(queue, own_code(code, operation, pair));
    }
    mpixq_lock_release(&queue->fail_lock);
}

void mpixq_queue_fail_told(struct mpixq_queue *queue, int n)
{
    for (int i = 0; i < n; i++) {
        if (mpixq_pair_has_failed(queue->pairs[i])) {
            mpixq_queue_fail(queue, queue->pairs[i], mpixq_pair_peer_failed(queue->pairs[i]),
                             "peer");
        }
    }
}

void mpixq_queue_fail_alone(struct mpixq_queue *queue, int code)
{
    if (code == MPI_SUCCESS) {
        return;
    }
    mpixq_lock_acquire(&queue->fail_lock);
    if (atomic_load(&queue->failed) == MPI_SUCCESS) {
        queue->failed_comm = NULL;
        queue->failed_at = MPIXQ_FAULT_NONE;
        mpixq_queue_set_failed(queue, code);
    }
    mpixq_lock_release(&queue->fail_lock);
}

void mpixq_queue_look(struct mpixq_queue *queue)
{
    const char *why = queue->stream->ops->broken(queue->stream);
    char text[256]; /* as much as Open MPI keeps of an error */

    if (why != NULL && !mpixq_queue_has_failed(queue)) {
        (void)snprintf(text, sizeof text, "the GPU of stream %s reports: %.180s",
                       queue->stream->kind->name, why);
        mpixq_queue_fail_alone(queue, mpixq_error_cause(MPIXQ_E_GPU, NULL, text));
    }
}

int mpixq_queue_failure(struct mpixq_queue *queue, struct mpixq_fault *fault_p)
{
    int code;

    mpixq_lock_acquire(&queue->fail_lock);
    code = atomic_load(&queue->failed);
    *fault_p = queue->failed_at;
    fault_p->comm = mpixq_comm_handle(queue->failed_comm);
    mpixq_lock_release(&queue->fail_lock);
    return code;
}
