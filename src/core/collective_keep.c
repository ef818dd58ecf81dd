/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What is kept of a persistent collective from its making on. It must outlive what it was made
 * from: datatypes, arrays, the operation, the communicator. */
#include "collective.h"

#include <stdlib.h>
#include <string.h>

#include "collective_gpus.h"
#include "comm/comm.h"
#include "comm/ops.h"
#include "schedule.h"
#include "served.h"
#include "util/alloc.h"
#include "util/log.h"

static void forget(struct mpixq_parts_base *parts)
{
    struct mpixq_collective *collective = (struct mpixq_collective *)(void *)parts;
    struct mpixq_parted *parted = &collective->parted;
    struct mpixq_collective_args *args = &collective->args;

    mpixq_parted_free_parts(parted);
    mpixq_free(parted->split);
    mpixq_free(collective->steps);
    mpixq_free(collective->chained);
    mpixq_free(collective->work);
    mpixq_memory_unmake_later(&collective->made);
    mpixq_staging_give_back(collective->staged_send);
    mpixq_type_let_go(&collective->send_type);
    mpixq_type_let_go(&collective->recv_type);
    if (collective->holds_op) {
        mpixq_op_put(args->op);
    }
    mpixq_free((void *)(uintptr_t)args->sendcounts);
    mpixq_free(collective->in.peers);
    mpixq_free(collective->out.peers);
    mpixq_free(collective);
}

static void matched(struct mpixq_request *req)
{
    struct mpixq_collective *collective = mpixq_collective_of(req);

    collective->parted.pair = &req->pair;
    if (collective->by_gpus) {
        collective->parted.go_on = mpixq_collective_look_gpus;
        mpixq_collective_matched_gpus(req);
    } else {
        bool is_chained = mpixq_collective_chain(req);

        collective->parted.go_on =
            is_chained ? mpixq_collective_look_chained : mpixq_collective_go_on;
        req->pair.channel =
            is_chained ? &mpixq_channel_collective_chained : &mpixq_channel_collective;
    }
    mpixq_served_count_collective(req);
}

/* Edges. */

static bool make_edges(struct mpixq_edges *edges, int n)
{
    /* Freed in forget. */
    edges->peers = mpixq_alloc(((size_t)n * 2 + 1) * sizeof *edges->peers);
    edges->tags = edges->peers != NULL ? edges->peers + n : NULL;
    edges->n = n;
    return edges->peers != NULL;
}

/* In each dimension towards lower coordinates, then higher ones. What goes down in a dimension
 * comes in from above, also where both neighbors are the same process. */
static bool find_cart(struct mpixq_collective *collective, MPI_Comm comm)
{
    int n = 0;

    if (PMPI_Cartdim_get(comm, &n) != MPI_SUCCESS || !make_edges(&collective->in, 2 * n) ||
        !make_edges(&collective->out, 2 * n)) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        int lower, upper;

        if (PMPI_Cart_shift(comm, i, 1, &lower, &upper) != MPI_SUCCESS) {
            return false;
        }
        for (int up = 0; up <= 1; up++) {
            int edge = 2 * i + up;

            collective->in.peers[edge] = collective->out.peers[edge] = up ? upper : lower;
            collective->out.tags[edge] = edge;
            collective->in.tags[edge] = 2 * i + !up;
        }
    }
    return true;
}

/* The k-th edge to a process is the k-th that it has from this one. */
static void number_edges(struct mpixq_edges *edges)
{
    for (int i = 0; i < edges->n; i++) {
        edges->tags[i] = 0;
        for (int before = i - 1; before >= 0; before--) {
            if (edges->peers[before] == edges->peers[i]) {
                edges->tags[i] = edges->tags[before] + 1;
                break;
            }
        }
    }
}

static bool find_graph(struct mpixq_collective *collective, MPI_Comm comm)
{
    int n = 0;

    if (PMPI_Graph_neighbors_count(comm, collective->rank, &n) != MPI_SUCCESS ||
        !make_edges(&collective->in, n) || !make_edges(&collective->out, n) ||
        PMPI_Graph_neighbors(comm, collective->rank, n, collective->in.peers) != MPI_SUCCESS) {
        return false;
    }
    memcpy(collective->out.peers, collective->in.peers, (size_t)n * sizeof *collective->in.peers);
    return true;
}

static bool find_dist_graph(struct mpixq_collective *collective, MPI_Comm comm)
{
    int n_in = 0, n_out = 0, weighted;
    int *weights = NULL;
    bool is_found = false;

    if (PMPI_Dist_graph_neighbors_count(comm, &n_in, &n_out, &weighted) == MPI_SUCCESS &&
        make_edges(&collective->in, n_in) && make_edges(&collective->out, n_out)) {
        weights = mpixq_alloc(((size_t)n_in + (size_t)n_out + 1) * sizeof *weights);
        is_found = weights != NULL &&
                   PMPI_Dist_graph_neighbors(comm, n_in, collective->in.peers, weights, n_out,
                                             collective->out.peers, weights + n_in) == MPI_SUCCESS;
        mpixq_free(weights);
    }
    return is_found;
}

