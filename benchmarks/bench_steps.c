/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * bench_steps.c - what an exchange, or a hop of a ping-pong, consists of in each mode on a device
 *
 * Between pack and unpack; who does without these does the rest.
 */
#include "bench.h"

static const char *const steps[BENCH_NUM_MODES] = {
    [BENCH_MPI_BLOCKING] = "copy to the host, synchronize, MPI without requests kept, copy back",
    [BENCH_MPI_PERSISTENT] = "copy to the host, synchronize, Startall, Waitall, copy back",
    [BENCH_MPI_PIPELINED] = "the same, beside one Iallreduce for each iteration",
    [BENCH_HOST] = "the same, requests matched",
    [BENCH_STREAM] = "Enqueue_startall, Enqueue_waitall, or both by one call",
    [BENCH_STREAM_READY] = "the same, ready sends",
    [BENCH_STREAM_GRAPH] = "stream, replayed as a graph of 20 iterations; launches: of the graph",
    [BENCH_STREAM_READY_GRAPH] = "stream-ready, replayed likewise",
    [BENCH_FUSED] =
        "one kernel for pack, put, get and unpack of all messages, and all that is computed",
    [BENCH_FUSED_GRAPH] = "stream-fused, replayed likewise",
    [BENCH_STREAM_PIPELINED] = "stream, beside one allreduce for each iteration",
    [BENCH_STREAM_PIPELINED_GRAPH] = "stream-pipelined, replayed likewise",
    [BENCH_MPI_AWARE] = "synchronize, Startall, Waitall with memory of the device",
    [BENCH_MPI_AWARE_ONE] = "the same, one message for each peer",
    [BENCH_PEER_COPY] = "a copy to the peer each; synchronize; an empty persistent message each",
    [BENCH_PEER_COPY_ONE] = "the same, one message for each peer",
    [BENCH_NCCL] = "a group of sends and receives (ping-pong: one call each), registered buffers",
    [BENCH_NCCL_ONE] = "the same, one message for each peer (ping-pong, Jacobi: all in a group)",
    [BENCH_NCCL_GRAPH] = "nccl, replayed as a graph of 20 iterations; launches: of the graph",
    [BENCH_NCCL_ONE_GRAPH] = "nccl-one, replayed likewise",
    [BENCH_NVSHMEM] = "for each message putmem_signal_on_stream, signal_wait_until_on_stream",
    [BENCH_NVSHMEM_ONE] = "the same, one message for each peer",
    [BENCH_NVSHMEM_GRAPH] =
        "nvshmem-one, replayed as a graph of 20 iterations, which resets signals",
    [BENCH_NVSHMEM_DEVICE] = "one kernel: for each message putmem_signal_block, signal_wait_until",
    [BENCH_NVSHMEM_DEVICE_ONE] = "the same, one message for each peer",
    [BENCH_NVSHMEM_FUSED] = "one kernel for pack, putmem_signal_block, signal_wait_until, unpack",
    [BENCH_NVSHMEM_LOOP] =
        "one kernel at each end that does nvshmem-device in a loop, by one block",
    [BENCH_PLAIN_COPY] = "a copy to the peer, which is not told; one after the other",
    [BENCH_ONE_KERNEL] = "one kernel at each end that copies and signals in a loop, by one block",
    [BENCH_DEVICE_LOOP] =
        "one kernel at each end: Device_begin, put64 or get64, Device_end in a loop, by one block",
    [BENCH_MPI_PUT] = "MPI_Put each, flush, an empty persistent message for each peer",
    [BENCH_MPI_PUT_ALLOC] = "the same, in memory that MPI_Win_allocate gives",
    [BENCH_HOST_PUT] = "Plan_start; Signal_wait_reset of what comes and of what leaves",
    [BENCH_STREAM_PUT] = "the same, enqueued; on a device not what is about what leaves",
    [BENCH_HOST_PUT_ALLOC] = "host-put, in memory that MPIX_Window_allocate gives",
    [BENCH_STREAM_PUT_ALLOC] = "stream-put, in such memory",
    [BENCH_STREAM_PUT_GRAPH] = "stream-put, replayed as a graph of 20 iterations",
    [BENCH_DEVICE_PUT] = "one kernel: for each message Device_put_signal; Device_signal_wait_reset",
    [BENCH_PUT_LOOP] = "one kernel at each end that does device-put in a loop, by one block",
};

void bench_print_steps(FILE *out, const struct bench_options *opts)
{
    fputs("calls between pack and unpack:\n", out);
    for (int mode = 0; mode < BENCH_NUM_MODES; mode++) {
        if (opts->use_mode[mode]) {
            fprintf(out, "  %-18s %s\n", bench_mode_names[mode], steps[mode]);
        }
    }
}
