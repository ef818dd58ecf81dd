/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 */
#include "gpu_lanes.h"

#include <stdlib.h>
#include <string.h>

#include "gpu_graph.h"
#include "mtest_gpu.h"

enum { GUARD_BYTES = 64, GUARD = 0xA7 };

/* What MTEST_BUFFER says: functions in a stream may not ask for it, since that asks the GPU's
 * library, which allows none of its calls there. */
static bool is_pageable;

bool gpu_lanes_can_run(int ranks)
{
    if (mtest_size != ranks) {
        mtest_fail(__FILE__, __LINE__, "%d ranks, expected %d", mtest_size, ranks);
        return false;
    }
    if (!gpu_graph_open()) {
        mtest_skip("no GPU is asked for (MTEST_STREAM), or its library has no graphs");
        return false;
    }
    is_pageable = mtest_gpu_memory() == MTEST_PAGEABLE;
    mtest_gpu_set_device(mtest_rank % mtest_gpu_devices());
    return true;
}

bool gpu_lanes_host_starts(void)
{
    const char *channels = getenv("MPIXQ_CHANNELS"), *aware = getenv("MPIXQ_GPU_AWARE");

    return mtest_gpu_memory() != MTEST_DEVICE || channels == NULL || aware == NULL ||
           strstr(channels, "ipc") != NULL || strcmp(aware, "no") != 0;
}

void gpu_lanes_side_make(struct gpu_lanes_side *side)
{
    side->stream = mtest_gpu_stream();
    side->queue = MPIX_QUEUE_NULL;
    MTEST_OK(mtest_gpu_queue(&side->queue, MPIX_QUEUE_AUTO, &side->stream));
}

void gpu_lanes_side_finish(struct gpu_lanes_side *side)
{
    mtest_gpu_synchronize(side->stream);
    MTEST_OK(MPIX_Queue_wait(side->queue));
    mtest_gpu_synchronize(side->stream);
}

void gpu_lanes_side_free(struct gpu_lanes_side *side)
{
    MTEST_OK(MPIX_Queue_free(&side->queue));
    mtest_gpu_stream_end(side->stream);
}

static size_t raw_bytes(const struct gpu_lane *lane)
{
    return lane->bytes + 2 * (size_t)GUARD_BYTES;
}

static int seed_of(const struct gpu_lanes *l, int rank, int i, long exchange)
{
    return (int)exchange * 1009 + 100 * rank + 7 * (l->tag + i);
}

static unsigned char *guarded(enum mtest_memory memory, const struct gpu_lane *lane)
{
    return mtest_gpu_alloc(memory, raw_bytes(lane));
}

static void make_lane(struct gpu_lane *lane, size_t bytes)
{
    lane->bytes = bytes;
    lane->source = guarded(MTEST_PINNED, lane);
    lane->sink = guarded(MTEST_PINNED, lane);
    lane->out = guarded(mtest_gpu_memory(), lane);
    lane->in = guarded(mtest_gpu_memory(), lane);
    memset(lane->source, GUARD, raw_bytes(lane));
    memset(lane->sink, GUARD, raw_bytes(lane));
    mtest_gpu_copy_now(lane->out, lane->source, raw_bytes(lane));
    mtest_gpu_copy_now(lane->in, lane->source, raw_bytes(lane));
}

void gpu_lanes_make(struct gpu_lanes *l, enum mtest_mode mode, int n, const size_t bytes[],
                    int peer, int tag, bool sends_first)
{
    memset(l, 0, sizeof(*l));
    l->n = n;
    l->peer = peer;
    l->tag = tag;
    l->receives = l->r + (sends_first ? n : 0);
    l->sends = l->r + (sends_first ? 0 : n);
    for (int i = 0; i < n; i++) {
        struct gpu_lane *lane = &l->lane[i];

        make_lane(lane, bytes[i]);
        MTEST_OK(mtest_init_raw(MTEST_RECV, lane->in + GUARD_BYTES, (int)bytes[i], MPI_BYTE, peer,
                                tag + i, MPI_COMM_WORLD, &l->receives[i]));
        MTEST_OK(mtest_init_raw(mode, lane->out + GUARD_BYTES, (int)bytes[i], MPI_BYTE, peer,
                                tag + i, MPI_COMM_WORLD, &l->sends[i]));
    }
    MTEST_OK(MPIX_Matchall(2 * n, l->r));
}

/* Such memory no graph copies: the functions in the stream do. */
static void make_data(void *lanes)
{
    struct gpu_lanes *l = lanes;

    for (int i = 0; i < l->n; i++) {
        unsigned char *data = l->lane[i].source + GUARD_BYTES;
        int seed = seed_of(l, mtest_rank, i, l->made);

        for (size_t k = 0; k < l->lane[i].bytes; k++) {
            data[k] = mtest_pattern(seed, k);
        }
        if (is_pageable) {
            memcpy(l->lane[i].out, l->lane[i].source, raw_bytes(&l->lane[i]));
        }
    }
    l->made++;
}

/* How many bytes are not guard bytes with the pattern between them. */
static size_t count_wrong(const unsigned char *raw, const struct gpu_lane *lane, int seed)
{
    size_t wrong = 0;

    for (size_t k = 0; k < GUARD_BYTES; k++) {
        wrong += raw[k] != GUARD;
        wrong += raw[GUARD_BYTES + lane->bytes + k] != GUARD;
    }
    for (size_t k = 0; k < lane->bytes; k++) {
        wrong += raw[GUARD_BYTES + k] != mtest_pattern(seed, k);
    }
    return wrong;
}

