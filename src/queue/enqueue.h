/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What calls that enqueue have in common: for enqueue.c, and enqueue_graph.c, where the stream is
 * being captured into a graph.
 */
#ifndef MPIXQ_ENQUEUE_H
#define MPIXQ_ENQUEUE_H

#include <mpi.h>
#include <stdbool.h>

#include "core/fault.h"
#include "core/handles.h"
#include "core/queue.h"
#include "core/steps.h"

/* Room for n elements in the queue's arrays; under the submission lock. */
bool mpixq_enqueue_make_room(struct mpixq_queue *queue, int n);
/* May calls for a request take several lists of operations? */
__attribute__((cold)) bool mpixq_enqueue_in_lists(const struct mpixq_request *req);
/* If they do (in_lists), of the first n pairs; under the submission lock. Enqueue the steps of a
 * phase but the first one of starts and the last one of waits (steps.h): no launches of their own,
 * as there are these. */
__attribute__((cold)) void mpixq_enqueue_steps(struct mpixq_queue *queue, int n,
                                               enum mpixq_phase phase);
/* Put those that are about to be waited for, and then go on, before the others. Returns how many
 * they are. And fill the list of starts, or of waits, with which they go on: returns how many
 * operations these are. */
__attribute__((cold)) int mpixq_enqueue_find_going_on(struct mpixq_queue *queue, int n);
__attribute__((cold)) int mpixq_enqueue_fill_then(struct mpixq_queue *queue, int n, bool waits);
/* Do GPUs make starts of the first n pairs, and wait for them, by themselves, each by one
 * operation? Then there is room for all of these. Under the submission lock. */
bool mpixq_enqueue_can_be_both(struct mpixq_queue *queue, int n);
/* May a request that is matched be started on this queue, as far as that depends on the type of
 * the queue and on where the buffer is? Under the submission lock. */
enum mpixq_error mpixq_enqueue_check_first(struct mpixq_queue *queue,
                                           const struct mpixq_request *req);
/* Of a request that is to be started by others than calls of ours: is it matched, at rest as far as
 * the host knows, and good? */
enum mpixq_error mpixq_enqueue_check_idle(const struct mpixq_request *req);
/* What a call is to be told of an error at the request with this index, NULL if it is unknown. */
int mpixq_enqueue_fault(const struct mpixq_queue *queue, enum mpixq_error error,
                        const struct mpixq_request *failed, int index, struct mpixq_fault *fault_p);

/* The same while the stream of the queue is being captured. Each returns an MPI code, and what it
 * is about. */
int mpixq_enqueue_graph_start(struct mpixq_queue *queue, int count, MPI_Request requests[],
                              struct mpixq_fault *fault_p);
int mpixq_enqueue_graph_wait(struct mpixq_queue *queue, int count, MPI_Request requests[],
                             struct mpixq_fault *fault_p);
int mpixq_enqueue_graph_start_wait(struct mpixq_queue *queue, int count, MPI_Request requests[],
                                   struct mpixq_fault *fault_p);
int mpixq_enqueue_graph_wait_started(struct mpixq_queue *queue, struct mpixq_fault *fault_p);

/* The record of a handle, or NULL. Arrays come again and again, so the record that was in its place
 * the last time is looked at first. */
static inline struct mpixq_request *mpixq_enqueue_find(_Atomic(struct mpixq_request *) *place,
                                                       MPI_Request handle)
{
    struct mpixq_request *req = atomic_load_explicit(place, memory_order_relaxed);

    if (__builtin_expect(req == NULL || !mpixq_handles_is(req, handle), false)) {
        req = mpixq_request_find(handle);
        atomic_store_explicit(place, req, memory_order_relaxed);
    }
    return req;
}

typedef enum mpixq_error mpixq_enqueue_check(struct mpixq_queue *queue,
                                             const struct mpixq_request *req);

/* Look up all elements and check each. The pairs of those that are not null, *n_p, go to
 * queue->pairs. On an error *index_p is the element's, and *failed_p its record, or NULL if it is
 * unknown. Under the submission lock. Compiled for each check by itself. */
static inline __attribute__((always_inline)) enum mpixq_error
mpixq_enqueue_collect(struct mpixq_queue *queue, int count, MPI_Request requests[],
                      mpixq_enqueue_check *check, int *n_p, struct mpixq_request **failed_p,
                      int *index_p)
{
    _Atomic(struct mpixq_request *) *place = &queue->first_found;
    uint64_t mark = ++queue->mark;
    const MPI_Request *end = count > 0 ? requests + count : requests;
    struct mpixq_pair **pair;

    *failed_p = NULL;
    *index_p = -1;
    *n_p = 0;
    if (count > queue->room && !mpixq_enqueue_make_room(queue, count)) {
        return MPIXQ_E_NO_MEMORY;
    }
    pair = queue->pairs;
    for (const MPI_Request *at = requests; at != end; at++) {
        struct mpixq_request *req;
        enum mpixq_error error;

        if (*at == MPI_REQUEST_NULL) {
            continue;
        }
        req = mpixq_enqueue_find(place, *at);
        if (req == NULL) {
            *index_p = (int)(at - requests);
            return MPIXQ_E_UNKNOWN_REQUEST;
        }
        error = check(queue, req);
        if (error == MPIXQ_E_NONE && req->mark == mark) {
            error = MPIXQ_E_TWICE;
        }
        if (error != MPIXQ_E_NONE) {
            *failed_p = req;
            *index_p = (int)(at - requests);
            return error;
        }
        req->mark = mark;
        *pair++ = &req->pair;
        place = &req->followed_by;
    }
    *n_p = (int)(pair - queue->pairs);
    return queue->wanted <= queue->each || mpixq_enqueue_make_room(queue, *n_p) ? MPIXQ_E_NONE
                                                                                : MPIXQ_E_NO_MEMORY;
}

#endif
