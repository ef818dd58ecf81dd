/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Every environment variable of the library, one line each: the parser, MPIXQ_INFO,
 * doc/environment.md and mpix_queue(7) all follow this table.
 *
 * MPIXQ_ENV_CHOICE(field, name, default, "choice|choice...", help): the value is the choice's index
 * MPIXQ_ENV_INT(field, name, default, lowest, highest, help)
 * MPIXQ_ENV_CPUS(field, name, default, "choice|choice...|LIST", help): or a list of CPUs
 * MPIXQ_ENV_CHANNELS(field, name, default, "CHANNEL...", help): names of channels, best first
 * MPIXQ_ENV_TEXT(field, name, default, "WHAT", help): any text; if it is empty, the default
 */
MPIXQ_ENV_CHOICE(log, "MPIXQ_LOG", "warn", "error|warn|info|debug",
                 "how much the library writes to standard error")
MPIXQ_ENV_CHOICE(info, "MPIXQ_INFO", "0", "0|1",
                 "print what was chosen and why, at MPI_Init, when a queue is made, and what "
                 "served at MPI_Finalize")
MPIXQ_ENV_CHOICE(stats, "MPIXQ_STATS", "0", "0|1",
                 "print at MPI_Finalize, on rank 0, what each rank and all together have done: "
                 "starts, launches, posts, puts, bytes, channels, and why not better ones")
MPIXQ_ENV_TEXT(trace, "MPIXQ_TRACE", "none", "FILE",
               "record what requests and queues do, and when, and write it to this file at "
               "MPI_Finalize, on rank 0, for viewers of traces and mpixq_trace; set in all ranks")
MPIXQ_ENV_INT(trace_kib, "MPIXQ_TRACE_KIB", 4096, 64, 4194304,
              "memory of each rank for the records of MPIXQ_TRACE, in KiB; what comes when it is "
              "full is counted and left out")
MPIXQ_ENV_CHOICE(thread_level, "MPIXQ_THREAD_LEVEL", "auto", "auto|keep|multiple",
                 "thread level asked of MPI: auto raises it to MPI_THREAD_MULTIPLE when the "
                 "library is linked into the program and keeps it under LD_PRELOAD alone")
MPIXQ_ENV_CPUS(affinity, "MPIXQ_AFFINITY", "auto", "auto|none|cpuset|LIST",
               "where the library's threads run: auto avoids the CPUs that others are bound to, "
               "none inherits, cpuset is auto beyond what the launcher bound the process to, LIST "
               "is a list of CPUs as in 2,4-7")
MPIXQ_ENV_INT(host_stream_depth, "MPIXQ_HOST_STREAM_DEPTH", 8192, 64, 1048576,
              "operations that a host stream holds before a launch waits for room")
MPIXQ_ENV_INT(spin_us, "MPIXQ_SPIN_US", 1000, 0, 1000000,
              "how long a waiting thread polls without sleeping, in microseconds")
MPIXQ_ENV_INT(sleep_max_us, "MPIXQ_SLEEP_MAX_US", 1000, 1, 100000,
              "longest sleep between two polls of a waiting thread, in microseconds")
MPIXQ_ENV_INT(watchdog_s, "MPIXQ_WATCHDOG_S", 0, 0, 1000000,
              "report a wait or a match that lasts longer, in seconds; 0: never")
MPIXQ_ENV_INT(notice_s, "MPIXQ_NOTICE_S", 300, 0, 1000000,
              "without the watchdog: notice once, in one line, a wait that has blocked a stream "
              "for so long, in seconds, and a match that has waited for a fifth of that; 0: "
              "never")
MPIXQ_ENV_CHOICE(watchdog_action, "MPIXQ_WATCHDOG_ACTION", "report", "report|error",
                 "what else the watchdog does: error ends the wait or match with an error")
MPIXQ_ENV_CHOICE(dump, "MPIXQ_DUMP", "0", "0|1",
                 "on SIGUSR2 write what the process waits for, as the watchdog says it")
MPIXQ_ENV_INT(liveness_s, "MPIXQ_LIVENESS_S", 1, 0, 1000000,
              "look whether the peer of a wait that lasts longer can still take part, in seconds, "
              "and end the wait with an error if not; 0: never")
MPIXQ_ENV_CHOICE(fabric, "MPIXQ_FABRIC", "auto", "auto|none|cxi|sockets",
                 "provider of libfabric for the channel cxi: auto takes cxi where there is such a "
                 "NIC; sockets runs the channel in software, for tests")
MPIXQ_ENV_INT(cxi_nic, "MPIXQ_CXI_NIC", -1, -1, 255,
              "number of the NIC for the channel cxi, as in cxi2, or of the first of several; -1 "
              "for one that is near the GPU and the CPUs of the process")
MPIXQ_ENV_INT(nics, "MPIXQ_NICS", 1, 1, 8,
              "how many NICs the channel cxi of a process may use, the nearest first, or that of "
              "MPIXQ_CXI_NIC; pairs are spread over them")
