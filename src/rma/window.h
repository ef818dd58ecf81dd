/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Windows and their signals, as the files of this folder share them. What the rest of the library
 * calls is in rma.h.
 *
 * Threads. The lock of a window guards all that is not atomic or constant while the window is live.
 * Whoever waits for a window drives it, besides the progress thread, and gives way to another that
 * does. MPI is called under the lock, but for nothing that blocks; data within the process is
 * copied without it.
 */
#ifndef MPIXQ_WINDOW_H
#define MPIXQ_WINDOW_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/error.h"
#include "core/stats.h"
#include "replays.h"
#include "signal_word.h"
#include "stream/memory.h"
#include "util/age.h"
#include "util/lock.h"
#include "util/process.h"

struct mpixq_mapped;
struct mpixq_queue;
struct mpixq_rma_direct;
struct mpixq_rma_flight;
struct mpixq_rma_grantee;
struct mpixq_rma_op;
struct mpixq_rma_peer;
struct mpixq_rma_receive;
struct mpixq_rma_waiter;

/* What handles point to. Its memory is kept and used again, so a handle that was freed can still be
 * looked at. */
struct mpixq_rma_object {
    atomic_uint magic; /* of its kind while it is live; 0: free; 1: taken and not live yet */
    struct mpixq_rma_object *next_made;
};

enum mpixq_rma_kind { MPIXQ_RMA_WINDOW, MPIXQ_RMA_SIGNAL, MPIXQ_RMA_PLAN, MPIXQ_RMA_N_KINDS };

/* What the program called for a put or a get. */
enum mpixq_rma_call {
    MPIXQ_CALL_PUT,    /* MPIX_Put, MPIX_Plan_start */
    MPIXQ_CALL_QUEUED, /* the same, enqueued */
    MPIXQ_CALL_GET,
    MPIXQ_N_CALLS
};

/* What was started on a window, in all lives of its memory (counts.c); read without the lock. */
struct mpixq_rma_counts {
    _Atomic uint64_t lives;
    struct mpixq_rma_moved {
        _Atomic uint64_t transfers, bytes;
    } by[MPIXQ_N_WAYS][MPIXQ_N_CALLS];
    _Atomic uint64_t of_graphs; /* puts that threads made, of those enqueued */
};

/* How long somebody has waited for a signal, or for puts to be complete (watch.h). All but polls
 * under the lock of the window. */
struct mpixq_rma_watched {
    atomic_uint polls;
    uint64_t looked_ns;
    struct mpixq_looks last;
    struct mpixq_age age;
};

enum { MPIXQ_RMA_NOBODY = -1 };

/* A queue whose stream has something to do with a window in memory of GPUs (queued.c). */
struct mpixq_rma_lane {
    struct mpixq_window *window;
    _Atomic(struct mpixq_queue *) queue; /* NULL: none ever was; written under the window's lock */
    _Atomic uint64_t queue_number;       /* tells it from later queues in its memory */
    _Atomic uint64_t ticket;             /* of the last of them; under the submission lock */
    atomic_long graphs;                  /* that have some */
    _Atomic uint64_t held;               /* number of the last capture whose graph was counted */
};

struct mpixq_signal {
    struct mpixq_rma_object object;
    struct mpixq_window *window;
    uint32_t index, generation; /* by which blocks name it */
    int num_event;
    struct mpixq_signal_words *words; /* of the window; or own_words, if it has no place there */
    struct mpixq_signal_words own_words;
    _Atomic uint64_t rounds;     /* how often it was set */
    _Atomic uint64_t fired;      /* how many of these rounds were seen to be over */
    _Atomic uint64_t armed;      /* how often it was set, or is to be by what is enqueued */
    _Atomic uint64_t waits;      /* for it, in all lives of its memory; and resets, */
    _Atomic uint64_t resets;     /* in those before this one */
    atomic_int failed;           /* an MPI code: it can only be freed */
    atomic_int surplus_from;     /* rank of the window whose event was one too many, or NOBODY */
    _Atomic uint64_t surplus_at; /* where that wrote, or read */
    /* They stay until it is freed; added under the lock, read without. */
    _Atomic(struct mpixq_rma_waiter *) waiters;
    struct mpixq_rma_waiter *leftover; /* of its life before; used first */
    atomic_long graphs;                /* that wait for it or reset it */
    atomic_bool had_graphs;            /* so what is enqueued is about the round at its time */
    _Atomic uint64_t held;             /* number of the last capture whose graph was counted */
    struct mpixq_rma_watched watched;
};