static bool find_edges(struct mpixq_collective *collective, MPI_Comm comm)
{
    int topology = MPI_UNDEFINED;

    (void)PMPI_Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        return find_cart(collective, comm);
    }
    if (topology == MPI_GRAPH ? !find_graph(collective, comm)
                              : !find_dist_graph(collective, comm)) {
        return false;
    }
    number_edges(&collective->in);
    number_edges(&collective->out);
    return true;
}

/* Arguments. */

/* One block for all four arrays. */
static bool keep_arrays(struct mpixq_collective *collective)
{
    struct mpixq_collective_args *args = &collective->args;
    size_t n_in = (size_t)collective->in.n, n_out = (size_t)collective->out.n;
    int *kept = mpixq_alloc((2 * (n_in + n_out) + 1) * sizeof *kept); /* freed in forget */
    const struct mpixq_collective_args given = *args;

    args->sendcounts = kept;
    if (kept == NULL) {
        return false;
    }
    args->sdispls = kept + n_out;
    args->recvcounts = kept + 2 * n_out;
    args->rdispls = kept + 2 * n_out + n_in;
    if (n_out > 0) {
        memcpy(kept, given.sendcounts, n_out * sizeof *kept);
        memcpy(kept + n_out, given.sdispls, n_out * sizeof *kept);
    }
    if (n_in > 0) {
        memcpy(kept + 2 * n_out, given.recvcounts, n_in * sizeof *kept);
        memcpy(kept + 2 * n_out + n_in, given.rdispls, n_in * sizeof *kept);
    }
    return true;
}

static bool is_neighbor(enum mpixq_collective_kind kind)
{
    return kind == MPIXQ_NEIGHBOR_ALLTOALL || kind == MPIXQ_NEIGHBOR_ALLTOALLV;
}

static bool hold_type(MPI_Datatype *type, struct mpixq_held_type *held)
{
    held->handle = *type;
    if (*type != MPI_DATATYPE_NULL && !mpixq_type_hold(held)) {
        return false;
    }
    *type = held->handle;
    return true;
}

/* MPI does not read the arguments of in place, nor those of a barrier. */
static void clear_unused(struct mpixq_collective_args *args)
{
    if (args->sendbuf == MPI_IN_PLACE || args->kind == MPIXQ_BARRIER || args->kind == MPIXQ_BCAST ||
        args->kind == MPIXQ_ALLREDUCE) {
        args->sendtype = MPI_DATATYPE_NULL;
        args->sendcount = 0;
    }
    if (args->kind == MPIXQ_BARRIER) {
        args->recvtype = MPI_DATATYPE_NULL;
        args->recvcount = 0;
    }
}

/* The kind of GPU that a hint names, or NULL. */
static const char *wanted_by(MPI_Info info)
{
    enum { ROOM = 8 }; /* for any that there is */
    char value[ROOM + 1];
    int length = 0, found = 0;

    if (info == MPI_INFO_NULL ||
        PMPI_Info_get_valuelen(info, "mpixq_memory", &length, &found) != MPI_SUCCESS || !found ||
        length > ROOM || PMPI_Info_get(info, "mpixq_memory", ROOM, value, &found) != MPI_SUCCESS ||
        !found) {
        return NULL;
    }
    return mpixq_memory_kind(value);
}

static bool keep(struct mpixq_collective *collective, MPI_Comm comm)
{
    struct mpixq_collective_args *args = &collective->args;
    bool is_v = args->kind == MPIXQ_NEIGHBOR_ALLTOALLV;
    const struct mpixq_collective_args given = *args;

    args->sendcounts = args->sdispls = args->recvcounts = args->rdispls = NULL;
    clear_unused(args);
    if (!hold_type(&args->sendtype, &collective->send_type) ||
        !hold_type(&args->recvtype, &collective->recv_type) ||
        (is_neighbor(args->kind) && !find_edges(collective, comm))) {
        return false;
    }
    if (is_v) {
        args->sendcounts = given.sendcounts;
        args->sdispls = given.sdispls;
        args->recvcounts = given.recvcounts;
        args->rdispls = given.rdispls;
        if (!keep_arrays(collective)) {
            return false;
        }
    }
    if (args->kind == MPIXQ_ALLREDUCE) {
        /* Of MPI's own these two may have a zero of either sign or a number beside a NaN. */
        collective->keeps_order =
            !mpixq_op_is_predefined(args->op) || args->op == MPI_MAX || args->op == MPI_MIN;
        collective->holds_op = mpixq_op_hold(args->op);
        return collective->holds_op;
    }
    return true;
}

