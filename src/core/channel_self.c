/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The self channel: both ends in this process. Whichever end starts second moves the data, by
 * MPI_Sendrecv on a private duplicate of MPI_COMM_SELF, so that any two datatypes work. A
 * buffered send must complete without its receive and goes by another channel. */
#include <limits.h>
#include <pthread.h>
#include <stddef.h>

#include "alloc.h"
#include "backoff.h"
#include "channel.h"
#include "failure.h"
#include "log.h"
#include "match.h"
#include "queue.h"

/* The two ends; an end is NULL once it was retired. Freed with the second one. The lock is held for
 * a few instructions, and not while data moves: it is taken under the matching lock too. */
struct self_pair {
    pthread_mutex_t lock;
    struct mpixq_request *send, *receive;
    bool moves;  /* a thread moves the data */
    bool is_cut; /* an end was released: nothing moves any more */
};

/* Transfers at a time, each with a tag of its own; those beyond wait. */
enum { MOVERS = 64 };
static _Atomic uint64_t movers; /* a bit for each tag in use */
static MPI_Comm comm = MPI_COMM_NULL;
static int world_rank;

static int self_open(void)
{
    int rc = PMPI_Comm_dup(MPI_COMM_SELF, &comm);

    rc = rc ? rc : PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return rc ? rc : PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
}

static void self_close(void)
{
    if (comm != MPI_COMM_NULL) {
        (void)PMPI_Comm_free(&comm);
    }
}

static bool self_offer(struct mpixq_request *req, struct mpixq_blob *blob, const char **why_p)
{
    blob->length = 0;
    if (req->pair.peer_world != world_rank) {
        *why_p = "the peer is another process";
    } else if (req->pair.message.mode == MPIXQ_MODE_BSEND) {
        *why_p = "a buffered send completes without its receive";
    } else if (req->pair.message.count > INT_MAX) {
        *why_p = "the count is larger than an int";
    } else {
        return true;
    }
    return false;
}

static enum mpixq_error self_accept(struct mpixq_request *req, const struct mpixq_blob *theirs,
                                    struct mpixq_blob *mine, const char **why_p)
{
    struct mpixq_request *send = mpixq_match_by_id(req->pair.peer_id);
    struct self_pair *pair;

    (void)theirs;
    mine->length = 0;
    if (send == NULL || req->pair.peer_world != world_rank || req->pair.message.count > INT_MAX) {
        *why_p = "the peer is another process, or the count is larger than an int";
        return MPIXQ_E_NO_CHANNEL;
    }
    pair = mpixq_alloc(sizeof *pair); /* freed in self_retire */
    if (pair == NULL) {
        *why_p = "no memory";
        return MPIXQ_E_NO_MEMORY;
    }
    (void)pthread_mutex_init(&pair->lock, NULL);
    pair->send = send;
    pair->receive = req;
    send->pair.end = pair;
    req->pair.end = pair;
    return MPIXQ_E_NONE;
}

static enum mpixq_error self_connect(struct mpixq_request *req, const struct mpixq_blob *theirs)
{
    (void)theirs;
    return req->pair.end != NULL ? MPIXQ_E_NONE : MPIXQ_E_PROTOCOL;
}

static void self_withdraw(struct mpixq_request *req)
{
    (void)req;
}

static bool is_waiting_for_data(const struct mpixq_request *req)
{
    return req != NULL && mpixq_pair_is_in_flight(&req->pair);
}

static void fail_end(struct mpixq_request *req, int rc)
{
    mpixq_queue_fail(atomic_load(&req->pair.queue), req, rc, "transfer");
}

static int take_tag(void)
{
    struct mpixq_backoff backoff;
    uint64_t taken = atomic_load(&movers);
    int tag;

    mpixq_backoff_begin(&backoff);
    for (;;) {
        tag = ~taken != 0 ? __builtin_ctzll(~taken) : MOVERS;
        if (tag < MOVERS &&
            atomic_compare_exchange_weak(&movers, &taken, taken | UINT64_C(1) << tag)) {
            return tag;
        }
        mpixq_backoff_pause(&backoff);
        taken = atomic_load(&movers);
    }
}

static int copy(const struct mpixq_request *send, const struct mpixq_request *receive)
{
    int tag = take_tag(), rc;

    rc = PMPI_Sendrecv(mpixq_pair_buffer(&send->pair), (int)send->pair.message.count,
                       send->pair.message.type, 0, tag, (void *)mpixq_pair_buffer(&receive->pair),
                       (int)receive->pair.message.count, receive->pair.message.type, 0, tag, comm,
                       MPI_STATUS_IGNORE);
    atomic_fetch_and(&movers, ~(UINT64_C(1) << tag));
    return rc;
}

/* Move the data if both ends have started, and once more if they have started again meanwhile: the
 * thread that started one of them has left it to this one. An end that is not done is not freed but
 * after a failure, and then it is not retired before this ends. */
