/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Sets of channels: which ones a process, or one match, may use, best first. Pure data.
 */
#ifndef MPIXQ_CHANNEL_SET_H
#define MPIXQ_CHANNEL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names of the channels on the wire: those of channel_defs.h. */
enum mpixq_channel_id {
    MPIXQ_CHANNEL_NULL = 0, /* MPI_PROC_NULL: nothing moves */
#define MPIXQ_CHANNEL(number, NAME, name, build, choice) MPIXQ_CHANNEL_##NAME = (number),
#include "channel_defs.h"
#undef MPIXQ_CHANNEL
};
/* Numbers follow each other, so their count is beyond the last. */
enum {
    MPIXQ_N_CHANNELS = 1
#define MPIXQ_CHANNEL(number, NAME, name, build, choice) +1
#include "channel_defs.h"
#undef MPIXQ_CHANNEL
};

/* Ids in the order of preference. The channel self is always among them; null never is, since the
 * requests that it serves have no other. */
struct mpixq_channel_set {
    uint8_t n;
    uint8_t ids[MPIXQ_N_CHANNELS];
};

/* Read names of channels that can be chosen, in any order, as "ipc,fallback". False, with a reason
 * for people in why_p, if it is no such list; *set_p is as before then. */
bool mpixq_channel_set_parse(const char *text, struct mpixq_channel_set *set_p, char *why_p,
                             size_t room);
bool mpixq_channel_set_has(const struct mpixq_channel_set *set, uint32_t id);
void mpixq_channel_set_remove(struct mpixq_channel_set *set, uint32_t id);
/* Remove what is not in limit. */
void mpixq_channel_set_limit(struct mpixq_channel_set *set, const struct mpixq_channel_set *limit);

/* As bits by ids, which is how a peer hears of it; without self. */
uint32_t mpixq_channel_set_bits(const struct mpixq_channel_set *set);
/* The channels as MPIXQ_CHANNELS spells them, or "none"; of bits in the usual order. Both return
 * text_p. */
const char *mpixq_channel_set_text(const struct mpixq_channel_set *set, char *text_p, size_t room);
const char *mpixq_channel_bits_text(uint32_t bits, char *text_p, size_t room);
const char *mpixq_channel_name(uint32_t id);

#endif
