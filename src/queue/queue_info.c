/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a queue uses and has done, for people. */
#include <stdio.h>

#include "core/channels.h"
#include "queues.h"
#include "stream/stream.h"
#include "util/log.h"

void mpixq_queue_print(const struct mpixq_queue *queue)
{
    mpixq_print("queue %llu of type %s on %s stream of kind %s (%s); channels are chosen per pair, "
                "when requests are matched (MPIXQ_LOG=debug tells each)",
                (unsigned long long)queue->number, mpixq_queue_type_name(queue->type),
                queue->owns_stream ? "its own" : "a", queue->stream->kind->name,
                queue->stream->ops->how(queue->stream));
}

void *mpixq_queue_stream(struct mpixq_queue *queue)
{
    return queue->stream->ops->handle(queue->stream);
}

static int set_count(MPI_Info info, const char *key, uint64_t count)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)count);
    return PMPI_Info_set(info, key, text);
}

/* Those that were used so far. */
static void name_channels(const struct mpixq_queue *queue, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t id = 0; id < MPIXQ_N_CHANNELS; id++) {
        const struct mpixq_channel *channel = mpixq_channel_by_id(id);

        if (queue->by_channel[id] > 0 && channel != NULL && used < size) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? "," : "",
                                     channel->name);
        }
    }
    if (used == 0) {
        (void)snprintf(text, size, "none");
    }
}

static int set_starts_by_channel(MPI_Info info, const struct mpixq_queue *queue)
{
    char key[64];
    int rc = MPI_SUCCESS;

    for (int i = 0; rc == MPI_SUCCESS && mpixq_channels[i] != NULL; i++) {
        (void)snprintf(key, sizeof key, "mpixq_starts_%s", mpixq_channels[i]->name);
        rc = set_count(info, key, queue->by_channel[mpixq_channels[i]->id]);
    }
    return rc;
}

int mpixq_queue_info(struct mpixq_queue *queue, MPI_Info *info_p)
{
    enum mpixq_submission_state was;
    char channels[64];
    MPI_Info info;
    int rc = PMPI_Info_create(&info);

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    was = mpixq_submission_borrow(&queue->submission);
    name_channels(queue, channels, sizeof channels);
    rc = PMPI_Info_set(info, "type", queue->stream->kind->name);
    rc = rc ? rc : PMPI_Info_set(info, "mpixq_stream_by", queue->stream->ops->how(queue->stream));
    rc = rc ? rc : PMPI_Info_set(info, "mpixq_queue_type", mpixq_queue_type_name(queue->type));
    rc = rc ? rc : PMPI_Info_set(info, "mpixq_stream_owned", queue->owns_stream ? "true" : "false");
    rc = rc ? rc : PMPI_Info_set(info, "mpixq_channels", channels);
    rc = rc ? rc : set_count(info, "mpixq_queue_number", queue->number);
    rc = rc ? rc : set_count(info, "mpixq_stream_depth", queue->stream->ops->depth(queue->stream));
    rc = rc ? rc : set_count(info, "mpixq_starts", queue->starts);
    rc = rc ? rc : set_starts_by_channel(info, queue);
    rc = rc ? rc : set_count(info, "mpixq_waits", queue->waits);
    rc = rc ? rc : set_count(info, "mpixq_launches", queue->launches);
    rc = rc ? rc : set_count(info, "mpixq_posts", atomic_load(&queue->posts));
    rc = rc ? rc : set_count(info, "mpixq_rings", atomic_load(&queue->rings));
    rc = rc ? rc : set_count(info, "mpixq_nics", (uint64_t)queue->nics);
    rc = rc ? rc : set_count(info, "mpixq_stalls", atomic_load(&queue->stalls));
    mpixq_submission_return(&queue->submission, was);
    if (rc != MPI_SUCCESS) {
        (void)PMPI_Info_free(&info);
        return rc;
    }
    *info_p = info;
    return MPI_SUCCESS;
}
