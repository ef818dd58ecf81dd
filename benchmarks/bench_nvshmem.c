/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_nvshmem.c - the modes nvshmem: NVSHMEM's put with signal and wait for a signal on a stream,
 * by its documentation
 *
 * A kernel that puts by itself needs NVSHMEM's device library when it is built; that form is not
 * here. All memory is symmetric, and all ranks take part when it is allocated and freed.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { WITH_UNIQUE_ID = 8, SIGNAL_SET = 9, COMPARE_GE = 5, MAJOR = 3 };

/* The layouts are versioned: 1, and their size. */
#define VERSION_OF(object) ((1 << 16) + (int)sizeof(object))

struct unique_id {
    int version;
    char bytes[124];
};

struct init_args {
    int version;
    struct {
        int version;
        struct unique_id *id;
        int rank, ranks;
    } by_id;
    char reserved[96];
};

struct init_attr {
    int version;
    void *mpi_comm;
    struct init_args args;
};

static struct {
    void (*version)(int *major_p, int *minor_p, int *patch_p);
    int (*unique_id)(struct unique_id *id_p);
    int (*set_args)(int rank, int ranks, const struct unique_id *id, struct init_attr *attr_p);
    int (*init)(unsigned flags, struct init_attr *attr);
    void (*finalize)(void);
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);
    void (*put_signal)(void *to, const void *from, size_t bytes, uint64_t *signal, uint64_t value,
                       int op, int peer, void *stream);
    void (*wait_signal)(uint64_t *signal, int compare, uint64_t value, void *stream);
} nvshmem;

static const struct bench_symbol symbols[] = {
    {(void **)&nvshmem.version, "nvshmemx_vendor_get_version_info", false},
    {(void **)&nvshmem.unique_id, "nvshmemx_get_uniqueid", false},
    {(void **)&nvshmem.set_args, "nvshmemx_set_attr_uniqueid_args", false},
    {(void **)&nvshmem.init, "nvshmemx_hostlib_init_attr", false},
    {(void **)&nvshmem.finalize, "nvshmemx_hostlib_finalize", false},
    {(void **)&nvshmem.alloc, "nvshmem_malloc", false},
    {(void **)&nvshmem.free, "nvshmem_free", false},
    {(void **)&nvshmem.put_signal, "nvshmemx_putmem_signal_on_stream", false},
    {(void **)&nvshmem.wait_signal, "nvshmemx_signal_wait_until_on_stream", false},
};

struct nvshmem_link {
    uint64_t *signals; /* symmetric, one for each tag */
    uint64_t *there;   /* for each message that is sent: its offset in the block of the peer */
};

static const char *find_nvshmem(void)
{
    static const char *const libraries[] = {"libnvshmem_host.so.3", NULL};
    static const char *missing;
    static bool looked;
    int major = 0, minor, patch;

    if (bench_device_vendor() != BENCH_ON_CUDA) {
        return "CUDA";
    }
    if (!looked) {
        looked = true;
        missing = bench_load(libraries, symbols, (int)(sizeof symbols / sizeof symbols[0]));
        if (missing == NULL) {
            nvshmem.version(&major, &minor, &patch);
            missing = major == MAJOR ? NULL : "NVSHMEM 3";
        }
    }
    return missing;
}

static void open_nvshmem(void)
{
    struct unique_id id = {.version = VERSION_OF(id)};
    struct init_attr attr = {.version = VERSION_OF(attr)};
    int rank, ranks;

    attr.args.version = VERSION_OF(attr.args);
    attr.args.by_id.version = VERSION_OF(attr.args.by_id);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        bench_need("nvshmemx_get_uniqueid", nvshmem.unique_id(&id));
    }
    MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    bench_need("nvshmemx_set_attr_uniqueid_args", nvshmem.set_args(rank, ranks, &id, &attr));
    bench_need("nvshmemx_hostlib_init_attr", nvshmem.init(WITH_UNIQUE_ID, &attr));
}

static void close_nvshmem(void)
{
    nvshmem.finalize();
}

/* The same on all ranks: what the largest needs. */
static void *alloc_symmetric(size_t bytes)
{
    unsigned long long most = bytes;
    void *memory;

    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    memory = nvshmem.alloc((size_t)most);
    bench_need("nvshmem_malloc", memory == NULL);
    return memory;
}

static void free_symmetric(void *memory)
{
    nvshmem.free(memory);
}

static void make(struct bench_link *link)
{
    struct nvshmem_link *own = bench_alloc(sizeof *own);
    size_t n = (size_t)link->num;
    uint64_t *here = bench_alloc(n * sizeof *here);
    MPI_Request *requests = bench_alloc(n * sizeof(MPI_Request));

    own->there = bench_alloc(n * sizeof *own->there);
    for (int i = 0; i < link->num; i++) {
        here[i] = link->recvs[i].offset;
        PMPI_Isend(&here[i], 1, MPI_UINT64_T, link->recvs[i].peer, link->recvs[i].tag,
                   MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < link->num; i++) {
        PMPI_Recv(&own->there[i], 1, MPI_UINT64_T, link->sends[i].peer, link->sends[i].tag,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    PMPI_Waitall(link->num, requests, MPI_STATUSES_IGNORE);
    /* Now zeros, which the barrier behind this makes true for all. */
    memset(here, 0, n * sizeof *here);
    own->signals = alloc_symmetric(n * sizeof *own->signals);
    bench_memory_copy(own->signals, here, n * sizeof *here);
    link->own = own;
    free(requests);
    free(here);
}

static void unmake(struct bench_link *link)
{
    struct nvshmem_link *own = link->own;

    nvshmem.free(own->signals);
    free(own->there);
    free(own);
}

static void move(struct bench_link *link, int what)
{
    const struct nvshmem_link *own = link->own;
    void *stream = bench_device_stream();

    for (int i = 0; (what & BENCH_SENDS) != 0 && i < link->num; i++) {
        const struct bench_part *part = &link->sends[i];

        nvshmem.put_signal(link->recv + own->there[i], link->send + part->offset, part->bytes,
                           &own->signals[part->tag], link->sent, SIGNAL_SET, part->peer, stream);
    }
    for (int i = 0; (what & BENCH_RECVS) != 0 && i < link->num; i++) {
        nvshmem.wait_signal(&own->signals[link->recvs[i].tag], COMPARE_GE, link->received, stream);
    }
    link->counts->launches += what == (BENCH_SENDS | BENCH_RECVS) ? 2 * link->num : link->num;
}

const struct bench_baseline bench_nvshmem = {
    .name = "nvshmem",
    .operations = 3, /* the copy, the signal, and the wait for another one */
    .find = find_nvshmem,
    .open = open_nvshmem,
    .close = close_nvshmem,
    .alloc = alloc_symmetric,
    .free = free_symmetric,
    .make = make,
    .unmake = unmake,
    .move = move,
};
