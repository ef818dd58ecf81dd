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

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/ident.h"
#include "util/process.h"

struct mpixq_lock;

/* The usual folder of the table. */
#define MPIXQ_CXI_SHARES "/dev/shm"

/* Who wants entries, and of what. */
struct cxi_sharer {
    struct mpixq_process process;
    struct mpixq_ident world;  /* its MPI_COMM_WORLD, on this node */
    int ranks;                 /* of that on this node */
    struct mpixq_ident device; /* its NIC */
    int place;                 /* of that among those of the process, from 0 */
    int depth;                 /* entries of that */
};

/* A process on a NIC, in the table. The word has its limit in the upper half, which is written
 * under the lock, and what it uses in the lower one, which is its own. */
struct cxi_claim {
    struct cxi_sharer who;  /* with pid 0 the claim is free */
    _Atomic uint32_t share; /* what the limit is to be; written under the lock */
    _Atomic uint64_t word;
};

/* What a process may use of a NIC. The kernel's lock of the file is the process's, and is lost when
 * the process closes the file anywhere: so those of several NICs do one at a time what takes it, or
 * closes, under another lock. */
struct cxi_shares {
    struct cxi_sharer self;
    struct cxi_claim alone, *mine; /* where there is no table; and that or the one in it */
    struct cxi_table *table;       /* NULL: there is none */
    int file;                      /* while there is one */
    struct mpixq_lock *among;      /* those of this process; set by who joins */
    char path[256];
    uint64_t asked_ns, looked_ns;
};

/* A fixed number of entries, without a table. */
void mpixq_cxi_shares_fix(struct cxi_shares *shares, int entries);
/* Divide by the table in a folder. NULL; or why it cannot be used: then by the ranks of the node.
 */
const char *mpixq_cxi_shares_join(struct cxi_shares *shares, const char *folder,
                                  const struct cxi_sharer *me);
void mpixq_cxi_shares_leave(struct cxi_shares *shares);

/* How many this process may use now, and how many of these it does not use. */
int mpixq_cxi_shares_limit(const struct cxi_shares *shares);
int mpixq_cxi_shares_room(const struct cxi_shares *shares);
/* Use one. False: there is none. */
bool mpixq_cxi_shares_take(struct cxi_shares *shares);
void mpixq_cxi_shares_give(struct cxi_shares *shares);
/* There is none left, with so many in use: have others given back some by now? Takes a moment only
 * if this process has less than its share. */
void mpixq_cxi_shares_ask(struct cxi_shares *shares, int used);

#endif
