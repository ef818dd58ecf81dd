/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The watchdog: with MPIXQ_WATCHDOG_S it says which start or match somebody waits for longer than
 * so many seconds, and with MPIXQ_WATCHDOG_ACTION=error it ends the wait.
 *
 * It looks now and then at all requests that are matched or being matched, and notes when it saw
 * each of them get no further for the first time. So starts and waits cost the same with it and
 * without: whoever waits just lets others see for what (mpixq_stream_ops.waits_for,
 * mpixq_queue.host_waits_for). It is part of mpixq_match_kick, which every waiting thread of ours
 * calls and the progress thread as often as mpixq_watchdog_sleep_ms says.
 */
#ifndef MPIXQ_WATCHDOG_H
#define MPIXQ_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "env.h"

struct mpixq_queue;
struct mpixq_request;

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
/* Does it end what it finds? */
static inline bool mpixq_watchdog_ends(void)
{
    return mpixq_watchdog_is_on() && mpixq_env.watchdog_action == MPIXQ_WATCHDOG_ERROR;
}
/* Look, if it is time to. Under the matching lock, after control messages were exchanged. */
void mpixq_watchdog_check(void);
/* Does this thread poll a request in the watchdog, under the matching lock? */
bool mpixq_watchdog_is_polling(void);
/* How long the progress thread may sleep when it has nothing else to do; -1: until it is woken. */
long mpixq_watchdog_sleep_ms(void);

/* For all who look at requests as the watchdog does, under the matching lock. */
enum { MPIXQ_WATCHDOG_ROOM = 160 };
/* "receive from 1 tag 7 (rank 3 of MPI_COMM_WORLD, 8 bytes)" */
const char *mpixq_watchdog_name(const struct mpixq_request *req, char text[MPIXQ_WATCHDOG_ROOM]);
/* Is a start of the request pending that may still complete, on its queue or on none? */
bool mpixq_watchdog_is_pending(const struct mpixq_request *req, const struct mpixq_queue *queue);
void mpixq_watchdog_poll(struct mpixq_request *req);
/* Note how far the starts of the request have got. If they have got on, no wait for them is old. */
void mpixq_watchdog_note(struct mpixq_request *req, uint64_t now_ns);

#endif
