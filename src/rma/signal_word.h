/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * What a signal counts, in one word of 64 bits that any number of threads add to:
 *
 *     63 ............. 33    32        31 ............ 0
 *     parts outstanding   overflow    events outstanding
 *
 * It is set to the number of events, and each event takes one away. A message that travels in k
 * parts is one event: one of the parts, whichever, takes the event away and adds k - 1 parts that
 * are outstanding; each of the others takes a part away. So the word is 0 when all events are there
 * with all of their parts, and not before, in whatever order the parts come. An event too many
 * borrows from what stands above and sets the overflow bit.
 */
#ifndef MPIXQ_SIGNAL_WORD_H
#define MPIXQ_SIGNAL_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { MPIXQ_SIGNAL_BIT = 32 /* the overflow bit */, MPIXQ_SIGNAL_PARTS = 1 << 24 /* at most */ };

/* What part number part of so many adds to the word. */
static inline int64_t mpixq_signal_addend(uint32_t part, uint32_t parts)
{
    const int64_t one = (int64_t)1 << (MPIXQ_SIGNAL_BIT + 1);

    return part == 0 ? (int64_t)(parts - 1) * one - 1 : -one;
}

static inline bool mpixq_signal_has_overflow(int64_t word)
{
    return ((uint64_t)word >> MPIXQ_SIGNAL_BIT & 1) != 0;
}

/* So many events are outstanding; or, with overflow, so many too many have come. */
static inline uint32_t mpixq_signal_events(int64_t word)
{
    uint32_t low = (uint32_t)(uint64_t)word;

    return mpixq_signal_has_overflow(word) ? ~low + 1 : low;
}

/* Where events of a signal are counted. Atomic operations of a NIC, of another one and of the CPU
 * on one word are none beside each other, so each adds to a word of its own; what is said above
 * holds for the sum. Nobody but its NIC writes a NIC's word while the window is there; processes
 * of the node that share the words have that of the first one, where there is none. */
enum { MPIXQ_RMA_NICS = 8, MPIXQ_RMA_PLACES = 512 /* of signals that NICs can add to */ };
struct mpixq_signal_words {
    _Atomic int64_t host; /* threads of this process add to it */
    _Atomic int64_t nic[MPIXQ_RMA_NICS];
    /* A process that shares this memory, and added an event too many: its rank in the window and 1
     * more; and where it wrote. 0: none has. */
    _Atomic uint64_t surplus_by, surplus_at;
    int64_t unused[13 - MPIXQ_RMA_NICS]; /* two cache lines */
};

#endif
