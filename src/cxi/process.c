/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The NIC of this process. */
#include "process.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "about.h"
#include "comm/layout.h"
#include "libfabric.h"
#include "nic.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/lock.h"
#include "util/log.h"

/* Choices of MPIXQ_FABRIC. */
enum fabric_choice { FABRIC_AUTO, FABRIC_NONE, FABRIC_CXI, FABRIC_SOCKETS };

enum { LOG = 4096 }; /* starts of a queue that wait to be armed; those beyond are taken over */

static struct {
    struct mpixq_lock lock;
    struct cxi_nic *_Atomic nic; /* NULL: not open; written under the lock, read by any thread */
    atomic_bool is_tried;        /* likewise */
    const char *why;             /* there is none; under the lock, and constant once it was tried */
    /* What keeps memory of GPUs from being registered, or NULL; as found by ask_gpus. */
    const char *_Atomic gpus_lack;
    char availability[160]; /* under the lock; the reason does not change any more */
} process = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_CXI_OPEN),
             .gpus_lack = "no GPU was asked when it was opened"};

void mpixq_cxi_ask_gpus(void)
{
    if (!atomic_load_explicit(&process.is_tried, memory_order_acquire)) {
        atomic_store(&process.gpus_lack,
                     !mpixq_memory_has_gpu() ? "no GPU was used when it was opened"
                     : mpixq_env.cxi_gpu == MPIXQ_CXI_GPU_DIRECT || mpixq_memory_orders()
                         ? NULL
                         : "no GPU's library promises the order that it needs "
                           "(MPIXQ_CXI_GPU)");
    }
}

/* Which provider is wanted? To ask libfabric takes some 0.1 s, so where there is no such NIC it is
 * not asked. */
static const struct cxi_quirks *choose(const char **why_p)
{
    switch (mpixq_env.fabric) {
    case FABRIC_SOCKETS:
        return &mpixq_cxi_sockets;
    case FABRIC_CXI:
        return &mpixq_cxi_cxi;
    case FABRIC_AUTO:
        if (access("/sys/class/cxi", F_OK) == 0) {
            return &mpixq_cxi_cxi;
        }
        *why_p = "there is no cxi device in /sys/class/cxi (MPIXQ_FABRIC)";
        return NULL;
    default:
        *why_p = "MPIXQ_FABRIC is none";
        return NULL;
    }
}

static struct cxi_nic *try_open(void)
{
    const struct cxi_quirks *quirks = choose(&process.why);
    struct cxi_nic *nic = NULL;

    if (quirks != NULL) {
        process.why = mpixq_cxi_load();
    }
    if (process.why == NULL) {
        nic = mpixq_cxi_nic_new(quirks, atomic_load(&process.gpus_lack), &process.why);
    }
    if (nic == NULL) {
        if (mpixq_env.info && quirks != NULL) { /* else that was said in MPI_Init */
            mpixq_print("channel cxi: not available: %s", process.why);
        }
        mpixq_info("fabric not usable: %s", process.why);
    } else if (mpixq_env.info) {
        mpixq_cxi_say(nic);
    }
    return nic;
}

struct cxi_nic *mpixq_cxi_open(const char **why_p)
{
    struct cxi_nic *nic;

    mpixq_lock_acquire(&process.lock);
    if (!atomic_load_explicit(&process.is_tried, memory_order_relaxed)) {
        process.why = NULL;
        atomic_store_explicit(&process.nic, try_open(), memory_order_release);
        atomic_store_explicit(&process.is_tried, true, memory_order_release);
    }
    nic = atomic_load_explicit(&process.nic, memory_order_relaxed);
    *why_p = nic == NULL ? process.why : NULL;
    mpixq_lock_release(&process.lock);
    return nic;
}

struct cxi_nic *mpixq_cxi_opened(void)
{
    return atomic_load_explicit(&process.nic, memory_order_acquire);
}

const char *mpixq_cxi_obstacle(const struct mpixq_pair *pair, struct cxi_nic **nic_p)
{
    const struct cxi_end *end = pair->reached;
    const char *why;

    *nic_p = end != NULL ? end->nic : mpixq_cxi_open(&why);
    if (*nic_p == NULL) {
        return why;
    }
    if (pair->message.mode == MPIXQ_MODE_BSEND) {
        return "a buffered send completes without its receive";
    }
    if (pair->message.count > 0 && !mpixq_is_contiguous(pair->message.type)) {
        return "the datatype is not one piece of memory";
    }
    return NULL;
}

enum mpixq_error mpixq_cxi_attach(struct mpixq_queue *queue)
{
    struct cxi_queue *cxq;
    struct cxi_nic *nic;
    const char *why;

    mpixq_cxi_ask_gpus();
    nic = mpixq_cxi_open(&why);
    if (nic == NULL) {
        return queue->type == MPIXQ_QUEUE_CXI ? MPIXQ_E_CXI : MPIXQ_E_NONE;
    }
    cxq = mpixq_alloc(sizeof *cxq); /* freed in mpixq_cxi_detach */
    if (cxq == NULL || !mpixq_cxi_queue_open(cxq, nic, queue, LOG)) {
        mpixq_free(cxq);
        return MPIXQ_E_NO_MEMORY;
    }
    queue->own[MPIXQ_CHANNEL_CXI] = cxq;
    return MPIXQ_E_NONE;
}

void mpixq_cxi_detach(struct mpixq_queue *queue)
{
    struct cxi_queue *cxq = queue->own[MPIXQ_CHANNEL_CXI];

    if (cxq != NULL) {
        mpixq_cxi_queue_close(cxq);
        mpixq_free(cxq);
        queue->own[MPIXQ_CHANNEL_CXI] = NULL;
    }
}

const char *mpixq_cxi_availability(void)
{
    const char *text = "available";

    mpixq_lock_acquire(&process.lock);
    if (!atomic_load_explicit(&process.is_tried, memory_order_relaxed)) {
        process.why = NULL;
        (void)choose(&process.why);
        text = "available if the fabric can be opened, when it is first needed";
    }
    if (process.why != NULL) {
        (void)snprintf(process.availability, sizeof process.availability, "not available: %s",
                       process.why);
        text = process.availability;
    }
    mpixq_lock_release(&process.lock);
    return text;
}

void mpixq_cxi_describe(struct mpixq_facts *facts)
{
    const char *why;

    mpixq_lock_acquire(&process.lock);
    why = process.why != NULL ? process.why : "nothing has opened one";
    mpixq_lock_release(&process.lock);
    mpixq_cxi_describe_nic(facts, mpixq_cxi_opened(), why);
}

void mpixq_cxi_close(void)
{
    struct cxi_nic *nic = mpixq_cxi_opened();

    atomic_store(&process.nic, NULL);
    if (nic != NULL) {
        if (mpixq_env.info) {
            mpixq_cxi_say_counts(nic);
        }
        mpixq_cxi_nic_free(nic);
    }
    atomic_store(&process.is_tried, true);
    process.why = "MPI is finalized";
}
