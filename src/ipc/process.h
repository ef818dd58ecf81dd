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
        struct ipc_page *pages; /* told.c; under the first lock */
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
/* told.c. Map a file with words for the host of a process; NULL: it is not to be had. */
void *mpixq_ipc_map_told(const struct mpixq_process *process, int file, int protection);
/* What the host of the peer has of its end, or NULL. Under the open lock. */
const struct ipc_told *mpixq_ipc_told_of(const struct ipc_blob *theirs);
void mpixq_ipc_pages_close(void);

extern struct ipc_process mpixq_ipc __attribute__((visibility("hidden"))); /* as static */

#endif
