/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_nvshmem.c - the modes nvshmem: NVSHMEM's put with signal and wait for a signal, on a stream
 * or within a kernel, by its documentation
 *
 * Kernels that put need NVSHMEM's device library when they are made. So they come from a file,
 * which nvshmem.sh makes of kernels_nvshmem.cu with the NVSHMEM that is there. All memory is
 * symmetric, and all ranks take part when it is allocated and freed.
 */
#include "bench.h"
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

enum { WITH_UNIQUE_ID = 8, SIGNAL_SET = 9, COMPARE_GE = 5, MAJOR = 3, WORLD = 0 };

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
    int (*sum)(int team, double *to, const double *from, size_t count, void *stream);
    int (*enroll)(void *module);
    int (*dismiss)(void *module);
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
    {(void **)&nvshmem.sum, "nvshmemx_double_sum_reduce_on_stream", true},
    {(void **)&nvshmem.enroll, "nvshmemx_cumodule_init", true},
    {(void **)&nvshmem.dismiss, "nvshmemx_cumodule_finalize", true},
};

struct nvshmem_link {
    uint64_t *signals; /* symmetric, so many for each tag as a message may have parts */
    uint64_t *there;   /* for each message that is sent: its offset in the block of the peer */
    uint64_t *zeros;   /* of the mode in a graph: as many as there are signals, on the device */
    /* Of the modes in a kernel: in memory of the device, those sent and those received. */
    struct bench_put *puts;
    unsigned long long parts; /* of the largest message */
    unsigned threads;
};

static const char *kernel_file;
static void *module, *put_kernel, *fused_kernel, *loop_kernel; /* once loaded */

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

const char *bench_nvshmem_kernels(const char *path)
{
    FILE *file = path == NULL ? NULL : fopen(path, "rb");

    if (nvshmem.enroll == NULL || nvshmem.dismiss == NULL) {
        return "nvshmemx_cumodule_init";
    }
    if (file == NULL) {
        return path == NULL ? "kernels (--nvshmem)" : path;
    }
    fclose(file);
    kernel_file = path;
    return NULL;
}

void *bench_nvshmem_find(const char *name)
{
    return bench_device_find(module, name);
}

static void load_kernels(void)
{
    FILE *file = fopen(kernel_file, "rb");
    long bytes = -1;
    void *code;

    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        bytes = ftell(file);
    }
    bench_need("read the kernels", bytes <= 0);
    rewind(file);
    code = bench_alloc((size_t)bytes);
    bench_need("read the kernels", fread(code, (size_t)bytes, 1, file) != 1);
    fclose(file);
    module = bench_device_load(code);
    free(code);
    put_kernel = bench_device_find(module, "bench_nvshmem_put");
    fused_kernel = bench_device_find(module, "bench_nvshmem_fused");
    loop_kernel = bench_device_find(module, "bench_nvshmem_loop");
    bench_need("nvshmemx_cumodule_init", nvshmem.enroll(module));
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
    if (kernel_file != NULL) {
        load_kernels();
    }
}

