/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Seam: how one matched pair (pair.h) moves its data. Each channel is one constant table of
 * functions, none of them NULL, and what only some channels have. core/channels.c lists them, best
 * first; it is the only place that knows which are built in. A channel knows nothing of requests: a
 * pair need not have one.
 *
 * Both ends of a pair use the same channel, decided at match time: the sender offers every
 * channel that could serve its pair, each with a blob for the other end; the receiver
 * accepts the best one that could serve its own and answers with a blob. From then on the
 * channel of the pair is fixed.
 *
 * A start never blocks the stream; only a wait may.
 */
#ifndef MPIXQ_CHANNEL_H
#define MPIXQ_CHANNEL_H

#include <stdbool.h>

#include "comm/error.h"
#include "pair.h"
#include "util/channel_set.h"

struct mpixq_blob;
struct mpixq_channel_graphs;
struct mpixq_facts;
struct mpixq_op;
struct mpixq_queue;
struct mpixq_stream_ops;

/* What a channel of_gpus prepares of a pair (below) begins with this. */
struct mpixq_prepared {
    _Atomic(const void *) place; /* where its buffer is; NULL until all is open */
    /* Any thread, under any lock but the channel's own: the pair is destroyed. */
    void (*forget)(struct mpixq_prepared *prepared);
};

struct mpixq_channel {
    const char *name; /* as in the channel column of the benchmarks */
    enum mpixq_channel_id id;
    bool through_mpi; /* so it takes buffers in memory of GPUs; others take their staging
                         buffers (stage.h) */
    bool of_gpus;     /* takes nothing but what it has prepared (below), and starts on queues only
                         whose stream is in the pair's place */

    /* Its starts and waits can be captured into graphs (graphs.h); NULL: they cannot. */
    const struct mpixq_channel_graphs *graphs;

    /* Prepare and tear down what the channel has once per process. In MPI_Init and
     * MPI_Finalize. Open returns an MPI code; close always succeeds, also after a failed open. */
    int (*open)(void);
    void (*close)(void);

    /* For people: can it serve here, as far as is known without opening anything? A phrase that
     * begins with "available" or "not available". Any thread. */
    const char *(*outlook)(void);
    /* For mpixq_info: what it stands on, such as a NIC, and what that has; may ask for a second.
     * Threads of the program, with no lock. */
    void (*tell)(struct mpixq_facts *facts);

    /* A queue is made, or is about to go and idle: prepare and tear down what the channel keeps for
     * it, in queue->own. An error keeps the queue from being made. Only where MPIXQ_CHANNELS has
     * the channel. */
    enum mpixq_error (*attach)(struct mpixq_queue *queue);
    void (*detach)(struct mpixq_queue *queue);

    /* Threads of the program, with no lock, in the creation of a queue and at the end of a match:
     * let GPUs reach what their starts and waits touch, by these streams; NULL: by those that it
     * was told of before, if any. May block until GPUs go on. */
    void (*expose)(const struct mpixq_stream_ops *ops);

    /* Threads of the program, with no lock, before a match: the buffer is in memory of a GPU, which
     * streams of this kind reach, or of the host (NULL). Keep in pair->reached what takes a call of
     * the GPU's library or an answer of a NIC, to work with the buffer itself (pair->in_place) or
     * with its staging buffer. May block until GPUs go on. */
    void (*reach)(struct mpixq_pair *pair, const char *kind);
    /* Under the matching lock, or before the match: pair->reached is not needed any more. */
    void (*unreach)(struct mpixq_pair *pair);
    /* Threads of the program, with no lock, before a pair is matched whose buffer is in memory
     * of a GPU: get what only its library can say of these bytes, all of them data. It is kept in
     * pair->prepared until the pair is destroyed, be it matched or not. */
    void (*prepare)(struct mpixq_pair *pair, const char *kind, void *place, void *buffer);

    /* Any thread, with no lock but a queue's: go on with what is under way and needs the host,
     * whether or not somebody waits for it. Must not block. */
    void (*drive)(void);

