/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 */
#include <utlist.h>

#include "gpu_life.h"
#include "gpu_stream.h"
#include "util/backoff.h"
#include "util/log.h"

struct mpixq_gpu_streams mpixq_gpu_streams = {.lock =
                                                  MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_GPU_STREAMS)};

void mpixq_gpu_stream_note(struct gpu_stream *stream, const char *text)
{
    const char *none = NULL;

    if (text != NULL && atomic_compare_exchange_strong(&stream->broken, &none, text)) {
        mpixq_err("%s reports: %s", stream->lane.gpu->name, text);
    }
}

void mpixq_gpu_stream_add(struct gpu_stream *stream)
{
    mpixq_lock_acquire(&mpixq_gpu_streams.lock);
    LL_PREPEND(mpixq_gpu_streams.first, stream);
    mpixq_lock_release(&mpixq_gpu_streams.lock);
}

void mpixq_gpu_stream_remove(struct gpu_stream *stream)
{
    mpixq_lock_acquire(&mpixq_gpu_streams.lock);
    LL_DELETE(mpixq_gpu_streams.first, stream);
    mpixq_lock_release(&mpixq_gpu_streams.lock);
}

bool mpixq_gpu_any_waits(void)
{
    const struct gpu_stream *stream;

    mpixq_lock_acquire(&mpixq_gpu_streams.lock);
    LL_FOREACH(mpixq_gpu_streams.first, stream)
    {
        if (atomic_load(stream->words->reached) < atomic_load(&stream->waits)) {
            break;
        }
    }
    mpixq_lock_release(&mpixq_gpu_streams.lock);
    return stream != NULL;
}

/* A wait is counted before it looks at pausing, and who pauses looks for waits then: one sees the
 * other. */
bool mpixq_streams_pause_waits(void)
{
    atomic_fetch_add(&mpixq_gpu_streams.pausing, 1);
    if (mpixq_gpu_any_waits()) {
        mpixq_streams_resume_waits();
        return false;
    }
    return true;
}

bool mpixq_streams_pause_all(void)
{
    mpixq_streams_waiter *waits = atomic_load(&mpixq_gpu_streams.waiter);

    return (waits == NULL || !waits()) && mpixq_streams_pause_waits();
}

void mpixq_streams_ask(mpixq_streams_waiter *waits)
{
    atomic_store(&mpixq_gpu_streams.waiter, waits);
}

void mpixq_streams_resume_waits(void)
{
    atomic_fetch_sub(&mpixq_gpu_streams.pausing, 1);
}

void mpixq_streams_await_resume(void)
{
    struct mpixq_backoff backoff;

    if (atomic_load(&mpixq_gpu_streams.pausing) == 0) {
        return;
    }
    mpixq_backoff_begin(&backoff);
    while (atomic_load(&mpixq_gpu_streams.pausing) > 0) {
        mpixq_backoff_pause(&backoff);
    }
}

bool mpixq_gpu_may_start_at(const void *place)
{
    const struct gpu_stream *stream;
    bool may;

    mpixq_lock_acquire(&mpixq_gpu_streams.lock);
    LL_SEARCH_SCALAR(mpixq_gpu_streams.first, stream, base.place, place);
    may = stream != NULL || mpixq_gpu_streams.first == NULL;
    mpixq_lock_release(&mpixq_gpu_streams.lock);
    return may;
}

void mpixq_gpu_streams_end(uint64_t life)
{
    struct gpu_stream *stream;

    mpixq_lock_acquire(&mpixq_gpu_streams.lock);
    LL_FOREACH(mpixq_gpu_streams.first, stream)
    {
        if (stream->lane.life == life) {
            mpixq_gpu_stream_note(stream, "the device was reset, and the stream is gone");
        }
    }
    mpixq_lock_release(&mpixq_gpu_streams.lock);
}
