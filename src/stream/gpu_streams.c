/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 */
#include <utlist.h>

#include "core/lock.h"
#include "core/log.h"
#include "gpu_life.h"
#include "gpu_stream.h"

/* Guards the list of open streams. A leaf. */
static struct mpixq_lock list_lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_GPU_STREAMS);
static struct gpu_stream *streams;

void mpixq_gpu_stream_note(struct gpu_stream *stream, const char *text)
{
    const char *none = NULL;

    if (text != NULL && atomic_compare_exchange_strong(&stream->broken, &none, text)) {
        mpixq_err("%s reports: %s", stream->lane.gpu->name, text);
    }
}

void mpixq_gpu_stream_add(struct gpu_stream *stream)
{
    mpixq_lock_acquire(&list_lock);
    LL_PREPEND(streams, stream);
    mpixq_lock_release(&list_lock);
}

void mpixq_gpu_stream_remove(struct gpu_stream *stream)
{
    mpixq_lock_acquire(&list_lock);
    LL_DELETE(streams, stream);
    mpixq_lock_release(&list_lock);
}

bool mpixq_gpu_any_waits(void)
{
    const struct gpu_stream *stream;

    mpixq_lock_acquire(&list_lock);
    LL_FOREACH(streams, stream)
    {
        if (atomic_load(stream->words->reached) < atomic_load(&stream->waits)) {
            break;
        }
    }
    mpixq_lock_release(&list_lock);
    return stream != NULL;
}

bool mpixq_gpu_may_start_at(const void *place)
{
    const struct gpu_stream *stream;
    bool may;

    mpixq_lock_acquire(&list_lock);
    LL_SEARCH_SCALAR(streams, stream, base.place, place);
    may = stream != NULL || streams == NULL;
    mpixq_lock_release(&list_lock);
    return may;
}

void mpixq_gpu_streams_end(uint64_t life)
{
    struct gpu_stream *stream;

    mpixq_lock_acquire(&list_lock);
    LL_FOREACH(streams, stream)
    {
        if (stream->lane.life == life) {
            mpixq_gpu_stream_note(stream, "the device was reset, and the stream is gone");
        }
    }
    mpixq_lock_release(&list_lock);
}
