/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Control messages between two processes: what the matching of requests says to its peers. A
 * message holds one or more records. It comes from another process and is not trusted: decoding
 * checks versions, lengths, kinds and ranges, and numbers that name objects are looked up,
 * never used as addresses.
 */
#ifndef MPIXQ_WIRE_H
#define MPIXQ_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ident.h"
#include "process.h"

#define MPIXQ_WIRE_VERSION 4
/* Small enough to travel eagerly on every MPI. */
#define MPIXQ_WIRE_MESSAGE_BYTES 4000
#define MPIXQ_WIRE_HEADER_BYTES 8
#define MPIXQ_WIRE_BLOB_BYTES 256
#define MPIXQ_WIRE_MAX_CHANNELS 4

enum mpixq_wire_kind {
    MPIXQ_WIRE_OFFER = 1, /* sender to receiver: a send is being matched */
    MPIXQ_WIRE_ANSWER,    /* receiver to sender: it is paired, or why not */
    MPIXQ_WIRE_RELEASE,   /* sender to receiver: the send was freed */
    MPIXQ_WIRE_FAILURE,   /* either to the other: a start of the pair failed */
    MPIXQ_WIRE_WITHDRAW,  /* sender to receiver: an offer that was not answered holds no more */
    MPIXQ_WIRE_HELLO      /* either to the other, once and first: what process it is */
};

/* What a channel tells its other end. */
struct mpixq_blob {
    uint32_t channel; /* enum mpixq_channel_id */
    uint32_t length;
    unsigned char bytes[MPIXQ_WIRE_BLOB_BYTES];
};

struct mpixq_wire_offer {
    uint64_t sender_id;
    struct mpixq_ident ident;
    uint64_t bytes;
    int32_t source, dest, tag; /* ranks in the communicator */
    int32_t size, own_size; /* of the communicator, as the sender sees it: struct mpixq_comm_view */
    uint32_t mode;          /* enum mpixq_mode */
};

struct mpixq_wire_answer {
    uint64_t sender_id, receiver_id;
    uint32_t error; /* enum mpixq_error; with an error there is no blob */
    uint32_t reserved;
};

struct mpixq_wire_release {
    uint64_t id;      /* of the end that is told */
    uint64_t started; /* sends that were started on the pair, or receives that were completed */
};

struct mpixq_wire_failure {
    uint64_t id; /* of the end that is told */
};

struct mpixq_wire_withdraw {
    uint64_t sender_id;
    struct mpixq_ident ident; /* as in the offer: finds it without a search */
    int32_t source, tag;
};

struct mpixq_wire_hello {
    struct mpixq_process process;
};

struct mpixq_record {
    enum mpixq_wire_kind kind;
    union {
        struct mpixq_wire_offer offer;
        struct mpixq_wire_answer answer;
        struct mpixq_wire_release release;
        struct mpixq_wire_failure failure;
        struct mpixq_wire_withdraw withdraw;
        struct mpixq_wire_hello hello;
    } u;
    uint32_t n_blobs;
    struct mpixq_blob blobs[MPIXQ_WIRE_MAX_CHANNELS];
};

/* Begin a message: writes the header. */
void mpixq_wire_begin(unsigned char *message);
/* Append a record to a message of *used_p bytes. False if it does not fit. */
bool mpixq_wire_append(unsigned char *message, size_t *used_p, const struct mpixq_record *record);

/* Is this the header of a message that this version reads? */
bool mpixq_wire_check(const unsigned char *message, size_t bytes);
/* Decode the record at *at_p and advance. 1: done, 0: end of message, -1: malformed. */
int mpixq_wire_next(const unsigned char *message, size_t bytes, size_t *at_p,
                    struct mpixq_record *record_p);

#endif
