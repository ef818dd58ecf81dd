/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Failing calls: an error text names the function, the request by its index and what it was made
 * from, and then the error. Only calls that fail come here, in the thread that the user called
 * from.
 */
#ifndef MPIXQ_FAULT_H
#define MPIXQ_FAULT_H

#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "comm/error.h"
#include "served.h"

struct mpixq_request;

/* A function that the user calls, as its errors name it. */
struct mpixq_call {
    const char *name;
    bool takes_array; /* of requests, rather than one or none */
};

/* What a call failed at. {.index = -1}: no request, and the error handler of MPI_COMM_WORLD. The
 * request is copied, since another thread may free it once the call's locks are given back. */
struct mpixq_fault {
    MPI_Comm comm;    /* whose error handler is invoked; MPI_COMM_NULL: that of MPI_COMM_WORLD */
    int index;        /* of the request in the call's array; -1: it is about none there */
    const char *verb; /* "send to" and the like; NULL: the request is unknown */
    int peer, tag;    /* as the request was made */
    int rank, size;   /* of this process in the request's communicator, and that of it */
    uint64_t bytes;
    uint64_t other_bytes; /* of the peer's end, if the receive is smaller than the send */
    struct mpixq_channel_choice choice; /* if it is about channels */
};

#define MPIXQ_FAULT_NO_PEER INT_MIN /* the peer of a collective */
#define MPIXQ_FAULT_NONE ((struct mpixq_fault){.comm = MPI_COMM_NULL, .index = -1})

/* A fault at the request with this index in the call's array; req is NULL if it is unknown. */
void mpixq_fault_at(struct mpixq_fault *fault, int index, const struct mpixq_request *req);

/* The code of an error, with a text that says which call failed at what. */
int mpixq_fault_code(const struct mpixq_call *call, const struct mpixq_fault *fault,
                     enum mpixq_error error);
/* Fail with an error: invoke the error handler and return the code. */
int mpixq_fault_raise(const struct mpixq_call *call, const struct mpixq_fault *fault,
                      enum mpixq_error error);
/* The same with a code, of which mpixq_error_code_at says what becomes. MPI_SUCCESS stays, and
 * raises nothing. */
int mpixq_fault_code_of(const struct mpixq_call *call, const struct mpixq_fault *fault, int code);
int mpixq_fault_raise_code(const struct mpixq_call *call, const struct mpixq_fault *fault,
                           int code);

#endif
