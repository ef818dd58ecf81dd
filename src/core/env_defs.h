/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Every environment variable of the library, one line each: the parser, MPIXQ_INFO, the README and
 * mpix_queue(7) all follow this table.
 *
 * MPIXQ_ENV_CHOICE(field, name, default, "choice|choice...", help): the value is the choice's index
 * MPIXQ_ENV_INT(field, name, default, lowest, highest, help)
 */
MPIXQ_ENV_CHOICE(log, "MPIXQ_LOG", "warn", "error|warn|info|debug",
                 "how much the library writes to standard error")
MPIXQ_ENV_CHOICE(info, "MPIXQ_INFO", "0", "0|1",
                 "print what was chosen and why, at MPI_Init and when a queue is made")
MPIXQ_ENV_CHOICE(thread_level, "MPIXQ_THREAD_LEVEL", "auto", "auto|keep|multiple",
                 "thread level asked of MPI: auto raises it to MPI_THREAD_MULTIPLE when the "
                 "library is linked into the program and keeps it under LD_PRELOAD alone")
MPIXQ_ENV_INT(host_stream_depth, "MPIXQ_HOST_STREAM_DEPTH", 8192, 64, 1048576,
              "operations that a host stream holds before a launch waits for room")
MPIXQ_ENV_INT(spin_us, "MPIXQ_SPIN_US", 1000, 0, 1000000,
              "how long a waiting thread polls without sleeping, in microseconds")
MPIXQ_ENV_INT(sleep_max_us, "MPIXQ_SLEEP_MAX_US", 1000, 1, 100000,
              "longest sleep between two polls of a waiting thread, in microseconds")
