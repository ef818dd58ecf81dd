/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "transport.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "util/alloc.h"
#include "util/backoff.h"
#include "util/log.h"
#include "window.h"

enum { TAG = 0, SPARE = 64 /* messages kept for later ones */, AT_ONCE = 64 };
enum { PATIENCE_NS = 2000000000 }; /* with what MPI has under way when a window ends */

struct mpixq_rma_flight {
    struct mpixq_rma_header header;
    char data[MPIXQ_RMA_EAGER];
    MPI_Request request;
    struct mpixq_rma_flight *next, *prev;
};

struct mpixq_rma_receive {
    struct mpixq_rma_header header;
    char data[MPIXQ_RMA_EAGER];
    MPI_Request request;
};

enum { MESSAGE_BYTES = sizeof(struct mpixq_rma_header) + MPIXQ_RMA_EAGER };

void mpixq_rma_mpi_failed(struct mpixq_window *window, int rc, const char *operation)
{
    char what[64], text[MPI_MAX_ERROR_STRING] = "", why[MPIXQ_ERROR_ROOM];
    int length;

    (void)PMPI_Error_string(rc, text, &length);
    (void)snprintf(what, sizeof what, "window %llu", (unsigned long long)window->number);
    (void)snprintf(why, sizeof why, "MPI failed to %s: %.180s", operation, text);
    mpixq_rma_window_fail(window, mpixq_error_cause(MPIXQ_E_COMMUNICATION, what, why));
}

struct mpixq_rma_op *mpixq_rma_op_new(struct mpixq_window *window)
{
    struct mpixq_rma_op *op = window->spare_ops;

    if (op != NULL) {
        LL_DELETE(window->spare_ops, op);
        window->n_spare_ops--;
        *op = (struct mpixq_rma_op){.peer = 0};
        return op;
    }
    op = mpixq_alloc(sizeof *op); /* freed in mpixq_rma_op_free or mpixq_rma_transport_close */
    if (op == NULL) {
        mpixq_rma_window_fail(window, mpixq_error_code(MPIXQ_E_NO_MEMORY));
    }
    return op;
}

void mpixq_rma_op_free(struct mpixq_window *window, struct mpixq_rma_op *op)
{
    if (op != NULL && window->n_spare_ops < SPARE) {
        LL_PREPEND(window->spare_ops, op);
        window->n_spare_ops++;
    } else {
        mpixq_free(op);
    }
}

static const struct mpixq_rma_neighbour *find_neighbour(const struct mpixq_window *window, int rank)
{
    for (int i = 0; i < window->n_neighbours; i++) {
        if (window->neighbours[i].rank == rank) {
            return &window->neighbours[i];
        }
    }
    return NULL;
}

struct mpixq_rma_peer *mpixq_rma_peer(struct mpixq_window *window, int rank)
{
    struct mpixq_rma_peer *peer;

    HASH_FIND_INT(window->peers, &rank, peer);
    if (peer != NULL) {
        return peer;
    }
    peer = mpixq_alloc(sizeof *peer); /* freed in mpixq_rma_transport_close */
    if (peer != NULL) {
        peer->rank = rank;
        peer->neighbour = find_neighbour(window, rank);
        HASH_ADD_INT(window->peers, rank, peer);
        if (mpixq_in_table(peer->hh)) {
            return peer;
        }
        mpixq_free(peer);
    }
    mpixq_rma_window_fail(window, mpixq_error_code(MPIXQ_E_NO_MEMORY));
    return NULL;
}

void mpixq_rma_send(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                    enum mpixq_rma_line line, struct mpixq_rma_op *op)
{
    op->peer = peer->rank;
    DL_APPEND(peer->lines[line], op);
    window->n_queued++;
}

static struct mpixq_rma_flight *take_flight(struct mpixq_window *window)
{
    struct mpixq_rma_flight *flight = window->spare;

    if (flight == NULL) {
        return mpixq_alloc(sizeof *flight); /* freed in mpixq_rma_transport_close */
    }
    LL_DELETE(window->spare, flight);
    window->n_spare--;
    return flight;
}

static bool takes_credit(const struct mpixq_rma_header *header)
{
    return header->message == MPIXQ_RMA_PUT || header->message == MPIXQ_RMA_GET ||
           header->message == MPIXQ_RMA_ASK;
}

/* May a message go, as far as the peer is concerned? */
static bool may_go(const struct mpixq_rma_peer *peer, const struct mpixq_rma_op *op)
{
    if (takes_credit(&op->header) && peer->sent - peer->known == MPIXQ_RMA_CREDITS) {
        return false;
    }
    switch (op->header.message) {
    case MPIXQ_RMA_GET:
        return peer->gets < MPIXQ_RMA_AHEAD;
    case MPIXQ_RMA_PUT:
    case MPIXQ_RMA_REPLY:
        return op->header.is_eager || peer->waiting < MPIXQ_RMA_AHEAD;
    default:
        return true;
    }
}

