/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Starts by the host: it launches what a stream would have made, on one of our own. The other end
 * does not see by whom a start was made. Who waits looks at the words for the host. */
#include "core/failure.h"
#include "ipc.h"
#include "util/backoff.h"

enum { TOGETHER = 32 }; /* moves of a launch, at most */

/* In place of the ticket of a start's launch: it has none yet; and a call is getting it one. */
#define LAUNCHING UINT64_MAX
#define CLAIMED (UINT64_MAX - 1)

/* What comes to a slot is copied once it is there, by a call that looks. Likewise where the GPU
 * counts starts it has to hear that this one was waited for. */
static bool is_taken(const struct ipc_end *end)
{
    return mpixq_ipc_is_counted(end) || (!end->is_send && end->slots.first >= 0);
}

static void conclude(struct mpixq_pair *pair, uint64_t ticket)
{
    struct ipc_end *end = pair->end;

    if (mpixq_ipc_starts_nothing(end)) {
        mpixq_ipc_executed(end);
        return;
    }
    atomic_store(&end->moved_by, ticket);
    if (ticket == 0 || !is_taken(end)) {
        atomic_store(&end->launch, ticket);
    }
    if (ticket != 0 && mpixq_ipc_is_counted(end)) { /* no graph starts it meanwhile */
        (void)mpixq_pair_raise(&pair->executed, mpixq_pair_started(pair));
    } else if (ticket != 0) {
        mpixq_ipc_executed(end);
    } else {
        mpixq_failure_of(pair->id, mpixq_error_code(MPIXQ_E_GPU), "start");
    }
}

/* All of one place; at most TOGETHER. */
static void launch(struct mpixq_pair *const pairs[], int n)
{
    struct ipc_end *first = pairs[0]->end;
    struct mpixq_op moves[TOGETHER];
    uint64_t ticket = 0;
    int n_moves = 0;

    for (int i = 0; i < n; i++) {
        struct ipc_end *end = pairs[i]->end;

        if (!mpixq_ipc_starts_nothing(end)) {
            /* Whoever polls must not take it for over before it has begun. */
            atomic_store(&end->launch, LAUNCHING);
            mpixq_op_call(&moves[n_moves], MPIXQ_OP_MOVE, NULL, pairs[i]);
            mpixq_ipc_start_op(end, &moves[n_moves]);
            end->by_host = moves[n_moves++].value;
        }
    }
    if (n_moves > 0) {
        ticket = mpixq_share_submit(first->place->share, moves, n_moves);
    }
    for (int i = 0; i < n; i++) {
        conclude(pairs[i], ticket);
    }
}

void mpixq_ipc_starts_by_host(void *const args[], int n, bool on_gpu)
{
    struct mpixq_pair *pairs[TOGETHER];
    int n_pairs = 0;

    (void)on_gpu;
    for (int i = 0; i < n; i++) {
        struct mpixq_pair *pair = args[i];
        const struct ipc_end *end = pair->end;

        if (n_pairs == TOGETHER ||
            (n_pairs > 0 && end->place != ((const struct ipc_end *)pairs[0]->end)->place)) {
            launch(pairs, n_pairs);
            n_pairs = 0;
        }
        pairs[n_pairs++] = pair;
    }
    if (n_pairs > 0) {
        launch(pairs, n_pairs);
    }
}

void mpixq_ipc_await_launch(struct ipc_end *end)
{
    struct mpixq_share *share = end->place->share;
    struct mpixq_backoff backoff;
    bool has_moved;

    mpixq_backoff_begin(&backoff);
    do {
        uint64_t none = LAUNCHING;

        /* No call will copy anything for it, as the pair has failed. */
        (void)atomic_compare_exchange_strong(&end->launch, &none, atomic_load(&end->moved_by));
        has_moved = mpixq_share_has_moved(share, atomic_load(&end->launch));
        if (!has_moved) {
            mpixq_backoff_pause(&backoff);
        }
    } while (!has_moved && mpixq_share_broken(share) == NULL);
}

/* The message has come to its slot, or to where it belongs. */
static void copy(struct mpixq_pair *pair)
{
    struct ipc_end *end = pair->end;
    struct mpixq_op take;
    uint64_t ticket;

    mpixq_op_wait(&take, MPIXQ_OP_TAKE, NULL, NULL, mpixq_ipc_value(end), NULL);
    take.gpu.end = &end->gpu;
    ticket = mpixq_share_submit(end->place->share, &take, 1);
    atomic_store(&end->launch, ticket != 0 ? ticket : LAUNCHING);
    if (ticket == 0) {
        mpixq_failure_of(pair->id, mpixq_error_code(MPIXQ_E_GPU), "wait");
    }
}

static bool is_to_be_copied(const struct mpixq_pair *pair)
{
    return ipc_told(pair->end) == mpixq_pair_started(pair) && !mpixq_pair_has_failed(pair);
}

/* By one of the threads that look. One that was stopped before it had it may have that of the next
 * start, whose message has still to come: so it looks again. */
static bool claim_copy(struct mpixq_pair *pair)
{
    struct ipc_end *end = pair->end;
    uint64_t none = LAUNCHING;

    if (!is_to_be_copied(pair) || !atomic_compare_exchange_strong(&end->launch, &none, CLAIMED)) {
        return false;
    }
    if (is_to_be_copied(pair)) {
        return true;
    }
    atomic_store(&end->launch, LAUNCHING);
    return false;
}

void mpixq_ipc_progress_wait(struct mpixq_pair *pair)
{
    enum { RARELY = 512 }; /* the library may let us wait for other threads */
    const struct ipc_end *end = pair->end;
    const char *why;

    if (is_taken(end) && atomic_load(&end->launch) == LAUNCHING && claim_copy(pair)) {
        copy(pair);
    }
    if (atomic_fetch_add_explicit(&end->place->looks, 1, memory_order_relaxed) % RARELY ==
        RARELY - 1) {
        why = mpixq_share_broken(end->place->share);
        if (why != NULL) {
            mpixq_failure_of(pair->id, mpixq_error_cause(MPIXQ_E_GPU, NULL, why), "wait");
        }
    }
}

/* The pair may be one of another channel, that this one has prepared. */
static struct mpixq_share *prepared_share(const struct mpixq_pair *pair)
{
    return ((const struct ipc_end *)(const void *)pair->prepared)->place->share;
}

uint64_t mpixq_ipc_execute(struct mpixq_pair *pair, struct mpixq_op *op)
{
    return mpixq_share_submit(prepared_share(pair), op, 1);
}

bool mpixq_ipc_has_executed(const struct mpixq_pair *pair, uint64_t ticket)
{
    return mpixq_share_has_moved(prepared_share(pair), ticket);
}

struct mpixq_gpu_end *mpixq_ipc_gpu_end(struct mpixq_pair *pair)
{
    return &((struct ipc_end *)pair->end)->gpu;
}
