/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Reasons that processes tell each other. An offer or an answer names its reasons by the numbers
 * that its sender has for them; the text of each was told before, once. Messages between two
 * processes keep their order, so a number that comes is known. Under the matching lock. */
#include "match_channels.h"

#include <string.h>

#include "control.h"
#include "core/served.h"
#include "match_internal.h"
#include "util/alloc.h"
#include "util/table.h"

struct mpixq_listener {
    int rank;
    uint64_t told;                  /* our reasons that it knows, as bits by their numbers */
    uint8_t heard[MPIXQ_N_REASONS]; /* our numbers of its reasons, by its own; or 0 */
    UT_hash_handle hh;
};

static struct mpixq_listener *listener_of(int world)
{
    struct mpixq_listener *listener;

    HASH_FIND_INT(mpixq_matching.listeners, &world, listener);
    if (listener == NULL) {
        listener = mpixq_alloc(sizeof *listener); /* freed in mpixq_match_reasons_close */
        if (listener == NULL) {
            return NULL;
        }
        listener->rank = world;
        HASH_ADD_INT(mpixq_matching.listeners, rank, listener);
        if (!mpixq_in_table(listener->hh)) {
            mpixq_free(listener);
            return NULL;
        }
    }
    return listener;
}

static bool tell_one(struct mpixq_listener *listener, uint8_t number)
{
    struct mpixq_record record = {.kind = MPIXQ_WIRE_REASON};
    struct mpixq_wire_reason *reason = &record.u.reason;
    const char *text = mpixq_reason_text(number);
    uint64_t bit = UINT64_C(1) << number;

    if (number == 0 || (listener->told & bit) != 0) {
        return true;
    }
    reason->number = number;
    reason->length = (uint8_t)strlen(text);
    memcpy(reason->text, text, reason->length);
    if (!mpixq_control_send(listener->rank, &record)) {
        return false;
    }
    listener->told |= bit;
    return true;
}

bool mpixq_match_send(int world, const struct mpixq_record *record,
                      const struct mpixq_wire_channels *channels)
{
    struct mpixq_listener *listener = listener_of(world);
    bool done = listener != NULL;

    for (int id = 0; done && id < MPIXQ_N_CHANNELS; id++) {
        done = tell_one(listener, channels->why_not[id]);
    }
    return done && mpixq_control_send(world, record);
}

void mpixq_match_record_reason(const struct mpixq_record *record, int source)
{
    const struct mpixq_wire_reason *reason = &record->u.reason;
    struct mpixq_listener *listener = listener_of(source);

    if (listener != NULL) {
        listener->heard[reason->number] = mpixq_reason(reason->text, reason->length);
    }
}

uint8_t mpixq_match_reason_of(int world, uint8_t number)
{
    struct mpixq_listener *listener;

    HASH_FIND_INT(mpixq_matching.listeners, &world, listener);
    return listener != NULL && number < MPIXQ_N_REASONS ? listener->heard[number] : 0;
}

void mpixq_match_reasons_close(void)
{
    struct mpixq_listener *listener, *next;

    HASH_ITER(hh, mpixq_matching.listeners, listener, next)
    {
        HASH_DEL(mpixq_matching.listeners, listener);
        mpixq_free(listener);
    }
}
