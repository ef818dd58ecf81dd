/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * The channel ipc: pairs of one node, or one process, whose buffers are in memory of GPUs that
 * reach each other. The GPUs move the data by themselves: each start tells, by one atomic operation
 * on the state of the pair, that its end has come, and whoever comes second moves the data within
 * its start and tells both ends (stream/kernels.inc). So a start waits for nobody, and needs no
 * later call.
 *
 *     pair.c    matching, and the end of pairs
 *     ends.c    the words of ends, in the memory of the GPU and in that of the host
 *     fds.c     files of peers, which stand for some kinds of memory
 *     open.c    what belongs to peers: opened in a match, closed when a GPU can be waited for
 *     told.c    what their hosts are told
 *     start.c   starts and waits
 *     host.c    starts by the host
 *     live.c    ends whose starts are under way
 *     graphs.c  pairs that were captured into graphs
 *     window.c  windows, which need no pairs (window.h)
 *
 * The hosts see how far a pair is by a word of the receiver's, which GPUs of both ends write.
 */
#ifndef MPIXQ_IPC_H
#define MPIXQ_IPC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/channel.h"
#include "core/pair.h"
#include "core/queue.h"
#include "match/wire.h"
#include "share.h"

/* What the two ends tell each other, as it stands in the blobs. */
struct ipc_blob {
    uint32_t version, number; /* of the words, among the ends of the place */
    struct mpixq_process process;
    struct mpixq_gpu_ident gpu;
    struct mpixq_gpu_handle ends;
    struct mpixq_gpu_export buffer;
    int32_t mailbox;     /* of the process: takes files */
    uint64_t allocation; /* which one holds the buffer, of all of the process; 0: not known */
    uint64_t offset;     /* of the buffer in its allocation */
    uint64_t address;    /* of the buffer, for its own process */
    uint64_t base;       /* no word of this end is larger before the first start; answer: of both */
    int32_t file;        /* of the process, with the words for the host */
    uint32_t is_ready;
    uint32_t eager; /* bytes of a message that the sender may send to a slot at most */
    int32_t slots;  /* answer: where those of the receive are; or -1 */
    uint64_t life;  /* of the place of the ends: later ones may have the same handle */
};
_Static_assert(sizeof(struct ipc_blob) <= MPIXQ_WIRE_BLOB_BYTES, "room in a blob");

/* The slots of a receive. */
struct ipc_slots {
    int32_t first; /* how far behind the first of the place; -1: none */
    int size;      /* which of the sizes */
    uint64_t base; /* no word in them is of a later start */
};

/* Sizes of slots, each a quarter of the one before. */
enum { IPC_SIZES = 4 };

struct ipc_told { /* what the host has of an end: struct mpixq_told of stream/pieces.h */
    _Atomic uint64_t done, apart[7], started, fault, halt, unused[5];
};
_Static_assert(sizeof(struct ipc_told) == sizeof(struct mpixq_told), "the same words");
enum { IPC_TOLD_BYTES = MPIXQ_SHARE_ENDS * (int)sizeof(struct mpixq_told) };

struct ipc_place { /* the words of ends in one place */
    struct mpixq_share *share;
    uint64_t life; /* of the share, in which its GPU has seen told */
    int file;
    struct ipc_told *told;        /* of each end */
    struct mpixq_told *told_seen; /* where the GPU sees them */
    int n_fresh, n_spare;         /* ends that were never used; that were, and can be again */
    unsigned *spare;
    int n_closed; /* those that can be when their GPU has them open again */
    unsigned *closed;
    size_t slots_used; /* of the memory for slots; likewise: those for each size */
    int n_spare_slots[IPC_SIZES];
    struct ipc_slots *spare_slots[IPC_SIZES]; /* NULL: there is no memory for that */
    atomic_uint looks;                        /* of threads that wait for ends in it */
    struct ipc_place *next;
};

struct ipc_import; /* memory of a peer, or its words for the host */
struct ipc_fd;     /* a file of a peer */

