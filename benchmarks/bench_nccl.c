/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_nccl.c - the modes nccl: NCCL, and RCCL, which has the same interface, by their
 * documentation
 *
 * The buffers are registered where the library can do that. Sends and receives of one call of ours
 * are one group.
 */
#include "bench.h"

#include <stdlib.h>

/* ncclInt8, ncclUint64, ncclFloat64, ncclSum; 2.7 is the first with sends. */
enum { CHAR_TYPE = 0, UINT64_TYPE = 5, DOUBLE_TYPE = 8, SUM = 0, OLDEST = 2700 };

struct unique_id {
    char bytes[128];
};

static struct {
    int (*version)(int *version_p);
    int (*unique_id)(struct unique_id *id_p);
    int (*init_rank)(void **comm_p, int ranks, struct unique_id id, int rank);
    int (*destroy)(void *comm);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*send)(const void *buffer, size_t count, int type, int peer, void *comm, void *stream);
    int (*recv)(void *buffer, size_t count, int type, int peer, void *comm, void *stream);
    int (*all_reduce)(const void *from, void *to, size_t count, int type, int operation, void *comm,
                      void *stream);
    int (*enroll)(const void *comm, void *buffer, size_t bytes, void **handle_p);
    int (*dismiss)(const void *comm, void *handle);
} nccl;

static const struct bench_symbol symbols[] = {
    {(void **)&nccl.version, "ncclGetVersion", false},
    {(void **)&nccl.unique_id, "ncclGetUniqueId", false},
    {(void **)&nccl.init_rank, "ncclCommInitRank", false},
    {(void **)&nccl.destroy, "ncclCommDestroy", false},
    {(void **)&nccl.group_start, "ncclGroupStart", false},
    {(void **)&nccl.group_end, "ncclGroupEnd", false},
    {(void **)&nccl.send, "ncclSend", false},
    {(void **)&nccl.recv, "ncclRecv", false},
    {(void **)&nccl.all_reduce, "ncclAllReduce", false},
    {(void **)&nccl.enroll, "ncclCommRegister", true},
    {(void **)&nccl.dismiss, "ncclCommDeregister", true},
};

struct nccl_link {
    void *send_handle, *recv_handle;
};

static void *comm;

static const char *find_nccl(void)
{
    static const char *const cuda[] = {"libnccl.so.2", NULL}, *const hip[] = {"librccl.so.1", NULL};
    static const char *missing;
    static bool looked;
    int version;

    if (!looked) {
        looked = true;
        missing = bench_load(bench_device_vendor() == BENCH_ON_CUDA ? cuda : hip, symbols,
                             (int)(sizeof symbols / sizeof symbols[0]));
        /* From 2.9 on five digits and more. */
        if (missing == NULL && (nccl.version(&version) != 0 || version < OLDEST ||
                                version / (version < 10000 ? 1000 : 10000) != 2)) {
            missing = "a version of NCCL from 2.7 on, below 3";
        }
    }
    return missing;
}

/* The library connects two ranks when they send to each other first, and both have to do the same
 * then; so this is not left to the benchmarks. */
static void connect_all(int ranks)
{
    unsigned char *memory = bench_memory(2 * (size_t)ranks);

    bench_need("ncclGroupStart", nccl.group_start());
    for (int i = 0; i < ranks; i++) {
        void *stream = bench_device_stream();

        bench_need("ncclSend", nccl.send(memory + i, 1, CHAR_TYPE, i, comm, stream));
        bench_need("ncclRecv", nccl.recv(memory + ranks + i, 1, CHAR_TYPE, i, comm, stream));
    }
    bench_need("ncclGroupEnd", nccl.group_end());
    bench_device_synchronize();
    bench_memory_free(memory);
}

static void open_nccl(void)
{
    struct unique_id id;
    int rank, ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        bench_need("ncclGetUniqueId", nccl.unique_id(&id));
    }
    MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    bench_need("ncclCommInitRank", nccl.init_rank(&comm, ranks, id, rank));
    connect_all(ranks);
}

static void close_nccl(void)
{
    bench_need("ncclCommDestroy", nccl.destroy(comm));
}

static bool can_enroll(void)
{
    return nccl.enroll != NULL && nccl.dismiss != NULL;
}

static void make(struct bench_link *link)
{
    struct nccl_link *own = bench_alloc(sizeof *own);

    if (can_enroll()) {
        bench_need("ncclCommRegister",
                   nccl.enroll(comm, link->send, link->bytes, &own->send_handle));
        bench_need("ncclCommRegister",
                   nccl.enroll(comm, link->recv, link->bytes, &own->recv_handle));
    }
    link->own = own;
}

static void unmake(struct bench_link *link)
{
    struct nccl_link *own = link->own;

    if (can_enroll()) {
        bench_need("ncclCommDeregister", nccl.dismiss(comm, own->send_handle));
        bench_need("ncclCommDeregister", nccl.dismiss(comm, own->recv_handle));
    }
    free(own);
}

static void move(struct bench_link *link, int what)
{
    void *stream = bench_device_stream();

    bench_need("ncclGroupStart", nccl.group_start());
    for (int i = 0; i < link->num; i++) {
        const struct bench_part *send = &link->sends[i], *recv = &link->recvs[i];

        if ((what & BENCH_SENDS) != 0) {
            bench_need("ncclSend", nccl.send(link->send + send->offset, send->bytes, CHAR_TYPE,
                                             send->peer, comm, stream));
        }
        if ((what & BENCH_RECVS) != 0) {
            bench_need("ncclRecv", nccl.recv(link->recv + recv->offset, recv->bytes, CHAR_TYPE,
                                             recv->peer, comm, stream));
        }
    }
    bench_need("ncclGroupEnd", nccl.group_end());
    link->counts->launches += 1;
}

void bench_nccl_allreduce(struct bench_link *link, size_t words)
{
    bench_need("ncclAllReduce", nccl.all_reduce(link->send, link->recv, words, UINT64_TYPE, SUM,
                                                comm, bench_device_stream()));
    link->counts->launches += 1;
}

void bench_nccl_sum(struct bench_link *link, size_t offset, size_t numbers)
{
    bench_need("ncclAllReduce", nccl.all_reduce(link->send + offset, link->recv + offset, numbers,
                                                DOUBLE_TYPE, SUM, comm, bench_device_stream()));
    link->counts->launches += 1;
}

void bench_nccl_begin(void)
{
    bench_need("ncclGroupStart", nccl.group_start());
}

void bench_nccl_end(void)
{
    bench_need("ncclGroupEnd", nccl.group_end());
}

const struct bench_baseline bench_nccl = {
    .name = "nccl",
    .operations = 1,
    .find = find_nccl,
    .open = open_nccl,
    .close = close_nccl,
    .alloc = bench_memory,
    .free = bench_memory_free,
    .make = make,
    .unmake = unmake,
    .move = move,
};
