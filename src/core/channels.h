/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channels of this build, and what those who use channels ask of them that not all have
 * (channel.h). Nobody else asks whether a channel has it.
 */
#ifndef MPIXQ_CHANNELS_H
#define MPIXQ_CHANNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "channel.h"

/* All channels of this build, best first, ending with NULL. */
extern const struct mpixq_channel *const mpixq_channels[];
const struct mpixq_channel *mpixq_channel_by_id(uint32_t id);

/* All of them. */
int mpixq_channels_open(void);
void mpixq_channels_close(void);
enum mpixq_error mpixq_channels_attach(struct mpixq_queue *queue);
void mpixq_channels_detach(struct mpixq_queue *queue);
void mpixq_channels_expose(const struct mpixq_stream_kind *kind);
void mpixq_channels_drive(void);
void mpixq_channels_clean_up(void);
/* Those that have starts: an array by their ids. */
void mpixq_channels_report_failures(const uint64_t starts[]);
/* For MPIXQ_INFO, and for mpixq_info: which of them can serve here, as far as is known; and what
 * they stand on. */
void mpixq_channels_print(void);
void mpixq_channels_tell(struct mpixq_facts *facts);
void mpixq_channels_describe(struct mpixq_facts *facts);
/* How NICs make puts of windows; NULL: no channel does, of those that MPIXQ_CHANNELS has. */
const struct mpixq_channel_windows *mpixq_channels_windows(void);
const char *mpixq_channel_availability(const struct mpixq_channel *channel);

/* Those of a set, for a pair that is not matched. */
void mpixq_channels_reach(struct mpixq_pair *pair, const struct mpixq_channel_set *set,
                          const char *kind);
void mpixq_channels_unreach(struct mpixq_pair *pair);
/* Do NICs write to this memory of a GPU? As writes of channel.h. */
bool mpixq_channels_nics_reach(const char *kind, const void *address);
void mpixq_channels_prepare(struct mpixq_pair *pair, const struct mpixq_channel_set *set,
                            const char *kind, void *place, void *buffer);

/* The one that is to serve the pair. */
void mpixq_channel_withdraw(const struct mpixq_channel *channel, struct mpixq_pair *pair);
bool mpixq_channel_must_open(const struct mpixq_channel *channel, const struct mpixq_pair *pair);
bool mpixq_channel_open_peer(const struct mpixq_channel *channel, struct mpixq_pair *pair,
                             char *why_p, size_t room);
void mpixq_channel_undo(const struct mpixq_channel *channel, struct mpixq_pair *pair);

/* The one that serves it. */
void mpixq_channel_poll_many(struct mpixq_pair *const pairs[], int n, bool done[]);
void mpixq_channel_recall(struct mpixq_pair *pair);
bool mpixq_channel_is_broken(struct mpixq_pair *pair);
bool mpixq_channel_has_lost(struct mpixq_pair *pair);
const char *mpixq_channel_what_is_missing(const struct mpixq_pair *pair);
void mpixq_channel_ended(struct mpixq_pair *pair);
void mpixq_channel_release(struct mpixq_pair *pair);
bool mpixq_channel_retire(struct mpixq_pair *pair);

/* In every test and wait of the host. */
static inline void mpixq_channel_progress_wait(struct mpixq_pair *pair)
{
    const struct mpixq_channel_gpus *gpus = pair->channel->gpus;

    if (gpus != NULL && gpus->progress_wait != NULL) {
        gpus->progress_wait(pair);
    }
}

static inline void mpixq_channel_report_failures(const struct mpixq_channel *channel)
{
    const struct mpixq_channel_upkeep *upkeep = channel->upkeep;

    if (upkeep != NULL && upkeep->report_failures != NULL) {
        upkeep->report_failures();
    }
}

#endif
