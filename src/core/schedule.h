/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Collective requests, which consist of others (parted.h). When one is matched, this process writes
 * down what it has to do in it: a list of steps, in rounds. In a round its messages move together,
 * each by a part of the request; when all of them are complete, what is to be done with their data
 * is done here; and then the next round begins. A start goes through the list once.
 *
 * The list depends on nothing but the arguments of the collective, the number of processes and the
 * rank. So all processes agree about who sends what to whom, without talking about it: a message is
 * known by the communicator, by which collective of it that was (collectives are made in the same
 * order everywhere), by its tag and the ranks of its ends.
 *
 * A reduction combines contributions in the order of ranks, and the same ones with each other on
 * all processes: so its result is the same everywhere, bit by bit, and in each run with as many
 * processes; and operations need not be commutative.
 */
#ifndef MPIXQ_SCHEDULE_H
#define MPIXQ_SCHEDULE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "collective.h"
#include "comm/error.h"
#include "comm/types.h"
#include "parted.h"
#include "stream/combine.h"
#include "stream/memory.h"

enum mpixq_step_kind {
    MPIXQ_STEP_SEND,
    MPIXQ_STEP_RECV,
    MPIXQ_STEP_COPY,
    MPIXQ_STEP_REDUCE,
    MPIXQ_STEP_COMBINE /* all contributions at once, as combine says, and as GPUs do */
};

/* So many elements somewhere. */
struct mpixq_span {
    void *at;
    MPI_Count count;
    MPI_Datatype type;
};

struct mpixq_step {
    enum mpixq_step_kind kind;
    int round;
    int peer, tag;              /* of a message: rank in the communicator */
    struct mpixq_span from;     /* to be sent or copied; or the first of two to be combined */
    struct mpixq_span to;       /* to be received or written; or the second, and the result */
    struct mpixq_request *part; /* of a message */
};

/* Edges of a communicator's topology, of one direction. */
struct mpixq_edges {
    int n;
    int *peers; /* MPI_PROC_NULL: there is nobody */
    int *tags;  /* tells edges between the same two processes apart, alike at both ends */
};

/* How the data goes. */
enum mpixq_way {
    MPIXQ_BY_ROUNDS, /* as many as the logarithm of the number of processes */
    MPIXQ_DIRECT,    /* in one, each message from who has the data to who wants it */
    MPIXQ_IN_SHARES  /* in two, of a reduction: each combines one share, and sends that to all */
};

struct mpixq_collective {
    struct mpixq_parted parted; /* first */
    struct mpixq_collective_args
        args; /* with buffers of the program; constant, as are the arrays */
    struct mpixq_held_type send_type, recv_type; /* of these */
    bool holds_op;
    bool keeps_order;  /* its operation's arguments may not change places */
    bool is_of_halves; /* of numbers of 16 bits, which it combines as kernels do */
    uint64_t number;   /* of the communicator's collectives */
    int rank, size;
    struct mpixq_edges in, out; /* of neighbor collectives */

    /* Written when it is matched. Buffers that messages are sent from and received into: those of
     * the program, or memory of the host in their place, through which data of GPUs goes. */
    const char *send;
    char *recv;
    struct mpixq_staging *staged_send; /* if that of recv, which the pair has, is another one */
    struct mpixq_copy copy_in;         /* into it, before a start */
    struct mpixq_step *steps;
    int n_steps, n_room, n_rounds;
    bool lacks_memory; /* for a step, which is written here instead */
    struct mpixq_step lost;
    char missing[128]; /* a text; the matching lock guards it */
    char *work;        /* where contributions of others arrive, in memory of the host */
    enum mpixq_way way;
    int n_first; /* parts of the first round; of what GPUs move there are two rounds at most */
    /* The parts, all of which are started at once, and NICs go on from round to round; NULL: the
     * host does. And their last start was made on a queue, each by itself. */
    struct mpixq_pair **chained;
    atomic_bool in_parts;
    /* Moved by GPUs: the buffers are theirs, in this place, and what comes last in a wait, if
     * anything does. */
    bool by_gpus, combines;
    /* NICs may bring contributions to memory of the GPU that combines them. Once it is matched, of
     * those that GPUs move: they do, or they bring some to memory of the host. */
    bool may_take_nics, takes_nics;
    const char *kind;
    void *place;
    const char *wanted;     /* a barrier, which has no buffers: this kind of GPU is to move it */
    struct mpixq_made made; /* as work */
    struct mpixq_combine combine;
    atomic_bool is_closed; /* freed, once it was in a graph: who looks at graphs lets it be */
    /* After a start by the host: its ticket; 0: not begun; SECOND_ROUND: that has begun. */
    _Atomic uint64_t combined_at;
    /* Of the start that is under way: by the thread that is busy with it. */
    atomic_int round; /* others read it */
    int first;        /* its first step */
    bool has_begun;   /* its messages are started */
};

#define MPIXQ_SECOND_ROUND UINT64_MAX

/* stage_collective.c: find out where the buffers are, and have memory in place of those of GPUs. */
enum mpixq_error mpixq_collective_stage(struct mpixq_request *req);

/* schedule_write.c: write the list. False without memory. */
bool mpixq_schedule_write(struct mpixq_collective *collective);
/* schedule_reduce.c */
void mpixq_schedule_allreduce(struct mpixq_collective *collective);

/* schedule_direct.c: which way all processes of this collective take, as they agree. And the list
 * of those that are not by rounds. */
enum mpixq_way mpixq_schedule_way(const struct mpixq_request *req);
void mpixq_schedule_direct(struct mpixq_collective *collective);

