/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Puts and gets between processes, by messages of MPI.
 *
 *     put   up to 4 KiB   PUT with the data  --->  into the window; event
 *                         event: the data is in the message
 *           more          PUT                --->  checked, and read from there (pull.h); event
 *                         event              <---  TAKEN
 *           else          PUT                --->  checked, a receive into the window posted
 *                                            <---  GO
 *                         MPI_Isend of the window's memory; event at each end when it is done
 *     get                 GET                --->  checked
 *                                            <---  REPLY: as a put into the block of the getter
 *     not possible        PUT or GET         --->
 *                                            <---  REFUSE, with the error
 *     flush               FLUSH, n puts      --->  when so many have arrived
 *                                            <---  FLUSHED, n
 *
 * What a program puts or gets in one call goes in parts of at most 4 MiB, each of which is all of
 * this by itself, and they add up to one event (signal_word.h).
 */
#ifndef MPIXQ_RMA_PROTOCOL_H
#define MPIXQ_RMA_PROTOCOL_H

#include <stdbool.h>

#include "blk.h"
#include "window.h"

/* Start a put or a get to another process of the window; under the lock. An MPI code. */
int mpixq_rma_begin(const struct mpixq_transfer *transfer, enum mpixq_rma_call call);
/* Let it go on; under the lock. */
void mpixq_rma_protocol_go(struct mpixq_window *window);
/* Under the lock: ask for what is missing, and tell whether all that was started from here is
 * complete at both ends. */
bool mpixq_rma_is_flushed(struct mpixq_window *window);
/* Forget what is under way. */
void mpixq_rma_protocol_close(struct mpixq_window *window);

#endif
