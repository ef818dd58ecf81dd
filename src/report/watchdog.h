/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The watchdog: with MPIXQ_WATCHDOG_S it says which start or match somebody waits for longer than
 * so many seconds, and with MPIXQ_WATCHDOG_ACTION=error it ends the wait.
 *
 * It looks now and then at all requests that are matched or being matched, and notes when it saw
 * each of them get no further for the first time. So starts and waits cost the same with it and
 * without: whoever waits just lets others see for what (mpixq_stream_ops.waits_for,
 * mpixq_queue.host_waits_for). It is part of mpixq_match_kick, to which it was added: every waiting
 * thread of ours calls that, and the progress thread as often as mpixq_watchdog_sleep_ms says.
 *
 * Without MPIXQ_WATCHDOG_S the same looks are made, rarely, by whoever comes by: a wait that has
 * blocked a stream for MPIXQ_NOTICE_S, and a match that has waited for a fifth of that, are noticed
 * in one line each, once.
 */
#ifndef MPIXQ_WATCHDOG_H
#define MPIXQ_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "util/age.h"

struct mpixq_queue;
struct mpixq_request;

/* What it has seen so far; all 0 at first. Under the matching lock. */
struct mpixq_watchdog {
    uint64_t number;  /* of looks */
    uint64_t next_ns; /* when to look again */
    struct mpixq_looks last;
    struct mpixq_age answers_age;
};
/* Look, if it is time to. Under the matching lock, after control messages were exchanged. */
void mpixq_watchdog_check(void *watchdog); /* a struct mpixq_watchdog */
/* How long the progress thread may sleep when it has nothing else to do; -1: until it is woken. */
long mpixq_watchdog_sleep_ms(void);

/* For all who look at requests as the watchdog does, under the matching lock. */
enum { MPIXQ_WHY_ROOM = 320 };
/* What a match of the request waits for, as far as it is known. */
const char *mpixq_watchdog_why_unmatched(const struct mpixq_request *req,
                                         char text[MPIXQ_WHY_ROOM]);
/* What the next start to complete waits for. */
const char *mpixq_watchdog_what_is_missing(const struct mpixq_request *req);
/* Is a start of the request pending that may still complete, on its queue or on none? */
bool mpixq_watchdog_is_pending(const struct mpixq_request *req, const struct mpixq_queue *queue);
/* Note how far the starts of the request have got. If they have got on, no wait for them is old. */
void mpixq_watchdog_note(struct mpixq_request *req, uint64_t now_ns);

#endif
