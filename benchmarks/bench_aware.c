/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_aware.c - the modes mpi-aware: an MPI that takes memory of GPUs, driven by the host
 *
 * The host waits for the stream and starts persistent requests, whose buffers are where the kernels
 * pack and unpack. Where MPI does not say that it can do this, the user may (MPIXQ_GPU_AWARE=yes).
 */
#include "bench.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm comm;

static const char *find_aware(void)
{
    const char *said = getenv("MPIXQ_GPU_AWARE");
    void *address =
        dlsym(RTLD_DEFAULT, bench_device_vendor() == BENCH_ON_CUDA ? "MPIX_Query_cuda_support"
                                                                   : "MPIX_Query_rocm_support");
    int (*query)(void);

    if (said != NULL && (strcmp(said, "yes") == 0 || strcmp(said, "no") == 0)) {
        return *said == 'y' ? NULL : "MPI with memory of GPUs: MPIXQ_GPU_AWARE=no";
    }
    memcpy(&query, &address, sizeof query);
    return address != NULL && query() == 1 ? NULL : "an MPI that says it takes memory of GPUs";
}

static void open_comm(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
}

static void close_comm(void)
{
    MPI_Comm_free(&comm);
}

/* Receives first. */
static void make(struct bench_link *link)
{
    MPI_Request *requests = bench_alloc(2 * (size_t)link->num * sizeof *requests);

    for (int i = 0; i < link->num; i++) {
        const struct bench_part *recv = &link->recvs[i], *send = &link->sends[i];

        PMPI_Recv_init(link->recv + recv->offset, (int)recv->bytes, MPI_BYTE, recv->peer, recv->tag,
                       comm, &requests[i]);
        PMPI_Send_init(link->send + send->offset, (int)send->bytes, MPI_BYTE, send->peer, send->tag,
                       comm, &requests[link->num + i]);
    }
    link->own = requests;
}

static void unmake(struct bench_link *link)
{
    MPI_Request *requests = link->own;

    for (int i = 0; i < 2 * link->num; i++) {
        PMPI_Request_free(&requests[i]);
    }
    free(requests);
}

static void move(struct bench_link *link, int what)
{
    MPI_Request *recvs = link->own, *sends = recvs + link->num;
    bool both = what == (BENCH_SENDS | BENCH_RECVS);

    /* What was unpacked before must be, or it is received into. */
    bench_device_synchronize();
    if (both) {
        PMPI_Startall(2 * link->num, recvs);
        PMPI_Waitall(2 * link->num, recvs, MPI_STATUSES_IGNORE);
    } else {
        MPI_Request *some = what == BENCH_SENDS ? sends : recvs;

        PMPI_Startall(link->num, some);
        PMPI_Waitall(link->num, some, MPI_STATUSES_IGNORE);
    }
    link->counts->posts += both ? 2 * link->num : link->num;
}

const struct bench_baseline bench_aware = {
    .name = "aware",
    .by_host = true,
    .find = find_aware,
    .open = open_comm,
    .close = close_comm,
    .alloc = bench_memory,
    .free = bench_memory_free,
    .make = make,
    .unmake = unmake,
    .move = move,
};
