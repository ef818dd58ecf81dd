/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Functions of channels that have nothing to do there, or nothing to gain. */
#include <stddef.h>

#include "channel.h"
#include "queue.h"

bool mpixq_channel_must_open_nothing(const struct mpixq_pair *pair)
{
    (void)pair;
    return false;
}

bool mpixq_channel_open_nothing(struct mpixq_pair *pair, char *why_p, size_t room)
{
    (void)pair;
    (void)why_p;
    (void)room;
    return true;
}

enum mpixq_error mpixq_channel_attach_nothing(struct mpixq_queue *queue)
{
    (void)queue;
    return MPIXQ_E_NONE;
}

void mpixq_channel_detach_nothing(struct mpixq_queue *queue)
{
    (void)queue;
}

void mpixq_channel_expose_nothing(const struct mpixq_stream_ops *ops)
{
    (void)ops;
}

void mpixq_channel_reach_nothing(struct mpixq_pair *pair, const char *kind)
{
    (void)pair;
    (void)kind;
}

void mpixq_channel_unreach_nothing(struct mpixq_pair *pair)
{
    (void)pair;
}

void mpixq_channel_drive_nothing(void)
{
}

void mpixq_channel_prepare_nothing(struct mpixq_pair *pair, const char *kind, void *place,
                                   void *buffer)
{
    (void)pair;
    (void)kind;
    (void)place;
    (void)buffer;
}

void mpixq_channel_ignore(struct mpixq_pair *pair)
{
    (void)pair;
}

bool mpixq_channel_has_lost_nothing(struct mpixq_pair *pair)
{
    (void)pair;
    return false;
}

void mpixq_channel_tell_nothing(struct mpixq_facts *facts)
{
    (void)facts;
}

const char *mpixq_channel_outlook_available(void)
{
    return "available";
}

void mpixq_channel_poll_each(struct mpixq_pair *const pairs[], int n, bool done[])
{
    for (int i = 0; i < n; i++) {
        done[i] = pairs[i]->channel->poll(pairs[i]);
    }
}
