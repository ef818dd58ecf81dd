/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What every file of the public functions needs.
 */
#ifndef MPIXQ_API_H
#define MPIXQ_API_H

#include "comm/error.h"
#include "core/fault.h"
#include "mpix_queue.h"

/*
 * Every public function is written once, under its PMPIXQ_ name. This gives it the MPIXQ_ name as
 * well, weakly, so that a profiling tool may define MPIXQ_name and call PMPIXQ_name. The alias must
 * stand in the file that defines the function; the prototype in mpix_queue.h makes it visible.
 */
#define MPIXQ_PROFILED(name)                                                                       \
    extern __typeof__(PMPIXQ_##name) MPIXQ_##name __attribute__((weak, alias("PMPIXQ_" #name)))

/* First thing in a public function: may it work now, in this thread? An MPI code; error
 * handlers have been invoked where MPI is up. */
int mpixq_api_enter(const struct mpixq_call *call);
/* The same, and then matching goes on, as in most calls. */
int mpixq_api_enter_advancing(const struct mpixq_call *call);
/* The first where also the program's MPI calls must come by the library. */
int mpixq_api_enter_interposed(const struct mpixq_call *call);
/* The first, for functions that a host stream's functions may call. */
int mpixq_api_enter_inside(const struct mpixq_call *call);
/* Fail with an error that is about no request. */
int mpixq_api_fail(const struct mpixq_call *call, enum mpixq_error error);

/* The value of a key of info, or NULL in *value_p if it has none; the caller frees it. An MPI code,
 * for which a handler has been invoked. */
int mpixq_api_info(const struct mpixq_call *call, MPI_Info info, const char *key, char **value_p);

#endif /* MPIXQ_API_H */
