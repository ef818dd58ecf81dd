/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The life of windows. */
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "comm/ranks.h"
#include "ahead.h"
#include "direct.h"
#include "mapped.h"
#include "match/match.h"
#include "match/match_internal.h"
#include "nics.h"
#include "shared.h"
#include "protocol.h"
#include "pull.h"
#include "queued.h"
#include "rights.h"
#include "rma.h"
#include "stream/memory.h"
#include "transport.h"
#include "util/alloc.h"
#include "util/backoff.h"
#include "util/log.h"
#include "util/progress.h"
#include "waiters.h"
#include "window.h"

/* What the processes of a window have to have in common: the form of blocks and messages. */
enum { VERSION = 4 };

/* Queues of its life before are no longer known. */
static void forget_lanes(struct mpixq_window *window)
{
    struct mpixq_rma_lane *lanes = atomic_load(&window->lanes);

    for (int i = 0; lanes != NULL && i < MPIXQ_MAPPED_LANES; i++) {
        atomic_store(&lanes[i].queue_number, 0);
        atomic_store(&lanes[i].queue, NULL);
    }
}

/* Of a window that is not live: all that open has made. */
static void dismantle(struct mpixq_window *window, bool keep_comm)
{
    struct mpixq_rma_slots *table, *next;

    mpixq_rma_pull_end(window);
    mpixq_rma_ahead_close(window);
    mpixq_rma_direct_close(window);
    mpixq_rma_protocol_close(window);
    mpixq_mapped_close(window->mapped);
    window->mapped = NULL;
    if (window->comm != MPI_COMM_NULL && !keep_comm) {
        (void)PMPI_Comm_free(&window->comm);
    }
    if (window->in_use) {
        mpixq_debug("window %llu: what moves for it is not complete",
                    (unsigned long long)window->number);
    }
    mpixq_rma_memory_give(window);
    if (!window->in_use) {
        mpixq_memory_unmake(&window->made);
    }
    mpixq_free(window->neighbours);
    LL_FOREACH_SAFE(window->tables, table, next)
    {
        mpixq_free(table);
    }
    window->tables = NULL;
    window->words = NULL;
    window->neighbours = NULL;
    window->slots = NULL;
    window->n_slots = 0;
    mpixq_rma_object_free(window);
}

static struct mpixq_window *window_new(const struct mpixq_window_spec *spec)
{
    struct mpixq_window *window = mpixq_rma_object_new(MPIXQ_RMA_WINDOW, sizeof *window);

    if (window == NULL) {
        return NULL;
    }
    if (!window->has_lock) {
        mpixq_lock_init(&window->lock, MPIXQ_RANK_RMA_WINDOW);
        window->has_lock = true;
    }
    window->comm = MPI_COMM_NULL;
    window->bytes = spec->bytes;
    window->base = spec->base;
    window->mapped = NULL;
    window->direct = NULL;
    window->gpu_kind = NULL;
    window->owns_base = spec->allocates && spec->bytes > 0;
    window->in_use = false;
    forget_lanes(window);
    window->n_nics = 0;
    window->number = mpixq_rma_window_number();
    window->n_neighbours = 0;
    window->refused = MPI_SUCCESS;
    window->looked_ns = window->lost_ns = 0;
    window->watched.age = (struct mpixq_age){.since_ns = 0};
    window->n_own = window->n_queued = 0;
    atomic_store(&window->failed, MPI_SUCCESS);
    atomic_store(&window->enqueued, 0);
    atomic_store(&window->had_graphs, false);
    window->made = (struct mpixq_made){.gpu = NULL};
    mpixq_rma_memory_take(window, spec);
    return window;
}

/* A communicator for the library, with nothing of what the program has attached to its own. */
static int take_comm(MPI_Comm comm, MPI_Comm *own_p)
{
    int rank, rc = PMPI_Comm_rank(comm, &rank);

    rc = rc ? rc : PMPI_Comm_split(comm, 0, rank, own_p);
    rc = rc ? rc : PMPI_Comm_set_errhandler(*own_p, MPI_ERRORS_RETURN);
    return rc ? rc : PMPI_Comm_set_name(*own_p, "mpix_queue window");
}

