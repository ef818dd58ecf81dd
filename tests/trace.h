/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * trace.h - what streams, a NIC and MPI are given by the library, as a text that is the same in
 * every run
 *
 * It is recorded where it leaves the library: in the doubles of the HIP runtime and of the cxi
 * provider (hip_trace.c, cxi_trace.c), in definitions of PMPI_ functions (trace_mpi.c), and in the
 * ring of a host stream while a gate holds it (trace_ring.c, the only file that knows how the
 * library looks inside). What the library does to get there may change; the text may not.
 *
 * There is one lane for each place whose order is fixed, since threads of the library work at the
 * same time in no fixed order: a post may be made before or after an earlier one is rung for, and
 * by any of three threads, but all posts are made in one order. Tests and polls are in no lane, as
 * their number depends on time.
 *
 * What differs from run to run is written as a mark, a letter and a number in braces, and comes out
 * as the letter with a number that counts the different ones of a program from 1 on; "0" is NULL.
 */
#ifndef TRACE_H_INCLUDED
#define TRACE_H_INCLUDED

#include <mpix_queue.h>
#include <stdbool.h>
#include <stddef.h>

enum trace_lane {
    TRACE_CALLS, /* the program's calls, and what they put into streams */
    TRACE_POSTS, /* operations deferred to the NIC */
    TRACE_BELLS, /* stores to its doorbells */
    TRACE_MPI,   /* calls of MPI that start something */
    TRACE_LANES
};

/* Of a mark: words, other memory, streams, functions, MPI requests, what they are for inside of the
 * library, counters of the NIC, and keys of memory. */
#define TRACE_WORD "{w%lx}"
#define TRACE_MEMORY "{p%lx}"
#define TRACE_STREAM "{s%lx}"
#define TRACE_FUNCTION "{f%lx}"
#define TRACE_REQUEST "{r%lx}"
#define TRACE_OBJECT "{o%lx}"
#define TRACE_COUNTER "{c%lx}"
#define TRACE_KEY "{k%lx}"

/* Memory within these bytes is told by the name and where in it. The name is kept. */
void trace_name(const void *memory, size_t bytes, const char *name);

/* From here on lines are recorded, until the end, which gives the program's name to them. */
void trace_begin(void);
void trace_end(const char *program);
/* Any thread; nothing is recorded outside of a program. */
void trace_add(enum trace_lane lane, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* In a handler of a signal, too. */
void trace_bell(unsigned counter, unsigned long offset, unsigned long value);

/* Compare what was recorded with the file of that name and this rank in tests/golden, or write it,
 * with MTEST_TRACES=write in the environment. */
void trace_compare(const char *name);

/* What watches. Not in every run: with a host stream, a GPU, a NIC. */
void trace_ring_begin(MPIX_Host_stream stream);
void trace_ring(MPIX_Host_stream stream);
void trace_gpu_watch(bool watches);
void trace_nic_watch(bool watches);
/* The n-th start by MPI from now on fails; 0: none. */
void trace_fail_start(int n);
/* Starts that MPI_Start was called for, so far. */
int trace_starts(void);

#endif