/* One end of a pair: what is prepared before it is matched, and then its channel's data. */
struct ipc_end {
    struct mpixq_prepared prepared;
    struct mpixq_pair *pair;
    struct ipc_place *place;
    uint64_t life; /* of the share, when it was prepared */
    unsigned number;
    char *buffer;
    struct mpixq_gpu_export allocation; /* that holds it, and */
    uint64_t allocation_id, offset;     /* where in it it begins */
    struct ipc_blob theirs;
    struct ipc_fd *their_fd; /* of their buffer, until that is open; or NULL */
    bool is_send, is_ready;
    bool was_closed;        /* no replay of a graph starts it any more */
    bool is_hidden;         /* their GPU is not one that this process sees */
    bool has_peer;          /* it was matched by this channel */
    atomic_bool is_free;    /* its request was freed */
    uint64_t base;          /* what its words hold, both ends agree, before the first start */
    struct ipc_slots slots; /* of the receive */
    /* Once all is open. */
    struct ipc_import *their_buffer, *their_ends, *their_told;
    const _Atomic uint64_t *told; /* done, in what the receiver's host has */
    struct mpixq_gpu_end gpu;
    /* Of the last start by the host: the ticket by which it is over; 0: none (host.c). It is that
     * of the start itself, or of the copy that a call has made for it. */
    _Atomic uint64_t launch;
    _Atomic uint64_t moved_by; /* the ticket of the start itself */
    uint64_t by_host;          /* the value of that start */
    _Atomic uint64_t booked;   /* starts that were executed, before its GPU counts them */
    /* The peer has freed its end: starts from now on do not touch its buffer, which is closed once
     * those before are over. Written under the matching lock. */
    atomic_bool is_gone;
    struct ipc_end *next_gone, *prev_gone; /* NULL: in no list */
    bool is_live;                          /* something is under way; in a list of those (live.c) */
    struct ipc_end *next_live, *prev_live;
};

/* Are both ends in this process? Then their words and buffers are there already. */
static inline bool mpixq_ipc_is_own(const struct ipc_blob *theirs)
{
    return theirs->process.pid == mpixq_process_self().pid;
}

/* Does its GPU count its starts? Then what it needs for that is there. */
static inline bool mpixq_ipc_is_counted(const struct ipc_end *end)
{
    return atomic_load(&end->pair->counted) != NULL;
}

/* Starts that have completed, or whose message is in its slot. There may be more such messages than
 * starts that have been made. */
static inline uint64_t ipc_told(const struct ipc_end *end)
{
    uint64_t told = atomic_load_explicit(end->told, memory_order_acquire);
    uint64_t started = mpixq_pair_executed(end->pair);

    told = told > end->base ? told - end->base : 0;
    return told < started ? told : started;
}

/* The host's view: starts that have completed. One that the host has made also has to have left our
 * stream: the peer may have moved the data before all blocks of it have run, and the next start may
 * be made by another stream. */
static inline uint64_t ipc_done(const struct ipc_end *end)
{
    uint64_t done = ipc_told(end);
    uint64_t epoch = mpixq_pair_started(end->pair);

    return done > 0 && done == epoch &&
                   !mpixq_share_has_moved(end->place->share, atomic_load(&end->launch))
               ? done - 1
               : done;
}

/* ends.c. Threads of the program: the place of a buffer, made when it is first asked for, or NULL,
 * and why. The rest: any thread. */
struct ipc_place *mpixq_ipc_place(const char *kind, void *place, const char **why_p);
/* An end in it, by threads of the program; false: all are taken. Give back: it is used again if all
 * that was started for it is known to be over. */
bool mpixq_ipc_end_take(struct ipc_place *place, unsigned *number_p);
void mpixq_ipc_end_give_back(struct ipc_place *place, const struct ipc_end *end, bool clean);
/* The same of the slots of a receive. */
struct ipc_slots mpixq_ipc_slots_take(struct ipc_place *place, uint64_t bytes);
void mpixq_ipc_slots_give_back(struct ipc_place *place, struct ipc_slots slots, bool clean);
void mpixq_ipc_places_close(void);

/* fds.c. Where others send files to, by the number that it has here; -1: nowhere. */
int mpixq_ipc_mailbox(void);
/* Receiver: take the file of their buffer, and then give them ours, where there are such. NULL, or
 * why that cannot be. */
