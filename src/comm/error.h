/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Errors: codes, their texts, and the one place that invokes error handlers.
 */
#ifndef MPIXQ_ERROR_H
#define MPIXQ_ERROR_H

#include <mpi.h>
#include <stdbool.h>

enum mpixq_error {
    MPIXQ_E_NONE,
#define MPIXQ_ERROR(name, kind, text) MPIXQ_E_##name,
#include "error_defs.h"
#undef MPIXQ_ERROR
    MPIXQ_E_COUNT
};

/* The MPI error code of an error; the codes are added to MPI at the first call. MPI must be up.
 * TRUNCATE gives MPI_ERR_TRUNCATE. Any thread. */
int mpixq_error_code(enum mpixq_error error);
/* Bytes of an error text with its end: Open MPI refuses longer ones. */
enum { MPIXQ_ERROR_ROOM = 256 };
/* A code of the same kind whose text is this one, cut where it is too long. A kind has a few such
 * codes, which are used in turn: the text stays until as many other errors of that kind were made.
 * Of TRUNCATE it is in the class MPI_ERR_TRUNCATE; where MPI cannot keep texts of codes there, the
 * code is MPI_ERR_TRUNCATE and the text goes to the log. Any thread. */
int mpixq_error_code_saying(enum mpixq_error error, const char *text);
/* The code of what a later call fails for: its text says which request (NULL: none) and why. Such
 * codes are others than those of mpixq_error_code_saying, of which calls that fail take theirs. Any
 * thread. */
int mpixq_error_cause(enum mpixq_error error, const char *what, const char *why);
/* The code of a call that fails for this code. That of a cause becomes one of its kind with where
 * before its text, or only before why, if where names the request. So does that of an error of MPI
 * if where names a request and MPI keeps texts of codes in its class. Any other stays. */
int mpixq_error_code_at(int code, const char *where, bool names_request);
/* Which error has this code of mpixq_error_code; NONE for codes that say more, and those of MPI. */
enum mpixq_error mpixq_error_of(int code);
/* The text of an error, in this process's memory. */
const char *mpixq_error_text(enum mpixq_error error);
/* One of MPIXQ_Error for a code of MPI; MPIXQ_ERR_NONE for codes of others. */
int mpixq_error_kind(int code);
/* Invoke the error handler of comm, or of MPI_COMM_WORLD if comm is MPI_COMM_NULL; returns code.
 * Only in a thread that the user called from. */
int mpixq_error_raise(MPI_Comm comm, int code);

#endif