/* A place in the table of signals. The last two are under the lock, in the table in use. */
struct mpixq_rma_slot {
    _Atomic(struct mpixq_signal *) signal; /* NULL: free */
    _Atomic uint32_t generation;           /* of the next signal in it, or of this one */
    struct mpixq_rma_grantee *grantees;    /* (direct.h) who may add to it, by NICs */
    int n_revoking; /* who may have to its last one: it is not to be used yet */
};

/* A table of them. One that has become too small stays, since it is read without the lock. */
struct mpixq_rma_slots {
    struct mpixq_rma_slots *next;
    struct mpixq_rma_slot slots[];
};

/* A process of the window that this one could see end; and (pull.h) its mark, where that is, and
 * whether this one can read its memory. */
struct mpixq_rma_neighbour {
    int rank;
    struct mpixq_process process;
    uint64_t mark, mark_at;
    bool can_read;
};

struct mpixq_window {
    struct mpixq_rma_object object;
    bool has_lock; /* it was made once, in a life before */
    struct mpixq_lock lock;
    struct mpixq_rma_counts counts;

    /* Constant while it is live. */
    _Atomic uint64_t id; /* the same at all of its processes, and no other window's */
    uint64_t number;     /* for people: which window of this process it is */
    MPI_Comm comm;       /* of the library alone */
    int rank, size;
    char *base;
    uint64_t bytes;
    const char *gpu_kind;   /* of memory of a GPU that only NICs reach (nics.h); or NULL */
    bool owns_base, in_use; /* MPI or NICs may use it still, though the window ends */
    struct mpixq_made made; /* the base, if it owns that and it is memory of a GPU */
    struct mpixq_signal_words *words; /* MPIXQ_RMA_PLACES of them, on pages of their own */
    int n_nics;                       /* that may add to them */
    struct mpixq_mapped *mapped;      /* memory of GPUs that reach it (mapped.h); NULL: it is not */
    struct mpixq_rma_shared *shared;  /* that has base and words, to be shared; or NULL */
    struct mpixq_rma_direct *direct;  /* puts and gets by NICs, or copies (shared.h); NULL: none, */
    const char *why_not_direct;       /* and why */
    struct mpixq_rma_neighbour *neighbours;
    int n_neighbours;
    _Atomic uint64_t mark; /* (pull.h) by which others know it; 0: none */
    atomic_int failed;     /* an MPI code: all waits fail */
    atomic_long enqueued;  /* puts and plans that streams have not started yet */
    struct mpixq_rma_replays replays;
    /* In memory of GPUs: MPIXQ_MAPPED_LANES, made when it is first enqueued for, and kept with the
     * memory of the window; and graphs that have something of it. */
    _Atomic(struct mpixq_rma_lane *) lanes;
    atomic_long graphs;
    atomic_bool had_graphs; /* whose failures may be found when they are gone */
    int busy[2];            /* of who frees it: may it not be freed, here and anywhere? */

    /* Written under the lock, the table first. Who has no lock reads the number first. */
    _Atomic(struct mpixq_rma_slot *) slots;
    _Atomic uint32_t n_slots;

    /* Under the lock. */
    struct mpixq_rma_slots *tables; /* of signals: the one in use, and those that were too small */
    int refused; /* the first refusal of a peer since the last flush: an MPI code */
    uint64_t looked_ns, lost_ns;
    unsigned polls;                   /* of look_for_lost */
    struct mpixq_rma_watched watched; /* flushes */
    /* The transport's, and the protocol's. */
    struct mpixq_rma_peer *peers;      /* a table, by their ranks */
    struct mpixq_rma_receive *receive; /* MPIXQ_RMA_RECEIVES of them, a ring */
    int head;                          /* that which was posted first */
    struct mpixq_rma_flight *flying, *spare;
    struct mpixq_rma_op *spare_ops;
    int n_spare, n_spare_ops;
    struct mpixq_rma_op *asked;  /* a table, by their keys: they await an answer */
    struct mpixq_rma_op *moving; /* MPI moves their data */
    uint64_t last_key;
    long n_queued; /* messages that are to be sent */
    long n_own;    /* puts and gets started here and not complete here */
};

