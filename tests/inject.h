/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * inject.h - make MPI calls of the library fail, and count its starts
 *
 * A test program that links inject.c defines PMPI_Start, PMPI_Test and their array forms, so the
 * library's calls come here first and go on to the MPI library, or do not.
 */
#ifndef INJECT_H_INCLUDED
#define INJECT_H_INCLUDED

#include <mpi.h>

/* The n-th start from now on (1 is the next) returns an error and starts nothing. */
void inject_start_failure(int nth);

/* The n-th test of a request that was started after this call returns an error. */
void inject_test_failure(int nth);

/* Nothing fails any more; returns how many failures there were. */
int inject_stop(void);

/* How many requests this process has started in MPI so far. */
long inject_started(void);

#endif /* INJECT_H_INCLUDED */
