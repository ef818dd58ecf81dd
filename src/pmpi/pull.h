/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The interposed functions as a whole: that they are in the program, and that its calls come to
 * them.
 */
#ifndef MPIXQ_PULL_H
#define MPIXQ_PULL_H

#include <stdbool.h>
#include <stddef.h>

/* Pull in every file of this directory: referenced by whatever a program must call to use the
 * library. Returns whether the program's calls come to us, which is looked at once. */
bool mpixq_pull(void);
/* Do they? Otherwise the text why, of at most size bytes, says who takes which of them and what
 * cures that. It may be NULL. */
bool mpixq_pull_is_interposed(char *why, size_t size);

/* One per file that no other file needs. */
void mpixq_pull_init(void);
void mpixq_pull_persistent(void);
void mpixq_pull_start(void);
void mpixq_pull_complete(void);
void mpixq_pull_comm(void);
void mpixq_pull_op(void);
void mpixq_pull_collective(void);
void mpixq_pull_large(void);
void mpixq_pull_fortran(void);
/* And do calls from Fortran come to us, if there is any? */
bool mpixq_fortran_is_interposed(char *why, size_t size);

#endif
