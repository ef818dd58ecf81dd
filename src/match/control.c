/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "control.h"

#include <mpi.h>
#include <string.h>
#include <utlist.h>

#include "util/alloc.h"
#include "util/backoff.h"
#include "util/log.h"
#include "util/table.h"

enum {
    TAG = 1,
    WINDOW = 4,    /* messages in flight to one peer */
    MAX_SPARE = 16 /* messages kept for the next ones */
};

struct message {
    unsigned char bytes[MPIXQ_WIRE_MESSAGE_BYTES];
    size_t used;
    int peer;
    bool urgent;  /* somebody waits for a record in it */
    bool answers; /* one of them is an answer, or a verdict on one */
    MPI_Request send;
    struct message *next, *prev;
};

struct peer {
    int rank;
    struct message *queued; /* in order; records are appended to the last one */
    int in_flight;
    bool was_greeted; /* it has been told what process this is */
    bool is_strange;  /* one of the two cannot read what the other sends */
    struct mpixq_process process;
    uint64_t asked_ns, lost_ns; /* when it was last looked at; and first seen to have ended, or 0 */
    UT_hash_handle hh;
};

static struct {
    const struct mpixq_control_user *user; /* constant once open */
    MPI_Comm comm;
    int own_rank;
    struct peer *peers;
    struct message *flying, *spare;
    unsigned n_spare;
    unsigned n_queued;  /* messages that wait for room in the window */
    unsigned n_urgent;  /* messages queued or flying that are urgent */
    unsigned n_answers; /* messages queued that hold answers */
    bool are_excused;   /* nobody is to wait for these any more */
    uint64_t n_sent;    /* messages sent so far */
    /* The one message that is being received. */
    MPI_Request receive;
    unsigned char incoming[MPIXQ_WIRE_MESSAGE_BYTES];
} wire = {.comm = MPI_COMM_NULL, .receive = MPI_REQUEST_NULL};

static struct peer *peer_find(int rank)
{
    struct peer *peer;

    HASH_FIND_INT(wire.peers, &rank, peer);
    return peer;
}

static struct peer *peer_get(int rank)
{
    struct peer *peer = peer_find(rank);

    if (peer == NULL) {
        peer = mpixq_alloc(sizeof *peer); /* freed in mpixq_control_close */
        if (peer == NULL) {
            return NULL;
        }
        peer->rank = rank;
        HASH_ADD_INT(wire.peers, rank, peer);
        if (!mpixq_in_table(peer->hh)) {
            mpixq_free(peer);
            return NULL;
        }
    }
    return peer;
}

static struct message *message_new(int rank)
{
    struct message *message = wire.spare;

    if (message != NULL) {
        LL_DELETE(wire.spare, message);
        wire.n_spare--;
    } else {
        message = mpixq_alloc(sizeof *message); /* freed in message_done or mpixq_control_close */
    }
    if (message != NULL) {
        message->peer = rank;
        message->used = MPIXQ_WIRE_HEADER_BYTES;
        message->urgent = message->answers = false;
        mpixq_wire_begin(message->bytes);
    }
    return message;
}

/* The message is not needed any more. */
static void message_done(struct message *message)
{
    wire.n_urgent -= message->urgent;
    if (wire.n_spare == MAX_SPARE) {
        mpixq_free(message);
        return;
    }
    LL_PREPEND(wire.spare, message);
    wire.n_spare++;
}

/* A record of this kind was put into the queued message. A released pair can wait. */
static void note_kind(struct message *message, enum mpixq_wire_kind kind)
{
    if (!message->urgent && kind != MPIXQ_WIRE_RELEASE) {
        message->urgent = true;
        wire.n_urgent++;
    }
    if (!message->answers && (kind == MPIXQ_WIRE_ANSWER || kind == MPIXQ_WIRE_VERDICT)) {
        message->answers = true;
        wire.n_answers++;
    }
}

static bool queue_record(struct peer *peer, const struct mpixq_record *record)
{
    struct message *last = peer->queued != NULL ? peer->queued->prev : NULL;
    if (last != NULL && mpixq_wire_append(last->bytes, &last->used, record)) {
        note_kind(last, record->kind);
        return true;
    }
    last = message_new(peer->rank);
    if (last == NULL) {
        return false;
    }
    (void)mpixq_wire_append(last->bytes, &last->used, record); /* one record always fits */
    DL_APPEND(peer->queued, last);
    wire.n_queued++;
    note_kind(last, record->kind);
    return true;
}

bool mpixq_control_send(int world_rank, const struct mpixq_record *record)
{
    struct mpixq_record hello = {.kind = MPIXQ_WIRE_HELLO};
    struct peer *peer = peer_get(world_rank);

    if (peer == NULL) {
        return false;
    }
    if (peer->lost_ns != 0 || peer->is_strange) {
        return true; /* nobody will take it, or read it */
    }
    if (!peer->was_greeted && world_rank != wire.own_rank) {
        hello.u.hello.process = mpixq_process_self();
        peer->was_greeted = queue_record(peer, &hello);
        if (!peer->was_greeted) {
            return false;
        }
    }
    return queue_record(peer, record);
}

