/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the types of queues promise. The channel of a pair is chosen when it is matched, before it
 * comes to a queue, so a type selects nothing: a queue takes a pair or refuses to start it. */
#include <stdio.h>

#include "core/channels.h"
#include "core/schedule.h"
#include "core/served.h"
#include "queues.h"
#include "util/env.h"

static const struct type {
    const char *name, *constant;
    uint32_t excludes; /* channels, as bits by their ids */
} types[] = {
    [MPIXQ_QUEUE_AUTO] = {.name = "auto", .constant = "MPIX_QUEUE_AUTO"},
    [MPIXQ_QUEUE_FALLBACK] = {.name = "fallback", .constant = "MPIX_QUEUE_FALLBACK"},
    [MPIXQ_QUEUE_CXI] = {.name = "cxi",
                         .constant = "MPIX_QUEUE_CXI",
                         .excludes = 1u << MPIXQ_CHANNEL_FALLBACK},
    [MPIXQ_QUEUE_IPC] = {.name = "ipc",
                         .constant = "MPIX_QUEUE_IPC",
                         .excludes = 1u << MPIXQ_CHANNEL_FALLBACK | 1u << MPIXQ_CHANNEL_CXI},
};

const char *mpixq_queue_type_name(MPIXQ_Queue_type type)
{
    return types[type].name;
}

int mpixq_queue_type_check(MPIXQ_Queue_type type, const struct mpixq_stream_ops *ops)
{
    if (type == MPIXQ_QUEUE_CXI &&
        (mpixq_channel_by_id(MPIXQ_CHANNEL_CXI) == NULL ||
         !mpixq_channel_set_has(&mpixq_env.channels, MPIXQ_CHANNEL_CXI))) {
        return mpixq_queue_type_unusable();
    }
    if (type == MPIXQ_QUEUE_IPC &&
        (!ops->copies || !mpixq_channel_set_has(&mpixq_env.channels, MPIXQ_CHANNEL_IPC))) {
        return mpixq_error_code(MPIXQ_E_NO_IPC);
    }
    return MPI_SUCCESS;
}

int mpixq_queue_type_unusable(void)
{
    const struct mpixq_channel *cxi = mpixq_channel_by_id(MPIXQ_CHANNEL_CXI);
    char text[256]; /* as much as Open MPI keeps of an error */

    (void)snprintf(
        text, sizeof text,
        "argument type: MPIX_QUEUE_CXI cannot be used here, as the channel cxi is %.180s",
        cxi == NULL ? "not in this build: the library was built without libfabric"
        : !mpixq_channel_set_has(&mpixq_env.channels, MPIXQ_CHANNEL_CXI)
            ? "not among MPIXQ_CHANNELS"
            : mpixq_channel_availability(cxi));
    return mpixq_error_cause(MPIXQ_E_CXI, NULL, text);
}

/* By which its data goes, as bits: that of a collective is that of its parts. */
static uint32_t channels_of(const struct mpixq_pair *pair)
{
    uint32_t channels = 1u << pair->channel->id;
    const struct mpixq_pair *part;

    for (int i = 0; (part = mpixq_collective_part(pair, i)) != NULL; i++) {
        channels |= 1u << part->channel->id;
    }
    return channels;
}

enum mpixq_error mpixq_queue_type_admits(const struct mpixq_queue *queue,
                                         const struct mpixq_request *req)
{
    return (types[queue->type].excludes & channels_of(&req->pair)) == 0 ? MPIXQ_E_NONE
                                                                        : MPIXQ_E_QUEUE_TYPE;
}

bool mpixq_queue_type_is_late(const struct mpixq_queue *queue, const struct mpixq_request *req)
{
    return queue->type == MPIXQ_QUEUE_FALLBACK &&
           (channels_of(&req->pair) & (1u << MPIXQ_CHANNEL_CXI | 1u << MPIXQ_CHANNEL_IPC)) != 0;
}

void mpixq_queue_type_explain(const struct mpixq_queue *queue, const struct mpixq_request *req,
                              struct mpixq_channel_choice *choice_p)
{
    const struct type *type = &types[queue->type];

    *choice_p = (struct mpixq_channel_choice){.excluded_by = type->constant,
                                              .channel = req->pair.channel->id};
    for (uint32_t id = 0; id < MPIXQ_N_CHANNELS; id++) {
        bool would_do = (type->excludes & 1u << id) == 0 && id != MPIXQ_CHANNEL_SELF;

        choice_p->why_not[id] = would_do ? req->why_not[id] : 0;
    }
}
