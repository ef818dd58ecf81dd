/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Memory of GPUs that the host cannot access, and memory of the host through which its data goes.
 * Called by threads of the program only, under no lock: a GPU's library may block.
 */
#ifndef MPIXQ_MEMORY_H
#define MPIXQ_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu_pinned.h"
#include "stream.h"
#include "util/near.h"

/* What lies in memory of a GPU, and its staging buffer in memory of the host. */
struct mpixq_staging {
    struct mpixq_copy copy; /* into the staging buffer, or from it: all of it */
    /* What is made before a start that is enqueued, and after a wait, or NULL: this copy, or
     * another one; a collective has both, and not both of its staging buffers need be this one. Of
     * starts and waits in several steps: before the first one, and after the last. Graphs of a pair
     * that was captured have these instead, set by that, the first for before and the second for
     * after. */
    const struct mpixq_copy *before, *after;
    struct mpixq_copy captured[2];
    bool needs_all;     /* of a receive: a shorter message would leave gaps in what is copied */
    const void *buffer; /* for channels: as far before it as the user's is before the data */
    struct mpixq_pinned memory;
    void *address; /* for GPUs */
    void *place;   /* where the buffer is; NULL: not known */
    uint64_t life; /* of the place */
    size_t room;
    struct mpixq_staging *next;
};

/* The kinds of GPU that the process uses by now: a bit for each, for mpixq_memory_of. */
unsigned mpixq_memory_kinds(void);
bool mpixq_memory_has_gpu(void);
/* Until they are restored, calls of the libraries of these kinds do no harm to streams that are
 * captured: relax and restore of gpu.h. */
void mpixq_memory_relax(unsigned kinds);
void mpixq_memory_restore(unsigned kinds);
/* The info value of the streams by which the memory at address can be reached, if that belongs to a
 * GPU and the host cannot access it; else NULL. *place_p is where kernels can, or NULL. *moves_p:
 * the host can, and so can a GPU, and the pages are with the one or the other. */
const char *mpixq_memory_of(unsigned kinds, const void *address, void **place_p, bool *moves_p);
/* Where kernels in the place of the calling thread find this memory of the host, all of it; NULL:
 * they do not reach it, as what is not pinned. *life_p is the life of the place. */
char *mpixq_memory_seen(const void *address, size_t bytes, const void **place_p, uint64_t *life_p);
/* May a NIC access memory of a GPU that is reached by streams of this kind? As for_nic of gpu.h. */
const char *mpixq_memory_for_nic(const char *kind, const void *address, bool written, bool trusts,
                                 int *device_p);
/* And now it does: see held there. */
bool mpixq_memory_held(const char *kind, const void *address);
/* Where on the bus a GPU is, as Linux writes it: 0000:c1:00.0. The GPU is that of memory of this
 * kind, if address is not NULL, or else that of a place of it; with a kind of NULL the one that
 * the calling thread uses. False: it uses none, or none is known. Threads of the program, with no
 * lock. */
bool mpixq_memory_bus(const char *kind, const void *address, void *place,
                      char name_p[MPIXQ_PCI_ROOM]);
/* Could that be, without trust, of any such memory that it writes? */
bool mpixq_memory_orders(void);
/* Which life the place is in, where such memory is; NULL, or not known: 0. And was this one seen to
 * be over, or how many were? (gpu_life.h) These two: any thread. */
uint64_t mpixq_memory_life(const char *kind, void *place);
bool mpixq_memory_is_over(uint64_t life);
unsigned mpixq_memory_lives_over(void);
/* Memory of the host of at least so many bytes, for copies of what is in this place in this life of
 * it; or NULL. */
struct mpixq_staging *mpixq_staging_take(const char *kind, void *place, uint64_t life,
                                         size_t bytes);
/* Any thread, also under locks: it is kept for the next. NULL: nothing happens. */
void mpixq_staging_give_back(struct mpixq_staging *staging);
/* map and unmap of the seam (stream.h). */
void *mpixq_memory_map(const struct mpixq_gpu *gpu, void *memory, size_t bytes, bool is_io);
void mpixq_memory_unmap(const struct mpixq_gpu *gpu, void *memory);
void mpixq_memory_close(void);

/* Can kernels of ours run in a place where such memory is? */
bool mpixq_memory_has_kernels(const char *kind, void *place);

/* Memory of a GPU that the library allocates. All zeros: none. */
struct mpixq_made {
    const struct mpixq_gpu *gpu;
    const char *kind; /* as mpixq_memory_of tells it, and the place */
    void *place, *address;
    uint64_t life;
    size_t bytes;
    struct mpixq_made *next; /* of what is to be freed */
};

/* The kind of GPU, as mpixq_memory_of tells it, that has this value of the info key mpixq_memory;
 * NULL: none has. */
const char *mpixq_memory_kind(const char *value);
/* At least one byte, as programs have it, in this place, or if that is NULL of the GPU that the
 * calling thread uses. Its content is not defined. */
bool mpixq_memory_make(const char *kind, void *place, size_t bytes, struct mpixq_made *made_p,
                       struct mpixq_refusal *refusal);
/* All zeros: nothing happens. While a wait is pending on a stream of a GPU it is kept, and freed by
 * a later call of one of these, since to free it may mean to wait for that GPU. */
void mpixq_memory_unmake(struct mpixq_made *made);
/* The same, but it is kept in any case. Any thread. */
void mpixq_memory_unmake_later(struct mpixq_made *made);
/* From now on the thread may have something kept that a NIC still knows; or it has seen to it that
 * none does. In between nothing that is kept is freed, by any thread. */
void mpixq_memory_hold(bool holds);
/* Free what is kept, if no wait is pending. */
void mpixq_memory_tidy(void);

#endif
