/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The performance variables of the library: MPIXQ_PVAR(name, class without MPI_T_PVAR_CLASS_,
 * member of struct mpixq_stats, description), MPIXQ_PVARS_OF(channel, its id) for four of each, and
 * MPIXQ_PVARS_BY(way that puts and gets go, its id, what that is) for two. mpix_queue(7) lists the
 * same.
 */
MPIXQ_PVAR(mpixq_queues, COUNTER, queues, "queues that were made")
MPIXQ_PVAR(mpixq_starts, COUNTER, starts, "starts of matched requests, by queues and by the host")
MPIXQ_PVAR(mpixq_starts_by_host, COUNTER, by_host, "those of them by MPI_Start and MPI_Startall")
MPIXQ_PVAR(mpixq_waits, COUNTER, waits, "waits for requests, on queues")
MPIXQ_PVAR(mpixq_launches, COUNTER, launches, "operations launched on the streams of queues")
MPIXQ_PVAR(mpixq_posts, COUNTER, posts, "operations handed to MPI or a NIC, for queues")
MPIXQ_PVAR(mpixq_rings, COUNTER, rings, "triggers of a NIC, for queues")
MPIXQ_PVAR(mpixq_stalls, COUNTER, stalls,
           "starts on queues that no triggered operation was left for in time")
MPIXQ_PVARS_OF(ipc, MPIXQ_CHANNEL_IPC)
MPIXQ_PVARS_OF(cxi, MPIXQ_CHANNEL_CXI)
MPIXQ_PVARS_OF(fallback, MPIXQ_CHANNEL_FALLBACK)
MPIXQ_PVARS_OF(self, MPIXQ_CHANNEL_SELF)
MPIXQ_PVAR(mpixq_starts_null, COUNTER, of[MPIXQ_CHANNEL_NULL].starts,
           "starts of requests to and from MPI_PROC_NULL")
MPIXQ_PVAR(mpixq_windows, COUNTER, rma.windows, "windows that were made")
MPIXQ_PVAR(mpixq_puts, COUNTER, rma.puts, "puts that were started, by queues and by the host")
MPIXQ_PVAR(mpixq_puts_by_host, COUNTER, rma.by_host,
           "those of them by MPIX_Put and MPIX_Plan_start")
MPIXQ_PVAR(mpixq_puts_of_graphs, COUNTER, rma.of_graphs,
           "those of them that a thread of the library has made for graphs")
MPIXQ_PVAR(mpixq_gets, COUNTER, rma.gets, "gets that were started")
MPIXQ_PVAR(mpixq_bytes_put, AGGREGATE, rma.bytes_put, "bytes of these puts")
MPIXQ_PVAR(mpixq_bytes_got, AGGREGATE, rma.bytes_got, "bytes of these gets")
MPIXQ_PVAR(mpixq_signal_waits, COUNTER, rma.waits, "waits for signals, by queues and by the host")
MPIXQ_PVAR(mpixq_signal_resets, COUNTER, rma.resets, "resets of signals, by queues and by the host")
MPIXQ_PVARS_BY(messages, MPIXQ_WAY_MESSAGES, "by messages of MPI")
MPIXQ_PVARS_BY(read, MPIXQ_WAY_READ,
               "by these messages whose data was read out of the memory of the other process")
MPIXQ_PVARS_BY(shared, MPIXQ_WAY_SHARED, "by copies into memory that processes of a node share")
MPIXQ_PVARS_BY(nics, MPIXQ_WAY_NICS, "by NICs of the channel cxi")
MPIXQ_PVARS_BY(gpus, MPIXQ_WAY_GPUS, "by GPUs")
MPIXQ_PVARS_BY(self, MPIXQ_WAY_SELF, "within the process")
