/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Seam: how work is put in order on an executor. Each way of doing so is one constant
 * table of functions, none of them NULL, and what only some have. A kind of stream is a name for
 * one of them, and the vendor of its GPUs; stream/stream.c lists the kinds.
 *
 * Everything submitted to a stream runs in the order of submission. Each submission gives a
 * ticket, a number that grows; the stream has passed a ticket when it has executed that
 * submission and all before it.
 */
#ifndef MPIXQ_STREAM_H
#define MPIXQ_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op.h"

struct mpixq_facts;
struct mpixq_gpu;
struct mpixq_submission;
struct mpixq_stream; /* one open stream of any kind; its first member is the ops pointer */

struct mpixq_stream_kind {
    const char *name;            /* value of the info key "type" */
    const struct mpixq_gpu *gpu; /* NULL: its streams are of the host */
    const struct mpixq_stream_ops *ops;
};

struct mpixq_refusal {
    int error;       /* enum mpixq_error */
    const char *why; /* what the GPU's library says; or NULL */
};

/* The streams that a capture has come to, by their handles, with the last start in each, a node of
 * the graph, and its number; and how many starts stand before what comes next there. The array is
 * of mpixq_alloc, and freed by whoever has the branches. */
struct mpixq_branches {
    struct mpixq_branch {
        const void *handle;
        void *start;
        uint64_t number, seen;
    } * of;
    int n, room;
    uint64_t n_starts;
};

/* Of kinds of streams that can be captured into graphs. All of these return MPI codes; one of a
 * GPU's library names what it says, and may end the capture. */
struct mpixq_stream_graphs {
    /* The capture that the stream is in, by a number that no other one has; or why nothing of ours
     * can be captured. */
    int (*capture)(struct mpixq_stream *stream, uint64_t *capture_p);
    /* Is what its GPU does for starts and waits done by kernels? Any thread. */
    bool (*has_kernels)(const struct mpixq_stream *stream);
    /* Call gone once the graph that comes of the capture, and all that was made of it, is gone: by
     * any thread, at any time, or never if the library cannot. */
    int (*keep)(struct mpixq_stream *stream, void (*gone)(void *arg), void *arg,
                struct mpixq_submission *submission);
    /* Put a list of starts, or of waits, into the graph; each of an end whose GPU counts. A wait
     * comes after all starts of the capture so far, whose branches these are. Lends the submission
     * lock. */
    int (*submit)(struct mpixq_stream *stream, struct mpixq_op list[], int n,
                  struct mpixq_branches *branches, struct mpixq_submission *submission);
    /* Both, likewise. */
    int (*submit_both)(struct mpixq_stream *stream, const struct mpixq_both *both,
                       struct mpixq_branches *branches, struct mpixq_submission *submission);
};

struct mpixq_stream_ops {
    const struct mpixq_stream_graphs *graphs; /* NULL: it cannot be captured */
    bool copies;                              /* between the memory of a GPU and the host's, too */

    /* May handle be a live stream of this kind? Of a stream of the host it is known; of others only
     * whether this process has any. Any thread. */
    bool (*is_live)(const struct mpixq_stream_kind *kind, const void *handle);
    /* Open the stream with this handle for a queue; NULL: make one that the queue owns, or, of a
     * GPU, its default stream. *failed is not 0 once the queue has failed. NULL on failure, and
     * *refusal says why. The stream must not be destroyed until it is closed. */
    struct mpixq_stream *(*open)(const struct mpixq_stream_kind *kind, void *handle,
                                 const atomic_int *failed, struct mpixq_refusal *refusal);
    /* Also destroys a stream that open made; it is idle then, or broken. */
    void (*close)(struct mpixq_stream *stream);
    /* How starts and waits are put into the stream just now: a word for people. Under the
     * submission lock, as submit may change it, though not while it lends the lock. */
    const char *(*how)(const struct mpixq_stream *stream);

    /* May the calling thread submit just now? An enum mpixq_error; CAPTURE: it is captured. */
    int (*admits)(const struct mpixq_stream *stream);
    /* May it wait for the stream? Likewise. */
    int (*may_wait)(const struct mpixq_stream *stream);
    /* Why the stream executes nothing more, or NULL. What passed and synchronize find out is seen
     * here. The queue is to fail then, which makes the stream pass all that was submitted. */
    const char *(*broken)(const struct mpixq_stream *stream);

    /* Submit a list as one operation: starts, or waits. By this call the stream decides which of
     * them its GPU does by itself, and says so in the list, which is read before it returns. May
     * wait for room, never for communication of this call; while it waits, and in any call of a
     * GPU's library, it lends the submission lock (NULL: there is none). Returns the ticket. */
    uint64_t (*submit)(struct mpixq_stream *stream, struct mpixq_op list[], int n,
                       struct mpixq_submission *submission);

