/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The ranks of MPI_COMM_WORLD on this node. They are counted in MPI_Init by MPI itself, on every
 * rank and whatever the environment says: launchers set no variable, or one that a batch job has
 * inherited from another step, and too small a number makes the ranks of a node use more of a NIC
 * than it has. Constant once it is open.
 */
#ifndef MPIXQ_NODE_H
#define MPIXQ_NODE_H

#include <stdbool.h>
#include <sys/types.h>

#include "ident.h"

/* Collective over MPI_COMM_WORLD; returns an MPI code. */
int mpixq_node_open(void);
/* Likewise, behind it: does this process have a NIC that may reach memory of GPUs? */
int mpixq_nodes_compare(bool has_nic);
void mpixq_node_close(void);
/* How many ranks there are, this one included. */
int mpixq_node_ranks(void);
/* Which of them this process is, from 0. */
int mpixq_node_rank(void);
/* The process of a rank of the node; 0 if this process knows it by no number, as in a container of
 * its own. */
pid_t mpixq_node_pid(int rank);
/* Is this rank of MPI_COMM_WORLD one of them? All of them say the same. */
bool mpixq_node_has(int world);
/* Do all of them see GPUs, whether or not they use them? All say the same. */
bool mpixq_node_sees_gpus(void);
/* Do all ranks of MPI_COMM_WORLD, on all nodes, and have such NICs? All say the same. On one node
 * nobody asks: false. */
bool mpixq_nodes_have_nics(void);
/* The same on the ranks of the node, and on no other process. */
struct mpixq_ident mpixq_node_ident(void);

#endif
