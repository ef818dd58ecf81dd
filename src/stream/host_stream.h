/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Host streams: a ring of operations that one thread executes in order. What the public functions
 * MPIXQ_Host_stream_* stand on; queues use them through stream.h.
 */
#ifndef MPIXQ_HOST_STREAM_H
#define MPIXQ_HOST_STREAM_H

#include <stdbool.h>

#include "comm/error.h"
#include "mpix_queue.h"

/* NULL without memory or thread, with the reason in *error_p. */
struct mpixq_host_stream *mpixq_host_stream_create(enum mpixq_error *error_p);
/* Waits until the stream is idle. STREAM_BUSY, and nothing happened, if a queue has it open. */
enum mpixq_error mpixq_host_stream_destroy(struct mpixq_host_stream *stream);
void mpixq_host_stream_launch(struct mpixq_host_stream *stream, void (*fn)(void *), void *arg);
void mpixq_host_stream_synchronize(struct mpixq_host_stream *stream);
bool mpixq_host_stream_is_idle(const struct mpixq_host_stream *stream);
bool mpixq_host_stream_is_live(const struct mpixq_host_stream *stream);
/* Does the calling thread run a function that was launched on a host stream? */
bool mpixq_host_stream_inside(void);
/* In MPI_Finalize: destroy all. Returns how many there were. */
int mpixq_host_streams_close(void);

#endif
