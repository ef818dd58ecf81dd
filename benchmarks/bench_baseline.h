/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_baseline.h - other ways to move the same messages: what the library is compared with
 * between GPUs, and puts with signals, its own and by MPI
 *
 * A baseline is a table of functions. A link is what a rank sends and receives at once by one of
 * them: two blocks of memory, and the messages as parts of them. All of it is CPU-driven or on the
 * stream, and writes to the receive buffers of others when it likes: the benchmarks are such that
 * ready sends are right, see there, and so is this.
 */
#ifndef MPIXQ_BENCH_BASELINE_H
#define MPIXQ_BENCH_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpix_queue.h>

#include "bench_fabric.h"

struct bench_counts;
struct bench_options;
struct bench_usage;

/* A message in a block. The tag is the same at both ends; those of what a rank receives differ, and
 * are below the number of messages that are received. Messages between two ranks are in the same
 * order at both. */
struct bench_part {
    int peer, tag;
    size_t offset, bytes;
};

#define BENCH_MAX_PARTS 2048

struct bench_link {
    enum bench_mode mode;
    int num; /* that are sent, and as many are received */
    const struct bench_part *sends, *recvs;
    size_t bytes;               /* of each block */
    unsigned char *send, *recv; /* the blocks */
    uint64_t sent, received;    /* how often */
    /* Where one kernel packs and unpacks as well: the data, which has the parts where the blocks
     * have them; or NULL. Does it receive first, and then send? */
    unsigned char *data;
    bool follows;
    struct bench_counts *counts;
    MPIX_Queue queue; /* of those that are enqueued on one */
    void *own;        /* of the baseline */
};

/* The rest: what is left of sends whose memory is not to be written yet. Each of the calls for
 * receives sees to it too. */
enum { BENCH_SENDS = 1, BENCH_RECVS = 2, BENCH_REST = 4 };

struct bench_baseline {
    const char *name; /* column channel */
    bool by_host;     /* the host drives it, so nothing is enqueued ahead */
    bool on_queue;    /* of the library */
    int operations;   /* on the stream at most: for each message; on_queue: for all */
    /* What is missing here; NULL: nothing. Of the modes put it is collective, and may be NULL, as
     * may the two that follow, which are collective for all, like the four after them. */
    const char *(*find)(void);
    void (*open)(void);
    void (*close)(void);
    /* The blocks; NULL: make and unmake do. */
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);
    void (*make)(struct bench_link *link);
    void (*unmake)(struct bench_link *link);
    /* Put on the stream, or do: all sends, all receives, or both together. */
    void (*move)(struct bench_link *link, int what);
    /* Of modes that loop: one end of a ping-pong of so many round trips, as one kernel. */
    void (*bounce)(struct bench_link *link, bool leads, long rounds);
};

extern const struct bench_baseline bench_aware, bench_peer, bench_nccl, bench_nvshmem, bench_plain,
    bench_kernel, bench_device_loop, bench_mpi_put, bench_host_put, bench_stream_put,
    bench_device_put;

/* The sum of so many words of a link of bench_nccl without parts, over all ranks. */
void bench_nccl_allreduce(struct bench_link *link, size_t words);
/* The same of numbers (double) in the blocks, so many bytes behind their beginnings; by NCCL, and
 * enqueued by NVSHMEM. */
void bench_nccl_sum(struct bench_link *link, size_t offset, size_t numbers);
bool bench_nvshmem_has_sum(void);
void bench_nvshmem_sum(struct bench_link *link, size_t offset, size_t numbers);
/* What bench_nccl is given in between is one group. */
void bench_nccl_begin(void);
void bench_nccl_end(void);

/* The kernels for NVSHMEM are in this file, from which they are loaded when it is opened. What is
 * missing; NULL: nothing. */
const char *bench_nvshmem_kernels(const char *path);
/* Of those kernels, one that other code launches. */
void *bench_nvshmem_find(const char *name);
/* Why a graph cannot have NVSHMEM's calls on a stream, of which each rank makes one of each first;
 * NULL: it can. Collective, once it is open. */