    /* Host, with no lock but a queue's, about to say that a start or all of a queue is complete:
     * make known what has failed by now. */
    void (*settle)(void);

    /* Sender, under the matching lock: could this send go by the channel? If so, reserve what
     * is needed and fill the blob's length and bytes. If not, say why. Must not block. */
    bool (*offer)(struct mpixq_pair *pair, struct mpixq_blob *blob, const char **why_p);

    /* Receiver, under the matching lock: could this receive be served, given what the sender
     * said? NONE: yes, everything is reserved and mine is filled. Another error: the next
     * channel is tried, and if none is left the match fails with the last error. Nothing stays
     * reserved then. Must not block. */
    enum mpixq_error (*accept)(struct mpixq_pair *pair, const struct mpixq_blob *theirs,
                               struct mpixq_blob *mine, const char **why_p);

    /* Sender, under the matching lock: the receiver accepted. NONE, or PROTOCOL if its blob
     * makes no sense. */
    enum mpixq_error (*connect)(struct mpixq_pair *pair, const struct mpixq_blob *theirs);

    /* Under the matching lock, after accept or connect: have both ends to open something of each
     * other before the pair counts as matched? They agree on that. */
    bool (*must_open)(const struct mpixq_pair *pair);
    /* Threads of the program, or the one that stands in for them (opener.h), with no lock: do so,
     * the receiver first. False, and why not in why_p: the pair goes by another channel. May block
     * until GPUs go on. */
    bool (*open_peer)(struct mpixq_pair *pair, char *why_p, size_t room);
    /* Under the matching lock: undo what was accepted or connected, and opened. Must not block. */
    void (*undo)(struct mpixq_pair *pair);

    /* Sender, under the matching lock: what offer reserved is not needed. */
    void (*withdraw)(struct mpixq_pair *pair);

    /* Enqueue time, in the queue's turn, once for the pairs of one call; their started counts these
     * starts already. Fill the operations by which the stream makes them (stream/op.h), at most one
     * for each, with the pair as its arg, and return how many. Must not fail or block, allocate, or
     * call MPI. A queue of NULL: the host starts them, and the thread that does executes the
     * operations at once; the queue of the pairs is NULL then, until the next start. */
    int (*start)(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                 struct mpixq_op list[]);

    /* The same for a wait for a pair: fill what the stream waits for, or return false. Never by the
     * host, who polls. */
    bool (*wait)(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op *op);

    /* Any thread: drive a started pair; has its last executed start completed, or failed? Must
     * not block. */
    bool (*poll)(struct mpixq_pair *pair);

    /* In the turn of its queue, which has failed: is the pair of no use any more, even if the last
     * start has completed? */
    bool (*is_broken)(struct mpixq_pair *pair);

    /* The same as poll for several pairs of the channel, in as few calls of MPI as it takes; a
     * channel with nothing to gain here has mpixq_channel_poll_each. */
    void (*poll_many)(struct mpixq_pair *const pairs[], int n, bool done[]);

    /* Under the matching lock, which keeps both ends: what does a start wait for that was
     * executed and has not completed? A text for people. Must not block. */
    const char *(*lacks)(const struct mpixq_pair *pair);

    /* Under the matching lock, now and then while such a start does not complete: ask the network
     * of the channel for a sign of life of the peer. True: it has said since the pair was matched
     * that there will be none. Must not block. */
    bool (*has_lost)(struct mpixq_pair *pair);

    /* Threads of the program, with no lock, whenever a call looks at a start by the host that has
     * not completed: do, and make known, what takes a call of a GPU's library. Must not wait for a
     * peer. */
    void (*attend)(struct mpixq_pair *pair);

    /* Threads of the program, with no lock, before the user's free of a request, when a call tells
     * that a start by the host has failed, or in MPI_Finalize: take back what was started and has
     * not completed, so that nothing reads or writes its buffer any more, if that takes a GPU. */
    void (*recall)(struct mpixq_pair *pair);