/* Do all processes have what they need, and want the same? */
static enum mpixq_error agree(const struct mpixq_window_spec *spec, MPI_Comm comm, bool is_ready)
{
    int64_t bytes = spec->allocates ? (int64_t)spec->bytes : 0;
    int64_t in_gpu = spec->kind != NULL || spec->wants != NULL;
    int64_t mine[7] = {is_ready, VERSION, -VERSION, bytes, -bytes, in_gpu, -in_gpu};
    int64_t all[7];

    if (PMPI_Allreduce(mine, all, 7, MPI_INT64_T, MPI_MIN, comm) != MPI_SUCCESS) {
        return MPIXQ_E_COMMUNICATION;
    }
    return all[1] != -all[2]   ? MPIXQ_E_VERSION
           : all[3] != -all[4] ? MPIXQ_E_WINDOW_BYTES
           : all[5] != -all[6] ? MPIXQ_E_WINDOW_MIXED
           : all[0] == 0       ? MPIXQ_E_NO_MEMORY
                               : MPIXQ_E_NONE;
}

/* The first process of the window chooses a number that no other window has. */
static int choose_id(struct mpixq_window *window)
{
    uint64_t id = ((uint64_t)(mpixq_log_rank + 1) << 32) + window->number;
    int rc = PMPI_Bcast(&id, 1, MPI_UINT64_T, 0, window->comm);

    atomic_store(&window->id, id);
    return rc;
}

static struct mpixq_process own_process(void)
{
    struct mpixq_process process;

    mpixq_match_enter(); /* who asks first finds it out */
    process = mpixq_process_self();
    mpixq_match_leave();
    return process;
}

/* What the processes of a window say of themselves; no padding. */
struct card {
    struct mpixq_process process;
    uint64_t mark, mark_at;
};

static void keep(struct mpixq_window *window, struct mpixq_rma_neighbour *neighbour, int rank,
                 const struct card *card)
{
    *neighbour = (struct mpixq_rma_neighbour){
        .rank = rank, .process = card->process, .mark = card->mark, .mark_at = card->mark_at};
    neighbour->can_read = mpixq_rma_pull_can(window, neighbour);
}

/* The processes that this one sees, and would see end. Of others nothing is kept. */
static void keep_seen(struct mpixq_window *window, const struct card all[])
{
    int n = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < window->size; i++) {
            if (i == window->rank || !mpixq_process_is_seen(&all[i].process)) {
                continue;
            }
            if (pass == 0) {
                n++;
            } else if (window->n_neighbours < n) {
                keep(window, &window->neighbours[window->n_neighbours++], i, &all[i]);
            }
        }
        if (pass == 0) {
            window->neighbours = n > 0 ? mpixq_alloc((size_t)n * sizeof *window->neighbours) : NULL;
            n = window->neighbours != NULL ? n : 0;
        }
    }
}

static int meet(struct mpixq_window *window)
{
    const struct card self = {own_process(), atomic_load(&window->mark),
                              (uint64_t)(uintptr_t)&window->mark};
    struct card *all = mpixq_alloc((size_t)window->size * sizeof *all);
    enum mpixq_error error = agree(&(struct mpixq_window_spec){0}, window->comm, all != NULL);
    int rc = mpixq_error_code(error);

    rc =
        rc ? rc
           : PMPI_Allgather(&self, sizeof self, MPI_BYTE, all, sizeof self, MPI_BYTE, window->comm);
    if (rc == MPI_SUCCESS) {
        keep_seen(window, all);
    }
    mpixq_free(all);
    return rc;
}