/* The next message to the peer that may go, out of its line; or NULL. */
static struct mpixq_rma_op *take_next(struct mpixq_rma_peer *peer)
{
    for (int line = 0; line < MPIXQ_RMA_N_LINES; line++) {
        struct mpixq_rma_op *op = peer->lines[line];

        if (op != NULL && may_go(peer, op)) {
            DL_DELETE(peer->lines[line], op);
            return op;
        }
    }
    return NULL;
}

/* False: it stays where it is, since the window has failed. */
static bool send_one(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                     const struct mpixq_rma_op *op)
{
    struct mpixq_rma_flight *flight = take_flight(window);
    size_t bytes = op->header.is_eager ? op->header.bytes : 0;
    int rc;

    if (flight == NULL) {
        mpixq_rma_window_fail(window, mpixq_error_code(MPIXQ_E_NO_MEMORY));
        return false;
    }
    flight->header = op->header;
    flight->header.taken = peer->taken;
    if (bytes > 0) {
        memcpy(flight->data, op->data, bytes);
    }
    rc = PMPI_Isend(flight, (int)(sizeof flight->header + bytes), MPI_BYTE, peer->rank, TAG,
                    window->comm, &flight->request);
    if (rc != MPI_SUCCESS) {
        LL_PREPEND(window->spare, flight);
        window->n_spare++;
        mpixq_rma_mpi_failed(window, rc, "send");
        return false;
    }
    DL_APPEND(window->flying, flight);
    peer->told = peer->taken;
    peer->sent += takes_credit(&op->header);
    return true;
}

static void send_queued(struct mpixq_window *window, const struct mpixq_rma_protocol *protocol)
{
    struct mpixq_rma_peer *peer, *next;
    struct mpixq_rma_op *op;

    HASH_ITER(hh, window->peers, peer, next)
    {
        while (atomic_load(&window->failed) == MPI_SUCCESS && (op = take_next(peer)) != NULL) {
            window->n_queued--;
            if (send_one(window, peer, op)) {
                protocol->sent(window, peer, op);
            } else {
                mpixq_rma_op_free(window, op);
            }
        }
    }
}

static void reap(struct mpixq_window *window)
{
    struct mpixq_rma_flight *flight, *next;

    DL_FOREACH_SAFE(window->flying, flight, next)
    {
        int done = 0, rc = PMPI_Test(&flight->request, &done, MPI_STATUS_IGNORE);

        if (rc != MPI_SUCCESS) {
            mpixq_rma_mpi_failed(window, rc, "send");
            return;
        }
        if (done) {
            DL_DELETE(window->flying, flight);
            if (window->n_spare < SPARE) {
                LL_PREPEND(window->spare, flight);
                window->n_spare++;
            } else {
                mpixq_free(flight);
            }
        }
    }
}

static int post(struct mpixq_window *window, struct mpixq_rma_receive *receive)
{
    return PMPI_Irecv(receive, MESSAGE_BYTES, MPI_BYTE, MPI_ANY_SOURCE, TAG, window->comm,
                      &receive->request);
}

/* Is it as long as it says? */
static bool is_whole(const struct mpixq_rma_header *header, int bytes)
{
    uint64_t expected = sizeof *header + (header->is_eager ? header->bytes : 0);

    return bytes >= (int)sizeof *header && (uint64_t)bytes == expected;
}

/* What a peer says that it has taken was sent. A message about this alone goes before any answer to
 * the one that makes it go, so who ends the window has it before that. */
static void count_credits(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                          const struct mpixq_rma_header *header)
{
    struct mpixq_rma_op *op;

    if (header->taken - peer->known <= peer->sent - peer->known) {
        peer->known = header->taken;
    }
    peer->taken += takes_credit(header);
    if (peer->taken - peer->told == MPIXQ_RMA_CREDITS / 2) {
        op = mpixq_rma_op_new(window);
        if (op != NULL) {
            op->header.message = MPIXQ_RMA_CREDIT;
            mpixq_rma_send(window, peer, MPIXQ_RMA_ANSWERS, op);
        }
    }
}

static void take(struct mpixq_window *window, const struct mpixq_rma_protocol *protocol,
                 const struct mpixq_rma_receive *receive, int bytes, int source)
{
    struct mpixq_rma_peer *peer;

    if (!is_whole(&receive->header, bytes)) {
        mpixq_err("malformed message of %d bytes for window %llu from rank %d of it dropped", bytes,
                  (unsigned long long)window->number, source);
        return;
    }
    peer = mpixq_rma_peer(window, source);
    if (peer != NULL) {
        count_credits(window, peer, &receive->header);
        protocol->came(window, &receive->header, receive->data, peer);
    }
}

