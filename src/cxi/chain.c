/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * Chains are made when a collective is matched, before its first start. */
#include "chain.h"

#include "eager.h"
#include "nic.h"
#include "supply.h"
#include "util/alloc.h"
#include "util/lock.h"

static struct cxi_end *end_of(const struct mpixq_link *link)
{
    return link->pair->end;
}

/* Does the one wait for the other? */
static bool waits_for(const struct mpixq_link *send, const struct mpixq_link *receive)
{
    return end_of(send)->is_send && !end_of(receive)->is_send && receive->round < send->round;
}

/* In their order. */
static bool is_one_round(const struct mpixq_link links[], int n)
{
    return links[0].round == links[n - 1].round;
}

/* How many of the others wait for it, or it for them? */
static uint32_t count_ties(const struct mpixq_link links[], int n, const struct mpixq_link *link)
{
    uint32_t ties = 0;

    if (is_one_round(links, n)) { /* which may have many messages */
        return 0;
    }
    for (int i = 0; i < n; i++) {
        ties += waits_for(&links[i], link) || waits_for(link, &links[i]);
    }
    return ties;
}

/* Of one that waits for others, or others for it, if there are any: of one round none do. */
static const char *find_obstacle_of(const struct cxi_end *end, const struct cxi_nic *nic)
{
    if (end->nic != nic) {
        return "its messages go by several NICs";
    }
    if (end->eager || end->ready) {
        return "the peer sends or takes messages eagerly";
    }
    return nic->atomic != FI_SUM ? "the NIC does not add, so a word can have one writer only"
                                 : NULL;
}

static const char *find_obstacle(const struct mpixq_link links[], int n)
{
    const struct cxi_nic *nic = end_of(&links[0])->nic;
    uint32_t n_ops = 0, all_ties = 0;

    for (int i = 0; i < n; i++) {
        const struct cxi_end *end = end_of(&links[i]);
        uint32_t ties = count_ties(links, n, &links[i]);
        const char *why = ties > 0 ? find_obstacle_of(end, nic) : NULL;

        if (why != NULL || end->next_share != NULL) {
            return why != NULL ? why : "its messages go in shares";
        }
        n_ops += mpixq_cxi_n_ops(end);
        all_ties += ties;
    }
    return all_ties > 0 && n_ops + all_ties / 2 > (uint32_t)mpixq_cxi_shares_limit(&nic->shares)
               ? "the NIC has not as many entries for it"
               : NULL;
}

/* Have room for the sends that wait for it. */
static bool make_room(const struct mpixq_link links[], int n, const struct mpixq_link *receive)
{
    struct cxi_end *end = end_of(receive);
    size_t n_waiting = 0;

    for (int i = 0; i < n; i++) {
        n_waiting += waits_for(&links[i], receive);
    }
    if (n_waiting > 0) {
        end->released = mpixq_alloc(n_waiting * sizeof *end->released); /* freed with the end */
    }
    return n_waiting == 0 || end->released != NULL;
}

/* Under nic.lock. */
static void add(struct cxi_end *send, struct cxi_end *receive)
{
    receive->released[receive->n_released++] = (struct cxi_released){
        .key = fi_mr_key(send->region), .address = mpixq_cxi_remote_address(send->nic, send->cts)};
    /* D counts the ends of its atomics, as of an eager receive: it is complete behind them. */
    receive->own = 2 + receive->n_released;
    send->awaits++;
}

static const char *link_all(const struct mpixq_link links[], int n)
{
    const char *why = find_obstacle(links, n);
    struct cxi_nic *nic;

    for (int i = 0; why == NULL && !is_one_round(links, n) && i < n; i++) {
        why = make_room(links, n, &links[i]) ? NULL : "no memory";
    }
    if (why != NULL || is_one_round(links, n)) {
        return why;
    }
    nic = end_of(&links[0])->nic;
    mpixq_lock_acquire(&nic->lock); /* who looks for failures without a name reads it */
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) {
            if (waits_for(&links[k], &links[i])) {
                add(end_of(&links[k]), end_of(&links[i]));
            }
        }
    }
    mpixq_lock_release(&nic->lock);
    return NULL;
}

const struct mpixq_channel_chains mpixq_cxi_chains = {.link = link_all};