const char *bench_nvshmem_refused(void);
/* What puts in memory of the device lack, on a queue as well. Collective. */
const char *bench_put_on_device(bool on_queue);

static inline bool bench_mode_is_baseline(enum bench_mode mode)
{
    return mode >= BENCH_REQUEST_MODES && mode < BENCH_NUM_MODES;
}

/* One message in place of several, or what else makes one call of two. */
static inline bool bench_mode_is_one(enum bench_mode mode)
{
    return mode == BENCH_MPI_AWARE_ONE || mode == BENCH_PEER_COPY_ONE || mode == BENCH_NCCL_ONE ||
           mode == BENCH_NCCL_ONE_GRAPH || mode == BENCH_NVSHMEM_ONE ||
           mode == BENCH_NVSHMEM_GRAPH || mode == BENCH_NVSHMEM_DEVICE_ONE;
}

/* One kernel makes all round trips of a batch. */
static inline bool bench_mode_loops(enum bench_mode mode)
{
    return mode == BENCH_ONE_KERNEL || mode == BENCH_DEVICE_LOOP || mode == BENCH_NVSHMEM_LOOP ||
           mode == BENCH_PUT_LOOP;
}

/* A kernel sends and receives all messages at once. */
static inline bool bench_mode_in_kernel(enum bench_mode mode)
{
    return mode == BENCH_NVSHMEM_DEVICE || mode == BENCH_NVSHMEM_DEVICE_ONE ||
           mode == BENCH_NVSHMEM_FUSED || mode == BENCH_NVSHMEM_LOOP || mode == BENCH_DEVICE_PUT ||
           mode == BENCH_PUT_LOOP;
}

/* One reduction for each iteration of conjugate gradients, beside a product with the matrix. */
static inline bool bench_mode_is_pipelined(enum bench_mode mode)
{
    return mode == BENCH_MPI_PIPELINED || mode == BENCH_STREAM_PIPELINED ||
           mode == BENCH_STREAM_PIPELINED_GRAPH;
}

static inline bool bench_mode_is_graph(enum bench_mode mode)
{
    return mode == BENCH_STREAM_GRAPH || mode == BENCH_STREAM_READY_GRAPH ||
           mode == BENCH_FUSED_GRAPH || mode == BENCH_STREAM_PIPELINED_GRAPH ||
           mode == BENCH_NCCL_GRAPH || mode == BENCH_NCCL_ONE_GRAPH ||
           mode == BENCH_NVSHMEM_GRAPH || mode == BENCH_STREAM_PUT_GRAPH;
}

const struct bench_baseline *bench_baseline(enum bench_mode mode);
/* What a baseline takes on the stream at most, to send and receive so many messages. */
int bench_baseline_operations(enum bench_mode mode, int messages);

/* Of puts in kernels, NVSHMEM's and this library's: the bytes that a block puts of a message, but
 * for the last one, as both of its ends know; and threads for so many bytes, of 16 each. */
size_t bench_put_part_bytes(size_t bytes);
unsigned bench_put_threads(size_t part_bytes);

/* What is enqueued goes on a queue of the library. */
bool bench_mode_is_queued(enum bench_mode mode);

/* A stream of the device does it by itself, and can have it enqueued ahead. */
bool bench_mode_is_enqueued(enum bench_mode mode);

/* Those that are wanted. A mode, of these or of the library's graphs, that lacks something is told
 * and left out where it was not named by itself (opts->if_there); false if it was, or if none is
 * left. Collective, after bench_device_open. */
bool bench_baselines_open(struct bench_options *opts, const struct bench_usage *usage);
void bench_baselines_close(const struct bench_options *opts);

/* Make the blocks of a link that has its mode and its parts. Collective. */
void bench_link_open(struct bench_link *link);
void bench_link_close(struct bench_link *link);
void bench_link_move(struct bench_link *link, int what);

/* For the baselines: end the program unless the code is 0. */
void bench_need(const char *what, int code);
/* Look up functions by their names in the first library that is there; what is missing, or NULL.
 * The library stays. */
struct bench_symbol {
    void **address;
    const char *name;
    bool optional;
};
const char *bench_load(const char *const libraries[], const struct bench_symbol symbols[], int num);

#endif
