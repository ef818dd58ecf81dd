/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Seam: how one matched pair (pair.h) moves its data. Each channel is one constant table: the
 * functions by which it takes and moves pairs, and tables of what only some channels have. Who uses
 * channels asks for those by channels.h. util/channel_defs.h lists the channels, best first, and
 * core/channels.c knows which of them are built in. A channel knows nothing of requests: a pair
 * need not have one.
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
struct mpixq_channel_chains;
struct mpixq_channel_graphs;
struct mpixq_channel_steps;
struct mpixq_channel_windows;
struct mpixq_facts;
struct mpixq_gpu_end;
struct mpixq_op;
struct mpixq_queue;
struct mpixq_stream_kind;

/* What a channel of_gpus prepares of a pair (below) begins with this. */
struct mpixq_prepared {
    _Atomic(const void *) place; /* where its buffer is; NULL until all is open */
    /* Any thread, under any lock but the channel's own: the pair is destroyed. */
    void (*forget)(struct mpixq_prepared *prepared);
};

/* GPUs: what it takes to use their memory, and to let them start and wait. Threads of the program,
 * with no lock, but for unreach; may block until GPUs go on. Each may be NULL. */
struct mpixq_channel_gpus {
    /* In the creation of a queue and at the end of a match: let GPUs reach what their starts and
     * waits touch, by these streams; NULL: by those that it was told of before, if any. */
    void (*expose)(const struct mpixq_stream_kind *kind);

    /* Before a match: the buffer is in memory of a GPU, which streams of this kind reach, or of the
     * host (NULL). Keep in pair->reached what takes a call of the GPU's library or an answer of a
     * NIC, to work with the buffer itself (pair->in_place) or with its staging buffer. */
    void (*reach)(struct mpixq_pair *pair, const char *kind);
    /* Under the matching lock, or before the match: pair->reached is not needed any more. NULL only
     * if reach is. */
    void (*unreach)(struct mpixq_pair *pair);

    /* Does it write to this memory of a GPU, which streams of this kind reach, as far as is known
     * before the memory is registered? May open what reach would. */
    bool (*writes)(const char *kind, const void *address);

    /* Before a pair is matched whose buffer is in memory of a GPU: get what only its library can
     * say of these bytes, all of them data. It is kept in pair->prepared until the pair is
     * destroyed, be it matched or not. */
    void (*prepare)(struct mpixq_pair *pair, const char *kind, void *place, void *buffer);

    /* Whenever a call looks at a start by the host that has not completed: do, and make known, what
     * takes a call of a GPU's library. Must not wait for a peer. */
    void (*progress_wait)(struct mpixq_pair *pair);

    /* Of a pair that it has prepared, whichever channel serves it, for a collective that it is a
     * part of: have its GPU execute one operation, and is it done? Returns a ticket; 0: the GPU
     * reports an error. The second one: any thread. */
    uint64_t (*execute)(struct mpixq_pair *pair, struct mpixq_op *op);
    bool (*has_executed)(const struct mpixq_pair *pair, uint64_t ticket);
    /* Of one that it serves: its end, for what combines. */
    struct mpixq_gpu_end *(*end)(struct mpixq_pair *pair);

    /* Before the user's free of a request, when a call tells that a start by the host has failed,
     * or in MPI_Finalize: take back what was started and has not completed, so that nothing reads
     * or writes its buffer any more. */
    void (*recall)(struct mpixq_pair *pair);
};

/* Pairs whose ends open something of each other before they count as matched. */
struct mpixq_channel_peers {
    /* Under the matching lock, after accept or connect: has this pair something to open? Both ends
     * agree on that. */
    bool (*must_open)(const struct mpixq_pair *pair);
    /* Threads of the program, or the one that stands in for them (opener.h), with no lock: open it,
     * the receiver first. False, and why not in why_p: the pair goes by another channel. May block
     * until GPUs go on. */
    bool (*open_peer)(struct mpixq_pair *pair, char *why_p, size_t room);
    /* Under the matching lock: undo what was accepted or connected, and opened. Must not block. */
    void (*undo)(struct mpixq_pair *pair);
    /* Under the matching lock: the peer has freed its end, and pair->peer_end says so. Must not
     * block. */
    void (*ended)(struct mpixq_pair *pair);
};

/* Queues. */
struct mpixq_channel_queues {
    /* A queue is made, or is about to go and idle: prepare and tear down what the channel keeps for
     * it, in queue->own. An error keeps the queue from being made. Only where MPIXQ_CHANNELS has
     * the channel. Each NULL: there is nothing to do. */
    enum mpixq_error (*attach)(struct mpixq_queue *queue);
    void (*detach)(struct mpixq_queue *queue);
    /* Under the submission lock of its queue, which has failed: is the pair of no use any more,
     * even if the last start has completed? NULL: it is not. */
    bool (*is_broken)(struct mpixq_pair *pair);
    /* What goes on behind a wait: fill lists with starts, and with waits for these, as start and
     * wait do for one pair; either may be of none. Both NULL: a wait is all. */
    int (*then_start)(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op list[]);
    int (*then_wait)(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op list[]);
    const struct mpixq_channel_steps *steps; /* steps.h; NULL: starts and waits are of one */
};