/* Is there somebody that messages go to, or NICs? Itself, too. */
static inline bool mpixq_rma_has_peers(const struct mpixq_window *window)
{
    return window->size > 1 || window->gpu_kind != NULL;
}

/* Objects. A new one is zero-filled but for what a life before it has left: it is not live. */
void *mpixq_rma_object_new(enum mpixq_rma_kind kind, size_t bytes);
void mpixq_rma_object_live(void *object, enum mpixq_rma_kind kind);
void mpixq_rma_object_free(void *object);
bool mpixq_rma_object_is_live(const void *object, enum mpixq_rma_kind kind);
/* All ever made of a kind; some of them are not live. Also under locks. */
struct mpixq_rma_object *mpixq_rma_objects(enum mpixq_rma_kind kind);

/* The window with this id, or NULL. */
struct mpixq_window *mpixq_rma_window_of(uint64_t id);
/* A number for a new one, by which people know it. */
uint64_t mpixq_rma_window_number(void);

/* The signal that a block names, in *signal_p, or NULL. Under the lock, else it may be freed. */
enum mpixq_error mpixq_rma_signal_find(const struct mpixq_window *window, uint32_t index,
                                       uint32_t generation, struct mpixq_signal **signal_p);
/* A part of a message of this peer has come, from there or to there. NULL: nobody is told. */
void mpixq_rma_signal_add(struct mpixq_signal *signal, uint32_t part, uint32_t parts, int peer,
                          uint64_t offset);
void mpixq_rma_signal_fail(struct mpixq_signal *signal, int code);
/* What signal_word.h describes: the sum of all words that the signal is counted in. */
int64_t mpixq_rma_signal_sum(const struct mpixq_signal *signal);
/* Is it complete? An MPI code: its failure, or that of its window; or too many have come. */
int mpixq_rma_signal_look(struct mpixq_signal *signal, bool *complete_p);
/* Under the lock, in a place of the table: what was added to that before is made up for. */
void mpixq_rma_signal_begin(struct mpixq_signal *signal);
/* Set it again; and if it was enqueued, that was counted in armed already. */
int mpixq_rma_signal_set(struct mpixq_signal *signal, bool was_enqueued);
/* Do streams still have to wait for it, or to reset it? */
bool mpixq_rma_signal_is_busy(struct mpixq_signal *signal);
/* Why the signal with this index, if it still is one, was not 0 but this. An MPI code. */
int mpixq_rma_signal_not_zero(const struct mpixq_window *window, uint64_t index, int64_t word);
/* Under the lock: no block names it any more. */
void mpixq_rma_signal_drop(struct mpixq_signal *signal);

/* A put or a get was started, under the lock; or GPUs were given some, without. */
void mpixq_rma_count(struct mpixq_window *window, enum mpixq_stats_way way,
                     enum mpixq_rma_call call, uint64_t bytes);
void mpixq_rma_count_of_graph(struct mpixq_window *window, uint64_t puts);
void mpixq_rma_count_by_gpus(struct mpixq_window *window, enum mpixq_rma_call call,
                             uint64_t transfers, uint64_t bytes);
/* Let the window go on, unless another thread is at it. Any thread that may call MPI. */
void mpixq_rma_progress(struct mpixq_window *window);
/* Under the lock: now and then, see whether a process of the window has ended. */
void mpixq_rma_look_for_lost(struct mpixq_window *window);
/* For MPIXQ_INFO (windows_print.c). */
void mpixq_rma_window_print(const struct mpixq_window *window);
/* It has failed, for its first reason. Any thread. */
void mpixq_rma_window_fail(struct mpixq_window *window, int code);

#endif
