/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a NIC counts in: its counters, and words in memory. */
#ifndef MPIXQ_CXI_WORDS_H
#define MPIXQ_CXI_WORDS_H

#include <stdatomic.h>
#include <stdint.h>

#include "expose.h"

struct fid_cntr;

/* A counter. Base is its value when it was taken: what it counts for its user begins there. */
struct cxi_counter {
    struct fid_cntr *fid;
    volatile _Atomic uint64_t *bell; /* its doorbell; NULL: libfabric rings */
    struct mpixq_exposed exposed;    /* the doorbell, if it has one */
    uint64_t base;
    uint64_t due;      /* while it is doubtful: what it has to show before it is used again */
    uint64_t shown;    /* when it was looked at last, */
    unsigned looks;    /* and how often since that was new */
    uint64_t failures; /* that it has shown: of nobody who takes it later, as it is set aside */
    struct cxi_counter *next;
};

/* A 64-bit word that NICs add to. */
struct cxi_word {
    _Atomic uint64_t value;
};

#endif
