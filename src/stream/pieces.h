/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The parameter of the kernel that copies: the same for the host and for each GPU. Includes
 * nothing, as compilers of kernels have no headers.
 */
#ifndef MPIXQ_PIECES_H
#define MPIXQ_PIECES_H

enum {
    MPIXQ_PIECES = 32,   /* of a launch: they fit into its parameters; most arrays have fewer */
    MPIXQ_THREADS = 1024 /* of a launch at most: as many as every GPU has in a block */
};

struct mpixq_piece {
    char *to;
    const char *from;
    unsigned long long bytes;
};

struct mpixq_pieces {
    void *word; /* where value is stored when all is copied; NULL: nowhere */
    unsigned long long value;
    unsigned n;
    unsigned each; /* threads for a piece, of n times as many */
    struct mpixq_piece piece[MPIXQ_PIECES];
};

#endif