    /* Submit starts and the waits for them: what two such calls do, *at_once_p: as one operation.
     * NULL: there is nothing to gain. */
    uint64_t (*submit_both)(struct mpixq_stream *stream, const struct mpixq_both *both,
                            struct mpixq_submission *submission, bool *at_once_p);

    /* The queue has failed: the GPU rings no more. Any thread; never blocks. */
    void (*halt)(struct mpixq_stream *stream);
    /* Where GPUs see this memory, of the host or (is_io) of a device, or NULL: they cannot. Threads
     * of the program, under no lock: it may block until GPUs go on, and so should be left for later
     * while a stream of these waits. */
    void *(*map)(const struct mpixq_stream_kind *kind, void *memory, size_t bytes, bool is_io);
    void (*unmap)(const struct mpixq_stream_kind *kind, void *memory);

    /* How many operations the stream holds before a submission waits for room. */
    uint64_t (*depth)(const struct mpixq_stream *stream);

    /* The arg of the first wait that the stream waits for just now and that is not there, or
     * NULL if it does not wait. Any thread; never blocks. */
    const void *(*waits_for)(const struct mpixq_stream *stream);

    /* By which the program knows it: what it was opened with, or could have been if open has made
     * it. */
    void *(*handle)(struct mpixq_stream *stream);
    /* The same for all queues on one stream, and for nothing else. Any thread; never blocks. */
    const void *(*identity)(const struct mpixq_stream *stream);

    /* Has the stream passed the ticket? Never blocks. */
    bool (*passed)(const struct mpixq_stream *stream, uint64_t ticket);
    /* Has its GPU? Then the program may know it, and the stream has too, or soon will: what the
     * thread that follows the GPU waits for has come. Never blocks. */
    bool (*is_ahead)(const struct mpixq_stream *stream, uint64_t ticket);
    /* Block the host until it has, or *failed is not 0, if failed is not NULL. */
    void (*synchronize)(struct mpixq_stream *stream, uint64_t ticket, const atomic_int *failed);
};

struct mpixq_stream {
    const struct mpixq_stream_ops *ops; /* of its kind */
    const struct mpixq_stream_kind *kind;
    /* It rings doorbells and moves data, and waits for words, by itself. The latter may change in a
     * submission. */
    bool rings, watches;
    const void *place; /* where its GPU can access memory; NULL: it has none */
};

/* The kind with this name, or NULL. */
const struct mpixq_stream_kind *mpixq_stream_kind(const char *name);
/* The kind of which handle may be a live stream, or NULL: then *several_p says whether there are
 * several. A handle of NULL is no stream of the host's. */
const struct mpixq_stream_kind *mpixq_stream_recognise(const void *handle, bool *several_p);
/* Does the calling thread run a function that was launched on a stream? */
bool mpixq_stream_inside(void);

/* A call that waits for a GPU would wait for our waits in its streams too, which may lack what the
 * caller is to do next. So they are paused: if there are none, there are none until they
 * are resumed, as whoever enqueues one waits for that. False: there are some, and none is paused.
 * Threads of the program. */
bool mpixq_streams_pause_waits(void);
void mpixq_streams_resume_waits(void);
/* Likewise, for what can as well come later, or be done without, as frees of memory: false also
 * while graphs or kernels of the program wait. Whoever knows of these is asked. */
bool mpixq_streams_pause_all(void);
typedef bool mpixq_streams_waiter(void);
void mpixq_streams_ask(mpixq_streams_waiter *waits);
/* Of a stream of a GPU, whose wait is counted by now. */
void mpixq_streams_await_resume(void);
/* A queue was made, or a match has ended: streams whose ways depend on what other processes do
 * look at those again. Any thread; never blocks. */
void mpixq_streams_look_again(void);

/* In MPI_Finalize, before anything of a GPU is let go: whether the program has reset a device. */
void mpixq_streams_look_at_places(void);
/* In MPI_Finalize: what streams of GPUs, and copies, have kept. */
void mpixq_streams_close(void);
/* For MPIXQ_INFO: which kinds there are. */
void mpixq_streams_print(void);
/* For mpixq_info: which kinds this build has, and kernels for which GPUs. */
void mpixq_streams_tell_built(struct mpixq_facts *facts);

extern const struct mpixq_stream_kind mpixq_host_stream_kind;
extern const struct mpixq_stream_kind mpixq_cuda_stream_kind, mpixq_hip_stream_kind;

#endif
