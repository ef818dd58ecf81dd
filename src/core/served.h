/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Which channels serve the pairs of this process, and why not better ones. Each end of a pair says
 * of the channels that it refuses why it does, and hears the same of the other. The texts are few,
 * so each is kept once, for good, and requests name it by a number.
 *
 * All is written under the matching lock. A reason may be read without it by whoever may look at a
 * matched request that names it.
 */
#ifndef MPIXQ_SERVED_H
#define MPIXQ_SERVED_H

#include <stddef.h>
#include <stdint.h>

#include "util/channel_set.h"

struct mpixq_request;

/* Bytes of a text, at most; the rest of a longer one is left out. How many there can be, as a peer
 * may send what it likes; and what is added to the number of one that the peer has. */
enum { MPIXQ_REASON_BYTES = 100, MPIXQ_N_REASONS = 64, MPIXQ_REASON_OF_PEER = 128 };

/* The number of a text, which need not be printable; from 1 to N_REASONS - 1. */
uint8_t mpixq_reason(const char *text, size_t length);
/* The text of a number, with or without OF_PEER; that of 0 is empty. */
const char *mpixq_reason_text(uint8_t number);

/* Why a pair has no channel, or goes by one that a queue does not take: for texts of errors. */
struct mpixq_channel_choice {
    const char *excluded_by; /* a type of queue; NULL: there is no channel */
    uint32_t channel;        /* by which it goes */
    uint32_t here, there;    /* without one: those that this end and its peer may use, as bits */
    uint8_t why_not[MPIXQ_N_CHANNELS]; /* reasons against the others, or 0 */
};

/* What there is to say of it, in text_p. */
void mpixq_channel_choice_text(const struct mpixq_channel_choice *choice, char *text_p,
                               size_t room);

/* A request was matched on its channel; and a collective, of which each message is such a one. */
void mpixq_served_count(const struct mpixq_request *req);
void mpixq_served_count_collective(const struct mpixq_request *req);
/* Pairs of a channel so far. */
uint64_t mpixq_served_pairs(uint32_t channel);
/* Pairs of a channel that a better one did not serve, for the reason of this number; and those of
 * them for which it is that of the peer. Call visit for each that there are. */
struct mpixq_missed {
    uint32_t all, at_peer;
    uint8_t served, better, reason, reserved;
};
void mpixq_served_each_missed(void (*visit)(const struct mpixq_missed *missed, void *arg),
                              void *arg);
/* How many pairs went by which channel, and why not by a better one; if asked for by MPIXQ_INFO. */
void mpixq_served_print(void);

#endif
