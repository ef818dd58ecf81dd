/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channels of this build, best first. */
#include <mpi.h>
#include <stddef.h>

#include "channel.h"

const struct mpixq_channel *const mpixq_channels[] = {
    &mpixq_channel_self,
    &mpixq_channel_fallback,
    NULL,
};

const struct mpixq_channel *mpixq_channel_by_id(uint32_t id)
{
    if (id == MPIXQ_CHANNEL_NULL) {
        return &mpixq_channel_null;
    }
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        if (mpixq_channels[i]->id == id) {
            return mpixq_channels[i];
        }
    }
    return NULL;
}

int mpixq_channels_open(void)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; rc == MPI_SUCCESS && mpixq_channels[i] != NULL; i++) {
        rc = mpixq_channels[i]->open();
    }
    return rc;
}

void mpixq_channels_close(void)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        mpixq_channels[i]->close();
    }
}
