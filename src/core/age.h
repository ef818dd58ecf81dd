/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Of what the watchdog looks at: kept by requests, queues and matches, which need not know it. */
#ifndef MPIXQ_AGE_H
#define MPIXQ_AGE_H

#include <stdint.h>

/* How long something has got no further. Under the matching lock. */
struct mpixq_age {
    uint64_t progress;  /* what tells that it does */
    uint64_t since_ns;  /* first seen so; 0: it is not under way */
    uint64_t report_ns; /* not to be reported again before; 0: not reported */
};

/* What tells of progress is so now. */
static inline void mpixq_age_note(struct mpixq_age *age, uint64_t progress, uint64_t now_ns)
{
    if (age->since_ns == 0 || age->progress != progress) {
        *age = (struct mpixq_age){.progress = progress, .since_ns = now_ns};
    }
}

#endif
