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

#include "core/served.h"
#include "core/stats.h"
#include "util/ident.h"
#include "util/process.h"

#define MPIXQ_WIRE_VERSION 13
/* Small enough to travel eagerly on every MPI. */
#define MPIXQ_WIRE_MESSAGE_BYTES 4000
#define MPIXQ_WIRE_HEADER_BYTES 8
#define MPIXQ_WIRE_BLOB_BYTES 256
#define MPIXQ_WIRE_MAX_CHANNELS (MPIXQ_N_CHANNELS - 1) /* null is never offered */
/* Messages have room for channels with numbers below this: one more does not change them. */
#define MPIXQ_WIRE_CHANNEL_IDS 7

enum mpixq_wire_kind {
    MPIXQ_WIRE_OFFER = 1, /* sender to receiver: a send is being matched */
    MPIXQ_WIRE_ANSWER,    /* receiver to sender: it is paired, or why not */
    MPIXQ_WIRE_RELEASE,   /* sender to receiver: the send was freed */
    MPIXQ_WIRE_FAILURE,   /* either to the other: a start of the pair failed */
    MPIXQ_WIRE_WITHDRAW,  /* sender to receiver: an offer that was not answered holds no more */
    MPIXQ_WIRE_HELLO,     /* either to the other, once and first: what process it is */
    MPIXQ_WIRE_REASON,    /* either to the other, once: the text of a reason, and its number */
    MPIXQ_WIRE_VERDICT,   /* sender to receiver, if the answer awaits it: has it opened its end? */
    MPIXQ_WIRE_STATS,     /* to rank 0, in MPI_Finalize: what the process has done; and before it */
    MPIXQ_WIRE_MISSED,    /* how often a better channel did not serve, by a reason that it told */
    MPIXQ_WIRE_TRACE      /* in MPI_Finalize: what was traced (trace_tell.c) */
};

/* What a channel tells its other end. */
struct mpixq_blob {
    uint32_t channel; /* enum mpixq_channel_id */
    uint32_t length;
    unsigned char bytes[MPIXQ_WIRE_BLOB_BYTES];
};

/* What one end says of channels: which it may use, as bits by their ids, and why it does without,
 * by the ids, as numbers of reasons that it has told (served.h); or 0. */
struct mpixq_wire_channels {
    uint8_t may;
    uint8_t why_not[MPIXQ_WIRE_CHANNEL_IDS];
};

struct mpixq_wire_offer {
    uint64_t sender_id;
    struct mpixq_ident ident;
    uint64_t bytes;
    int32_t source, dest, tag; /* ranks in the communicator */
    int32_t size, own_size; /* of the communicator, as the sender sees it: struct mpixq_comm_view */
    uint32_t mode;          /* enum mpixq_mode */
    struct mpixq_wire_channels channels;
};

struct mpixq_wire_answer {
    uint64_t sender_id, receiver_id;
    uint64_t bytes; /* that the receive has room for, for the text of an error */
    uint8_t error;  /* enum mpixq_error; with an error there is no blob */
    uint8_t awaits; /* a verdict, by which alone the receiver is matched */
    struct mpixq_wire_channels channels;
    uint8_t reserved[6];
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

struct mpixq_wire_verdict {
    uint64_t sender_id, receiver_id;
    /* NONE: the pair is matched. NO_CHANNEL: not by this channel, and another answer will follow.
     * Else the match has failed. */
    uint8_t error;
    struct mpixq_wire_channels channels;
    uint8_t reserved[7];
};

struct mpixq_wire_hello {
    struct mpixq_process process;
};

struct mpixq_wire_reason {
    uint8_t number, length;
    char text[MPIXQ_REASON_BYTES + 2]; /* without an end; a multiple of 8 with what is before */
};

struct mpixq_wire_missed {
    struct mpixq_missed missed; /* its reason by the number that the sender has for it */
    uint32_t reserved;
};

struct mpixq_wire_trace {
    uint32_t what, n; /* what it is, which says what the numbers are */
    uint64_t a, b, c;
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
        struct mpixq_wire_reason reason;
        struct mpixq_wire_verdict verdict;
        struct mpixq_stats stats;
        struct mpixq_wire_missed missed;
        struct mpixq_wire_trace trace;
    } u;
    uint32_t n_blobs;
    struct mpixq_blob blobs[MPIXQ_WIRE_MAX_CHANNELS];
};

/* Begin a message: writes the header. */
void mpixq_wire_begin(unsigned char *message);
/* The same of a message without records: what the receiver has sent cannot be read here. All
 * versions from this one on know it, whatever else they differ in. */
void mpixq_wire_refuse(unsigned char *message);
/* Append a record to a message of *used_p bytes. False if it does not fit. */
bool mpixq_wire_append(unsigned char *message, size_t *used_p, const struct mpixq_record *record);

enum mpixq_wire_header {
    MPIXQ_WIRE_READ,    /* a message that this version reads */
    MPIXQ_WIRE_STRANGE, /* one of another version, or byte order, or none at all */
    MPIXQ_WIRE_REFUSED  /* the sender cannot read what this process sends */
};

enum mpixq_wire_header mpixq_wire_check(const unsigned char *message, size_t bytes);
/* Decode the record at *at_p and advance. 1: done, 0: end of message, -1: malformed. */
int mpixq_wire_next(const unsigned char *message, size_t bytes, size_t *at_p,
                    struct mpixq_record *record_p);

#endif
