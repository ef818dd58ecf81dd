/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The NICs of this process. */
#include "process.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "about.h"
#include "comm/layout.h"
#include "core/tally.h"
#include "libfabric.h"
#include "nic.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/facts.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/near.h"

/* Choices of MPIXQ_FABRIC. */
enum fabric_choice { FABRIC_AUTO, FABRIC_NONE, FABRIC_CXI, FABRIC_SOCKETS };

enum { LOG = 4096 }; /* starts of a queue that wait to be armed; those beyond are taken over */

static struct {
    struct mpixq_lock lock, among; /* among: for the shares of the NICs */
    /* NULL: none is open; written under the lock, read by any thread. */
    const struct cxi_nics *_Atomic open;
    struct cxi_nics nics; /* what it points to */
    atomic_bool is_tried; /* written likewise */
    const char *why;      /* there is none; under the lock, and constant once it was tried */
    char left_out[400];   /* NICs that are not used, and why; or empty; likewise */
    /* What keeps memory of GPUs from being registered, or NULL; as found by ask_gpus. */
    const char *_Atomic gpus_lack;
    char gpu[MPIXQ_PCI_ROOM]; /* where that of the process is; or empty; likewise */
    char availability[160];   /* under the lock; the reason does not change any more */
} process = {.lock = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_CXI_OPEN),
             .among = MPIXQ_LOCK_INITIALIZER(MPIXQ_RANK_CXI_SHARES),
             .gpus_lack = "no GPU was asked when it was opened"};

/* A GPU that is used now passes for that of the process. */
static void ask_place_of_gpu(const char *kind, const void *address, const void *place)
{
    char name[MPIXQ_PCI_ROOM] = "";

    if (!mpixq_memory_bus(kind, address, (void *)place, name)) {
        return;
    }
    mpixq_lock_acquire(&process.lock);
    if (!atomic_load_explicit(&process.is_tried, memory_order_relaxed)) {
        memcpy(process.gpu, name, sizeof name);
    }
    mpixq_lock_release(&process.lock);
}

