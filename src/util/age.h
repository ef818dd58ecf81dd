/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What requests, queues, matches and signals keep for the watchdog, what they ask of its settings,
 * and how it speaks; without knowing the watchdog itself.
 */
#ifndef MPIXQ_AGE_H
#define MPIXQ_AGE_H

#include <stdbool.h>
#include <stdint.h>

#include "env.h"

/* How long something has got no further. Under a lock of who keeps it. */
struct mpixq_age {
    uint64_t progress;  /* what tells that it does */
    uint64_t since_ns;  /* first seen so; 0: it is not under way */
    uint64_t report_ns; /* not to be reported again before; 0: not reported */
};

/* The last looks of somebody, one after the other. A clock does not tell a wait from a machine that
 * stood still: what is old was seen so in each of some looks. */
enum { MPIXQ_AGE_LOOKS = 3 };
struct mpixq_looks {
    uint64_t at_ns[MPIXQ_AGE_LOOKS];
    unsigned n;
};

/* One more. Returns when the one that was MPIXQ_AGE_LOOKS before was; 0: there was none. */
static inline uint64_t mpixq_looks_note(struct mpixq_looks *looks, uint64_t now_ns)
{
    uint64_t *at_ns = &looks->at_ns[looks->n++ % MPIXQ_AGE_LOOKS], before_ns = *at_ns;

    *at_ns = now_ns;
    return before_ns;
}

/* Is what has got no further since then older than a limit, as a look has found that began now? */
static inline bool mpixq_age_is_old(uint64_t since_ns, uint64_t before_ns, uint64_t now_ns,
                                    uint64_t limit_ns)
{
    return now_ns - since_ns >= limit_ns && since_ns <= before_ns;
}

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

/* How old a wait is when somebody is told; 0: nobody ever is. */
uint64_t mpixq_age_limit_ns(void);
/* Is something that has got no further since then, and is old, to be reported now? Then it is again
 * when it is twice as old, or never if it is only noticed. */
bool mpixq_age_is_due(struct mpixq_age *age, uint64_t since_ns, uint64_t now_ns);
/* What may be legitimate, as a notice says with more, is no error. */
void mpixq_age_tell(const char *text, const char *more);

#endif
