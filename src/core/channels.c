/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channels of this build, best first. */
#include "channels.h"

#include <mpi.h>

#include "served.h"
#include "util/env.h"
#include "util/facts.h"
#include "util/log.h"

/* What builds have, by util/channel_defs.h. */
#define ALWAYS(name) &mpixq_channel_##name,
#ifdef HAVE_LIBFABRIC
#define WITH_LIBFABRIC(name) &mpixq_channel_##name,
#else
#define WITH_LIBFABRIC(name)
#endif
const struct mpixq_channel *const mpixq_channels[] = {
#define MPIXQ_CHANNEL(number, NAME, name, build, choice) build(name)
#include "util/channel_defs.h"
#undef MPIXQ_CHANNEL
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

/* All of them. */

int mpixq_channels_open(void)
{
    int rc = MPI_SUCCESS;

    for (int i = 0; rc == MPI_SUCCESS && mpixq_channels[i] != NULL; i++) {
        if (mpixq_channels[i]->open != NULL) {
            rc = mpixq_channels[i]->open();
        }
    }
    return rc;
}

void mpixq_channels_close(void)
{
    mpixq_served_print();
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        if (mpixq_channels[i]->close != NULL) {
            mpixq_channels[i]->close();
        }
    }
}

static enum mpixq_error attach(const struct mpixq_channel *channel, struct mpixq_queue *queue)
{
    return channel->queues != NULL && channel->queues->attach != NULL &&
                   mpixq_channel_set_has(&mpixq_env.channels, channel->id)
               ? channel->queues->attach(queue)
               : MPIXQ_E_NONE;
}

static void detach(const struct mpixq_channel *channel, struct mpixq_queue *queue)
{
    if (channel->queues != NULL && channel->queues->detach != NULL) {
        channel->queues->detach(queue);
    }
}

enum mpixq_error mpixq_channels_attach(struct mpixq_queue *queue)
{
    enum mpixq_error error = MPIXQ_E_NONE;
    int n = 0;

    for (; error == MPIXQ_E_NONE && mpixq_channels[n] != NULL; n++) {
        error = attach(mpixq_channels[n], queue);
    }
    for (n -= 2; error != MPIXQ_E_NONE && n >= 0; n--) {
        detach(mpixq_channels[n], queue);
    }
    return error;
}

void mpixq_channels_detach(struct mpixq_queue *queue)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        detach(mpixq_channels[i], queue);
    }
}

void mpixq_channels_expose(const struct mpixq_stream_kind *kind)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        const struct mpixq_channel_gpus *gpus = mpixq_channels[i]->gpus;

        if (gpus != NULL && gpus->expose != NULL) {
            gpus->expose(kind);
        }
    }
}

void mpixq_channels_drive(void)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        if (mpixq_channels[i]->upkeep != NULL) {
            mpixq_channels[i]->upkeep->drive();
        }
    }
}

void mpixq_channels_clean_up(void)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        if (mpixq_channels[i]->upkeep != NULL) {
            mpixq_channels[i]->upkeep->clean_up();
        }
    }
}

void mpixq_channels_report_failures(const uint64_t starts[])
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        if (starts[mpixq_channels[i]->id] > 0) {
            mpixq_channel_report_failures(mpixq_channels[i]);
        }
    }
}

const char *mpixq_channel_availability(const struct mpixq_channel *channel)
{
    return channel->report != NULL && channel->report->availability != NULL
               ? channel->report->availability()
               : "available";
}

void mpixq_channels_tell(struct mpixq_facts *facts)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        const struct mpixq_channel *channel = mpixq_channels[i];

        mpixq_fact(facts, channel->name, "%s",
                   mpixq_channel_set_has(&mpixq_env.channels, channel->id)
                       ? mpixq_channel_availability(channel)
                       : "not available: MPIXQ_CHANNELS leaves it out");
    }
    if (mpixq_channel_by_id(MPIXQ_CHANNEL_CXI) == NULL) {
        mpixq_fact(facts, "cxi", "not available: the library was built without libfabric");
    }
}

const struct mpixq_channel_windows *mpixq_channels_windows(void)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        if (mpixq_channels[i]->windows != NULL &&
            mpixq_channel_set_has(&mpixq_env.channels, mpixq_channels[i]->id)) {
            return mpixq_channels[i]->windows;
        }
    }
    return NULL;
}

void mpixq_channels_describe(struct mpixq_facts *facts)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        const struct mpixq_channel_report *report = mpixq_channels[i]->report;

        if (report != NULL && report->describe != NULL) {
            report->describe(facts);
        }
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