static struct mpixq_collective *create(const struct mpixq_collective_args *args, MPI_Comm comm,
                                       uint64_t number, const struct mpixq_comm_view *view)
{
    struct mpixq_collective *made = mpixq_alloc(sizeof *made); /* freed in forget */

    if (made == NULL) {
        return NULL;
    }
    made->parted.base.forget = forget;
    made->parted.matched = matched;
    made->args = *args;
    made->args.info = MPI_INFO_NULL;
    made->wanted = args->kind == MPIXQ_BARRIER ? wanted_by(args->info) : NULL;
    made->number = number;
    made->rank = view->rank;
    made->size = view->size;
    if (!keep(made, comm)) {
        forget(&made->parted.base);
        return NULL;
    }
    return made;
}

void mpixq_collective_capture(const struct mpixq_collective_args *args, MPI_Comm comm,
                              MPI_Request handle)
{
    struct mpixq_comm *record = mpixq_comm_get(comm);
    struct mpixq_captured captured = {
        .message = {.buffer = args->recvbuf,
                    .count = args->recvcount,
                    .mode = MPIXQ_MODE_COLLECTIVE + (unsigned)args->kind},
        .peer = MPI_PROC_NULL,
        .tag = MPI_ANY_TAG};
    struct mpixq_collective *made;
    struct mpixq_comm_view view;
    uint64_t number;
    int is_inter = 0;

    if (record == NULL) {
        return; /* nothing on it can be matched */
    }
    number = mpixq_comm_count_collective(record);
    mpixq_comm_view(record, &view);
    mpixq_comm_put(record);
    (void)PMPI_Comm_test_inter(comm, &is_inter);
    if (handle == MPI_REQUEST_NULL || is_inter) {
        return;
    }
    made = create(args, comm, number, &view);
    captured.message.type = args->kind == MPIXQ_BARRIER ? MPI_BYTE : args->recvtype;
    if (made == NULL ||
        mpixq_request_capture_parts(&captured, comm, handle, &made->parted.base) == NULL) {
        if (made != NULL) {
            forget(&made->parted.base);
        }
        mpixq_warn("no memory to remember a persistent collective: it cannot be matched");
    }
}

/* The match. */

/* The part for a message, whose ends are ranks of the communicator. */
static struct mpixq_request *make_part(struct mpixq_request *req, const struct mpixq_step *step,
                                       bool may_chain)
{
    bool is_send = step->kind == MPIXQ_STEP_SEND;
    const struct mpixq_span *span = is_send ? &step->from : &step->to;
    struct mpixq_request *part = mpixq_request_make_part(req, span->type);

    if (part != NULL) {
        part->peer = step->peer;
        part->tag = step->tag;
        part->channels = req->channels;
        if (mpixq_collective_of(req)->by_gpus && !mpixq_collective_of(req)->may_take_nics) {
            mpixq_channel_set_remove(&part->channels, MPIXQ_CHANNEL_CXI);
        }
        part->pair.message.mode = is_send ? MPIXQ_MODE_SEND : MPIXQ_MODE_RECV;
        part->pair.message.buffer = span->at;
        part->pair.message.count = span->count;
        part->pair.may_chain = may_chain;
    }
    return part;
}

enum mpixq_error mpixq_collective_prepare(struct mpixq_request *req)
{
    struct mpixq_collective *collective = mpixq_collective_of(req);
    struct mpixq_parted *parted = &collective->parted;
    enum mpixq_error error;
    bool may_chain;

    collective->way = mpixq_schedule_way(req);
    error = mpixq_collective_stage(req);
    if (error != MPIXQ_E_NONE) {
        return error;
    }
    if (!mpixq_schedule_write(collective) || !mpixq_parted_make_room(parted, collective->n_steps)) {
        return MPIXQ_E_NO_MEMORY;
    }
    collective->n_first = 0;
    may_chain = mpixq_collective_may_chain(req);
    for (int i = 0; i < collective->n_steps; i++) {
        struct mpixq_step *step = &collective->steps[i];

        if (!mpixq_step_is_message(step)) {
            continue;
        }
        if (mpixq_comm_world_rank(req->comm, step->peer) == MPI_UNDEFINED) {
            return MPIXQ_E_FOREIGN_PEER;
        }
        step->part = make_part(req, step, may_chain);
        if (step->part == NULL) {
            return MPIXQ_E_NO_MEMORY;
        }
        parted->parts[parted->n_room++] = step->part;
        collective->n_first = step->round == 0 ? parted->n_room : collective->n_first;
    }
    parted->n_used = parted->n_room;
    for (int i = 0; i < parted->n_used; i++) {
        parted->parts[i]->op_index = i;
    }
    return MPIXQ_E_NONE;
}
