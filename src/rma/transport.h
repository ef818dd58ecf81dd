/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Messages between the processes of a window, with a header and up to so many bytes of data, and
 * larger data straight between windows. All that is here is under the lock of the window.
 *
 * The memory for them is bounded, whatever a peer does. A process sends a peer so many puts and
 * gets that it has not taken, and no more: each message says how many its sender has taken from
 * who gets it, and one that says only this (CREDIT) goes when nothing else has gone for so many of
 * them. Answers are bounded by what they answer. Synchronous sends would bound them as well, at
 * the price of an answer by MPI to each.
 *
 * Messages to a peer wait in three lines. Answers go first: nothing keeps them back, as the peer
 * takes messages at any time. Data that waits for an answer before it moves (a rendezvous) is kept
 * back while as much of it is under way to that peer; so are gets. Neither waits for the other, so
 * they do not wait in a circle.
 */
#ifndef MPIXQ_RMA_TRANSPORT_H
#define MPIXQ_RMA_TRANSPORT_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/table.h"

struct mpixq_nic_held;
struct mpixq_nic_peer;
struct mpixq_rma_grant;
struct mpixq_rma_neighbour;
struct mpixq_window;

enum {
    MPIXQ_RMA_EAGER = 4096,  /* bytes of data in a message */
    MPIXQ_RMA_RECEIVES = 16, /* messages that can come at a time */
    MPIXQ_RMA_CREDITS = 16,  /* puts and gets that a peer has not taken */
    MPIXQ_RMA_AHEAD = 8      /* transfers by rendezvous to a peer; gets */
};

enum mpixq_rma_message {
    MPIXQ_RMA_PUT = 1,
    MPIXQ_RMA_GET,
    MPIXQ_RMA_REPLY,  /* to a get: its data */
    MPIXQ_RMA_GO,     /* to data by rendezvous: send it, */
    MPIXQ_RMA_TAKEN,  /* or it was read from there */
    MPIXQ_RMA_REFUSE, /* to a put or a get: why it cannot be */
    MPIXQ_RMA_FLUSH,
    MPIXQ_RMA_FLUSHED,
    MPIXQ_RMA_CREDIT,
    MPIXQ_RMA_GRANT, /* these are of direct.h */
    MPIXQ_RMA_REVOKE,
    MPIXQ_RMA_REVOKED,
    MPIXQ_RMA_FAILED,
    MPIXQ_RMA_ASK /* of nics.h: may NICs put, or get? */
};

struct mpixq_rma_header {
    uint32_t message; /* enum mpixq_rma_message */
    uint32_t is_eager;
    uint32_t part, parts;        /* of the program's put or get */
    uint32_t signal, generation; /* at the process whose block the message is about */
    uint64_t taken;              /* puts and gets from who gets this */
    uint64_t key;                /* by which an answer names this one */
    uint64_t to;                 /* an answer: to which */
    uint64_t offset, bytes;
    uint64_t from; /* data by rendezvous: where it is in the memory of its sender */
    /* REFUSE: the error; FLUSH, FLUSHED: how many puts; PUT, GET: its sender can make
     * such ones without messages; FAILED: it was a get */
    uint64_t value;
};

/* A message that is to be sent, and what becomes of it: data that is to come or to go. */
struct mpixq_rma_op {
    struct mpixq_rma_header header;
    int peer;
    char *data;                    /* in the window of this process */
    uint32_t signal, generation;   /* of this process, that is told when the data has moved */
    bool is_own;                   /* a put or get started here */
    bool comes;                    /* its data is received, and not sent */
    bool asks_get;                 /* ASK: for a get */
    struct mpixq_rma_grant *grant; /* of a put or get by NICs; NULL: no signal */
    struct mpixq_nic_held *held;   /* it was; by NICs, of a queue */
    bool is_late;                  /* the right was gone when that was known to have been rung */
    MPI_Request request;           /* of data that moves */
    struct mpixq_rma_op *next, *prev;
    UT_hash_handle hh; /* by header.key */
};

enum mpixq_rma_line { MPIXQ_RMA_ANSWERS, MPIXQ_RMA_DATA, MPIXQ_RMA_GETS, MPIXQ_RMA_N_LINES };

struct mpixq_rma_peer {
    int rank;
    const struct mpixq_rma_neighbour *neighbour; /* NULL: it is none */
    struct mpixq_rma_op *lines[MPIXQ_RMA_N_LINES];
    uint64_t sent, known; /* puts and gets to it; of these it has said that it took so many */
    uint64_t taken, told; /* likewise from it; so many it was told of */
    int waiting;          /* data by rendezvous, from the message on until it has moved */
    int gets;
    uint64_t started;   /* puts to it */
    uint64_t asked;     /* up to which a flush was asked for, */
    uint64_t flushed;   /* and answered */
    uint64_t arrived;   /* puts from it */
    uint64_t to_answer; /* its flush waits for so many; 0: none does */
    /* (direct.h) What each has of NICs was told it, and was heard of it. */
    bool has_told, has_heard;
    struct mpixq_nic_peer *nics;    /* by which it is reached; NULL: it is not */
    struct mpixq_rma_grant *grants; /* a table, by their signals */
    UT_hash_handle hh;
};

/* What has been sent does next; what has come. These may queue more. */
struct mpixq_rma_protocol {
    void (*sent)(struct mpixq_window *window, struct mpixq_rma_peer *peer, struct mpixq_rma_op *op);
    void (*came)(struct mpixq_window *window, const struct mpixq_rma_header *header,
                 const void *data, struct mpixq_rma_peer *peer);
};

/* A new one, zero-filled; NULL without memory, and the window has failed. */
struct mpixq_rma_op *mpixq_rma_op_new(struct mpixq_window *window);
/* NULL: there was none. */
void mpixq_rma_op_free(struct mpixq_window *window, struct mpixq_rma_op *op);
/* Likewise. */
struct mpixq_rma_peer *mpixq_rma_peer(struct mpixq_window *window, int rank);
void mpixq_rma_send(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                    enum mpixq_rma_line line, struct mpixq_rma_op *op);
/* Take what has come, and send what can be sent. */
void mpixq_rma_transport_go(struct mpixq_window *window, const struct mpixq_rma_protocol *protocol);
/* Of a new window, which is not live yet: an MPI code. */
int mpixq_rma_transport_open(struct mpixq_window *window);
/* Nothing is on the way, or the window has failed. */
void mpixq_rma_transport_close(struct mpixq_window *window);
/* Of a window that ends: let MPI complete a request, until this time. False: it may use the memory
 * of the request later on. */
uint64_t mpixq_rma_patience(void);
bool mpixq_rma_request_end(MPI_Request *request, uint64_t until_ns);
/* MPI has failed. */
void mpixq_rma_mpi_failed(struct mpixq_window *window, int rc, const char *operation);

#endif