    /* Threads of the program, with no lock, after the user's free of a request or of a queue, and
     * after a match that came to nothing: undo what was done for peers and serves no pair any more,
     * of this process or of theirs; and what this thread has released. May block until GPUs go on,
     * or a NIC has answered. */
    void (*tidy)(void);

    /* Under the matching lock: the peer has freed its end, and pair->peer_end says so. Must not
     * block. */
    void (*ended)(struct mpixq_pair *pair);

    /* Under the matching lock: the user freed the request, which is inactive or has failed, or
     * the process ends. Must not block. */
    void (*release)(struct mpixq_pair *pair);

    /* Under the matching lock, after release, and for a receive after the peer has released
     * too: give up what is left. False if something is under way still, such as a send that MPI
     * cannot recall: then the record stays, and this is asked again. Must not block. */
    bool (*retire)(struct mpixq_pair *pair);
};

/* All channels of this build, best first, ending with NULL. */
extern const struct mpixq_channel *const mpixq_channels[];
const struct mpixq_channel *mpixq_channel_by_id(uint32_t id);
/* One after the other. */
void mpixq_channel_poll_each(struct mpixq_pair *const pairs[], int n, bool done[]);
int mpixq_channels_open(void);
void mpixq_channels_close(void);
/* For MPIXQ_INFO, and for mpixq_info: which of them can serve here, as far as is known. */
void mpixq_channels_print(void);
void mpixq_channels_tell(struct mpixq_facts *facts);
enum mpixq_error mpixq_channels_attach(struct mpixq_queue *queue);
void mpixq_channels_detach(struct mpixq_queue *queue);
void mpixq_channels_expose(const struct mpixq_stream_ops *ops);
/* By those of a set. */
void mpixq_channels_reach(struct mpixq_pair *pair, const struct mpixq_channel_set *set,
                          const char *kind);
void mpixq_channels_unreach(struct mpixq_pair *pair);
void mpixq_channels_prepare(struct mpixq_pair *pair, const struct mpixq_channel_set *set,
                            const char *kind, void *place, void *buffer);
void mpixq_channels_drive(void);
void mpixq_channels_tidy(void);
/* Those that have starts: an array by their ids. */
void mpixq_channels_settle(const uint64_t starts[]);

/* For channels whose pairs have nothing to open. */
bool mpixq_channel_must_open_nothing(const struct mpixq_pair *pair);
bool mpixq_channel_open_nothing(struct mpixq_pair *pair, char *why_p, size_t room);
/* For channels that keep nothing for queues, or need no driving but by poll. */
enum mpixq_error mpixq_channel_attach_nothing(struct mpixq_queue *queue);
void mpixq_channel_detach_nothing(struct mpixq_queue *queue);
void mpixq_channel_expose_nothing(const struct mpixq_stream_ops *ops);
void mpixq_channel_reach_nothing(struct mpixq_pair *pair, const char *kind);
void mpixq_channel_unreach_nothing(struct mpixq_pair *pair);
void mpixq_channel_drive_nothing(void);
/* For channels that need nothing but MPI. */
const char *mpixq_channel_outlook_available(void);
void mpixq_channel_tell_nothing(struct mpixq_facts *facts);
/* For channels that no GPU moves data for. */
void mpixq_channel_prepare_nothing(struct mpixq_pair *pair, const char *kind, void *place,
                                   void *buffer);
void mpixq_channel_ignore(struct mpixq_pair *pair);
/* For channels whose network tells nothing of a peer; and whose pairs outlive a failed queue. */
bool mpixq_channel_has_lost_nothing(struct mpixq_pair *pair);

extern const struct mpixq_channel mpixq_channel_null;
extern const struct mpixq_channel mpixq_channel_self;
extern const struct mpixq_channel mpixq_channel_ipc;
extern const struct mpixq_channel mpixq_channel_fallback;
extern const struct mpixq_channel mpixq_channel_cxi; /* where libfabric was found */

#endif
