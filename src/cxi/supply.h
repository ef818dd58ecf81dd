/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Regions, counters, words and entries, and what the provider says of them.
 */
#ifndef MPIXQ_CXI_SUPPLY_H
#define MPIXQ_CXI_SUPPLY_H

#include "cxi.h"

/* memory.c */
/* Make memory known, by an attribute that says what memory, and for what. */
int mpixq_cxi_register(struct cxi_nic *nic, struct fi_mr_attr *attr, struct fid_mr **region_p);
/* Say in the attribute that it is memory of a GPU, which is reached by streams of this kind, and is
 * written to if so. Why a NIC does not access it, or NULL: then mpixq_memory_held is to be asked
 * once it is registered. Threads of the program, with no lock. */
const char *mpixq_cxi_find_gpu(const char *kind, const void *address, bool written,
                               struct fi_mr_attr *attr);
/* Register memory for writes and atomics of peers, which counter counts if it is not NULL. */
struct fid_mr *mpixq_cxi_region(struct cxi_nic *nic, void *address, size_t bytes,
                                struct cxi_counter *counter);
/* The same for reads as well: no counter counts there, so that it need not be known what a read
 * counts. */
struct fid_mr *mpixq_cxi_region_to_read(struct cxi_nic *nic, void *address, size_t bytes);
/* Keep memory mapped that is sent from, or read to; NULL: it is not, which costs time and no more.
 */
struct fid_mr *mpixq_cxi_warm(struct cxi_nic *nic, void *address, size_t bytes);
/* Close it, if there is one, and set it to NULL. */
void mpixq_cxi_region_close(struct fid_mr **region_p);
uint64_t mpixq_cxi_remote_address(const struct cxi_nic *nic, const void *address);
/* Let peers use a region that is registered. */
bool mpixq_cxi_bind(struct cxi_nic *nic, struct fid_mr *region, struct cxi_counter *counter);

/* reach.c; the channel's reach, unreach and writes. */
void mpixq_cxi_reach(struct mpixq_pair *pair, const char *kind);
void mpixq_cxi_unreach(struct mpixq_pair *pair);
bool mpixq_cxi_writes(const char *kind, const void *address);

/* cxi_ops.c */
/* The doorbell of a counter, NULL if there is none: then *why_p says why. */
volatile _Atomic uint64_t *mpixq_cxi_bell(const struct cxi_nic *nic, struct fid_cntr *cntr,
                                          const char **why_p);
/* Entries that the NIC has for all processes of the node; *why_p says why there are none, or, with
 * -1, why that is not known. */
int mpixq_cxi_depth(const struct cxi_nic *nic, const char **why_p);
/* Before the endpoint is made: may atomics name the region of their operand, so that the provider
 * keeps no request for them? */
bool mpixq_cxi_names_operands(const struct cxi_nic *nic);

/* supply.c */
enum { CXI_RESTING = 256 }; /* entries beyond those of the NIC: see there */
/* Without nic.lock: they may wait for the NIC, and streams would wait for the lock. NULL: there is
 * none left. */
struct cxi_counter *mpixq_cxi_counter_take(struct cxi_nic *nic);
/* Of the 2,047 counters of a NIC, those that this rank may use for one purpose that not all ends
 * need: the ranks of its node together have 512. */
int mpixq_cxi_counter_share(void);
struct cxi_word *mpixq_cxi_word_take(struct cxi_nic *nic);
/* Under nic.lock where they are not called in open or close. */
/* Before it: all words are to be in memory that is kept mapped. */
bool mpixq_cxi_arena_open(struct cxi_nic *nic);
bool mpixq_cxi_supply_open(struct cxi_nic *nic);
void mpixq_cxi_words_close(
    struct cxi_nic *nic); /* before the endpoint, to which regions are bound */
void mpixq_cxi_supply_close(struct cxi_nic *nic);
/* What it has counted, as far as that is known here by now. Never waits for the NIC. */
uint64_t mpixq_cxi_counter_look(const struct cxi_nic *nic, struct cxi_counter *counter);
/* Add to it, from a stream. The caller has seen to it that the NIC finds all that was written. */
void mpixq_cxi_ring(const struct cxi_counter *counter, uint64_t n);
/* Nothing refers to it any more, if value says how far it has counted since it was taken. */
void mpixq_cxi_counter_put(struct cxi_nic *nic, struct cxi_counter *counter, bool clean,
                           uint64_t value);
/* Without nic.lock: close it, which cancels what waits for it; NULL: nothing happens. False: that
 * cannot be, and it is set aside. */
bool mpixq_cxi_counter_close(struct cxi_nic *nic, struct cxi_counter *counter);
void mpixq_cxi_word_put(struct cxi_nic *nic, struct cxi_word *word, bool clean);
/* What GPUs are to see of it. */
const struct mpixq_exposed *mpixq_cxi_page_of_word(const void *word);
/* Where NICs find the word: key and address. */
void mpixq_cxi_word_name(const struct cxi_nic *nic, const struct cxi_word *word, uint64_t *key_p,
                         uint64_t *addr_p);
/* entries.c */
/* Find out how many there are, and how many of these are for this process. */
void mpixq_cxi_budget_open(struct cxi_nic *nic);
struct cxi_entry *mpixq_cxi_entries_open(const struct cxi_nic *nic, struct cxi_entry **free_p);
/* An entry that lasts until its start is done; NULL: the budget is spent. */
struct cxi_entry *mpixq_cxi_entry_take(struct cxi_end *end, bool is_write);
/* The same for who gives it back by itself, of no end. */
struct cxi_entry *mpixq_cxi_entry_take_alone(struct cxi_nic *nic, bool is_write);
void mpixq_cxi_entry_give(struct cxi_nic *nic, struct cxi_entry *entry);
/* It was not posted after all: the newest one of the end. */
void mpixq_cxi_entry_undo(struct cxi_end *end);
/* Give back the entries of starts that are done. */
void mpixq_cxi_entries_reap(struct cxi_end *end);
/* What is to be done, and by whom its end is known: its context names the entry. */
struct cxi_move { /* data, of the peer or to it */
    enum fi_op_type type;
    fi_addr_t peer;
    uint64_t key, address; /* there, */
    void *local;           /* and here */
    size_t bytes;
    uint64_t flags;
};
struct cxi_atomic { /* of the kind that the NIC has, to a word */
    fi_addr_t peer;
    uint64_t key, address;
    uint64_t *operand;
    void **desc; /* names the region of that; or NULL */
    uint64_t flags;
};
void mpixq_cxi_fill_move(const struct cxi_nic *nic, struct cxi_entry *entry,
                         const struct cxi_move *move);
void mpixq_cxi_fill_atomic(const struct cxi_nic *nic, struct cxi_entry *entry,
                           const struct cxi_atomic *atomic);
/* All of its operations are over, whatever its word shows. */
void mpixq_cxi_entries_over(struct cxi_end *end);
/* The end goes: what is left may stay with the NIC. */
void mpixq_cxi_entries_forget(struct cxi_end *end);

#endif
