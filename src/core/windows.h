/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Seam: windows (src/rma/) whose puts and gets NICs make, beside pairs: a write into the window of
 * a peer, or a read out of it, and, once that can be seen there, or is here, an addition to a word
 * of the signal. Each NIC of the peer adds to a word of its own. A channel that has this says so in
 * its table (channel.h). Windows that the processes of a node share have such a table too, without
 * NICs (src/rma/shared.h).
 *
 * Nothing that a peer says is relied on but within its own window: regions bound what is written
 * and read.
 */
#ifndef MPIXQ_CORE_WINDOWS_H
#define MPIXQ_CORE_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What NICs have of a window of this process; and a process of the window that they reach. */
struct mpixq_nic_window;
struct mpixq_nic_peer;
/* A put that NICs have in their hands, and make once it is rung for. */
struct mpixq_nic_held;
struct mpixq_exposed;

/* What a stream rings for a part of a put, once, whether or not it is held by then: what is held
 * later is made at once. Of a call these are a list. */
struct mpixq_nic_bell {
    const struct mpixq_exposed *exposed;
    struct mpixq_nic_bell *next;
    bool by_host; /* of the stream: its GPU has not rung it */
};

enum {
    MPIXQ_NIC_BLOB = 1024, /* bytes, at most, that a process tells another one of its window */
    MPIXQ_NIC_BELLS = 8    /* that are kept for a put: of as many NICs, at most */
};

/* A window, and the words of its signals: of each the first NIC's, and the others' behind it. */
struct mpixq_nic_memory {
    const char *kind; /* of the base, in memory of a GPU (stream/memory.h); NULL: of the host */
    void *base, *words;
    size_t bytes, words_bytes;
};

/* A part of a put, or of a get. */
struct mpixq_nic_part {
    struct mpixq_nic_peer *peer;
    bool is_get;
    char *data;             /* here */
    uint64_t offset, bytes; /* in the peer's window */
    bool tells;             /* a signal: addend is added then, */
    uint64_t word;          /* to the word of the first NIC, so far into the peer's words */
    uint64_t addend;
    void *arg;                   /* of who starts it */
    struct mpixq_nic_bell *bell; /* by which it is held, and which it then has; NULL: any */
    /* Above 0: so often the bell has been rung when the put is made, and it stays with who has it:
     * that rings it only, once for all parts that it has. */
    uint64_t ring;
};

struct mpixq_channel_windows {
    bool has_gets; /* else it is asked for puts only */
    /* Threads of the program, with no lock. NULL, and why not. */
    struct mpixq_nic_window *(*open)(const struct mpixq_nic_memory *memory, const char **why_p);
    /* Likewise; peers are forgotten. What is under way is waited for, but not for ever: false, if
     * the window may still be written to then, by gets. */
    bool (*close)(struct mpixq_nic_window *window);
    /* How many NICs may add to the words. */
    int (*nics)(const struct mpixq_nic_window *window);
    /* Do they add by themselves when the data is there, as long as they have room for it? */
    bool (*has_chains)(const struct mpixq_nic_window *window);
    /* Also when that has been read? Asked where they have chains. */
    bool (*chains_gets)(const struct mpixq_nic_window *window);
    /* With no lock: so many parts has a put of so many bytes, more than 0, each but the last of
     * *piece_p. */
    uint64_t (*parts)(const struct mpixq_nic_window *window, uint64_t bytes, uint64_t *piece_p);

    /* The rest under the lock of the window. */
    /* What others have to know, as bytes: how many. */
    size_t (*tell)(const struct mpixq_nic_window *window, unsigned char blob[MPIXQ_NIC_BLOB]);
    /* The process that told this. NULL, and why it is not reached. */
    struct mpixq_nic_peer *(*meet)(struct mpixq_nic_window *window, const void *blob, size_t bytes,
                                   const char **why_p);
    /* How large the window of a peer is, as that has told. */
    uint64_t (*bytes)(const struct mpixq_nic_peer *peer);
    /* False: there is no room now. */
    bool (*start)(const struct mpixq_nic_part *part);
    /* The same for what is to be rung for; NULL: there is no room. NULL, as those about what is
     * held: there never is. */
    struct mpixq_nic_held *(*hold)(const struct mpixq_nic_part *part);
    /* Is there for so many? bells: what they are held by, as take_bells has them; or NULL. */
    bool (*has_room)(const struct mpixq_nic_window *window, uint64_t parts,
                     const struct mpixq_nic_bell *bells, bool are_kept);
    /* When it is enqueued, with no lock: so many that GPUs see, or are about to, one for each part.
     * are_kept: for what is put many times, in so many parts each time, one of each NIC that is to
     * have some of these; only while most of its are free, as they are kept, or are lost. NULL:
     * there are not as many, or what is held by them would not leave others room. */
    struct mpixq_nic_bell *(*take_bells)(struct mpixq_nic_window *window, int parts, bool are_kept);
    /* Likewise: the stream will not have them. */
    void (*untake_bells)(struct mpixq_nic_bell *list);
    /* One by which nothing is held. Was it rung so often by now, and no more? Else it may be at any
     * time. */
    void (*give_bell)(struct mpixq_nic_bell *bell, bool is_known, uint64_t rings);
    /* Once, by any thread, with or without a lock: it is made. */
    void (*ring)(struct mpixq_nic_held *held);
    /* Was it rung for, as far as the NIC has told by now? */
    bool (*has_rung)(struct mpixq_nic_held *held);
    /* It was rung for, and is from now on as if it had been started; or it never will be, and is
     * not told to be over. */
    void (*open_held)(struct mpixq_nic_held *held);
    void (*drop)(struct mpixq_nic_held *held);
    /* One that is over, and what has failed, or NULL. False: there is none. */
    bool (*take)(struct mpixq_nic_window *window, void **arg_p, const char **why_p);
    /* Has the NIC of the peer said that it will not answer any more? Asks it again. */
    bool (*has_lost)(struct mpixq_nic_peer *peer);

    /* With no lock but a queue's: what is under way goes on, in all windows. */
    void (*read)(void);
};

#endif
