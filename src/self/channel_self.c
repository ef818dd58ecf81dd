/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The self channel: both ends in this process. Whichever end starts second moves the data, by
 * MPI_Sendrecv on a private duplicate of MPI_COMM_SELF, so that any two datatypes work. A
 * buffered send must complete without its receive and goes by another channel. */
#include <limits.h>
#include <stddef.h>

#include "core/channel.h"
#include "core/failure.h"
#include "core/queue.h"
#include "core/tally.h"
#include "core/trace_pairs.h"
#include "match/match.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/lock.h"
#include "util/log.h"

/* The two ends; an end is NULL once it was retired. Freed with the second one. The lock is held for
 * a few instructions, and not while data moves: it is taken under the matching lock too. */
struct self_link {
    struct mpixq_lock lock;
    struct mpixq_pair *send, *receive;
    bool moves;  /* a thread moves the data */
    bool is_cut; /* an end was released: nothing moves any more */
};

/* Transfers at a time, each with a tag of its own; those beyond wait. */
enum { MOVERS = 64 };
static struct {
    _Atomic uint64_t movers; /* a bit for each tag in use */
    /* Constant while the channel is open. */
    MPI_Comm comm;
    int world_rank;
} self = {.comm = MPI_COMM_NULL};

static int self_open(void)
{
    int rc = PMPI_Comm_dup(MPI_COMM_SELF, &self.comm);

    rc = rc ? rc : PMPI_Comm_set_errhandler(self.comm, MPI_ERRORS_RETURN);
    return rc ? rc : PMPI_Comm_rank(MPI_COMM_WORLD, &self.world_rank);
}

static void self_close(void)
{
    if (self.comm != MPI_COMM_NULL) {
        (void)PMPI_Comm_free(&self.comm);
    }
}

static bool self_offer(struct mpixq_pair *pair, struct mpixq_blob *blob, const char **why_p)
{
    blob->length = 0;
    if (pair->peer_world != self.world_rank) {
        *why_p = "the peer is another process";
    } else if (pair->message.mode == MPIXQ_MODE_BSEND) {
        *why_p = "a buffered send completes without its receive";
    } else if (pair->message.count > INT_MAX) {
        *why_p = "the count is larger than an int";
    } else {
        return true;
    }
    return false;
}

static enum mpixq_error self_accept(struct mpixq_pair *pair, const struct mpixq_blob *theirs,
                                    struct mpixq_blob *mine, const char **why_p)
{
    struct mpixq_pair *send = mpixq_match_by_id(pair->peer_id);
    struct self_link *link;

    (void)theirs;
    mine->length = 0;
    if (send == NULL || pair->peer_world != self.world_rank || pair->message.count > INT_MAX) {
        *why_p = "the peer is another process, or the count is larger than an int";
        return MPIXQ_E_NO_CHANNEL;
    }
    link = mpixq_alloc(sizeof *link); /* freed in self_retire */
    if (link == NULL) {
        *why_p = "no memory";
        return MPIXQ_E_NO_MEMORY;
    }
    mpixq_lock_init(&link->lock, MPIXQ_RANK_SELF_LINK);
    link->send = send;
    link->receive = pair;
    send->end = link;
    pair->end = link;
    return MPIXQ_E_NONE;
}

static enum mpixq_error self_connect(struct mpixq_pair *pair, const struct mpixq_blob *theirs)
{
    (void)theirs;
    return pair->end != NULL ? MPIXQ_E_NONE : MPIXQ_E_PROTOCOL;
}

static bool is_waiting_for_data(const struct mpixq_pair *pair)
{
    return pair != NULL && mpixq_pair_is_in_flight(pair);
}

static void fail_end(struct mpixq_pair *pair, int rc)
{
    mpixq_queue_fail(mpixq_graphs_queue(pair), pair, rc, "transfer");
}

