/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The null channel: requests to MPI_PROC_NULL. Nothing moves and every start is complete at
 * once. Such a request has no peer, so it is never offered or accepted. */
#include <stddef.h>

#include "core/channel.h"
#include "core/graphs.h"
#include "core/trace_pairs.h"

static int null_open(void)
{
    return MPI_SUCCESS;
}

static void null_close(void)
{
}

static bool null_offer(struct mpixq_pair *pair, struct mpixq_blob *blob, const char **why_p)
{
    (void)pair;
    (void)blob;
    *why_p = "for MPI_PROC_NULL only";
    return false;
}

static enum mpixq_error null_accept(struct mpixq_pair *pair, const struct mpixq_blob *theirs,
                                    struct mpixq_blob *mine, const char **why_p)
{
    (void)pair;
    (void)theirs;
    (void)mine;
    *why_p = "for MPI_PROC_NULL only";
    return MPIXQ_E_NO_CHANNEL;
}

static enum mpixq_error null_connect(struct mpixq_pair *pair, const struct mpixq_blob *theirs)
{
    (void)pair;
    (void)theirs;
    return MPIXQ_E_PROTOCOL;
}

static void null_withdraw(struct mpixq_pair *pair)
{
    (void)pair;
}

static int null_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                      struct mpixq_op list[])
{
    (void)queue;
    (void)list;
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = pairs[i];

        mpixq_trace_start_executed(pair);
        mpixq_trace_completed(pair);
        atomic_store_explicit(&pair->executed, mpixq_pair_started(pair), memory_order_relaxed);
        atomic_store_explicit(&pair->done, mpixq_pair_started(pair), memory_order_release);
    }
    return 0;
}

static bool null_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op *op)
{
    (void)queue;
    (void)pair;
    (void)op;
    return false;
}

static bool null_poll(struct mpixq_pair *pair)
{
    (void)pair;
    return true;
}

static const char *null_lacks(const struct mpixq_pair *pair)
{
    (void)pair;
    return "nothing"; /* a start completes at once */
}

static void null_release(struct mpixq_pair *pair)
{
    (void)pair;
}

static bool null_retire(struct mpixq_pair *pair)
{
    (void)pair;
    return true;
}

/* A graph has nothing of such a request, and nothing ever happens to it. */
static void null_ignore(struct mpixq_pair *pair)
{
    (void)pair;
}

static enum mpixq_error null_refresh(struct mpixq_pair *pair)
{
    (void)pair;
    return MPIXQ_E_NONE;
}

static const struct mpixq_channel_graphs null_graphs = {
    .begin = null_ignore, .refresh = null_refresh, .halt = null_ignore, .close = null_ignore};

const struct mpixq_channel mpixq_channel_null = {
    .name = "null",
    .id = MPIXQ_CHANNEL_NULL,
    .through_mpi = true,
    .graphs = &null_graphs,
    .open = null_open,
    .close = null_close,
    .outlook = mpixq_channel_outlook_available,
    .tell = mpixq_channel_tell_nothing,
    .attach = mpixq_channel_attach_nothing,
    .detach = mpixq_channel_detach_nothing,
    .expose = mpixq_channel_expose_nothing,
    .reach = mpixq_channel_reach_nothing,
    .unreach = mpixq_channel_unreach_nothing,
    .prepare = mpixq_channel_prepare_nothing,
    .drive = mpixq_channel_drive_nothing,
    .settle = mpixq_channel_drive_nothing,
    .offer = null_offer,
    .accept = null_accept,
    .connect = null_connect,
    .must_open = mpixq_channel_must_open_nothing,
    .open_peer = mpixq_channel_open_nothing,
    .undo = mpixq_channel_ignore,
    .withdraw = null_withdraw,
    .start = null_start,
    .wait = null_wait,
    .poll = null_poll,
    .is_broken = mpixq_channel_has_lost_nothing,
    .poll_many = mpixq_channel_poll_each,
    .lacks = null_lacks,
    .has_lost = mpixq_channel_has_lost_nothing,
    .attend = mpixq_channel_ignore,
    .recall = mpixq_channel_ignore,
    .tidy = mpixq_channel_drive_nothing,
    .ended = mpixq_channel_ignore,
    .release = null_release,
    .retire = null_retire,
};
