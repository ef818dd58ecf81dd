/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Rights to put and get by NICs, or by copies (shared.h), which each process gives others to its
 * own signals. A get by message asks for one as a put does, and they are the same.
 *
 *     put by message       PUT, "I have NICs"  --->  checked, as ever
 *                                              <---  GRANT, with what NICs have of the window
 *                          GRANT, likewise     --->  (each tells the other once)
 *                                              <---  GRANT of the signal, and its generation
 *     put                  write, atomic add   --->  by NICs; no message
 *     get                  read                <---
 *                          atomic add          --->
 *     the signal is freed                      <---  REVOKE
 *                          REVOKED             --->  once what is under way to it is over; the
 *                                                    place is taken again after the last of these
 *     an operation failed  FAILED              --->  the signal fails
 *
 * So a block gives no right by itself: it was checked by its owner, in a put by message, before a
 * NIC adds to its signal, and the owner's numbers bound what is written. All under the lock of the
 * window.
 */
#ifndef MPIXQ_RMA_RIGHTS_H
#define MPIXQ_RMA_RIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/windows.h"
#include "transport.h"
#include "util/table.h"
#include "window.h"

struct mpixq_rma_ahead;

/* What this process may do at a peer: add to a signal of it. */
struct mpixq_rma_grant {
    uint32_t signal, generation;
    long flying; /* parts under way, or that wait */
    bool is_revoked;
    UT_hash_handle hh; /* by signal, in the peer's table */
};

/* Who may add to a signal of this process. */
struct mpixq_rma_grantee {
    int rank;
    struct mpixq_rma_grantee *next;
};

/* What this process says of its NICs, as it is sent. */
struct mpixq_rma_direct {
    const struct mpixq_channel_windows *ops;
    enum mpixq_stats_way way;
    struct mpixq_nic_window *nics;
    struct mpixq_rma_op *waiting; /* for room; in the order in which they were started */
    struct mpixq_rma_op *flying;
    long n; /* in both */
    /* (ahead.h) By queues: as they were logged, by any thread; and in the order of that. */
    _Atomic(struct mpixq_rma_ahead *) logged;
    struct mpixq_rma_ahead *ahead;
    int n_ahead;     /* of those, that have something held */
    bool has_doubts; /* at the last look: a GPU may have rung for some of a queue that has failed */
    bool has_ahead;  /* there may be any: the NICs of this process chain */
    long n_awaited;  /* answers of peers: what they say of their NICs, REVOKED */
    int n_peers;     /* that NICs reach */
    size_t blob_bytes;
    unsigned char blob[MPIXQ_NIC_BLOB];
};
/* At who puts or gets, by NICs: 4 if they need nobody between data and signal, else 3. */
static inline int mpixq_rma_direct_level(const struct mpixq_rma_direct *direct)
{
    return direct->ops->has_chains(direct->nics) ? 4 : 3;
}

/* A put by message was checked: its sender may have NICs put to that signal from now on. */
void mpixq_rma_rights_grant(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                            const struct mpixq_rma_header *header);
/* The signal is about to be dropped: nobody may add to it from then on. */
void mpixq_rma_rights_revoke(struct mpixq_window *window, uint32_t index);
/* GRANT, REVOKE, REVOKED; others make no sense. */
void mpixq_rma_rights_came(struct mpixq_window *window, const struct mpixq_rma_header *header,
                           const void *data, struct mpixq_rma_peer *peer);
/* A right of this process at a peer; NULL: it has none. */
struct mpixq_rma_grant *mpixq_rma_grant_find(const struct mpixq_rma_peer *peer, uint32_t signal,
                                             uint32_t generation);
/* It was revoked, and nothing is under way by it. */
void mpixq_rma_grant_give_back(struct mpixq_window *window, struct mpixq_rma_peer *peer,
                               struct mpixq_rma_grant *grant);
/* Forget all of them. */
void mpixq_rma_rights_close(struct mpixq_window *window);

#endif
