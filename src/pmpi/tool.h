/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * MPI's tool interface: beside the performance variables of MPI a tool finds those of the library,
 * in a category of their own. In a static program these files are there if it calls one of the
 * functions; nothing else of the library needs them.
 *
 * Indices. An index that MPI_T has given never means anything else, and MPI may get more variables
 * at any time, as it loads components. So ours lie behind those that MPI has when a tool first
 * asks for anything by index, and those that MPI gets later lie behind ours: from there on a tool's
 * index is that of MPI and as many more as we have. The same of categories. Only calls of MPI_T_
 * names see these indices; PMPI_T_ names are MPI's own.
 *
 * Handles of ours are addresses of memory that is never used for anything else. So whatever a tool
 * passes is known to be ours or not without looking at what it points to, also when it was freed.
 */
#ifndef MPIXQ_TOOL_H
#define MPIXQ_TOOL_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "util/lock.h"

/* The number of our variables. */
enum {
    MPIXQ_TOOL_N_PVARS = 0
#define MPIXQ_PVAR(name, class, member, description) +1
#define MPIXQ_PVARS_OF(name, id) +4
#define MPIXQ_PVARS_BY(name, id, how) +2
#include "pvar_defs.h"
#undef MPIXQ_PVARS_BY
#undef MPIXQ_PVARS_OF
#undef MPIXQ_PVAR
};

/* The indices of ours among those of the next definer. */
struct mpixq_tool_range {
    int first, n;
};

/* The interface as we add to it, of which a process has one. Nothing in it needs to be freed. */
struct mpixq_tool {
    /* As mpixq_next. */
    struct {
#define MPIXQ_NEXT(name, parameters) int(*name) parameters;
#include "tool_defs.h"
/* NULL where MPI has none (tool_events.c). */
#include "tool_events_defs.h"
#undef MPIXQ_NEXT
    } next;
    atomic_int begins; /* that have not ended, of those that come by us; -1: none ever was */
    /* The lock orders who looks first; a range is constant once is_placed. */
    struct mpixq_lock place_lock;
    atomic_bool is_placed;
    struct mpixq_tool_range pvars, categories;
};
extern struct mpixq_tool mpixq_tool;

/* Is a tool's index one of ours? Otherwise *index becomes that of the next definer. */
bool mpixq_tool_takes(const struct mpixq_tool_range *range, int *index);
/* The reverse. */
static inline int mpixq_tool_from_next(const struct mpixq_tool_range *range, int index)
{
    return index < range->first ? index : index + range->n;
}
/* How many there are for a tool, of the next definer's number. */
static inline int mpixq_tool_number(const struct mpixq_tool_range *range, int number)
{
    return (number > range->first ? number : range->first) + range->n;
}

/* Are the ranges known? They stay as they are then; before, nothing of ours can be used. */
bool mpixq_tool_is_placed(void);
/* Is the interface initialised, as functions on what is ours demand? */
bool mpixq_tool_is_up(void);
/* A text for a tool, by MPI's rule for its length. */
void mpixq_tool_give_text(const char *text, char *text_p, int *length_p);

/* What one of our variables has counted, by its place among them. */
unsigned long long mpixq_tool_value(int pvar);
/* Is it a handle of ours, live or freed? */
bool mpixq_tool_has_handle(MPI_T_pvar_handle handle);
/* Sessions end, this one or all (MPI_T_PVAR_SESSION_NULL): their handles do. */
void mpixq_tool_end_session(MPI_T_pvar_session session);

#endif
