/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channels of this build, best first. */
#include <mpi.h>
#include <stddef.h>

#include "channel.h"
#include "served.h"
#include "util/env.h"
#include "util/facts.h"
#include "util/log.h"

const struct mpixq_channel *const mpixq_channels[] = {
    &mpixq_channel_ipc, /* before self, which works on the host */
    &mpixq_channel_self,
#ifdef HAVE_LIBFABRIC
    &mpixq_channel_cxi,
#endif
    &mpixq_channel_fallback, NULL,
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

void mpixq_channels_tell(struct mpixq_facts *facts)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        const struct mpixq_channel *channel = mpixq_channels[i];

        mpixq_fact(facts, channel->name, "%s",
                   mpixq_channel_set_has(&mpixq_env.channels, channel->id)
                       ? channel->outlook()
                       : "not available: MPIXQ_CHANNELS leaves it out");
    }
    if (mpixq_channel_by_id(MPIXQ_CHANNEL_CXI) == NULL) {
        mpixq_fact(facts, "cxi", "not available: the library was built without libfabric");
    }
}

static void print_one(struct mpixq_facts *facts, const char *name, const char *value, int is_detail)
{
    (void)facts;
    (void)is_detail;
    mpixq_print("channel %s: %s", name, value);
}

void mpixq_channels_print(void)
{
    struct mpixq_facts facts = {.take = print_one};

    mpixq_channels_tell(&facts);
}

enum mpixq_error mpixq_channels_attach(struct mpixq_queue *queue)
{
    enum mpixq_error error = MPIXQ_E_NONE;
    int n = 0;

    for (; error == MPIXQ_E_NONE && mpixq_channels[n] != NULL; n++) {
        if (mpixq_channel_set_has(&mpixq_env.channels, mpixq_channels[n]->id)) {
            error = mpixq_channels[n]->attach(queue);
        }
    }
    for (n -= 2; error != MPIXQ_E_NONE && n >= 0; n--) {
        mpixq_channels[n]->detach(queue);
    }
    return error;
}

void mpixq_channels_detach(struct mpixq_queue *queue)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        mpixq_channels[i]->detach(queue);
    }
}

void mpixq_channels_expose(const struct mpixq_stream_ops *ops)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        mpixq_channels[i]->expose(ops);
    }
}

void mpixq_channels_reach(struct mpixq_pair *pair, const struct mpixq_channel_set *set,
                          const char *kind)
{
    for (int i = 0; pair->reached == NULL && mpixq_channels[i] != NULL; i++) {
        if (mpixq_channel_set_has(set, mpixq_channels[i]->id)) {
            mpixq_channels[i]->reach(pair, kind);
            pair->reached_by = pair->reached != NULL ? (uint8_t)mpixq_channels[i]->id : 0;
        }
    }
}

void mpixq_channels_unreach(struct mpixq_pair *pair)
{
    if (pair->reached_by != 0) {
        mpixq_channel_by_id(pair->reached_by)->unreach(pair);
        pair->reached_by = 0;
    }
}

void mpixq_channels_prepare(struct mpixq_pair *pair, const struct mpixq_channel_set *set,
                            const char *kind, void *place, void *buffer)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        if (mpixq_channel_set_has(set, mpixq_channels[i]->id)) {
            mpixq_channels[i]->prepare(pair, kind, place, buffer);
        }
    }
}

void mpixq_channels_drive(void)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        mpixq_channels[i]->drive();
    }
}

void mpixq_channels_tidy(void)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        mpixq_channels[i]->tidy();
    }
}

void mpixq_channels_settle(const uint64_t starts[])
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        if (starts[mpixq_channels[i]->id] > 0) {
            mpixq_channels[i]->settle();
        }
    }
}

void mpixq_channels_close(void)
{
    mpixq_served_print();
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        mpixq_channels[i]->close();
    }
}