MPIXQ_ENV_INT(stripe_kib, "MPIXQ_STRIPE_KIB", 1024, 0, 1048576,
              "size of a message in KiB from which it is divided among the NICs of the process, up "
              "to 4, if both ends have several and it is as large for either; 0: none is")
MPIXQ_ENV_INT(triggered_ops, "MPIXQ_TRIGGERED_OPS", -1, -1, 16384,
              "triggered operations that the channel cxi of a process hands to the NIC at a time, "
              "-1 for a share of what the NIC has; what is beyond is done by the host")
MPIXQ_ENV_CHOICE(cxi_data, "MPIXQ_CXI_DATA", "counted", "counted|delivered",
                 "when a receive on the channel cxi is complete: counted, when its NIC has counted "
                 "the data; delivered, when the sender's knows it to be in place, for NICs that "
                 "count too early")
MPIXQ_ENV_CHOICE(cxi_gpu, "MPIXQ_CXI_GPU", "auto", "auto|staged|direct",
                 "buffers in memory of GPUs on the channel cxi: auto has the NIC access those for "
                 "which the GPU's library promises the order that this needs, and copies the "
                 "others through memory of the host; staged copies all; direct copies none that "
                 "can be registered, for systems known to keep the order")
MPIXQ_ENV_CHANNELS(channels, "MPIXQ_CHANNELS", "ipc,cxi,fallback", "LIST",
                   "channels that pairs of this process may use, best first: some of ipc, cxi and "
                   "fallback with commas between them; of those that both ends have, the order of "
                   "the receiver decides")
MPIXQ_ENV_CHOICE(fallback, "MPIXQ_FALLBACK", "allow", "allow|forbid",
                 "deprecated: forbid takes fallback out of the default of MPIXQ_CHANNELS")
MPIXQ_ENV_CHOICE(gpu_ops, "MPIXQ_GPU_OPS", "auto", "auto|kernels|values|unshared",
                 "how queues on streams of GPUs tell the GPU to write and wait: by kernels, or by "
                 "stream memory operations (values); unshared is kernels while no other process "
                 "has queues on the same GPU, else values; auto is unshared on CUDA unless MPS "
                 "serves the GPU, and kernels on HIP")
MPIXQ_ENV_CHOICE(gpu_aware, "MPIXQ_GPU_AWARE", "auto", "auto|no|yes",
                 "does MPI take buffers in memory of GPUs: auto asks MPI; without it they are "
                 "copied through memory of the host, in the order of the stream")
MPIXQ_ENV_INT(part_kib, "MPIXQ_PART_KIB", 1024, 0, 1048576,
              "messages that are copied so and go by MPI are sent in up to 16 parts of at least so "
              "many KiB if there are two, so that copies and transfer overlap; 0: whole")
MPIXQ_ENV_CHOICE(ipc, "MPIXQ_IPC", "auto", "auto|no",
                 "deprecated: no takes ipc out of the default of MPIXQ_CHANNELS")
MPIXQ_ENV_INT(
    eager, "MPIXQ_EAGER", 8192, 0, 65536,
    "bytes of a message up to which a send on the channels ipc and cxi completes without "
    "its receive, if memory for that is left, as both ends have it, and on cxi not if the NIC "
    "receives into memory of a GPU; 0: none does")
MPIXQ_ENV_INT(direct_ranks, "MPIXQ_DIRECT_RANKS", 8, 0, 8,
              "processes in a collective, at most, that send directly to each other, in one round, "
              "or two: those of one node, and those of several in reductions whose numbers NICs "
              "bring to GPUs; GPUs move and combine data by themselves there; the same in all "
              "processes; 0: none do")
MPIXQ_ENV_INT(
    direct_kib, "MPIXQ_DIRECT_KIB", -1, -1, 1048576,
    "size of a broadcast or of a vector to be reduced, in KiB, up to which they do so in one "
    "round; longer vectors are reduced in two; the same in all processes; -1 for less than 32, or "
    "64 if all processes of the node see GPUs, or any size among up to four and two of them, and "
    "two rounds only if they see GPUs; on several nodes as where they see GPUs, if all processes "
    "of the job do and have NICs of the channel cxi, and else none")
MPIXQ_ENV_CHOICE(
    cma, "MPIXQ_CMA", "auto", "auto|no",
    "puts and gets of more than 4096 bytes between processes of a node, by the "
    "fallback: auto has the process that the data is for read it from the memory of "
    "the other (process_vm_readv), where the system lets both do so; else MPI moves it")
MPIXQ_ENV_CHOICE(
    shared_windows, "MPIXQ_SHARED_WINDOWS", "auto", "auto|no",
    "memory of the host that MPIX_Window_allocate makes: auto shares it among the processes of a "
    "node, which put and get by copies of their own, where the system lets them open it; no: as "
    "memory of the program")
