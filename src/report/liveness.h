/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Liveness: a start or a match that waits for a peer that cannot take part any more ends with an
 * error. While one gets no further for MPIXQ_LIVENESS_S it is asked whether the peer's process has
 * ended, where that can be seen (process.h); whether the network of the channel still reaches it;
 * and whether it has freed its end of the pair.
 *
 * Like the watchdog it is part of mpixq_match_kick, and starting and waiting cost nothing for it.
 * It needs no clock of its own: while something has been started and not completed, or is being
 * matched, somebody comes by.
 */
#ifndef MPIXQ_LIVENESS_H
#define MPIXQ_LIVENESS_H

/* Look, if it is time to, which is kept in a uint64_t, 0 at first. Under the matching lock, after
 * control messages were exchanged. */
void mpixq_liveness_check(void *next_ns);

#endif
