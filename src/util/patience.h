/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * How long somebody looks for what others tell a little late. The clock alone does not say so:
 * whoever looks may have been stopped for as long, and those who tell with it. So some looks are
 * made after that time as well.
 */
#ifndef MPIXQ_PATIENCE_H
#define MPIXQ_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

enum { MPIXQ_PATIENCE_LOOKS = 3 };

struct mpixq_patience {
    uint64_t until_ns;
    int late; /* looks that were begun after that */
};

static inline void mpixq_patience_begin(struct mpixq_patience *patience, uint64_t now_ns,
                                        uint64_t span_ns)
{
    *patience = (struct mpixq_patience){.until_ns = now_ns + span_ns};
}

/* Is there one more look? The time is that before it. */
static inline bool mpixq_patience_goes_on(struct mpixq_patience *patience, uint64_t now_ns)
{
    return now_ns < patience->until_ns || patience->late++ < MPIXQ_PATIENCE_LOOKS;
}

#endif
