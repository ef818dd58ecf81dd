/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors */
#include "fault.h"

#include <stddef.h>
#include <stdio.h>

#include "comm/comm.h"
#include "comm/layout.h"
#include "request.h"

/* Longer than any text that MPI keeps: what is too long is cut once, at the end. */
enum { ROOM = 2 * MPIXQ_ERROR_ROOM };

void mpixq_fault_at(struct mpixq_fault *fault, int index, const struct mpixq_request *req)
{
    *fault = MPIXQ_FAULT_NONE;
    if (req != NULL) {
        mpixq_pair_fault(&req->pair, fault);
        fault->comm = mpixq_request_comm(req);
        fault->bytes = mpixq_type_bytes(req->pair.message.type, req->pair.message.count);
    }
    fault->index = index;
}

/* The communicator's name, or what tells it from others. */
static void name_comm(const struct mpixq_fault *fault, char text[MPI_MAX_OBJECT_NAME])
{
    int length = 0;

    if (fault->comm != MPI_COMM_NULL) {
        (void)PMPI_Comm_get_name(fault->comm, text, &length);
    }
    if (length == 0) {
        (void)snprintf(text, MPI_MAX_OBJECT_NAME, "a %scommunicator of %d",
                       fault->comm == MPI_COMM_NULL ? "freed " : "", fault->size);
    }
}

/* "send to 3 tag 7 on MPI_COMM_WORLD, 64 bytes" */
static void describe(const struct mpixq_fault *fault, char text[ROOM])
{
    char peer[24] = "any source", tag[24] = "any tag", comm[MPI_MAX_OBJECT_NAME];

    name_comm(fault, comm);
    if (fault->peer == MPIXQ_FAULT_NO_PEER) {
        (void)snprintf(text, ROOM, "%s on %s, %llu bytes", fault->verb, comm,
                       (unsigned long long)fault->bytes);
        return;
    }
    if (fault->peer == MPI_PROC_NULL) {
        (void)snprintf(peer, sizeof peer, "MPI_PROC_NULL");
    } else if (fault->peer != MPI_ANY_SOURCE) {
        (void)snprintf(peer, sizeof peer, "%d", fault->peer);
    }
    if (fault->tag != MPI_ANY_TAG) {
        (void)snprintf(tag, sizeof tag, "tag %d", fault->tag);
    }
    (void)snprintf(text, ROOM, "%s %s %s on %s, %llu bytes", fault->verb, peer, tag, comm,
                   (unsigned long long)fault->bytes);
}

/* Sizes of both ends, of which the receive is too small. */
static void compare_ends(const struct mpixq_fault *fault, char text[ROOM])
{
    (void)snprintf(text, ROOM, ": %llu bytes here, at rank %d, and %llu at the peer",
                   (unsigned long long)fault->bytes, fault->rank,
                   (unsigned long long)fault->other_bytes);
}

/* The function, and at which request it failed. */
static void name_call(const struct mpixq_call *call, const struct mpixq_fault *fault,
                      char text[2 * ROOM])
{
    char which[32] = "", what[ROOM] = "";

    if (fault->verb != NULL) {
        describe(fault, what);
    }
    if (fault->index < 0) {
        (void)snprintf(text, 2 * ROOM, "%s%s%s", call->name,
                       what[0] != '\0' ? ": queue failed at " : "", what);
        return;
    }
    (void)snprintf(which, sizeof which, "request");
    if (call->takes_array) {
        (void)snprintf(which, sizeof which, "requests[%d]", fault->index);
    }
    (void)snprintf(text, 2 * ROOM, "%s: %s%s%s%s", call->name, which, what[0] != '\0' ? " (" : "",
                   what, what[0] != '\0' ? ")" : "");
}

int mpixq_fault_code(const struct mpixq_call *call, const struct mpixq_fault *fault,
                     enum mpixq_error error)
{
    char where[2 * ROOM], ends[ROOM] = "", text[4 * ROOM];

    name_call(call, fault, where);
    if (error == MPIXQ_E_TRUNCATE) {
        compare_ends(fault, ends);
    } else if (error == MPIXQ_E_CHANNELS || error == MPIXQ_E_NO_CHANNEL ||
               error == MPIXQ_E_QUEUE_TYPE) {
        (void)snprintf(ends, sizeof ends, ": ");
        mpixq_channel_choice_text(&fault->choice, ends + 2, sizeof ends - 2);
    }
    (void)snprintf(text, sizeof text, "%s: %s%s", where, mpixq_error_text(error), ends);
    return mpixq_error_code_saying(error, text);
}

int mpixq_fault_code_of(const struct mpixq_call *call, const struct mpixq_fault *fault, int code)
{
    enum mpixq_error error = mpixq_error_of(code);
    char where[2 * ROOM];

    if (code == MPI_SUCCESS) {
        return code;
    }
    if (error != MPIXQ_E_NONE) {
        return mpixq_fault_code(call, fault, error);
    }
    name_call(call, fault, where);
    return mpixq_error_code_at(code, where, fault->verb != NULL);
}

int mpixq_fault_raise(const struct mpixq_call *call, const struct mpixq_fault *fault,
                      enum mpixq_error error)
{
    return error == MPIXQ_E_NONE
               ? MPI_SUCCESS
               : mpixq_error_raise(fault->comm, mpixq_fault_code(call, fault, error));
}

int mpixq_fault_raise_code(const struct mpixq_call *call, const struct mpixq_fault *fault, int code)
{
    return mpixq_error_raise(fault->comm, mpixq_fault_code_of(call, fault, code));
}
