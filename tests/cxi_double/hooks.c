/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * hooks.c - what a test can ask of the double
 */
#include "hooks.h"

#include "double.h"

static uint64_t hook_events(void)
{
    uint64_t events;

    nic_lock();
    events = nic.deferred_events;
    pthread_mutex_unlock(&nic.lock);
    return events;
}

static uint64_t hook_reads(void)
{
    uint64_t reads;

    nic_lock();
    reads = nic.counter_reads;
    pthread_mutex_unlock(&nic.lock);
    return reads;
}

static void hook_fault(int fault, int op, int first, int count)
{
    nic_lock();
    nic_switches.fault = fault;
    nic_switches.fault_op = op;
    nic_switches.fault_first = first;
    nic_switches.fault_count = count;
    nic_faults_reset();
    pthread_mutex_unlock(&nic.lock);
}

static int hook_hits(void)
{
    int hits;

    nic_lock();
    hits = nic_fault_hits();
    pthread_mutex_unlock(&nic.lock);
    return hits;
}

static void hook_stall(bool stands)
{
    nic_lock();
    nic.stands = stands;
    nic_wake();
    pthread_mutex_unlock(&nic.lock);
}

static void refuse_from(int refuse, int passes)
{
    nic_lock();
    nic_switches.refuse = refuse;
    nic.refuses_all = true;
    nic.refused = 0;
    nic.passes = passes;
    pthread_mutex_unlock(&nic.lock);
}

static void hook_refuse(int refuse)
{
    refuse_from(refuse, 0);
}

static void hook_refuse_after(int attempts)
{
    refuse_from(NIC_REFUSE_AGAIN, attempts);
}

static int hook_refused(void)
{
    int refused;

    nic_lock();
    refused = nic.refused;
    pthread_mutex_unlock(&nic.lock);
    return refused;
}

static int hook_left(void)
{
    int left = 0;

    nic_lock();
    for (const struct nic_domain *domain = nic.domains; domain != NULL; domain = domain->next) {
        left += domain->left;
    }
    pthread_mutex_unlock(&nic.lock);
    return left;
}

static void hook_regions(int microseconds)
{
    nic_lock();
    nic_switches.region_us = microseconds;
    pthread_mutex_unlock(&nic.lock);
}

static int hook_holding(void)
{
    int holding = 0;

    nic_lock();
    for (int i = 0; i < NIC_EPS; i++) {
        holding += nic.eps[i] != NULL && nic.eps[i]->held;
    }
    pthread_mutex_unlock(&nic.lock);
    return holding;
}

static uint64_t hook_made(void)
{
    uint64_t made;

    nic_lock();
    made = nic.regions_made;
    pthread_mutex_unlock(&nic.lock);
    return made;
}

static void hook_no_regions(bool none)
{
    nic_lock();
    nic.no_regions = none;
    pthread_mutex_unlock(&nic.lock);
}

static void hook_watch(void (*post)(const struct cxi_double_post *post),
                       void (*bell)(uint32_t counter, uint32_t offset, uint64_t value))
{
    nic_lock();
    nic_dwq_watch(post);
    nic_bells_watch(bell);
    pthread_mutex_unlock(&nic.lock);
}

extern const struct cxi_double_hooks cxi_double_hooks;

__attribute__((visibility("default"))) const struct cxi_double_hooks cxi_double_hooks = {
    .stores = nic_bell_stores,
    .calls = nic_lock_calls,
    .events = hook_events,
    .reads = hook_reads,
    .fault = hook_fault,
    .hits = hook_hits,
    .stall = hook_stall,
    .refuse = hook_refuse,
    .refused = hook_refused,
    .refuse_after = hook_refuse_after,
    .left = hook_left,
    .regions = hook_regions,
    .holding = hook_holding,
    .made = hook_made,
    .no_regions = hook_no_regions,
    .watch = hook_watch,
};
