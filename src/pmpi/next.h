/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The functions behind ours: a user's call to MPI_X comes to us and is passed on to the next
 * definer of MPI_X, which is a profiling tool behind us or MPI itself.
 */
#ifndef MPIXQ_NEXT_H
#define MPIXQ_NEXT_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#define MPIXQ_INTERPOSE __attribute__((visibility("default")))

/* After the definition of MPI_name: a name for it that means ours whoever else defines MPI_name. By
 * it mpixq_first.o, if it is in the program, passes the program's calls on to us. */
#define MPIXQ_OWN(name)                                                                            \
    extern __typeof(MPI_##name) mpixq_own_##name                                                   \
        __attribute__((alias("MPI_" #name), visibility("default")))

struct mpixq_next {
#define MPIXQ_NEXT(name, parameters) int(*name) parameters;
#include "next_defs.h"
#undef MPIXQ_NEXT
};

/* Set before main; constant afterwards. */
extern struct mpixq_next mpixq_next;

/* Write the next definer of a function into the pointer at slot_p, which stays as it is if
 * there is none. */
void mpixq_next_find(const char *name, void *slot_p);
/* Do the program's calls come to us? Otherwise the text why, of at most size bytes, says who takes
 * which of them and what cures that. It may be NULL. */
bool mpixq_next_is_interposed(char *why, size_t size);
/* The same of one name: is it own, or what mpixq_first.o defines to call that? */
bool mpixq_next_comes_to(const void *own, const char *name, char *why, size_t size);
/* And those from Fortran, if there is any? */
bool mpixq_fortran_is_interposed(char *why, size_t size);
/* Is the MPI of the process of another kind than that which the library was compiled for? Then it
 * was logged, and neither MPI's handles nor functions that take some may be used. */
bool mpixq_next_is_foreign(void);
/* Was the library linked into the program, rather than preloaded alone? */
bool mpixq_next_is_linked(void);
/* Pull in every file of this directory: referenced by whatever a program must call to use the
 * library. */
void mpixq_next_pull(void);
/* One per file that no other file needs. */
void mpixq_pull_init(void);
void mpixq_pull_persistent(void);
void mpixq_pull_start(void);
void mpixq_pull_complete(void);
void mpixq_pull_comm(void);
void mpixq_pull_large(void);
void mpixq_pull_fortran(void);

#endif
