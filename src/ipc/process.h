/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a process has of the channel ipc, for the files that it is made of.
 */
#ifndef MPIXQ_IPC_PROCESS_H
#define MPIXQ_IPC_PROCESS_H

#include <stdalign.h>

#include "ipc.h"
#include "util/lock.h"

/* Until the channel is closed: the locks, and what they guard. */
struct ipc_process {
    /* ends.c */
    struct {
        /* Guards the list, and is held while a GPU's library is called: nobody whom a GPU may wait
         * for takes it. */
        struct mpixq_lock lock;
        struct ipc_place *first;
        /* Guards which ends are taken. A leaf. */
        struct mpixq_lock ends;
    } places;
    /* open.c */
    struct {
        /* Held while something is opened or closed: nobody whom a GPU may wait for takes it. */
        struct mpixq_lock lock;
        /* Guards the lists, and how many use an import. A leaf. */
        struct mpixq_lock lists;
        struct ipc_import *imports;
        /* Their peers have freed their ends, and they may have a buffer open. */
        struct ipc_end *gone;
    } opened;
    /* fds.c. The lock guards the rest. A leaf. */
    struct {
        struct mpixq_lock lock;
        struct ipc_fd *first;
        int mailbox[2];
    } fds;
    /* live.c. The lock, which each start takes, guards the list. A leaf. */
    struct {
        alignas(64) struct mpixq_lock lock;
        struct ipc_end *first;
    } live;
};
extern struct ipc_process mpixq_ipc __attribute__((visibility("hidden"))); /* as static */

#endif