static void close_nvshmem(void)
{
    if (module != NULL) {
        bench_need("nvshmemx_cumodule_finalize", nvshmem.dismiss(module));
    }
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

/* The message of a part in a block, with what is the same for those sent and received. */
static struct bench_put put_of(const struct bench_link *link, const struct bench_part *part,
                               unsigned char *block)
{
    const struct nvshmem_link *own = link->own;

    return (struct bench_put){.here = block + part->offset,
                              .data = link->data == NULL ? NULL : link->data + part->offset,
                              .bytes = part->bytes,
                              .each = bench_put_part_bytes(part->bytes),
                              .peer = (unsigned long long)part->peer,
                              .signals = (void *)(own->signals + part->tag * BENCH_PUT_PARTS)};
}

static void make_puts(struct bench_link *link)
{
    struct nvshmem_link *own = link->own;
    size_t n = (size_t)link->num;
    struct bench_put *puts = bench_alloc(2 * n * sizeof *puts);
    unsigned long long largest = 0; /* of the parts */

    for (size_t i = 0; i < n; i++) {
        puts[i] = put_of(link, &link->sends[i], link->send);
        puts[i].there = link->recv + own->there[i];
        puts[n + i] = put_of(link, &link->recvs[i], link->recv);
    }
    for (size_t i = 0; i < 2 * n; i++) {
        unsigned long long bytes = puts[i].bytes, each = puts[i].each;
        unsigned long long parts = (bytes + each - 1) / each;

        own->parts = parts > own->parts ? parts : own->parts;
        bytes = bytes < each ? bytes : each;
        largest = bytes > largest ? bytes : largest;
    }
    own->threads = bench_put_threads(largest);
    own->puts = bench_memory(2 * n * sizeof *puts);
    bench_memory_copy(own->puts, puts, 2 * n * sizeof *puts);
    free(puts);
}

static void make(struct bench_link *link)
{
    struct nvshmem_link *own = bench_alloc(sizeof *own);
    size_t n = (size_t)link->num, num_signals = n * BENCH_PUT_PARTS;
    uint64_t *here = bench_alloc(num_signals * sizeof *here);
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
    own->signals = alloc_symmetric(num_signals * sizeof *own->signals);
    bench_memory_copy(own->signals, here, num_signals * sizeof *here);
    link->own = own;
    if (bench_mode_in_kernel(link->mode)) {
        make_puts(link);
    }
    if (bench_mode_is_graph(link->mode)) {
        own->zeros = bench_memory(num_signals * sizeof *own->zeros);
        bench_memory_copy(own->zeros, here, num_signals * sizeof *here);
    }
    free(requests);
    free(here);
}

static void unmake(struct bench_link *link)
{
    struct nvshmem_link *own = link->own;

    nvshmem.free(own->signals);
    if (own->puts != NULL) {
        bench_memory_free(own->puts);
    }
    if (own->zeros != NULL) {
        bench_memory_free(own->zeros);
    }
    free(own->there);
    free(own);
}

static void move_in_kernel(struct bench_link *link, int what)
{
    const struct nvshmem_link *own = link->own;
    unsigned long long n = (unsigned long long)link->num;
    bool sends = (what & BENCH_SENDS) != 0;
    struct bench_puts all = {.sends = own->puts,
                             .recvs = own->puts + n,
                             .num_sends = sends ? n : 0,
                             .num_recvs = (what & BENCH_RECVS) != 0 ? n : 0,
                             .parts = own->parts,
                             .sent = link->sent,
                             .received = link->received,
                             .follows = link->follows};
    void *parameters[] = {&all};

    bench_device_run(link->mode == BENCH_NVSHMEM_FUSED ? fused_kernel : put_kernel,
                     sends ? own->parts : 1, sends ? n : 1, own->threads, parameters);
    link->counts->launches += 1;
}

static void bounce(struct bench_link *link, bool leads, long rounds)
{
    const struct nvshmem_link *own = link->own;
    struct bench_puts all = {.sends = own->puts,
                             .recvs = own->puts + 1,
                             .sent = link->sent,
                             .received = link->received,
                             .follows = !leads,
                             .rounds = (unsigned long long)rounds};
    void *parameters[] = {&all};

    bench_device_run(loop_kernel, 1, 1, own->threads, parameters);
    link->sent += all.rounds;
    link->received += all.rounds;
    link->counts->launches += 1;
}

/* A graph sets and awaits the same value each time, so the signals go back to 0 once all have come.
 * Nobody sets them anew before: who sends next has to have what this rank sends behind that. */
static void reset_signals(const struct bench_link *link)
{
    const struct nvshmem_link *own = link->own;

    bench_device_copy(own->signals, own->zeros,
                      (size_t)link->num * BENCH_PUT_PARTS * sizeof *own->signals);
}

static void move(struct bench_link *link, int what)
{
    const struct nvshmem_link *own = link->own;
    bool in_graph = bench_mode_is_graph(link->mode);
    void *stream = bench_device_stream();

    if (bench_mode_in_kernel(link->mode)) {
        move_in_kernel(link, what);
        return;
    }

    for (int i = 0; (what & BENCH_SENDS) != 0 && i < link->num; i++) {
        const struct bench_part *part = &link->sends[i];

        nvshmem.put_signal(link->recv + own->there[i], link->send + part->offset, part->bytes,
                           &own->signals[part->tag * BENCH_PUT_PARTS], in_graph ? 1 : link->sent,
                           SIGNAL_SET, part->peer, stream);
    }
    for (int i = 0; (what & BENCH_RECVS) != 0 && i < link->num; i++) {
        nvshmem.wait_signal(&own->signals[link->recvs[i].tag * BENCH_PUT_PARTS], COMPARE_GE,
                            in_graph ? 1 : link->received, stream);
    }
    if (in_graph && (what & BENCH_RECVS) != 0) {
        reset_signals(link);
    }
    link->counts->launches += what == (BENCH_SENDS | BENCH_RECVS) ? 2 * link->num : link->num;
}

/* A word and its signal, to the next rank and from the one before. */
static void put_in_ring(void *arg)
{
    uint64_t *words = arg;
    int rank, ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    nvshmem.put_signal(words, words + 1, sizeof *words, words + 2, 1, SIGNAL_SET,
                       (rank + 1) % ranks, bench_device_stream());
    nvshmem.wait_signal(words + 2, COMPARE_GE, 1, bench_device_stream());
}

const char *bench_nvshmem_refused(void)
{
    const uint64_t zeros[3] = {0};
    uint64_t *words = alloc_symmetric(sizeof zeros);
    bool can;

    bench_memory_copy(words, zeros, sizeof zeros);
    MPI_Barrier(MPI_COMM_WORLD);
    put_in_ring(words); /* what comes with first calls is no matter of graphs */
    bench_device_synchronize();
    can = bench_graph_can(put_in_ring, words);
    MPI_Barrier(MPI_COMM_WORLD);
    free_symmetric(words);
    return can ? NULL : "graphs of NVSHMEM's calls";
}

bool bench_nvshmem_has_sum(void)
{
    return nvshmem.sum != NULL;
}

void bench_nvshmem_sum(struct bench_link *link, size_t offset, size_t numbers)
{
    bench_need("nvshmemx_double_sum_reduce_on_stream",
               nvshmem.sum(WORLD, (double *)(void *)(link->recv + offset),
                           (const double *)(const void *)(link->send + offset), numbers,
                           bench_device_stream()));
    link->counts->launches += 1;
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
    .bounce = bounce,
};
