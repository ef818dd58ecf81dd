/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The library as a whole: from MPI_Init to the attributes of MPI_COMM_SELF in
 * MPI_Finalize.
 */
#ifndef MPIXQ_LIB_H
#define MPIXQ_LIB_H

#include <stdatomic.h>
#include <stdbool.h>

#include "comm/error.h"
#include "report/watchdog.h"

struct mpixq_stats_table;

/* MPI is initialised, with this thread level. Collective over MPI_COMM_WORLD. */
void mpixq_lib_open(int thread_level);
/* MPI_Finalize is to be called. From now on one thread at a time is in MPI (mpi_turns.h); the
 * teardown comes when MPI deletes the attributes of MPI_COMM_SELF, as it does without this call. */
void mpixq_lib_finalize(void);
enum mpixq_phase { MPIXQ_BEFORE, MPIXQ_UP, MPIXQ_BROKEN, MPIXQ_AFTER };
/* Only lib.c writes it. */
struct mpixq_lib {
    atomic_int phase;
    int thread_level; /* of MPI; constant once it is up */
    /* Under the matching lock: of who looks at what is pending; and what ranks tell in
     * MPI_Finalize. */
    struct mpixq_watchdog watchdog;
    uint64_t liveness_ns;
    struct mpixq_stats_table *stats;
};
extern struct mpixq_lib mpixq_lib;
static inline bool mpixq_lib_is_up(void)
{
    return atomic_load_explicit(&mpixq_lib.phase, memory_order_acquire) == MPIXQ_UP;
}
int mpixq_lib_thread_level(void);
/* For mpixq_info: what MPI it runs with, and how. */
struct mpixq_facts;
void mpixq_lib_tell(struct mpixq_facts *facts);
/* May a function of the library do its work? *error_p says why not; false with *error_p NONE:
 * MPI is not up, and no MPI function may be called. interposed: does MPI_Send_init come by us? */
bool mpixq_lib_ready(bool interposed, enum mpixq_error *error_p);

#endif
