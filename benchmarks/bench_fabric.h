/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_fabric.h - modes, the channel that matched requests go by, and published counts
 */
#ifndef MPIXQ_BENCH_FABRIC_H
#define MPIXQ_BENCH_FABRIC_H

#include <stdbool.h>
#include <stdio.h>

struct bench_options;

enum bench_mode {
    BENCH_MPI_BLOCKING,
    BENCH_MPI_PERSISTENT, /* the others are compared with this one */
    BENCH_MPI_PIPELINED,  /* of mpixq_cg, as are all pipelined ones */
    BENCH_HOST,           /* the same calls with matched requests */
    BENCH_STREAM,
    BENCH_STREAM_READY,
    BENCH_STREAM_GRAPH,
    BENCH_STREAM_READY_GRAPH,
    BENCH_FUSED,
    BENCH_FUSED_GRAPH,
    BENCH_STREAM_PIPELINED,
    BENCH_STREAM_PIPELINED_GRAPH,
    BENCH_REQUEST_MODES, /* those above have requests of MPI; those below are bench_baseline.h's */
    BENCH_MPI_AWARE = BENCH_REQUEST_MODES,
    BENCH_MPI_AWARE_ONE,
    BENCH_PEER_COPY,
    BENCH_PEER_COPY_ONE,
    BENCH_NCCL,
    BENCH_NCCL_ONE,
    BENCH_NCCL_GRAPH,
    BENCH_NCCL_ONE_GRAPH,
    BENCH_NVSHMEM,
    BENCH_NVSHMEM_ONE,
    BENCH_NVSHMEM_GRAPH, /* of the one before */
    BENCH_NVSHMEM_DEVICE,
    BENCH_NVSHMEM_DEVICE_ONE,
    BENCH_NVSHMEM_FUSED,
    BENCH_NVSHMEM_LOOP,
    BENCH_PLAIN_COPY,
    BENCH_ONE_KERNEL,
    BENCH_DEVICE_LOOP,
    BENCH_PUT_MODES, /* most of them on the host, too or only */
    BENCH_MPI_PUT = BENCH_PUT_MODES,
    BENCH_MPI_PUT_ALLOC,
    BENCH_HOST_PUT,
    BENCH_STREAM_PUT,
    BENCH_HOST_PUT_ALLOC,
    BENCH_STREAM_PUT_ALLOC,
    BENCH_STREAM_PUT_GRAPH,
    BENCH_DEVICE_PUT,
    BENCH_PUT_LOOP,
    BENCH_NUM_MODES
};

/* By which channel matched requests go, and over which fabric. */
enum bench_channel { BENCH_CHANNEL_AUTO, BENCH_CHANNEL_CXI, BENCH_CHANNEL_FALLBACK };
enum bench_fabric { BENCH_FABRIC_AUTO, BENCH_FABRIC_NONE, BENCH_FABRIC_SOCKETS, BENCH_FABRIC_CXI };

bool bench_parse_channel(const char *text, enum bench_channel *channel_p);
bool bench_parse_fabric(const char *text, enum bench_fabric *fabric_p);
/* Set the environment as the command line asks for it. Before MPI_Init. */
void bench_set_channel(int argc, char *argv[]);
/* Can it be done here? If not, rank 0 has told why. Collective. */
bool bench_check_channel(const struct bench_options *opts);
void bench_print_channel(FILE *out, const struct bench_options *opts);

/* Operations of an exchange by the implementation that the abstraction was published with. */
struct bench_published {
    int launches, posts; /* 0: the mode has no counterpart there */
};

struct bench_published bench_published(enum bench_mode mode, int messages);

#endif