void mpixq_control_meet(int world_rank, const struct mpixq_process *process)
{
    struct peer *peer = peer_get(world_rank);

    if (peer != NULL && mpixq_process_is_seen(process)) {
        peer->process = *process;
    }
}

/* What was to go to a process that has ended keeps nobody awake any more. */
static void give_up_messages(struct peer *peer)
{
    struct message *message, *next;

    DL_FOREACH_SAFE(peer->queued, message, next)
    {
        DL_DELETE(peer->queued, message);
        wire.n_queued--;
        wire.n_answers -= message->answers;
        wire.are_excused = wire.are_excused && wire.n_answers > 0;
        message_done(message);
    }
    DL_FOREACH(wire.flying, message)
    {
        if (message->peer == peer->rank && message->urgent) {
            message->urgent = false;
            wire.n_urgent--;
        }
    }
}

bool mpixq_control_has_lost(int world_rank, uint64_t now_ns)
{
    struct peer *peer = peer_find(world_rank);

    if (peer == NULL) {
        return false;
    }
    if (peer->lost_ns == 0 && peer->asked_ns != now_ns) {
        peer->asked_ns = now_ns;
        if (mpixq_process_has_ended(&peer->process)) {
            peer->lost_ns = now_ns;
            give_up_messages(peer);
            mpixq_err("rank %d of MPI_COMM_WORLD has ended: its process %llu is gone", world_rank,
                      (unsigned long long)peer->process.pid);
        }
    }
    return peer->lost_ns != 0 && peer->lost_ns < now_ns;
}

bool mpixq_control_is_urgent(void)
{
    return wire.n_urgent > 0;
}

bool mpixq_control_has_taken(int world_rank)
{
    const struct peer *peer = peer_find(world_rank);

    return peer == NULL || (peer->queued == NULL && peer->in_flight == 0);
}

bool mpixq_control_has_answered(void)
{
    return wire.n_answers == 0 || wire.are_excused;
}

int mpixq_control_unanswered(void)
{
    struct peer *peer, *next;
    struct message *message;

    HASH_ITER(hh, wire.peers, peer, next)
    {
        DL_SEARCH_SCALAR(peer->queued, message, answers, true);
        if (message != NULL) {
            return peer->rank;
        }
    }
    return -1;
}

void mpixq_control_excuse_answers(void)
{
    wire.are_excused = wire.n_answers > 0;
}

uint64_t mpixq_control_sent(void)
{
    return wire.n_sent;
}

/* Tell it that its messages cannot be read. */
static bool queue_refusal(struct peer *peer)
{
    struct message *message = message_new(peer->rank);

    if (message == NULL) {
        return false;
    }
    mpixq_wire_refuse(message->bytes);
    DL_APPEND(peer->queued, message);
    wire.n_queued++;
    note_kind(message, MPIXQ_WIRE_HELLO);
    return true;
}

/* The two have libraries of different versions, of which this end has heard by a message that it
 * cannot read, and the other will by one that tells it so: nothing can be matched between them. */
static void estrange(int source, bool tell)
{
    struct peer *peer = peer_get(source);

    if (peer == NULL || peer->is_strange) {
        return;
    }
    give_up_messages(peer);
    if (tell && !queue_refusal(peer)) {
        return; /* with the next message, if there is memory then */
    }
    mpixq_err("rank %d has another version of this library, or byte order: no match", source);
    peer->is_strange = true;
    wire.user->strange(source);
}

bool mpixq_control_is_strange(int world_rank)
{
    const struct peer *peer = peer_find(world_rank);

    return peer != NULL && peer->is_strange;
}

static void deliver(const unsigned char *bytes, size_t n, int source)
{
    enum mpixq_wire_header header = mpixq_wire_check(bytes, n);
    struct mpixq_record record;
    size_t at = MPIXQ_WIRE_HEADER_BYTES;
    int got;

    if (header != MPIXQ_WIRE_READ) {
        estrange(source, header == MPIXQ_WIRE_STRANGE);
        return;
    }
    while ((got = mpixq_wire_next(bytes, n, &at, &record)) > 0) {
        wire.user->record(&record, source);
    }
    if (got < 0) {
        mpixq_err("malformed control message of %zu bytes from rank %d dropped", n, source);
    }
}

static void send_failed(struct peer *peer, int rc)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    (void)PMPI_Error_string(rc, text, &length);
    mpixq_err("control message to rank %d lost: %s", peer->rank, text);
}

