/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What requests, queues and matches keep for the watchdog, and ask of its settings, without knowing
 * the watchdog itself.
 */
#ifndef MPIXQ_AGE_H
#define MPIXQ_AGE_H

#include <stdbool.h>
#include <stdint.h>

#include "env.h"

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

static inline bool mpixq_watchdog_is_on(void)
{
    return mpixq_env.watchdog_s > 0;
}
/* Without it, does the library notice once what waits very long? That takes part in looks of others
 * and wakes nobody. */
static inline bool mpixq_watchdog_notices(void)
{
    return !mpixq_watchdog_is_on() && mpixq_env.notice_s > 0;
}
/* Does it end what it finds? */
static inline bool mpixq_watchdog_ends(void)
{
    return mpixq_watchdog_is_on() && mpixq_env.watchdog_action == MPIXQ_WATCHDOG_ERROR;
}

#endif
