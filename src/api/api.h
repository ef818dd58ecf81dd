/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What every file of the public functions needs.
 */
#ifndef MPIXQ_API_H
#define MPIXQ_API_H

#include "core/error.h"
#include "mpix_queue.h"

/*
 * Every public function is written once, under its PMPIXQ_ name. This gives it the MPIXQ_ name as
 * well, weakly, so that a profiling tool may define MPIXQ_name and call PMPIXQ_name. The alias must
 * stand in the file that defines the function; the prototype in mpix_queue.h makes it visible.
 */
#define MPIXQ_TWIN(name)                                                                           \
    extern __typeof__(PMPIXQ_##name) MPIXQ_##name __attribute__((weak, alias("PMPIXQ_" #name)))

/* First thing in a public function: may it work now, in this thread? An MPI code; error
 * handlers have been invoked where MPI is up. */
int mpixq_api_enter(void);
/* The same where also the program's MPI calls must come by the library. */
int mpixq_api_enter_interposed(void);
/* Fail: invoke the error handler of comm (MPI_COMM_NULL: of MPI_COMM_WORLD) and return the code. */
int mpixq_api_fail(MPI_Comm comm, enum mpixq_error error);

#endif /* MPIXQ_API_H */
