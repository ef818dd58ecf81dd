/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What the files match*.c share, and nobody else uses. All but enter and destroy is called under
 * the matching lock.
 */
#ifndef MPIXQ_MATCH_INTERNAL_H
#define MPIXQ_MATCH_INTERNAL_H

#include <stdalign.h>

#include "match.h"
#include "pairing.h"
#include "util/lock.h"

struct mpixq_listener;
struct mpixq_opening;

enum { MPIXQ_MATCH_LOOKS = 4 }; /* of mpixq_match_add_look, at most */

/* What matching knows, from MPI_Init to MPI_Finalize: the matching lock, and what it guards. */
struct mpixq_matching {
    struct mpixq_lock lock;
    struct mpixq_pairing pairing;    /* offers and receives that wait for each other */
    long n_matching;                 /* requests in that state */
    struct mpixq_match_op *done_ops; /* handles to complete once the lock is left */
    int n_looks;                     /* constant once requests are matched, as are the functions */
    struct {
        mpixq_match_look *look;
        void *state;
    } looks[MPIXQ_MATCH_LOOKS];
    struct mpixq_pair *ids; /* every end that a peer may name */
    uint64_t last_id;
    struct mpixq_listener *listeners; /* processes that reasons were told to, or came from */
    struct mpixq_opening *to_open;    /* in order */
    struct mpixq_split *to_begin;     /* in order */
    struct mpixq_request *retiring;   /* both ends released, with something left to do */
    struct mpixq_request *retired;    /* nothing left: to be destroyed once the lock is left */
    /* Written under the lock and read by anyone, and so not beside it. */
    alignas(64) atomic_bool has_to_open, has_to_begin; /* is there one in these lists? */
    /* Is an answer still here? A receive is matched when it is answered, but a call that matched it
     * must not end before: the process may not progress again, and its peer waits. */
    atomic_bool is_answering;
    atomic_bool has_stopped; /* nothing is paired any more */
};
extern struct mpixq_matching mpixq_matching __attribute__((visibility("hidden"))); /* as static */

void mpixq_match_enter(void);
/* False: others had the lock all the time. */
bool mpixq_match_enter_within(int seconds);
/* Leaves the lock, completes the Imatch requests that are done and destroys what is retired. */
void mpixq_match_leave(void);
/* Call visit for each request whose pair a peer may name: all that are MATCHING or matched and not
 * let go of, but for those to MPI_PROC_NULL. visit may remove the request that it is given. */
void mpixq_match_each(void (*visit)(struct mpixq_request *req, void *arg), void *arg);
/* Receiver: choose the channel of a pair, of those that were not refused, and tell the sender. */
void mpixq_match_agree(struct mpixq_request *req, const struct mpixq_record *offer);
/* req is the receive, or NULL if there is none. The record says, if anything, which channel serves
 * the pair, or why none. */
void mpixq_match_answer(int world, uint64_t sender_id, const struct mpixq_request *req,
                        enum mpixq_error error, struct mpixq_record *record);
void mpixq_match_matched(struct mpixq_request *req, const struct mpixq_channel *channel);
/* A request has left MATCHING. The op may be gone once the lock is left. */
void mpixq_match_finish(struct mpixq_request *req, enum mpixq_error error);
/* The same with what the peer has told of its end. */
void mpixq_match_finish_told(struct mpixq_request *req, enum mpixq_error error,
                             uint64_t other_bytes, uint32_t other_channels);
/* The envelope by which a request pairs: that of the program, or one that no other request has. */
void mpixq_match_envelope(const struct mpixq_request *req, struct mpixq_comm_view *view_p,
                          int *tag_p);

/* match_split.c: requests that are matched when their parts are. Partitioned ones agree first. */
static inline bool mpixq_match_has_parts(const struct mpixq_request *req)
{
    return (req->is_partitioned && req->peer != MPI_PROC_NULL) ||
           (req->is_collective && !req->is_part);
}
void mpixq_match_begin_collective(struct mpixq_request *req);
/* What a record says of this end. */
void mpixq_match_tell_split(const struct mpixq_request *req, struct mpixq_record *record);
/* Receiver: it pairs with this offer. Sender: this is its answer. And has it agreed so? */
void mpixq_match_agree_split(struct mpixq_request *req, const struct mpixq_record *offer);
void mpixq_match_split_answered(struct mpixq_request *req, const struct mpixq_record *record);
bool mpixq_match_is_split_answered(const struct mpixq_request *req);
/* All parts have been matched, or failed. */
void mpixq_match_split_ended(struct mpixq_split *split);
/* It has agreed with its peer, and is to end with an error. False: it has not. */
bool mpixq_match_give_up_split(struct mpixq_request *req, enum mpixq_error error);
/* The peer has released its end. Is that of a request whose parts are matched or still to be? Then
 * it is given up, if the peer is this one. */
