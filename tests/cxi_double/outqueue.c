/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * outqueue.c - messages on their way into the inboxes of other processes, or of this one
 *
 * An engine never waits for room in an inbox: two that did so for each other would stand still.
 */
#include "double.h"

#include <stdlib.h>

struct out {
    struct out *next;
    struct nic_header header;
    uint32_t generation; /* of the slot, when the message was put here */
    const unsigned char *body;
    void *owned;
    uint64_t sent;
};

/* Under nic.lock. */
static struct out *first[NIC_SLOTS];
static struct out **last[NIC_SLOTS];

/* The body must stay until the answer comes; owned is freed when it is sent. */
void nic_out(uint32_t slot, const struct nic_header *header, const void *body, void *owned)
{
    struct out *out = calloc(1, sizeof(*out));

    if (out == NULL) {
        nic_die("no memory for a message");
    }
    out->header = *header;
    out->generation = atomic_load(&nic_segment->slots[slot].generation);
    out->body = body;
    out->owned = owned;
    if (first[slot] == NULL) {
        last[slot] = &first[slot];
    }
    *last[slot] = out;
    last[slot] = &out->next;
}

static void out_drop(uint32_t slot)
{
    struct out *out = first[slot];

    first[slot] = out->next;
    free(out->owned);
    free(out);
}

/* Returns true when the message has left, or has nobody to go to. */
static bool out_push(uint32_t slot, struct out *out)
{
    if (!nic_slot_is_alive(slot, out->generation)) {
        return true;
    }
    do {
        uint64_t left = out->header.body - out->sent;
        uint32_t part = left < NIC_PAYLOAD ? (uint32_t)left : NIC_PAYLOAD;

        if (!nic_inbox_put(slot, &out->header, part > 0 ? out->body + out->sent : NULL, part)) {
            return false;
        }
        out->sent += part;
    } while (out->sent < out->header.body);
    return true;
}

/* Returns true when something could not be sent. */
bool nic_out_run(void)
{
    bool left = false;

    for (uint32_t slot = 0; slot < NIC_SLOTS; slot++) {
        while (first[slot] != NULL && out_push(slot, first[slot])) {
            out_drop(slot);
        }
        left = left || first[slot] != NULL;
    }
    return left;
}

void nic_out_free_all(void)
{
    for (uint32_t slot = 0; slot < NIC_SLOTS; slot++) {
        while (first[slot] != NULL) {
            out_drop(slot);
        }
    }
}
