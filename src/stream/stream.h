/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Seam: how work is put in order on an executor. Each kind of stream is one constant table of
 * functions, none of them NULL; stream/stream.c lists the kinds.
 *
 * Everything submitted to a stream runs in the order of submission. Each submission gives a
 * ticket, a number that grows; the stream has passed a ticket when it has executed that
 * submission and all before it.
 */
#ifndef MPIXQ_STREAM_H
#define MPIXQ_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct mpixq_stream; /* one open stream of any kind; its first member is the ops pointer */

/* One thing that a start does when the stream reaches it: either call a function, on streams
 * that run on the host, with the args of all that are started together; or store value into word
 * (release). */
struct mpixq_trigger {
    void (*call)(void *const args[], int n); /* NULL: store */
    void *arg;
    _Atomic uint64_t *word;
    uint64_t value;
};

/* One thing that a wait waits for: word has reached value (acquire), or *failed is not 0. */
struct mpixq_awaited {
    const _Atomic uint64_t *word;
    uint64_t value;
    /* On streams that run on the host: called again and again until the word is there, with the
     * args of all that are waited for together and are not there yet; NULL: somebody else sets the
     * word. */
    void (*poll)(void *const args[], int n);
    void *arg;
    const atomic_int *failed;
};

struct mpixq_stream_ops {
    const char *kind; /* value of the info key "type" */
    bool calls;       /* triggers may call functions */

    /* Is handle a live stream of this kind? Any thread. */
    bool (*is_live)(const void *handle);
    /* Open the stream with this handle for a queue; NULL: make one that the queue owns. NULL on
     * failure, with an enum mpixq_error in *error_p. The stream cannot be destroyed until it is
     * closed. */
    struct mpixq_stream *(*open)(void *handle, int *error_p);
    /* Also destroys a stream that open made; it is idle then. */
    void (*close)(struct mpixq_stream *stream);

    /* Submit all triggers as one operation, or all things to wait for. The arrays are read
     * before it returns. May wait for room, never for communication of this call. Returns the
     * ticket. */
    uint64_t (*trigger)(struct mpixq_stream *stream, const struct mpixq_trigger *triggers, int n);
    uint64_t (*await)(struct mpixq_stream *stream, const struct mpixq_awaited *awaited, int n);

    /* How many triggers and awaited things the stream holds before a submission waits for room. */
    uint64_t (*depth)(const struct mpixq_stream *stream);

    /* Has the stream passed the ticket? Never blocks. */
    bool (*passed)(const struct mpixq_stream *stream, uint64_t ticket);
    /* Block the host until it has. */
    void (*synchronize)(struct mpixq_stream *stream, uint64_t ticket);
};

struct mpixq_stream {
    const struct mpixq_stream_ops *ops;
};

/* The kind with this name, or NULL. */
const struct mpixq_stream_ops *mpixq_stream_kind(const char *kind);
/* The kind of which handle is a live stream, or NULL. */
const struct mpixq_stream_ops *mpixq_stream_recognise(const void *handle);
/* Does the calling thread run a function that was launched on a stream? */
bool mpixq_stream_inside(void);

extern const struct mpixq_stream_ops mpixq_host_stream_ops;

#endif
