/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_put_mpi.c - the modes mpi-put and mpi-put-alloc: what programs do without puts with signals
 *
 * MPI_Put for each part, a flush, and then an empty persistent message to each peer, which so knows
 * that all parts are there. The window is of the program's memory, or of what MPI_Win_allocate
 * gives, which MPIs share within a node.
 */
#include "bench.h"

#include <stdlib.h>

struct own {
    MPI_Win win;
    unsigned char *memory; /* NULL: what is received is MPI's */
    MPI_Aint *offsets;     /* of the parts at their peers */
    MPI_Request *requests; /* receives first */
    int num_sends, num_recvs;
};

static MPI_Comm comm;

/* Some MPIs make no window of a single process. */
static const char *find_windows(void)
{
    MPI_Comm own;
    MPI_Win win;
    char memory[64];
    int rc;

    PMPI_Comm_dup(MPI_COMM_WORLD, &own);
    PMPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    rc = PMPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, own, &win);
    if (rc == MPI_SUCCESS) {
        PMPI_Win_free(&win);
    }
    PMPI_Comm_free(&own);
    return rc == MPI_SUCCESS ? NULL : "windows of MPI: MPI_Win_create fails";
}

static void open_comm(void)
{
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
}

static void close_comm(void)
{
    PMPI_Comm_free(&comm);
}

static void ask_offsets(struct bench_link *link, struct own *own)
{
    size_t num = (size_t)link->num;
    MPI_Request *requests = bench_alloc(2 * num * sizeof *requests);
    MPI_Aint *mine = bench_alloc(num * sizeof *mine);

    for (size_t i = 0; i < num; i++) {
        const struct bench_part *recv = &link->recvs[i], *send = &link->sends[i];

        mine[i] = (MPI_Aint)recv->offset;
        PMPI_Irecv(&own->offsets[i], 1, MPI_AINT, send->peer, send->tag, comm, &requests[i]);
        PMPI_Isend(&mine[i], 1, MPI_AINT, recv->peer, recv->tag, comm, &requests[num + i]);
    }
    PMPI_Waitall(2 * link->num, requests, MPI_STATUSES_IGNORE);
    free(mine);
    free(requests);
}

static bool is_first(const struct bench_part parts[], int index)
{
    for (int i = 0; i < index; i++) {
        if (parts[i].peer == parts[index].peer) {
            return false;
        }
    }
    return true;
}

static void make_messages(struct bench_link *link, struct own *own)
{
    for (int i = 0; i < link->num; i++) {
        if (is_first(link->recvs, i)) {
            PMPI_Recv_init(NULL, 0, MPI_BYTE, link->recvs[i].peer, 0, comm,
                           &own->requests[own->num_recvs++]);
        }
    }
    for (int i = 0; i < link->num; i++) {
        if (is_first(link->sends, i)) {
            PMPI_Send_init(NULL, 0, MPI_BYTE, link->sends[i].peer, 0, comm,
                           &own->requests[own->num_recvs + own->num_sends++]);
        }
    }
}

static void make(struct bench_link *link)
{
    struct own *own = bench_alloc(sizeof *own);
    size_t num = (size_t)link->num;

    link->send = bench_alloc(link->bytes);
    if (link->mode == BENCH_MPI_PUT_ALLOC) {
        PMPI_Win_allocate((MPI_Aint)link->bytes, 1, MPI_INFO_NULL, comm, &link->recv, &own->win);
    } else {
        link->recv = own->memory = bench_alloc(link->bytes);
        PMPI_Win_create(link->recv, (MPI_Aint)link->bytes, 1, MPI_INFO_NULL, comm, &own->win);
    }
    own->offsets = bench_alloc(num * sizeof *own->offsets);
    own->requests = bench_alloc(2 * num * sizeof *own->requests);
    ask_offsets(link, own);
    make_messages(link, own);
    PMPI_Win_lock_all(MPI_MODE_NOCHECK, own->win);
    link->own = own;
}

static void unmake(struct bench_link *link)
{
    struct own *own = link->own;

    PMPI_Win_unlock_all(own->win);
    for (int i = 0; i < own->num_recvs + own->num_sends; i++) {
        PMPI_Request_free(&own->requests[i]);
    }
    PMPI_Win_free(&own->win);
    free(own->memory);
    free(link->send);
    free(own->offsets);
    free(own->requests);
    free(own);
}

enum { MOST = 1 << 30 }; /* bytes of a put, whose count is an int */

static void put_all(const struct bench_link *link, const struct own *own)
{
    for (int i = 0; i < link->num; i++) {
        const struct bench_part *part = &link->sends[i];

        for (size_t at = 0; at < part->bytes || at == 0; at += MOST) {
            size_t left = part->bytes - at;
            int bytes = (int)(left < MOST ? left : MOST);

            PMPI_Put(link->send + part->offset + at, bytes, MPI_BYTE, part->peer,
                     own->offsets[i] + (MPI_Aint)at, bytes, MPI_BYTE, own->win);
        }
    }
    PMPI_Win_flush_all(own->win);
    link->counts->posts += link->num + own->num_sends;
}

/* The receives are started before the puts, so that no message has to wait for them. */
static void move(struct bench_link *link, int what)
{
    struct own *own = link->own;
    bool recvs = (what & BENCH_RECVS) != 0, sends = (what & BENCH_SENDS) != 0;
    MPI_Request *first = own->requests + (recvs ? 0 : own->num_recvs);
    int num = (recvs ? own->num_recvs : 0) + (sends ? own->num_sends : 0);

    if (recvs) {
        PMPI_Startall(own->num_recvs, own->requests);
    }
    if (sends) {
        PMPI_Win_sync(own->win); /* what was packed is seen by who puts */
        put_all(link, own);
        PMPI_Startall(own->num_sends, own->requests + own->num_recvs);
    }
    PMPI_Waitall(num, first, MPI_STATUSES_IGNORE);
    if (recvs) {
        PMPI_Win_sync(own->win);
        link->counts->posts += own->num_recvs;
    }
}

const struct bench_baseline bench_mpi_put = {
    .name = "rma",
    .by_host = true,
    .find = find_windows,
    .open = open_comm,
    .close = close_comm,
    .make = make,
    .unmake = unmake,
    .move = move,
};