/* All of it with the other processes, in the same order. */
static int open_window(struct mpixq_window *window, const struct mpixq_window_spec *spec,
                       MPI_Comm comm)
{
    MPI_Comm own = MPI_COMM_NULL;
    int rc = take_comm(comm, &own), opened = MPI_ERR_OTHER;
    enum mpixq_error error;

    if (rc != MPI_SUCCESS) {
        return rc;
    }
    if (window != NULL && window->words != NULL && (!window->owns_base || window->base != NULL)) {
        window->comm = own;
        (void)PMPI_Comm_rank(own, &window->rank);
        (void)PMPI_Comm_size(own, &window->size);
        opened = mpixq_rma_transport_open(window);
    }
    error = agree(spec, own, opened == MPI_SUCCESS);
    if (error != MPIXQ_E_NONE) {
        if (window == NULL || window->comm == MPI_COMM_NULL) {
            (void)PMPI_Comm_free(&own);
        }
        return mpixq_error_code(error);
    }
    mpixq_rma_pull_open(window);
    rc = choose_id(window);
    rc = rc ? rc : meet(window);
    if (rc == MPI_SUCCESS && spec->kind == NULL) {
        mpixq_rma_direct_open(window);
    }
    return rc || spec->kind == NULL ? rc : mpixq_rma_reach_gpus(window, spec);
}

/* Memory that the host cannot access: of which GPU. */
static void find_gpu(struct mpixq_window_spec *spec)
{
    unsigned kinds = mpixq_memory_kinds();
    bool moves;

    if (kinds != 0 && spec->base != NULL && spec->bytes > 0) {
        mpixq_memory_relax(kinds);
        spec->kind = mpixq_memory_of(kinds, spec->base, &spec->place, &moves);
        mpixq_memory_restore(kinds);
    }
}

/* The base of a window that is to be in memory of a GPU. An MPI code. */
static int make_base(struct mpixq_window_spec *spec, struct mpixq_made *made)
{
    struct mpixq_refusal refusal;
    enum mpixq_error error;

    if (!mpixq_memory_make(spec->wants, NULL, spec->bytes, made, &refusal)) {
        error = (enum mpixq_error)refusal.error;
        return refusal.why == NULL ? mpixq_error_code(error)
                                   : mpixq_error_cause(error, "memory of the window", refusal.why);
    }
    spec->base = made->address;
    spec->kind = made->kind;
    spec->place = made->place;
    return MPI_SUCCESS;
}

/* Without what it needs, this process only tells the others so. */
static int make_window(struct mpixq_window_spec *spec, MPI_Comm comm,
                       struct mpixq_window **window_p)
{
    struct mpixq_made made = {.gpu = NULL};
    int made_rc = MPI_SUCCESS, rc;

    if (spec->wants != NULL) {
        made_rc = make_base(spec, &made);
    } else {
        find_gpu(spec);
    }
    *window_p = made_rc == MPI_SUCCESS ? window_new(spec) : NULL;
    if (*window_p != NULL) {
        (*window_p)->made = made;
    } else {
        mpixq_memory_unmake(&made);
    }
    rc = open_window(*window_p, spec, comm);
    return made_rc ? made_rc : rc;
}

int mpixq_rma_window_create(const struct mpixq_window_spec *wanted, MPI_Comm comm,
                            struct mpixq_window **window_p)
{
    struct mpixq_window_spec spec = *wanted;
    struct mpixq_window *window;
    int rc;

    spec.wants = spec.bytes > 0 ? spec.wants : NULL;
    rc = make_window(&spec, comm, &window);
    if (rc != MPI_SUCCESS) {
        if (window != NULL) {
            dismantle(window, false);
        }
        return rc;
    }
    mpixq_rma_object_live(window, MPIXQ_RMA_WINDOW);
    atomic_fetch_add_explicit(&window->counts.lives, 1, memory_order_relaxed);
    if (mpixq_env.info) {
        mpixq_rma_window_print(window);
    }
    if (mpixq_rma_has_peers(window)) {
        mpixq_progress_wake();
    }
    *window_p = window;
    return MPI_SUCCESS;
}

void *mpixq_rma_window_base(const struct mpixq_window *window)
{
    return window->base;
}

bool mpixq_rma_window_is_live(const struct mpixq_window *window)
{
    return mpixq_rma_object_is_live(window, MPIXQ_RMA_WINDOW);
}

/* ---- The end ---- */

