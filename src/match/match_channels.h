/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What match.c asks of match_channels.c and match_reasons.c. Under the matching lock.
 */
#ifndef MPIXQ_MATCH_CHANNELS_H
#define MPIXQ_MATCH_CHANNELS_H

#include "comm/error.h"
#include "core/channel.h"
#include "core/request.h"
#include "core/served.h"
#include "wire.h"

/* Receiver: do this receive and this offer fit, which belong together? */
enum mpixq_error mpixq_match_check_pair(const struct mpixq_request *req,
                                        const struct mpixq_wire_offer *offer);
/* Sender: offer every channel that could serve, and say why not the others. */
void mpixq_match_offer_channels(struct mpixq_request *req, struct mpixq_record *record);
/* Give up what the channels have reserved for the offer of a send, but for one that was taken. */
void mpixq_match_drop_offers(struct mpixq_request *req, const struct mpixq_channel *except);
/* Receiver: the first channel in its order that both ends can use; the answer is filled but for the
 * numbers of the two ends. Every error of an accept, or CHANNELS: both may use none. */
enum mpixq_error mpixq_match_choose_channel(struct mpixq_request *req,
                                            const struct mpixq_record *offer,
                                            struct mpixq_record *answer,
                                            const struct mpixq_channel **channel_p);
/* Sender: the channel that the receiver has taken, connected, or its error. */
enum mpixq_error mpixq_match_accepted_channel(struct mpixq_request *req,
                                              const struct mpixq_record *answer,
                                              const struct mpixq_channel **channel_p);
/* This end cannot use the channel. */
void mpixq_match_refuse_channel(struct mpixq_request *req, uint32_t id, const char *why);
/* What the peer is to hear of channels. */
void mpixq_match_tell_channels(const struct mpixq_request *req, struct mpixq_wire_channels *mine);
/* The peer cannot use one that this end can, and says why. */
void mpixq_match_hear_refusal(struct mpixq_request *req, uint32_t id,
                              const struct mpixq_wire_channels *theirs);
/* Which channels the two ends may use, and why none of them serves, for the text of an error. */
void mpixq_match_tell_choice(const struct mpixq_request *req, uint32_t theirs,
                             struct mpixq_channel_choice *choice_p);

/* Send an offer or answer that says this of channels, and before it the texts of reasons that the
 * peer does not know. False without memory. */
bool mpixq_match_send(int world, const struct mpixq_record *record,
                      const struct mpixq_wire_channels *channels);
/* A peer tells a reason; and our number of one that it names by its own, or 0. */
void mpixq_match_record_reason(const struct mpixq_record *record, int source);
uint8_t mpixq_match_reason_of(int world, uint8_t number);
/* In MPI_Finalize. */
void mpixq_match_reasons_close(void);

#endif
