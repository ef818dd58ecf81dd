/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_peer.c - the modes peer-copy: what a program does by itself between GPUs of a machine with
 * an MPI that takes no memory of GPUs
 *
 * The receive buffers of the peers are mapped once. The host puts copies to them on its stream,
 * waits for the stream, and tells the peers by empty messages, which are persistent.
 *
 * Also what a hop between two GPUs is measured against: copies to such a buffer that tell nobody,
 * and one kernel at each end that copies and signals in a loop. The last word of a block is its
 * signal.
 */
#include "bench.h"
#include "kernels.h"

#include <stdlib.h>

struct target {
    struct bench_shared shared;
    unsigned char *memory; /* of the peer, as it is mapped here */
};

struct peer_link {
    struct target *targets;
    MPI_Request *requests; /* receives first */
};

static MPI_Comm comm;
static int users;

static const char *find_nothing(void)
{
    return NULL;
}

static void open_comm(void)
{
    if (users++ == 0) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    }
}

static void close_comm(void)
{
    if (--users == 0) {
        MPI_Comm_free(&comm);
    }
}

/* Tell the senders where their messages go. */
static void map_targets(struct bench_link *link, struct peer_link *own)
{
    struct bench_shared *here = bench_alloc((size_t)link->num * sizeof *here);
    MPI_Request *requests = bench_alloc((size_t)link->num * sizeof *requests);
    int rank;

    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < link->num; i++) {
        const struct bench_part *part = &link->recvs[i];

        bench_device_share(link->recv + part->offset, &here[i]);
        PMPI_Isend(&here[i], (int)sizeof here[i], MPI_BYTE, part->peer, part->tag, comm,
                   &requests[i]);
    }
    for (int i = 0; i < link->num; i++) {
        const struct bench_part *part = &link->sends[i];
        struct target *target = &own->targets[i];

        PMPI_Recv(&target->shared, (int)sizeof target->shared, MPI_BYTE, part->peer, part->tag,
                  comm, MPI_STATUS_IGNORE);
        if (part->peer != rank) {
            target->memory = bench_device_map(&target->shared);
        }
    }
    PMPI_Waitall(link->num, requests, MPI_STATUSES_IGNORE);
    /* A process does not map its own memory. */
    for (int i = 0; i < link->num; i++) {
        for (int k = 0; link->sends[i].peer == rank && k < link->num; k++) {
            if (link->recvs[k].peer == rank && link->recvs[k].tag == link->sends[i].tag) {
                own->targets[i].memory = link->recv + link->recvs[k].offset;
            }
        }
    }
    free(requests);
    free(here);
}

static void make(struct bench_link *link)
{
    struct peer_link *own = bench_alloc(sizeof *own);

    own->targets = bench_alloc((size_t)link->num * sizeof *own->targets);
    own->requests = bench_alloc(2 * (size_t)link->num * sizeof *own->requests);
    map_targets(link, own);
    for (int i = 0; i < link->num; i++) {
        PMPI_Recv_init(NULL, 0, MPI_BYTE, link->recvs[i].peer, link->recvs[i].tag, comm,
                       &own->requests[i]);
        PMPI_Send_init(NULL, 0, MPI_BYTE, link->sends[i].peer, link->sends[i].tag, comm,
                       &own->requests[link->num + i]);
    }
    link->own = own;
}

static void unmake(struct bench_link *link)
{
    struct peer_link *own = link->own;
    int rank;

    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < link->num; i++) {
        PMPI_Request_free(&own->requests[i]);
        PMPI_Request_free(&own->requests[link->num + i]);
        if (link->sends[i].peer != rank) {
            bench_device_unmap(own->targets[i].memory, &own->targets[i].shared);
        }
    }
    free(own->requests);
    free(own->targets);
    free(own);
}

static void move(struct bench_link *link, int what)
{
    const struct peer_link *own = link->own;
    MPI_Request *recvs = own->requests, *sends = recvs + link->num;

    if ((what & BENCH_RECVS) != 0) {
        PMPI_Startall(link->num, recvs);
    }
    if ((what & BENCH_SENDS) != 0) {
        for (int i = 0; i < link->num; i++) {
            bench_device_copy(own->targets[i].memory, link->send + link->sends[i].offset,
                              link->sends[i].bytes);
        }
        bench_device_synchronize();
        PMPI_Startall(link->num, sends);
        link->counts->launches += link->num;
    }
    if (what == (BENCH_SENDS | BENCH_RECVS)) {
        PMPI_Waitall(2 * link->num, recvs, MPI_STATUSES_IGNORE);
    } else {
        PMPI_Waitall(link->num, what == BENCH_SENDS ? sends : recvs, MPI_STATUSES_IGNORE);
    }
    link->counts->posts += what == (BENCH_SENDS | BENCH_RECVS) ? 2 * link->num : link->num;
}

static void move_plain(struct bench_link *link, int what)
{
    const struct peer_link *own = link->own;

    for (int i = 0; (what & BENCH_SENDS) != 0 && i < link->num; i++) {
        bench_device_copy(own->targets[i].memory, link->send + link->sends[i].offset,
                          link->sends[i].bytes);
    }
    link->counts->launches += (what & BENCH_SENDS) != 0 ? link->num : 0;
}

static void make_bounce(struct bench_link *link)
{
    uint64_t zero = 0;

    make(link);
    bench_memory_copy(link->recv + link->bytes - sizeof zero, &zero, sizeof zero);
}

static void bounce(struct bench_link *link, bool leads, long rounds)
{
    const struct peer_link *own = link->own;
    unsigned char *there = own->targets[0].memory;
    size_t signal = link->bytes - sizeof(uint64_t);
    struct bench_bounce all = {.from = (void *)link->send,
                               .to = (void *)there,
                               .words = link->sends[0].bytes / sizeof(uint64_t),
                               .here = (void *)(link->recv + signal),
                               .there = (void *)(there + signal),
                               .before = link->sent,
                               .rounds = (unsigned long long)rounds,
                               .leads = leads};
    void *parameters[] = {&all};

    bench_device_launch(BENCH_KERNEL_BOUNCE, 1, 1, parameters);
    link->sent += (uint64_t)rounds;
    link->counts->launches += 1;
}

const struct bench_baseline bench_plain = {
    .name = "peer",
    .operations = 2,
    .find = find_nothing,
    .open = open_comm,
    .close = close_comm,
    .alloc = bench_memory,
    .free = bench_memory_free,
    .make = make,
    .unmake = unmake,
    .move = move_plain,
};

const struct bench_baseline bench_kernel = {
    .name = "peer",
    .operations = 1,
    .find = find_nothing,
    .open = open_comm,
    .close = close_comm,
    .alloc = bench_memory,
    .free = bench_memory_free,
    .make = make_bounce,
    .unmake = unmake,
    .move = move_plain,
    .bounce = bounce,
};

const struct bench_baseline bench_peer = {
    .name = "peer",
    .by_host = true,
    .find = find_nothing,
    .open = open_comm,
    .close = close_comm,
    .alloc = bench_memory,
    .free = bench_memory_free,
    .make = make,
    .unmake = unmake,
    .move = move,
};