static bool is_busy(struct mpixq_window *window)
{
    bool busy = atomic_load(&window->enqueued) > 0 ||
                (window->mapped != NULL ? mpixq_rma_queued_is_busy(window)
                                        : mpixq_rma_graphs_have(&window->graphs));

    for (uint32_t i = 0; !busy && i < window->n_slots; i++) {
        busy = window->slots[i].signal != NULL && mpixq_rma_signal_is_busy(window->slots[i].signal);
    }
    return busy;
}

/* Go on until the operation of all processes is complete; or the window has failed. */
static int complete(struct mpixq_window *window, MPI_Request *request)
{
    struct mpixq_backoff backoff;
    int done = 0, rc = MPI_SUCCESS;

    mpixq_backoff_begin(&backoff);
    backoff.moves = true;
    while (rc == MPI_SUCCESS && !done) {
        rc = atomic_load(&window->failed);
        rc = rc ? rc : PMPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (rc == MPI_SUCCESS && !done) {
            mpixq_rma_progress(window);
            mpixq_match_advance();
            mpixq_backoff_pause(&backoff);
        }
    }
    return rc;
}

/* Nothing is on the way that this process has begun, answers included. Under the lock. */
static bool is_quiet(const struct mpixq_window *window)
{
    return window->flying == NULL && window->moving == NULL && window->asked == NULL &&
           window->n_queued == 0 && mpixq_rma_direct_is_quiet(window);
}

/* What others have asked of this process is answered once all have come here; what is left are
 * answers whose arrival MPI has not told yet. */
static int end_together(struct mpixq_window *window, int *refused_p)
{
    MPI_Request request = MPI_REQUEST_NULL;
    struct mpixq_backoff backoff;
    bool quiet = false;
    int rc;

    *refused_p = mpixq_rma_flush(window);
    rc = atomic_load(&window->failed);
    rc = rc ? rc : PMPI_Ibarrier(window->comm, &request);
    rc = rc ? rc : complete(window, &request);
    mpixq_backoff_begin(&backoff);
    while (rc == MPI_SUCCESS && !quiet) {
        mpixq_rma_progress(window);
        mpixq_lock_acquire(&window->lock);
        quiet = is_quiet(window);
        mpixq_lock_release(&window->lock);
        rc = quiet ? MPI_SUCCESS : atomic_load(&window->failed);
        mpixq_backoff_pause(&backoff);
    }
    return rc;
}

/* Nobody drives it from here on. */
static void retire(struct mpixq_window *window, bool keep_comm)
{
    mpixq_lock_acquire(&window->lock);
    for (uint32_t i = 0; i < window->n_slots; i++) {
        if (window->slots[i].signal != NULL) {
            mpixq_rma_signal_drop(window->slots[i].signal);
        }
    }
    atomic_store(&window->object.magic, 1); /* not live, and not to be taken yet */
    mpixq_lock_release(&window->lock);
    dismantle(window, keep_comm);
}

int mpixq_rma_window_destroy(struct mpixq_window *window, bool *freed_p)
{
    int rc = atomic_load(&window->failed), refused = MPI_SUCCESS;
    MPI_Request request = MPI_REQUEST_NULL;

    *freed_p = false;
    window->busy[0] = window->busy[1] = is_busy(window);
    if (rc == MPI_SUCCESS) {
        rc = PMPI_Iallreduce(&window->busy[0], &window->busy[1], 1, MPI_INT, MPI_MAX, window->comm,
                             &request);
        rc = rc ? rc : complete(window, &request);
    }
    if (window->busy[1]) {
        return mpixq_error_code(MPIXQ_E_WINDOW_BUSY);
    }
    rc = rc ? rc : end_together(window, &refused);
    retire(window, rc != MPI_SUCCESS);
    *freed_p = true;
    return rc ? rc : refused;
}

int mpixq_rma_close(void)
{
    struct mpixq_rma_object *object = mpixq_rma_objects(MPIXQ_RMA_WINDOW);
    int n = 0;

    for (; object != NULL; object = object->next_made) {
        if (mpixq_rma_object_is_live(object, MPIXQ_RMA_WINDOW)) {
            n++;
            mpixq_rma_replays_close((struct mpixq_window *)object);
            retire((struct mpixq_window *)object, true);
        }
    }
    return n;
}