/* May it be started by streams of this place, or of the host (NULL), and how many operations does
 * that take, or a wait, at most? And by the host? */
enum mpixq_error mpixq_collective_admits(const struct mpixq_request *req, const void *place,
                                         int *ops_p);
/* May it not be started by the host, as a stream is to copy, or nothing else is there that has the
 * GPU combine? */
bool mpixq_collective_needs_stream(const struct mpixq_request *req);
/* A part by which the GPU executes what the host gives it (channel.h); or NULL. */
struct mpixq_pair *mpixq_collective_executor(const struct mpixq_pair *pair);
/* What is wrong with a start elsewhere than in its place. */
static inline enum mpixq_error mpixq_collective_not_here(const struct mpixq_collective *collective)
{
    return collective->args.kind == MPIXQ_BARRIER ? MPIXQ_E_GPU_BARRIER : MPIXQ_E_GPU_BUFFER;
}
/* Is each of its messages moved by GPUs, in one round? */
bool mpixq_collective_is_of_gpus(const struct mpixq_pair *pair);
/* What queues start, and graphs of GPUs' capture, with it: a part, or NULL behind the last. */
struct mpixq_pair *mpixq_collective_part(const struct mpixq_pair *pair, int i);
struct mpixq_pair *mpixq_collective_counted(const struct mpixq_pair *pair, int i);
/* The whole leaves its queue; under the submission lock of that. */
static inline void mpixq_collective_leave(const struct mpixq_pair *pair)
{
    struct mpixq_pair *part;

    for (int i = 0; (part = mpixq_collective_part(pair, i)) != NULL; i++) {
        atomic_store(&part->queue, NULL);
    }
}

/* schedule_steps.c: for who writes a list. */
void mpixq_schedule_send(struct mpixq_collective *collective, int peer, int tag,
                         struct mpixq_span from);
void mpixq_schedule_recv(struct mpixq_collective *collective, int peer, int tag,
                         struct mpixq_span to);
void mpixq_schedule_copy(struct mpixq_collective *collective, struct mpixq_span from,
                         struct mpixq_span to);
/* to = from combined with to */
void mpixq_schedule_reduce(struct mpixq_collective *collective, struct mpixq_span from,
                           struct mpixq_span to);
void mpixq_schedule_combine(struct mpixq_collective *collective);
static inline void mpixq_schedule_next_round(struct mpixq_collective *collective)
{
    collective->n_rounds++;
}

/* schedule_chain.c: may NICs go on from round to round, as far as is known before the match? And
 * when its parts are matched: they do, if they can, or there is only one. False: the host does. */
bool mpixq_collective_may_chain(const struct mpixq_request *req);
bool mpixq_collective_chain(struct mpixq_request *req);
void mpixq_collective_look_chained(struct mpixq_pair *pair, bool has_lock); /* of parted */

static inline bool mpixq_step_is_message(const struct mpixq_step *step)
{
    return step->kind == MPIXQ_STEP_SEND || step->kind == MPIXQ_STEP_RECV;
}

/* schedule_move.c: of parted. */
void mpixq_collective_go_on(struct mpixq_pair *pair, bool has_lock);

/* schedule_copy.c: what the host does with data. MPI codes. */
int mpixq_schedule_do(const struct mpixq_collective *collective, const struct mpixq_step *step);
/* schedule_combine.c */
void mpixq_schedule_combine_now(const struct mpixq_collective *collective);
/* Two by themselves: to = from combined with to. */
void mpixq_schedule_combine_two(const struct mpixq_collective *collective,
                                const struct mpixq_span *from, const struct mpixq_span *to);

static inline struct mpixq_collective *mpixq_collective_of(const struct mpixq_request *req)
{
    return req->is_collective && !req->is_part ? req->pair.end : NULL;
}

/* Of one that GPUs move: do messages follow behind a wait? */
static inline bool mpixq_collective_has_rounds(const struct mpixq_request *req)
{
    const struct mpixq_collective *collective = mpixq_collective_of(req);

    return collective->n_first < collective->parted.n_used;
}

/* collective_keep.c: write the list of a whole that is to be matched, and make the parts, in place
 * of those of an earlier match. Threads of the program. */
enum mpixq_error mpixq_collective_prepare(struct mpixq_request *req);

/* schedule_graphs.c: of those that GPUs move, which are as far as their parts; why one is not; and
 * a part that has failed, or NULL. */
extern const struct mpixq_channel_graphs mpixq_schedule_graphs;
extern const struct mpixq_channel_steps mpixq_schedule_part_steps;
enum mpixq_error mpixq_schedule_refresh(struct mpixq_pair *pair);
struct mpixq_pair *mpixq_schedule_failed_part(const struct mpixq_pair *pair);

/* Moved by the host, by GPUs, by NICs that go on from round to round, and by NICs to GPUs. */
extern const struct mpixq_channel mpixq_channel_collective, mpixq_channel_collective_gpus,
    mpixq_channel_collective_chained, mpixq_channel_collective_both;
extern const struct mpixq_channel_graphs mpixq_collective_graphs; /* not of GPUs */

/* Do its starts on queues consist of those of its parts? */
static inline bool mpixq_collective_in_lists(const struct mpixq_pair *pair)
{
    const struct mpixq_collective *collective =
        pair->owner != NULL && pair->channel != NULL ? mpixq_collective_of(pair->owner) : NULL;

    return collective != NULL && (collective->by_gpus || collective->chained != NULL);
}

#endif
