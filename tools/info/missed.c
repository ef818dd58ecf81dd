/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * missed.c - which channels come before the one that serves
 */
#include "missed.h"

#include "core/channel.h"
#include "core/request.h"

const uint32_t usual[N_USUAL] = {MPIXQ_CHANNEL_IPC, MPIXQ_CHANNEL_SELF, MPIXQ_CHANNEL_CXI,
                                 MPIXQ_CHANNEL_FALLBACK};

bool is_missed(const struct mpixq_request *req, uint32_t id)
{
    const struct mpixq_channel_set *set = &req->channels;
    bool is_in = mpixq_channel_set_has(set, id);
    int n = is_in ? set->n : N_USUAL;

    for (int i = 0; req->pair.channel != NULL && i < n; i++) {
        uint32_t at = is_in ? set->ids[i] : usual[i];

        if (at == id || at == req->pair.channel->id) {
            return at != req->pair.channel->id;
        }
    }
    return true;
}