static void move(struct self_pair *pair)
{
    struct mpixq_request *send, *receive;
    int rc = MPI_SUCCESS;

    pthread_mutex_lock(&pair->lock);
    while (rc == MPI_SUCCESS && !pair->moves && !pair->is_cut && is_waiting_for_data(pair->send) &&
           is_waiting_for_data(pair->receive)) {
        send = pair->send;
        receive = pair->receive;
        pair->moves = true;
        pthread_mutex_unlock(&pair->lock);
        rc = copy(send, receive);
        if (rc != MPI_SUCCESS) {
            fail_end(send, rc);
            fail_end(receive, rc);
        }
        pthread_mutex_lock(&pair->lock);
        pair->moves = false;
        if (rc == MPI_SUCCESS) {
            atomic_fetch_add_explicit(&send->pair.done, 1, memory_order_release);
            atomic_fetch_add_explicit(&receive->pair.done, 1, memory_order_release);
        }
    }
    pthread_mutex_unlock(&pair->lock);
}

/* The stream has reached the starts, or the host makes them. */
static void run_starts(void *const args[], int n)
{
    for (int i = 0; i < n; i++) {
        struct mpixq_request *req = args[i];
        struct mpixq_queue *queue = atomic_load(&req->pair.queue);

        if (queue != NULL && mpixq_queue_has_failed(queue)) {
            mpixq_failure_abandon(req);
            continue;
        }
        atomic_fetch_add(&req->pair.executed, 1);
        move(req->pair.end);
    }
}

static bool self_start(struct mpixq_queue *queue, struct mpixq_request *req,
                       struct mpixq_trigger *trigger)
{
    (void)queue;
    trigger->call = run_starts;
    trigger->arg = req;
    return true;
}

static bool self_wait(struct mpixq_queue *queue, struct mpixq_request *req,
                      struct mpixq_awaited *awaited)
{
    *awaited = (struct mpixq_awaited){.word = mpixq_pair_done_word(&req->pair),
                                      .value = mpixq_pair_started(&req->pair),
                                      .failed = &queue->failed};
    return true;
}

static bool self_poll(struct mpixq_request *req)
{
    return mpixq_pair_is_complete(&req->pair);
}

static const char *self_lacks(const struct mpixq_request *req)
{
    const struct mpixq_request *other = mpixq_match_by_id(req->pair.peer_id);
    uint64_t wanted = mpixq_pair_done(&req->pair) + 1;

    if (other == NULL || other->released) {
        return "its partner in this process was freed";
    }
    if (mpixq_pair_started(&other->pair) < wanted) {
        return "its partner in this process is not started";
    }
    return mpixq_pair_executed(&other->pair) < wanted
               ? "the start of its partner in this process is enqueued, and its stream has not "
                 "reached it"
               : "its partner in this process is started: the data is being moved";
}

static void self_release(struct mpixq_request *req)
{
    struct self_pair *pair = req->pair.end;

    pthread_mutex_lock(&pair->lock);
    pair->is_cut = true;
    pthread_mutex_unlock(&pair->lock);
}

static bool self_retire(struct mpixq_request *req)
{
    struct self_pair *pair = req->pair.end;
    bool moves, is_last;

    pthread_mutex_lock(&pair->lock);
    moves = pair->moves;
    if (!moves && mpixq_request_is_send(req)) {
        pair->send = NULL;
    } else if (!moves) {
        pair->receive = NULL;
    }
    is_last = pair->send == NULL && pair->receive == NULL;
    pthread_mutex_unlock(&pair->lock);
    if (moves) {
        return false;
    }
    req->pair.end = NULL;
    if (is_last) {
        (void)pthread_mutex_destroy(&pair->lock);
        mpixq_free(pair);
    }
    return true;
}

const struct mpixq_channel mpixq_channel_self = {
    .name = "self",
    .id = MPIXQ_CHANNEL_SELF,
    .through_mpi = true,
    .open = self_open,
    .close = self_close,
    .outlook = mpixq_channel_outlook_available,
    .tell = mpixq_channel_tell_nothing,
    .attach = mpixq_channel_attach_nothing,
    .detach = mpixq_channel_detach_nothing,
    .expose = mpixq_channel_expose_nothing,
    .reach = mpixq_channel_reach_nothing,
    .unreach = mpixq_channel_unreach_nothing,
    .prepare = mpixq_channel_prepare_nothing,
    .ring_by_gpu = mpixq_channel_ring_nothing,
    .watch_by_gpu = mpixq_channel_watch_nothing,
    .drive = mpixq_channel_drive_nothing,
    .settle = mpixq_channel_drive_nothing,
    .offer = self_offer,
    .accept = self_accept,
    .connect = self_connect,
    .must_open = mpixq_channel_must_open_nothing,
    .open_peer = mpixq_channel_open_nothing,
    .undo = mpixq_channel_ignore,
    .withdraw = self_withdraw,
    .start = self_start,
    .start_many = mpixq_channel_start_each,
    .wait = self_wait,
    .poll = self_poll,
    .is_broken = mpixq_channel_has_lost_nothing,
    .poll_many = mpixq_channel_poll_each,
    .lacks = self_lacks,
    .has_lost = mpixq_channel_has_lost_nothing,
    .attend = mpixq_channel_ignore,
    .recall = mpixq_channel_ignore,
    .tidy = mpixq_channel_drive_nothing,
    .ended = mpixq_channel_ignore,
    .release = self_release,
    .retire = self_retire,
};
