/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPIXQ_TRACE between the ranks, from the inside: trace_tell.c is each rank, trace_write.c rank 0.
 */
#ifndef MPIXQ_TRACE_INTERNAL_H
#define MPIXQ_TRACE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mpixq_backoff;
struct mpixq_record;
struct mpixq_trace_writer; /* who writes a file, from when it is opened until it is closed */

#define MPIXQ_TRACE_PATIENCE_NS UINT64_C(5000000000) /* as mpix_queue(7) says */

enum mpixq_trace_what {
    MPIXQ_TRACE_READY = 1, /* a, b: where its clock is (process.h); c: when it began to trace */
    MPIXQ_TRACE_PING,      /* n: the number of the question */
    MPIXQ_TRACE_PONG,      /* n; a: the time there */
    MPIXQ_TRACE_TIE,       /* a: the name of the end that is told; b: transfers drawn */
    MPIXQ_TRACE_SETTLE,
    MPIXQ_TRACE_SETTLED, /* n: are the ties taken? */
    MPIXQ_TRACE_ASK,     /* a: to be added to its clock; b: the error of that; in ns */
    MPIXQ_TRACE_TEXT,    /* n: enum mpixq_trace_text; a: events so far; the text in the blobs */
    MPIXQ_TRACE_END      /* n: 0: all is written; 1: it is not wanted */
};

enum mpixq_trace_text { MPIXQ_TEXT_MORE, MPIXQ_TEXT_BATCH, MPIXQ_TEXT_LAST };

/* False without memory. */
bool mpixq_trace_send(int rank, enum mpixq_trace_what what, uint32_t n, uint64_t a, uint64_t b,
                      uint64_t c);
/* One turn of who waits for messages. */
void mpixq_trace_go_on(struct mpixq_backoff *backoff);

/* The text of this rank: the first call counts; then batch by batch, until false with the last. */
void mpixq_trace_begin_text(int64_t shift, uint64_t error);
bool mpixq_trace_make_text(const char **text_p, size_t *bytes_p);
uint64_t mpixq_trace_events(void); /* in the text so far */

/* In MPI_Init, on rank 0: open the file. NULL, with a warning: it cannot be written. */
struct mpixq_trace_writer *mpixq_trace_file_open(void);
/* On rank 0: a record has arrived; and all that there is to do, from the time on at which it began
 * to trace, which ends the writer. */
void mpixq_trace_hear(struct mpixq_trace_writer *w, const struct mpixq_record *record, int source);
void mpixq_trace_write(struct mpixq_trace_writer *w, uint64_t first_ns);
/* It will be in the file, unless it ends meanwhile. */
bool mpixq_trace_is_ready(const struct mpixq_trace_writer *w, int rank);

#endif
