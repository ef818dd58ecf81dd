/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The performance variables of the library: MPIXQ_PVAR(name, class without MPI_T_PVAR_CLASS_,
 * member of struct mpixq_stats, description), and MPIXQ_PVARS_OF(channel, its id) for four of each.
 * mpix_queue(7) lists the same.
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
