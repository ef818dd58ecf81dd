/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "control.h"

#include <mpi.h>
#include <string.h>
#include <utlist.h>

#include "alloc.h"
#include "backoff.h"
#include "log.h"
#include "match.h"
#include "table.h"

enum {
    TAG = 1,
    WINDOW = 4 /* messages in flight to one peer */
};

struct message {
    unsigned char bytes[MPIXQ_WIRE_MESSAGE_BYTES];
    size_t used;
    int peer;
    MPI_Request send;
    struct message *next, *prev;
};

struct peer {
    int rank;
    struct message *queued; /* in order; records are appended to the last one */
    int in_flight;
    UT_hash_handle hh;
};

static MPI_Comm comm = MPI_COMM_NULL;
static int own_rank;
static struct peer *peers;
static struct message *flying;
static struct message *spare;
static unsigned n_queued; /* messages that wait for room in the window */

/* The one message that is being received. */
static unsigned char incoming[MPIXQ_WIRE_MESSAGE_BYTES];
static MPI_Request receive = MPI_REQUEST_NULL;

static struct peer *peer_get(int rank)
{
    struct peer *peer;

    HASH_FIND_INT(peers, &rank, peer);
    if (peer == NULL) {
        peer = mpixq_alloc(sizeof *peer); /* freed in mpixq_control_close */
        if (peer == NULL) {
            return NULL;
        }
        peer->rank = rank;
        HASH_ADD_INT(peers, rank, peer);
        if (!mpixq_in_table(peer->hh)) {
            mpixq_free(peer);
            return NULL;
        }
    }
    return peer;
}

static struct message *message_new(int rank)
{
    struct message *message = spare;

    if (message != NULL) {
        LL_DELETE(spare, message);
    } else {
        message = mpixq_alloc(sizeof *message); /* freed in mpixq_control_close */
    }
    if (message != NULL) {
        message->peer = rank;
        message->used = MPIXQ_WIRE_HEADER_BYTES;
        mpixq_wire_begin(message->bytes);
    }
    return message;
}

bool mpixq_control_send(int world_rank, const struct mpixq_record *record)
{
    struct peer *peer = peer_get(world_rank);
    struct message *last;

    if (peer == NULL) {
        return false;
    }
    last = peer->queued != NULL ? peer->queued->prev : NULL;
    if (last != NULL && mpixq_wire_append(last->bytes, &last->used, record)) {
        return true;
    }
    last = message_new(world_rank);
    if (last == NULL) {
        return false;
    }
    (void)mpixq_wire_append(last->bytes, &last->used, record); /* one record always fits */
    DL_APPEND(peer->queued, last);
    n_queued++;
    return true;
}

bool mpixq_control_is_idle(void)
{
    return n_queued == 0 && flying == NULL;
}

static void deliver(const unsigned char *bytes, size_t n, int source)
{
    struct mpixq_record record;
    size_t at = MPIXQ_WIRE_HEADER_BYTES;
    int got = mpixq_wire_check(bytes, n) ? 1 : -1;

    while (got > 0) {
        got = mpixq_wire_next(bytes, n, &at, &record);
        if (got > 0) {
            mpixq_match_record(&record, source);
        }
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
        n_queued--;
        if (peer->rank == own_rank) {
            deliver(message->bytes, message->used, own_rank);
            LL_PREPEND(spare, message);
            continue;
        }
        rc = PMPI_Issend(message->bytes, (int)message->used, MPI_BYTE, peer->rank, TAG, comm,
                         &message->send);
        if (rc != MPI_SUCCESS) {
            send_failed(peer, rc);
            LL_PREPEND(spare, message);
            continue;
        }
        peer->in_flight++;
        DL_APPEND(flying, message);
    }
}

static void reap(void)
{
    struct message *message, *next;

    DL_FOREACH_SAFE(flying, message, next)
    {
        struct peer *peer = peer_get(message->peer);
        int done = 0, rc = PMPI_Test(&message->send, &done, MPI_STATUS_IGNORE);

        if (rc != MPI_SUCCESS) {
            send_failed(peer, rc);
            done = 1;
        }
        if (done) {
            DL_DELETE(flying, message);
            LL_PREPEND(spare, message);
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

    if (receive == MPI_REQUEST_NULL) {
        if (PMPI_Improbe(MPI_ANY_SOURCE, TAG, comm, &flag, &matched, &status) != MPI_SUCCESS ||
            !flag) {
            return false;
        }
        if (PMPI_Imrecv(incoming, sizeof incoming, MPI_BYTE, &matched, &receive) != MPI_SUCCESS) {
            return false;
        }
    }
    flag = 0;
    if (PMPI_Test(&receive, &flag, &status) != MPI_SUCCESS || !flag) {
        return false;
    }
    (void)PMPI_Get_count(&status, MPI_BYTE, &bytes);
    deliver(incoming, (size_t)bytes, status.MPI_SOURCE);
    return true;
}

void mpixq_control_progress(void)
{
    struct peer *peer, *next;

    if (comm == MPI_COMM_NULL) {
        return;
    }
    if (flying != NULL) {
        reap();
    }
    while (receive_one()) {
    }
    if (n_queued > 0) {
        HASH_ITER(hh, peers, peer, next)
        {
            peer_flush(peer);
        }
    }
}

int mpixq_control_open(void)
{
    int rc = PMPI_Comm_dup(MPI_COMM_WORLD, &comm);

    rc = rc ? rc : PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    rc = rc ? rc : PMPI_Comm_set_name(comm, "mpix_queue control");
    return rc ? rc : PMPI_Comm_rank(comm, &own_rank);
}

/* All processes come here. Once each has nothing more to send, nothing is under way. */
static void drain(void)
{
    struct mpixq_backoff backoff;
    MPI_Request barrier = MPI_REQUEST_NULL;
    int done = 0;

    mpixq_backoff_begin(&backoff);
    while (!mpixq_control_is_idle()) {
        mpixq_control_progress();
        mpixq_backoff_pause(&backoff);
    }
    if (PMPI_Ibarrier(comm, &barrier) != MPI_SUCCESS) {
        return;
    }
    while (!done) {
        mpixq_control_progress();
        mpixq_backoff_pause(&backoff);
        if (PMPI_Test(&barrier, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            return;
        }
    }
}

void mpixq_control_close(void)
{
    struct peer *peer, *next_peer;
    struct message *message, *next;

    if (comm == MPI_COMM_NULL) {
        return;
    }
    drain();
    LL_FOREACH_SAFE(spare, message, next)
    {
        mpixq_free(message);
    }
    spare = NULL;
    HASH_ITER(hh, peers, peer, next_peer)
    {
        HASH_DEL(peers, peer);
        mpixq_free(peer);
    }
    (void)PMPI_Comm_free(&comm);
}