/* Pairs that are not matched. */

void mpixq_channels_reach(struct mpixq_pair *pair, const struct mpixq_channel_set *set,
                          const char *kind)
{
    for (int i = 0; pair->reached == NULL && mpixq_channels[i] != NULL; i++) {
        const struct mpixq_channel_gpus *gpus = mpixq_channels[i]->gpus;

        if (gpus != NULL && gpus->reach != NULL &&
            mpixq_channel_set_has(set, mpixq_channels[i]->id)) {
            gpus->reach(pair, kind);
            pair->reached_by = pair->reached != NULL ? (uint8_t)mpixq_channels[i]->id : 0;
        }
    }
}

void mpixq_channels_unreach(struct mpixq_pair *pair)
{
    if (pair->reached_by != 0) {
        mpixq_channel_by_id(pair->reached_by)->gpus->unreach(pair);
        pair->reached_by = 0;
    }
}

bool mpixq_channels_nics_reach(const char *kind, const void *address)
{
    bool any = false;

    for (int i = 0; !any && mpixq_channels[i] != NULL; i++) {
        const struct mpixq_channel_gpus *gpus = mpixq_channels[i]->gpus;

        any = gpus != NULL && gpus->writes != NULL && gpus->writes(kind, address);
    }
    return any;
}

void mpixq_channels_prepare(struct mpixq_pair *pair, const struct mpixq_channel_set *set,
                            const char *kind, void *place, void *buffer)
{
    for (int i = 0; mpixq_channels[i] != NULL; i++) {
        const struct mpixq_channel_gpus *gpus = mpixq_channels[i]->gpus;

        if (gpus != NULL && gpus->prepare != NULL &&
            mpixq_channel_set_has(set, mpixq_channels[i]->id)) {
            gpus->prepare(pair, kind, place, buffer);
        }
    }
}

/* The channel of a pair. */

void mpixq_channel_withdraw(const struct mpixq_channel *channel, struct mpixq_pair *pair)
{
    if (channel->withdraw != NULL) {
        channel->withdraw(pair);
    }
}

bool mpixq_channel_must_open(const struct mpixq_channel *channel, const struct mpixq_pair *pair)
{
    return channel->peers != NULL && channel->peers->must_open(pair);
}

bool mpixq_channel_open_peer(const struct mpixq_channel *channel, struct mpixq_pair *pair,
                             char *why_p, size_t room)
{
    return channel->peers == NULL || channel->peers->open_peer(pair, why_p, room);
}

void mpixq_channel_undo(const struct mpixq_channel *channel, struct mpixq_pair *pair)
{
    if (channel->peers != NULL) {
        channel->peers->undo(pair);
    }
}

void mpixq_channel_poll_many(struct mpixq_pair *const pairs[], int n, bool done[])
{
    const struct mpixq_channel *channel = pairs[0]->channel;

    if (channel->poll_many != NULL) {
        channel->poll_many(pairs, n, done);
        return;
    }
    for (int i = 0; i < n; i++) {
        done[i] = channel->poll(pairs[i]);
    }
}

void mpixq_channel_recall(struct mpixq_pair *pair)
{
    const struct mpixq_channel_gpus *gpus = pair->channel->gpus;

    if (gpus != NULL && gpus->recall != NULL) {
        gpus->recall(pair);
    }
}

bool mpixq_channel_is_broken(struct mpixq_pair *pair)
{
    const struct mpixq_channel_queues *queues = pair->channel->queues;

    return queues != NULL && queues->is_broken != NULL && queues->is_broken(pair);
}

bool mpixq_channel_has_lost(struct mpixq_pair *pair)
{
    const struct mpixq_channel_upkeep *upkeep = pair->channel->upkeep;

    return upkeep != NULL && upkeep->has_lost != NULL && upkeep->has_lost(pair);
}

const char *mpixq_channel_what_is_missing(const struct mpixq_pair *pair)
{
    const struct mpixq_channel_report *report = pair->channel->report;

    return report != NULL ? report->what_is_missing(pair) : "nothing";
}

void mpixq_channel_ended(struct mpixq_pair *pair)
{
    if (pair->channel->peers != NULL) {
        pair->channel->peers->ended(pair);
    }
}

void mpixq_channel_release(struct mpixq_pair *pair)
{
    if (pair->channel->release != NULL) {
        pair->channel->release(pair);
    }
}

bool mpixq_channel_retire(struct mpixq_pair *pair)
{
    return pair->channel->retire == NULL || pair->channel->retire(pair);
}
