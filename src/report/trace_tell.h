/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPIXQ_TRACE, between the ranks: what each has recorded goes to rank 0, which alone opens the file
 * and writes one rank after the other, never more than a batch of text at a time in memory.
 *
 *     rank 0                                      another rank, in MPI_Finalize
 *                         <-------- READY         and which clock it has
 *     its clock, unless it is ours:
 *              PING       --------> <-------- PONG   some times; the shortest counts
 *                     (TIE between the ends of pairs: what each can draw of the transfers)
 *              SETTLE     --------> <-------- SETTLED   have the others taken the ties?
 *     one after the other:
 *              ASK        --------> <-------- TEXT ...   a batch; until there is no more
 *              END        -------->
 *
 * Whoever waits gives up after some seconds without news. Another rank then goes on to the end of
 * control messages, and answers there as well, as long as rank 0 asks.
 */
#ifndef MPIXQ_TRACE_TELL_H
#define MPIXQ_TRACE_TELL_H

#include "match/wire.h"

/* In MPI_Init: rank 0 opens the file, and all make room for records. */
void mpixq_trace_begin_job(void);
/* A record of it has arrived. Under the matching lock. */
void mpixq_trace_record(const struct mpixq_record *record, int source);
/* In MPI_Finalize, when no other thread is left and before control messages end; and when they have
 * ended. */
void mpixq_trace_tell(void);
void mpixq_trace_end(void);

#endif
