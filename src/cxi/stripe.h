/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Large messages in shares. Each share is a part of the message that goes by a NIC of its own, and
 * has an end of its own there: counters, words, entries, clear-to-sends. To all that moves it, it
 * is a pair like any other; the pair that the rest of the library knows has the first share, and a
 * list of the others. A start of that is a start of each, and it is done when all are.
 */
#ifndef MPIXQ_CXI_STRIPE_H
#define MPIXQ_CXI_STRIPE_H

#include "cxi.h"
#include "util/env.h"

struct mpixq_blob;

enum { CXI_OTHER_SHARES = MPIXQ_PAIR_OPS - 1, CXI_SHORT_ADDRESS = 16 };

/* What the two ends tell each other of the shares but the first: no padding. */
struct cxi_stripes {
    uint64_t n;
    struct cxi_stripe {
        uint64_t key, addr, base; /* as of the first */
        unsigned char address[CXI_SHORT_ADDRESS];
    } of[CXI_OTHER_SHARES];
};

/* Large enough to be divided, as this process has it? */
static inline bool mpixq_cxi_is_large(uint64_t bytes)
{
    return mpixq_env.stripe_kib > 0 && bytes / 1024 >= (uint64_t)mpixq_env.stripe_kib;
}

/* Before the match: into how many shares would this end divide it, with so many NICs? */
int mpixq_cxi_stripes_wanted(const struct mpixq_pair *pair, int nics);
/* So many shares less than wanted could have an end. MPIXQ_INFO tells why a message is not divided
 * as it could be, once for each NIC and reason. */
void mpixq_cxi_stripes_lack(const struct cxi_end *first, int lacking);
/* Take an end on another NIC. False: no memory, and it has left. */
bool mpixq_cxi_stripe_add(struct cxi_end *first, struct cxi_end *end);

/* Under the matching lock. Tell the peer of the other shares, behind what stands in the blob. */
void mpixq_cxi_stripes_tell(const struct cxi_end *first, struct mpixq_blob *blob);
/* What the peer tells, behind so many bytes. False: it makes no sense. */
bool mpixq_cxi_stripes_hear(const struct mpixq_blob *blob, size_t used,
                            struct cxi_stripes *theirs_p);
/* The receiver has heard the sender, or the other way: have as many shares as both have, divide the
 * message, and meet the peer. False: the shares are not those that this end has told of. */
bool mpixq_cxi_stripes_agree(struct cxi_end *first, const struct cxi_stripes *theirs);

#endif
