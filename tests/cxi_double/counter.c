/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the mpix-queue authors
 *
 * counter.c - counters: 48 bits of successes, 7 of failures, and the word that shows them
 *
 * The word changes only when the NIC writes back: for a read, a fired event, a set, a reset, and
 * when the first failure is counted; never when a success is.
 */
#include "double.h"

#include <stdlib.h>
#include <time.h>

static struct nic_cntr *cntr_of(struct fid_cntr *fid)
{
    return NIC_CONTAINER(fid, struct nic_cntr, fid);
}

uint64_t nic_cntr_level(const struct nic_cntr *cntr)
{
    return nic_switches.chain == NIC_CHAIN_SUM ? cntr->success + cntr->failure : cntr->success;
}

void nic_cntr_write_back(struct nic_cntr *cntr)
{
    uint64_t word = MPIXQ_CXI_WRITTEN_BACK | cntr->failure << 48 | cntr->success;

    __atomic_store_n(cntr->wb, word, __ATOMIC_RELEASE);
}

void nic_cntr_add(struct nic_cntr *cntr, uint64_t success, uint64_t failure)
{
    bool first = cntr->failure == 0 && failure > 0;

    cntr->success += success;
    cntr->failure += failure;
    /* What the NIC does here is not known, so no program may come here. */
    if (cntr->success > FI_CXI_CNTR_SUCCESS_MAX || cntr->failure > FI_CXI_CNTR_FAILURE_MAX) {
        nic_die("a counter overflows: %llu successes, %llu failures",
                (unsigned long long)cntr->success, (unsigned long long)cntr->failure);
    }
    if (first ? !nic_is_wrong("counter-first-failure") : nic_is_wrong("counter-write-back")) {
        nic_cntr_write_back(cntr);
    }
    nic_triggers_fire(cntr);
    pthread_cond_broadcast(&nic.changed);
}

void nic_cntr_set(struct nic_cntr *cntr, uint64_t value, bool failure)
{
    if (failure) {
        cntr->failure = value;
    } else {
        cntr->success = value;
    }
    if (!failure || !nic_is_wrong("counter-reset-shows")) {
        nic_cntr_write_back(cntr);
    }
    nic_triggers_fire(cntr);
    pthread_cond_broadcast(&nic.changed);
}

/* Endpoints that count on it have their software part done, if requests know it, or are believed
 * to. */
void nic_cntr_progress(struct nic_cntr *cntr)
{
    bool is_known = cntr->requests + cntr->left > 0;

    for (int i = 0; i < NIC_EPS; i++) {
        struct nic_ep *ep = nic.eps[i];

        if (ep != NULL && (ep->send_cntr == cntr || ep->recv_cntr == cntr ||
                           (is_known && (ep->write_cntr == cntr || ep->read_cntr == cntr)))) {
            nic_ep_progress(ep);
        }
    }
}

static void wait_a_little(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&nic.changed, &nic.lock, &until);
}

/* Asks the NIC for a write-back, through the trigger command queue. */
static int read_ask(struct nic_cntr *cntr)
{
    struct nic_command command = {.kind = NIC_C_GET, .cntr = cntr};
    int rc = nic_command_put(cntr->domain, &command);

    if (rc == 0) {
        cntr->reads++;
    }
    return rc;
}

/* Does it go the way of what finds the command queue full? */
static bool is_lost(void)
{
    static unsigned asked; /* under nic.lock */

    return nic_switches.asks == NIC_ASKS_LOST ||
           (nic_switches.asks == NIC_ASKS_HALF && asked++ % 2 == 0);
}

/* The mark of the write-back that is asked for next. */
static void unmark(struct nic_cntr *cntr)
{
    __atomic_store_n((unsigned char *)cntr->wb + 7, 0, __ATOMIC_RELAXED);
}

static uint64_t cntr_fetch(struct nic_cntr *cntr)
{
    uint64_t number;

    nic_cntr_progress(cntr);
    if (nic_switches.read == NIC_READ_STALE || cntr->cached) {
        uint64_t known = __atomic_load_n(cntr->wb, __ATOMIC_ACQUIRE);

        /* One request at a time: not before the last one was answered. So if this one finds the
         * queue full, there is none any more until something else has the word written back. */
        if ((known & MPIXQ_CXI_WRITTEN_BACK) != 0 || nic_is_wrong("counter-cached-lost")) {
            unmark(cntr);
            (void)(is_lost() || read_ask(cntr));
        }
        return known;
    }
    /* What its thread has added before comes before it, and behind what it queued before that. */
    nic_commands_run(cntr->domain);
    if (!nic_is_wrong("counter-add-read")) {
        nic_bells_run();
    }
    unmark(cntr);
    while (read_ask(cntr) != 0) {
        wait_a_little();
    }
    number = cntr->reads_done + (uint64_t)cntr->reads;
    nic_commands_run(cntr->domain);
    while (cntr->reads_done < number) {
        wait_a_little();
    }
    return __atomic_load_n(cntr->wb, __ATOMIC_ACQUIRE);
}