/* Messages of a peer are taken in the order in which they came: the receives are a ring. */
static void take_arrived(struct mpixq_window *window, const struct mpixq_rma_protocol *protocol)
{
    for (int i = 0; i < AT_ONCE; i++) {
        struct mpixq_rma_receive *receive = &window->receive[window->head];
        int done = 0, bytes = 0, rc;
        MPI_Status status;

        rc = PMPI_Test(&receive->request, &done, &status);
        if (rc == MPI_SUCCESS && !done) {
            return;
        }
        if (rc == MPI_SUCCESS) {
            (void)PMPI_Get_count(&status, MPI_BYTE, &bytes);
            take(window, protocol, receive, bytes, status.MPI_SOURCE);
            rc = post(window, receive);
        }
        if (rc != MPI_SUCCESS) {
            mpixq_rma_mpi_failed(window, rc, "receive");
            return;
        }
        window->head = (window->head + 1) % MPIXQ_RMA_RECEIVES;
    }
}

void mpixq_rma_transport_go(struct mpixq_window *window, const struct mpixq_rma_protocol *protocol)
{
    /* What waits for nothing is not kept waiting by a look at what has come, nor answers by one at
     * what has left. */
    if (window->n_queued > 0) {
        send_queued(window, protocol);
    }
    take_arrived(window, protocol);
    if (window->n_queued > 0) {
        send_queued(window, protocol);
    }
    if (window->flying != NULL && atomic_load(&window->failed) == MPI_SUCCESS) {
        reap(window);
    }
}

int mpixq_rma_transport_open(struct mpixq_window *window)
{
    int rc = MPI_SUCCESS;

    window->head = 0;
    window->receive = mpixq_alloc(MPIXQ_RMA_RECEIVES * sizeof *window->receive);
    if (window->receive == NULL) {
        return mpixq_error_code(MPIXQ_E_NO_MEMORY);
    }
    for (int i = 0; i < MPIXQ_RMA_RECEIVES; i++) {
        window->receive[i].request = MPI_REQUEST_NULL;
    }
    for (int i = 0; rc == MPI_SUCCESS && i < MPIXQ_RMA_RECEIVES; i++) {
        rc = post(window, &window->receive[i]);
    }
    return rc;
}

uint64_t mpixq_rma_patience(void)
{
    return mpixq_now_ns() + PATIENCE_NS;
}

bool mpixq_rma_request_end(MPI_Request *request, uint64_t until_ns)
{
    struct mpixq_backoff backoff;
    int done = 0;

    mpixq_backoff_begin(&backoff);
    while (*request != MPI_REQUEST_NULL) {
        if (PMPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done) {
            return true; /* it has ended, in one way or the other */
        }
        if (mpixq_now_ns() >= until_ns) {
            (void)PMPI_Request_free(request);
            return false;
        }
        mpixq_backoff_pause(&backoff);
    }
    return true;
}

/* One that has begun to come, from a process that is gone, never ends: then its memory is kept. */
static void end_receives(struct mpixq_window *window)
{
    uint64_t until_ns = mpixq_rma_patience();
    bool ended = true;

    for (int i = 0; window->receive != NULL && i < MPIXQ_RMA_RECEIVES; i++) {
        if (window->receive[i].request != MPI_REQUEST_NULL) {
            (void)PMPI_Cancel(&window->receive[i].request);
            ended = mpixq_rma_request_end(&window->receive[i].request, until_ns) && ended;
        }
    }
    if (ended) {
        mpixq_free(window->receive);
    }
    window->receive = NULL;
}

static void end_peer(struct mpixq_rma_peer *peer)
{
    struct mpixq_rma_op *op, *next;

    for (int line = 0; line < MPIXQ_RMA_N_LINES; line++) {
        DL_FOREACH_SAFE(peer->lines[line], op, next)
        {
            DL_DELETE(peer->lines[line], op);
            mpixq_free(op);
        }
    }
    mpixq_free(peer);
}

/* A message that was never taken stays with MPI, which reads it until the process ends. */
void mpixq_rma_transport_close(struct mpixq_window *window)
{
    struct mpixq_rma_flight *flight, *next_flight;
    struct mpixq_rma_peer *peer, *next_peer;
    struct mpixq_rma_op *op, *next_op;

    end_receives(window);
    LL_FOREACH_SAFE(window->spare_ops, op, next_op)
    {
        mpixq_free(op);
    }
    LL_FOREACH_SAFE(window->spare, flight, next_flight)
    {
        mpixq_free(flight);
    }
    DL_FOREACH_SAFE(window->flying, flight, next_flight)
    {
        if (flight->request != MPI_REQUEST_NULL) {
            (void)PMPI_Request_free(&flight->request);
        }
    }
    HASH_ITER(hh, window->peers, peer, next_peer)
    {
        HASH_DEL(window->peers, peer);
        end_peer(peer);
    }
    window->spare = window->flying = NULL;
    window->spare_ops = NULL;
    window->n_spare = window->n_spare_ops = 0;
    window->n_queued = 0;
}
