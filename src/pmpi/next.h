/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The functions behind ours: a user's call to MPI_X comes to us and is passed on to the next
 * definer of MPI_X, which is a profiling tool behind us or MPI itself.
 */
#ifndef MPIXQ_NEXT_H
#define MPIXQ_NEXT_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define MPIXQ_INTERPOSE __attribute__((visibility("default")))

/* After the definition of MPI_name: a name for it that means ours whoever else defines MPI_name. By
 * it mpixq_first.o, if it is in the program, passes the program's calls on to us. */
#define MPIXQ_OWN(name) MPIXQ_OWN_OF(MPI_##name, name)
/* The same where the function may be called otherwise. */
#define MPIXQ_OWN_OF(function, name) MPIXQ_OWN_ALIAS(function, mpixq_own_##name)
#define MPIXQ_OWN_ALIAS(function, own)                                                             \
    extern __typeof(function) own __attribute__((alias(#function), visibility("default")))

/* What the dynamic linker has made of our functions, which a process has once: whom they pass calls
 * on to, and whether calls come to them. Nothing in it needs to be freed. */
struct mpixq_next {
/* Set before main; constant afterwards. */
#define MPIXQ_NEXT(name, parameters) int(*name) parameters;
#include "next_defs.h"
/* NULL where MPI has none (large.c). */
#include "large_defs.h"
#undef MPIXQ_NEXT
    pthread_once_t foreign_once;
    bool is_foreign;     /* constant after foreign_once */
    atomic_int comes_by; /* 0: not looked yet, 1: the program's calls do, 2: they do not */
};
extern struct mpixq_next mpixq_next;

/* Write the next definer of a function into the pointer at slot_p, which stays as it is if
 * there is none. */
void mpixq_next_find(const char *name, void *slot_p);
/* Do the program's calls of this name come to own, or to what mpixq_first.o defines to call that?
 * Otherwise the text why, of at most size bytes, says who takes them and what cures that. It may be
 * NULL. */
bool mpixq_next_comes_to(const void *own, const char *name, char *why, size_t size);
/* Is the MPI of the process of another kind than that which the library was compiled for? Then it
 * was logged, and neither MPI's handles nor functions that take some may be used. */
bool mpixq_next_is_foreign(void);
/* Was the library linked into the program, rather than preloaded alone? */
bool mpixq_next_is_linked(void);

#endif