static void look_at_data(void *lanes)
{
    struct gpu_lanes *l = lanes;

    for (int i = 0; i < l->n; i++) {
        const struct gpu_lane *lane = &l->lane[i];
        size_t wrong;

        if (is_pageable) {
            memcpy(lane->sink, lane->in, raw_bytes(lane));
        }
        wrong = count_wrong(lane->sink, lane, seed_of(l, l->peer, i, l->seen));

        if (wrong != 0) {
            bool stale = l->seen > 0 &&
                         count_wrong(lane->sink, lane, seed_of(l, l->peer, i, l->seen - 1)) == 0;

            mtest_fail(__FILE__, __LINE__, "exchange %ld, tag %d: %zu of %zu bytes are wrong%s",
                       l->seen, l->tag + i, wrong, raw_bytes(lane),
                       stale ? ": it is the message before" : "");
        }
    }
    l->seen++;
}

void gpu_lanes_put(struct gpu_lanes *l, void *stream)
{
    mtest_gpu_launch(stream, make_data, l);
    for (int i = 0; i < l->n && !is_pageable; i++) {
        mtest_gpu_copy(stream, l->lane[i].out, l->lane[i].source, raw_bytes(&l->lane[i]));
    }
}

void gpu_lanes_get(struct gpu_lanes *l, void *stream)
{
    for (int i = 0; i < l->n && !is_pageable; i++) {
        mtest_gpu_copy(stream, l->lane[i].sink, l->lane[i].in, raw_bytes(&l->lane[i]));
    }
    mtest_gpu_launch(stream, look_at_data, l);
}

void gpu_lanes_exchange(struct gpu_lanes *l, MPIX_Queue queue, void *stream)
{
    gpu_lanes_put(l, stream);
    MTEST_OK(MPIX_Enqueue_startall(queue, 2 * l->n, l->r));
    MTEST_OK(MPIX_Enqueue_waitall(queue, 2 * l->n, l->r));
    gpu_lanes_get(l, stream);
}

void gpu_lanes_exchange_at_once(struct gpu_lanes *l, MPIX_Queue queue, void *stream)
{
    gpu_lanes_put(l, stream);
    MTEST_OK(MPIX_Enqueue_startwaitall(queue, 2 * l->n, l->r));
    gpu_lanes_get(l, stream);
}

static void exchange_elsewhere(struct gpu_lanes *l)
{
    struct gpu_lanes_side side;

    gpu_lanes_side_make(&side);
    gpu_lanes_exchange(l, side.queue, side.stream);
    gpu_lanes_side_finish(&side);
    gpu_lanes_side_free(&side);
}

void gpu_lanes_exchange_by_host(struct gpu_lanes *l)
{
    if (!gpu_lanes_host_starts()) {
        exchange_elsewhere(l);
        return;
    }
    make_data(l);
    for (int i = 0; i < l->n; i++) {
        mtest_gpu_copy_now(l->lane[i].out, l->lane[i].source, raw_bytes(&l->lane[i]));
    }
    MTEST_OK(MPI_Startall(2 * l->n, l->r));
    MTEST_OK(MPI_Waitall(2 * l->n, l->r, MPI_STATUSES_IGNORE));
    for (int i = 0; i < l->n; i++) {
        mtest_gpu_copy_now(l->lane[i].sink, l->lane[i].in, raw_bytes(&l->lane[i]));
    }
    look_at_data(l);
}

void gpu_lanes_check(struct gpu_lanes *l, long exchanges, const char *what)
{
    if (l->made != exchanges || l->seen != exchanges) {
        mtest_fail(__FILE__, __LINE__, "%s: %ld exchanges were begun and %ld ended, expected %ld",
                   what, l->made, l->seen, exchanges);
    }
    for (int i = 0; i < l->n && l->made > 0; i++) {
        struct gpu_lane *lane = &l->lane[i];

        mtest_gpu_copy_now(lane->sink, lane->out, raw_bytes(lane));
        MTEST_EQ(count_wrong(lane->sink, lane, seed_of(l, mtest_rank, i, l->made - 1)), 0);
    }
}

void gpu_lanes_mark(struct gpu_lanes *l, unsigned char with)
{
    for (int i = 0; i < l->n; i++) {
        struct gpu_lane *lane = &l->lane[i];

        memset(lane->source, with, raw_bytes(lane));
        mtest_gpu_copy_now(lane->in, lane->source, raw_bytes(lane));
        mtest_gpu_copy_now(lane->out, lane->source, raw_bytes(lane));
    }
}

void gpu_lanes_expect_mark(struct gpu_lanes *l, unsigned char with)
{
    size_t wrong = 0;

    for (int i = 0; i < 2 * l->n; i++) {
        struct gpu_lane *lane = &l->lane[i / 2];

        mtest_gpu_copy_now(lane->sink, i % 2 == 0 ? lane->in : lane->out, raw_bytes(lane));
        for (size_t k = 0; k < raw_bytes(lane); k++) {
            wrong += lane->sink[k] != with;
        }
    }
    if (wrong > 0) {
        mtest_fail(__FILE__, __LINE__, "%zu bytes of freed requests were written to", wrong);
    }
}

void gpu_lanes_free(struct gpu_lanes *l)
{
    for (int i = 0; i < 2 * l->n; i++) {
        if (l->r[i] != MPI_REQUEST_NULL) {
            MTEST_OK(MPI_Request_free(&l->r[i]));
        }
    }
    for (int i = 0; i < l->n; i++) {
        mtest_gpu_free(MTEST_PINNED, l->lane[i].source);
        mtest_gpu_free(MTEST_PINNED, l->lane[i].sink);
        mtest_gpu_free(mtest_gpu_memory(), l->lane[i].out);
        mtest_gpu_free(mtest_gpu_memory(), l->lane[i].in);
    }
}
