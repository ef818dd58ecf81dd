/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Every channel that serves matched pairs: MPIXQ_CHANNEL(number, NAME, name, build, choice), best
 * first. The number is what it is called on the wire, and is never used for another one. build:
 * which builds have it, ALWAYS or as core/channels.c says. choice: CHOSEN, MPIXQ_CHANNELS may leave
 * it out; or KEPT, it may not. doc/design.md, section 7, says how to add one.
 */
MPIXQ_CHANNEL(4, IPC, ipc, ALWAYS, CHOSEN)           /* peer-mapped GPU memory */
MPIXQ_CHANNEL(1, SELF, self, ALWAYS, KEPT)           /* both ends in this process */
MPIXQ_CHANNEL(3, CXI, cxi, WITH_LIBFABRIC, CHOSEN)   /* deferred work of the NIC */
MPIXQ_CHANNEL(2, FALLBACK, fallback, ALWAYS, CHOSEN) /* persistent requests of MPI */