static uint64_t cntr_word(struct nic_cntr *cntr)
{
    uint64_t word;
    bool news;

    nic_lock();
    nic.counter_reads++;
    word = cntr_fetch(cntr);
    news = word != cntr->last_read;
    cntr->last_read = word;
    pthread_mutex_unlock(&nic.lock);
    nic_polled(news);
    return word;
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
    return cntr_word(cntr_of(fid)) & FI_CXI_CNTR_SUCCESS_MAX;
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
    return cntr_word(cntr_of(fid)) >> 48 & FI_CXI_CNTR_FAILURE_MAX;
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
    if (value > FI_CXI_CNTR_SUCCESS_MAX) {
        return nic_is_wrong("counter-width") ? 0 : -FI_EINVAL;
    }
    nic_bell_store(cntr_of(fid)->bell, MPIXQ_CXI_BELL_ADD, value);
    return 0;
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
    if (value > FI_CXI_CNTR_FAILURE_MAX) {
        return -FI_EINVAL;
    }
    nic_bell_store(cntr_of(fid)->bell, MPIXQ_CXI_BELL_ADD_FAILURE, value);
    return 0;
}

static int put_value(struct nic_cntr *cntr, uint64_t value, bool failure)
{
    struct nic_command command = {
        .kind = NIC_C_PUT, .cntr = cntr, .value = value, .threshold = failure};
    int rc;

    nic_lock();
    rc = nic_command_put(cntr->domain, &command);
    pthread_mutex_unlock(&nic.lock);
    return rc;
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
    if (value > FI_CXI_CNTR_SUCCESS_MAX) {
        return -FI_EINVAL;
    }
    if (value == 0) {
        nic_bell_store(cntr_of(fid)->bell, MPIXQ_CXI_BELL_RESET, 0);
        return 0;
    }
    return put_value(cntr_of(fid), value, false);
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
    if (value > FI_CXI_CNTR_FAILURE_MAX) {
        return -FI_EINVAL;
    }
    if (value == 0) {
        nic_bell_store(cntr_of(fid)->bell, MPIXQ_CXI_BELL_RESET_FAILURE, 0);
        return 0;
    }
    return put_value(cntr_of(fid), value, true);
}

/* The word says what fi_cntr_wait returns; -FI_EAGAIN: nothing yet. An event that has fired may
 * have done so by a failure. */
static int wait_result(const struct nic_cntr *cntr, uint64_t threshold, uint64_t failures,
                       bool fired)
{
    uint64_t word = __atomic_load_n(cntr->wb, __ATOMIC_ACQUIRE);

    if ((word & FI_CXI_CNTR_SUCCESS_MAX) >= threshold ||
        (fired && nic_is_wrong("counter-wait-failure"))) {
        return 0;
    }
    return (word >> 48 & FI_CXI_CNTR_FAILURE_MAX) != failures &&
                   !nic_is_wrong("counter-wait-failure")
               ? -FI_EAVAIL
               : -FI_EAGAIN;
}

/* An event at the threshold uses a trigger entry until it fires, also when the time is over. */
static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout_ms)
{
    struct nic_cntr *cntr = cntr_of(fid);
    struct nic_command command = {.kind = NIC_C_EVENT, .cntr = cntr, .threshold = threshold};
    uint64_t end_ns = nic_now() + (timeout_ms < 0 ? 0 : (uint64_t)timeout_ms) * 1000000;
    uint64_t failures;
    bool fired = false;
    int rc;

    if ((cntr->no_wait && nic_switches.rules == NIC_RULES_CXI) ||
        threshold > FI_CXI_CNTR_SUCCESS_MAX) {
        return -FI_EINVAL;
    }
    nic_lock();
    failures = __atomic_load_n(cntr->wb, __ATOMIC_ACQUIRE) >> 48 & FI_CXI_CNTR_FAILURE_MAX;
    command.fired_p = &fired;
    rc = nic_command_put(cntr->domain, &command);
    if (rc != 0) {
        pthread_mutex_unlock(&nic.lock);
        return rc;
    }
    while ((rc = wait_result(cntr, threshold, failures, fired)) == -FI_EAGAIN) {
        if (timeout_ms >= 0 && nic_now() >= end_ns) {
            rc = nic_is_wrong("counter-wait-time") ? -FI_EAGAIN : -FI_ETIMEDOUT;
            break;
        }
        nic_cntr_progress(cntr);
        wait_a_little();
    }
    if (!fired) {
        nic_trigger_forget(cntr, &fired);
    }
    pthread_mutex_unlock(&nic.lock);
    return rc;
}

struct fi_ops_cntr nic_cntr_ops = {
    .size = sizeof(struct fi_ops_cntr),
    .read = cntr_read,
    .readerr = cntr_readerr,
    .add = cntr_add,
    .set = cntr_set,
    .wait = cntr_wait,
    .adderr = cntr_adderr,
    .seterr = cntr_seterr,
};