static int take_tag(void)
{
    struct mpixq_backoff backoff;
    uint64_t taken = atomic_load(&self.movers);
    int tag;

    mpixq_backoff_begin(&backoff);
    for (;;) {
        tag = ~taken != 0 ? __builtin_ctzll(~taken) : MOVERS;
        if (tag < MOVERS &&
            atomic_compare_exchange_weak(&self.movers, &taken, taken | UINT64_C(1) << tag)) {
            return tag;
        }
        mpixq_backoff_pause(&backoff);
        taken = atomic_load(&self.movers);
    }
}

static int copy(const struct mpixq_pair *send, const struct mpixq_pair *receive)
{
    int tag = take_tag(), rc;

    rc = PMPI_Sendrecv(mpixq_pair_buffer(send), (int)send->message.count, send->message.type, 0,
                       tag, (void *)mpixq_pair_buffer(receive), (int)receive->message.count,
                       receive->message.type, 0, tag, self.comm, MPI_STATUS_IGNORE);
    atomic_fetch_and(&self.movers, ~(UINT64_C(1) << tag));
    return rc;
}

/* Under the lock. */
static void complete(struct mpixq_pair *pair)
{
    struct mpixq_tally *tally = mpixq_tally_of(pair);

    if (tally != NULL) {
        mpixq_tally_completes(tally, mpixq_pair_done(pair) + 1);
    }
    atomic_fetch_add_explicit(&pair->done, 1, memory_order_release);
    if (tally != NULL) {
        mpixq_tally_completed(tally);
    }
}

/* Move the data if both ends have started, and once more if they have started again meanwhile: the
 * thread that started one of them has left it to this one. An end that is not done is not freed but
 * after a failure, and then it is not retired before this ends. */
static void move(struct self_link *link)
{
    struct mpixq_pair *send, *receive;
    int rc = MPI_SUCCESS;

    mpixq_lock_acquire(&link->lock);
    while (rc == MPI_SUCCESS && !link->moves && !link->is_cut && is_waiting_for_data(link->send) &&
           is_waiting_for_data(link->receive)) {
        send = link->send;
        receive = link->receive;
        link->moves = true;
        mpixq_lock_release(&link->lock);
        rc = copy(send, receive);
        if (rc != MPI_SUCCESS) {
            fail_end(send, rc);
            fail_end(receive, rc);
        }
        mpixq_lock_acquire(&link->lock);
        link->moves = false;
        if (rc == MPI_SUCCESS) {
            mpixq_trace_completed(send);
            mpixq_trace_completed(receive);
            complete(send);
            complete(receive);
        }
    }
    mpixq_lock_release(&link->lock);
}

/* A thread makes a start that a tally counts. */
static void start_counted(struct mpixq_pair *pair, struct mpixq_tally *tally,
                          const struct mpixq_queue *queue)
{
    struct self_link *link = pair->end;
    bool is_active;

    mpixq_lock_acquire(&link->lock);
    is_active = mpixq_pair_is_in_flight(pair) || mpixq_tally_is_under_way(tally);
    if (!is_active) {
        mpixq_tally_begin(tally, queue);
        mpixq_trace_start_executed(pair);
        atomic_fetch_add(&pair->executed, 1);
    }
    mpixq_lock_release(&link->lock);
    if (is_active) {
        fail_end(pair, mpixq_error_code(MPIXQ_E_REPLAY_ACTIVE));
        return;
    }
    move(link);
}

/* What the tally says is to be started. */
static void self_go_on(struct mpixq_pair *pair)
{
    struct mpixq_tally *tally = mpixq_tally_of(pair);
    struct self_link *link = pair->end;
    enum mpixq_tally_next next = MPIXQ_TALLY_NONE;

    mpixq_lock_acquire(&link->lock);
    if (!mpixq_pair_is_in_flight(pair)) {
        next = mpixq_tally_next(tally);
    }
    if (next == MPIXQ_TALLY_START) {
        mpixq_trace_start_executed(pair);
        atomic_fetch_add(&pair->executed, 1);
    }
    mpixq_lock_release(&link->lock);
    if (next == MPIXQ_TALLY_START) {
        move(link);
    } else if (next == MPIXQ_TALLY_DROP) {
        mpixq_tally_dropped(tally);
    }
}