/* Send the peer's queued messages as far as the window goes. */
static void peer_flush(struct peer *peer)
{
    while (peer->queued != NULL && peer->in_flight < WINDOW) {
        struct message *message = peer->queued;
        int rc;

        DL_DELETE(peer->queued, message);
        wire.n_queued--;
        wire.n_answers -= message->answers;
        wire.are_excused = wire.are_excused && wire.n_answers > 0;
        if (peer->rank == wire.own_rank) {
            deliver(message->bytes, message->used, wire.own_rank);
            message_done(message);
            continue;
        }
        rc = PMPI_Issend(message->bytes, (int)message->used, MPI_BYTE, peer->rank, TAG, wire.comm,
                         &message->send);
        if (rc != MPI_SUCCESS) {
            send_failed(peer, rc);
            message_done(message);
            continue;
        }
        wire.n_sent++;
        peer->in_flight++;
        DL_APPEND(wire.flying, message);
    }
}

static void reap(void)
{
    struct message *message, *next;

    DL_FOREACH_SAFE(wire.flying, message, next)
    {
        struct peer *peer = peer_get(message->peer);
        int done = 0, rc = PMPI_Test(&message->send, &done, MPI_STATUS_IGNORE);

        if (rc != MPI_SUCCESS) {
            send_failed(peer, rc);
            done = 1;
        }
        if (done) {
            DL_DELETE(wire.flying, message);
            message_done(message);
            peer->in_flight--;
        }
    }
}

/* Take the next message if there is one. True if something arrived. */
static bool receive_one(void)
{
    MPI_Status status;
    MPI_Message matched;
    int flag = 0, bytes = 0;

    if (wire.receive == MPI_REQUEST_NULL) {
        if (PMPI_Improbe(MPI_ANY_SOURCE, TAG, wire.comm, &flag, &matched, &status) != MPI_SUCCESS ||
            !flag ||
            PMPI_Imrecv(wire.incoming, sizeof wire.incoming, MPI_BYTE, &matched, &wire.receive) !=
                MPI_SUCCESS) {
            return false;
        }
    }
    flag = 0;
    if (PMPI_Test(&wire.receive, &flag, &status) != MPI_SUCCESS || !flag) {
        return false;
    }
    (void)PMPI_Get_count(&status, MPI_BYTE, &bytes);
    deliver(wire.incoming, (size_t)bytes, status.MPI_SOURCE);
    return true;
}

void mpixq_control_progress(void)
{
    struct peer *peer, *next;

    if (wire.comm == MPI_COMM_NULL) {
        return;
    }
    if (wire.flying != NULL) {
        reap();
    }
    while (receive_one()) {
    }
    if (wire.n_queued > 0) {
        HASH_ITER(hh, wire.peers, peer, next)
        {
            peer_flush(peer);
        }
    }
}

int mpixq_control_open(const struct mpixq_control_user *who)
{
    int rc = PMPI_Comm_dup(MPI_COMM_WORLD, &wire.comm);

    wire.user = who;
    rc = rc ? rc : PMPI_Comm_set_errhandler(wire.comm, MPI_ERRORS_RETURN);
    rc = rc ? rc : PMPI_Comm_set_name(wire.comm, "mpix_queue control");
    return rc ? rc : PMPI_Comm_rank(wire.comm, &wire.own_rank);
}

/* Progress until all that was queued here has been taken. */
static void flush(struct mpixq_backoff *backoff)
{
    while (wire.n_queued > 0 || wire.flying != NULL) {
        mpixq_control_progress();
        wire.user->drive();
        mpixq_backoff_pause(backoff);
    }
}

/* The number of messages that all processes have sent; -1 if it cannot be had. */
static int64_t sent_by_all(struct mpixq_backoff *backoff)
{
    int64_t mine = (int64_t)wire.n_sent, all = 0;
    MPI_Request reduce = MPI_REQUEST_NULL;
    int done = 0;

    if (PMPI_Iallreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, wire.comm, &reduce) != MPI_SUCCESS) {
        return -1;
    }
    while (!done) {
        mpixq_control_progress();
        wire.user->drive();
        mpixq_backoff_pause(backoff);
        if (PMPI_Test(&reduce, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            return -1;
        }
    }
    return all;
}

/* All processes come here. A message that arrives may be answered, so nothing is under way only
 * once two counts of all messages, each taken when a process's own were received, are equal. */
static void drain(void)
{
    struct mpixq_backoff backoff;
    int64_t before, now = -1;

    mpixq_backoff_begin(&backoff);
    do {
        before = now;
        flush(&backoff);
        now = sent_by_all(&backoff);
    } while (now >= 0 && now != before);
}

void mpixq_control_close(void)
{
    struct peer *peer, *next_peer;
    struct message *message, *next;

    if (wire.comm == MPI_COMM_NULL) {
        return;
    }
    drain();
    LL_FOREACH_SAFE(wire.spare, message, next)
    {
        mpixq_free(message);
    }
    wire.spare = NULL;
    wire.n_spare = 0;
    HASH_ITER(hh, wire.peers, peer, next_peer)
    {
        HASH_DEL(wire.peers, peer);
        mpixq_free(peer);
    }
    (void)PMPI_Comm_free(&wire.comm);
}
