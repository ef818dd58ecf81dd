/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * How many trigger entries of its NIC this process may use. They are divided among the processes of
 * the user on this node, which hold their shares in a table in shared memory: which process, of
 * which MPI_COMM_WORLD, is on which NIC. Only the user can open it.
 *
 * A world whose ranks have not all chosen a NIC is counted with all that may still come to this
 * one. Whoever comes or goes sets the limits of all: a limit is never below what its process uses,
 * and on a NIC they never add up to more than it has. So a process that comes late may get less
 * than its share, or nothing, until another gives entries back. Without a table a process has its
 * part by the number of ranks of the node, which is what it can be sure of.
 *
 * Join and leave are called when the fabric is opened and closed, the others under nic.lock.
 */
#ifndef MPIXQ_CXI_SHARES_H
#define MPIXQ_CXI_SHARES_H

#include <stdbool.h>

#include "util/ident.h"
#include "util/process.h"

/* The usual folder of the table. */
#define MPIXQ_CXI_SHARES "/dev/shm"

/* Who wants entries, and of what. */
struct cxi_sharer {
    struct mpixq_process process;
    struct mpixq_ident world;  /* its MPI_COMM_WORLD, on this node */
    int ranks;                 /* of that on this node */
    struct mpixq_ident device; /* its NIC */
    int depth;                 /* entries of that */
};

/* A fixed number of entries, without a table. */
void mpixq_cxi_shares_fix(int entries);
/* Divide by the table in a folder. NULL; or why it cannot be used: then by the ranks of the node.
 */
const char *mpixq_cxi_shares_join(const char *folder, const struct cxi_sharer *me);
void mpixq_cxi_shares_leave(void);

/* How many this process may use now, and how many of these it does not use. */
int mpixq_cxi_shares_limit(void);
int mpixq_cxi_shares_room(void);
/* Use one. False: there is none. */
bool mpixq_cxi_shares_take(void);
void mpixq_cxi_shares_give(void);
/* There is none left, with so many in use: have others given back some by now? Takes a moment only
 * if this process has less than its share. */
void mpixq_cxi_shares_ask(int used);

#endif
