/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Entries. Those of writes and of atomics are kept apart: a provider may look at the completion
 * counter of an atomic's entry after the atomic has been executed, and all atomics have the same.
 *
 * A failure may stand in the completion queue when its start is said to be done, if the NIC counts
 * failures too. It is told by the address of its entry. So that is used for another operation only
 * when completions were read since it was given back; there are more entries than the NIC may have,
 * and the one that has rested longest is taken, so that there always is one. */
#include <utlist.h>

#include "check.h"
#include "locality.h"
#include "nic.h"
#include "shares.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/env.h"
#include "util/node.h"

void mpixq_cxi_budget_open(struct cxi_nic *nic)
{
    struct cxi_sharer me = {.process = mpixq_process_self(),
                            .world = mpixq_node_ident(),
                            .ranks = mpixq_node_ranks(),
                            .device = mpixq_cxi_nic_ident(nic->info),
                            .place = nic->place};
    int depth;

    nic->shares.among = nic->among;
    if (mpixq_env.triggered_ops >= 0) {
        nic->entries = (int)mpixq_env.triggered_ops;
        mpixq_cxi_shares_fix(&nic->shares, nic->entries);
        return;
    }
    depth = mpixq_cxi_depth(nic, &nic->why_no_depth);
    nic->entries = depth >= 0 ? depth : nic->quirks->entries;
    if (nic->quirks->software) {
        mpixq_cxi_shares_fix(&nic->shares,
                             nic->entries); /* a limit of the library itself, for each process */
        return;
    }
    me.depth = nic->entries;
    nic->why_no_table = mpixq_cxi_shares_join(&nic->shares, MPIXQ_CXI_SHARES, &me);
}

struct cxi_entry *mpixq_cxi_entries_open(const struct cxi_nic *nic, struct cxi_entry **free_p)
{
    int n = nic->entries + CXI_RESTING;
    struct cxi_entry *all = mpixq_alloc((size_t)n * sizeof *all);

    for (int i = 0; all != NULL && i < n; i++) {
        DL_APPEND(*free_p, &all[i]);
    }
    return all;
}

struct cxi_entry *mpixq_cxi_entry_take_alone(struct cxi_nic *nic, bool is_write)
{
    struct cxi_entry **list = is_write ? &nic->free_writes : &nic->free_atomics, *entry = *list;

    if (entry == NULL || entry->rest >= nic->reads_done || !mpixq_cxi_shares_take(&nic->shares)) {
        return NULL;
    }
    DL_DELETE(*list, entry);
    nic->in_use++;
    nic->counts.most_in_use =
        nic->in_use > nic->counts.most_in_use ? nic->in_use : nic->counts.most_in_use;
    assert(0 < nic->in_use && nic->in_use <= nic->entries);
    entry->end = NULL;
    entry->is_write = is_write;
    entry->plain = false;
    entry->next = NULL;
    return entry;
}

struct cxi_entry *mpixq_cxi_entry_take(struct cxi_end *end, bool is_write)
{
    struct cxi_entry *entry = mpixq_cxi_entry_take_alone(end->nic, is_write);

    if (entry == NULL) {
        return NULL;
    }
    entry->end = end;
    if (end->entries == NULL) {
        end->entries = entry;
    } else {
        end->newest->next = entry;
    }
    end->newest = entry;
    return entry;
}

void mpixq_cxi_entry_give(struct cxi_nic *nic, struct cxi_entry *entry)
{
    struct cxi_entry **list = entry->is_write ? &nic->free_writes : &nic->free_atomics;

    assert(0 < nic->in_use && nic->in_use <= nic->entries);
    entry->rest = nic->reads;
    entry->put = NULL;
    nic->in_use--;
    mpixq_cxi_shares_give(&nic->shares);
    DL_APPEND(*list, entry);
}

void mpixq_cxi_entry_undo(struct cxi_end *end)
{
    struct cxi_entry *entry = end->newest;

    LL_DELETE(end->entries, entry);
    end->newest = end->entries;
    while (end->newest != NULL && end->newest->next != NULL) {
        end->newest = end->newest->next;
    }
    mpixq_cxi_entry_give(end->nic, entry);
}

void mpixq_cxi_fill_move(const struct cxi_nic *nic, struct cxi_entry *entry,
                         const struct cxi_move *move)
{
    entry->u.write.local = (struct iovec){.iov_base = move->local, .iov_len = move->bytes};
    entry->u.write.remote =
        (struct fi_rma_iov){.addr = move->address, .len = move->bytes, .key = move->key};
    entry->u.write.op = (struct fi_op_rma){.ep = nic->ep,
                                           .flags = move->flags,
                                           .msg = {.msg_iov = &entry->u.write.local,
                                                   .iov_count = 1,
                                                   .addr = move->peer,
                                                   .rma_iov = &entry->u.write.remote,
                                                   .rma_iov_count = 1,
                                                   .context = &entry->work.context}};
    entry->work.op_type = move->type;
    entry->work.op.rma = &entry->u.write.op;
}

void mpixq_cxi_fill_atomic(const struct cxi_nic *nic, struct cxi_entry *entry,
                           const struct cxi_atomic *atomic)
{
    entry->u.atomic.local = (struct fi_ioc){.addr = atomic->operand, .count = 1};
    entry->u.atomic.remote =
        (struct fi_rma_ioc){.addr = atomic->address, .count = 1, .key = atomic->key};
    entry->u.atomic.op = (struct fi_op_atomic){.ep = nic->ep,
                                               .flags = atomic->flags,
                                               .msg = {.msg_iov = &entry->u.atomic.local,
                                                       .desc = atomic->desc,
                                                       .iov_count = 1,
                                                       .addr = atomic->peer,
                                                       .rma_iov = &entry->u.atomic.remote,
                                                       .rma_iov_count = 1,
                                                       .datatype = FI_UINT64,
                                                       .op = nic->atomic,
                                                       .context = &entry->work.context}};
    entry->work.op_type = FI_OP_ATOMIC;
    entry->work.op.atomic = &entry->u.atomic.op;
}

static void reap(struct cxi_end *end, uint64_t done)
{
    while (end->entries != NULL && end->entries->epoch <= done) {
        struct cxi_entry *entry = end->entries;

        end->entries = entry->next;
        mpixq_cxi_entry_give(end->nic, entry);
    }
}

/* Of starts that were armed ahead those are kept that nobody has made as far as the host knows. */
void mpixq_cxi_entries_reap(struct cxi_end *end)
{
    uint64_t done = end->entries != NULL ? mpixq_cxi_done(end) : 0, starts = done;

    if (atomic_load_explicit(&end->ahead, memory_order_relaxed) != NULL) {
        starts = end->pair != NULL ? mpixq_pair_executed(end->pair) : end->starts;
    }
    reap(end, done < starts ? done : starts);
}

void mpixq_cxi_entries_over(struct cxi_end *end)
{
    reap(end, UINT64_MAX);
}

void mpixq_cxi_entries_forget(struct cxi_end *end)
{
    struct cxi_nic *nic = end->nic;

    mpixq_cxi_entries_reap(end);
    for (struct cxi_entry *entry = end->entries; entry != NULL; entry = entry->next) {
        nic->counts.set_aside++; /* its place in the NIC is lost, and so it stays in use */
    }
    end->entries = NULL;
    for (int i = 0; i < nic->entries + CXI_RESTING; i++) {
        struct cxi_entry *both[] = {&nic->all_writes[i], &nic->all_atomics[i]};

        for (int k = 0; k < 2; k++) {
            both[k]->end = both[k]->end == end ? NULL : both[k]->end;
        }
    }
}
