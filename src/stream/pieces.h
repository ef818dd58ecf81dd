/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The parameters of the kernels that copy, ring and watch: the same for the host and for each GPU.
 * Includes nothing, as compilers of kernels have no headers.
 */
#ifndef MPIXQ_PIECES_H
#define MPIXQ_PIECES_H

enum {
    MPIXQ_PIECES = 32,   /* of a launch: they fit into its parameters; most arrays have fewer */
    MPIXQ_WORDS = 32,    /* likewise: a warp of threads, one for each */
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

/* Doorbells, or words to wait for, until gate has reached opened: then nobody waits any more. */
struct mpixq_words {
    void *gate;
    unsigned long long opened;
    void *word; /* as above */
    unsigned long long value;
    unsigned n;
    struct {
        void *address;
        unsigned long long value;
    } at[MPIXQ_WORDS];
};

#endif
