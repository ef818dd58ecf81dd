/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * api.h - what every file of the public functions needs
 */
#ifndef MPIXQ_API_H
#define MPIXQ_API_H

#include "mpix_queue.h"

/*
 * Every public function is written once, under its PMPIXQ_ name. This gives it the MPIXQ_ name as
 * well, weakly, so that a profiling tool may define MPIXQ_name and call PMPIXQ_name. The alias must
 * stand in the file that defines the function; the prototype in mpix_queue.h makes it visible.
 */
#define MPIXQ_TWIN(name)                                                                           \
    extern __typeof__(PMPIXQ_##name) MPIXQ_##name __attribute__((weak, alias("PMPIXQ_" #name)))

#endif /* MPIXQ_API_H */
