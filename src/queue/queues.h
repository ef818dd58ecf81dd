/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Queues: requests in the order of a stream. A queue checks the states of requests, asks each
 * request's channel what its start or wait means, and submits that to the stream as one
 * operation per call.
 */
#ifndef MPIXQ_QUEUES_H
#define MPIXQ_QUEUES_H

#include <mpi.h>
#include <stdbool.h>

#include "core/queue.h"
#include "stream/stream.h"

/* All of these return an MPI code and, where it is an error, in *fault_p what it is about. They
 * invoke no error handler themselves. */
int mpixq_queue_create(MPIXQ_Queue_type type, const char *kind, void *const *address,
                       struct mpixq_queue **queue_p);
int mpixq_queue_destroy(struct mpixq_queue *queue);
int mpixq_queue_wait(struct mpixq_queue *queue, struct mpixq_fault *fault_p);
int mpixq_queue_test(struct mpixq_queue *queue, int *flag, struct mpixq_fault *fault_p);
int mpixq_enqueue_start(struct mpixq_queue *queue, int count, MPI_Request requests[],
                        struct mpixq_fault *fault_p);
int mpixq_enqueue_wait(struct mpixq_queue *queue, int count, MPI_Request requests[],
                       struct mpixq_fault *fault_p);
/* Both; with an error nothing is enqueued. */
int mpixq_enqueue_start_wait(struct mpixq_queue *queue, int count, MPI_Request requests[],
                             struct mpixq_fault *fault_p);
int mpixq_enqueue_wait_started(struct mpixq_queue *queue, struct mpixq_fault *fault_p);
int mpixq_queue_info(struct mpixq_queue *queue, MPI_Info *info_p);
/* The handle of its stream. */
void *mpixq_queue_stream(struct mpixq_queue *queue);
/* What its type promises (queue_type.c): can it be kept by a queue on such a stream, as far as that
 * is known? An MPI code. And that of a type whose channel could not be opened. */
int mpixq_queue_type_check(MPIXQ_Queue_type type, const struct mpixq_stream_ops *ops);
int mpixq_queue_type_unusable(void);
const char *mpixq_queue_type_name(MPIXQ_Queue_type type);
/* May the queue start a matched request? If not, what is to be said of it. */
enum mpixq_error mpixq_queue_type_admits(const struct mpixq_queue *queue,
                                         const struct mpixq_request *req);
/* Is it a preference that comes too late to be followed? Then that is said, once in a process. */
bool mpixq_queue_type_is_late(const struct mpixq_queue *queue, const struct mpixq_request *req);
void mpixq_queues_say_late(const struct mpixq_queue *queue, const struct mpixq_request *req);
void mpixq_queue_type_explain(const struct mpixq_queue *queue, const struct mpixq_request *req,
                              struct mpixq_channel_choice *choice_p);
/* What it is made on. */
void mpixq_queue_print(const struct mpixq_queue *queue);
bool mpixq_queue_is_live(const struct mpixq_queue *queue);
/* Call visit for each live queue, one after the other, under its submission lock. Any thread that
 * has the submission lock of none. */
void mpixq_queues_each(void (*visit)(struct mpixq_queue *queue, void *arg), void *arg);
/* If the last wait of a request has completed, or its queue has failed, take it from its queue. */
void mpixq_queue_settle(struct mpixq_request *req);
/* Of a queue that was told: take from it what is complete and has failed, so that to start that is
 * refused. */
__attribute__((cold)) void mpixq_queue_part_told(struct mpixq_queue *queue);
/* In MPI_Finalize: fail every live queue, so that its stream drains, and free it. Returns how
 * many there were. */
int mpixq_queues_close(void);

#endif
