/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What collectives need that GPUs are to move, before they are started (collective_gpus.c).
 */
#ifndef MPIXQ_COLLECTIVE_GPUS_H
#define MPIXQ_COLLECTIVE_GPUS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct mpixq_collective;
struct mpixq_pair;
struct mpixq_request;

/* In the work buffer contributions lie so many bytes from each other, with their
 * data first_p behind where they are said to be. */
size_t mpixq_schedule_stride(const struct mpixq_collective *collective, MPI_Count *first_p);

/* Memory of a GPU for contributions has so much before them, for a word by which it combines. */
enum { MPIXQ_COMBINE_HEAD = 256 };
/* In a barrier of one round each sends each other one a byte, so far from that of the next rank. */
enum { MPIXQ_BARRIER_STRIDE = 16 };
/* Can a kernel combine with these, as far as operation and type say? Then combine has them. */
bool mpixq_collective_can_combine(struct mpixq_collective *collective);
/* Have memory for contributions in the place, which for a barrier is that of the GPU that the
 * calling thread uses. False: there is none. */
bool mpixq_collective_make_work(struct mpixq_collective *collective);
/* Its parts are matched. */
void mpixq_collective_matched_gpus(struct mpixq_request *req);
/* Of parted. */
void mpixq_collective_look_gpus(struct mpixq_pair *pair, bool has_lock);

#endif