void mpixq_cxi_ask_gpus(const char *kind, const void *address, const void *place)
{
    if (!atomic_load_explicit(&process.is_tried, memory_order_acquire)) {
        ask_place_of_gpu(kind, address, place);
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

/* The NIC in a place is not used. */
static void leave_out(int place, const char *why)
{
    size_t used = strlen(process.left_out), room = sizeof process.left_out;

    (void)snprintf(process.left_out + used, room - used, "%snumber %d: %s", used > 0 ? "; " : "",
                   place + 1, why);
    if (mpixq_env.info) {
        mpixq_print("fabric: of %d NICs number %d is left out: %s", (int)mpixq_env.nics, place + 1,
                    why);
    }
}

/* All that there are, up to the number that the user wants. */
static void open_nics(const struct cxi_quirks *quirks)
{
    struct cxi_nics *nics = &process.nics;

    for (int place = 0; place < mpixq_env.nics; place++) {
        struct cxi_wish wish = {.quirks = quirks,
                                .place = place,
                                .gpu = process.gpu,
                                .gpus_lack = atomic_load(&process.gpus_lack),
                                .among = &process.among};
        const char *why;
        struct cxi_nic *nic = mpixq_cxi_nic_new(&wish, &why);

        if (nic == NULL && why == NULL) {
            return;
        }
        if (nic != NULL) {
            nics->of[nics->n++] = nic;
            continue;
        }
        process.why = process.why != NULL ? process.why : why;
        if (mpixq_env.nics > 1) {
            leave_out(place, why);
        }
    }
}

/* Pairs on one without entries would have all that they start done by the host. */
static void drop_spent(void)
{
    struct cxi_nics *nics = &process.nics;
    int n = 0, n_rich = 0;

    for (int i = 0; i < nics->n; i++) {
        n_rich += mpixq_cxi_shares_limit(&nics->of[i]->shares) > 0;
    }
    for (int i = 0; i < nics->n; i++) {
        struct cxi_nic *nic = nics->of[i];

        if (n_rich > 0 && mpixq_cxi_shares_limit(&nic->shares) == 0) {
            leave_out(nic->place, "it has no triggered operations for this process");
            mpixq_cxi_nic_free(nic);
        } else {
            nic->number = n;
            nics->of[n++] = nic;
        }
    }
    nics->n = n;
}

static void try_open(void)
{
    const struct cxi_quirks *quirks = choose(&process.why);
    const struct cxi_nics *nics = &process.nics;

    if (quirks != NULL) {
        process.why = mpixq_cxi_load();
    }
    if (process.why == NULL) {
        open_nics(quirks);
        drop_spent();
    }
    if (nics->n == 0) {
        if (mpixq_env.info && quirks != NULL) { /* else that was said in MPI_Init */
            mpixq_print("channel cxi: not available: %s", process.why);
        }
        mpixq_info("fabric not usable: %s", process.why);
        return;
    }
    process.why = NULL; /* of those that are left out, it was */
    if (mpixq_env.info && process.gpu[0] != '\0') {
        mpixq_print("fabric: the GPU of the process is %s", process.gpu);
    }
    for (int i = 0; mpixq_env.info && i < nics->n; i++) {
        mpixq_cxi_say(nics->of[i]);
    }
    atomic_store_explicit(&process.open, nics, memory_order_release);
}

const struct cxi_nics *mpixq_cxi_open(const char **why_p)
{
    const struct cxi_nics *nics;

    mpixq_lock_acquire(&process.lock);
    if (!atomic_load_explicit(&process.is_tried, memory_order_relaxed)) {
        process.why = NULL;
        try_open();
        atomic_store_explicit(&process.is_tried, true, memory_order_release);
    }
    nics = atomic_load_explicit(&process.open, memory_order_relaxed);
    *why_p = nics == NULL ? process.why : NULL;
    mpixq_lock_release(&process.lock);
    return nics;
}

const struct cxi_nics *mpixq_cxi_opened(void)
{
    static const struct cxi_nics none;
    const struct cxi_nics *nics = atomic_load_explicit(&process.open, memory_order_acquire);

    return nics != NULL ? nics : &none;
}

static struct cxi_nic *least_used(const struct cxi_nics *nics, bool is_send)
{
    struct cxi_nic *best = nics->of[0];

    for (int i = 1; i < nics->n; i++) {
        if (atomic_load(&nics->of[i]->n_ends[is_send]) < atomic_load(&best->n_ends[is_send])) {
            best = nics->of[i];
        }
    }
    return best;
}

const char *mpixq_cxi_obstacle(const struct mpixq_pair *pair, struct cxi_nic **nic_p)
{
    const struct cxi_end *end = pair->reached;
    const char *why;
    const struct cxi_nics *nics = end != NULL ? NULL : mpixq_cxi_open(&why);

    if (end == NULL && nics == NULL) {
        return why;
    }
    *nic_p = end != NULL ? end->nic : least_used(nics, mpixq_pair_is_send(pair));
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
    const struct cxi_nics *nics;
    const struct mpixq_stream *stream = queue->stream;
    struct cxi_queues *all;
    const char *why;

    mpixq_cxi_ask_gpus(stream->place != NULL ? stream->kind->name : NULL, NULL, stream->place);
    nics = mpixq_cxi_open(&why);
    if (nics == NULL) {
        return queue->type == MPIXQ_QUEUE_CXI ? MPIXQ_E_CXI : MPIXQ_E_NONE;
    }
    all = mpixq_alloc(sizeof *all + (size_t)nics->n * sizeof all->of[0]); /* freed in detach */
    if (all == NULL) {
        return MPIXQ_E_NO_MEMORY;
    }
    queue->own[MPIXQ_CHANNEL_CXI] = all;
    for (; all->n < nics->n; all->n++) {
        if (!mpixq_cxi_queue_open(&all->of[all->n], nics->of[all->n], queue, LOG)) {
            mpixq_cxi_detach(queue);
            return MPIXQ_E_NO_MEMORY;
        }
    }
    queue->nics = all->n;
    mpixq_tallies_provide(stream);
    return MPIXQ_E_NONE;
}

void mpixq_cxi_detach(struct mpixq_queue *queue)
{
    struct cxi_queues *all = queue->own[MPIXQ_CHANNEL_CXI];

    if (all != NULL) {
        for (int i = 0; i < all->n; i++) {
            mpixq_cxi_queue_close(&all->of[i]);
        }
        mpixq_free(all);
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
    const struct cxi_nics *nics = mpixq_cxi_opened();
    const char *why;

    mpixq_lock_acquire(&process.lock);
    why = process.why != NULL ? process.why : "nothing has opened one";
    mpixq_lock_release(&process.lock);
    mpixq_cxi_describe_fabric(facts);
    for (int i = 0; i < nics->n; i++) {
        mpixq_cxi_describe_nic(facts, nics->of[i]);
    }
    if (nics->n == 0) {
        mpixq_fact(facts, "NIC in use", "none: %s", why);
    }
    if (process.gpu[0] != '\0') {
        mpixq_fact(facts, "GPU of the process", "%s", process.gpu);
    }
    if (process.left_out[0] != '\0') {
        mpixq_fact(facts, "NICs left out", "%s", process.left_out);
    }
}

void mpixq_cxi_close(void)
{
    const struct cxi_nics *nics = mpixq_cxi_opened();

    atomic_store(&process.open, NULL);
    for (int i = 0; i < nics->n; i++) {
        if (mpixq_env.info) {
            mpixq_cxi_say_counts(nics->of[i]);
        }
        mpixq_cxi_nic_free(nics->of[i]);
    }
    process.nics.n = 0;
    atomic_store(&process.is_tried, true);
    process.why = "MPI is finalized";
}

static bool is_probing(const struct cxi_nic *nic)
{
    return atomic_load(&nic->n_probes) > 0;
}

/* Of software also what peers do moves by that. */
void mpixq_cxi_read_windows(void)
{
    const struct cxi_nics *nics = mpixq_cxi_opened();

    for (int i = 0; i < nics->n; i++) {
        struct cxi_nic *nic = nics->of[i];

        if (nic->quirks->software || atomic_load(&nic->n_puts) > 0 || is_probing(nic)) {
            mpixq_cxi_read(nic);
        }
    }
}
