/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Messages in parts. If one end of a pair has its buffer in memory of a GPU that MPI does not take,
 * a large message goes as several messages of MPI, with the tag of the pair and in order: while one
 * is on its way the GPUs copy others, out of the staging buffer and into it. Both ends agree when
 * they are matched; either of them may be in memory that MPI takes, and starts all parts at once
 * then. Where it is not, its starts and waits have a step for each part (core/steps.h).
 *
 * A start that was begun sends all its parts. If the queue fails in between, those that are left
 * are sent empty, which tells the receiver: a part of another size than agreed on ends the start.
 *
 * Under the matching lock, or under busy of the end.
 */
#ifndef MPIXQ_PARTS_H
#define MPIXQ_PARTS_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "comm/error.h"
#include "core/pair.h"
#include "core/steps.h"
#include "match/wire.h"

struct mpixq_part {
    MPI_Request request;    /* made at its first start */
    struct mpixq_copy copy; /* that of the stream for its step, if there is a staging buffer */
};

struct mpixq_parts {
    size_t part; /* bytes of each but the last */
    int n;
    int begun, done; /* of the current start: those that were started, and have completed */
    bool broken_off;
    bool at_once;             /* the stream has copied all of a send */
    _Atomic uint64_t arrived; /* of all starts: those that have completed; released */
    struct mpixq_part of[];
};

/* Sender: what it proposes; nothing, if the message is small, or no piece of memory. */
void mpixq_parts_offer(const struct mpixq_pair *pair, struct mpixq_blob *blob);
/* Receiver: of how many bytes the parts are to be; 0: the message stays whole. */
enum mpixq_error mpixq_parts_accept(const struct mpixq_pair *pair, const struct mpixq_blob *theirs,
                                    uint64_t *part_p);
/* Sender: does this answer its proposal? */
bool mpixq_parts_agree(const struct mpixq_pair *pair, uint64_t part);
/* Sets what the stream copies, too. NULL: no memory. Freed with the end of the pair. */
struct mpixq_parts *mpixq_parts_create(const struct mpixq_pair *pair, uint64_t part);
void mpixq_parts_free(struct mpixq_parts *parts);
/* Of how many steps is a start on a queue, or a wait, which has one for each part then? */
int mpixq_parts_steps(const struct mpixq_pair *pair, enum mpixq_phase phase);
/* A pair, with parts or not, is captured: what a stream copies of it is all of it from now on. */
void mpixq_parts_join(const struct mpixq_pair *pair);

/* Start what there is to start: the next part, if a stream copies into the staging buffer, else
 * all. *n_p is how many were started, also if one could not be. */
int mpixq_parts_start(const struct mpixq_pair *pair, int tag, MPI_Comm comm, int *n_p);
/* Send what is left of a start that was begun as empty messages. */
void mpixq_parts_break_off(const struct mpixq_pair *pair, int tag, MPI_Comm comm);
/* *flag_p: all have completed, and may be started again. */
int mpixq_parts_test(const struct mpixq_pair *pair, int *flag_p);
/* Of a receive: ask MPI to cancel those that have not completed; */
void mpixq_parts_cancel(const struct mpixq_pair *pair);
/* has it, or have they come, which counts them? */
bool mpixq_parts_have_let_go(const struct mpixq_pair *pair);

#endif
