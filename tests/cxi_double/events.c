/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * events.c - an endpoint's event queue, and its lock
 *
 * The NIC puts an event there for each operation that ended, unless that was a success of one that
 * the provider keeps no request for. Reading a completion queue takes them out. From half full on
 * nothing more can be posted, but what is under way ends all the same: so with too little room the
 * queue overflows, which the provider finds out when it reads next, and then ends the program.
 *
 * The lock is that of the provider, which has it while it waits for the NIC to make a region known
 * or to forget it. The NIC goes on meanwhile.
 */
#include "double.h"

#include <time.h>

/* A queue has whole pages of events. */
enum { EVENTS_OF_A_PAGE = 64, FOR_THE_PROVIDER = 64 };

int nic_events_open(struct nic_ep *ep)
{
    size_t wanted = 2 * ep->tx_size + FOR_THE_PROVIDER;
    int taken = 0;

    for (int i = 0; i < NIC_EPS; i++) {
        taken += nic.eps[i] != NULL && nic.eps[i]->enabled;
    }
    if (taken >= nic_switches.eps) {
        return -FI_ENOSPC;
    }
    wanted = wanted < ep->tx_cq->size ? ep->tx_cq->size : wanted;
    ep->event_room = (wanted + EVENTS_OF_A_PAGE - 1) / EVENTS_OF_A_PAGE * EVENTS_OF_A_PAGE;
    if (nic_switches.events > 0) {
        ep->event_room = (size_t)nic_switches.events;
    }
    return 0;
}

bool nic_events_are_many(const struct nic_ep *ep)
{
    return 2 * ep->events >= ep->event_room;
}

void nic_event_put(struct nic_op *op)
{
    struct nic_ep *ep = op->ep;

    op->next = NULL;
    *ep->ended_end = op;
    ep->ended_end = &op->next;
    ep->events++;
    nic.deferred_events += op->deferred;
}

void nic_events_check(const struct nic_ep *ep)
{
    if (ep->events > ep->event_room) {
        nic_die("the event queue of an endpoint overflowed: it has room for %zu, and %zu came "
                "before a completion queue was read",
                ep->event_room, ep->events);
    }
}

void nic_ep_wait(struct nic_ep *ep)
{
    while (ep->held && !nic_is_wrong("region-lock")) {
        pthread_cond_wait(&nic.changed, &nic.lock);
    }
}

void nic_ep_hold(struct nic_ep *ep)
{
    struct timespec pause = {.tv_sec = nic_switches.region_us / 1000000,
                             .tv_nsec = nic_switches.region_us % 1000000 * 1000L};

    nic_ep_wait(ep);
    ep->held = true;
    pthread_mutex_unlock(&nic.lock);
    nanosleep(&pause, NULL);
    nic_lock();
    ep->held = false;
    pthread_cond_broadcast(&nic.changed);
}