bool mpixq_match_split_released(struct mpixq_request *req, int source);
/* Threads of the program, with no lock, as mpixq_match_open. */
bool mpixq_match_begin_splits(void);
void mpixq_match_release_parts(struct mpixq_request *req);
/* Under the lock: if it is a collective, all its messages fail with it, and their peers are told.
 * NULL, or another request: nothing happens. */
void mpixq_match_fail_parts(const struct mpixq_request *req);
/* The receiver has matched, but this end cannot: it will start nothing, and is as good as freed. */
void mpixq_match_cut_off(int world, uint64_t receiver_id);
/* match_open.c: the pair has a channel, and this end has to open something for it first. The offer
 * and the answer are given at the receiver only. False without memory. */
bool mpixq_match_open_later(struct mpixq_request *req, const struct mpixq_channel *channel,
                            const struct mpixq_record *offer, const struct mpixq_record *answer);
/* Sender: an answer that awaits a verdict. */
void mpixq_match_take_awaiting(struct mpixq_request *req, const struct mpixq_record *answer);
/* It is to end with an error. False: nothing is being opened for it. */
bool mpixq_match_give_up_opening(struct mpixq_request *req, enum mpixq_error error);
/* What the pair waits for then, for people; or NULL. */
const char *mpixq_match_opening_text(const struct mpixq_request *req);
/* The process ends. */
void mpixq_match_forget_opening(struct mpixq_request *req);
/* The process with which it is being matched, or -1: not known yet. */
int mpixq_match_peer(const struct mpixq_request *req);
/* End a request that is not matched with an error. */
void mpixq_match_give_up_one(struct mpixq_request *req, enum mpixq_error error);
/* End the requests that are not matched of all ops that are given up. */
void mpixq_match_give_up(void);
/* Is the peer of the request a process whose messages cannot be read, or which cannot read any? */
bool mpixq_match_is_strange(const struct mpixq_request *req);
/* Tell the peer that a start has failed; of a collective, those of all its messages. */
void mpixq_match_tell_failure(const struct mpixq_pair *pair);

/* match_release.c: of one pair. Its peer hears of a failure. */
void mpixq_match_tell_peer(const struct mpixq_pair *pair);
/* As mpixq_match_release, but for parts. */
void mpixq_match_release_one(struct mpixq_request *req);
/* No graph has the pair any more. */
void mpixq_match_forget_graphs(struct mpixq_pair *pair);
/* Find the released requests of which nothing is left. mpixq_match_leave takes and destroys them
 * once the lock is left: a datatype may go with one, and the user's callbacks for its attributes
 * run then. */
void mpixq_match_retire(void);
struct mpixq_request *mpixq_match_take_retired(void);
void mpixq_match_destroy(struct mpixq_request *list);

/* Give a pair a number, by which peers can name it from now on. False without memory. */
bool mpixq_match_id_add(struct mpixq_pair *pair);
/* The request whose pair has this number, or NULL. */
struct mpixq_request *mpixq_match_request(uint64_t id);
/* Has some pair had this number? Numbers are never used twice. */
bool mpixq_match_id_was_given(uint64_t id);
/* No peer can name the pair any more. */
void mpixq_match_id_remove(struct mpixq_pair *pair);

/* Records that arrive (match_records.c); answers stay there. */
void mpixq_match_record_offer(const struct mpixq_record *record, int source);
void mpixq_match_record_release(const struct mpixq_record *record, int source);
void mpixq_match_record_failure(const struct mpixq_record *record, int source);
void mpixq_match_record_withdraw(const struct mpixq_record *record, int source);
void mpixq_match_record_verdict(const struct mpixq_record *record, int source);

#endif
