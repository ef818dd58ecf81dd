/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Pairs whose starts and waits were captured into graphs of a GPU, or that kernels of the program
 * start. Whoever replays such a graph, or launches such a kernel, calls nothing of ours, so the GPU
 * counts the starts of these pairs, from the first capture or handle on, whoever makes them; the
 * host reads in words of the channel how many there were.
 *
 *     a capture   begins with the first call that puts something into it, and holds its pairs
 *     a graph     holds them for as long as it, or one made of it, exists: the words and mappings
 *                 that its kernels use stay until then, also if the request was freed
 *
 * The progress thread looks at the words now and then: they tell what it has to know of starts that
 * are under way (liveness.h, watchdog.h), and what a replay could not do.
 */
#ifndef MPIXQ_GRAPHS_H
#define MPIXQ_GRAPHS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "comm/error.h"
#include "pair.h"
#include "stream/op.h"

struct mpixq_branches;
struct mpixq_device_request;
struct mpixq_queue;
struct mpixq_tally;

enum { MPIXQ_MIRROR_WORDS = 3 };

/* Of such a pair, from its first capture until the pair is destroyed. */
struct mpixq_counted {
    struct mpixq_pair *pair;
    struct mpixq_tally *tally; /* NULL: its channel has no go_on */
    /* On whose stream it was captured last, which fails if a replay does; NULL: it was freed.
     * Written by a capture, under the submission lock of that queue. The one before may be freed at
     * the same time, which takes away that one only. */
    _Atomic(struct mpixq_queue *) queue;
    /* The capture that was under way when it was captured last, and whether it was started in that
     * and not waited for. Under the submission lock of the queue. */
    uint64_t capture;
    bool is_started;
    /* Under the lock. */
    _Atomic unsigned n_graphs; /* that hold it, and handles */
    unsigned n_handles;        /* of these */
    bool is_reported, is_halted;
    /* What is looked at of a pair at rest, the first NULL: all of it; what stood there at the last
     * look, and whether nothing was under way then. */
    const _Atomic uint64_t *mirror[MPIXQ_MIRROR_WORDS];
    uint64_t seen[MPIXQ_MIRROR_WORDS];
    bool is_at_rest;
    struct mpixq_counted *next, *prev;
};

/* What a channel whose starts and waits can be captured has besides (channel.h). */
struct mpixq_channel_graphs {
    /* Threads of the program, under the submission lock of a queue; the pair is inactive as far as
     * the host knows: from now on its GPU counts, from the starts that the host has counted on.
     * Once. NULL: it has go_on. */
    void (*begin)(struct mpixq_pair *pair);
    /* Any thread, one at a time for each pair, with no lock but a queue's: go on with what the
     * tally of the pair says (tally.h), whose functions are the others of the table then. Never
     * blocks. NULL: GPUs move the data, or nobody does. */
    void (*go_on)(struct mpixq_pair *pair);
    /* Behind the words of a tally, before it is found: fill what the channel has for it, if it has,
     * and see to it that starts and waits are of one step from now on. As begin, with the
     * submission lock lent while it blocks. NULL: nothing. */
    void (*equip)(struct mpixq_pair *pair, struct mpixq_queue *queue, struct mpixq_tally *tally);
    /* Any thread: make the counters of the pair follow those of the GPU, and tell what a replay
     * could not do, or MPIXQ_E_NONE. Never blocks. */
    enum mpixq_error (*refresh)(struct mpixq_pair *pair);
    /* Words of the host, of which one changes whenever the GPU has made a start or could not make
     * it; as long as there is the pair. NULL: there are none, or it has go_on. */
    void (*mirror)(const struct mpixq_pair *pair,
                   const _Atomic uint64_t *words[MPIXQ_MIRROR_WORDS]);
    /* Any thread: its waits end, now and later. Never blocks. */
    void (*halt)(struct mpixq_pair *pair);
    /* Threads of the program, with no lock: the request is about to be freed, and no replay starts
     * it from now on. Blocks until the GPU has taken note. */
    void (*close)(struct mpixq_pair *pair);
    /* Fill what kernels of the program need to start the pair, whose GPU counts by now. NULL: they
     * cannot. Threads of the program, under the submission lock of a queue. */
    void (*describe)(const struct mpixq_pair *pair, struct mpixq_device_request *device);
};

/* From now on the GPU counts; by a capture on a stream of this queue. Under its submission lock,
 * which may be lent meanwhile. */
enum mpixq_error mpixq_graphs_count(struct mpixq_pair *pair, struct mpixq_queue *queue);
/* It is this queue that hears of failures of the pair from now on, since a call for it has done all
 * that may fail. Likewise under its submission lock. */
void mpixq_graphs_go_to(const struct mpixq_pair *pair, struct mpixq_queue *queue);
/* The graph that comes of this capture, of the stream of a queue, holds these pairs from now on.
 * Under the submission lock. Returns an MPI code. */