/* What goes on beside the calls that start and wait. */
struct mpixq_channel_upkeep {
    /* Any thread, with no lock but a queue's: go on with what is under way and needs the host,
     * whether or not somebody waits for it. Must not block. */
    void (*drive)(void);

    /* Threads of the program, with no lock, after the user's free of a request or of a queue, and
     * after a match that came to nothing: undo what was done for peers and serves no pair any more,
     * of this process or of theirs; and what this thread has released. May block until GPUs go on,
     * or a NIC has answered. */
    void (*clean_up)(void);

    /* Host, with no lock but a queue's, about to say that a start or all of a queue is complete:
     * make known what has failed by now. NULL: whatever fails is known before a start completes. */
    void (*report_failures)(void);

    /* Under the matching lock, now and then while such a start does not complete: ask the network
     * of the channel for a sign of life of the peer. True: it has said since the pair was matched
     * that there will be none. Must not block. NULL: it cannot tell. */
    bool (*has_lost)(struct mpixq_pair *pair);
};

/* Diagnostics, for people. */
struct mpixq_channel_report {
    /* Under the matching lock, which keeps both ends: what is missing of a start that was executed
     * and has not completed? Must not block. */
    const char *(*what_is_missing)(const struct mpixq_pair *pair);
    /* Can it serve here, as far as is known without opening anything? A phrase that begins with
     * "available" or "not available". Any thread. NULL: it can. */
    const char *(*availability)(void);
    /* For mpixq_info: what it stands on, such as a NIC, and what that has; may ask for a second.
     * Threads of the program, with no lock. NULL: on MPI. */
    void (*describe)(struct mpixq_facts *facts);
};

struct mpixq_channel {
    const char *name; /* as in the channel column of the benchmarks */
    enum mpixq_channel_id id;
    bool through_mpi; /* so it takes buffers in memory of GPUs; others take their staging
                         buffers (stage.h) */
    bool of_gpus;     /* takes nothing but what it has prepared (above), and starts on queues only
                         whose stream is in the pair's place */

    /* NULL where it has nothing of the kind. */
    const struct mpixq_channel_gpus *gpus;
    const struct mpixq_channel_peers *peers;
    const struct mpixq_channel_queues *queues;
    const struct mpixq_channel_upkeep *upkeep;
    const struct mpixq_channel_report *report; /* NULL: a start is complete at once */
    /* Its starts and waits can be captured into graphs (graphs.h); NULL: they cannot. */
    const struct mpixq_channel_graphs *graphs;
    /* Puts of windows in memory of the host (windows.h); NULL: they go by messages. */
    const struct mpixq_channel_windows *windows;
    /* Messages of collectives that wait for each other (chains.h); NULL: the host goes on. */
    const struct mpixq_channel_chains *chains;

    /* Prepare and tear down what the channel has once per process. In MPI_Init and MPI_Finalize.
     * Open returns an MPI code; close always succeeds, also after a failed open. NULL: there is
     * nothing to do. */
    int (*open)(void);
    void (*close)(void);

    /* Matching. All have offer, accept and connect but null, which serves requests without a peer.
     *
     * Sender, under the matching lock: could this send go by the channel? If so, reserve what
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

    /* Sender, under the matching lock: what offer reserved is not needed. NULL: it reserves
     * nothing. */
    void (*withdraw)(struct mpixq_pair *pair);

    /* Enqueue time, under the submission lock, once for the pairs of one call; their started counts
     * these starts already. Fill the operations by which the stream makes them (stream/op.h), at
     * most MPIXQ_PAIR_OPS for each, and one if the channel is not cxi, with the pair or that of a
     * share as its arg, and return how many; of a collective that GPUs move those of its parts, too
     * (schedule.h). Must not fail or block, allocate, or call MPI. A queue of NULL: the host starts
     * them, and the thread that does executes the operations at once; the queue of the pairs is
     * NULL then, until the next start. */
    int (*start)(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                 struct mpixq_op list[]);

    /* The same for a wait for a pair: fill what the stream waits for, with the pair as the arg of
     * each. Never by the host, who polls. */
    int (*wait)(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op list[]);

    /* Any thread: drive a started pair; has its last executed start completed, or failed? Must
     * not block. */
    bool (*poll)(struct mpixq_pair *pair);
    /* The same for several pairs of the channel, in as few calls of MPI as it takes. NULL: that
     * gains nothing. */
    void (*poll_many)(struct mpixq_pair *const pairs[], int n, bool done[]);

    /* Under the matching lock: the user freed the request, which is inactive or has failed, or
     * the process ends. Must not block. NULL: that changes nothing. */
    void (*release)(struct mpixq_pair *pair);

    /* Under the matching lock, after release, and for a receive after the peer has released
     * too: give up what is left. False if something is under way still, such as a send that MPI
     * cannot recall: then the record stays, and this is asked again. Must not block. NULL: there is
     * nothing. */
    bool (*retire)(struct mpixq_pair *pair);
};

extern const struct mpixq_channel mpixq_channel_null;
#define MPIXQ_CHANNEL(number, NAME, name, build, choice)                                           \
    extern const struct mpixq_channel mpixq_channel_##name;
#include "util/channel_defs.h"
#undef MPIXQ_CHANNEL

static inline bool mpixq_channel_goes_on(const struct mpixq_channel *channel)
{
    return channel->queues != NULL && channel->queues->then_start != NULL;
}

#endif