/* The stream has reached the starts, or the host makes them. */
static void run_starts(void *const args[], int n, bool on_gpu)
{
    (void)on_gpu;
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = args[i];
        struct mpixq_queue *queue = atomic_load(&pair->queue);
        struct mpixq_tally *tally = mpixq_tally_of(pair);

        if (queue != NULL && mpixq_queue_has_failed(queue)) {
            mpixq_failure_abandon(pair);
            continue;
        }
        if (tally != NULL && !mpixq_tally_is_older(tally)) {
            start_counted(pair, tally, queue);
            continue;
        }
        mpixq_trace_start_executed(pair);
        atomic_fetch_add(&pair->executed, 1);
        move(pair->end);
    }
}

static int self_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                      struct mpixq_op list[])
{
    for (int i = 0; i < n; i++) {
        struct mpixq_tally *tally = queue != NULL ? mpixq_tally_of(pairs[i]) : NULL;

        if (tally == NULL || !mpixq_tally_start(tally, queue, &list[i])) {
            mpixq_op_call(&list[i], MPIXQ_OP_CALL, run_starts, pairs[i]);
        }
    }
    return n;
}

static int self_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op *op)
{
    mpixq_tally_wait(queue, pair, NULL, op);
    return 1;
}

static bool self_poll(struct mpixq_pair *pair)
{
    return mpixq_pair_is_complete(pair);
}

static const char *self_what_is_missing(const struct mpixq_pair *pair)
{
    struct self_link *link = pair->end;
    uint64_t wanted = mpixq_pair_done(pair) + 1;
    const struct mpixq_pair *other;
    bool is_cut;

    mpixq_lock_acquire(&link->lock);
    other = link->send == pair ? link->receive : link->send;
    is_cut = link->is_cut;
    mpixq_lock_release(&link->lock);
    if (other == NULL || is_cut) {
        return "its partner in this process was freed";
    }
    if (mpixq_pair_started(other) < wanted) {
        return "its partner in this process is not started";
    }
    return mpixq_pair_executed(other) < wanted
               ? "the start of its partner in this process is enqueued, and its stream has not "
                 "reached it"
               : "its partner in this process is started: the data is being moved";
}

static void self_release(struct mpixq_pair *pair)
{
    struct self_link *link = pair->end;

    mpixq_lock_acquire(&link->lock);
    link->is_cut = true;
    mpixq_lock_release(&link->lock);
}

static bool self_retire(struct mpixq_pair *pair)
{
    struct self_link *link = pair->end;
    bool moves, is_last;

    mpixq_lock_acquire(&link->lock);
    moves = link->moves;
    if (!moves && mpixq_pair_is_send(pair)) {
        link->send = NULL;
    } else if (!moves) {
        link->receive = NULL;
    }
    is_last = link->send == NULL && link->receive == NULL;
    mpixq_lock_release(&link->lock);
    if (moves) {
        return false;
    }
    pair->end = NULL;
    if (is_last) {
        mpixq_lock_destroy(&link->lock);
        mpixq_free(link);
    }
    return true;
}

static const struct mpixq_channel_graphs self_graphs = {.go_on = self_go_on,
                                                        .refresh = mpixq_tally_refresh,
                                                        .halt = mpixq_tally_halt,
                                                        .close = mpixq_tally_close,
                                                        .describe = mpixq_tally_describe};
static const struct mpixq_channel_report self_report = {.what_is_missing = self_what_is_missing};

const struct mpixq_channel mpixq_channel_self = {
    .name = "self",
    .id = MPIXQ_CHANNEL_SELF,
    .through_mpi = true,
    .report = &self_report,
    .graphs = &self_graphs,
    .open = self_open,
    .close = self_close,
    .offer = self_offer,
    .accept = self_accept,
    .connect = self_connect,
    .start = self_start,
    .wait = self_wait,
    .poll = self_poll,
    .release = self_release,
    .retire = self_retire,
};