int mpixq_graphs_hold(struct mpixq_queue *queue, uint64_t capture, struct mpixq_pair *const pairs[],
                      int n);
/* The branches of the capture of a queue, after mpixq_graphs_hold; NULL: its graph is gone, as
 * another thread has ended the capture. Under the submission lock. */
struct mpixq_branches *mpixq_graphs_branches(const struct mpixq_queue *queue);
/* Those that this capture has started on the queue and not waited for, at most room; returns how
 * many there are. Under the submission lock. */
int mpixq_graphs_started(const struct mpixq_queue *queue, uint64_t capture,
                         struct mpixq_pair *pairs[], int room);
/* A handle for kernels of the program has the pair, which the GPU counts, as a graph would; and has
 * it no longer, by the name of the pair. Any thread. */
void mpixq_graphs_take(struct mpixq_pair *pair);
void mpixq_graphs_give_back(uint64_t id);
/* Does such a pair have something under way? UNKNOWN: there is none of this name that handles have.
 * And has a replay started this one, as mpixq_graphs_have_started says? What a GPU tells the host
 * of a start that has completed may come a little later than what the wait for it has seen: so both
 * look again for up to half a second, before they say yes. Threads of the program. */
enum mpixq_handled { MPIXQ_HANDLED_UNKNOWN, MPIXQ_HANDLED_IDLE, MPIXQ_HANDLED_ACTIVE };
enum mpixq_handled mpixq_graphs_find_handled(uint64_t id);
bool mpixq_graphs_keep_started_slow(struct mpixq_pair *pair);
static inline bool mpixq_graphs_keep_started(struct mpixq_pair *pair)
{
    return __builtin_expect(atomic_load(&pair->counted) != NULL, false) &&
           mpixq_graphs_keep_started_slow(pair);
}
/* Does any graph have it, or a handle? Any thread. */
bool mpixq_graphs_have(const struct mpixq_pair *pair);

/* Is any start that a GPU counts under way, as far as it has come? As mpixq_graphs_look. */
bool mpixq_graphs_any_wait(void);

/* Look at the words of all. Any thread that holds no lock that comes after that of graphs. */
void mpixq_graphs_look(void);
/* Who looks with it at what has no pairs. */
typedef void mpixq_graphs_looker(void);
void mpixq_graphs_set_looker(mpixq_graphs_looker *looker);
/* When the progress thread has to do so again, if it sleeps; -1: never. */
long mpixq_graphs_sleep_ms(void);
/* Until who looks at them just now has done so. With no lock that comes after that of graphs. */
void mpixq_graphs_fence(void);
/* A queue goes, and nobody is told any more what its graphs meet. Under its submission lock. */
void mpixq_graphs_leave(struct mpixq_queue *queue);
/* The request is about to be freed: no start that is counted from now on is made, and the counters
 * of the pair have those that were, also if nobody has looked since. With no lock. */
void mpixq_graphs_stop(struct mpixq_pair *pair);
/* The request was freed, and no graph has the pair. */
void mpixq_graphs_forget(struct mpixq_pair *pair);
/* In MPI_Finalize: waits end, and graphs hold nothing more. */
void mpixq_graphs_close(void);

/* Why a kernel has not made a start: fault of pieces.h. */
static inline enum mpixq_error mpixq_graphs_error(uint64_t fault)
{
    return fault == MPIXQ_NO_FAULT        ? MPIXQ_E_NONE
           : fault == MPIXQ_STARTED_FREED ? MPIXQ_E_REPLAY_FREED
                                          : MPIXQ_E_REPLAY_TWICE;
}

/* The queue that hears of a failure of the pair; NULL: the host has started it. */
static inline struct mpixq_queue *mpixq_graphs_queue(const struct mpixq_pair *pair)
{
    struct mpixq_queue *queue = atomic_load(&pair->queue);
    const struct mpixq_counted *counted = atomic_load(&pair->counted);

    return queue == NULL && counted != NULL && !mpixq_pair_is_by_host(pair)
               ? atomic_load(&counted->queue)
               : queue;
}

/* Has a replay started a request that belongs to no queue, and is that start under way, as far as
 * its GPU has come? */
bool mpixq_graphs_have_started_slow(struct mpixq_pair *pair);
static inline bool mpixq_graphs_have_started(struct mpixq_pair *pair)
{
    return __builtin_expect(atomic_load(&pair->counted) != NULL, false) &&
           mpixq_graphs_have_started_slow(pair);
}

/* The counters of a pair are to be right, as far as its GPU has come. */
void mpixq_graphs_refresh_slow(struct mpixq_pair *pair);
static inline void mpixq_graphs_refresh(struct mpixq_pair *pair)
{
    if (__builtin_expect(atomic_load(&pair->counted) != NULL, false)) {
        mpixq_graphs_refresh_slow(pair);
    }
}

#endif