const char *mpixq_ipc_fd_take(const struct ipc_blob *theirs, struct ipc_fd **fd_p);
const char *mpixq_ipc_fd_give(const struct ipc_blob *theirs, const struct mpixq_gpu_export *mine);
/* Sender: that of the receiver who has answered, or NULL. */
struct ipc_fd *mpixq_ipc_fd_receive(const struct ipc_blob *theirs);
int mpixq_ipc_fd_number(const struct ipc_fd *fd);
void mpixq_ipc_fd_leave(struct ipc_fd **fd_p);
void mpixq_ipc_fds_close(void);

/* open.c. Open what the end needs of its peer, whose blob it has. False, and why not. Threads that
 * may call the GPU's library, with no lock. */
bool mpixq_ipc_open(struct ipc_end *end, char *why_p, size_t room);
/* All is there: from now on it can be started. Any thread, under any lock. */
void mpixq_ipc_is_open(struct ipc_end *end);
/* The peer has freed its end. The same. */
void mpixq_ipc_gone(struct ipc_end *end);
/* What it has opened is closed when that can wait for a GPU. The same. */
void mpixq_ipc_let_go(struct ipc_end *end);
/* Close what none needs any more; the second one asks first whether peers have freed something.
 * Threads of the program. */
void mpixq_ipc_close_unused(void);
void mpixq_ipc_clean_up(void);
void mpixq_ipc_imports_close(void);

/* The same of a window of the peer, as its blob says: its buffer, or the words of its signals.
 * NULL, and why. And one that is needed no more: any thread. */
struct ipc_import *mpixq_ipc_import(struct mpixq_share *share, const struct ipc_blob *theirs,
                                    bool words, const char **why_p);
char *mpixq_ipc_import_seen(const struct ipc_import *import);
void mpixq_ipc_import_leave(struct ipc_import **import_p);

/* live.c. Starts of these pairs were executed, and the stream goes on. Any thread. */
void mpixq_ipc_note_starts(void *const args[], int n);
void mpixq_ipc_drive(void);
/* Before the end is freed. */
void mpixq_ipc_drop(struct ipc_end *end);

/* graphs.c. For the channel's table; and make the counters of a pair follow, if its GPU counts.
 * Any thread. */
extern const struct mpixq_channel_graphs mpixq_ipc_graphs;
void mpixq_ipc_count(struct ipc_end *end);

/* host.c. The starts that the host makes; and a look at what it waits for. */
void mpixq_ipc_starts_by_host(void *const args[], int n, bool on_gpu);
/* Until what the host has launched for it touches nothing any more; of a send that waits for no
 * peer. Threads of the program. */
void mpixq_ipc_await_launch(struct ipc_end *end);
void mpixq_ipc_progress_wait(struct mpixq_pair *pair);
uint64_t mpixq_ipc_execute(struct mpixq_pair *pair, struct mpixq_op *op);
bool mpixq_ipc_has_executed(const struct mpixq_pair *pair, uint64_t ticket);
struct mpixq_gpu_end *mpixq_ipc_gpu_end(struct mpixq_pair *pair);

/* start.c: one more start was made; what a GPU needs of the last one. */
void mpixq_ipc_executed(struct ipc_end *end);
uint64_t mpixq_ipc_value(const struct ipc_end *end);
void mpixq_ipc_start_op(struct ipc_end *end, struct mpixq_op *op);
/* A ready receive without slots starts nothing. */
bool mpixq_ipc_starts_nothing(const struct ipc_end *end);
/* Functions of the channel's table. */
int mpixq_ipc_start(struct mpixq_queue *queue, struct mpixq_pair *const pairs[], int n,
                    struct mpixq_op list[]);
int mpixq_ipc_wait(struct mpixq_queue *queue, struct mpixq_pair *pair, struct mpixq_op *op);
bool mpixq_ipc_is_broken(struct mpixq_pair *pair);
bool mpixq_ipc_poll(struct mpixq_pair *pair);
void mpixq_ipc_recall(struct mpixq_pair *pair);
const char *mpixq_ipc_what_is_missing(const struct mpixq_pair *pair);

#endif
